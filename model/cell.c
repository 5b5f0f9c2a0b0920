#include "model/cell.h"

#include <stdio.h>
#include <string.h>

static void step_gru(const struct kernels *kernels, const float *x, const float *u, float *state, size_t hidden) {
    kernels->gru(x, u, state, hidden);
}

static void step_lstm(const struct kernels *kernels, const float *x, const float *u, float *state, size_t hidden) {
    kernels->lstm(x, u, state, state + hidden, hidden);
}

static void step_rnn(const struct kernels *kernels, const float *x, const float *u, float *state, size_t hidden) {
    memcpy(state, u, hidden * sizeof *state);
    kernels->add(x, hidden, state);
    kernels->tanh(state, hidden);
}

static const struct cell_kind kinds[] = {
    {"gru", 3, 1, step_gru},   /* Cho et al. 2014, PyTorch's formulas */
    {"lstm", 4, 2, step_lstm}, /* Hochreiter and Schmidhuber 1997 with forget gates; state [h; c] */
    {"rnn", 1, 1, step_rnn},   /* Elman 1990, tanh */
};

const struct cell_kind *cell_kind_find(const char *name) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

/* columns: of the matrix, if it has more than `in`; otherwise 0. */
static int load_half(struct linear *linear, const char *prefix, const char *half, size_t out, size_t in, size_t columns,
                     struct weights *weights, struct error *err) {
    char weight[128], bias[128];
    snprintf(weight, sizeof weight, "%sweight_%s", prefix, half);
    snprintf(bias, sizeof bias, "%sbias_%s", prefix, half);
    struct linear_names names = {.weight = weight, .bias = bias, .columns = columns};
    return weights_linear(weights, &names, out, in, linear, err);
}

int cell_init(struct cell *cell, const struct cell_kind *kind, const char *prefix, const struct cell_shape *shape,
              struct weights *weights, const struct kernels *kernels, struct error *err) {
    size_t hidden = shape->hidden, gates = kind->gates * hidden;
    *cell = (struct cell){.kind = kind, .kernels = kernels, .hidden = hidden};
    if (load_half(&cell->input, prefix, "input", gates, shape->in, shape->columns, weights, err) == 0 &&
        load_half(&cell->state, prefix, "state", gates, hidden, 0, weights, err) == 0)
        return 0;
    cell_done(cell);
    return -1;
}

void cell_done(struct cell *cell) {
    linear_done(&cell->input);
    linear_done(&cell->state);
}

void cell_step(const struct cell *cell, const struct cell_inputs *inputs, size_t rows, float *states, size_t ld, float *scratch) {
    size_t gates = cell->state.out;
    linear_apply(&cell->state, states, ld, rows, scratch, gates);
    for (size_t r = 0; r < rows; r++)
        cell->kind->step(cell->kernels, inputs->products + (inputs->rows ? inputs->rows[r] : r) * inputs->ld, scratch + r * gates,
                         states + r * ld, cell->hidden);
}
