/* Recurrent cells: one table. A new cell is one row here and one in weights/model.py. */
#ifndef ALIGND_CELL_H
#define ALIGND_CELL_H

#include "model/compute/matrix.h"
#include "model/network/norm.h"
#include "model/weights/weights.h"

/* gates: blocks of H in the products with the input and the state. states: vectors of H kept from step to step, h first.
 * step: one row: x, u [gates * H] hold W x + b and U h + b; state [states * H] is updated.
 * apart: the first so many blocks are normalised for themselves where the norm treats two kinds apart; 0: there is one kind. */
struct cell_kind {
    const char *name;
    size_t gates, states;
    void (*step)(const struct kernels *kernels, const float *x, const float *u, float *state, size_t hidden);
    size_t apart;
};

/* The row of this name; NULL as table_find. */
const struct cell_kind *cell_kind_find(const char *key, const char *name, struct error *err);

/* A cell that reads no input: the one before hands its state on within the same step (deep transition, Pascanu et al. 2014). */
struct transition {
    const float *input;  /* [gates * H], what stands for W x + b in every row */
    struct linear state; /* as below */
    struct norm norm;
};

/* One layer, one direction. */
struct cell {
    const struct cell_kind *kind;
    const struct kernels *kernels;
    size_t hidden;
    struct linear input, state;         /* [gates * H, in], [gates * H, H], each with its bias (PyTorch's two) */
    struct norm input_norm, state_norm; /* of these products; not set: none */
    struct transition *transitions;     /* owned: those that follow in each step */
    size_t transition_count;
};

struct cell_shape {
    size_t in, hidden;
    size_t columns;               /* of the matrix weight_input, of which the cell reads the first `in`; 0: no more than those */
    const struct norm_kind *norm; /* of each product; NULL: none */
    size_t transitions;
};

/* Loads PREFIXweight_input, weight_state, bias_input, bias_state, and gain_input, shift_input, gain_state, shift_state where it is
 * normalised; for transition n PREFIXtransitions.n.bias_input and all that ends in _state. */
int cell_init(struct cell *cell, const struct cell_kind *kind, const char *prefix, const struct cell_shape *shape,
              struct weights *weights, const struct kernels *kernels, struct error *err);
void cell_done(struct cell *cell);

/* The products W x + b of a cell's rows with their inputs [gates * H], not normalised: row r's at products + rows[r] * ld (rows
 * NULL: + r * ld). */
struct cell_inputs {
    const float *products;
    size_t ld;
    const size_t *rows;
};

/* rows steps at once. states: row r's state at states + r * ld, h first. The products are not written to. scratch
 * [rows, cell_scratch]. */
size_t cell_scratch(const struct cell *cell);
void cell_step(const struct cell *cell, const struct cell_inputs *inputs, size_t rows, float *states, size_t ld, float *scratch);

#endif
