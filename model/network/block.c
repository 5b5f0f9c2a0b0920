#include "model/network/block.h"
#include "model/base/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- activations ---- */

struct activation {
    const char *name;
    void (*apply)(const struct kernels *kernels, float *x, size_t n);
};

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

void activation_apply(const struct activation *activation, const struct kernels *kernels, float *x, size_t n) {
    activation->apply(kernels, x, n);
}

/* ---- the stack ---- */

void stack_init(struct stack *stack, const char *side, const struct blocks_config *config, size_t size, size_t positions,
                struct weights *weights, const struct kernels *kernels, struct error *err) {
    char name[PARAMETER_BYTES];
    *stack = (struct stack){.kernels = kernels,
                            .heads = {.count = config->heads, .size = size / config->heads},
                            .size = size,
                            .filter = config->filter,
                            .pre = strcmp(config->norm, "pre") == 0,
                            .scale = config->embedding_scale ? sqrtf((float)size) : 1};
    snprintf(name, sizeof name, "%s.activation", side);
    stack->activation = activation_find(name, config->activation, err);
    if (!stack->activation)
        weights_fail(weights);
    snprintf(name, sizeof name, "%s.positions", side);
    positions_init(&stack->positions, config->positions, name, positions, size, weights, err);
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

/* ---- the feed-forward ---- */

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
    activation_apply(stack->activation, stack->kernels, wide, rows * stack->filter);
    linear_apply(&filter->output, wide, stack->filter, rows, y, stack->size);
    block_add(stack, &filter->norm, rows, y, x);
}
