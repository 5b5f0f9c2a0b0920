#include "model/network/cell.h"
#include "model/base/table.h"

#include <stdio.h>
#include <stdlib.h>
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
    {"gru", 3, 1, step_gru, 2},   /* Cho et al. 2014, PyTorch's formulas; the gates, and apart from them the candidate */
    {"lstm", 4, 2, step_lstm, 0}, /* Hochreiter and Schmidhuber 1997 with forget gates; state [h; c] */
    {"rnn", 1, 1, step_rnn, 0},   /* Elman 1990, tanh */
};

const struct cell_kind *cell_kind_find(const char *key, const char *name, struct error *err) {
    return TABLE_FIND(kinds, key, name, err);
}

/* ---- loading ---- */

struct loading {
    const struct cell_kind *kind;
    const struct cell_shape *shape;
    struct weights *weights;
    struct error *err;
};

/* The product with the input or with the state, by the end of its parameters' names. columns: of the matrix, if it has more than
 * `in`; otherwise 0. */
struct half {
    const char *prefix, *name;
    size_t in, columns;
};

/* A name within the prefix; buf [128]. */
static const char *name_of(const struct half *half, const char *what, char *buf) {
    snprintf(buf, 128, "%s%s_%s", half->prefix, what, half->name);
    return buf;
}

static void load_half(const struct loading *l, const struct half *half, struct linear *linear, struct norm *norm) {
    char first[128], second[128];
    size_t hidden = l->shape->hidden, gates = l->kind->gates * hidden;
    struct linear_names names = {
        .weight = name_of(half, "weight", first), .bias = name_of(half, "bias", second), .columns = half->columns};
    weights_linear(l->weights, &names, gates, half->in, linear, l->err);
    if (!l->shape->norm)
        return;
    struct norm_names normed = {.gain = name_of(half, "gain", first),
                                .shift = name_of(half, "shift", second),
                                .size = gates,
                                .first = l->kind->apart * hidden};
    norm_init(norm, l->shape->norm, &normed, l->weights, l->err);
}

static void load_transition(const struct loading *l, const char *prefix, size_t index, struct transition *transition) {
    char within[96], name[128];
    snprintf(within, sizeof within, "%stransitions.%zu.", prefix, index);
    struct half state = {within, "state", l->shape->hidden, 0};
    snprintf(name, sizeof name, "%sbias_input", within);
    transition->input = weights_get(l->weights, name, l->kind->gates * l->shape->hidden, 1, l->err);
    load_half(l, &state, &transition->state, &transition->norm);
}

static void load_transitions(const struct loading *l, const char *prefix, struct cell *cell) {
    if (l->shape->transitions == 0)
        return;
    cell->transitions = calloc(l->shape->transitions, sizeof *cell->transitions);
    if (!cell->transitions) {
        error_memory(l->err);
        weights_fail(l->weights);
        return;
    }
    cell->transition_count = l->shape->transitions;
    for (size_t i = 0; i < cell->transition_count; i++)
        load_transition(l, prefix, i, &cell->transitions[i]);
}

int cell_init(struct cell *cell, const struct cell_kind *kind, const char *prefix, const struct cell_shape *shape,
              struct weights *weights, const struct kernels *kernels, struct error *err) {
    struct loading loading = {kind, shape, weights, err};
    struct half input = {prefix, "input", shape->in, shape->columns}, state = {prefix, "state", shape->hidden, 0};
    *cell = (struct cell){.kind = kind, .kernels = kernels, .hidden = shape->hidden};
    load_half(&loading, &input, &cell->input, &cell->input_norm);
    load_half(&loading, &state, &cell->state, &cell->state_norm);
    load_transitions(&loading, prefix, cell);
    if (!weights_failed(weights))
        return 0;
    cell_done(cell);
    return -1;
}

void cell_done(struct cell *cell) {
    linear_done(&cell->input);
    linear_done(&cell->state);
    for (size_t i = 0; i < cell->transition_count; i++)
        linear_done(&cell->transitions[i].state);
    free(cell->transitions);
    cell->transitions = NULL;
    cell->transition_count = 0;
}

/* ---- stepping ---- */

/* Of a row: the product with its state, and where the inputs are normalised a copy of theirs. */
size_t cell_scratch(const struct cell *cell) {
    return cell->state.out * (norm_is_set(&cell->input_norm) ? 2 : 1);
}

/* The products themselves without a norm; otherwise copies, since several rows may share one. */
static struct cell_inputs normalise(const struct cell *cell, const struct cell_inputs *inputs, size_t rows, float *copies) {
    size_t gates = cell->state.out;
    if (!norm_is_set(&cell->input_norm))
        return *inputs;
    for (size_t r = 0; r < rows; r++)
        memcpy(copies + r * gates, inputs->products + (inputs->rows ? inputs->rows[r] : r) * inputs->ld, gates * sizeof *copies);
    norm_apply(&cell->input_norm, cell->kernels, rows, copies, gates);
    return (struct cell_inputs){copies, gates, NULL};
}

/* States of R rows, in the middle of a step. */
struct rows {
    float *states;
    size_t ld, count;
};

static void cell_step_once(const struct cell *cell, const struct linear *state, const struct norm *norm,
                           const struct cell_inputs *inputs, const struct rows *rows, float *products) {
    size_t gates = state->out;
    linear_apply(state, rows->states, rows->ld, rows->count, products, gates);
    norm_apply(norm, cell->kernels, rows->count, products, gates);
    for (size_t r = 0; r < rows->count; r++)
        cell->kind->step(cell->kernels, inputs->products + (inputs->rows ? inputs->rows[r] : r) * inputs->ld, products + r * gates,
                         rows->states + r * rows->ld, cell->hidden);
}

void cell_step(const struct cell *cell, const struct cell_inputs *inputs, size_t rows, float *states, size_t ld, float *scratch) {
    struct cell_inputs given = normalise(cell, inputs, rows, scratch + rows * cell->state.out);
    struct rows all = {states, ld, rows};
    cell_step_once(cell, &cell->state, &cell->state_norm, &given, &all, scratch);
    for (size_t i = 0; i < cell->transition_count; i++) {
        const struct transition *next = &cell->transitions[i];
        cell_step_once(cell, &next->state, &next->norm, &(struct cell_inputs){next->input, 0, NULL}, &all, scratch);
    }
}
