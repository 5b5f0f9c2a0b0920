/* Hides where a block normalises, how positions are represented, and which activations there are. */
#include "model/network/transformer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- positions ---- */

/* init (NULL: nothing to do) makes the table, of positions->rows unless it sets another number. beyond (NULL: the last row serves
 * for all): x += p of a position after the table's end. */
struct positions_kind {
    const char *name;
    int (*init)(struct positions *positions, const char *parameter, struct weights *weights, struct error *err);
    void (*beyond)(const struct positions *positions, size_t position, float *x);
};

/* As Marian computes it, in float32: p(t)[i] = sin(t w_i), p(t)[d/2 + i] = cos(t w_i), w_i = exp(-i ln(10000) / (d/2 - 1)). */
static void add_sinusoids(const struct positions *positions, size_t position, float *x) {
    size_t half = positions->size / 2;
    float step = logf(10000.0f) / ((float)half - 1);
    for (size_t i = 0; i < half; i++) {
        float angle = (float)position * expf((float)i * -step);
        x[i] += sinf(angle);
        x[half + i] += cosf(angle);
    }
}

static int make_sinusoids(struct positions *positions, const char *parameter, struct weights *weights, struct error *err) {
    (void)parameter;
    positions->made = calloc(positions->rows, positions->size * sizeof *positions->made);
    if (!positions->made) {
        error_memory(err);
        return weights_fail(weights);
    }
    for (size_t t = 0; t < positions->rows; t++)
        add_sinusoids(positions, positions->offset + t, positions->made + t * positions->size);
    positions->table = positions->made;
    return 0;
}

static int load_learned(struct positions *positions, const char *parameter, struct weights *weights, struct error *err) {
    positions->table = weights_get(weights, parameter, positions->rows, positions->size, err);
    return positions->table ? 0 : -1;
}

/* Row 0 is position 0, so that the first token has row `offset`. */
static int load_stored(struct positions *positions, const char *parameter, struct weights *weights, struct error *err) {
    size_t rows = weights_rows(weights, parameter);
    const float *table = weights_get(weights, parameter, rows, positions->size, err);
    if (!table)
        return -1;
    if (rows <= positions->offset) {
        error_set(err, ERROR_FORMAT, "tensor %s: has %zu positions, and the first token has position %zu", parameter, rows,
                  positions->offset);
        return weights_fail(weights);
    }
    positions->table = table + positions->offset * positions->size;
    positions->rows = rows - positions->offset;
    return 0;
}

static int use_alibi(struct positions *positions, const char *parameter, struct weights *weights, struct error *err) {
    (void)parameter, (void)weights, (void)err;
    positions->alibi = true;
    return 0;
}

static const struct positions_kind positions_kinds[] = {
    {"sinusoidal", make_sinusoids, add_sinusoids},
    {"learned", load_learned, NULL},
    {"stored", load_stored, NULL},
    {"alibi", use_alibi, NULL},
    {"none", NULL, NULL},
};

int positions_init(struct positions *positions, const struct positions_options *options, struct weights *weights,
                   struct error *err) {
    *positions = (struct positions){.size = options->size, .rows = options->rows, .offset = options->offset};
    positions->kind = TABLE_FIND(positions_kinds, options->parameter, options->kind, err);
    if (!positions->kind)
        return weights_fail(weights);
    return positions->kind->init ? positions->kind->init(positions, options->parameter, weights, err) : 0;
}

void positions_done(struct positions *positions) {
    free(positions->made);
    *positions = (struct positions){0};
}

void positions_add(const struct positions *positions, const struct kernels *kernels, size_t position, float *x) {
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

static void apply_relu(const struct kernels *kernels, float *x, size_t n) {
    kernels->blocks->relu(x, n);
}

static void apply_swish(const struct kernels *kernels, float *x, size_t n) {
    kernels->blocks->swish(x, n);
}

static void apply_gelu(const struct kernels *kernels, float *x, size_t n) {
    kernels->blocks->gelu(x, n);
}

static const struct activation activations[] = {{"relu", apply_relu}, {"swish", apply_swish}, {"gelu", apply_gelu}};

const struct activation *activation_find(const char *key, const char *name, struct error *err) {
    return TABLE_FIND(activations, key, name, err);
}

void stack_init(struct stack *stack, const char *side, const struct blocks_config *config, size_t size, size_t positions,
                struct weights *weights, const struct kernels *kernels, struct error *err) {
    char name[PARAMETER_BYTES];
    *stack = (struct stack){.kernels = kernels,
                            .heads = {.count = config->heads, .size = size / config->heads},
                            .size = size,
                            .filter = config->filter,
                            .pre = strcmp(config->norm, "pre") == 0,
                            .scale = config->embedding_scale ? sqrtf((float)size) : 1,
                            .epsilon = (float)config->epsilon};
    snprintf(name, sizeof name, "%s.activation", side);
    stack->activation = activation_find(name, config->activation, err);
    if (!stack->activation)
        weights_fail(weights);
    snprintf(name, sizeof name, "%s.positions", side);
    positions_init(&stack->positions,
                   &(struct positions_options){config->positions, name, size, positions, config->position_offset}, weights, err);
    if (stack->pre)
        block_norm(&stack->top, stack, side, weights, err);
}

void stack_done(struct stack *stack) {
    positions_done(&stack->positions);
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

void block_linear(struct linear *linear, const char *prefix, const char *name, size_t out, size_t in, bool bias,
                  struct weights *weights, struct error *err) {
    char weight[PARAMETER_BYTES], shift[PARAMETER_BYTES];
    snprintf(weight, sizeof weight, "%s.%s.weight", prefix, name);
    snprintf(shift, sizeof shift, "%s.%s.bias", prefix, name);
    weights_linear(weights, &(struct linear_names){.weight = weight, .bias = bias ? shift : NULL}, out, in, linear, err);
}

void block_norm(struct norm *norm, const struct stack *stack, const char *prefix, struct weights *weights, struct error *err) {
    char gain[PARAMETER_BYTES], shift[PARAMETER_BYTES];
    snprintf(gain, sizeof gain, "%s.norm.gain", prefix);
    snprintf(shift, sizeof shift, "%s.norm.shift", prefix);
    norm_init(norm, norm_kind_find(prefix, "block", NULL), &(struct norm_names){gain, shift, stack->size, 0}, weights, err);
    norm->epsilon = stack->epsilon;
}

const float *block_read(const struct stack *stack, const struct norm *norm, size_t rows, const float *x, float *u) {
    if (!stack->pre)
        return x;
    memcpy(u, x, rows * stack->size * sizeof *u);
    norm_apply(norm, stack->kernels, rows, u, stack->size);
    return u;
}

void block_add(const struct stack *stack, const struct norm *norm, size_t rows, const float *y, float *x) {
    stack->kernels->add(y, rows * stack->size, x);
    if (!stack->pre)
        norm_apply(norm, stack->kernels, rows, x, stack->size);
}

void heads_init(struct heads *heads, const struct stack *stack, const char *prefix, size_t memory, struct weights *weights,
                struct error *err) {
    size_t size = stack->size;
    *heads = (struct heads){0};
    block_linear(&heads->query, prefix, "query", size, size, true, weights, err);
    block_linear(&heads->key, prefix, "key", size, memory, true, weights, err);
    block_linear(&heads->value, prefix, "value", size, memory, true, weights, err);
    block_linear(&heads->output, prefix, "output", size, size, true, weights, err);
    block_norm(&heads->norm, stack, prefix, weights, err);
}

void heads_done(struct heads *heads) {
    linear_done(&heads->query);
    linear_done(&heads->key);
    linear_done(&heads->value);
    linear_done(&heads->output);
}

void filter_init(struct filter *filter, const struct stack *stack, const char *prefix, struct weights *weights, struct error *err) {
    *filter = (struct filter){0};
    block_linear(&filter->input, prefix, "input", stack->filter, stack->size, true, weights, err);
    block_linear(&filter->output, prefix, "output", stack->size, stack->filter, true, weights, err);
    block_norm(&filter->norm, stack, prefix, weights, err);
}

void filter_done(struct filter *filter) {
    linear_done(&filter->input);
    linear_done(&filter->output);
}

void filter_run(const struct filter *filter, const struct stack *stack, size_t rows, float *x, float *u, float *y, float *wide) {
    const float *read = block_read(stack, &filter->norm, rows, x, u);
    linear_apply(&filter->input, read, stack->size, rows, wide, stack->filter);
    stack->activation->apply(stack->kernels, wide, rows * stack->filter);
    linear_apply(&filter->output, wide, stack->filter, rows, y, stack->size);
    block_add(stack, &filter->norm, rows, y, x);
}
