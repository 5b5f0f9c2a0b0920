/* Attention: score functions in one table, softmax over the sentence's own tokens, context. Nothing is padded: each row looks only
 * at the T annotations of its own sentence. A new score is one row here and one in weights/model.py. */
#ifndef ALIGND_ATTENTION_H
#define ALIGND_ATTENTION_H

#include "model/config.h"
#include "model/matrix.h"
#include "model/weights.h"

/* What a decoder looks at, made once per sentence: keys [T, A], as the score reads them, and values [T, P], of which a context is
 * the weighted sum (model/decoder.h). Owned by the sentence's arena. */
struct memory {
    size_t length; /* T */
    const float *keys, *values;
};

struct attention;

/* init loads the score's parameters and sets size. prepare (NULL: nothing to do) turns projected keys and queries x [n] into what
 * score reads, once for each instead of once for each pair. score writes e [T]: q [A] is the projected query, or the state itself.
 */
struct attention_kind {
    const char *name;
    int (*init)(struct attention *attention, const struct model_config *config, struct weights *weights, struct error *err);
    void (*prepare)(const struct attention *attention, float *x, size_t n);
    void (*score)(const struct attention *attention, const float *q, const struct memory *memory, float *e);
};

struct attention {
    const struct attention_kind *kind;
    const struct kernels *kernels;
    size_t annotation;   /* D */
    size_t size;         /* A: of a key and of a projected query */
    size_t value;        /* P: of a value and of a context; the annotations' D until the decoder says otherwise */
    struct linear key;   /* out 0: the annotations are the keys */
    struct linear query; /* out 0: the state is the query */
    const float *energy; /* v [A], additive */
};

int attention_init(struct attention *attention, const struct model_config *config, struct weights *weights,
                   const struct kernels *kernels, struct error *err);
void attention_done(struct attention *attention);

/* keys [tokens, A] of annotations [tokens, D], sentences end to end. */
void attention_keys(const struct attention *attention, const float *annotations, size_t tokens, float *keys);

/* Row r: query state at queries + r * ld; weights[r] [T_r] and contexts + r * P are written. scratch [rows, A]. */
void attention_run(const struct attention *attention, const float *queries, size_t ld, size_t rows,
                   const struct memory *const *memories, float *const *weights, float *contexts, float *scratch);

#endif
