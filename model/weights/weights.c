/* This file hides how the numbers of a model are stored: it turns the tensors of a file into
 * float32 values, tables and packed linears, and those of the small files beside it into weights of
 * quality estimates and lists of target ids. Lists are made as sets with a bit for each id. */
#include "model/weights/weights.h"
#include "model/weights/safetensors.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- storage ---- */

/* The container is little-endian, and float32 is used where it is mapped. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "a big-endian machine would have to swap bytes here");

/* The types that parameters may have. Infinity and NaN have all bits of the exponent. */
static const struct storage {
    const char *name;
    enum stored stored;
    uint32_t exponents[2]; /* its bits in a word of four bytes, which holds one value or two; 0: all
                              values are finite */
} storages[] = {
    [DTYPE_F32] = {"float32", STORED_FLOAT32, {0x7f800000, 0x7f800000}},
    [DTYPE_F16] = {"float16", STORED_FLOAT16, {0x7c00, 0x7c000000}},
    [DTYPE_BF16] = {"bfloat16", STORED_BFLOAT16, {0x7f80, 0x7f800000}},
    [DTYPE_I8] = {"int8", STORED_INT8, {0, 0}},
};

static uint32_t read_u16(const unsigned char *data) {
    return (uint32_t)data[0] | (uint32_t)data[1] << 8;
}

enum { CHECKED_BYTES = 1024 };

/* Returns true if all values in the next CHECKED_BYTES are finite; data may be misaligned. */
static bool all_finite(const unsigned char *data, const uint32_t exponents[2]) {
    uint32_t words[CHECKED_BYTES / sizeof(uint32_t)], found = 0;
    memcpy(words, data, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        found |= ((words[i] & exponents[0]) == exponents[0]) |
                 ((words[i] & exponents[1]) == exponents[1]);
    return !found;
}

/* Returns the number of values before the first one that is not finite. */
static size_t count_finite(const struct tensor *tensor, size_t count) {
    size_t bytes = dtypes[tensor->dtype].bytes, together = CHECKED_BYTES / bytes, i = 0;
    const uint32_t *exponents = storages[tensor->dtype].exponents;
    uint32_t word = 0;
    if (exponents[0] == 0)
        return count;
    while (count - i >= together && all_finite(tensor->data + i * bytes, exponents))
        i += together;
    for (; i < count; i++) {
        memcpy(&word, tensor->data + i * bytes, bytes);
        if ((word & exponents[0]) == exponents[0])
            break;
    }
    return i;
}

/* ---- parameters ---- */

struct parameter {
    const struct tensor *tensor;
    const struct tensor *scale; /* int8 only: float32 [rows], or one for all */
    float input_scale;          /* int8 only: NAME.input_scale, or 0 */
    const float *values;        /* NULL until they are needed, and again once they are packed */
    bool used;
};

struct weights {
    struct backend backend;  /* the backend of the linears */
    const atomic_bool *stop; /* NULL: never */
    bool failed;
    /* the file was loaded when its packed weights were made, so all values are finite */
    bool vouched;
    struct arena arena; /* the parameters, and the values that had to be expanded */
    struct safetensors *file;
    struct parameter *parameters; /* [count], scales included */
    size_t count;

    struct panels *panels; /* where packed linears may be found; NULL: each is packed */
    struct panels_matrix
        *packed; /* [packed_count]: the linears so far, without those that OpenBLAS multiplies */
    size_t packed_count, packed_room, mapped_count;
    size_t linear_bytes; /* bytes of all linears together */
};

static const char SCALE_SUFFIX[] = ".scale", INPUT_SCALE_SUFFIX[] = ".input_scale";

static bool ends_in(const struct tensor *tensor, const char *suffix) {
    size_t length = strlen(tensor->name), end = strlen(suffix);
    return length > end && strcmp(tensor->name + length - end, suffix) == 0;
}

static bool is_scale(const struct tensor *tensor) {
    return ends_in(tensor, SCALE_SUFFIX) || ends_in(tensor, INPUT_SCALE_SUFFIX);
}

static struct parameter *find_parameter(const struct weights *weights, const char *name) {
    const struct tensor *tensor = safetensors_find(weights->file, name);
    return tensor ? &weights->parameters[tensor - safetensors_at(weights->file, 0)] : NULL;
}

static bool is_vector_of(const struct tensor *tensor, size_t size) {
    return tensor->dtype == DTYPE_F32 && tensor->dims == 1 && tensor->shape[0] == size;
}

/* Reads the list of parameters, and gives the int8 ones their NAME.scale and NAME.input_scale. */
static int open_parameters(struct weights *weights, const char *path, struct error *err) {
    weights->file = safetensors_open(path, err);
    if (!weights->file)
        return -1;
    weights->count = safetensors_count(weights->file);
    weights->parameters =
        arena_zalloc(&weights->arena, weights->count, sizeof *weights->parameters);
    if (!weights->parameters)
        return error_memory(err);
    for (size_t i = 0; i < weights->count; i++)
        weights->parameters[i].tensor = safetensors_at(weights->file, i);
    for (size_t i = 0; i < weights->count; i++) {
        const struct tensor *scale = weights->parameters[i].tensor;
        if (!is_scale(scale))
            continue;
        bool input = ends_in(scale, INPUT_SCALE_SUFFIX);
        size_t suffix = input ? strlen(INPUT_SCALE_SUFFIX) : strlen(SCALE_SUFFIX);
        char *name = arena_copy(&weights->arena, scale->name, strlen(scale->name) - suffix);
        if (!name)
            return error_memory(err);
        struct parameter *owner = find_parameter(weights, name);
        if (!owner || owner->tensor->dtype != DTYPE_I8)
            return error_set(err, ERROR_FORMAT, "tensor %s: the int8 tensor %s is missing",
                             scale->name, name);
        if (input) {
            if (!is_vector_of(scale, 1))
                return error_set(err, ERROR_FORMAT, "tensor %s: must be float32 [1]", scale->name);
            memcpy(&owner->input_scale, scale->data, sizeof owner->input_scale);
            if (!(owner->input_scale > 0 && owner->input_scale <= FLT_MAX))
                return error_set(err, ERROR_FORMAT, "tensor %s: must be finite and above 0",
                                 scale->name);
            continue;
        }
        if (owner->tensor->dims == 0)
            return error_set(err, ERROR_FORMAT,
                             "tensor %s: an int8 scalar has no output channels to scale",
                             owner->tensor->name);
        if (!is_vector_of(scale, owner->tensor->shape[0]) && !is_vector_of(scale, 1))
            return error_set(err, ERROR_FORMAT, "tensor %s: must be float32 [%zu] or [1]",
                             scale->name, owner->tensor->shape[0]);
        owner->scale = scale;
    }
    for (size_t i = 0; i < weights->count; i++) {
        const struct tensor *tensor = weights->parameters[i].tensor;
        if (tensor->dtype == DTYPE_I32)
            return error_set(err, ERROR_FORMAT, "tensor %s: parameters cannot be stored as I32",
                             tensor->name);
        if (tensor->dtype == DTYPE_I8 && !weights->parameters[i].scale)
            return error_set(err, ERROR_FORMAT, "tensor %s: int8 without %s%s", tensor->name,
                             tensor->name, SCALE_SUFFIX);
    }
    return 0;
}

struct weights *weights_open(const char *path, struct error *err) {
    struct weights *weights = calloc(1, sizeof *weights);
    if (!weights) {
        error_memory(err);
        return NULL;
    }
    weights->backend = backend_choose();
    arena_init(&weights->arena, 64 * 1024);
    if (open_parameters(weights, path, err) != 0) {
        weights_free(weights);
        return NULL;
    }
    return weights;
}

void weights_free(struct weights *weights) {
    if (!weights)
        return;
    panels_free(weights->panels);
    free(weights->packed);
    safetensors_free(weights->file);
    arena_done(&weights->arena);
    free(weights);
}

void weights_use(struct weights *weights, const struct backend *backend) {
    weights->backend = *backend;
}

void weights_stop(struct weights *weights, const atomic_bool *stop) {
    weights->stop = stop;
}

const struct backend *weights_backend(const struct weights *weights) {
    return &weights->backend;
}

bool weights_failed(const struct weights *weights) {
    return weights && weights->failed;
}

int weights_fail(struct weights *weights) {
    weights->failed = true;
    return -1;
}

enum { SHAPE_BYTES = 24 * TENSOR_MAX_DIMS };

/* "[512, 256]"; "[]" for a scalar. */
static void format_shape(const size_t *shape, size_t dims, char text[SHAPE_BYTES]) {
    size_t length = 0;
    for (size_t i = 0; i < dims; i++)
        length += (size_t)snprintf(text + length, SHAPE_BYTES - length, "%s%zu",
                                   i == 0 ? "[" : ", ", shape[i]);
    snprintf(text + length, SHAPE_BYTES - length, dims == 0 ? "[]" : "]");
}

/* Returns the parameter of this name and shape (cols 1: [rows]), or NULL with an error, or if err
 * held one before. */
static struct parameter *find_shaped(const struct weights *weights, const char *name, size_t rows,
                                     size_t cols, struct error *err) {
    if (err && err->code != ERROR_NONE)
        return NULL;
    struct parameter *parameter = find_parameter(weights, name);
    if (!parameter) {
        error_set(err, ERROR_FORMAT, "tensor %s: missing", name);
        return NULL;
    }
    const struct tensor *tensor = parameter->tensor;
    const size_t needed[] = {rows, cols};
    size_t dims = cols == 1 ? 1 : 2;
    if (tensor->dims == dims && memcmp(tensor->shape, needed, dims * sizeof *needed) == 0)
        return parameter;
    char found_text[SHAPE_BYTES], needed_text[SHAPE_BYTES];
    format_shape(tensor->shape, tensor->dims, found_text);
    format_shape(needed, dims, needed_text);
    error_set(err, ERROR_FORMAT, "tensor %s: shape %s, but the model needs %s", tensor->name,
              found_text, needed_text);
    return NULL;
}

/* float32 values are used where they are mapped, if they are aligned. */
static bool is_in_place(const struct parameter *parameter) {
    return parameter->tensor->dtype == DTYPE_F32 &&
           (uintptr_t)parameter->tensor->data % alignof(float) == 0;
}

/* Returns the scale of an int8 row, which is an output channel. */
static float scale_of(const struct parameter *parameter, size_t row) {
    float scale;
    memcpy(&scale,
           parameter->scale->data + (parameter->scale->shape[0] == 1 ? 0 : row) * sizeof scale,
           sizeof scale);
    return scale;
}

/* Works in pieces of a constant size, which compilers turn into vectors, because decoding expands a
 * row for each token. */
static void expand_int8(const void *data, size_t n, float scale, float *restrict x) {
    enum { PIECE = 16 };
    const signed char *restrict q = data;
    size_t i = 0;
    for (; i + PIECE <= n; i += PIECE)
        for (size_t j = 0; j < PIECE; j++)
            x[i + j] = (float)q[i + j] * scale;
    for (; i < n; i++)
        x[i] = (float)q[i] * scale;
}

static void expand_row(const struct parameter *parameter, size_t row, size_t cols, float *x) {
    const struct tensor *tensor = parameter->tensor;
    const unsigned char *data = tensor->data + row * cols * dtypes[tensor->dtype].bytes;
    switch (tensor->dtype) {
    case DTYPE_F32:
        memcpy(x, data, cols * sizeof *x);
        break;
    case DTYPE_F16:
        for (size_t i = 0; i < cols; i++)
            x[i] = half_to_float(read_u16(data + 2 * i));
        break;
    case DTYPE_BF16: /* the upper half of a float32 */
        for (size_t i = 0; i < cols; i++)
            x[i] = float_of_bits(read_u16(data + 2 * i) << 16);
        break;
    case DTYPE_I8:
        expand_int8(data, cols, scale_of(parameter, row), x);
        break;
    case DTYPE_I32:
        assert(tensor->dtype != DTYPE_I32); /* open_parameters has refused it */
    }
}

static int check_finite(const struct weights *weights, const struct parameter *parameter,
                        size_t rows, size_t cols, struct error *err) {
    if (weights->vouched)
        return 0;
    size_t finite = count_finite(parameter->tensor, rows * cols);
    for (size_t row = 0; parameter->scale && row * cols < finite; row++)
        if (!isfinite(scale_of(parameter, row) * INT8_MIN))
            finite = row * cols;
    if (finite < rows * cols)
        return error_set(err, ERROR_FORMAT, "tensor %s: value %zu is not finite",
                         parameter->tensor->name, finite);
    return 0;
}

const float *weights_get(struct weights *weights, const char *name, size_t rows, size_t cols,
                         struct error *err) {
    struct parameter *parameter = find_shaped(weights, name, rows, cols, err);
    if (!parameter ||
        (!parameter->values && check_finite(weights, parameter, rows, cols, err) != 0)) {
        weights_fail(weights);
        return NULL;
    }
    if (!parameter->values && is_in_place(parameter))
        parameter->values = (const float *)(const void *)parameter->tensor->data;
    if (!parameter->values) {
        float *values = arena_alloc(&weights->arena, rows * cols, sizeof *values);
        if (!values) {
            error_memory(err);
            weights_fail(weights);
            return NULL;
        }
        for (size_t row = 0; row < rows; row++)
            expand_row(parameter, row, cols, values + row * cols);
        parameter->values = values;
    }
    parameter->used = true;
    return parameter->values;
}

size_t weights_rows(const struct weights *weights, const char *name) {
    const struct tensor *tensor = safetensors_find(weights->file, name);
    return tensor && tensor->dims > 0 ? tensor->shape[0] : 0;
}

int weights_check(const struct weights *weights, const char *name, size_t rows, size_t cols,
                  struct error *err) {
    return find_shaped(weights, name, rows, cols, err) ? 0 : -1;
}

int weights_table(struct weights *weights, const char *name, size_t rows, size_t cols,
                  struct weights_table *table, struct error *err) {
    *table = (struct weights_table){0};
    struct parameter *parameter = find_shaped(weights, name, rows, cols, err);
    if (!parameter)
        return weights_fail(weights);
    bool expanded = parameter->values || is_in_place(parameter);
    const float *values = expanded ? weights_get(weights, name, rows, cols, err) : NULL;
    if (expanded ? !values : check_finite(weights, parameter, rows, cols, err) != 0)
        return weights_fail(weights);
    safetensors_rest(
        weights->file); /* the whole table has been checked, and decoding reads few of its rows */
    parameter->used = true;
    *table = (struct weights_table){.values = values, .parameter = parameter, .cols = cols};
    return 0;
}

void weights_row(const struct weights_table *table, size_t row, float *x) {
    if (table->values)
        memcpy(x, table->values + row * table->cols, table->cols * sizeof *x);
    else
        expand_row(table->parameter, row, table->cols, x);
}

/* ---- linears ---- */

enum { PARTS_BYTES = 8 << 20 };

/* A matrix that is expanded a few rows at a time: columns first .. first + in - 1 of `columns`. */
struct reading {
    const struct weights *weights;
    const struct parameter *parameter;
    size_t first, in, columns;
    float *row; /* [columns]; NULL: all columns are read */
};

static void read_rows(const void *context, size_t first, size_t count, float *rows) {
    const struct reading *reading = context;
    for (size_t i = 0; i < count; i++, rows += reading->in) {
        expand_row(reading->parameter, first + i, reading->columns,
                   reading->row ? reading->row : rows);
        if (reading->row)
            memcpy(rows, reading->row + reading->first, reading->in * sizeof *rows);
    }
    if (count == PACKED_TOGETHER) /* a large matrix, whose pages are not needed again */
        safetensors_rest(reading->weights->file);
}

/* Sets the weight [out, in] from which a linear is packed, and its scale, or makes the source read
 * the weight in parts. reading: NULL if it is not packed. */
static int read_weight(struct weights *weights, const struct linear_names *names,
                       struct parameter *parameter, struct linear_source *source,
                       struct reading *reading, struct error *err) {
    size_t in = source->in, columns = names->columns > 0 ? names->columns : in;

    /* One scale for several channels was chosen by another program, whose integers must stay as
     * they are. If each channel has its own scale, 0 makes packing compute the scales again. */
    float first = parameter->scale ? scale_of(parameter, 0) : 0;
    bool one = parameter->scale && source->out >= 2;
    for (size_t row = 1; one && row < source->out; row++)
        one = scale_of(parameter, row) == first;
    source->scale = one ? first : 0;

    /* A large matrix is read in parts even from where it is, so that its pages can go as it is
     * packed. */
    bool parts =
        is_in_place(parameter) ? parameter->tensor->bytes > PARTS_BYTES : !parameter->values;
    if (reading && parts) {
        *reading = (struct reading){weights, parameter, names->first, in, columns, NULL};
        if (names->columns > 0 &&
            !(reading->row = arena_alloc(&weights->arena, columns, sizeof *reading->row)))
            return error_memory(err);
        source->read = read_rows;
        source->context = reading;
        int result = check_finite(weights, parameter, source->out, columns, err);
        safetensors_rest(weights->file);
        return result;
    }
    source->weight = weights_get(weights, names->weight, source->out, columns, err);
    if (!source->weight)
        return -1;
    if (names->columns == 0)
        return 0;
    float *taken = arena_alloc(&weights->arena, source->out * in, sizeof *taken);
    if (!taken)
        return error_memory(err);
    for (size_t row = 0; row < source->out; row++)
        memcpy(taken + row * in, source->weight + row * columns + names->first, in * sizeof *taken);
    source->weight = taken;
    return 0;
}

int weights_linear(struct weights *weights, const struct linear_names *names, size_t out, size_t in,
                   struct linear *linear, struct error *err) {
    if (weights->stop && *weights->stop) {
        error_set(err, ERROR_INPUT, "interrupted");
        return weights_fail(weights);
    }
    const float *bias = names->bias ? weights_get(weights, names->bias, out, 1, err) : NULL;
    if (names->bias && !bias)
        return -1;
    struct parameter *parameter =
        find_shaped(weights, names->weight, out, names->columns > 0 ? names->columns : in, err);
    if (!parameter)
        return weights_fail(weights);
    struct linear_source source = {.bias = bias,
                                   .out = out,
                                   .in = in,
                                   .stored = storages[parameter->tensor->dtype].stored,
                                   .input_scale = parameter->input_scale,
                                   .lookups = names->lookups};
    struct panels_matrix matrix = {.name = parameter->tensor->name,
                                   .first = names->first,
                                   .out = out,
                                   .in = in,
                                   .packing = linear_packing(&source, &weights->backend)};

    struct reading reading;
    bool expanded_before = parameter->values != NULL;
    struct arena_mark mark = arena_mark(&weights->arena);
    if (weights->panels && matrix.packing &&
        panels_find(weights->panels, &matrix, source.lookups)) {
        source.packed = matrix.packed;
        source.rows = matrix.rows;
    } else if (read_weight(weights, names, parameter, &source, matrix.packing ? &reading : NULL,
                           err) != 0) {
        return weights_fail(weights);
    }
    if (weights->packed_count == weights->packed_room) {
        size_t room = 2 * weights->packed_room + 16;
        struct panels_matrix *packed = realloc(weights->packed, room * sizeof *packed);
        if (!packed) {
            error_memory(err);
            return weights_fail(weights);
        }
        weights->packed = packed;
        weights->packed_room = room;
    }
    if (linear_init(linear, &source, &weights->backend, err) != 0)
        return weights_fail(weights);
    weights->linear_bytes += linear_bytes(linear);
    parameter->used = true;
    if (!linear->packed)
        return 0;

    matrix.packed = linear->packed;
    matrix.rows = linear->rows;
    weights->packed[weights->packed_count++] = matrix;
    weights->mapped_count += source.packed != NULL;
    if (!source.packed) /* the pages of the matrix are not needed any more */
        safetensors_rest(weights->file);
    if (!expanded_before) { /* the matrix was expanded only for packing */
        parameter->values = NULL;
        arena_release(&weights->arena, mark);
        arena_trim(&weights->arena); /* the matrix may have been that of a whole vocabulary */
    }
    return 0;
}

struct weights_linears weights_linears(const struct weights *weights) {
    return (struct weights_linears){weights->packed_count, weights->mapped_count,
                                    weights->panels != NULL};
}

static struct panels_origin origin_of(const struct weights *weights, const char *sha256) {
    struct panels_origin origin = {.source_bytes = safetensors_bytes(weights->file),
                                   .source_sample = safetensors_sample(weights->file)};
    snprintf(origin.compute, sizeof origin.compute, "%s", compute_name(weights->backend.compute));
    snprintf(origin.processor, sizeof origin.processor, "%s", weights->backend.kernels->processor);
    snprintf(origin.source_sha256, sizeof origin.source_sha256, "%s", sha256 ? sha256 : "");
    return origin;
}

int weights_map(struct weights *weights, const char *path, const char *sha256, struct error *err) {
    assert(!weights->panels);
    const struct panels_origin origin = origin_of(weights, sha256);
    weights->panels = panels_open(path, &origin, err);
    weights->vouched = weights->panels && *origin.source_sha256;
    return weights->panels ? 0 : -1;
}

int weights_pack(const struct weights *weights, const char *path, const char *sha256,
                 struct error *err) {
    if (weights->packed_count == 0)
        return error_set(err, ERROR_INPUT,
                         "nothing is packed: OpenBLAS multiplies with the weights as they are");
    const struct panels_origin origin = origin_of(weights, sha256);
    return panels_write(path, &origin, weights->packed, weights->packed_count, err);
}

/* ---- the whole file ---- */

int weights_all_used(const struct weights *weights, struct error *err) {
    for (const struct parameter *p = weights->parameters; p < weights->parameters + weights->count;
         p++) {
        if (!p->used && !is_scale(p->tensor))
            return error_set(err, ERROR_FORMAT, "tensor %s: the model has no such parameter",
                             p->tensor->name);
    }
    return 0;
}

void weights_rest(const struct weights *weights) {
    safetensors_rest(weights->file);
    if (weights->panels) /* only pages that decoding touches need stay resident */
        panels_rest(weights->panels);
}

size_t weights_bytes(const struct weights *weights) {
    size_t bytes = weights->linear_bytes + arena_bytes(&weights->arena);
    for (const struct parameter *p = weights->parameters; p < weights->parameters + weights->count;
         p++)
        bytes += p->values && is_in_place(p) ? p->tensor->bytes : 0;
    return bytes;
}

/* Returns the product of the shape, which does not overflow: safetensors_open has checked that. */
static size_t count_values(const struct tensor *tensor) {
    return tensor->bytes / dtypes[tensor->dtype].bytes;
}

size_t weights_parameters(const struct weights *weights) {
    size_t count = 0;
    for (const struct parameter *p = weights->parameters; p < weights->parameters + weights->count;
         p++)
        count += is_scale(p->tensor) ? 0 : count_values(p->tensor);
    return count;
}

static const struct storage *largest_storage(const struct weights *weights) {
    size_t most = 0;
    enum dtype dtype = DTYPE_F32;
    for (const struct parameter *p = weights->parameters; p < weights->parameters + weights->count;
         p++) {
        if (count_values(p->tensor) > most) {
            most = count_values(p->tensor);
            dtype = p->tensor->dtype;
        }
    }
    return &storages[dtype];
}

enum stored weights_stored(const struct weights *weights) {
    return largest_storage(weights)->stored;
}

const char *weights_storage(const struct weights *weights) {
    return largest_storage(weights)->name;
}

/* ---- quality estimates ---- */

/* Each tensor has the numbers of its struct, in the same order. */
_Static_assert(sizeof(struct quality_regression) == (QUALITY_FEATURES + 1) * sizeof(float),
               "no padding");

/* Copies the numbers, since data in the file may be misaligned. */
static int read_numbers(const struct safetensors *file, const char *name, void *numbers,
                        size_t bytes, struct error *err) {
    const struct tensor *tensor = safetensors_find(file, name);
    if (!tensor)
        return error_set(err, ERROR_FORMAT, "tensor %s: missing", name);
    size_t count = bytes / sizeof(float);
    if (tensor->dtype != DTYPE_F32 || tensor->bytes != bytes || tensor->dims != 1)
        return error_set(err, ERROR_FORMAT, "tensor %s: must be F32 of %zu numbers", name, count);
    if (count_finite(tensor, count) < count)
        return error_set(err, ERROR_FORMAT, "tensor %s: must hold finite numbers", name);
    memcpy(numbers, tensor->data, bytes);
    return 0;
}

int weights_read_quality(const char *path, struct quality_weights *weights, struct error *err) {
    struct safetensors *file = safetensors_open(path, err);
    if (!file)
        return -1;
    struct quality_weights read = {.log_probs_alone = safetensors_find(file, "log_probs") != NULL};
    bool older =
        safetensors_find(file, "doubt") != NULL; /* version 0.1, which nothing reads any more */
    int result = 0;
    if (read.log_probs_alone) {
        result = read_numbers(file, "log_probs", &read.log_probs, sizeof read.log_probs, err);
        if (result == 0 && safetensors_count(file) != 1)
            result = error_set(err, ERROR_FORMAT, "must hold log_probs alone");
    } else if (read_numbers(file, "words", &read.words, sizeof read.words, err) != 0 ||
               read_numbers(file, "sentence", &read.sentence, sizeof read.sentence, err) != 0) {
        result = -1;
    } else if (safetensors_count(file) != (older ? 3 : 2)) {
        result = error_set(err, ERROR_FORMAT, "must hold words and sentence alone");
    }
    safetensors_free(file);
    if (result == 0)
        *weights = read;
    return result;
}

/* ---- shortlists ---- */

enum { SET_BITS = 64 };

struct shortlist {
    struct arena arena; /* all below */
    uint64_t *always;   /* [words]: a set of target ids */
    size_t words;
    const int *offsets; /* [sources + 1]; NULL: there are only named lists */
    size_t sources;     /* size of the source vocabulary */
    const int *targets; /* [offsets[sources]] */
    size_t vocabulary;  /* size of the target vocabulary */
    size_t multiple;    /* lists are filled up to a multiple of this */
    struct named *named;
};

/* The list of a language. */
struct named {
    const char *name;
    struct target_ids ids;
    struct named *next;
};

static const char LIST_PREFIX[] = "list.";

static void set_add(uint64_t *set, int id) {
    set[id / SET_BITS] |= UINT64_C(1) << id % SET_BITS;
}

/* Copies the integers, since data in the file may be misaligned. Returns NULL on failure. */
static const int *read_integers(struct arena *arena, const struct safetensors *file,
                                const char *name, size_t *count, struct error *err) {
    const struct tensor *tensor = safetensors_find(file, name);
    if (!tensor || tensor->dtype != DTYPE_I32 || tensor->dims != 1) {
        error_set(err, ERROR_FORMAT, "tensor %s: %s", name,
                  !tensor ? "missing" : "must be I32 with one dimension");
        return NULL;
    }
    _Static_assert(sizeof(int) == 4, "I32 is read as int");
    int *integers = arena_alloc(arena, tensor->shape[0], sizeof *integers);
    if (!integers) {
        error_memory(err);
        return NULL;
    }
    memcpy(integers, tensor->data, tensor->bytes);
    *count = tensor->shape[0];
    return integers;
}

/* Reads the ids of a tensor, each of which must be in the target vocabulary. */
static const int *read_ids(struct shortlist *list, const struct safetensors *file, const char *name,
                           size_t *count, struct error *err) {
    const int *ids = read_integers(&list->arena, file, name, count, err);
    for (size_t i = 0; ids && i < *count; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= list->vocabulary) {
            error_set(err, ERROR_FORMAT, "tensor %s: id %d is not in the target vocabulary of %zu",
                      name, ids[i], list->vocabulary);
            return NULL;
        }
    }
    return ids;
}

/* Fills a set up to the list's multiple, and turns it into ids. */
static int ids_of_set(const struct shortlist *list, uint64_t *set, struct arena *arena,
                      struct target_ids *found, struct error *err) {
    size_t count = 0;
    for (size_t w = 0; w < list->words; w++)
        count += (size_t)__builtin_popcountll(set[w]);
    for (size_t id = 0; count % list->multiple != 0 && id < list->vocabulary; id++) {
        count += (set[id / SET_BITS] >> id % SET_BITS & 1) == 0;
        set_add(set, (int)id);
    }

    int *ids = arena_alloc(arena, count, sizeof *ids), *next = ids;
    if (!ids)
        return error_memory(err);
    for (size_t w = 0; w < list->words; w++) /* ascending: each step takes the lowest bit */
        for (uint64_t left = set[w]; left != 0; left &= left - 1)
            *next++ = (int)(w * SET_BITS) + __builtin_ctzll(left);
    *found = (struct target_ids){ids, count};
    return 0;
}

static int read_lists(struct shortlist *list, const struct safetensors *file, int end,
                      struct error *err) {
    size_t count, target_count;
    list->multiple = 1;
    if (safetensors_find(file, "multiple")) {
        const int *multiple = read_integers(&list->arena, file, "multiple", &count, err);
        if (!multiple)
            return -1;
        if (count != 1 || *multiple < 1)
            return error_set(err, ERROR_FORMAT, "tensor multiple: must be one positive number");
        list->multiple = (size_t)*multiple;
    }

    const int *ids = read_ids(list, file, "always", &count, err);
    if (!ids)
        return -1;
    list->words = (list->vocabulary + SET_BITS - 1) / SET_BITS;
    list->always = arena_zalloc(&list->arena, list->words, sizeof *list->always);
    if (!list->always)
        return error_memory(err);
    for (size_t i = 0; i < count; i++)
        set_add(list->always, ids[i]);
    set_add(list->always, end);

    for (size_t i = 0; i < safetensors_count(file); i++) {
        const char *tensor = safetensors_at(file, i)->name;
        if (strncmp(tensor, LIST_PREFIX, strlen(LIST_PREFIX)) != 0)
            continue;
        if (!(ids = read_ids(list, file, tensor, &count, err)))
            return -1;
        struct named *named = arena_alloc(&list->arena, 1, sizeof *named);
        uint64_t *set = arena_alloc(&list->arena, list->words, sizeof *set);
        const char *name = arena_copy(&list->arena, tensor + strlen(LIST_PREFIX),
                                      strlen(tensor) - strlen(LIST_PREFIX));
        if (!named || !set || !name)
            return error_memory(err);
        *named = (struct named){.name = name, .next = list->named};
        list->named = named;
        memcpy(set, list->always, list->words * sizeof *set);
        for (size_t id = 0; id < count; id++)
            set_add(set, ids[id]);
        if (ids_of_set(list, set, &list->arena, &named->ids, err) != 0)
            return -1;
    }
    if (list->named && !safetensors_find(file, "offsets"))
        return 0;

    /* Offsets rise from 0 to the number of targets, so every piece's part lies within. */
    const int *offsets = read_integers(&list->arena, file, "offsets", &count, err);
    list->targets = offsets ? read_ids(list, file, "targets", &target_count, err) : NULL;
    if (!list->targets)
        return -1;
    if (count != list->sources + 1)
        return error_set(err, ERROR_FORMAT,
                         "tensor offsets: %zu numbers, but the source vocabulary needs %zu", count,
                         list->sources + 1);
    if (offsets[0] != 0)
        return error_set(err, ERROR_FORMAT, "tensor offsets: must begin with 0");
    for (size_t i = 0; i < list->sources; i++) {
        if (offsets[i] > offsets[i + 1])
            return error_set(err, ERROR_FORMAT,
                             "tensor offsets: number %zu is less than the one before it", i + 1);
    }
    if ((size_t)offsets[list->sources] != target_count)
        return error_set(err, ERROR_FORMAT,
                         "tensor offsets: end with %d, but there are %zu targets",
                         offsets[list->sources], target_count);
    list->offsets = offsets;
    return 0;
}

struct shortlist *shortlist_open(const char *path, size_t source_vocabulary,
                                 size_t target_vocabulary, int end, struct error *err) {
    assert(end >= 0 && (size_t)end < target_vocabulary);
    struct shortlist *list = calloc(1, sizeof *list);
    if (!list) {
        error_memory(err);
        return NULL;
    }
    arena_init(&list->arena, 64 * 1024);
    list->sources = source_vocabulary;
    list->vocabulary = target_vocabulary;
    struct safetensors *file = safetensors_open(path, err);
    int result = file ? read_lists(list, file, end, err) : -1;
    safetensors_free(file);
    if (result == 0)
        return list;
    shortlist_free(list);
    return NULL;
}

void shortlist_free(struct shortlist *list) {
    if (!list)
        return;
    arena_done(&list->arena);
    free(list);
}

static int by_id(const void *a, const void *b) {
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

int target_ids_add(struct target_ids *list, int *ids, size_t count, struct arena *arena,
                   struct error *err) {
    int *all = arena_alloc(arena, list->count + count, sizeof *all);
    if (!all)
        return error_memory(err);
    qsort(ids, count, sizeof *ids, by_id);
    size_t n = 0;
    for (size_t i = 0, k = 0; i < list->count || k < count;) {
        bool own = k == count || (i < list->count && list->ids[i] <= ids[k]);
        int id = own ? list->ids[i++] : ids[k++];
        if (n == 0 || all[n - 1] != id)
            all[n++] = id;
    }
    *list = (struct target_ids){all, n};
    return 0;
}

int shortlist_of(const struct shortlist *list, const int *source_ids, size_t length,
                 struct arena *arena, struct target_ids *found, struct error *err) {
    uint64_t *set = arena_alloc(arena, list->words, sizeof *set);
    if (!set)
        return error_memory(err);
    memcpy(set, list->always, list->words * sizeof *set);
    for (size_t i = 0; list->offsets && i < length; i++) {
        int piece = source_ids[i];
        assert(piece >= 0 && (size_t)piece < list->sources);
        for (int t = list->offsets[piece]; t < list->offsets[piece + 1]; t++)
            set_add(set, list->targets[t]);
    }
    return ids_of_set(list, set, arena, found, err);
}

int shortlist_named(struct shortlist *list, const char *name, struct target_ids *found,
                    struct error *err) {
    const struct named *named = list->named;
    while (named && strcmp(named->name, name) != 0)
        named = named->next;
    if (!named)
        return error_set(err, ERROR_FORMAT, "tensor %s%.60s: missing", LIST_PREFIX, name);
    *found = named->ids;
    return 0;
}
