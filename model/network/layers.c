/* This file hides how the parts of networks are loaded and computed: where vectors and blocks are
 * normalised, how cells step, how positions are represented, and which activations there are. */
#include "model/network/layers.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- normalisation ---- */

static const struct norm_kind norms[] = {
    {"none", false, 0},
    {"layer", false, 1e-9f}, /* the whole vector at once, as Marian's models are trained */
    {"gates", true,
     1e-5f}, /* a GRU's gates and its candidate separately, as Nematus's models are trained */
    {"block", false,
     1e-6f}, /* a transformer's blocks, Marian's among others; no key has this value */
};

const struct norm_kind *norm_kind_find(const char *key, const char *name, struct error *err) {
    return TABLE_FIND(norms, key, name, err);
}

void norm_init(struct norm *norm, const struct norm_kind *kind, const struct norm_names *names,
               const struct loader *loader) {
    *norm = (struct norm){0};
    if (kind->epsilon == 0)
        return;
    char name[PARAMETER_BYTES];
    snprintf(name, sizeof name, "%sgain%s", names->before, names->after);
    const float *gain = weights_get(loader->weights, name, names->size, 1, loader->err);
    snprintf(name, sizeof name, "%sshift%s", names->before, names->after);
    const float *shift = weights_get(loader->weights, name, names->size, 1, loader->err);
    *norm = (struct norm){.size = names->size,
                          .first = kind->apart && names->first > 0 ? names->first : names->size,
                          .epsilon = kind->epsilon,
                          .gain = gain,
                          .shift = shift};
}

void norm_apply(const struct norm *norm, const struct kernels *kernels, size_t rows, float *x,
                size_t ld) {
    size_t first = norm->first, rest = norm->size - first;
    if (!norm->gain)
        return;
    kernels->normalize(x, ld, rows, norm->gain, norm->shift, first, norm->epsilon);
    if (rest > 0)
        kernels->normalize(x + first, ld, rows, norm->gain + first, norm->shift + first, rest,
                           norm->epsilon);
}

/* ---- the kinds of cells ---- */

static void step_gru(const struct kernels *kernels, const float *x, const float *u, float *state,
                     size_t hidden) {
    kernels->gru(x, u, state, hidden);
}

static void step_lstm(const struct kernels *kernels, const float *x, const float *u, float *state,
                      size_t hidden) {
    kernels->lstm(x, u, state, state + hidden, hidden);
}

static void step_rnn(const struct kernels *kernels, const float *x, const float *u, float *state,
                     size_t hidden) {
    memcpy(state, u, hidden * sizeof *state);
    kernels->add(x, hidden, state);
    kernels->tanh(state, hidden);
}

static const struct cell_kind cells[] = {
    {"gru", 3, 1, 2,
     step_gru}, /* Cho et al. 2014 in PyTorch's formulas; two gates, then the candidate */
    {"lstm", 4, 2, 0,
     step_lstm}, /* Hochreiter and Schmidhuber 1997 with forget gates; the state is [h; c] */
    {"rnn", 1, 1, 0, step_rnn}, /* Elman 1990, tanh */
};

const struct cell_kind *cell_kind_find(const char *key, const char *name, struct error *err) {
    return TABLE_FIND(cells, key, name, err);
}

/* ---- loading a cell ---- */

/* The product with the input or with the state, and its norm. Their names are PREFIXweightEND and
 * so on. columns: of the matrix if it has more than `in`, otherwise 0. */
struct half {
    const char *prefix, *end;
    size_t in, columns;
    struct linear *linear;
    struct norm *norm;
};

static void load_half(const struct half *half, const struct cell_kind *kind,
                      const struct cell_shape *shape, const struct loader *loader) {
    char weight[128], bias[128];
    size_t gates = kind->gates * shape->hidden;
    snprintf(weight, sizeof weight, "%sweight%s", half->prefix, half->end);
    snprintf(bias, sizeof bias, "%sbias%s", half->prefix, half->end);
    struct linear_names names = {.weight = weight, .bias = bias, .columns = half->columns};
    weights_linear(loader->weights, &names, gates, half->in, half->linear, loader->err);
    if (!shape->norm)
        return;
    norm_init(half->norm, shape->norm,
              &(struct norm_names){half->prefix, half->end, gates, kind->apart * shape->hidden},
              loader);
}

int cell_init(struct cell *cell, const struct cell_kind *kind, const char *prefix,
              const struct cell_shape *shape, const struct loader *loader) {
    *cell = (struct cell){.kind = kind, .kernels = loader->kernels, .hidden = shape->hidden};
    load_half(&(struct half){prefix, "_input", shape->in, shape->columns, &cell->input,
                             &cell->input_norm},
              kind, shape, loader);
    load_half(&(struct half){prefix, "_state", shape->hidden, 0, &cell->state, &cell->state_norm},
              kind, shape, loader);

    cell->transitions = shape->transitions > 0 ? arena_zalloc(loader->arena, shape->transitions,
                                                              sizeof *cell->transitions)
                                               : NULL;
    if (cell->transitions) {
        cell->transition_count = shape->transitions;
    } else if (shape->transitions > 0) {
        error_memory(loader->err);
        weights_fail(loader->weights);
    }
    for (size_t i = 0; i < cell->transition_count; i++) {
        struct transition *transition = &cell->transitions[i];
        char within[96], name[128];
        snprintf(within, sizeof within, "%stransitions.%zu.", prefix, i);
        snprintf(name, sizeof name, "%sbias_input", within);
        transition->input =
            weights_get(loader->weights, name, kind->gates * shape->hidden, 1, loader->err);
        load_half(&(struct half){within, "_state", shape->hidden, 0, &transition->state,
                                 &transition->norm},
                  kind, shape, loader);
    }
    return weights_failed(loader->weights) ? -1 : 0;
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
        cell->kind->step(cell->kernels,
                         inputs->products + (inputs->rows ? inputs->rows[r] : r) * inputs->ld,
                         products + r * gates, rows->states + r * rows->ld, cell->hidden);
}

void cell_step(const struct cell *cell, const struct cell_inputs *inputs, size_t rows,
               float *states, size_t ld, float *scratch) {
    struct rows all = {states, ld, rows};
    struct cell_inputs read = *inputs;
    size_t gates = cell->state.out;
    if (cell->input_norm.gain) { /* copies are normalised, since several rows may share a product */
        float *copies = scratch + rows * gates;
        for (size_t r = 0; r < rows; r++)
            memcpy(copies + r * gates,
                   inputs->products + (inputs->rows ? inputs->rows[r] : r) * inputs->ld,
                   gates * sizeof *copies);
        norm_apply(&cell->input_norm, cell->kernels, rows, copies, gates);
        read = (struct cell_inputs){copies, gates, NULL};
    }
    step_once(cell, &cell->state, &cell->state_norm, &read, &all, scratch);
    for (size_t i = 0; i < cell->transition_count; i++) {
        const struct transition *next = &cell->transitions[i];
        step_once(cell, &next->state, &next->norm, &(struct cell_inputs){next->input, 0, NULL},
                  &all, scratch);
    }
}

/* ---- positions ---- */

/* init (NULL: nothing to do) makes the table, of positions->rows unless it sets another number.
 * beyond (NULL: the last row serves for all): x += p of a position after the table's end. */
struct positions_kind {
    const char *name;
    int (*init)(struct positions *positions, const struct positions_options *options,
                const struct loader *loader);
    void (*beyond)(const struct positions *positions, size_t position, float *x);
};

/* As Marian computes it, in float32: p(t)[i] = sin(t w_i), p(t)[d/2 + i] = cos(t w_i), w_i = exp(-i
 * ln(10000) / (d/2 - 1)). */
static void add_sinusoids(const struct positions *positions, size_t position, float *x) {
    size_t half = positions->size / 2;
    float step = logf(10000.0f) / ((float)half - 1);
    for (size_t i = 0; i < half; i++) {
        float angle = (float)position * expf((float)i * -step);
        x[i] += sinf(angle);
        x[half + i] += cosf(angle);
    }
}

static int make_sinusoids(struct positions *positions, const struct positions_options *options,
                          const struct loader *loader) {
    (void)options;
    float *table = arena_zalloc(loader->arena, positions->rows, positions->size * sizeof *table);
    if (!table) {
        error_memory(loader->err);
        return weights_fail(loader->weights);
    }
    for (size_t t = 0; t < positions->rows; t++)
        add_sinusoids(positions, positions->offset + t, table + t * positions->size);
    positions->table = table;
    return 0;
}

static int load_learned(struct positions *positions, const struct positions_options *options,
                        const struct loader *loader) {
    positions->table = weights_get(loader->weights, options->parameter, positions->rows,
                                   positions->size, loader->err);
    return positions->table ? 0 : -1;
}

/* Row 0 is position 0, so that the first token has row `offset`. */
static int load_stored(struct positions *positions, const struct positions_options *options,
                       const struct loader *loader) {
    size_t rows = weights_rows(loader->weights, options->parameter);
    const float *table =
        weights_get(loader->weights, options->parameter, rows, positions->size, loader->err);
    if (!table)
        return -1;
    if (rows <= positions->offset) {
        error_set(loader->err, ERROR_FORMAT,
                  "tensor %s: has %zu positions, and the first token has position %zu",
                  options->parameter, rows, positions->offset);
        return weights_fail(loader->weights);
    }
    positions->table = table + positions->offset * positions->size;
    positions->rows = rows - positions->offset;
    return 0;
}

static const struct positions_kind positions_kinds[] = {
    {"sinusoidal", make_sinusoids, add_sinusoids},
    {"learned", load_learned, NULL},
    {"stored", load_stored, NULL},
    {"alibi", NULL, NULL},
    {"none", NULL, NULL},
};

int positions_init(struct positions *positions, const struct positions_options *options,
                   const struct loader *loader) {
    *positions = (struct positions){.size = options->size,
                                    .rows = options->rows,
                                    .offset = options->offset,
                                    .alibi = strcmp(options->kind, "alibi") == 0};
    positions->kind = TABLE_FIND(positions_kinds, options->parameter, options->kind, loader->err);
    if (!positions->kind)
        return weights_fail(loader->weights);
    return positions->kind->init ? positions->kind->init(positions, options, loader) : 0;
}

void positions_add(const struct positions *positions, const struct kernels *kernels,
                   size_t position, float *x) {
    if (!positions->table)
        return;
    if (position >= positions->rows && positions->kind->beyond) {
        positions->kind->beyond(positions, positions->offset + position, x);
        return;
    }
    size_t row = position < positions->rows ? position : positions->rows - 1;
    kernels->add(positions->table + row * positions->size, positions->size, x);
}

/* ---- the stack ---- */

activation *activation_find(const char *key, const char *name, const struct loader *loader) {
    const struct block_kernels *blocks = loader->kernels->blocks;
    const struct row {
        const char *name;
        activation *apply;
    } rows[] = {{"relu", blocks->relu}, {"swish", blocks->swish}, {"gelu", blocks->gelu}};
    const struct row *found = TABLE_FIND(rows, key, name, loader->err);
    if (!found)
        weights_fail(loader->weights);
    return found ? found->apply : NULL;
}

void activation_between(activation *activate, const struct kernels *kernels,
                        const struct linear *inner, const struct linear *outer, const float *x,
                        size_t rows, float *wide, float *y) {
    if (activate == kernels->blocks->relu) {
        linear_apply_twice(inner, outer, x, rows, wide, y);
        return;
    }
    linear_apply(inner, x, inner->in, rows, wide, inner->out);
    activate(wide, rows * inner->out);
    linear_apply(outer, wide, outer->in, rows, y, outer->out);
}

void stack_init(struct stack *stack, const char *side, const struct blocks_config *config,
                size_t size, size_t positions, const struct loader *loader) {
    char name[PARAMETER_BYTES];
    *stack = (struct stack){.kernels = loader->kernels,
                            .heads = {.count = config->heads, .size = size / config->heads},
                            .size = size,
                            .filter = config->filter,
                            .pre = strcmp(config->norm, "pre") == 0,
                            .scale = config->embedding_scale ? sqrtf((float)size) : 1,
                            .epsilon = (float)config->epsilon};
    snprintf(name, sizeof name, "%s.activation", side);
    stack->activate = activation_find(name, config->activation, loader);
    snprintf(name, sizeof name, "%s.positions", side);
    positions_init(&stack->positions,
                   &(struct positions_options){config->positions, name, size, positions,
                                               config->position_offset},
                   loader);
    if (stack->pre)
        block_norm(&stack->top, stack, side, loader);
}

void stack_enter(const struct stack *stack, size_t position, float *x) {
    for (size_t i = 0; i < stack->size; i++)
        x[i] *= stack->scale;
    positions_add(&stack->positions, stack->kernels, position, x);
}

void stack_leave(const struct stack *stack, size_t rows, float *x) {
    norm_apply(&stack->top, stack->kernels, rows, x, stack->size);
}

/* ---- blocks ---- */

void block_linear(struct linear *linear, const char *prefix, const char *name, size_t out,
                  size_t in, bool bias, const struct loader *loader) {
    char weight[PARAMETER_BYTES], shift[PARAMETER_BYTES];
    assert(weights_backend(loader->weights)->pages); /* nothing is freed otherwise */
    snprintf(weight, sizeof weight, "%s.%s.weight", prefix, name);
    snprintf(shift, sizeof shift, "%s.%s.bias", prefix, name);
    weights_linear(loader->weights,
                   &(struct linear_names){.weight = weight, .bias = bias ? shift : NULL}, out, in,
                   linear, loader->err);
}

void block_norm(struct norm *norm, const struct stack *stack, const char *prefix,
                const struct loader *loader) {
    char name[PARAMETER_BYTES];
    snprintf(name, sizeof name, "%s.norm.", prefix);
    norm_init(norm, norm_kind_find(prefix, "block", NULL),
              &(struct norm_names){name, "", stack->size, 0}, loader);
    norm->epsilon = stack->epsilon;
}

const float *block_read(const struct stack *stack, const struct norm *norm, size_t rows,
                        const float *x, float *u) {
    if (!stack->pre)
        return x;
    memcpy(u, x, rows * stack->size * sizeof *u);
    norm_apply(norm, stack->kernels, rows, u, stack->size);
    return u;
}

void block_add(const struct stack *stack, const struct norm *norm, size_t rows, const float *y,
               float *x) {
    enum { TOGETHER = 4 }; /* rows that are normalised while they are still in the first cache */
    for (size_t r = 0; r < rows;
         r += TOGETHER, y += TOGETHER * stack->size, x += TOGETHER * stack->size) {
        size_t some = rows - r < TOGETHER ? rows - r : TOGETHER;
        stack->kernels->add(y, some * stack->size, x);
        if (!stack->pre)
            norm_apply(norm, stack->kernels, some, x, stack->size);
    }
}

void heads_init(struct heads *heads, const struct stack *stack, const char *prefix, size_t memory,
                const struct loader *loader) {
    size_t size = stack->size;
    *heads = (struct heads){0};
    block_linear(&heads->query, prefix, "query", size, size, true, loader);
    block_linear(&heads->key, prefix, "key", size, memory, true, loader);
    block_linear(&heads->value, prefix, "value", size, memory, true, loader);
    block_linear(&heads->output, prefix, "output", size, size, true, loader);
    block_norm(&heads->norm, stack, prefix, loader);
}

void heads_project(const struct heads *heads, const float *x, size_t rows, float *q, float *k,
                   float *v) {
    size_t size = heads->query.in;
    const struct linear_output outputs[] = {{.linear = &heads->query, .y = q, .ldy = size},
                                            {.linear = &heads->key, .y = k, .ldy = size},
                                            {.linear = &heads->value, .y = v, .ldy = size}};
    linear_apply_all(outputs, 3, x, size, rows);
}

void filter_init(struct filter *filter, const struct stack *stack, const char *prefix,
                 const struct loader *loader) {
    *filter = (struct filter){0};
    block_linear(&filter->input, prefix, "input", stack->filter, stack->size, true, loader);
    block_linear(&filter->output, prefix, "output", stack->size, stack->filter, true, loader);
    block_norm(&filter->norm, stack, prefix, loader);
}

void filter_run(const struct filter *filter, const struct stack *stack, size_t rows, float *x,
                float *u, float *y, float *wide) {
    const float *read = block_read(stack, &filter->norm, rows, x, u);
    activation_between(stack->activate, stack->kernels, &filter->input, &filter->output, read, rows,
                       wide, y);
    block_add(stack, &filter->norm, rows, y, x);
}
