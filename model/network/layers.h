/* Networks are built from these parts: normalisation, recurrent cells, attention, and the parts
 * that a transformer's encoder and decoder share. Each kind is a row of a table; a new one is a row
 * there and one in weights/model/norm.py, network.py or transformer.py.
 *
 * Parts of a network are not freed one by one: their matrices lie in the pages of the weights'
 * backend or in a file, vectors belong to the weights, and everything else lies in the loader's
 * arena. */
#ifndef ALIGND_LAYERS_H
#define ALIGND_LAYERS_H

#include "model/base/arena.h"
#include "model/compute/kernels.h"
#include "model/compute/matrix.h"
#include "model/weights/config.h"
#include "model/weights/weights.h"
#include <stdbool.h>

/* The arguments that all functions that load parts share. */
struct loader {
    struct weights *weights; /* its backend has pages */
    const struct kernels *kernels;
    struct arena *arena;
    struct error *err;
};

enum { PARAMETER_BYTES = 128 }; /* bytes of a parameter's name */

/* ---- normalisation ---- */

/* apart: the two kinds of elements in a vector (a GRU's gates and its candidate) are normalised
 * separately. */
struct norm_kind {
    const char *name;
    bool apart;
    float epsilon;
};

/* Returns the kind of this name, or NULL as error_find_row does. "none" is a kind, with an epsilon
 * of 0. */
const struct norm_kind *norm_kind_find(const char *key, const char *name, struct error *err);

/* Layer normalisation, Ba et al. 2016: y = gain * (x - mean) / sqrt(variance + epsilon) + shift,
 * element by element, with mean and variance over the vector. Zeroed: no normalisation. */
struct norm {
    size_t size, first; /* length of the vector, and elements of the first of its two kinds, or size
                           if there is one kind */
    float epsilon;
    const float *gain, *shift; /* [size]; NULL: no normalisation. Owned by the weights */
};

/* A norm's parameters are BEFOREgainAFTER and BEFOREshiftAFTER. */
struct norm_names {
    const char *before, *after;
    size_t size;  /* length of the vector */
    size_t first; /* 0: all elements are of one kind */
};

/* Loads nothing for "none". weights_failed reports failures, as those of weights_get. */
void norm_init(struct norm *norm, const struct norm_kind *kind, const struct norm_names *names,
               const struct loader *loader);

/* Normalises row r at x + r * ld in place; does nothing without a gain. */
void norm_apply(const struct norm *norm, const struct kernels *kernels, size_t rows, float *x,
                size_t ld);

/* ---- recurrent cells ---- */

/* gates: blocks of H in the products with the input and the state. states: vectors of H kept from
 * step to step, h first. apart: the blocks at the beginning that are normalised separately where
 * the norm does so; 0: there is one kind. step: one row. x, u [gates * H] hold W x + b and U h + b;
 * state [states * H] is updated. */
struct cell_kind {
    const char *name;
    size_t gates, states, apart;
    void (*step)(const struct kernels *kernels, const float *x, const float *u, float *state,
                 size_t hidden);
};

/* Returns the kind of this name, or NULL as error_find_row does. */
const struct cell_kind *cell_kind_find(const char *key, const char *name, struct error *err);

/* A cell without input: the one before it hands its state on within the same step (deep transition,
 * Pascanu et al. 2014). */
struct transition {
    const float *input;  /* [gates * H], which replaces W x + b in every row */
    struct linear state; /* as below */
    struct norm norm;
};

/* One layer in one direction. */
struct cell {
    const struct cell_kind *kind;
    const struct kernels *kernels;
    size_t hidden;
    struct linear input,
        state; /* [gates * H, in], [gates * H, H], each with its bias (PyTorch's two) */
    struct norm input_norm, state_norm; /* norms of the products `input` and `state` */
    struct transition *transitions;     /* [transition_count] those that follow in each step */
    size_t transition_count;
};

struct cell_shape {
    size_t in, hidden;
    size_t columns; /* columns of the matrix weight_input, of which the cell reads the first `in`;
                       0: exactly those */
    const struct norm_kind *norm; /* the kind of each product's norm; NULL: none */
    size_t transitions;
};

/* Loads PREFIXweight_input, weight_state, bias_input, bias_state, and, if it is normalised,
 * gain_input, shift_input, gain_state, shift_state; for transition n PREFIXtransitions.n.bias_input
 * and everything that ends in _state. */
int cell_init(struct cell *cell, const struct cell_kind *kind, const char *prefix,
              const struct cell_shape *shape, const struct loader *loader);

/* The products W x + b of a cell's rows with their inputs [gates * H], not normalised: row r's at
 * products + rows[r] * ld, or at products + r * ld if rows is NULL. */
struct cell_inputs {
    const float *products;
    size_t ld;
    const size_t *rows;
};

/* Returns the floats of scratch that a row needs. */
size_t cell_scratch(const struct cell *cell);

/* Steps all rows at once. states: row r's state is at states + r * ld, h first. The products are
 * only read. scratch [rows, cell_scratch]. */
void cell_step(const struct cell *cell, const struct cell_inputs *inputs, size_t rows,
               float *states, size_t ld, float *scratch);

/* ---- attention: the weights with which rows attend to source tokens (attention.c) ----
 * A recurrent decoder has a single head (struct attention): score functions are one table, windows
 * another; a new one is one row there and one in weights/model/network.py. A transformer has many
 * (heads_look). Nothing is padded: each row attends only to the tokens of its sentence. */

struct row;

struct attention_kind;
struct window_kind;

struct attention {
    const struct attention_kind *kind;
    const struct window_kind *window;
    const struct kernels *kernels;
    size_t annotation; /* D */
    size_t key_size;   /* length of a key; 0: the score reads none */
    size_t query_size; /* length of a projected query */
    size_t value;      /* P: of a value and of a context; C until the decoder changes it */
    size_t scratch;    /* floats of scratch a row */
    size_t reach; /* tokens of a sentence that parameters or states have room for; the others cannot
                     be attended */
    size_t source_depth;    /* only this many tokens at the end are attended; 0: all */
    float half_width;       /* half the width of a local window, in tokens */
    float scale;            /* g, scaled_dot */
    struct linear key;      /* out 0: the annotations are the keys */
    struct linear query;    /* out 0: the state is the query */
    struct linear values;   /* V; out 0: contexts are made of the annotations themselves */
    const float *energy;    /* v [A], additive */
    const float *coverage;  /* w [A], additive; NULL: no coverage */
    struct linear position; /* local_p: W, and v [H] */
    const float *position_energy;
    struct norm key_norm, query_norm; /* norms of the products `key` and `query`, additive */
};

/* The vectors that a decoder supplies besides its R rows when they attend. */
struct attention_step {
    struct vectors queries; /* [R] the vectors that queries are made of */
    size_t coverage; /* with coverage: the offset in a row's state of the sum of its weights so far,
                        [T] */
    float *contexts; /* [R, P], written */
    float *scratch;  /* [R, attention->scratch] */
};

int attention_init(struct attention *attention, const struct model_config *config,
                   const struct loader *loader);

/* Computes the keys [tokens, key_size] of annotations [tokens, D], sentences end to end. */
void attention_keys(const struct attention *attention, const float *annotations, size_t tokens,
                    float *keys);

/* Writes the rows' attention (0 outside the window) and their contexts; with coverage it updates
 * the sums in their states. */
void attention_run(const struct attention *attention, const struct row *rows, size_t count,
                   const struct attention_step *step);

/* One row and the entries that it attends to. Head h has the columns from h d / H on of query, keys
 * and values. */
struct gaze {
    const float *query; /* [d] */
    struct looked_at keys, values;
    size_t count, position; /* entries to attend to; with ALiBi, the row's own place among them */
    bool alibi;
    const float *forced; /* [count] the weights of all heads; NULL: their own */
    float *weights;      /* [H, count], written */
    float *context;      /* [d], written */
};

/* Vaswani et al. 2017, 3.2.2: a_j = softmax_j(q_h . k_jh / sqrt(d / H)), c_h = sum_j a_j v_jh. With
 * ALiBi (Press et al. 2022) the score of an entry that is n places away is lower by n times the
 * head's slope. */
void heads_look(const struct kernels *kernels, const struct heads_shape *heads,
                const struct gaze *gaze);

/* Does the same for the rows of one sentence, which all attend to each other. slopes: [H] scratch;
 * NULL: without ALiBi. */
void heads_look_around(const struct kernels *kernels, const struct heads_shape *heads,
                       struct mutual *mutual, float *slopes);

/* ---- transformers ----
 * A stack of blocks computes x -> LN(x + F(x)) (norm "post", Vaswani et al. 2017), or x + F(LN(x))
 * with one LN on top of the stack
 * ("pre", Xiong et al. 2020). F is attention (struct heads), the feed-forward (struct filter) or
 * one of the decoder's mixers. All rows go through a block at once: a row is a token in the encoder
 * and a hypothesis in the decoder. */

/* ---- positions: vectors that are added to embeddings to encode the places of tokens ---- */

struct positions_kind;

struct positions {
    const struct positions_kind *kind;
    size_t size, rows;  /* d; of the table */
    size_t offset;      /* the position of the first token, which has the table's first row */
    const float *table; /* [rows, d]; NULL: nothing is added */
    bool alibi;         /* scores fall with the distance instead (heads_look) */
};

struct positions_options {
    const char *kind;
    const char *parameter; /* the name of the table in the weights, and of the option in errors
                              about an unknown kind */
    size_t size,
        rows; /* d; positions of a learned or computed table; a stored one has its own number */
    size_t offset; /* the position of the first token: sinusoidal or stored */
};

/* Returns -1 as weights_linear does. */
int positions_init(struct positions *positions, const struct positions_options *options,
                   const struct loader *loader);

/* x [d] += p(offset + position). Positions past the end of a table in the weights count as its last
 * one. */
void positions_add(const struct positions *positions, const struct kernels *kernels,
                   size_t position, float *x);

/* ---- the stack: the parts that all its layers share ---- */

typedef void activation(float *x, size_t n);

/* Returns the activation of this name, or NULL as error_find_row does; weights_failed is then true.
 */
activation *activation_find(const char *key, const char *name, const struct loader *loader);
/* y [rows, outer->out] = outer(activation(inner(x))), x [rows, inner->in], which y may be; scratch:
 * wide [rows, inner->out]. */
void activation_between(activation *activate, const struct kernels *kernels,
                        const struct linear *inner, const struct linear *outer, const float *x,
                        size_t rows, float *wide, float *y);

struct stack {
    const struct kernels *kernels;
    struct heads_shape heads; /* shape of attention to the stack's own rows and to others */
    size_t size, filter;      /* d; f */
    bool pre;                 /* norm "pre" */
    bool half;                /* rows are kept for later steps as binary16; false: float32 */
    activation *activate;
    float scale;   /* factor of embeddings */
    float epsilon; /* epsilon of the stack's norms */
    struct positions positions;
    struct norm top; /* "pre" */
};

/* side: "encoder" or "decoder", the beginning of the parameters' names. positions: the rows of
 * positions_init. weights_failed reports failures. */
void stack_init(struct stack *stack, const char *side, const struct blocks_config *config,
                size_t size, size_t positions, const struct loader *loader);

/* Turns the embedding x [d] of the token at this position into the input of the first block. */
void stack_enter(const struct stack *stack, size_t position, float *x);
/* Turns the last block's output x [rows, d] into the stack's. */
void stack_leave(const struct stack *stack, size_t rows, float *x);

/* ---- blocks ---- */

/* Loads PREFIX.NAME.weight [out, in], and PREFIX.NAME.bias if there is one. weights_failed reports
 * failures, also below. */
void block_linear(struct linear *linear, const char *prefix, const char *name, size_t out,
                  size_t in, bool bias, const struct loader *loader);
/* Loads PREFIX.norm.gain and .shift [d]. */
void block_norm(struct norm *norm, const struct stack *stack, const char *prefix,
                const struct loader *loader);

/* Returns the input of F: x [rows, d] itself, or LN(x), written to u [rows, d]. */
const float *block_read(const struct stack *stack, const struct norm *norm, size_t rows,
                        const float *x, float *u);
/* x += y, the output of F; then LN(x) if the norm is "post". */
void block_add(const struct stack *stack, const struct norm *norm, size_t rows, const float *y,
               float *x);

/* The parameters of attention: q = W_q u + b_q, K = W_k m + b_k, V = W_v m + b_v, each d columns,
 * and F = W_o [c_1 ... c_H] + b_o. m is the input of the row's own stack (self-attention) or the
 * encoder's annotations (cross-attention). */
struct heads {
    struct linear query, key, value, output;
    struct norm norm;
};

/* Loads PREFIX.query, .key, .value, .output, .norm. memory: D, the size of an m. */
void heads_init(struct heads *heads, const struct stack *stack, const char *prefix, size_t memory,
                const struct loader *loader);
/* Self-attention: q, k, v [rows, d] of x [rows, d]. */
void heads_project(const struct heads *heads, const float *x, size_t rows, float *q, float *k,
                   float *v);

/* F(x) = W2 act(W1 x + b1) + b2. */
struct filter {
    struct linear input, output;
    struct norm norm;
};

/* Loads PREFIX.input, .output, .norm. */
void filter_init(struct filter *filter, const struct stack *stack, const char *prefix,
                 const struct loader *loader);
/* Updates x [rows, d]. Scratch: u, y [rows, d], wide [rows, f]. */
void filter_run(const struct filter *filter, const struct stack *stack, size_t rows, float *x,
                float *u, float *y, float *wide);

#endif
