/* CTranslate2's model.bin. Layout, little-endian, without padding:
 *
 *   u32 version, 1 to 6; from version 2 on a string, the specification's name, and a u32, its revision
 *   u32 number of variables; each: string name, u8 rank, rank times u32, and then
 *     from version 4 on: u8 type, u32 bytes; before: u8 size of a number, u32 numbers
 *     the numbers
 *   from version 3 on: u32 number of aliases, each two strings, a name and the variable's that it stands for
 *
 * A string is a u16, its length with a NUL, and the bytes. The numbers w of an int8 or int16 matrix NAME stand for w / s, where s
 * is NAME_scale: one for all, or one for each row. */
#include "model/base/utf8.h"
#include "model/import/ctranslate2.h"
#include <math.h>
#include <string.h>

enum { LAST_VERSION = 6, MOST_VARIABLES = 20000, MOST_NAME_BYTES = 1 << 12, LEAST_VARIABLE_BYTES = 9, LEAST_ALIAS_BYTES = 8 };
enum { SCALE_OF_INT16 = 1000 }; /* in files that do not say it */

/* By their number in the file; the sizes of numbers tell those of older files. */
static const struct {
    const char *type;
    enum stored_kind kind;
    size_t item;
} types[] = {{"float32", STORED_F32, 4}, {"int8", STORED_I8, 1},     {"int16", STORED_I16, 2},
             {"int32", STORED_I32, 4},   {"float16", STORED_F16, 2}, {"bfloat16", STORED_BF16, 2}};
enum { TYPES = sizeof types / sizeof *types, TYPE_FLOAT32 = 0, TYPE_INT8 = 1, TYPE_INT16 = 2 };

static int take_string(struct source_cursor *cursor, const char **out, const char *what, struct error *err) {
    uint16_t length;
    if (source_take(cursor, &length, sizeof length, what, err) != 0)
        return -1;
    if (length > MOST_NAME_BYTES)
        return error_set(err, ERROR_FORMAT, "%s: a name has %u bytes, and may have %d", cursor->path, length, MOST_NAME_BYTES);
    char *text = arena_zalloc(cursor->arena, (size_t)length + 1, 1);
    if (!text)
        return error_memory(err);
    if (source_take(cursor, text, length, what, err) != 0)
        return -1;
    if (length < 2 || strlen(text) != (size_t)length - 1 || !utf8_valid(text, (size_t)length - 1))
        return error_set(err, ERROR_FORMAT, "%s: %s: there is no text that ends with a NUL", cursor->path, what);
    *out = text;
    return 0;
}

/* How many variables or aliases follow, each of so many bytes at least. */
static int take_count(struct source_cursor *cursor, size_t least, const char *what, size_t *out, struct error *err) {
    uint32_t count;
    if (source_take(cursor, &count, sizeof count, what, err) != 0)
        return -1;
    if (count > (cursor->size - cursor->at) / least)
        return error_set(err, ERROR_FORMAT, "%s: the file ends within %s", cursor->path, what);
    if (count > MOST_VARIABLES)
        return error_set(err, ERROR_FORMAT, "%s: %s: there are %u, and may be %d", cursor->path, what, count, MOST_VARIABLES);
    *out = count;
    return 0;
}

/* ---- the index ---- */

static int take_shape(struct source_cursor *cursor, struct stored *entry, struct error *err) {
    uint8_t rank;
    uint32_t shape[STORED_MOST_DIMS];
    if (source_take(cursor, &rank, sizeof rank, entry->name, err) != 0)
        return -1;
    if (rank > STORED_MOST_DIMS)
        return error_set(err, ERROR_FORMAT, "%s: %s: has %u dimensions, and may have %d", cursor->path, entry->name, rank,
                         STORED_MOST_DIMS);
    if (source_take(cursor, shape, rank * sizeof *shape, entry->name, err) != 0)
        return -1;
    entry->dims = rank;
    for (size_t i = 0; i < rank; i++)
        entry->shape[i] = shape[i];
    return 0;
}

/* The type, and how many bytes of data follow. */
static int take_type(struct source_cursor *cursor, uint32_t version, struct stored *entry, uint64_t *bytes, struct error *err) {
    uint8_t code;
    uint32_t count;
    size_t type = TYPES;
    if (source_take(cursor, &code, sizeof code, entry->name, err) != 0 ||
        source_take(cursor, &count, sizeof count, entry->name, err) != 0)
        return -1;
    if (version >= 4)
        type = code;
    else
        type = code == 4 ? TYPE_FLOAT32 : code == 2 ? TYPE_INT16 : code == 1 ? TYPE_INT8 : TYPES;
    if (type >= TYPES)
        return error_set(err, ERROR_FORMAT, "%s: %s: has the type %u, which cannot be read", cursor->path, entry->name, code);
    entry->type = types[type].type;
    entry->kind = types[type].kind;
    entry->item = types[type].item;
    *bytes = version >= 4 ? count : (uint64_t)count * entry->item;
    return 0;
}

static int take_variable(struct source_cursor *cursor, uint32_t version, struct container *out, struct error *err) {
    struct stored *entry = &out->entries[out->count];
    uint64_t bytes = 0, needed = 0;
    if (take_string(cursor, &entry->name, "the list of variables", err) != 0)
        return -1;
    if (stored_find(out, entry->name))
        return error_set(err, ERROR_FORMAT, "%s: %s: there twice", cursor->path, entry->name);
    if (take_shape(cursor, entry, err) != 0 || take_type(cursor, version, entry, &bytes, err) != 0)
        return -1;
    if (!stored_size(entry->shape, entry->dims, entry->item, &needed) || needed != bytes)
        return error_set(err, ERROR_FORMAT, "%s: %s: has %llu bytes, which is not what its shape %s of %s needs", cursor->path,
                         entry->name, (unsigned long long)bytes, stored_shape(cursor->arena, entry->shape, entry->dims),
                         entry->type);
    if (bytes > cursor->size - cursor->at)
        return error_set(err, ERROR_FORMAT, "%s: %s: the file ends within it", cursor->path, entry->name);
    entry->file = cursor->file;
    entry->at = cursor->at;
    cursor->at += bytes;
    out->count++;
    return 0;
}

/* ---- what is rounded ---- */

/* Multipliers [shape[0]] of the rows, or one of all, from what each row is divided by. */
static int read_scales(struct source_cursor *cursor, struct stored *entry, const struct stored *from, struct error *err) {
    uint64_t count = stored_count(from), rows = entry->dims > 0 ? entry->shape[0] : 0;
    struct error inner = {0};
    if (from->kind != STORED_F32 || (count != 1 && count != rows))
        return error_set(err, ERROR_FORMAT, "%s: %s: is %s of the shape %s, expected one float32 for each of %llu rows, or for all",
                         cursor->path, from->name, from->type, stored_shape(cursor->arena, from->shape, from->dims),
                         (unsigned long long)rows);
    float *scales = arena_alloc(cursor->arena, (size_t)count, sizeof *scales);
    if (!scales)
        return error_memory(err);
    if (stored_numbers(from, 0, (size_t)count, scales, &inner) != 0)
        return error_set(err, inner.code, "%s: %s", cursor->path, inner.message);
    for (size_t i = 0; i < count; i++) {
        if (!(scales[i] > 0) || !isfinite(1 / scales[i]))
            return error_set(err, ERROR_FORMAT, "%s: %s: has a scale that is not a positive number", cursor->path, from->name);
        scales[i] = 1 / scales[i];
    }
    entry->quantised = true;
    if (count == 1 && rows != 1)
        entry->scale = scales[0];
    else
        entry->row_scales = scales;
    return 0;
}

/* A matrix of small whole numbers stands for others; a flag has no dimensions. */
static int set_scales(struct source_cursor *cursor, const struct container *found, struct error *err) {
    for (size_t i = 0; i < found->count; i++) {
        struct stored *entry = &found->entries[i];
        if ((entry->kind != STORED_I8 && entry->kind != STORED_I16) || entry->dims == 0)
            continue;
        const char *name = import_say(cursor->arena, "%s_scale", entry->name);
        const struct stored *scale = name ? stored_find(found, name) : NULL;
        if (!name)
            return error_memory(err);
        if (scale && read_scales(cursor, entry, scale, err) != 0)
            return -1;
        if (!scale && entry->kind == STORED_I16 && entry->dims == 2) {
            entry->quantised = true;
            entry->scale = 1.0f / (float)SCALE_OF_INT16;
        }
    }
    return 0;
}

/* ---- the file ---- */

static int take_aliases(struct source_cursor *cursor, size_t count, struct container *out, struct error *err) {
    for (size_t i = 0; i < count; i++) {
        const char *alias, *name;
        if (take_string(cursor, &alias, "the list of aliases", err) != 0 ||
            take_string(cursor, &name, "the list of aliases", err) != 0)
            return -1;
        const struct stored *variable = stored_find(out, name);
        if (!variable)
            return error_set(err, ERROR_FORMAT, "%s: %s: is an alias of %s, which is not there", cursor->path, alias, name);
        if (stored_find(out, alias))
            return error_set(err, ERROR_FORMAT, "%s: %s: there twice", cursor->path, alias);
        out->entries[out->count] = *variable;
        out->entries[out->count++].name = alias;
    }
    return 0;
}

static int read_head(struct source_cursor *cursor, struct ctranslate2_head *head, struct error *err) {
    *head = (struct ctranslate2_head){.spec = "TransformerBase", .revision = 1}; /* as the first version's are */
    if (source_take(cursor, &head->version, sizeof head->version, "its beginning", err) != 0)
        return -1;
    if (head->version < 1 || head->version > LAST_VERSION)
        return error_set(err, ERROR_FORMAT, "%s: not a model of CTranslate2 that can be read: its version must be 1 to %d, got %u",
                         cursor->path, LAST_VERSION, head->version);
    if (head->version < 2)
        return 0;
    return take_string(cursor, &head->spec, "its beginning", err) == 0
               ? source_take(cursor, &head->revision, sizeof head->revision, "its beginning", err)
               : -1;
}

static int read_index(struct source_cursor *cursor, uint32_t version, struct container *out, struct error *err) {
    size_t count, aliases = 0;
    if (take_count(cursor, LEAST_VARIABLE_BYTES, "the list of variables", &count, err) != 0)
        return -1;
    if (!(out->entries = arena_zalloc(cursor->arena, count, sizeof *out->entries)))
        return error_memory(err);
    while (out->count < count)
        if (take_variable(cursor, version, out, err) != 0)
            return -1;
    if (set_scales(cursor, out, err) != 0)
        return -1;
    if (version >= 3 && take_count(cursor, LEAST_ALIAS_BYTES, "the list of aliases", &aliases, err) != 0)
        return -1;
    struct stored *entries = aliases > 0 ? arena_zalloc(cursor->arena, count + aliases, sizeof *entries) : out->entries;
    if (!entries)
        return error_memory(err);
    if (aliases > 0 && count > 0)
        memcpy(entries, out->entries, count * sizeof *entries);
    out->entries = entries;
    if (take_aliases(cursor, aliases, out, err) != 0)
        return -1;
    if (cursor->at != cursor->size)
        return error_set(err, ERROR_FORMAT, "%s: %llu bytes follow the last variable", cursor->path,
                         (unsigned long long)(cursor->size - cursor->at));
    return 0;
}

int ctranslate2_open(const char *path, struct arena *arena, struct container *out, struct ctranslate2_head *head,
                     struct error *err) {
    struct source_cursor cursor = {.path = path, .arena = arena};
    struct container found = {.path = path, .file = source_open(path, &cursor.size, err)};
    if (found.file < 0)
        return -1;
    cursor.file = found.file;
    if (read_head(&cursor, head, err) != 0 || read_index(&cursor, head->version, &found, err) != 0) {
        container_close(&found);
        return -1;
    }
    *out = found;
    return 0;
}
