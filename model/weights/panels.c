#include "model/weights/panels.h"
#include "model/base/file.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Without room between fields, whose content nobody would know. */
_Static_assert(sizeof(struct panels_origin) == 2 * PANELS_WORD + 16 + PANELS_SHA256, "no padding");
_Static_assert(sizeof(struct panels_header) == 24 + sizeof(struct panels_origin) + 8, "no padding");
_Static_assert(sizeof(struct panels_entry) == PANELS_NAME + PANELS_WORD + 56, "no padding");

static const size_t MAX_FILE_BYTES = SIZE_MAX / 2;

struct panels {
    char *map;
    size_t bytes;
    struct panels_header header;  /* copies: what was checked stays */
    struct panels_entry *entries; /* [header.entries] */
};

static uint64_t sum_of(const struct panels_header *header, const struct panels_entry *entries) {
    uint64_t sum = checksum(0, header, offsetof(struct panels_header, sum));
    return checksum(sum, entries, header->entries * sizeof *entries);
}

/* ---- reading ---- */

static bool is_word(const char *text, size_t bytes) {
    return memchr(text, '\0', bytes) != NULL;
}

static int check_origin(const struct panels_origin *found, const struct panels_origin *wanted, struct error *err) {
    if (strcmp(found->compute, wanted->compute) != 0 || strcmp(found->processor, wanted->processor) != 0)
        return error_set(err, ERROR_FORMAT, "made for %s on %s", found->compute, found->processor);
    bool known = found->source_sha256[0] != '\0' && wanted->source_sha256[0] != '\0';
    if (found->source_bytes != wanted->source_bytes || found->source_sample != wanted->source_sample ||
        (known && strcmp(found->source_sha256, wanted->source_sha256) != 0))
        return error_set(err, ERROR_FORMAT, "made of another model.safetensors");
    return 0;
}

/* Takes header and entries out of the mapping, whose size is at least the header's. */
static int read_header(struct panels *panels, struct error *err) {
    struct panels_header *header = &panels->header;
    memcpy(header, panels->map, sizeof *header);
    if (memcmp(header->magic, PANELS_MAGIC, sizeof header->magic) != 0)
        return error_set(err, ERROR_FORMAT, "no packed weights");
    if (header->version != PANELS_VERSION)
        return error_set(err, ERROR_FORMAT, "of version %u, not %d", header->version, PANELS_VERSION);
    size_t bytes = header->entries * sizeof *panels->entries;
    if (header->bytes != panels->bytes || header->entries > PANELS_MOST || bytes > panels->bytes - sizeof *header)
        return error_set(err, ERROR_FORMAT, "cut short, or damaged");
    panels->entries = malloc(bytes + 1);
    if (!panels->entries)
        return error_memory(err);
    memcpy(panels->entries, panels->map + sizeof *header, bytes);
    return header->sum == sum_of(header, panels->entries) ? 0 : error_set(err, ERROR_FORMAT, "damaged");
}

/* Strings end, so that they can be compared. */
static int check_strings(const struct panels *panels, struct error *err) {
    const struct panels_origin *origin = &panels->header.origin;
    bool ended = is_word(origin->compute, PANELS_WORD) && is_word(origin->processor, PANELS_WORD) &&
                 is_word(origin->source_sha256, PANELS_SHA256);
    for (size_t i = 0; ended && i < panels->header.entries; i++)
        ended = is_word(panels->entries[i].name, PANELS_NAME) && is_word(panels->entries[i].packing, PANELS_WORD);
    return ended ? 0 : error_set(err, ERROR_FORMAT, "damaged");
}

/* Pages of 4 KiB are many for a large model: where the system can, it makes huge ones of them. */
static int map_descriptor(struct panels *panels, int descriptor, struct error *err) {
    if (panels->bytes < sizeof panels->header)
        return error_set(err, ERROR_FORMAT, "cut short");
    void *map = mmap(NULL, panels->bytes, PROT_READ, MAP_SHARED, descriptor, 0);
    if (map == MAP_FAILED)
        return error_set(err, ERROR_FILE, "cannot be mapped: %s", strerror(errno));
    panels->map = map;
    madvise(map, panels->bytes, MADV_HUGEPAGE);
    return 0;
}

static int map_file(struct panels *panels, const char *path, struct error *err) {
    int descriptor = file_open(path, MAX_FILE_BYTES, &panels->bytes, err);
    if (descriptor < 0)
        return -1;
    int result = map_descriptor(panels, descriptor, err);
    close(descriptor); /* the mapping stays */
    return result;
}

struct panels *panels_open(const char *path, const struct panels_origin *origin, struct error *err) {
    struct panels *panels = calloc(1, sizeof *panels);
    if (!panels) {
        error_memory(err);
        return NULL;
    }
    if (map_file(panels, path, err) == 0 && read_header(panels, err) == 0 && check_strings(panels, err) == 0 &&
        check_origin(&panels->header.origin, origin, err) == 0)
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

static bool is_entry(const struct panels_entry *entry, const struct panels_matrix *matrix) {
    return entry->first == matrix->first && entry->out == matrix->out && entry->in == matrix->in &&
           strcmp(entry->packing, matrix->packing->name) == 0 && strcmp(entry->name, matrix->name) == 0;
}

static const struct panels_entry *find_entry(const struct panels *panels, const struct panels_matrix *matrix) {
    for (size_t i = 0; i < panels->header.entries; i++) {
        if (is_entry(&panels->entries[i], matrix))
            return &panels->entries[i];
    }
    return NULL;
}

/* `bytes` of the file from `at` on, if they are there and are what was written. */
static const void *take(const struct panels *panels, uint64_t at, size_t bytes, uint64_t sum) {
    if (at % PANELS_ALIGNMENT != 0 || at > panels->bytes || bytes > panels->bytes - at)
        return NULL;
    return checksum(0, panels->map + at, bytes) == sum ? panels->map + at : NULL;
}

bool panels_find(const struct panels *panels, struct panels_matrix *matrix, bool rows) {
    const struct packing *packing = matrix->packing;
    const struct panels_entry *entry = find_entry(panels, matrix);
    if (!entry || (rows && entry->rows_at == 0))
        return false;
    const void *found = take(panels, entry->panels_at, packing->bytes(matrix->out, matrix->in), entry->panels_sum),
               *found_rows = NULL;
    if (rows)
        found_rows = take(panels, entry->rows_at, packing->rows_bytes(matrix->out, matrix->in), entry->rows_sum);
    if (!found || (rows && !found_rows))
        return false;
    matrix->packed = found;
    matrix->rows = found_rows;
    return true;
}

/* ---- writing ---- */

/* What is written: the header, the entries, and for each of them its panels and rows with what fills the room before them. */
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

/* Where it begins. */
static uint64_t add_aligned(struct writing *writing, const void *bytes, size_t size) {
    static const char nothing[PANELS_ALIGNMENT];
    add_part(writing, nothing, (size_t)-writing->header.bytes % PANELS_ALIGNMENT);
    uint64_t at = writing->header.bytes;
    add_part(writing, bytes, size);
    return at;
}

static void add_matrix(struct writing *writing, struct panels_entry *entry, const struct panels_matrix *matrix) {
    size_t bytes = matrix->packing->bytes(matrix->out, matrix->in), rows = matrix->packing->rows_bytes(matrix->out, matrix->in);
    *entry = (struct panels_entry){.first = matrix->first, .out = matrix->out, .in = matrix->in};
    strncpy(entry->name, matrix->name, PANELS_NAME - 1);
    strncpy(entry->packing, matrix->packing->name, PANELS_WORD - 1);
    entry->panels_at = add_aligned(writing, matrix->packed, bytes);
    entry->panels_sum = checksum(0, matrix->packed, bytes);
    if (!matrix->rows)
        return;
    entry->rows_at = add_aligned(writing, matrix->rows, rows);
    entry->rows_sum = checksum(0, matrix->rows, rows);
}

static void add_all(struct writing *writing, const struct panels_matrix *matrices) {
    struct panels_header *header = &writing->header;
    add_part(writing, header, sizeof *header);
    add_part(writing, writing->entries, header->entries * sizeof *writing->entries);
    for (size_t i = 0; i < header->entries; i++)
        add_matrix(writing, &writing->entries[i], &matrices[i]);
    header->sum = sum_of(header, writing->entries);
}

static int check_names(const struct panels_matrix *matrices, size_t count, struct error *err) {
    if (count > PANELS_MOST)
        return error_set(err, ERROR_INPUT, "%zu matrices are too many to pack", count);
    for (size_t i = 0; i < count; i++) {
        if (strlen(matrices[i].name) >= PANELS_NAME)
            return error_set(err, ERROR_INPUT, "tensor %.60s...: the name is too long to pack", matrices[i].name);
    }
    return 0;
}

int panels_write(const char *path, const struct panels_origin *origin, const struct panels_matrix *matrices, size_t count,
                 struct error *err) {
    if (check_names(matrices, count, err) != 0)
        return -1;
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
