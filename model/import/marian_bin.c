/* Marian's .bin, of both of its lines of development. Layout, little-endian: u64 version 1, u64 number of items N, N times four u64
 * (length of the name with its NUL, type, number of dimensions, bytes of data), the names, the dimensions as i32, a u64 that says
 * how many bytes of padding follow, and the data in the order of the items, which fills the file. Data of tensors are padded: the
 * next one begins `bytes of data` further on, for any shape.
 *
 * An intgemm8 tensor [in, out] is int8 [out, in], already transposed, and one float32 after it, the multiplier m: w = q / m.
 * Embeddings (names that contain Wemb) are not transposed. */
#include "model/base/utf8.h"
#include "model/import/stored.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VERSION = 1, ENCRYPTED = 2, HEAD_BYTES = 32, MOST_ITEMS = 20000, MOST_NAME_BYTES = 1 << 12 };

static const struct {
    uint64_t code;
    const char *type;
    enum stored_kind kind;
    size_t item; /* 0: cannot be read, because it is arranged for one processor, or of 16 bits */
    bool quantised;
} types[] = {
    {0x0404, "float32", STORED_F32, 4, false},
    {0x0402, "float16", STORED_F16, 2, false},
    {0x0408, "float64", STORED_F64, 8, false},
    {0x0101, "int8", STORED_I8, 1, false},
    {0x4101, "intgemm8", STORED_I8, 1, true},
    {0x10001, "intgemm8", STORED_I8, 1, true},
    {0x0102, "int16", STORED_OTHER, 2, false},
    {0x0104, "int32", STORED_OTHER, 4, false},
    {0x0108, "int64", STORED_OTHER, 8, false},
    {0x0201, "uint8", STORED_OTHER, 1, false},
    {0x0202, "uint16", STORED_OTHER, 2, false},
    {0x0204, "uint32", STORED_OTHER, 4, false},
    {0x0208, "uint64", STORED_OTHER, 8, false},
    {0x0802, "packed16", STORED_OTHER, 0, false},
    {0x1801, "packed8avx2", STORED_OTHER, 0, false},
    {0x2801, "packed8avx512", STORED_OTHER, 0, false},
    {0x4102, "intgemm16", STORED_OTHER, 0, false},
    {0x10002, "intgemm16", STORED_OTHER, 0, false},
    {0x18001, "intgemm8ssse3", STORED_OTHER, 0, false},
    {0x11001, "intgemm8avx2", STORED_OTHER, 0, false},
    {0x12001, "intgemm8avx512", STORED_OTHER, 0, false},
    {0x13001, "intgemm8avx512vnni", STORED_OTHER, 0, false},
    {0x14002, "intgemm16sse2", STORED_OTHER, 0, false},
    {0x11002, "intgemm16avx2", STORED_OTHER, 0, false},
    {0x12002, "intgemm16avx512", STORED_OTHER, 0, false},
};

/* The file's entry for an item. */
struct head {
    uint64_t name_bytes, type, dims, bytes;
};

/* The bytes of a name as a message can show them. */
static const char *shown(struct arena *arena, const char *bytes, size_t count) {
    char text[4 * 40 + 1];
    size_t at = 0;
    for (size_t i = 0; i < count && i < 40; i++) {
        bool plain = bytes[i] >= ' ' && bytes[i] < 127 && bytes[i] != '\\' && bytes[i] != '\'';
        at += (size_t)snprintf(text + at, sizeof text - at, plain ? "%c" : "\\x%02x", (unsigned char)bytes[i]);
    }
    const char *copy = arena_copy(arena, text, at);
    return copy ? copy : "";
}

static int take_name(struct source_cursor *cursor, uint64_t length, struct stored *entry, struct error *err) {
    if (length > MOST_NAME_BYTES && length <= cursor->size - cursor->at)
        return error_set(err, ERROR_FORMAT, "%s: a name has %llu bytes", cursor->path, (unsigned long long)length);
    if (length > cursor->size - cursor->at)
        return error_set(err, ERROR_FORMAT, "%s: the file ends within the names", cursor->path);
    char *name = arena_zalloc(cursor->arena, (size_t)length + 1, 1);
    if (!name)
        return error_memory(err);
    if (source_take(cursor, name, length, "the names", err) != 0)
        return -1;
    if (length < 2 || strlen(name) != length - 1 || !utf8_valid(name, (size_t)length - 1))
        return error_set(err, ERROR_FORMAT, "%s: the name '%s' is not text that ends with a NUL", cursor->path,
                         shown(cursor->arena, name, (size_t)length));
    entry->name = name;
    return 0;
}

static int take_shape(struct source_cursor *cursor, uint64_t dims, struct stored *entry, struct error *err) {
    int32_t shape[STORED_MOST_DIMS];
    if (dims < 1 || dims > STORED_MOST_DIMS)
        return error_set(err, ERROR_FORMAT, "%s: %s: has %llu dimensions", cursor->path, entry->name, (unsigned long long)dims);
    if (source_take(cursor, shape, dims * sizeof *shape, "the shapes", err) != 0)
        return -1;
    entry->dims = (size_t)dims;
    for (size_t i = 0; i < dims; i++) {
        if (shape[i] < 1) {
            char text[STORED_MOST_DIMS * 14 + 8] = "(";
            for (size_t d = 0; d < dims; d++)
                snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", d ? ", " : "", shape[d]);
            return error_set(err, ERROR_FORMAT, "%s: %s: has the shape %s%s", cursor->path, entry->name, text,
                             dims == 1 ? ",)" : ")");
        }
        entry->shape[i] = (size_t)shape[i];
    }
    return 0;
}

static int set_type(const struct source_cursor *cursor, const struct head *head, struct stored *entry, struct error *err) {
    const char *name = NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].code != head->type)
            continue;
        name = types[i].type;
        if (types[i].item == 0)
            break;
        entry->type = name;
        entry->kind = types[i].kind;
        entry->item = types[i].item;
        entry->quantised = types[i].quantised;
        entry->transposed = types[i].quantised && entry->dims == 2 && !strstr(entry->name, "Wemb");
        return 0;
    }
    if (name)
        return error_set(err, ERROR_FORMAT, "%s: %s: is of type %s, which cannot be read: only float16, float32 and intgemm8 can",
                         cursor->path, entry->name, name);
    return error_set(err, ERROR_FORMAT, "%s: %s: is of type 0x%llx, which cannot be read: only float16, float32 and intgemm8 can",
                     cursor->path, entry->name, (unsigned long long)head->type);
}

/* The size as the product of the shape, which may be more than any number of 64 bits. */
static const char *size_text(struct arena *arena, const struct stored *entry) {
    long double size = (long double)entry->item;
    for (size_t i = 0; i < entry->dims; i++)
        size *= (long double)entry->shape[i];
    return import_say(arena, "%.0Lf", size + (entry->quantised ? 4 : 0));
}

static int set_data(struct source_cursor *cursor, const struct head *head, struct stored *entry, struct error *err) {
    uint64_t bytes;
    float multiplier;
    if (head->bytes > cursor->size - cursor->at)
        return error_set(err, ERROR_FORMAT, "%s: %s: the file ends within it", cursor->path, entry->name);
    if (set_type(cursor, head, entry, err) != 0)
        return -1;
    if (!stored_size(entry->shape, entry->dims, entry->item, &bytes) || bytes + (entry->quantised ? 4 : 0) > head->bytes)
        return error_set(err, ERROR_FORMAT, "%s: %s: shape %s needs %s bytes, and there are %llu", cursor->path, entry->name,
                         stored_shape(cursor->arena, entry->shape, entry->dims), size_text(cursor->arena, entry),
                         (unsigned long long)head->bytes);
    entry->file = cursor->file;
    entry->at = cursor->at;
    cursor->at += head->bytes;
    if (!entry->quantised)
        return 0;
    if (source_read_at(cursor->file, entry->at + bytes, &multiplier, sizeof multiplier, cursor->path, err) != 0)
        return -1;
    if (!isfinite(multiplier) || multiplier <= 0)
        return error_set(err, ERROR_FORMAT, "%s: %s: its multiplier is %s", cursor->path, entry->name,
                         isnan(multiplier)   ? "nan"
                         : isinf(multiplier) ? (multiplier > 0 ? "inf" : "-inf")
                                             : import_say(cursor->arena, "%.1f", (double)multiplier));
    entry->scale = 1 / multiplier;
    return 0;
}

static int read_index(struct source_cursor *cursor, struct container *out, struct error *err) {
    uint64_t start[2], padding;
    if (source_take(cursor, start, sizeof start, "its beginning", err) != 0)
        return -1;
    if (start[0] == ENCRYPTED)
        return error_set(err, ERROR_FORMAT, "%s: not a .bin file of Marian that can be read: its beginning is encrypted",
                         cursor->path);
    if (start[0] != VERSION)
        return error_set(err, ERROR_FORMAT, "%s: not a .bin file of Marian that can be read: version %llu is unknown", cursor->path,
                         (unsigned long long)start[0]);
    if (start[1] > MOST_ITEMS || start[1] * HEAD_BYTES > cursor->size - cursor->at)
        return error_set(err, ERROR_FORMAT, "%s: the file ends within the list of tensors", cursor->path);
    size_t count = (size_t)start[1];
    struct head *heads = arena_alloc(cursor->arena, count, sizeof *heads);
    out->entries = arena_zalloc(cursor->arena, count, sizeof *out->entries);
    if (!heads || !out->entries)
        return error_memory(err);
    if (source_take(cursor, heads, count * sizeof *heads, "the list of tensors", err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (take_name(cursor, heads[i].name_bytes, &out->entries[i], err) != 0)
            return -1;
    for (size_t i = 0; i < count; i++)
        if (take_shape(cursor, heads[i].dims, &out->entries[i], err) != 0)
            return -1;
    if (source_take(cursor, &padding, sizeof padding, "the padding", err) != 0)
        return -1;
    if (padding > cursor->size - cursor->at)
        return error_set(err, ERROR_FORMAT, "%s: the file ends within the padding", cursor->path);
    cursor->at += padding;
    for (; out->count < count; out->count++) {
        if (stored_find(out, out->entries[out->count].name))
            return error_set(err, ERROR_FORMAT, "%s: %s: occurs twice", cursor->path, out->entries[out->count].name);
        if (set_data(cursor, &heads[out->count], &out->entries[out->count], err) != 0)
            return -1;
    }
    if (cursor->at != cursor->size)
        return error_set(err, ERROR_FORMAT, "%s: %llu bytes follow the last tensor", cursor->path,
                         (unsigned long long)(cursor->size - cursor->at));
    return 0;
}

int marian_bin_open(const char *path, struct arena *arena, struct container *out, struct error *err) {
    struct source_cursor cursor = {.path = path, .arena = arena};
    struct container found = {.path = path, .file = source_open(path, &cursor.size, err)};
    if (found.file < 0)
        return -1;
    cursor.file = found.file;
    if (read_index(&cursor, &found, err) != 0) {
        container_close(&found);
        return -1;
    }
    *out = found;
    return 0;
}
