/* Hides how normalised vectors and recurrent cells are loaded and computed. */
#include "model/network/layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- normalisation ---- */

static const struct norm_kind norms[] = {
    {"none", false, 0},
    {"layer", false, 1e-9f}, /* the whole vector at once, as Marian's models are trained */
    {"gates", true, 1e-5f},  /* a GRU's gates and its candidate separately, as Nematus's models are trained */
    {"block", false, 1e-6f}, /* a transformer's blocks, Marian's among others; no key has this value */
};

const struct norm_kind *norm_kind_find(const char *key, const char *name, struct error *err) {
    return TABLE_FIND(norms, key, name, err);
}

void norm_init(struct norm *norm, const struct norm_kind *kind, const struct norm_names *names, struct weights *weights,
               struct error *err) {
    *norm = (struct norm){0};
    if (kind->epsilon == 0)
        return;
    const float *gain = weights_get(weights, names->gain, names->size, 1, err);
    const float *shift = weights_get(weights, names->shift, names->size, 1, err);
    *norm = (struct norm){.size = names->size,
                          .first = kind->apart && names->first > 0 ? names->first : names->size,
                          .epsilon = kind->epsilon,
                          .gain = gain,
                          .shift = shift};
}

void norm_apply(const struct norm *norm, const struct kernels *kernels, size_t rows, float *x, size_t ld) {
    size_t first = norm->first, rest = norm->size - first;
    for (size_t r = 0; norm->gain && r < rows; r++, x += ld) {
        kernels->normalize(x, norm->gain, norm->shift, first, norm->epsilon);
        if (rest > 0)
            kernels->normalize(x + first, norm->gain + first, norm->shift + first, rest, norm->epsilon);
    }
}

/* ---- the kinds of cells ---- */

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

static const struct cell_kind cells[] = {
    {"gru", 3, 1, 2, step_gru},   /* Cho et al. 2014 in PyTorch's formulas; two gates, then the candidate */
    {"lstm", 4, 2, 0, step_lstm}, /* Hochreiter and Schmidhuber 1997 with forget gates; the state is [h; c] */
    {"rnn", 1, 1, 0, step_rnn},   /* Elman 1990, tanh */
};

const struct cell_kind *cell_kind_find(const char *key, const char *name, struct error *err) {
    return TABLE_FIND(cells, key, name, err);
}

/* ---- loading a cell ---- */

/* The product with the input or with the state, and its norm. Their names are PREFIXweight_END and so on. columns: of the matrix if
 * it has more than `in`, otherwise 0. */
struct half {
    const char *prefix, *end;
    size_t in, columns;
    struct linear *linear;
    struct norm *norm;
};

static void load_half(const struct half *half, const struct cell_kind *kind, const struct cell_shape *shape,
                      struct weights *weights, struct error *err) {
    char weight[128], bias[128];
    size_t gates = kind->gates * shape->hidden;
    snprintf(weight, sizeof weight, "%sweight_%s", half->prefix, half->end);
    snprintf(bias, sizeof bias, "%sbias_%s", half->prefix, half->end);
    struct linear_names names = {.weight = weight, .bias = bias, .columns = half->columns};
    weights_linear(weights, &names, gates, half->in, half->linear, err);
    if (!shape->norm)
        return;

    char gain[128], shift[128];
    snprintf(gain, sizeof gain, "%sgain_%s", half->prefix, half->end);
    snprintf(shift, sizeof shift, "%sshift_%s", half->prefix, half->end);
    norm_init(half->norm, shape->norm, &(struct norm_names){gain, shift, gates, kind->apart * shape->hidden}, weights, err);
}

int cell_init(struct cell *cell, const struct cell_kind *kind, const char *prefix, const struct cell_shape *shape,
              struct weights *weights, const struct kernels *kernels, struct error *err) {
    *cell = (struct cell){.kind = kind, .kernels = kernels, .hidden = shape->hidden};
    load_half(&(struct half){prefix, "input", shape->in, shape->columns, &cell->input, &cell->input_norm}, kind, shape, weights,
              err);
    load_half(&(struct half){prefix, "state", shape->hidden, 0, &cell->state, &cell->state_norm}, kind, shape, weights, err);

    cell->transitions = shape->transitions > 0 ? calloc(shape->transitions, sizeof *cell->transitions) : NULL;
    if (cell->transitions) {
        cell->transition_count = shape->transitions;
    } else if (shape->transitions > 0) {
        error_memory(err);
        weights_fail(weights);
    }
    for (size_t i = 0; i < cell->transition_count; i++) {
        struct transition *transition = &cell->transitions[i];
        char within[96], name[128];
        snprintf(within, sizeof within, "%stransitions.%zu.", prefix, i);
        snprintf(name, sizeof name, "%sbias_input", within);
        transition->input = weights_get(weights, name, kind->gates * shape->hidden, 1, err);
        load_half(&(struct half){within, "state", shape->hidden, 0, &transition->state, &transition->norm}, kind, shape, weights,
                  err);
    }
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

/* ---- stepping a cell ---- */

/* A row needs the product with its state and, if the inputs are normalised, its own copy. */
size_t cell_scratch(const struct cell *cell) {
    return cell->state.out * (cell->input_norm.gain ? 2 : 1);
}

/* The states of R rows in the middle of a step. */
struct rows {
    float *states;
    size_t ld, count;
};

static void step_once(const struct cell *cell, const struct linear *state, const struct norm *norm,
                      const struct cell_inputs *inputs, const struct rows *rows, float *products) {
    size_t gates = state->out;
    linear_apply(state, rows->states, rows->ld, rows->count, products, gates);
    norm_apply(norm, cell->kernels, rows->count, products, gates);
    for (size_t r = 0; r < rows->count; r++)
        cell->kind->step(cell->kernels, inputs->products + (inputs->rows ? inputs->rows[r] : r) * inputs->ld, products + r * gates,
                         rows->states + r * rows->ld, cell->hidden);
}

void cell_step(const struct cell *cell, const struct cell_inputs *inputs, size_t rows, float *states, size_t ld, float *scratch) {
    struct rows all = {states, ld, rows};
    struct cell_inputs read = *inputs;
    size_t gates = cell->state.out;
    if (cell->input_norm.gain) { /* copies are normalised, since several rows may share a product */
        float *copies = scratch + rows * gates;
        for (size_t r = 0; r < rows; r++)
            memcpy(copies + r * gates, inputs->products + (inputs->rows ? inputs->rows[r] : r) * inputs->ld,
                   gates * sizeof *copies);
        norm_apply(&cell->input_norm, cell->kernels, rows, copies, gates);
        read = (struct cell_inputs){copies, gates, NULL};
    }
    step_once(cell, &cell->state, &cell->state_norm, &read, &all, scratch);
    for (size_t i = 0; i < cell->transition_count; i++) {
        const struct transition *next = &cell->transitions[i];
        step_once(cell, &next->state, &next->norm, &(struct cell_inputs){next->input, 0, NULL}, &all, scratch);
    }
}
