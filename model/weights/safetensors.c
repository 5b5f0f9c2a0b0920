/* This file hides the container's format: after safetensors_open, every tensor lies within the file. */
#include "model/weights/safetensors.h"
#include "model/base/arena.h"
#include "model/base/file.h"
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LENGTH_BYTES = 8, MAX_HEADER_BYTES = 100000000, SAMPLES = 8, SAMPLE_BYTES = 64, LARGE_BYTES = 1 << 18 };

static const size_t MAX_FILE_BYTES = SIZE_MAX / 2;

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
    [DTYPE_F32] = {"F32", 4}, [DTYPE_F16] = {"F16", 2}, [DTYPE_BF16] = {"BF16", 2},
    [DTYPE_I8] = {"I8", 1},   [DTYPE_I32] = {"I32", 4},
};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

struct safetensors {
    unsigned char *map;
    size_t map_bytes;
    const unsigned char *data; /* from the end of the header to the end of the file */
    size_t data_bytes;
    struct arena arena;     /* the tensors and their names */
    struct tensor *tensors; /* [count], by data offset */
    size_t count;
};

static int map_file(struct safetensors *file, const char *path, struct error *err) {
    size_t size;
    int descriptor = file_open(path, MAX_FILE_BYTES, &size, err), result = 0;
    if (descriptor < 0)
        return -1;
    void *map = size < LENGTH_BYTES ? NULL : mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (!map)
        result = error_set(err, ERROR_FORMAT, "header: the file is too short to have one");
    else if (map == MAP_FAILED)
        result = error_set(err, ERROR_FILE, "cannot map %s: %s", path, strerror(errno));
    close(descriptor); /* the mapping stays */
    if (result != 0)
        return -1;
    file->map = map;
    file->map_bytes = size;
    return 0;
}

/* Parses the JSON between the length and the data. Sets data and data_bytes. */
static json_t *parse_header(struct safetensors *file, struct error *err) {
    uint64_t length = 0;
    for (size_t i = LENGTH_BYTES; i-- > 0;)
        length = length << 8 | file->map[i];
    if (length > MAX_HEADER_BYTES || length > file->map_bytes - LENGTH_BYTES) {
        error_set(err, ERROR_FORMAT, "header: a length of %llu bytes is beyond %s", (unsigned long long)length,
                  length > MAX_HEADER_BYTES ? "the limit" : "the end of the file");
        return NULL;
    }
    file->data = file->map + LENGTH_BYTES + length;
    file->data_bytes = file->map_bytes - LENGTH_BYTES - (size_t)length;

    json_error_t problem;
    json_t *header = json_loadb((const char *)file->map + LENGTH_BYTES, (size_t)length, JSON_REJECT_DUPLICATES, &problem);
    if (!header && json_error_code(&problem) == json_error_out_of_memory)
        error_memory(err);
    else if (!header)
        error_set(err, ERROR_FORMAT, "header: byte %d: %s", problem.position, problem.text);
    else if (json_is_object(header))
        return header;
    else
        error_set(err, ERROR_FORMAT, "header: must be an object");
    json_decref(header);
    return NULL;
}

static int check_metadata(json_t *metadata, struct error *err) {
    if (!json_is_object(metadata))
        return error_set(err, ERROR_FORMAT, "__metadata__: must be an object");
    const char *key;
    json_t *value;
    json_object_foreach(metadata, key, value) {
        if (!json_is_string(value))
            return error_set(err, ERROR_FORMAT, "__metadata__: %s: must be a string", key);
    }
    return 0;
}

/* Reads a JSON integer as a size. json_loadb has refused integers of more than 64 bits; numbers with a fraction or an exponent are
 * not integers. */
static bool read_size(const json_t *value, size_t *size) {
    json_int_t integer = json_integer_value(value);
    if (!json_is_integer(value) || integer < 0 || (uintmax_t)integer > SIZE_MAX)
        return false;
    *size = (size_t)integer;
    return true;
}

static int wrong_tensor(const struct tensor *tensor, const char *reason, struct error *err) {
    return error_set(err, ERROR_FORMAT, "tensor %s: %s", tensor->name, reason);
}

static int read_tensor(const struct safetensors *file, struct tensor *tensor, const json_t *entry, struct error *err) {
    if (!json_is_object(entry))
        return wrong_tensor(tensor, "must be an object", err);

    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    size_t kind = 0;
    if (!dtype)
        return wrong_tensor(tensor, "dtype must be a string", err);
    while (kind < DTYPES && strcmp(dtype, dtypes[kind].name) != 0)
        kind++;
    if (kind == DTYPES)
        return error_set(err, ERROR_FORMAT, "tensor %s: unknown dtype %s", tensor->name, dtype);
    tensor->dtype = (enum dtype)kind;

    const json_t *shape = json_object_get(entry, "shape");
    if (!json_is_array(shape) || json_array_size(shape) > TENSOR_MAX_DIMS)
        return error_set(err, ERROR_FORMAT, "tensor %s: shape must be an array of at most %d", tensor->name, TENSOR_MAX_DIMS);
    tensor->dims = json_array_size(shape);
    tensor->bytes = dtypes[kind].size;
    for (size_t i = 0; i < tensor->dims; i++) {
        size_t *size = &tensor->shape[i];
        if (!read_size(json_array_get(shape, i), size))
            return wrong_tensor(tensor, "shape must contain integers from 0", err);
        if (*size != 0 && tensor->bytes > SIZE_MAX / *size)
            return wrong_tensor(tensor, "shape is larger than memory can be", err);
        tensor->bytes *= *size;
    }

    const json_t *offsets = json_object_get(entry, "data_offsets");
    size_t begin, end;
    if (!json_is_array(offsets) || json_array_size(offsets) != 2 || !read_size(json_array_get(offsets, 0), &begin) ||
        !read_size(json_array_get(offsets, 1), &end))
        return wrong_tensor(tensor, "data_offsets must be two integers from 0", err);
    if (begin > end)
        return wrong_tensor(tensor, "data_offsets end before they begin", err);
    if (end > file->data_bytes)
        return wrong_tensor(tensor, "data_offsets are past the end of the file", err);
    if (end - begin != tensor->bytes)
        return error_set(err, ERROR_FORMAT, "tensor %s: %zu bytes of data, %zu by dtype and shape", tensor->name, end - begin,
                         tensor->bytes);
    tensor->data = file->data + begin;
    return 0;
}

/* Sorts by begin, then by end: a zero-size tensor stands before the one that begins where it does. */
static int compare_offsets(const void *left, const void *right) {
    const struct tensor *a = left, *b = right;
    if (a->data != b->data)
        return a->data < b->data ? -1 : 1;
    return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

/* Each tensor begins where the one before it ends, and the last one ends with the file, so no byte is read twice or hidden. */
static int check_coverage(const struct safetensors *file, struct error *err) {
    const unsigned char *end = file->data;
    for (size_t i = 0; i < file->count; i++) {
        const struct tensor *tensor = &file->tensors[i];
        if (tensor->data != end)
            return wrong_tensor(tensor, tensor->data < end ? "overlaps another" : "there is a gap before its data", err);
        end = tensor->data + tensor->bytes;
    }
    size_t left = (size_t)(file->data + file->data_bytes - end);
    if (left != 0)
        return error_set(err, ERROR_FORMAT, "header: %zu bytes at the end of the file belong to no tensor", left);
    return 0;
}

static int read_header(struct safetensors *file, struct error *err) {
    json_t *header = parse_header(file, err), *entry;
    if (!header)
        return -1;
    file->tensors = arena_zalloc(&file->arena, json_object_size(header), sizeof *file->tensors);
    int result = file->tensors ? 0 : error_memory(err);
    const char *name;
    json_object_foreach(header, name, entry) {
        if (result != 0)
            break;
        if (strcmp(name, "__metadata__") == 0) {
            result = check_metadata(entry, err);
            continue;
        }
        struct tensor *tensor = &file->tensors[file->count++];
        tensor->name = arena_copy(&file->arena, name, strlen(name));
        result = tensor->name ? read_tensor(file, tensor, entry, err) : error_memory(err);
    }
    json_decref(header);
    if (result != 0)
        return -1;
    qsort(file->tensors, file->count, sizeof *file->tensors, compare_offsets);
    return check_coverage(file, err);
}

struct safetensors *safetensors_open(const char *path, struct error *err) {
    struct safetensors *file = calloc(1, sizeof *file);
    if (!file) {
        error_memory(err);
        return NULL;
    }
    arena_init(&file->arena, 16 * 1024);
    if (map_file(file, path, err) != 0 || read_header(file, err) != 0) {
        safetensors_free(file);
        return NULL;
    }
    return file;
}

void safetensors_free(struct safetensors *file) {
    if (!file)
        return;
    if (file->map)
        munmap(file->map, file->map_bytes);
    arena_done(&file->arena);
    free(file);
}

void safetensors_rest(const struct safetensors *file) {
    madvise(file->map, file->map_bytes, MADV_DONTNEED); /* only advice: nothing depends on its success */
}

size_t safetensors_bytes(const struct safetensors *file) {
    return file->map_bytes;
}

/* Takes SAMPLES of SAMPLE_BYTES each, spread over the tensor, or all of a tensor that is not larger. */
uint64_t safetensors_sample(const struct safetensors *file) {
    uint64_t sum = checksum(0, file->map, file->map_bytes - file->data_bytes);
    for (const struct tensor *tensor = file->tensors; tensor < file->tensors + file->count; tensor++) {
        if (tensor->bytes <= (size_t)SAMPLES * SAMPLE_BYTES) {
            sum = checksum(sum, tensor->data, tensor->bytes);
            continue;
        }
        size_t last = tensor->bytes - SAMPLE_BYTES, distance = last / (SAMPLES - 1);
        for (size_t i = 0; i < SAMPLES; i++)
            sum = checksum(sum, tensor->data + (i < SAMPLES - 1 ? i * distance : last), SAMPLE_BYTES);
        if (tensor->bytes > LARGE_BYTES) /* the system has mapped many pages around each sample */
            safetensors_rest(file);
    }
    return sum;
}

size_t safetensors_count(const struct safetensors *file) {
    return file->count;
}

const struct tensor *safetensors_at(const struct safetensors *file, size_t index) {
    return &file->tensors[index];
}

const struct tensor *safetensors_find(const struct safetensors *file, const char *name) {
    for (size_t i = 0; i < file->count; i++) {
        if (strcmp(file->tensors[i].name, name) == 0)
            return &file->tensors[i];
    }
    return NULL;
}
