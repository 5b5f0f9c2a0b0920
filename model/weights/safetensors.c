/* This file hides the formats of files that are mapped: after safetensors_open, every tensor lies
 * within the file, and panels_find finds only panels that lie within the file and are those that
 * were written. */
#include "model/weights/safetensors.h"
#include "model/base/arena.h"
#include "model/base/file.h"
#include "model/compute/kernels.h"
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Maps a file of at least this many bytes; too_short: the message if it has fewer. Returns NULL on
 * failure. */
static void *map_file(const char *path, size_t least, int sharing, const char *too_short,
                      size_t *bytes, struct error *err) {
    int descriptor = file_open(path, SIZE_MAX / 2, bytes, err);
    if (descriptor < 0)
        return NULL;
    void *map = *bytes < least ? NULL : mmap(NULL, *bytes, PROT_READ, sharing, descriptor, 0);
    if (!map)
        error_set(err, ERROR_FORMAT, "%s", too_short);
    else if (map == MAP_FAILED)
        error_set(err, ERROR_FILE, "cannot map %s: %s", path, strerror(errno));
    close(descriptor); /* the mapping stays */
    return map == MAP_FAILED ? NULL : map;
}

/* ---- safetensors ---- */

enum {
    LENGTH_BYTES = 8,
    MAX_HEADER_BYTES = 100000000,
    SAMPLES = 8,
    SAMPLE_BYTES = 64,
    LARGE_BYTES = 1 << 18
};

const struct dtype_row dtypes[DTYPES] = {
    [DTYPE_F32] = {"F32", 4}, [DTYPE_F16] = {"F16", 2}, [DTYPE_BF16] = {"BF16", 2},
    [DTYPE_I8] = {"I8", 1},   [DTYPE_I32] = {"I32", 4},
};

struct safetensors {
    unsigned char *map;
    size_t map_bytes;
    const unsigned char *data; /* from the end of the header to the end of the file */
    size_t data_bytes;
    struct arena arena;     /* the tensors and their names */
    struct tensor *tensors; /* [count], by data offset */
    size_t count;
};

/* Reads a JSON integer as a size. json_loadb has refused integers of more than 64 bits; numbers
 * with a fraction or an exponent are not integers. */
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

static int read_tensor(const struct safetensors *file, struct tensor *tensor, const json_t *entry,
                       struct error *err) {
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
        return error_set(err, ERROR_FORMAT, "tensor %s: shape must be an array of at most %d",
                         tensor->name, TENSOR_MAX_DIMS);
    tensor->dims = json_array_size(shape);
    tensor->bytes = dtypes[kind].bytes;
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
    if (!json_is_array(offsets) || json_array_size(offsets) != 2 ||
        !read_size(json_array_get(offsets, 0), &begin) ||
        !read_size(json_array_get(offsets, 1), &end))
        return wrong_tensor(tensor, "data_offsets must be two integers from 0", err);
    if (begin > end)
        return wrong_tensor(tensor, "data_offsets end before they begin", err);
    if (end > file->data_bytes)
        return wrong_tensor(tensor, "data_offsets are past the end of the file", err);
    if (end - begin != tensor->bytes)
        return error_set(err, ERROR_FORMAT, "tensor %s: %zu bytes of data, %zu by dtype and shape",
                         tensor->name, end - begin, tensor->bytes);
    tensor->data = file->data + begin;
    return 0;
}

/* Sorts by begin, then by end: a zero-size tensor stands before the one that begins where it does.
 */
static int compare_offsets(const void *left, const void *right) {
    const struct tensor *a = left, *b = right;
    if (a->data != b->data)
        return a->data < b->data ? -1 : 1;
    return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

/* Reads the JSON between the length and the data. */
static int read_header(struct safetensors *file, struct error *err) {
    uint64_t length = 0;
    for (size_t i = LENGTH_BYTES; i-- > 0;)
        length = length << 8 | file->map[i];
    if (length > MAX_HEADER_BYTES || length > file->map_bytes - LENGTH_BYTES)
        return error_set(err, ERROR_FORMAT, "header: a length of %llu bytes is beyond %s",
                         (unsigned long long)length,
                         length > MAX_HEADER_BYTES ? "the limit" : "the end of the file");
    file->data = file->map + LENGTH_BYTES + length;
    file->data_bytes = file->map_bytes - LENGTH_BYTES - (size_t)length;

    const char *name, *key;
    json_error_t problem;
    json_t *header = json_loadb((const char *)file->map + LENGTH_BYTES, (size_t)length,
                                JSON_REJECT_DUPLICATES, &problem);
    json_t *entry, *value;
    if (!header && json_error_code(&problem) == json_error_out_of_memory)
        return error_memory(err);
    if (!header)
        return error_set(err, ERROR_FORMAT, "header: byte %d: %s", problem.position, problem.text);
    int result =
        json_is_object(header) ? 0 : error_set(err, ERROR_FORMAT, "header: must be an object");
    file->tensors = arena_zalloc(&file->arena, json_object_size(header), sizeof *file->tensors);
    if (result == 0 && !file->tensors)
        result = error_memory(err);
    json_object_foreach(header, name, entry) {
        if (result != 0)
            break;
        if (strcmp(name, "__metadata__") != 0) {
            struct tensor *tensor = &file->tensors[file->count++];
            tensor->name = arena_copy(&file->arena, name, strlen(name));
            result = tensor->name ? read_tensor(file, tensor, entry, err) : error_memory(err);
            continue;
        }
        if (!json_is_object(entry))
            result = error_set(err, ERROR_FORMAT, "__metadata__: must be an object");
        json_object_foreach(entry, key, value) {
            if (result == 0 && !json_is_string(value))
                result = error_set(err, ERROR_FORMAT, "__metadata__: %s: must be a string", key);
        }
    }
    json_decref(header);
    if (result != 0)
        return -1;

    /* Each tensor begins where the one before it ends, and the last one ends with the file, so no
     * byte is read twice or hidden. */
    qsort(file->tensors, file->count, sizeof *file->tensors, compare_offsets);
    const unsigned char *end = file->data;
    for (const struct tensor *tensor = file->tensors; tensor < file->tensors + file->count;
         tensor++) {
        if (tensor->data != end)
            return wrong_tensor(
                tensor, tensor->data < end ? "overlaps another" : "there is a gap before its data",
                err);
        end += tensor->bytes;
    }
    size_t left = (size_t)(file->data + file->data_bytes - end);
    if (left != 0)
        return error_set(err, ERROR_FORMAT,
                         "header: %zu bytes at the end of the file belong to no tensor", left);
    return 0;
}

struct safetensors *safetensors_open(const char *path, struct error *err) {
    struct safetensors *file = calloc(1, sizeof *file);
    if (!file) {
        error_memory(err);
        return NULL;
    }
    arena_init(&file->arena, 16 * 1024);
    file->map = map_file(path, LENGTH_BYTES, MAP_PRIVATE,
                         "header: the file is too short to have one", &file->map_bytes, err);
    if (!file->map || read_header(file, err) != 0) {
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
    madvise(file->map, file->map_bytes,
            MADV_DONTNEED); /* only advice: nothing depends on its success */
}

size_t safetensors_bytes(const struct safetensors *file) {
    return file->map_bytes;
}

/* Takes SAMPLES of SAMPLE_BYTES each, spread over the tensor, or all of a tensor that is not
 * larger. */
uint64_t safetensors_sample(const struct safetensors *file) {
    uint64_t sum = file_checksum(0, file->map, file->map_bytes - file->data_bytes);
    for (const struct tensor *tensor = file->tensors; tensor < file->tensors + file->count;
         tensor++) {
        if (tensor->bytes <= (size_t)SAMPLES * SAMPLE_BYTES) {
            sum = file_checksum(sum, tensor->data, tensor->bytes);
            continue;
        }
        size_t last = tensor->bytes - SAMPLE_BYTES, distance = last / (SAMPLES - 1);
        for (size_t i = 0; i < SAMPLES; i++)
            sum = file_checksum(sum, tensor->data + (i < SAMPLES - 1 ? i * distance : last),
                                SAMPLE_BYTES);
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

/* ---- the file of packed weights ---- */

/* The structs have no padding, whose content would be undefined. */
_Static_assert(sizeof(struct panels_origin) == 2 * PANELS_WORD + 16 + PANELS_SHA256, "no padding");
_Static_assert(sizeof(struct panels_header) == 24 + sizeof(struct panels_origin) + 8, "no padding");
_Static_assert(sizeof(struct panels_entry) == PANELS_NAME + PANELS_WORD + 56, "no padding");

struct panels {
    char *map;
    size_t bytes;
    struct panels_header header;  /* copies, so that checked values cannot change */
    struct panels_entry *entries; /* [header.entries] */
};

static uint64_t sum_of(const struct panels_header *header, const struct panels_entry *entries) {
    uint64_t sum = file_checksum(0, header, offsetof(struct panels_header, sum));
    return file_checksum(sum, entries, header->entries * sizeof *entries);
}

static bool ends(const char *text, size_t bytes) {
    return memchr(text, '\0', bytes) != NULL;
}

/* Copies header and entries out of the mapping, whose size is at least the header's, and checks
 * them. wanted: the origin that the file must have. */
static int read_panels(struct panels *panels, const struct panels_origin *wanted,
                       struct error *err) {
    struct panels_header *header = &panels->header;
    memcpy(header, panels->map, sizeof *header);
    if (memcmp(header->magic, PANELS_MAGIC, sizeof header->magic) != 0)
        return error_set(err, ERROR_FORMAT, "not a file of packed weights");
    if (header->version != PANELS_VERSION)
        return error_set(err, ERROR_FORMAT, "version %u, expected %d", header->version,
                         PANELS_VERSION);
    size_t bytes = header->entries * sizeof *panels->entries;
    if (header->bytes != panels->bytes || header->entries > PANELS_MOST ||
        bytes > panels->bytes - sizeof *header)
        return error_set(err, ERROR_FORMAT, "incomplete or damaged");
    panels->entries = malloc(bytes + 1);
    if (!panels->entries)
        return error_memory(err);
    memcpy(panels->entries, panels->map + sizeof *header, bytes);

    /* Strings must end with a NUL before they are compared. */
    const struct panels_origin *origin = &header->origin;
    bool right = header->sum == sum_of(header, panels->entries) &&
                 ends(origin->compute, PANELS_WORD) && ends(origin->processor, PANELS_WORD) &&
                 ends(origin->source_sha256, PANELS_SHA256);
    for (size_t i = 0; right && i < header->entries; i++)
        right = ends(panels->entries[i].name, PANELS_NAME) &&
                ends(panels->entries[i].packing, PANELS_WORD);
    if (!right)
        return error_set(err, ERROR_FORMAT, "damaged");

    if (strcmp(origin->compute, wanted->compute) != 0 ||
        strcmp(origin->processor, wanted->processor) != 0)
        return error_set(err, ERROR_FORMAT, "made for %s on %s", origin->compute,
                         origin->processor);
    bool known = origin->source_sha256[0] != '\0' && wanted->source_sha256[0] != '\0';
    if (origin->source_bytes != wanted->source_bytes ||
        origin->source_sample != wanted->source_sample ||
        (known && strcmp(origin->source_sha256, wanted->source_sha256) != 0))
        return error_set(err, ERROR_FORMAT, "made from another model.safetensors");
    return 0;
}

void panels_free(struct panels *panels) {
    if (!panels)
        return;
    if (panels->map)
        munmap(panels->map, panels->bytes);
    free(panels->entries);
    free(panels);
}

struct panels *panels_open(const char *path, const struct panels_origin *origin,
                           struct error *err) {
    struct panels *panels = calloc(1, sizeof *panels);
    if (!panels) {
        error_memory(err);
        return NULL;
    }
    panels->map =
        map_file(path, sizeof panels->header, MAP_SHARED, "incomplete", &panels->bytes, err);
    if (panels->map)
        madvise(panels->map, panels->bytes,
                MADV_HUGEPAGE); /* a large model has many pages of 4 KiB */
    if (panels->map && read_panels(panels, origin, err) == 0)
        return panels;
    panels_free(panels);
    return NULL;
}

void panels_rest(const struct panels *panels) {
    madvise(panels->map, panels->bytes, MADV_DONTNEED);
}

/* Returns `bytes` bytes at `at` if they lie within the file and are those that were written;
 * otherwise NULL. */
static const void *take(const struct panels *panels, uint64_t at, size_t bytes, uint64_t sum) {
    if (at % PANELS_ALIGNMENT != 0 || at > panels->bytes || bytes > panels->bytes - at)
        return NULL;
    return file_checksum(0, panels->map + at, bytes) == sum ? panels->map + at : NULL;
}

bool panels_find(const struct panels *panels, struct panels_matrix *matrix, bool rows) {
    const struct packing *packing = matrix->packing;
    const struct panels_entry *entry = panels->entries, *end = entry + panels->header.entries;
    while (entry < end &&
           (entry->first != matrix->first || entry->out != matrix->out || entry->in != matrix->in ||
            strcmp(entry->packing, packing->name) != 0 || strcmp(entry->name, matrix->name) != 0))
        entry++;
    if (entry == end || (rows && entry->rows_at == 0))
        return false;
    const void *found =
        take(panels, entry->panels_at, packing->bytes(matrix->out, matrix->in), entry->panels_sum);
    const void *found_rows = NULL;
    if (rows)
        found_rows = take(panels, entry->rows_at, packing->rows_bytes(matrix->out, matrix->in),
                          entry->rows_sum);
    if (!found || (rows && !found_rows))
        return false;
    matrix->packed = found;
    matrix->rows = found_rows;
    return true;
}

/* The parts of the file: the header, the entries, and for each entry its panels and rows with
 * padding before them. */
struct writing {
    struct panels_header header;
    struct file_part *parts; /* [count] */
    size_t count;
};

enum { PARTS_OF_MATRIX = 4 };

static void add_part(struct writing *writing, const void *bytes, size_t size) {
    writing->parts[writing->count++] = (struct file_part){bytes, size};
    writing->header.bytes += size;
}

/* Adds padding and a part. Returns where the part begins. */
static uint64_t add_aligned(struct writing *writing, const void *bytes, size_t size) {
    static const char nothing[PANELS_ALIGNMENT];
    add_part(writing, nothing, (size_t)-writing->header.bytes % PANELS_ALIGNMENT);
    uint64_t at = writing->header.bytes;
    add_part(writing, bytes, size);
    return at;
}

/* Takes the file, as it was just written, out of the system's cache: a mapping then reads it in
 * huge pages if the file system has them, but what is cached keeps the smaller pages in which it
 * was written. */
static void drop_cached(const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    posix_fadvise(file, 0, 0,
                  POSIX_FADV_DONTNEED); /* only advice: nothing depends on its success */
    close(file);
}

int panels_write(const char *path, const struct panels_origin *origin,
                 const struct panels_matrix *matrices, size_t count, struct error *err) {
    if (count > PANELS_MOST)
        return error_set(err, ERROR_INPUT, "%zu matrices are too many to pack", count);
    for (size_t i = 0; i < count; i++) {
        if (strlen(matrices[i].name) >= PANELS_NAME)
            return error_set(err, ERROR_INPUT, "tensor %.60s...: the name is too long to pack",
                             matrices[i].name);
    }
    struct panels_entry *entries = calloc(count + 1, sizeof *entries);
    struct writing writing = {
        .header = {.version = PANELS_VERSION, .entries = (uint32_t)count, .origin = *origin},
        .parts = calloc(2 + count * PARTS_OF_MATRIX, sizeof *writing.parts)};
    memcpy(writing.header.magic, PANELS_MAGIC, sizeof writing.header.magic);
    int result = -1;
    if (!entries || !writing.parts) {
        error_memory(err);
        goto done;
    }
    add_part(&writing, &writing.header, sizeof writing.header);
    add_part(&writing, entries, count * sizeof *entries);
    for (size_t i = 0; i < count; i++) {
        const struct panels_matrix *matrix = &matrices[i];
        struct panels_entry *entry = &entries[i];
        size_t bytes = matrix->packing->bytes(matrix->out, matrix->in),
               rows = matrix->packing->rows_bytes(matrix->out, matrix->in);
        *entry =
            (struct panels_entry){.first = matrix->first, .out = matrix->out, .in = matrix->in};
        strncpy(entry->name, matrix->name, PANELS_NAME - 1);
        strncpy(entry->packing, matrix->packing->name, PANELS_WORD - 1);
        entry->panels_at = add_aligned(&writing, matrix->packed, bytes);
        entry->panels_sum = file_checksum(0, matrix->packed, bytes);
        if (matrix->rows) {
            entry->rows_at = add_aligned(&writing, matrix->rows, rows);
            entry->rows_sum = file_checksum(0, matrix->rows, rows);
        }
    }
    writing.header.sum = sum_of(&writing.header, entries);
    result = file_replace_parts(path, writing.parts, writing.count, err);
    if (result == 0)
        drop_cached(path);
done:
    free(entries);
    free(writing.parts);
    return result;
}
