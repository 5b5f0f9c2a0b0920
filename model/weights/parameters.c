#include "model/weights/parameters.h"
#include "model/weights/storage.h"
#include <float.h>
#include <math.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char SCALE_SUFFIX[] = ".scale", INPUT_SCALE_SUFFIX[] = ".input_scale";

/* ---- which there are ---- */

static bool ends_in(const struct tensor *tensor, const char *suffix) {
    size_t length = strlen(tensor->name), end = strlen(suffix);
    return length > end && strcmp(tensor->name + length - end, suffix) == 0;
}

bool parameter_is_scale(const struct parameter *parameter) {
    return ends_in(parameter->tensor, SCALE_SUFFIX) || ends_in(parameter->tensor, INPUT_SCALE_SUFFIX);
}

struct parameter *parameters_find(const struct parameters *parameters, const char *name) {
    const struct tensor *tensor = safetensors_find(parameters->file, name);
    return tensor != NULL ? &parameters->all[tensor - safetensors_at(parameters->file, 0)] : NULL;
}

/* The int8 parameter that a tensor of this suffix belongs to. */
static struct parameter *find_owner(const struct parameters *parameters, const struct tensor *scale, const char *suffix,
                                    struct arena *arena, struct error *err) {
    char *name = arena_copy(arena, scale->name, strlen(scale->name) - strlen(suffix));
    if (name == NULL) {
        error_memory(err);
        return NULL;
    }
    struct parameter *owner = parameters_find(parameters, name);
    if (owner == NULL || owner->tensor->dtype != DTYPE_I8) {
        error_set(err, ERROR_FORMAT, "tensor %s: there is no int8 tensor %s", scale->name, name);
        return NULL;
    }
    return owner;
}

static bool is_vector_of(const struct tensor *tensor, size_t size) {
    return tensor->dtype == DTYPE_F32 && tensor->dims == 1 && tensor->shape[0] == size;
}

/* Gives NAME's parameter its scale. */
static int attach_scale(const struct parameters *parameters, const struct tensor *scale, struct arena *arena, struct error *err) {
    struct parameter *owner = find_owner(parameters, scale, SCALE_SUFFIX, arena, err);
    if (owner == NULL)
        return -1;
    if (owner->tensor->dims == 0)
        return error_set(err, ERROR_FORMAT, "tensor %s: an int8 scalar has no output channels to scale", owner->tensor->name);
    if (!is_vector_of(scale, owner->tensor->shape[0]) && !is_vector_of(scale, 1))
        return error_set(err, ERROR_FORMAT, "tensor %s: must be float32 [%zu] or [1]", scale->name, owner->tensor->shape[0]);
    owner->scale = scale;
    return 0;
}

static int attach_input_scale(const struct parameters *parameters, const struct tensor *scale, struct arena *arena,
                              struct error *err) {
    struct parameter *owner = find_owner(parameters, scale, INPUT_SCALE_SUFFIX, arena, err);
    if (owner == NULL)
        return -1;
    if (!is_vector_of(scale, 1))
        return error_set(err, ERROR_FORMAT, "tensor %s: must be float32 [1]", scale->name);
    memcpy(&owner->input_scale, scale->data, sizeof owner->input_scale);
    if (!(owner->input_scale > 0 && owner->input_scale <= FLT_MAX))
        return error_set(err, ERROR_FORMAT, "tensor %s: must be finite and above 0", scale->name);
    return 0;
}

static int check_storage(const struct parameter *parameter, struct error *err) {
    const struct tensor *tensor = parameter->tensor;
    if (tensor->dtype == DTYPE_I32)
        return error_set(err, ERROR_FORMAT, "tensor %s: parameters cannot be stored as I32", tensor->name);
    if (tensor->dtype == DTYPE_I8 && parameter->scale == NULL)
        return error_set(err, ERROR_FORMAT, "tensor %s: int8 without %s%s", tensor->name, tensor->name, SCALE_SUFFIX);
    return 0;
}

int parameters_map(struct parameters *parameters, const char *path, struct arena *arena, struct error *err) {
    *parameters = (struct parameters){.file = safetensors_open(path, err)};
    if (parameters->file == NULL)
        return -1;
    size_t count = safetensors_count(parameters->file);
    parameters->all = arena_zalloc(arena, count, sizeof *parameters->all);
    if (parameters->all == NULL)
        return error_memory(err);
    for (size_t i = 0; i < count; i++)
        parameters->all[i].tensor = safetensors_at(parameters->file, i);
    for (size_t i = 0; i < count; i++) {
        const struct tensor *tensor = parameters->all[i].tensor;
        if (ends_in(tensor, INPUT_SCALE_SUFFIX)
                ? attach_input_scale(parameters, tensor, arena, err) != 0
                : ends_in(tensor, SCALE_SUFFIX) && attach_scale(parameters, tensor, arena, err) != 0)
            return -1;
    }
    for (size_t i = 0; i < count; i++)
        if (check_storage(&parameters->all[i], err) != 0)
            return -1;
    return 0;
}

void parameters_done(struct parameters *parameters) {
    safetensors_free(parameters->file);
}

/* ---- what shape they have ---- */

/* The product of the shape; safetensors has checked that it does not overflow. */
size_t parameter_count(const struct parameter *parameter) {
    size_t count = 1;
    for (size_t i = 0; i < parameter->tensor->dims; i++)
        count *= parameter->tensor->shape[i];
    return count;
}

enum { SHAPE_BYTES = 24 * TENSOR_MAX_DIMS };

/* "[512, 256]"; "[]" for a scalar. */
static void format_shape(const size_t *shape, size_t dims, char text[SHAPE_BYTES]) {
    size_t length = 0;
    for (size_t i = 0; i < dims; i++)
        length += (size_t)snprintf(text + length, SHAPE_BYTES - length, "%s%zu", i == 0 ? "[" : ", ", shape[i]);
    snprintf(text + length, SHAPE_BYTES - length, dims == 0 ? "[]" : "]");
}

int parameter_check_shape(const struct parameter *parameter, size_t rows, size_t cols, struct error *err) {
    const struct tensor *tensor = parameter->tensor;
    const size_t needed[] = {rows, cols};
    size_t dims = cols == 1 ? 1 : 2;
    if (tensor->dims == dims && memcmp(tensor->shape, needed, dims * sizeof *needed) == 0)
        return 0;
    char found_text[SHAPE_BYTES], needed_text[SHAPE_BYTES];
    format_shape(tensor->shape, tensor->dims, found_text);
    format_shape(needed, dims, needed_text);
    return error_set(err, ERROR_FORMAT, "tensor %s: shape %s, but the model needs %s", tensor->name, found_text, needed_text);
}

/* ---- what they are as float32 ---- */

/* int8 only: of an output channel, which is one row. */
static float scale_of(const struct parameter *parameter, size_t row) {
    float scale;
    memcpy(&scale, parameter->scale->data + (parameter->scale->shape[0] == 1 ? 0 : row) * sizeof scale, sizeof scale);
    return scale;
}

float parameter_given_scale(const struct parameter *parameter) {
    size_t rows = parameter->tensor->shape[0];
    if (parameter->scale == NULL || rows < 2)
        return 0;
    float first = scale_of(parameter, 0);
    for (size_t row = 1; row < rows; row++)
        if (scale_of(parameter, row) != first)
            return 0;
    return first;
}

bool parameter_in_place(const struct parameter *parameter) {
    return parameter->tensor->dtype == DTYPE_F32 && (uintptr_t)parameter->tensor->data % alignof(float) == 0;
}

void parameter_row(const struct parameter *parameter, size_t row, size_t cols, float *x) {
    const struct storage *storage = storage_of(parameter->tensor->dtype);
    storage->expand(parameter->tensor->data + row * cols * storage->bytes, cols, x);
    if (parameter->scale == NULL)
        return;
    float scale = scale_of(parameter, row);
    for (size_t col = 0; col < cols; col++)
        x[col] *= scale;
}

int parameter_check_values(const struct parameter *parameter, size_t rows, size_t cols, struct error *err) {
    const struct tensor *tensor = parameter->tensor;
    size_t finite = storage_of(tensor->dtype)->finite(tensor->data, rows * cols);
    for (size_t row = 0; parameter->scale != NULL && row * cols < finite; row++)
        if (!isfinite(scale_of(parameter, row) * INT8_MIN))
            finite = row * cols;
    if (finite < rows * cols)
        return error_set(err, ERROR_FORMAT, "tensor %s: value %zu is not finite", tensor->name, finite);
    return 0;
}

static const float *expand(const struct parameter *parameter, size_t rows, size_t cols, struct arena *arena) {
    if (parameter_in_place(parameter))
        return (const float *)(const void *)parameter->tensor->data;
    float *values = arena_alloc(arena, rows * cols, sizeof *values);
    for (size_t row = 0; values != NULL && row < rows; row++)
        parameter_row(parameter, row, cols, values + row * cols);
    return values;
}

int parameter_load(struct parameter *parameter, size_t rows, size_t cols, struct arena *arena, struct error *err) {
    if (parameter_check_values(parameter, rows, cols, err) != 0)
        return -1;
    parameter->values = expand(parameter, rows, cols, arena);
    return parameter->values != NULL ? 0 : error_memory(err);
}
