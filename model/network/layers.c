/* This file hides how the parts of networks are loaded and computed: where vectors and blocks are
 * normalised, how cells step, how positions are represented, and which activations there are. */
#include "model/network/layers.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- normalisation ---- */

static const struct norm_kind norms[] = {
    {"none", false, false, 0},
    {"layer", false, false, 1e-9f}, /* the whole vector at once, as Marian's models are trained */
    {"gates", true, false,
     1e-5f}, /* a GRU's gates and its candidate separately, as Nematus's models are trained */
    {"rms", false, true,
     1e-6f}, /* only a transformer's blocks, which have an epsilon of their own */
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
    const float *shift =
        kind->rms ? NULL : weights_get(loader->weights, name, names->size, 1, loader->err);
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

/* Writes the cosine and the sine of pair i at a position. */
static void turn_of(const struct positions *positions, size_t position, size_t i, float turn[2]) {
    double angle =
        (double)position * pow(positions->base, -2.0 * (double)i / (double)positions->rotated);
    turn[0] = (float)cos(angle);
    turn[1] = (float)sin(angle);
}

static int make_turns(struct positions *positions, const struct positions_options *options,
                      const struct loader *loader) {
    size_t pairs = positions->rotated / 2;
    if (positions->rotated > options->heads.size || positions->rotated % 2 != 0) {
        error_set(loader->err, ERROR_FORMAT,
                  "%s: rotary needs an even rotary_size up to the size of a head, %zu",
                  options->parameter, options->heads.size);
        return weights_fail(loader->weights);
    }
    float *turns = arena_alloc(loader->arena, positions->rows, 2 * pairs * sizeof *turns);
    if (!turns) {
        error_memory(loader->err);
        return weights_fail(loader->weights);
    }
    for (size_t t = 0; t < positions->rows; t++)
        for (size_t i = 0; i < pairs; i++)
            turn_of(positions, t, i, turns + 2 * (t * pairs + i));
    positions->turns = turns;
    return 0;
}

void positions_rotate(const struct positions *positions, const struct heads_shape *heads,
                      size_t position, float *x) {
    size_t pairs = positions->rotated / 2;
    if (!positions->turns)
        return;
    for (size_t i = 0; i < pairs; i++) {
        size_t one = positions->halves ? i : 2 * i, other = positions->halves ? i + pairs : one + 1;
        float turn[2];
        if (position < positions->rows)
            memcpy(turn, positions->turns + 2 * (position * pairs + i), sizeof turn);
        else
            turn_of(positions, position, i, turn);
        for (size_t h = 0; h < heads->count; h++) {
            float *head = x + h * heads->size, a = head[one], b = head[other];
            head[one] = a * turn[0] - b * turn[1];
            head[other] = b * turn[0] + a * turn[1];
        }
    }
}

/* The bucket of a distance: half of the buckets (of those of one direction) for a distance each,
 * the others for distances up to the farthest, by their logarithms. As the transformers library
 * computes it, in float32. */
static size_t bucket_of(const struct positions_options *options, long distance) {
    size_t buckets = options->both ? options->buckets / 2 : options->buckets, exact = buckets / 2,
           apart = (size_t)labs(distance), first = options->both && distance > 0 ? buckets : 0;
    if (!options->both && distance > 0) /* a decoder does not see later entries */
        apart = 0;
    if (apart < exact)
        return first + apart;
    float part = logf((float)apart / (float)exact) /
                 (float)log((double)options->farthest / (double)exact) * (float)(buckets - exact);
    size_t bucket = exact + (size_t)part;
    return first + (bucket < buckets ? bucket : buckets - 1);
}

/* Biases of a layer, or of all, [buckets, H]. */
static const float *load_biases(const char *name, size_t buckets, size_t heads,
                                const struct loader *loader) {
    return weights_get(loader->weights, name, buckets, heads, loader->err);
}

static int load_relative(struct positions *positions, const struct positions_options *options,
                         const struct loader *loader) {
    size_t reach = options->farthest;
    uint16_t *buckets = arena_alloc(loader->arena, 2 * reach + 1, sizeof *buckets);
    if (!buckets) {
        error_memory(loader->err);
        return weights_fail(loader->weights);
    }
    for (size_t i = 0; i <= 2 * reach; i++)
        buckets[i] = (uint16_t)bucket_of(options, (long)i - (long)reach);
    positions->buckets = options->buckets;
    positions->shared = options->shared;
    positions->lean = (struct lean){.buckets = buckets, .reach = reach};
    if (options->shared)
        positions->lean.biases =
            load_biases(options->parameter, options->buckets, options->heads.count, loader);
    return options->shared && !positions->lean.biases ? -1 : 0;
}

static const struct positions_kind positions_kinds[] = {
    {"sinusoidal", make_sinusoids, add_sinusoids},
    {"learned", load_learned, NULL},
    {"stored", load_stored, NULL},
    {"alibi", NULL, NULL},
    {"rotary", make_turns, NULL},
    {"relative", load_relative, NULL},
    {"none", NULL, NULL},
};

int positions_init(struct positions *positions, const struct positions_options *options,
                   const struct loader *loader) {
    *positions = (struct positions){.size = options->size,
                                    .rows = options->rows,
                                    .offset = options->offset,
                                    .rotated = options->rotated,
                                    .halves = options->halves,
                                    .base = options->base,
                                    .lean.alibi = strcmp(options->kind, "alibi") == 0};
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
    } rows[] = {{"relu", blocks->relu},
                {"swish", blocks->swish},
                {"gelu", blocks->gelu},
                {"gelu_tanh", blocks->gelu_tanh}};
    const struct row *found = TABLE_FIND(rows, key, name, loader->err);
    if (!found)
        weights_fail(loader->weights);
    return found ? found->apply : NULL;
}

void activation_between(const struct pair_of_layers *layers, const float *x, size_t rows,
                        float *wide, float *y) {
    const struct linear *inner = layers->inner, *outer = layers->outer;
    if (layers->activate == layers->kernels->blocks->relu) {
        linear_apply_twice(inner, outer, x, rows, wide, y);
        return;
    }
    linear_apply(inner, x, inner->in, rows, wide, inner->out);
    layers->activate(wide, rows * inner->out);
    linear_apply(outer, wide, outer->in, rows, y, outer->out);
}

void stack_init(struct stack *stack, const char *side, const struct blocks_config *config,
                size_t size, size_t positions, const struct loader *loader) {
    char name[PARAMETER_BYTES];
    size_t head = config->head_size > 0 ? config->head_size : size / config->heads;
    *stack = (struct stack){.kernels = loader->kernels,
                            .heads = {.count = config->heads,
                                      .size = head,
                                      .scale = config->scaled_scores ? 1 / sqrtf((float)head) : 1},
                            .size = size,
                            .width = config->heads * head,
                            .biases = config->biases,
                            .filter = config->filter,
                            .gated = config->gated,
                            .pre = strcmp(config->norm, "pre") == 0,
                            .scale = config->embedding_scale ? sqrtf((float)size) : 1,
                            .epsilon = (float)config->epsilon};
    snprintf(name, sizeof name, "%s.activation", side);
    stack->activate = activation_find(name, config->activation, loader);
    snprintf(name, sizeof name, "%s.norm_type", side);
    stack->norm = norm_kind_find(name, config->norm_type, loader->err);
    if (!stack->norm) {
        weights_fail(loader->weights);
        return;
    }
    snprintf(name, sizeof name, "%s.positions", side);
    positions_init(&stack->positions,
                   &(struct positions_options){
                       .kind = config->positions,
                       .parameter = name,
                       .size = size,
                       .rows = positions,
                       .offset = config->position_offset,
                       .heads = stack->heads,
                       .rotated = config->rotary_size > 0 ? config->rotary_size : stack->heads.size,
                       .halves = strcmp(config->rotary_pairs, "halves") == 0,
                       .base = config->rotary_base,
                       .buckets = config->relative_buckets,
                       .farthest = config->relative_distance,
                       .both = strcmp(side, "encoder") == 0,
                       .shared = config->relative_shared},
                   loader);
    snprintf(name, sizeof name, "%s.embedding", side);
    if (config->embedding_norm)
        block_norm(&stack->first, stack, name, loader);
    if (stack->pre)
        block_norm(&stack->top, stack, side, loader);
}

size_t stack_wide(const struct stack *stack) {
    return stack->gated ? 2 * stack->filter : stack->filter;
}

void stack_enter(const struct stack *stack, size_t position, float *x) {
    for (size_t i = 0; i < stack->size; i++)
        x[i] *= stack->scale;
    positions_add(&stack->positions, stack->kernels, position, x);
    norm_apply(&stack->first, stack->kernels, 1, x, stack->size);
}

void stack_leave(const struct stack *stack, size_t rows, float *x) {
    norm_apply(&stack->top, stack->kernels, rows, x, stack->size);
}

/* ---- blocks ---- */

void block_linear(struct linear *linear, const char *prefix, const char *name,
                  struct block_shape shape, const struct loader *loader) {
    char weight[PARAMETER_BYTES], shift[PARAMETER_BYTES];
    assert(weights_backend(loader->weights)->pages); /* nothing is freed otherwise */
    snprintf(weight, sizeof weight, "%s.%s.weight", prefix, name);
    snprintf(shift, sizeof shift, "%s.%s.bias", prefix, name);
    weights_linear(loader->weights,
                   &(struct linear_names){.weight = weight, .bias = shape.bias ? shift : NULL},
                   shape.out, shape.in, linear, loader->err);
}

void block_norm(struct norm *norm, const struct stack *stack, const char *prefix,
                const struct loader *loader) {
    char name[PARAMETER_BYTES];
    snprintf(name, sizeof name, "%s.norm.", prefix);
    norm_init(norm, stack->norm, &(struct norm_names){name, "", stack->size, 0}, loader);
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
    const struct block_shape inward = {stack->width, memory, stack->biases},
                             query = {stack->width, stack->size, stack->biases},
                             output = {stack->size, stack->width, stack->biases};
    *heads = (struct heads){0};
    block_linear(&heads->query, prefix, "query", query, loader);
    block_linear(&heads->key, prefix, "key", inward, loader);
    block_linear(&heads->value, prefix, "value", inward, loader);
    block_linear(&heads->output, prefix, "output", output, loader);
    block_norm(&heads->norm, stack, prefix, loader);
}

void heads_init_self(struct heads *heads, const struct stack *stack, const char *prefix,
                     const struct loader *loader) {
    const struct positions *positions = &stack->positions;
    char name[PARAMETER_BYTES];
    heads_init(heads, stack, prefix, stack->size, loader);
    heads->lean = positions->lean;
    snprintf(name, sizeof name, "%s.positions", prefix);
    if (positions->buckets > 0 && !positions->shared)
        heads->lean.biases = load_biases(name, positions->buckets, stack->heads.count, loader);
}

const struct lean *heads_leaning(const struct heads *heads) {
    return heads->lean.alibi || heads->lean.biases ? &heads->lean : NULL;
}

void heads_project(const struct heads *heads, const float *x, size_t rows,
                   const struct projections *out) {
    const struct linear_output outputs[] = {
        {.linear = &heads->query, .y = out->q, .ldy = out->distance},
        {.linear = &heads->key, .y = out->k, .ldy = out->distance},
        {.linear = &heads->value, .y = out->v, .ldy = out->distance}};
    linear_apply_all(outputs, 3, x, heads->query.in, rows);
}

void filter_init(struct filter *filter, const struct stack *stack, const char *prefix,
                 const struct loader *loader) {
    *filter = (struct filter){0};
    block_linear(&filter->input, prefix, "input",
                 (struct block_shape){stack->filter, stack->size, stack->biases}, loader);
    block_linear(&filter->output, prefix, "output",
                 (struct block_shape){stack->size, stack->filter, stack->biases}, loader);
    if (stack->gated)
        block_linear(&filter->gate, prefix, "gate",
                     (struct block_shape){stack->filter, stack->size, stack->biases}, loader);
    block_norm(&filter->norm, stack, prefix, loader);
}

/* wide [rows, 2 f]: first what is activated, then the gate. */
static void run_gated(const struct filter *filter, const struct stack *stack, const float *x,
                      const struct filter_rows *rows) {
    size_t middle = stack->filter, all = rows->rows * middle;
    float *gate = rows->wide + all;
    const struct linear_output outputs[] = {
        {.linear = &filter->input, .y = rows->wide, .ldy = middle},
        {.linear = &filter->gate, .y = gate, .ldy = middle}};
    linear_apply_all(outputs, 2, x, stack->size, rows->rows);
    stack->activate(rows->wide, all);
    stack->kernels->blocks->multiply(gate, all, rows->wide);
    linear_apply(&filter->output, rows->wide, middle, rows->rows, rows->y, stack->size);
}

void filter_run(const struct filter *filter, const struct stack *stack,
                const struct filter_rows *rows) {
    const float *read = block_read(stack, &filter->norm, rows->rows, rows->x, rows->u);
    struct pair_of_layers layers = {&filter->input, &filter->output, stack->activate,
                                    stack->kernels};
    if (stack->gated)
        run_gated(filter, stack, read, rows);
    else
        activation_between(&layers, read, rows->rows, rows->wide, rows->y);
    block_add(stack, &filter->norm, rows->rows, rows->y, rows->x);
}
