#include "model/weights/storage.h"
#include "model/weights/weights.h"
#include "model/weights/weights_state.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void linears_done(struct linears *linears) {
    panels_free(linears->panels);
    free(linears->packed);
}

struct weights_linears weights_linears(const struct weights *weights) {
    return (struct weights_linears){weights->linears.count, weights->linears.mapped};
}

/* ---- one is made ---- */

/* Takes what it is packed into out of the panels, if it is there. */
static bool find_panels(const struct linears *linears, struct panels_matrix *matrix, struct linear_source *source) {
    if (linears->panels == NULL || matrix->packing == NULL || !panels_find(linears->panels, matrix, source->lookups))
        return false;
    source->packed = matrix->packed;
    source->rows = matrix->rows;
    return true;
}

/* Columns first .. first + in - 1 of weight [out, columns], in the arena. */
static const float *take_columns(struct weights *weights, const struct linear_names *names, const struct linear_source *source) {
    size_t in = source->in;
    float *taken = arena_alloc(&weights->arena, source->out * in, sizeof *taken);
    for (size_t row = 0; taken != NULL && row < source->out; row++)
        memcpy(taken + row * in, source->weight + row * names->columns + names->first, in * sizeof *taken);
    return taken;
}

/* What it is packed from, where there are no panels of it. */
static int read_weight(struct weights *weights, const struct linear_names *names, const struct parameter *parameter,
                       struct linear_source *source, struct error *err) {
    source->weight = weights_get(weights, names->weight, source->out, names->columns > 0 ? names->columns : source->in, err);
    if (source->weight == NULL)
        return -1;
    source->scale = parameter_given_scale(parameter);
    if (names->columns > 0)
        source->weight = take_columns(weights, names, source);
    return source->weight != NULL ? 0 : error_memory(err);
}

/* In the list, for one more. */
static int make_room(struct linears *linears) {
    if (linears->count < linears->room)
        return 0;
    size_t room = 2 * linears->room + 16;
    struct panels_matrix *packed = realloc(linears->packed, room * sizeof *packed);
    if (packed == NULL)
        return -1;
    linears->packed = packed;
    linears->room = room;
    return 0;
}

static int keep_linear(struct weights *weights, struct panels_matrix matrix, const struct linear_source *source,
                       struct linear *linear, struct error *err) {
    struct linears *linears = &weights->linears;
    if (make_room(linears) != 0)
        return error_memory(err);
    if (linear_init(linear, source, &weights->backend, err) != 0)
        return -1;
    linears->bytes += linear_bytes(linear);
    if (linear->packed == NULL)
        return 0;
    matrix.packed = linear->packed;
    matrix.rows = linear->rows;
    linears->packed[linears->count++] = matrix;
    linears->mapped += source->packed != NULL;
    return 0;
}

/* The shape is right; source has what was asked for. A matrix that was expanded for this alone does not stay so. */
static int make_linear(struct weights *weights, const struct linear_names *names, struct parameter *parameter,
                       struct linear_source *source, struct linear *linear, struct error *err) {
    bool expanded_before = parameter->values != NULL;
    struct arena_mark mark = arena_mark(&weights->arena);
    struct panels_matrix matrix = {.name = parameter->tensor->name,
                                   .first = names->first,
                                   .out = source->out,
                                   .in = source->in,
                                   .packing = linear_packing(source, &weights->backend)};
    if ((!find_panels(&weights->linears, &matrix, source) && read_weight(weights, names, parameter, source, err) != 0) ||
        keep_linear(weights, matrix, source, linear, err) != 0)
        return -1;
    parameter->used = true;
    if (linear->packed != NULL && !expanded_before) {
        parameter->values = NULL;
        arena_release(&weights->arena, mark);
        arena_trim(&weights->arena); /* a whole vocabulary's may have been there */
    }
    return 0;
}

static int find_and_make(struct weights *weights, const struct linear_names *names, size_t out, size_t in, struct linear *linear,
                         struct error *err) {
    const float *bias = names->bias != NULL ? weights_get(weights, names->bias, out, 1, err) : NULL;
    struct parameter *parameter = parameters_find(&weights->parameters, names->weight);
    if ((names->bias != NULL && bias == NULL) || (err != NULL && err->code != ERROR_NONE))
        return -1;
    if (parameter == NULL)
        return error_set(err, ERROR_FORMAT, "tensor %s: missing", names->weight);
    if (parameter_check_shape(parameter, out, names->columns > 0 ? names->columns : in, err) != 0)
        return -1;
    struct linear_source source = {.bias = bias,
                                   .out = out,
                                   .in = in,
                                   .stored = storage_of(parameter->tensor->dtype)->stored,
                                   .input_scale = parameter->input_scale,
                                   .lookups = names->lookups};
    return make_linear(weights, names, parameter, &source, linear, err);
}

int weights_linear(struct weights *weights, const struct linear_names *names, size_t out, size_t in, struct linear *linear,
                   struct error *err) {
    return find_and_make(weights, names, out, in, linear, err) == 0 ? 0 : weights_fail(weights);
}

/* ---- panels of all of them ---- */

static struct panels_origin origin_of(const struct weights *weights, const char *sha256) {
    const struct safetensors *file = weights->parameters.file;
    struct panels_origin origin = {.source_bytes = safetensors_bytes(file), .source_sample = safetensors_sample(file)};
    snprintf(origin.compute, sizeof origin.compute, "%s", compute_name(weights->backend.compute));
    snprintf(origin.processor, sizeof origin.processor, "%s", weights->backend.kernels->processor);
    snprintf(origin.source_sha256, sizeof origin.source_sha256, "%s", sha256 != NULL ? sha256 : "");
    return origin;
}

int weights_map(struct weights *weights, const char *path, const char *sha256, struct error *err) {
    assert(weights->linears.panels == NULL);
    const struct panels_origin origin = origin_of(weights, sha256);
    weights->linears.panels = panels_open(path, &origin, err);
    return weights->linears.panels != NULL ? 0 : -1;
}

int weights_pack(const struct weights *weights, const char *path, const char *sha256, struct error *err) {
    if (weights->linears.count == 0)
        return error_set(err, ERROR_INPUT, "nothing is packed: OpenBLAS multiplies with the weights as they are");
    const struct panels_origin origin = origin_of(weights, sha256);
    return panels_write(path, &origin, weights->linears.packed, weights->linears.count, err);
}
