#include "model/weights/weights.h"
#include "model/base/arena.h"
#include "model/weights/panels.h"
#include "model/weights/safetensors.h"
#include <float.h>
#include <math.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The container is little-endian and float32 is used where it is mapped. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a big-endian machine would have to swap bytes here");

static const char SCALE_SUFFIX[] = ".scale", INPUT_SCALE_SUFFIX[] = ".input_scale";

struct parameter {
    const struct tensor *tensor;
    const struct tensor *scale; /* int8 only: float32 [rows], or one for all */
    float input_scale;          /* int8: NAME.input_scale; 0: there is none */
    const float *values;        /* NULL until asked for, and again once packed */
    bool used;
};

struct weights {
    struct backend backend; /* of the linears */
    struct safetensors *file;
    bool failed;
    struct arena arena;           /* parameters, and the values that had to be expanded */
    struct parameter *parameters; /* [safetensors_count], scales included */
    size_t linears;               /* bytes of the linears made */
    struct panels *panels;        /* NULL: all is packed here */
    struct panels_matrix *packed; /* [packed_count] the linears made, but for those of OpenBLAS */
    size_t packed_count, packed_room, mapped;
};

static float float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits. */
static float float_of_half(uint32_t half) {
    uint32_t sign = (half & 0x8000) << 16, exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
    if (exponent == 0) { /* zero and subnormals: fraction x 2^-24, exact in float32 */
        float magnitude = (float)fraction * 0x1p-24f;
        return sign != 0 ? -magnitude : magnitude;
    }
    if (exponent == 0x1f) /* infinity and NaN */
        return float_of_bits(sign | 0x7f800000 | fraction << 13);
    return float_of_bits(sign | (exponent - 15 + 127) << 23 | fraction << 13);
}

static uint32_t read_u16(const unsigned char *data) {
    return (uint32_t)data[0] | (uint32_t)data[1] << 8;
}

static void expand_f32(const unsigned char *data, size_t count, float *values) {
    memcpy(values, data, count * sizeof *values);
}

static void expand_f16(const unsigned char *data, size_t count, float *values) {
    for (size_t i = 0; i < count; i++)
        values[i] = float_of_half(read_u16(data + 2 * i));
}

/* bfloat16: the upper half of a float32. */
static void expand_bf16(const unsigned char *data, size_t count, float *values) {
    for (size_t i = 0; i < count; i++)
        values[i] = float_of_bits(read_u16(data + 2 * i) << 16);
}

static void expand_i8(const unsigned char *data, size_t count, float *values) {
    for (size_t i = 0; i < count; i++)
        values[i] = data[i] < 128 ? data[i] : (float)(data[i] - 256);
}

static const struct {
    const char *name;
    enum stored stored;
    size_t bytes; /* of a value */
    void (*expand)(const unsigned char *data, size_t count, float *values);
} storages[] = {
    [DTYPE_F32] = {"float32", STORED_FLOAT32, 4, expand_f32},
    [DTYPE_F16] = {"float16", STORED_FLOAT16, 2, expand_f16},
    [DTYPE_BF16] = {"bfloat16", STORED_BFLOAT16, 2, expand_bf16},
    [DTYPE_I8] = {"int8", STORED_INT8, 1, expand_i8},
};

/* The product of the shape; safetensors has checked that it does not overflow. */
static size_t value_count(const struct tensor *tensor) {
    size_t count = 1;
    for (size_t i = 0; i < tensor->dims; i++)
        count *= tensor->shape[i];
    return count;
}

static bool ends_in(const struct tensor *tensor, const char *suffix) {
    size_t length = strlen(tensor->name), end = strlen(suffix);
    return length > end && strcmp(tensor->name + length - end, suffix) == 0;
}

/* No parameter of its own. */
static bool is_scale(const struct tensor *tensor) {
    return ends_in(tensor, SCALE_SUFFIX) || ends_in(tensor, INPUT_SCALE_SUFFIX);
}

static struct parameter *find_parameter(struct weights *weights, const char *name) {
    const struct tensor *tensor = safetensors_find(weights->file, name);
    return tensor != NULL ? &weights->parameters[tensor - safetensors_at(weights->file, 0)] : NULL;
}

/* The int8 parameter that a tensor of this suffix belongs to. */
static struct parameter *find_owner(struct weights *weights, const struct tensor *scale, const char *suffix, struct error *err) {
    char *name = arena_copy(&weights->arena, scale->name, strlen(scale->name) - strlen(suffix));
    if (name == NULL) {
        error_memory(err);
        return NULL;
    }
    struct parameter *owner = find_parameter(weights, name);
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
static int attach_scale(struct weights *weights, const struct tensor *scale, struct error *err) {
    struct parameter *owner = find_owner(weights, scale, SCALE_SUFFIX, err);
    if (owner == NULL)
        return -1;
    if (owner->tensor->dims == 0)
        return error_set(err, ERROR_FORMAT, "tensor %s: an int8 scalar has no output channels to scale", owner->tensor->name);
    if (!is_vector_of(scale, owner->tensor->shape[0]) && !is_vector_of(scale, 1))
        return error_set(err, ERROR_FORMAT, "tensor %s: must be float32 [%zu] or [1]", scale->name, owner->tensor->shape[0]);
    owner->scale = scale;
    return 0;
}

static int attach_input_scale(struct weights *weights, const struct tensor *scale, struct error *err) {
    struct parameter *owner = find_owner(weights, scale, INPUT_SCALE_SUFFIX, err);
    if (owner == NULL)
        return -1;
    if (!is_vector_of(scale, 1))
        return error_set(err, ERROR_FORMAT, "tensor %s: must be float32 [1]", scale->name);
    memcpy(&owner->input_scale, scale->data, sizeof owner->input_scale);
    if (!(owner->input_scale > 0 && owner->input_scale <= FLT_MAX))
        return error_set(err, ERROR_FORMAT, "tensor %s: must be finite and above 0", scale->name);
    return 0;
}

static int read_parameters(struct weights *weights, struct error *err) {
    size_t count = safetensors_count(weights->file);
    weights->parameters = arena_zalloc(&weights->arena, count, sizeof *weights->parameters);
    if (weights->parameters == NULL)
        return error_memory(err);
    for (size_t i = 0; i < count; i++)
        weights->parameters[i].tensor = safetensors_at(weights->file, i);
    for (size_t i = 0; i < count; i++) {
        const struct tensor *tensor = safetensors_at(weights->file, i);
        if (ends_in(tensor, INPUT_SCALE_SUFFIX) ? attach_input_scale(weights, tensor, err) != 0
                                                : ends_in(tensor, SCALE_SUFFIX) && attach_scale(weights, tensor, err) != 0)
            return -1;
    }
    for (size_t i = 0; i < count; i++) {
        const struct parameter *parameter = &weights->parameters[i];
        if (parameter->tensor->dtype == DTYPE_I32)
            return error_set(err, ERROR_FORMAT, "tensor %s: parameters cannot be stored as I32", parameter->tensor->name);
        if (parameter->tensor->dtype == DTYPE_I8 && parameter->scale == NULL)
            return error_set(err, ERROR_FORMAT, "tensor %s: int8 without %s%s", parameter->tensor->name, parameter->tensor->name,
                             SCALE_SUFFIX);
    }
    return 0;
}

struct weights *weights_open(const char *path, struct error *err) {
    struct weights *weights = calloc(1, sizeof *weights);
    if (weights == NULL) {
        error_memory(err);
        return NULL;
    }
    weights->backend = backend_choose();
    arena_init(&weights->arena, 64 * 1024);
    weights->file = safetensors_open(path, err);
    if (weights->file == NULL || read_parameters(weights, err) != 0) {
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
    panels_free(weights->panels);
    free(weights->packed);
    safetensors_free(weights->file);
    arena_done(&weights->arena);
    free(weights);
}

enum { SHAPE_BYTES = 24 * TENSOR_MAX_DIMS };

/* "[512, 256]"; "[]" for a scalar. */
static void format_shape(const size_t *shape, size_t dims, char text[SHAPE_BYTES]) {
    size_t length = 0;
    for (size_t i = 0; i < dims; i++)
        length += (size_t)snprintf(text + length, SHAPE_BYTES - length, "%s%zu", i == 0 ? "[" : ", ", shape[i]);
    snprintf(text + length, SHAPE_BYTES - length, dims == 0 ? "[]" : "]");
}

static int check_shape(const struct tensor *tensor, size_t rows, size_t cols, struct error *err) {
    const size_t needed[] = {rows, cols};
    size_t dims = cols == 1 ? 1 : 2;
    if (tensor->dims == dims && memcmp(tensor->shape, needed, dims * sizeof *needed) == 0)
        return 0;
    char found_text[SHAPE_BYTES], needed_text[SHAPE_BYTES];
    format_shape(tensor->shape, tensor->dims, found_text);
    format_shape(needed, dims, needed_text);
    return error_set(err, ERROR_FORMAT, "tensor %s: shape %s, but the model needs %s", tensor->name, found_text, needed_text);
}

static int check_finite(const struct tensor *tensor, const float *values, struct error *err) {
    for (size_t i = 0, count = value_count(tensor); i < count; i++) {
        if (!isfinite(values[i]))
            return error_set(err, ERROR_FORMAT, "tensor %s: value %zu is not finite", tensor->name, i);
    }
    return 0;
}

/* int8 only: of an output channel, which is one row. */
static float scale_of(const struct parameter *parameter, size_t row) {
    float scale;
    memcpy(&scale, parameter->scale->data + (parameter->scale->shape[0] == 1 ? 0 : row) * sizeof scale, sizeof scale);
    return scale;
}

/* One scale for several channels is as another program chose it: the whole numbers are to stay as they are. 0: each channel has its
 * own, which is found again. */
static float given_scale(const struct parameter *parameter) {
    size_t rows = parameter->tensor->shape[0];
    if (parameter->scale == NULL || rows < 2)
        return 0;
    float first = scale_of(parameter, 0);
    for (size_t row = 1; row < rows; row++)
        if (scale_of(parameter, row) != first)
            return 0;
    return first;
}

static void apply_scale(const struct parameter *parameter, size_t rows, size_t cols, float *values) {
    for (size_t row = 0; row < rows; row++) {
        float scale = scale_of(parameter, row);
        for (size_t col = 0; col < cols; col++)
            values[row * cols + col] *= scale;
    }
}

static bool usable_in_place(const struct tensor *tensor) {
    return tensor->dtype == DTYPE_F32 && (uintptr_t)tensor->data % alignof(float) == 0;
}

/* The parameter as float32: where it is mapped, or expanded into the arena. NULL when memory is out. */
static const float *expand(struct weights *weights, const struct parameter *parameter, size_t rows, size_t cols) {
    const struct tensor *tensor = parameter->tensor;
    if (usable_in_place(tensor))
        return (const float *)(const void *)tensor->data;
    float *values = arena_alloc(&weights->arena, value_count(tensor), sizeof *values);
    if (values == NULL)
        return NULL;
    storages[tensor->dtype].expand(tensor->data, value_count(tensor), values);
    if (parameter->scale != NULL)
        apply_scale(parameter, rows, cols, values);
    return values;
}

static int parameter_load(struct weights *weights, struct parameter *parameter, size_t rows, size_t cols, struct error *err) {
    const float *values = expand(weights, parameter, rows, cols);
    if (values == NULL)
        return error_memory(err);
    if (check_finite(parameter->tensor, values, err) != 0)
        return -1;
    parameter->values = values;
    parameter->used = true;
    return 0;
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
    struct parameter *parameter = find_parameter(weights, name);
    if (parameter == NULL) {
        error_set(err, ERROR_FORMAT, "tensor %s: missing", name);
        return NULL;
    }
    if (check_shape(parameter->tensor, rows, cols, err) != 0)
        return NULL;
    if (parameter->values == NULL && parameter_load(weights, parameter, rows, cols, err) != 0)
        return NULL;
    return parameter->values;
}

const float *weights_get(struct weights *weights, const char *name, size_t rows, size_t cols, struct error *err) {
    const float *values = get_shaped(weights, name, rows, cols, err);
    if (values == NULL)
        weights_fail(weights);
    return values;
}

/* ---- row by row ---- */

static void expand_row(const struct parameter *parameter, size_t row, size_t cols, float *x) {
    const struct tensor *tensor = parameter->tensor;
    size_t bytes = storages[tensor->dtype].bytes;
    storages[tensor->dtype].expand(tensor->data + row * cols * bytes, cols, x);
    if (parameter->scale == NULL)
        return;
    float scale = scale_of(parameter, row);
    for (size_t col = 0; col < cols; col++)
        x[col] *= scale;
}

static int check_rows(struct weights *weights, const struct parameter *parameter, size_t rows, size_t cols, struct error *err) {
    struct arena_mark mark = arena_mark(&weights->arena);
    float *x = arena_alloc(&weights->arena, cols, sizeof *x);
    int result = x != NULL ? 0 : error_memory(err);
    for (size_t row = 0; result == 0 && row < rows; row++) {
        expand_row(parameter, row, cols, x);
        for (size_t col = 0; result == 0 && col < cols; col++)
            if (!isfinite(x[col]))
                result =
                    error_set(err, ERROR_FORMAT, "tensor %s: value %zu is not finite", parameter->tensor->name, row * cols + col);
    }
    arena_release(&weights->arena, mark);
    return result;
}

/* Where it is used as it is mapped, or has been expanded for something else, its values are there. */
static int find_table(struct weights *weights, const char *name, size_t rows, size_t cols, struct weights_table *table,
                      struct error *err) {
    if (err != NULL && err->code != ERROR_NONE)
        return -1;
    struct parameter *parameter = find_parameter(weights, name);
    if (parameter == NULL || parameter->values != NULL || usable_in_place(parameter->tensor)) {
        *table = (struct weights_table){.values = get_shaped(weights, name, rows, cols, err), .cols = cols};
        return table->values != NULL ? 0 : -1;
    }
    if (check_shape(parameter->tensor, rows, cols, err) != 0 || check_rows(weights, parameter, rows, cols, err) != 0)
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
        expand_row(table->parameter, row, table->cols, x);
}

/* Columns first .. first + in - 1 of weight [out, columns], in the arena. */
static const float *take_columns(struct weights *weights, const float *weight, const struct linear_names *names, size_t out,
                                 size_t in) {
    float *taken = arena_alloc(&weights->arena, out * in, sizeof *taken);
    for (size_t row = 0; taken != NULL && row < out; row++)
        memcpy(taken + row * in, weight + row * names->columns + names->first, in * sizeof *taken);
    return taken;
}

/* How the linear is packed, and where its panels may be found. */
static struct panels_matrix matrix_of(const struct weights *weights, const struct linear_names *names,
                                      const struct linear_source *source) {
    return (struct panels_matrix){.name = names->weight,
                                  .first = names->first,
                                  .out = source->out,
                                  .in = source->in,
                                  .packing = linear_packing(source, &weights->backend)};
}

static bool find_panels(const struct weights *weights, const struct linear_names *names, struct linear_source *source) {
    struct panels_matrix matrix = matrix_of(weights, names, source);
    if (weights->panels == NULL || matrix.packing == NULL || !panels_find(weights->panels, &matrix, source->lookups))
        return false;
    source->packed = matrix.packed;
    source->rows = matrix.rows;
    return true;
}

/* For weights_pack. */
static int note_linear(struct weights *weights, const struct linear_names *names, const struct linear_source *source,
                       const struct linear *linear) {
    if (linear->packed == NULL)
        return 0;
    if (weights->packed_count == weights->packed_room) {
        size_t room = 2 * weights->packed_room + 16;
        struct panels_matrix *packed = realloc(weights->packed, room * sizeof *packed);
        if (packed == NULL)
            return -1;
        weights->packed = packed;
        weights->packed_room = room;
    }
    struct panels_matrix *matrix = &weights->packed[weights->packed_count++];
    *matrix = matrix_of(weights, names, source);
    matrix->name = find_parameter(weights, names->weight)->tensor->name;
    matrix->packed = linear->packed;
    matrix->rows = linear->rows;
    return 0;
}

static int keep_linear(struct weights *weights, const struct linear_names *names, const struct linear_source *source,
                       struct linear *linear, struct error *err) {
    if (linear_init(linear, source, &weights->backend, err) != 0)
        return -1;
    weights->linears += linear_bytes(linear);
    if (note_linear(weights, names, source, linear) == 0)
        return 0;
    linear_done(linear);
    return error_memory(err);
}

/* Of panels that were found: the parameter's values are not read. */
static int take_linear(struct weights *weights, const struct linear_names *names, struct parameter *parameter,
                       const struct linear_source *source, struct linear *linear, struct error *err) {
    if (check_shape(parameter->tensor, source->out, names->columns > 0 ? names->columns : source->in, err) != 0 ||
        keep_linear(weights, names, source, linear, err) != 0)
        return -1;
    parameter->used = true;
    weights->mapped++;
    return 0;
}

static int pack_linear(struct weights *weights, const struct linear_names *names, struct parameter *parameter,
                       struct linear_source *source, struct linear *linear, struct error *err) {
    bool expanded_before = parameter->values != NULL;
    struct arena_mark mark = arena_mark(&weights->arena);
    source->weight = weights_get(weights, names->weight, source->out, names->columns > 0 ? names->columns : source->in, err);
    if (source->weight == NULL)
        return -1;
    if (names->columns > 0 && (source->weight = take_columns(weights, source->weight, names, source->out, source->in)) == NULL)
        return error_memory(err);
    source->scale = given_scale(parameter);
    if (keep_linear(weights, names, source, linear, err) != 0)
        return -1;
    if (linear->packed != NULL && !expanded_before) {
        parameter->values = NULL;
        arena_release(&weights->arena, mark);
        arena_trim(&weights->arena); /* a whole vocabulary's may have been there */
    }
    return 0;
}

static int make_linear(struct weights *weights, const struct linear_names *names, size_t out, size_t in, struct linear *linear,
                       struct error *err) {
    const float *bias = names->bias != NULL ? weights_get(weights, names->bias, out, 1, err) : NULL;
    struct parameter *parameter = find_parameter(weights, names->weight);
    if ((names->bias != NULL && bias == NULL) || (err != NULL && err->code != ERROR_NONE))
        return -1;
    if (parameter == NULL)
        return error_set(err, ERROR_FORMAT, "tensor %s: missing", names->weight);
    struct linear_source source = {.bias = bias,
                                   .out = out,
                                   .in = in,
                                   .stored = storages[parameter->tensor->dtype].stored,
                                   .input_scale = parameter->input_scale,
                                   .lookups = names->lookups};
    return find_panels(weights, names, &source) ? take_linear(weights, names, parameter, &source, linear, err)
                                                : pack_linear(weights, names, parameter, &source, linear, err);
}

int weights_linear(struct weights *weights, const struct linear_names *names, size_t out, size_t in, struct linear *linear,
                   struct error *err) {
    return make_linear(weights, names, out, in, linear, err) == 0 ? 0 : weights_fail(weights);
}

/* ---- packed before ---- */

static struct panels_origin origin_of(const struct weights *weights, const char *sha256) {
    struct panels_origin origin = {.source_bytes = safetensors_bytes(weights->file),
                                   .source_sample = safetensors_sample(weights->file)};
    snprintf(origin.compute, sizeof origin.compute, "%s", compute_name(weights->backend.compute));
    snprintf(origin.processor, sizeof origin.processor, "%s", weights->backend.kernels->processor);
    snprintf(origin.source_sha256, sizeof origin.source_sha256, "%s", sha256 != NULL ? sha256 : "");
    return origin;
}

int weights_map(struct weights *weights, const char *path, const char *sha256, struct error *err) {
    const struct panels_origin origin = origin_of(weights, sha256);
    weights->panels = panels_open(path, &origin, err);
    return weights->panels != NULL ? 0 : -1;
}

int weights_pack(const struct weights *weights, const char *path, const char *sha256, struct error *err) {
    if (weights->packed_count == 0)
        return error_set(err, ERROR_INPUT, "nothing is packed: OpenBLAS multiplies with the weights as they are");
    const struct panels_origin origin = origin_of(weights, sha256);
    return panels_write(path, &origin, weights->packed, weights->packed_count, err);
}

struct weights_linears weights_linears(const struct weights *weights) {
    return (struct weights_linears){weights->packed_count, weights->mapped};
}

int weights_all_used(const struct weights *weights, struct error *err) {
    for (size_t i = 0; i < safetensors_count(weights->file); i++) {
        const struct parameter *parameter = &weights->parameters[i];
        if (!parameter->used && !is_scale(parameter->tensor))
            return error_set(err, ERROR_FORMAT, "tensor %s: the model has no such parameter", parameter->tensor->name);
    }
    return 0;
}

void weights_rest(const struct weights *weights) {
    safetensors_rest(weights->file);
}

size_t weights_bytes(const struct weights *weights) {
    size_t bytes = weights->linears + arena_bytes(&weights->arena);
    for (size_t i = 0; i < safetensors_count(weights->file); i++) {
        const struct parameter *parameter = &weights->parameters[i];
        bytes += parameter->values != NULL && usable_in_place(parameter->tensor) ? parameter->tensor->bytes : 0;
    }
    return bytes;
}

size_t weights_parameters(const struct weights *weights) {
    size_t count = 0;
    for (size_t i = 0; i < safetensors_count(weights->file); i++) {
        const struct tensor *tensor = safetensors_at(weights->file, i);
        count += is_scale(tensor) ? 0 : value_count(tensor);
    }
    return count;
}

static enum dtype largest_dtype(const struct weights *weights) {
    size_t most = 0;
    enum dtype dtype = DTYPE_F32;
    for (size_t i = 0; i < safetensors_count(weights->file); i++) {
        const struct tensor *tensor = safetensors_at(weights->file, i);
        if (value_count(tensor) > most) {
            most = value_count(tensor);
            dtype = tensor->dtype;
        }
    }
    return dtype;
}

enum stored weights_stored(const struct weights *weights) {
    return storages[largest_dtype(weights)].stored;
}

const char *weights_storage(const struct weights *weights) {
    return storages[largest_dtype(weights)].name;
}
