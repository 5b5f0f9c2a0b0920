/* Recurrent cells: one table. A new cell is one row here and one in weights/model.py. */
#ifndef ALIGND_CELL_H
#define ALIGND_CELL_H

#include "model/matrix.h"
#include "model/weights.h"

/* gates: blocks of H in the products with the input and the state. states: vectors of H kept from step to step, h first.
 * step: one row: x, u [gates * H] hold W x + b and U h + b; state [states * H] is updated. */
struct cell_kind {
    const char *name;
    size_t gates, states;
    void (*step)(const struct kernels *kernels, const float *x, const float *u, float *state, size_t hidden);
};

/* NULL if the table has no such row. */
const struct cell_kind *cell_kind_find(const char *name);

/* One layer, one direction. */
struct cell {
    const struct cell_kind *kind;
    const struct kernels *kernels;
    size_t hidden;
    struct linear input, state; /* [gates * H, in], [gates * H, H], each with its bias (PyTorch's two) */
};

struct cell_shape {
    size_t in, hidden;
    size_t columns; /* of the matrix weight_input, of which the cell reads the first `in`; 0: no more than those */
};

/* Loads PREFIXweight_input, weight_state, bias_input, bias_state. */
int cell_init(struct cell *cell, const struct cell_kind *kind, const char *prefix, const struct cell_shape *shape,
              struct weights *weights, const struct kernels *kernels, struct error *err);
void cell_done(struct cell *cell);

/* The products W x + b of a cell's rows with their inputs [gates * H]: row r's at products + rows[r] * ld (rows NULL: + r * ld). */
struct cell_inputs {
    const float *products;
    size_t ld;
    const size_t *rows;
};

/* rows steps at once. states: row r's state at states + r * ld, h first. scratch [rows, gates * H]. */
void cell_step(const struct cell *cell, const struct cell_inputs *inputs, size_t rows, float *states, size_t ld, float *scratch);

#endif
