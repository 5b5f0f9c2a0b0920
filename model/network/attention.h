/* Attention: the weights with which rows attend to source tokens. Three forms, each with its own section in attention.c:
 *
 * - struct attention: the single head of a recurrent decoder. Score functions are one table, windows another; a new one is one row
 *   there and one in weights/model/network.py.
 * - heads_look: the scaled dot products of a transformer's many heads.
 * - struct alignment: the alignment head, which links a token with the source after it has been chosen.
 *
 * Nothing is padded: each row attends only to the tokens of its sentence. */
#ifndef ALIGND_ATTENTION_H
#define ALIGND_ATTENTION_H

#include "model/base/arena.h"
#include "model/compute/matrix.h"
#include "model/network/layers.h"
#include "model/network/row.h"
#include "model/weights/config.h"
#include "model/weights/weights.h"

/* ---- one head ---- */

struct attention_kind;
struct window_kind;

struct attention {
    const struct attention_kind *kind;
    const struct window_kind *window;
    const struct kernels *kernels;
    size_t annotation;      /* D */
    size_t key_size;        /* of a key; 0: the score reads none */
    size_t query_size;      /* of a projected query */
    size_t value;           /* P: of a value and of a context; C until the decoder changes it */
    size_t scratch;         /* floats of scratch a row */
    size_t reach;           /* tokens of a sentence that parameters or states have room for; the others cannot be attended */
    size_t source_depth;    /* only this many tokens at the end are attended; 0: all */
    float half_width;       /* of a local window */
    float scale;            /* g, scaled_dot */
    struct linear key;      /* out 0: the annotations are the keys */
    struct linear query;    /* out 0: the state is the query */
    struct linear values;   /* V; out 0: contexts are made of the annotations themselves */
    const float *energy;    /* v [A], additive */
    const float *coverage;  /* w [A], additive; NULL: no coverage */
    struct linear position; /* local_p: W, and v [H] */
    const float *position_energy;
    struct norm key_norm, query_norm; /* of these products, additive */
};

/* The vectors that a decoder supplies besides its R rows when they attend. */
struct attention_step {
    struct vectors queries; /* [R] what queries are made of */
    size_t coverage;        /* with coverage: where in a row's state the sum of its weights so far stands, [T] */
    float *contexts;        /* [R, P], written */
    float *scratch;         /* [R, attention->scratch] */
};

int attention_init(struct attention *attention, const struct model_config *config, struct weights *weights,
                   const struct kernels *kernels, struct error *err);
void attention_done(struct attention *attention);

/* keys [tokens, key_size] of annotations [tokens, D], sentences end to end. */
void attention_keys(const struct attention *attention, const float *annotations, size_t tokens, float *keys);

/* Writes the rows' attention (0 outside the window) and their contexts; with coverage it updates the sums in their states. */
void attention_run(const struct attention *attention, const struct row *rows, size_t count, const struct attention_step *step);

/* ---- many heads ---- */

/* One row and the entries at which it looks. Head h has the columns from h d / H on of query, keys and values. */
struct gaze {
    const float *query; /* [d] */
    struct looked_at keys, values;
    size_t count, position; /* entries to look at; with ALiBi, the entry where the row itself stands */
    bool alibi;
    const float *forced; /* [count] the weights of all heads; NULL: their own */
    float *weights;      /* [H, count], written */
    float *context;      /* [d], written */
};

/* Vaswani et al. 2017, 3.2.2: a_j = softmax_j(q_h . k_jh / sqrt(d / H)), c_h = sum_j a_j v_jh. With ALiBi (Press et al. 2022) the
 * score of an entry that is n places away is lower by n times the head's slope. */
void heads_look(const struct kernels *kernels, const struct heads_shape *heads, const struct gaze *gaze);

/* The same for the rows of one sentence, which all look at each other. slopes: [H] scratch; NULL: without ALiBi. */
void heads_look_around(const struct kernels *kernels, const struct heads_shape *heads, struct mutual *mutual, float *slopes);

/* ---- the alignment head ---- */

/* The attention that chose a token does not know that token yet; this head does (Chen et al. 2020). a[i][j] = softmax_j of q_i .
 * k_j over the sentence's own tokens, where q_i = W [e(y_i); s_i] + b reads the token's own embedding and the top layer's output in
 * the step that chose it, and k_j = U [h_j; e(x_j)] the annotation and the embedding of source token j. Nothing else reads the
 * result (weights/alignment/align_head.py). */
struct alignment {
    const struct kernels *kernels;
    struct linear query; /* [A, E + H]; out 0: the model has no head */
    struct linear key;   /* [A, D + E'] */
};

int alignment_init(struct alignment *alignment, const struct model_config *config, struct weights *weights,
                   const struct kernels *kernels, struct error *err);
/* A zeroed one is allowed. */
void alignment_done(struct alignment *alignment);

/* Vectors that are read side by side: left [n, left_size], right [n, the rest of the linear's input]. */
struct alignment_inputs {
    struct vectors left, right;
    size_t left_size, count; /* count: n */
};

/* keys [T, A] of annotations (left) and source embeddings (right). Scratch comes from the arena and is released. -1 with
 * ERROR_MEMORY. */
int alignment_keys(const struct alignment *alignment, const struct alignment_inputs *inputs, struct arena *arena, float *keys,
                   struct error *err);

/* rows [n, T], each a distribution, of the tokens' embeddings (left) and the top layer's outputs (right). keys [T, A]. As above. */
int alignment_run(const struct alignment *alignment, const struct alignment_inputs *inputs, const float *keys, size_t length,
                  struct arena *arena, float *rows, struct error *err);

#endif
