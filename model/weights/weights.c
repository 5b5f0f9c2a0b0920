#include "model/weights/weights.h"
#include "model/weights/storage.h"
#include "model/weights/weights_state.h"
#include <stdlib.h>
#include <string.h>

struct weights *weights_open(const char *path, struct error *err) {
    struct weights *weights = calloc(1, sizeof *weights);
    if (weights == NULL) {
        error_memory(err);
        return NULL;
    }
    weights->backend = backend_choose();
    arena_init(&weights->arena, 64 * 1024);
    if (parameters_map(&weights->parameters, path, &weights->arena, err) != 0) {
        weights_free(weights);
        return NULL;
    }
    return weights;
}

void weights_use(struct weights *weights, const struct backend *backend) {
    weights->backend = *backend;
}

const struct backend *weights_backend(const struct weights *weights) {
    return &weights->backend;
}

void weights_free(struct weights *weights) {
    if (weights == NULL)
        return;
    linears_done(&weights->linears);
    parameters_done(&weights->parameters);
    arena_done(&weights->arena);
    free(weights);
}

bool weights_failed(const struct weights *weights) {
    return weights != NULL && weights->failed;
}

int weights_fail(struct weights *weights) {
    weights->failed = true;
    return -1;
}

static const float *get_shaped(struct weights *weights, const char *name, size_t rows, size_t cols, struct error *err) {
    if (err != NULL && err->code != ERROR_NONE)
        return NULL;
    struct parameter *parameter = parameters_find(&weights->parameters, name);
    if (parameter == NULL) {
        error_set(err, ERROR_FORMAT, "tensor %s: missing", name);
        return NULL;
    }
    if (parameter_check_shape(parameter, rows, cols, err) != 0)
        return NULL;
    if (parameter->values == NULL && parameter_load(parameter, rows, cols, &weights->arena, err) != 0)
        return NULL;
    parameter->used = true;
    return parameter->values;
}

const float *weights_get(struct weights *weights, const char *name, size_t rows, size_t cols, struct error *err) {
    const float *values = get_shaped(weights, name, rows, cols, err);
    if (values == NULL)
        weights_fail(weights);
    return values;
}

/* Where it is used as it is mapped, or has been expanded for something else, its values are there. */
static int find_table(struct weights *weights, const char *name, size_t rows, size_t cols, struct weights_table *table,
                      struct error *err) {
    if (err != NULL && err->code != ERROR_NONE)
        return -1;
    struct parameter *parameter = parameters_find(&weights->parameters, name);
    if (parameter == NULL || parameter->values != NULL || parameter_in_place(parameter)) {
        *table = (struct weights_table){.values = get_shaped(weights, name, rows, cols, err), .cols = cols};
        return table->values != NULL ? 0 : -1;
    }
    if (parameter_check_shape(parameter, rows, cols, err) != 0 || parameter_check_values(parameter, rows, cols, err) != 0)
        return -1;
    parameter->used = true;
    *table = (struct weights_table){.parameter = parameter, .cols = cols};
    return 0;
}

int weights_table(struct weights *weights, const char *name, size_t rows, size_t cols, struct weights_table *table,
                  struct error *err) {
    *table = (struct weights_table){0};
    return find_table(weights, name, rows, cols, table, err) == 0 ? 0 : weights_fail(weights);
}

void weights_row(const struct weights_table *table, size_t row, float *x) {
    if (table->values != NULL)
        memcpy(x, table->values + row * table->cols, table->cols * sizeof *x);
    else
        parameter_row(table->parameter, row, table->cols, x);
}
/* ---- the whole file ---- */

int weights_all_used(const struct weights *weights, struct error *err) {
    for (size_t i = 0; i < safetensors_count(weights->parameters.file); i++) {
        const struct parameter *parameter = &weights->parameters.all[i];
        if (!parameter->used && !parameter_is_scale(parameter))
            return error_set(err, ERROR_FORMAT, "tensor %s: the model has no such parameter", parameter->tensor->name);
    }
    return 0;
}

void weights_rest(const struct weights *weights) {
    safetensors_rest(weights->parameters.file);
}

size_t weights_bytes(const struct weights *weights) {
    size_t bytes = weights->linears.bytes + arena_bytes(&weights->arena);
    for (size_t i = 0; i < safetensors_count(weights->parameters.file); i++) {
        const struct parameter *parameter = &weights->parameters.all[i];
        bytes += parameter->values != NULL && parameter_in_place(parameter) ? parameter->tensor->bytes : 0;
    }
    return bytes;
}

size_t weights_parameters(const struct weights *weights) {
    size_t count = 0;
    for (size_t i = 0; i < safetensors_count(weights->parameters.file); i++) {
        const struct parameter *parameter = &weights->parameters.all[i];
        count += parameter_is_scale(parameter) ? 0 : parameter_count(parameter);
    }
    return count;
}

static const struct storage *largest_storage(const struct weights *weights) {
    size_t most = 0;
    enum dtype dtype = DTYPE_F32;
    for (size_t i = 0; i < safetensors_count(weights->parameters.file); i++) {
        const struct parameter *parameter = &weights->parameters.all[i];
        if (parameter_count(parameter) > most) {
            most = parameter_count(parameter);
            dtype = parameter->tensor->dtype;
        }
    }
    return storage_of(dtype);
}

enum stored weights_stored(const struct weights *weights) {
    return largest_storage(weights)->stored;
}

const char *weights_storage(const struct weights *weights) {
    return largest_storage(weights)->name;
}
