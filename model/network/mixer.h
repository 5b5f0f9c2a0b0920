/* What a layer of a transformer decoder knows of the words before: one table of kinds. Each is the F of a block (block.h).
 *
 * self_attention: heads over all that the layer has read so far (Vaswani et al. 2017). Its keys and values are the row's past.
 * ssru: z = W x, g = sigmoid(W_f x + b_f), c_t = g c_{t-1} + (1 - g) z, F = max(c_t, 0) (Kim et al. 2019); c_{-1} = 0.
 * average: m_t = (t m_{t-1} + x_t) / (t + 1); y = W_2 act(W_1 m + b_1) + b_2, or act(W_1 m + b_1) where that has d rows, or m; F =
 * sigmoid(W_i x + b_i) x + sigmoid(W_f y + b_f) y, or y (Zhang et al. 2018). With norm "pre" y is made of LN(m), x stays as it is.
 */
#ifndef ALIGND_MIXER_H
#define ALIGND_MIXER_H

#include "model/network/heads.h"
#include "model/network/row.h"

struct mixer;
struct mixer_step;

/* state, past: vectors of d that a row carries, and that a step adds to its past, in each layer. weights: run needs scratch for the
 * heads' weights. */
struct mixer_kind {
    const char *name;
    size_t state, past;
    void (*init)(struct mixer *mixer, const struct stack *stack, const struct model_config *config, const char *layer,
                 struct weights *weights, struct error *err);
    void (*run)(const struct mixer *mixer, const struct mixer_step *step);
};

/* The row of this name; NULL as table_find. */
const struct mixer_kind *mixer_kind_find(const char *name, struct error *err);

/* One layer's; what its kind has not stays zeroed. */
struct mixer {
    const struct mixer_kind *kind;
    struct heads self;
    struct linear candidate, forget;
    size_t average_filter; /* a; 0: none */
    const struct activation *activation;
    struct linear input, output, gate_input, gate_output;
    struct norm norm; /* of ssru and average */
};

/* LAYER is "decoder.layers.N". Failures as weights_get's, for weights_failed. */
void mixer_init(struct mixer *mixer, const struct mixer_kind *kind, const struct stack *stack, const struct model_config *config,
                const char *layer, struct weights *weights, struct error *err);
void mixer_done(struct mixer *mixer);

/* Scratch of one step, for all of a layer's parts: of R rows. */
struct mixer_scratch {
    float *u, *q, *k, *v; /* [R, d] */
    float *wide;          /* [R, the widest middle of a feed-forward] */
    float *weights;       /* [H, the most that a row looks at] */
};

struct mixer_step {
    const struct stack *stack;
    size_t layer;
    const struct row *rows;
    size_t count;       /* R */
    size_t state, past; /* where the layer's numbers begin in a row's state, and in what a step adds */
    float *x;           /* [R, d] updated */
    const struct mixer_scratch *scratch;
};

void mixer_run(const struct mixer *mixer, const struct mixer_step *step);

#endif
