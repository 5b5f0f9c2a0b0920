#include "model/weights/safetensors.h"
#include "model/base/arena.h"
#include "model/base/file.h"
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LENGTH_BYTES = 8, MAX_HEADER_BYTES = 100000000, SAMPLES = 8, SAMPLE_BYTES = 64 };

static const size_t MAX_FILE_BYTES = SIZE_MAX / 2;

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
    [DTYPE_F32] = {"F32", 4}, [DTYPE_F16] = {"F16", 2}, [DTYPE_BF16] = {"BF16", 2},
    [DTYPE_I8] = {"I8", 1},   [DTYPE_I32] = {"I32", 4},
};

struct safetensors {
    unsigned char *map;
    size_t map_bytes;
    const unsigned char *data; /* behind the header, to the end of the file */
    size_t data_bytes;
    struct arena arena;     /* the tensors and their names */
    struct tensor *tensors; /* [count], by data offset */
    size_t count;
};

static int wrong_tensor(const char *name, const char *reason, struct error *err) {
    return error_set(err, ERROR_FORMAT, "tensor %s: %s", name, reason);
}

static int map_descriptor(struct safetensors *file, int descriptor, size_t size, const char *path, struct error *err) {
    if (size < LENGTH_BYTES)
        return error_set(err, ERROR_FORMAT, "header: the file is too short to have one");
    void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (map == MAP_FAILED)
        return error_set(err, ERROR_FILE, "cannot map %s: %s", path, strerror(errno));
    file->map = map;
    file->map_bytes = size;
    return 0;
}

static int map_file(struct safetensors *file, const char *path, struct error *err) {
    size_t size;
    int descriptor = file_open(path, MAX_FILE_BYTES, &size, err);
    if (descriptor < 0)
        return -1;
    int result = map_descriptor(file, descriptor, size, path, err);
    close(descriptor); /* the mapping stays */
    return result;
}

/* The JSON between the length and the data. Sets data and data_bytes. */
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
    if (header == NULL && json_error_code(&problem) == json_error_out_of_memory)
        error_memory(err);
    else if (header == NULL)
        error_set(err, ERROR_FORMAT, "header: byte %d: %s", problem.position, problem.text);
    return header;
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

/* A JSON integer as a size. json_loadb has refused integers over 64 bits; a number with a fraction or exponent is none. */
static bool read_size(const json_t *value, size_t *size) {
    json_int_t integer = json_integer_value(value);
    if (!json_is_integer(value) || integer < 0 || (uintmax_t)integer > SIZE_MAX)
        return false;
    *size = (size_t)integer;
    return true;
}

static int read_dtype(struct tensor *tensor, const json_t *value, struct error *err) {
    const char *name = json_string_value(value);
    if (name == NULL)
        return wrong_tensor(tensor->name, "dtype must be a string", err);
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (strcmp(name, dtypes[i].name) == 0) {
            tensor->dtype = (enum dtype)i;
            return 0;
        }
    }
    return error_set(err, ERROR_FORMAT, "tensor %s: unknown dtype %s", tensor->name, name);
}

/* Sets dims, shape and, by them, bytes. */
static int read_shape(struct tensor *tensor, const json_t *value, struct error *err) {
    if (!json_is_array(value) || json_array_size(value) > TENSOR_MAX_DIMS)
        return error_set(err, ERROR_FORMAT, "tensor %s: shape must be an array of at most %d", tensor->name, TENSOR_MAX_DIMS);
    tensor->dims = json_array_size(value);
    tensor->bytes = dtypes[tensor->dtype].size;
    for (size_t i = 0; i < tensor->dims; i++) {
        size_t *size = &tensor->shape[i];
        if (!read_size(json_array_get(value, i), size))
            return wrong_tensor(tensor->name, "shape must contain integers from 0", err);
        if (*size != 0 && tensor->bytes > SIZE_MAX / *size)
            return wrong_tensor(tensor->name, "shape is larger than memory can be", err);
        tensor->bytes *= *size;
    }
    return 0;
}

/* Sets data. */
static int read_offsets(const struct safetensors *file, struct tensor *tensor, const json_t *value, struct error *err) {
    size_t begin, end;
    if (!json_is_array(value) || json_array_size(value) != 2 || !read_size(json_array_get(value, 0), &begin) ||
        !read_size(json_array_get(value, 1), &end))
        return wrong_tensor(tensor->name, "data_offsets must be two integers from 0", err);
    if (begin > end)
        return wrong_tensor(tensor->name, "data_offsets end before they begin", err);
    if (end > file->data_bytes)
        return wrong_tensor(tensor->name, "data_offsets are past the end of the file", err);
    if (end - begin != tensor->bytes)
        return error_set(err, ERROR_FORMAT, "tensor %s: %zu bytes of data, %zu by dtype and shape", tensor->name, end - begin,
                         tensor->bytes);
    tensor->data = file->data + begin;
    return 0;
}

static int read_tensor(struct safetensors *file, const char *name, const json_t *entry, struct error *err) {
    struct tensor *tensor = &file->tensors[file->count];
    tensor->name = arena_copy(&file->arena, name, strlen(name));
    if (tensor->name == NULL)
        return error_memory(err);
    if (!json_is_object(entry))
        return wrong_tensor(name, "must be an object", err);
    if (read_dtype(tensor, json_object_get(entry, "dtype"), err) != 0 ||
        read_shape(tensor, json_object_get(entry, "shape"), err) != 0 ||
        read_offsets(file, tensor, json_object_get(entry, "data_offsets"), err) != 0)
        return -1;
    file->count++;
    return 0;
}

static int read_entries(struct safetensors *file, json_t *header, struct error *err) {
    if (!json_is_object(header))
        return error_set(err, ERROR_FORMAT, "header: must be an object");
    file->tensors = arena_zalloc(&file->arena, json_object_size(header), sizeof *file->tensors);
    if (file->tensors == NULL)
        return error_memory(err);
    const char *name;
    json_t *entry;
    json_object_foreach(header, name, entry) {
        bool metadata = strcmp(name, "__metadata__") == 0;
        if ((metadata ? check_metadata(entry, err) : read_tensor(file, name, entry, err)) != 0)
            return -1;
    }
    return 0;
}

/* By begin, then by end: a zero-size tensor stands before the one that begins where it does. */
static int compare_offsets(const void *left, const void *right) {
    const struct tensor *a = left, *b = right;
    if (a->data != b->data)
        return a->data < b->data ? -1 : 1;
    return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

/* Each tensor begins where the one before it ends, and the last ends with the file: no byte is read twice or hidden. */
static int check_coverage(const struct safetensors *file, struct error *err) {
    const unsigned char *end = file->data;
    for (size_t i = 0; i < file->count; i++) {
        const struct tensor *tensor = &file->tensors[i];
        if (tensor->data != end)
            return wrong_tensor(tensor->name, tensor->data < end ? "overlaps another" : "there is a gap before its data", err);
        end = tensor->data + tensor->bytes;
    }
    size_t left = (size_t)(file->data + file->data_bytes - end);
    if (left != 0)
        return error_set(err, ERROR_FORMAT, "header: %zu bytes at the end of the file belong to no tensor", left);
    return 0;
}

static int read_header(struct safetensors *file, struct error *err) {
    json_t *header = parse_header(file, err);
    if (header == NULL)
        return -1;
    int result = read_entries(file, header, err);
    json_decref(header);
    if (result != 0)
        return -1;
    qsort(file->tensors, file->count, sizeof *file->tensors, compare_offsets);
    return check_coverage(file, err);
}

struct safetensors *safetensors_open(const char *path, struct error *err) {
    struct safetensors *file = calloc(1, sizeof *file);
    if (file == NULL) {
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
    if (file == NULL)
        return;
    if (file->map != NULL)
        munmap(file->map, file->map_bytes);
    arena_done(&file->arena);
    free(file);
}

void safetensors_rest(const struct safetensors *file) {
    madvise(file->map, file->map_bytes, MADV_DONTNEED); /* advice: nothing depends on its success */
}

size_t safetensors_bytes(const struct safetensors *file) {
    return file->map_bytes;
}

/* SAMPLES of SAMPLE_BYTES each, spread over the tensor; all of it where it is no larger. */
static uint64_t sample_tensor(uint64_t sum, const struct tensor *tensor) {
    if (tensor->bytes <= (size_t)SAMPLES * SAMPLE_BYTES)
        return checksum(sum, tensor->data, tensor->bytes);
    size_t last = tensor->bytes - SAMPLE_BYTES, distance = last / (SAMPLES - 1);
    for (size_t i = 0; i < SAMPLES - 1; i++)
        sum = checksum(sum, tensor->data + i * distance, SAMPLE_BYTES);
    return checksum(sum, tensor->data + last, SAMPLE_BYTES);
}

uint64_t safetensors_sample(const struct safetensors *file) {
    uint64_t sum = checksum(0, file->map, file->map_bytes - file->data_bytes);
    for (size_t i = 0; i < file->count; i++)
        sum = sample_tensor(sum, &file->tensors[i]);
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
