#include "model/network/mixer.h"
#include "model/base/table.h"

#include <stdio.h>
#include <string.h>

static void name_part(char name[PARAMETER_BYTES], const char *layer, const char *part) {
    snprintf(name, PARAMETER_BYTES, "%s.%s", layer, part);
}

/* ---- self-attention ---- */

static void init_self(struct mixer *mixer, const struct stack *stack, const struct model_config *config, const char *layer,
                      struct weights *weights, struct error *err) {
    char name[PARAMETER_BYTES];
    (void)config;
    name_part(name, layer, "self");
    heads_init(&mixer->self, stack, name, stack->size, weights, err);
}

/* x [d] -> from number `at` on of what a step adds to its past. */
static void keep(const struct stack *stack, const float *x, size_t at, float *added) {
    if (stack->half)
        stack->kernels->blocks->halve(x, stack->size, (uint16_t *)(void *)added + at);
    else
        memcpy(added + at, x, stack->size * sizeof *x);
}

/* The row's own key and value are the last of its past. */
static void look_back(const struct mixer_step *step, size_t r) {
    const struct mixer_scratch *s = step->scratch;
    const struct row *row = &step->rows[r];
    size_t size = step->stack->size, seen = step->stack->heads.count * (row->step + 1);
    bool half = step->stack->half;
    keep(step->stack, s->k + r * size, step->past, row->added);
    keep(step->stack, s->v + r * size, step->past + size, row->added);
    heads_look(step->stack, &(struct gaze){.query = s->q + r * size,
                                           .keys = {.path = row->past, .offset = step->past, .half = half},
                                           .values = {.path = row->past, .offset = step->past + size, .half = half},
                                           .count = row->step + 1,
                                           .position = row->step,
                                           .alibi = step->stack->positions.alibi,
                                           .weights = row->looks.self ? row->looks.self + step->layer * seen : s->weights,
                                           .context = s->u + r * size});
}

static void run_self(const struct mixer *mixer, const struct mixer_step *step) {
    const struct stack *stack = step->stack;
    const struct mixer_scratch *s = step->scratch;
    const struct heads *self = &mixer->self;
    size_t size = stack->size;
    const float *read = block_read(stack, &self->norm, step->count, step->x, s->u);
    linear_apply(&self->query, read, size, step->count, s->q, size);
    linear_apply(&self->key, read, size, step->count, s->k, size);
    linear_apply(&self->value, read, size, step->count, s->v, size);
    for (size_t r = 0; r < step->count; r++)
        look_back(step, r);
    linear_apply(&self->output, s->u, size, step->count, s->q, size);
    block_add(stack, &self->norm, step->count, s->q, step->x);
}

/* ---- ssru ---- */

static void init_ssru(struct mixer *mixer, const struct stack *stack, const struct model_config *config, const char *layer,
                      struct weights *weights, struct error *err) {
    char name[PARAMETER_BYTES];
    (void)config;
    name_part(name, layer, "ssru");
    block_linear(&mixer->candidate, name, "candidate", stack->size, stack->size, false, weights, err);
    block_linear(&mixer->forget, name, "forget", stack->size, stack->size, true, weights, err);
    block_norm(&mixer->norm, stack, name, weights, err);
}

static void run_ssru(const struct mixer *mixer, const struct mixer_step *step) {
    const struct stack *stack = step->stack;
    const struct mixer_scratch *s = step->scratch;
    size_t size = stack->size;
    const float *read = block_read(stack, &mixer->norm, step->count, step->x, s->u);
    linear_apply(&mixer->candidate, read, size, step->count, s->q, size);
    linear_apply(&mixer->forget, read, size, step->count, s->k, size);
    for (size_t r = 0; r < step->count; r++)
        stack->kernels->blocks->ssru(s->k + r * size, size, step->rows[r].state + step->state, s->q + r * size);
    block_add(stack, &mixer->norm, step->count, s->q, step->x);
}

/* ---- average ---- */

static void init_average(struct mixer *mixer, const struct stack *stack, const struct model_config *config, const char *layer,
                         struct weights *weights, struct error *err) {
    char name[PARAMETER_BYTES];
    size_t size = stack->size, filter = config->decoder.average_filter;
    name_part(name, layer, "average");
    mixer->average_filter = filter;
    mixer->activation = activation_find("decoder.average_activation", config->decoder.average_activation, err);
    if (!mixer->activation)
        weights_fail(weights);
    if (filter > 0)
        block_linear(&mixer->input, name, "input", filter, size, true, weights, err);
    if (filter > 0 && filter != size)
        block_linear(&mixer->output, name, "output", size, filter, true, weights, err);
    if (config->decoder.average_gate) {
        block_linear(&mixer->gate_input, name, "gate.input", size, size, true, weights, err);
        block_linear(&mixer->gate_output, name, "gate.output", size, size, true, weights, err);
    }
    block_norm(&mixer->norm, stack, name, weights, err);
}

/* m_t -> y [d]. */
static void average(const struct mixer_step *step, size_t r, float *y) {
    size_t size = step->stack->size;
    const float *x = step->x + r * size;
    float *mean = step->rows[r].state + step->state, before = (float)step->rows[r].step;
    for (size_t i = 0; i < size; i++)
        mean[i] = (mean[i] * before + x[i]) / (before + 1);
    memcpy(y, mean, size * sizeof *y);
}

/* y [R, d], in place; scratch: wide. */
static void filter_average(const struct mixer *mixer, const struct mixer_step *step, float *y) {
    size_t size = step->stack->size, filter = mixer->average_filter;
    float *wide = step->scratch->wide;
    if (filter == 0)
        return;
    linear_apply(&mixer->input, y, size, step->count, wide, filter);
    activation_apply(mixer->activation, step->stack->kernels, wide, step->count * filter);
    if (mixer->output.out)
        linear_apply(&mixer->output, wide, filter, step->count, y, size);
    else
        memcpy(y, wide, step->count * size * sizeof *y);
}

static void run_average(const struct mixer *mixer, const struct mixer_step *step) {
    const struct stack *stack = step->stack;
    const struct mixer_scratch *s = step->scratch;
    size_t size = stack->size, count = step->count;
    float *y = s->q;
    for (size_t r = 0; r < count; r++)
        average(step, r, y + r * size);
    if (stack->pre)
        norm_apply(&mixer->norm, stack->kernels, count, y, size);
    filter_average(mixer, step, y);
    if (mixer->gate_input.out) {
        linear_apply(&mixer->gate_input, step->x, size, count, s->k, size);
        linear_apply(&mixer->gate_output, y, size, count, s->v, size);
        for (size_t r = 0; r < count; r++) /* each alone, so that its place among the others is not in its bits */
            stack->kernels->blocks->mix(s->k + r * size, step->x + r * size, s->v + r * size, size, y + r * size);
    }
    block_add(stack, &mixer->norm, count, y, step->x);
}

/* ---- the table ---- */

static const struct mixer_kind kinds[] = {
    {"self_attention", 0, 2, init_self, run_self},
    {"ssru", 1, 0, init_ssru, run_ssru},
    {"average", 1, 0, init_average, run_average},
};

const struct mixer_kind *mixer_kind_find(const char *name, struct error *err) {
    return TABLE_FIND(kinds, "decoder.mixer", name, err);
}

void mixer_init(struct mixer *mixer, const struct mixer_kind *kind, const struct stack *stack, const struct model_config *config,
                const char *layer, struct weights *weights, struct error *err) {
    *mixer = (struct mixer){.kind = kind};
    kind->init(mixer, stack, config, layer, weights, err);
}

void mixer_done(struct mixer *mixer) {
    heads_done(&mixer->self);
    linear_done(&mixer->candidate);
    linear_done(&mixer->forget);
    linear_done(&mixer->input);
    linear_done(&mixer->output);
    linear_done(&mixer->gate_input);
    linear_done(&mixer->gate_output);
}

void mixer_run(const struct mixer *mixer, const struct mixer_step *step) {
    mixer->kind->run(mixer, step);
}
