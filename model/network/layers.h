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
 * separately. rms: by the root mean square. */
struct norm_kind {
    const char *name;
    bool apart, rms;
    float epsilon;
};

/* Returns the kind of this name, or NULL as error_find_row does. "none" is a kind, with an epsilon
 * of 0. */
const struct norm_kind *norm_kind_find(const char *key, const char *name, struct error *err);

/* Layer normalisation, Ba et al. 2016: y = gain * (x - mean) / sqrt(variance + epsilon) + shift,
 * element by element, with mean and variance over the vector; or normalisation by the root mean
 * square, Zhang and Sennrich 2019: y = gain * x / sqrt(mean(x^2) + epsilon). Zeroed: neither. */
struct norm {
    size_t size, first; /* length of the vector, and elements of the first of its two kinds, or size
                           if there is one kind */
    float epsilon;
    const float *gain, *shift; /* [size]; gain NULL: no normalisation; shift NULL: by the root mean
                                  square. Owned by the weights */
};

/* A norm's parameters are BEFOREgainAFTER and, unless it is by the root mean square,
 * BEFOREshiftAFTER. */
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
    size_t count, position; /* entries to attend to; the row's own place among them */
    const struct lean
        *lean;           /* changes the scores by the distances to that place; NULL: it does not */
    const float *forced; /* [count] the weights of all heads; NULL: their own */
    float *weights;      /* [H, count], written */
    float *scores; /* [count] those of head `scored` before the softmax, NAN if its weights are
                      forced; NULL: not wanted */
    size_t scored;
    float *context; /* [d], written */
};

/* Numbers that scores change by, for the distance j - i of entry j from row i: ALiBi (Press et al.
 * 2022) subtracts a head's slope times |j - i|; relative positions (Raffel et al. 2020, 2.1) add
 * the head's number for the bucket of j - i. */
struct lean {
    bool alibi;
    const uint16_t *buckets; /* [2 reach + 1] the bucket of each distance from -reach on */
    size_t reach;            /* larger distances count as this one */
    const float *biases;     /* [buckets, H]; NULL: no relative positions */
};

/* Vaswani et al. 2017, 3.2.2: a_j = softmax_j(scale q_h . k_jh + lean_h(j - i)), c_h = sum_j a_j
 * v_jh. */
void heads_look(const struct kernels *kernels, const struct heads_shape *heads,
                const struct gaze *gaze);

/* Does the same for the rows of one sentence, which all attend to each other. The mutual's lean is
 * made by heads_lean. */
void heads_look_around(const struct kernels *kernels, const struct heads_shape *heads,
                       const struct mutual *mutual);

/* table [H, 2 n - 1]: each head's lean for the distances -(n - 1) to n - 1. */
void heads_lean(const struct heads_shape *heads, const struct lean *lean, size_t n, float *table);

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
    struct lean lean;   /* what scores change by instead (heads_look); biases NULL and no ALiBi:
                           nothing, unless each layer has its own biases */
    size_t buckets;     /* of relative positions; 0: other positions */
    bool shared;        /* all layers have the same biases */
    /* Queries and keys are rotated instead (Su et al. 2021). turns: [rows, rotated] the cosine and
     * the sine of each pair of columns; NULL: nothing is rotated. */
    size_t rotated; /* columns of each head; even */
    bool halves;    /* column i goes with column i + rotated / 2; false: neighbours go together */
    double base;
    const float *turns;
};

struct positions_options {
    const char *kind;
    const char *parameter; /* the name of the table in the weights, and of the option in errors
                              about an unknown kind */
    size_t size,
        rows; /* d; positions of a learned or computed table; a stored one has its own number */
    size_t offset;            /* the position of the first token: sinusoidal or stored */
    struct heads_shape heads; /* rotary and relative */
    size_t rotated;           /* as in struct positions */
    bool halves;
    double base;
    /* Relative positions: the number of buckets; the distance from which on all share the last
     * bucket; true if earlier and later entries have buckets of their own; struct positions. */
    size_t buckets, farthest;
    bool both, shared;
};

/* Returns -1 as weights_linear does. */
int positions_init(struct positions *positions, const struct positions_options *options,
                   const struct loader *loader);

/* x [d] += p(offset + position). Positions past the end of a table in the weights count as its last
 * one. */
void positions_add(const struct positions *positions, const struct kernels *kernels,
                   size_t position, float *x);

/* Rotates the heads of x, a query or a key [d], by the angles of a position: pair i by position *
 * base^(-2 i / rotated). Does nothing with other positions. */
void positions_rotate(const struct positions *positions, const struct heads_shape *heads,
                      size_t position, float *x);

/* ---- the stack: the parts that all its layers share ---- */

typedef void activation(float *x, size_t n);

/* Returns the activation of this name, or NULL as error_find_row does; weights_failed is then true.
 */
activation *activation_find(const char *key, const char *name, const struct loader *loader);

struct pair_of_layers {
    const struct linear *inner, *outer;
    activation *activate; /* the activation between them */
    const struct kernels *kernels;
};

/* y [rows, outer->out] = outer(activation(inner(x))), x [rows, inner->in], which y may be; scratch:
 * wide [rows, inner->out]. */
void activation_between(const struct pair_of_layers *layers, const float *x, size_t rows,
                        float *wide, float *y);

struct stack {
    const struct kernels *kernels;
    struct heads_shape heads; /* shape of attention to the stack's own rows and to others */
    size_t size, filter;      /* d; f */
    size_t width;             /* columns of all heads, usually d */
    bool biases;              /* the linear layers of blocks have biases */
    bool gated;               /* the feed-forward has a gate */
    bool pre;                 /* norm "pre" */
    bool narrow; /* keys and values are kept for later steps as int16; false: as float32 */
    size_t room; /* floats that a key or a value takes: kept_room */
    activation *activate;
    float scale; /* factor of embeddings */
    const struct norm_kind *norm;
    float epsilon; /* epsilon of the stack's norms */
    struct positions positions;
    struct norm first; /* of the first block's input; zeroed: none */
    struct norm top;   /* "pre" */
};

/* Returns the floats that a row needs for the middle of a feed-forward. */
size_t stack_wide(const struct stack *stack);

/* side: "encoder" or "decoder", the beginning of the parameters' names. positions: the rows of
 * positions_init. weights_failed reports failures. */
void stack_init(struct stack *stack, const char *side, const struct blocks_config *config,
                size_t size, size_t positions, const struct loader *loader);

/* Turns the embedding x [d] of the token at this position into the input of the first block. */
void stack_enter(const struct stack *stack, size_t position, float *x);
/* Turns the last block's output x [rows, d] into the stack's. */
void stack_leave(const struct stack *stack, size_t rows, float *x);

/* ---- blocks ---- */

struct block_shape {
    size_t out, in;
    bool bias;
};

/* Loads PREFIX.NAME.weight [out, in], and PREFIX.NAME.bias if there is one. weights_failed reports
 * failures, also below. */
void block_linear(struct linear *linear, const char *prefix, const char *name,
                  struct block_shape shape, const struct loader *loader);
/* Loads PREFIX.norm.gain and .shift [d], if the stack's norms have one. */
void block_norm(struct norm *norm, const struct stack *stack, const char *prefix,
                const struct loader *loader);

/* Returns the input of F: x [rows, d] itself, or LN(x), written to u [rows, d]. */
const float *block_read(const struct stack *stack, const struct norm *norm, size_t rows,
                        const float *x, float *u);
/* x += y, the output of F; then LN(x) if the norm is "post". */
void block_add(const struct stack *stack, const struct norm *norm, size_t rows, const float *y,
               float *x);

/* The parameters of attention: q = W_q u + b_q, K = W_k m + b_k, V = W_v m + b_v, each as wide as
 * all heads,
 * and F = W_o [c_1 ... c_H] + b_o. m is the input of the row's own stack (self-attention) or the
 * encoder's annotations (cross-attention). */
struct heads {
    struct linear query, key, value, output;
    struct norm norm;
    struct lean lean; /* of self-attention, by heads_init_self */
};

/* Loads PREFIX.query, .key, .value, .output, .norm. memory: D, the size of an m. */
void heads_init(struct heads *heads, const struct stack *stack, const char *prefix, size_t memory,
                const struct loader *loader);
/* Does so for self-attention, and loads PREFIX.positions if each layer has its own relative
 * positions. */
void heads_init_self(struct heads *heads, const struct stack *stack, const char *prefix,
                     const struct loader *loader);
/* NULL: the scores of self-attention are as they are. */
const struct lean *heads_leaning(const struct heads *heads);

/* q, k and v of some rows, `distance` floats from row to row. */
struct projections {
    float *q, *k, *v;
    size_t distance;
};
/* Self-attention: the projections of x [rows, d]. */
void heads_project(const struct heads *heads, const float *x, size_t rows,
                   const struct projections *out);

/* F(x) = W2 act(W1 x + b1) + b2, or with a gate (Shazeer 2020) W2 (act(W1 x + b1) * (W3 x + b3)) +
 * b2, element by element. */
struct filter {
    struct linear input, output, gate; /* gate: W3; zeroed: none */
    struct norm norm;
};

/* Loads PREFIX.input, .output, .gate if the stack has gates, .norm. */
void filter_init(struct filter *filter, const struct stack *stack, const char *prefix,
                 const struct loader *loader);

struct filter_rows {
    size_t rows;
    float *x;            /* [rows, d] updated */
    float *u, *y, *wide; /* scratch: [rows, d], [rows, d], [rows, stack_wide] */
};

void filter_run(const struct filter *filter, const struct stack *stack,
                const struct filter_rows *rows);

#endif
