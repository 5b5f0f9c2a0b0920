/* The two kinds of layers that several networks share: normalisation and recurrent cells. Each is one table of kinds; a new kind is
 * one row there and one in weights/model/norm.py or weights/model/network.py. */
#ifndef ALIGND_LAYERS_H
#define ALIGND_LAYERS_H

#include "model/compute/kernels.h"
#include "model/compute/matrix.h"
#include "model/weights/weights.h"
#include <stdbool.h>

/* ---- normalisation ---- */

/* apart: the two kinds of elements in a vector (a GRU's gates and its candidate) are normalised separately. */
struct norm_kind {
    const char *name;
    bool apart;
    float epsilon;
};

/* The kind of this name; NULL as table_find. "none" is a kind, with an epsilon of 0. */
const struct norm_kind *norm_kind_find(const char *key, const char *name, struct error *err);

/* Layer normalisation, Ba et al. 2016: y = gain * (x - mean) / sqrt(variance + epsilon) + shift, element by element, with mean and
 * variance over the vector. Zeroed: no normalisation. */
struct norm {
    size_t size, first; /* of the vector; of the first of its two kinds of elements, or size if there is one kind */
    float epsilon;
    const float *gain, *shift; /* [size]; NULL: no normalisation. Owned by the weights */
};

/* The names of a norm's parameters, and the vector that it normalises. */
struct norm_names {
    const char *gain, *shift;
    size_t size;
    size_t first; /* 0: all elements are of one kind */
};

/* Loads nothing for "none". Failures as weights_get's, for weights_failed. */
void norm_init(struct norm *norm, const struct norm_kind *kind, const struct norm_names *names, struct weights *weights,
               struct error *err);

/* Normalises row r at x + r * ld in place; does nothing without a gain. */
void norm_apply(const struct norm *norm, const struct kernels *kernels, size_t rows, float *x, size_t ld);

/* ---- recurrent cells ---- */

/* gates: blocks of H in the products with the input and the state. states: vectors of H kept from step to step, h first. apart: the
 * blocks at the beginning that are normalised separately where the norm does so; 0: there is one kind. step: one row. x, u [gates *
 * H] hold W x + b and U h + b; state [states * H] is updated. */
struct cell_kind {
    const char *name;
    size_t gates, states, apart;
    void (*step)(const struct kernels *kernels, const float *x, const float *u, float *state, size_t hidden);
};

/* The kind of this name; NULL as table_find. */
const struct cell_kind *cell_kind_find(const char *key, const char *name, struct error *err);

/* A cell without input: the one before it hands its state on within the same step (deep transition, Pascanu et al. 2014). */
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
    struct linear input, state;         /* [gates * H, in], [gates * H, H], each with its bias (PyTorch's two) */
    struct norm input_norm, state_norm; /* of these products */
    struct transition *transitions;     /* owned: those that follow in each step */
    size_t transition_count;
};

struct cell_shape {
    size_t in, hidden;
    size_t columns;               /* of the matrix weight_input, of which the cell reads the first `in`; 0: exactly those */
    const struct norm_kind *norm; /* of each product; NULL: none */
    size_t transitions;
};

/* Loads PREFIXweight_input, weight_state, bias_input, bias_state, and, if it is normalised, gain_input, shift_input, gain_state,
 * shift_state; for transition n PREFIXtransitions.n.bias_input and everything that ends in _state. */
int cell_init(struct cell *cell, const struct cell_kind *kind, const char *prefix, const struct cell_shape *shape,
              struct weights *weights, const struct kernels *kernels, struct error *err);
void cell_done(struct cell *cell);

/* The products W x + b of a cell's rows with their inputs [gates * H], not normalised: row r's at products + rows[r] * ld, or at
 * products + r * ld if rows is NULL. */
struct cell_inputs {
    const float *products;
    size_t ld;
    const size_t *rows;
};

/* Floats of scratch a row. */
size_t cell_scratch(const struct cell *cell);

/* Steps all rows at once. states: row r's state is at states + r * ld, h first. The products are only read. scratch [rows,
 * cell_scratch]. */
void cell_step(const struct cell *cell, const struct cell_inputs *inputs, size_t rows, float *states, size_t ld, float *scratch);

#endif
