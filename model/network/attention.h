/* Attention: score functions in one table, windows in another; softmax over what the window shows of the sentence's own tokens,
 * context. Nothing is padded: each row looks only at the T annotations of its own sentence. A new score is one row here and one in
 * weights/model.py, and so is a new window. */
#ifndef ALIGND_ATTENTION_H
#define ALIGND_ATTENTION_H

#include "model/compute/matrix.h"
#include "model/network/norm.h"
#include "model/network/row.h"
#include "model/weights/config.h"
#include "model/weights/weights.h"

/* What one row looks at: `length` tokens of its sentence from token `first` on. All vectors begin there. */
struct view {
    size_t first, length;
    const float *query;  /* [A] projected, or the state itself */
    const float *keys;   /* [length, A] */
    const float *values; /* [length, P] */
    float *weights;      /* [length] */
    float *coverage;     /* [length], NULL: none */
};

struct attention;

/* init loads the score's parameters and sets key_size and query_size. prepare (NULL: nothing to do) turns projected keys and
 * queries x [n] into what score reads, once for each instead of once for each pair. score writes e to the view's weights. */
struct attention_kind {
    const char *name;
    int (*init)(struct attention *attention, const struct model_config *config, struct weights *weights, struct error *err);
    void (*prepare)(const struct attention *attention, float *x, size_t n);
    void (*score)(const struct attention *attention, const struct view *view);
};

struct window_kind;

struct attention {
    const struct attention_kind *kind;
    const struct window_kind *window;
    const struct kernels *kernels;
    size_t annotation;      /* D */
    size_t key_size;        /* of a key; 0: the score reads none */
    size_t query_size;      /* of a projected query */
    size_t value;           /* P: of a value and of a context; C until the decoder says otherwise */
    size_t scratch;         /* floats of scratch a row */
    size_t reach;           /* how many tokens of a sentence can be attended, where parameters or states have room for so many */
    size_t source_depth;    /* only the last so many; 0: all */
    float half_width;       /* of a local window */
    float scale;            /* g, scaled_dot */
    struct linear key;      /* out 0: the annotations are the keys */
    struct linear query;    /* out 0: the state is the query */
    struct linear values;   /* V; out 0: the annotations are what contexts are made of */
    const float *energy;    /* v [A], additive */
    const float *coverage;  /* w [A], additive; NULL: no coverage */
    struct linear position; /* local_p: W, and v [H] */
    const float *position_energy;
    struct norm key_norm, query_norm; /* of these products, additive */
};

/* What a decoder has beside its R rows when they attend. */
struct attention_step {
    struct vectors queries; /* [R] what they are made of */
    size_t coverage;        /* where in a row's state the sum of its weights so far stands, [T]; with coverage */
    float *contexts;        /* [R, P], written */
    float *scratch;         /* [R, attention->scratch] */
};

int attention_init(struct attention *attention, const struct model_config *config, struct weights *weights,
                   const struct kernels *kernels, struct error *err);
void attention_done(struct attention *attention);

/* keys [tokens, key_size] of annotations [tokens, D], sentences end to end. */
void attention_keys(const struct attention *attention, const float *annotations, size_t tokens, float *keys);

/* Writes the rows' attention (0 outside the window), their contexts, and, with coverage, updates their states' sums. */
void attention_run(const struct attention *attention, const struct row *rows, size_t count, const struct attention_step *step);

#endif
