/* This file hides the format of a file of packed weights: where its parts lie, and how it is checked. */
#include "model/weights/panels.h"
#include "model/base/file.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The struct has no padding, whose content would be undefined. */
_Static_assert(sizeof(struct panels_origin) == 2 * PANELS_WORD + 16 + PANELS_SHA256, "no padding");
_Static_assert(sizeof(struct panels_header) == 24 + sizeof(struct panels_origin) + 8, "no padding");
_Static_assert(sizeof(struct panels_entry) == PANELS_NAME + PANELS_WORD + 56, "no padding");

static const size_t MAX_FILE_BYTES = SIZE_MAX / 2;

struct panels {
    char *map;
    size_t bytes;
    struct panels_header header;  /* copies, so that checked values cannot change */
    struct panels_entry *entries; /* [header.entries] */
};

static uint64_t sum_of(const struct panels_header *header, const struct panels_entry *entries) {
    uint64_t sum = checksum(0, header, offsetof(struct panels_header, sum));
    return checksum(sum, entries, header->entries * sizeof *entries);
}

/* ---- reading ---- */

static int map_file(struct panels *panels, const char *path, struct error *err) {
    int descriptor = file_open(path, MAX_FILE_BYTES, &panels->bytes, err), result = 0;
    if (descriptor < 0)
        return -1;
    void *map = panels->bytes < sizeof panels->header ? NULL : mmap(NULL, panels->bytes, PROT_READ, MAP_SHARED, descriptor, 0);
    if (!map)
        result = error_set(err, ERROR_FORMAT, "incomplete");
    else if (map == MAP_FAILED)
        result = error_set(err, ERROR_FILE, "cannot be mapped: %s", strerror(errno));
    close(descriptor); /* the mapping stays */
    if (result != 0)
        return -1;
    panels->map = map;
    madvise(map, panels->bytes, MADV_HUGEPAGE); /* a large model has many pages of 4 KiB */
    return 0;
}

static bool ends(const char *text, size_t bytes) {
    return memchr(text, '\0', bytes) != NULL;
}

/* Copies header and entries out of the mapping, whose size is at least the header's, and checks them. */
static int read_header(struct panels *panels, struct error *err) {
    struct panels_header *header = &panels->header;
    memcpy(header, panels->map, sizeof *header);
    if (memcmp(header->magic, PANELS_MAGIC, sizeof header->magic) != 0)
        return error_set(err, ERROR_FORMAT, "not a file of packed weights");
    if (header->version != PANELS_VERSION)
        return error_set(err, ERROR_FORMAT, "version %u, expected %d", header->version, PANELS_VERSION);
    size_t bytes = header->entries * sizeof *panels->entries;
    if (header->bytes != panels->bytes || header->entries > PANELS_MOST || bytes > panels->bytes - sizeof *header)
        return error_set(err, ERROR_FORMAT, "incomplete or damaged");
    panels->entries = malloc(bytes + 1);
    if (!panels->entries)
        return error_memory(err);
    memcpy(panels->entries, panels->map + sizeof *header, bytes);

    /* The strings end, so that they can be compared. */
    const struct panels_origin *origin = &header->origin;
    bool right = header->sum == sum_of(header, panels->entries) && ends(origin->compute, PANELS_WORD) &&
                 ends(origin->processor, PANELS_WORD) && ends(origin->source_sha256, PANELS_SHA256);
    for (size_t i = 0; right && i < header->entries; i++)
        right = ends(panels->entries[i].name, PANELS_NAME) && ends(panels->entries[i].packing, PANELS_WORD);
    return right ? 0 : error_set(err, ERROR_FORMAT, "damaged");
}

static int check_origin(const struct panels_origin *found, const struct panels_origin *wanted, struct error *err) {
    if (strcmp(found->compute, wanted->compute) != 0 || strcmp(found->processor, wanted->processor) != 0)
        return error_set(err, ERROR_FORMAT, "made for %s on %s", found->compute, found->processor);
    bool known = found->source_sha256[0] != '\0' && wanted->source_sha256[0] != '\0';
    if (found->source_bytes != wanted->source_bytes || found->source_sample != wanted->source_sample ||
        (known && strcmp(found->source_sha256, wanted->source_sha256) != 0))
        return error_set(err, ERROR_FORMAT, "made from another model.safetensors");
    return 0;
}

struct panels *panels_open(const char *path, const struct panels_origin *origin, struct error *err) {
    struct panels *panels = calloc(1, sizeof *panels);
    if (!panels) {
        error_memory(err);
        return NULL;
    }
    if (map_file(panels, path, err) == 0 && read_header(panels, err) == 0 && check_origin(&panels->header.origin, origin, err) == 0)
        return panels;
    panels_free(panels);
    return NULL;
}

void panels_free(struct panels *panels) {
    if (!panels)
        return;
    if (panels->map)
        munmap(panels->map, panels->bytes);
    free(panels->entries);
    free(panels);
}

/* Returns `bytes` of the file at `at`, if they lie in it and are the ones that were written. */
static const void *take(const struct panels *panels, uint64_t at, size_t bytes, uint64_t sum) {
    if (at % PANELS_ALIGNMENT != 0 || at > panels->bytes || bytes > panels->bytes - at)
        return NULL;
    return checksum(0, panels->map + at, bytes) == sum ? panels->map + at : NULL;
}

bool panels_find(const struct panels *panels, struct panels_matrix *matrix, bool rows) {
    const struct packing *packing = matrix->packing;
    const struct panels_entry *entry = panels->entries, *end = entry + panels->header.entries;
    while (entry < end && (entry->first != matrix->first || entry->out != matrix->out || entry->in != matrix->in ||
                           strcmp(entry->packing, packing->name) != 0 || strcmp(entry->name, matrix->name) != 0))
        entry++;
    if (entry == end || (rows && entry->rows_at == 0))
        return false;
    const void *found = take(panels, entry->panels_at, packing->bytes(matrix->out, matrix->in), entry->panels_sum);
    const void *found_rows = NULL;
    if (rows)
        found_rows = take(panels, entry->rows_at, packing->rows_bytes(matrix->out, matrix->in), entry->rows_sum);
    if (!found || (rows && !found_rows))
        return false;
    matrix->packed = found;
    matrix->rows = found_rows;
    return true;
}

void panels_rest(const struct panels *panels) {
    madvise(panels->map, panels->bytes, MADV_DONTNEED); /* only advice: nothing depends on its success */
}

/* ---- writing ---- */

/* The parts of the file: the header, the entries, and for each entry its panels and rows with padding before them. */
struct writing {
    struct panels_header header;
    struct panels_entry *entries; /* [header.entries] */
    struct file_part *parts;      /* [count] */
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

static void add_all(struct writing *writing, const struct panels_matrix *matrices) {
    struct panels_header *header = &writing->header;
    add_part(writing, header, sizeof *header);
    add_part(writing, writing->entries, header->entries * sizeof *writing->entries);
    for (size_t i = 0; i < header->entries; i++) {
        const struct panels_matrix *matrix = &matrices[i];
        struct panels_entry *entry = &writing->entries[i];
        size_t bytes = matrix->packing->bytes(matrix->out, matrix->in), rows = matrix->packing->rows_bytes(matrix->out, matrix->in);
        *entry = (struct panels_entry){.first = matrix->first, .out = matrix->out, .in = matrix->in};
        strncpy(entry->name, matrix->name, PANELS_NAME - 1);
        strncpy(entry->packing, matrix->packing->name, PANELS_WORD - 1);
        entry->panels_at = add_aligned(writing, matrix->packed, bytes);
        entry->panels_sum = checksum(0, matrix->packed, bytes);
        if (matrix->rows) {
            entry->rows_at = add_aligned(writing, matrix->rows, rows);
            entry->rows_sum = checksum(0, matrix->rows, rows);
        }
    }
    header->sum = sum_of(header, writing->entries);
}

int panels_write(const char *path, const struct panels_origin *origin, const struct panels_matrix *matrices, size_t count,
                 struct error *err) {
    if (count > PANELS_MOST)
        return error_set(err, ERROR_INPUT, "%zu matrices are too many to pack", count);
    for (size_t i = 0; i < count; i++) {
        if (strlen(matrices[i].name) >= PANELS_NAME)
            return error_set(err, ERROR_INPUT, "tensor %.60s...: the name is too long to pack", matrices[i].name);
    }
    struct writing writing = {.header = {.version = PANELS_VERSION, .entries = (uint32_t)count, .origin = *origin}};
    memcpy(writing.header.magic, PANELS_MAGIC, sizeof writing.header.magic);
    writing.entries = calloc(count + 1, sizeof *writing.entries);
    writing.parts = calloc(2 + count * PARTS_OF_MATRIX, sizeof *writing.parts);
    int result = writing.entries && writing.parts ? 0 : error_memory(err);
    if (result == 0) {
        add_all(&writing, matrices);
        result = file_replace_parts(path, writing.parts, writing.count, err);
    }
    free(writing.entries);
    free(writing.parts);
    return result;
}
