/* Attention: score functions in one table, windows in another; softmax over what the window shows of the sentence's own tokens,
 * context. Nothing is padded: each row looks only at the T annotations of its own sentence. A new score is one row here and one in
 * weights/model.py, and so is a new window. */
#ifndef ALIGND_ATTENTION_H
#define ALIGND_ATTENTION_H

#include "model/config.h"
#include "model/matrix.h"
#include "model/norm.h"
#include "model/weights.h"

/* What a decoder looks at, made once per sentence: keys [T, A], as the score reads them, and values [T, P], of which a context is
 * the weighted sum (model/decoder.h). Owned by the sentence's arena. */
struct memory {
    size_t length; /* T */
    const float *keys, *values;
};

struct attention;
struct attention_rows;

/* What one row looks at: `length` tokens of its sentence from token `first` on. All vectors begin there. */
struct view {
    size_t first, length;
    const float *query;  /* [A] projected, or the state itself */
    const float *keys;   /* [length, A] */
    const float *values; /* [length, P] */
    float *weights;      /* [length] */
    float *coverage;     /* [length], NULL: none */
};

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

/* R rows. */
struct attention_rows {
    size_t rows;
    struct vectors queries; /* the rows' states */
    float *coverage;        /* with coverage: the sum of row r's weights so far, [T_r], updated */
    size_t coverage_distance;
    const struct memory *const *memories; /* [R] */
    const size_t *steps;                  /* [R] target tokens before this one */
    float *const *weights;                /* [R] rows of [T_r], written; 0 outside the window */
    float *contexts;                      /* [R, P], written */
    float *scratch;                       /* [R, attention->scratch] */
    const float *const *forced;           /* NULL, or [R]: weights [T_r] to take instead of the model's own; NULL: its own */
};

int attention_init(struct attention *attention, const struct model_config *config, struct weights *weights,
                   const struct kernels *kernels, struct error *err);
void attention_done(struct attention *attention);

/* keys [tokens, key_size] of annotations [tokens, D], sentences end to end. */
void attention_keys(const struct attention *attention, const float *annotations, size_t tokens, float *keys);

void attention_run(const struct attention *attention, const struct attention_rows *rows);

#endif
