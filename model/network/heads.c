#include "model/network/heads.h"

#include <math.h>
#include <string.h>

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

/* How fast what head h (from 0) sees fades: 2^(-8 (h + 1) / H); where H is no power of two, the first heads have the slopes of the
 * power below, and the others every other one of the power above. */
static float slope_of(size_t heads, size_t h) {
    size_t below = 1;
    while (2 * below <= heads)
        below *= 2;
    if (h < below)
        return exp2f(-8 * (float)(h + 1) / (float)below);
    return exp2f(-4 * (float)(2 * (h - below) + 1) / (float)below);
}

/* e [count] of head h: less, the farther away. */
static void fall_off(const struct heads_shape *heads, size_t h, size_t position, size_t count, float *e) {
    float slope = slope_of(heads->count, h);
    for (size_t j = 0; j < count; j++)
        e[j] -= slope * (float)(j > position ? j - position : position - j);
}

static void weigh(const struct stack *stack, const struct gaze *gaze) {
    const struct heads_shape *heads = &stack->heads;
    float scale = 1 / sqrtf((float)heads->size);
    stack->kernels->blocks->scores(heads, gaze->query, &gaze->keys, gaze->count, gaze->weights);
    for (size_t h = 0; h < heads->count; h++) {
        float *e = gaze->weights + h * gaze->count;
        for (size_t j = 0; j < gaze->count; j++)
            e[j] *= scale;
        if (gaze->alibi)
            fall_off(heads, h, gaze->position, gaze->count, e);
        stack->kernels->softmax(e, gaze->count);
    }
}

void heads_look(const struct stack *stack, const struct gaze *gaze) {
    for (size_t h = 0; gaze->forced && h < stack->heads.count; h++)
        memcpy(gaze->weights + h * gaze->count, gaze->forced, gaze->count * sizeof *gaze->weights);
    if (!gaze->forced)
        weigh(stack, gaze);
    stack->kernels->blocks->sums(&stack->heads, gaze->weights, &gaze->values, gaze->count, gaze->context);
}

void heads_look_around(const struct stack *stack, struct mutual *mutual, float *slopes) {
    for (size_t h = 0; stack->positions.alibi && h < stack->heads.count; h++)
        slopes[h] = slope_of(stack->heads.count, h);
    mutual->slopes = stack->positions.alibi ? slopes : NULL;
    stack->kernels->blocks->attend(&stack->heads, mutual);
}
