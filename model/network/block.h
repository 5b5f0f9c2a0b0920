/* What the blocks of a transformer have in common, in encoder and decoder: x -> LN(x + F(x)) (norm "post", Vaswani et al. 2017), or
 * x + F(LN(x)) and one LN on top of the stack ("pre", Xiong et al. 2020); and one of the F, the feed-forward. Others:
 * model/network/heads.h, mixer.h. All rows at once: a row is a token in the encoder, a hypothesis in the decoder. */
#ifndef ALIGND_BLOCK_H
#define ALIGND_BLOCK_H

#include "model/compute/matrix.h"
#include "model/network/norm.h"
#include "model/network/positions.h"
#include "model/weights/config.h"
#include "model/weights/weights.h"

enum { PARAMETER_BYTES = 96 }; /* of a parameter's name */

struct activation;

/* What all layers share. */
struct stack {
    const struct kernels *kernels;
    struct heads_shape heads; /* of attention to the stack's own rows and to others */
    size_t size, filter;      /* d; f */
    bool pre;                 /* norm "pre" */
    bool half;                /* what is kept of rows for later ones is binary16; false: float32 */
    const struct activation *activation;
    float scale; /* of embeddings */
    struct positions positions;
    struct norm top; /* "pre" */
};

/* side: "encoder" or "decoder", with which parameters' names begin. positions: as many as positions_init's rows. Failures as
 * weights_get's, for weights_failed; stack_done in any case. */
void stack_init(struct stack *stack, const char *side, const struct blocks_config *config, size_t size, size_t positions,
                struct weights *weights, const struct kernels *kernels, struct error *err);
void stack_done(struct stack *stack);

/* What enters the first block: x [d] holds the embedding of what stands at this position. */
void stack_enter(const struct stack *stack, size_t position, float *x);
/* What the stack puts out, in place: x [rows, d]. */
void stack_leave(const struct stack *stack, size_t rows, float *x);

/* PREFIX.NAME.weight [out, in], PREFIX.NAME.bias where it has one. Failures as above. */
void block_linear(struct linear *linear, const char *prefix, const char *name, size_t out, size_t in, bool bias,
                  struct weights *weights, struct error *err);
/* PREFIX.norm.gain and .shift [d]. */
void block_norm(struct norm *norm, const struct stack *stack, const char *prefix, struct weights *weights, struct error *err);

/* What F reads: x [rows, d] itself, or LN(x), written to u [rows, d]. */
const float *block_read(const struct stack *stack, const struct norm *norm, size_t rows, const float *x, float *u);
/* x += y, what F has made of that, and then LN(x) where it comes after. */
void block_add(const struct stack *stack, const struct norm *norm, size_t rows, const float *y, float *x);

/* The row of this name; NULL as table_find. */
const struct activation *activation_find(const char *key, const char *name, struct error *err);
void activation_apply(const struct activation *activation, const struct kernels *kernels, float *x, size_t n);

/* F(x) = W2 act(W1 x + b1) + b2. */
struct filter {
    struct linear input, output;
    struct norm norm;
};

/* PREFIX.input, PREFIX.output, PREFIX.norm. */
void filter_init(struct filter *filter, const struct stack *stack, const char *prefix, struct weights *weights, struct error *err);
void filter_done(struct filter *filter);
/* The block: x [rows, d] is updated. Scratch: u, y [rows, d], wide [rows, f]. */
void filter_run(const struct filter *filter, const struct stack *stack, size_t rows, float *x, float *u, float *y, float *wide);

#endif
