/* This file hides the containers in which other programs keep tensors: Marian's .bin, NumPy's .npz
 * and PyTorch's pytorch_model.bin. */
#include "model/base/utf8.h"
#include "model/import/tensors.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- .bin ----
 * It has the same layout in both of Marian's lines of development, little-endian: u64 version 1,
 * u64 number of items N, N times four u64 (length of the name with its NUL, type, number of
 * dimensions, bytes of data), the names, the dimensions as i32, a u64 that says how many bytes of
 * padding follow, and the data in the order of the items, which fills the file. Data of tensors are
 * padded: the next one begins `bytes of data` further on, for any shape.
 *
 * An intgemm8 tensor [in, out] is int8 [out, in], already transposed, and one float32 after it, the
 * multiplier m: w = q / m. Embeddings (names that contain Wemb) are not transposed. */

enum { VERSION = 1, ENCRYPTED = 2, HEAD_BYTES = 32, MOST_ITEMS = 20000, MOST_NAME_BYTES = 1 << 12 };

static const struct {
    uint64_t code;
    enum stored_kind kind;
    bool quantised;
} item_types[] = {
    {0x0404, STORED_F32, false}, {0x0402, STORED_F16, false}, {0x0408, STORED_F64, false},
    {0x0101, STORED_I8, false},  {0x4101, STORED_I8, true},   {0x10001, STORED_I8, true},
    {0x0102, STORED_I16, false}, {0x0104, STORED_I32, false}, {0x0108, STORED_I64, false},
    {0x0201, STORED_U8, false},  {0x0202, STORED_U16, false}, {0x0204, STORED_U32, false},
    {0x0208, STORED_U64, false}};

/* Types that cannot be read, because they are packed for one processor or have 16 bits. */
static const struct {
    uint64_t code;
    const char *name;
} arranged_types[] = {
    {0x0802, "packed16"},       {0x1801, "packed8avx2"},     {0x2801, "packed8avx512"},
    {0x4102, "intgemm16"},      {0x10002, "intgemm16"},      {0x18001, "intgemm8ssse3"},
    {0x11001, "intgemm8avx2"},  {0x12001, "intgemm8avx512"}, {0x13001, "intgemm8avx512vnni"},
    {0x14002, "intgemm16sse2"}, {0x11002, "intgemm16avx2"},  {0x12002, "intgemm16avx512"}};

/* The file's entry for an item. */
struct head {
    uint64_t name_bytes, type, dims, bytes;
};

static int take_name(struct source_cursor *cursor, uint64_t length, struct stored_tensor *entry,
                     struct error *err) {
    if (length > MOST_NAME_BYTES && length <= cursor->size - cursor->at)
        return error_set(err, ERROR_FORMAT, "%s: a name has %llu bytes", cursor->path,
                         (unsigned long long)length);
    if (length > cursor->size - cursor->at)
        return error_set(err, ERROR_FORMAT, "%s: the file ends within the names", cursor->path);
    char *name = arena_zalloc(cursor->arena, (size_t)length + 1, 1);
    if (!name)
        return error_memory(err);
    if (source_take(cursor, name, length, "the names", err) != 0)
        return -1;
    entry->name = name;
    if (length >= 2 && strlen(name) == length - 1 && utf8_valid(name, (size_t)length - 1))
        return 0;

    char shown[4 * 40 + 1] = "";
    size_t at = 0;
    for (size_t i = 0; i < length && i < 40; i++) {
        bool plain = name[i] >= ' ' && name[i] < 127 && name[i] != '\\' && name[i] != '\'';
        at += (size_t)snprintf(shown + at, sizeof shown - at, plain ? "%c" : "\\x%02x",
                               (unsigned char)name[i]);
    }
    return error_set(err, ERROR_FORMAT, "%s: the name '%s' is not text that ends with a NUL",
                     cursor->path, shown);
}

static int take_shape(struct source_cursor *cursor, uint64_t dims, struct stored_tensor *entry,
                      struct error *err) {
    int32_t shape[STORED_MOST_DIMS];
    if (dims < 1 || dims > STORED_MOST_DIMS)
        return error_set(err, ERROR_FORMAT, "%s: %s: has %llu dimensions", cursor->path,
                         entry->name, (unsigned long long)dims);
    if (source_take(cursor, shape, dims * sizeof *shape, "the shapes", err) != 0)
        return -1;
    entry->dims = (size_t)dims;
    for (size_t i = 0; i < dims; i++) {
        if (shape[i] < 1) {
            char text[STORED_MOST_DIMS * 14 + 8] = "(";
            for (size_t d = 0; d < dims; d++)
                snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", d ? ", " : "",
                         shape[d]);
            return error_set(err, ERROR_FORMAT, "%s: %s: has the shape %s%s", cursor->path,
                             entry->name, text, dims == 1 ? ",)" : ")");
        }
        entry->shape[i] = (size_t)shape[i];
    }
    return 0;
}

static int set_data(struct source_cursor *cursor, const struct head *head,
                    struct stored_tensor *entry, struct error *err) {
    enum {
        TYPES = sizeof item_types / sizeof *item_types,
        ARRANGED = sizeof arranged_types / sizeof *arranged_types
    };
    uint64_t bytes;
    float multiplier;
    size_t type = 0, arranged = 0;
    if (head->bytes > cursor->size - cursor->at)
        return error_set(err, ERROR_FORMAT, "%s: %s: the file ends within it", cursor->path,
                         entry->name);
    while (type < TYPES && item_types[type].code != head->type)
        type++;
    if (type == TYPES) {
        while (arranged < ARRANGED && arranged_types[arranged].code != head->type)
            arranged++;
        return error_set(
            err, ERROR_FORMAT,
            "%s: %s: is of type %s, which cannot be read: only float16, float32 and intgemm8 can",
            cursor->path, entry->name,
            arranged < ARRANGED
                ? arranged_types[arranged].name
                : source_say(cursor->arena, "0x%llx", (unsigned long long)head->type));
    }
    entry->kind = item_types[type].kind;
    entry->quantised = item_types[type].quantised;
    entry->transposed = entry->quantised && entry->dims == 2 && !strstr(entry->name, "Wemb");

    if (!tensors_size(entry, &bytes) || bytes + (entry->quantised ? 4 : 0) > head->bytes) {
        long double needed = (long double)stored_types[entry->kind]
                                 .bytes; /* may exceed the largest number of 64 bits */
        for (size_t i = 0; i < entry->dims; i++)
            needed *= (long double)entry->shape[i];
        return error_set(err, ERROR_FORMAT,
                         "%s: %s: shape %s needs %.0Lf bytes, and there are %llu", cursor->path,
                         entry->name, tensors_shape(cursor->arena, entry->shape, entry->dims),
                         needed + (entry->quantised ? 4 : 0), (unsigned long long)head->bytes);
    }
    entry->file = cursor->file;
    entry->at = cursor->at;
    cursor->at += head->bytes;
    if (!entry->quantised)
        return 0;
    if (source_read_at(cursor->file, entry->at + bytes, &multiplier, sizeof multiplier,
                       cursor->path, err) != 0)
        return -1;
    if (!isfinite(multiplier) || multiplier <= 0)
        return error_set(
            err, ERROR_FORMAT, "%s: %s: its multiplier is %s", cursor->path, entry->name,
            isnan(multiplier)   ? "nan"
            : isinf(multiplier) ? (multiplier > 0 ? "inf" : "-inf")
                                : source_say(cursor->arena, "%.1f", (double)multiplier));
    entry->scale = 1 / multiplier;
    return 0;
}

static int read_index(struct source_cursor *cursor, struct container *out, struct error *err) {
    uint64_t start[2], padding;
    if (source_take(cursor, start, sizeof start, "its beginning", err) != 0)
        return -1;
    if (start[0] == ENCRYPTED)
        return error_set(
            err, ERROR_FORMAT,
            "%s: not a .bin file of Marian that can be read: its beginning is encrypted",
            cursor->path);
    if (start[0] != VERSION)
        return error_set(err, ERROR_FORMAT,
                         "%s: not a .bin file of Marian that can be read: version %llu is unknown",
                         cursor->path, (unsigned long long)start[0]);
    if (start[1] > MOST_ITEMS || start[1] * HEAD_BYTES > cursor->size - cursor->at)
        return error_set(err, ERROR_FORMAT, "%s: the file ends within the list of tensors",
                         cursor->path);
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
        if (tensors_find_stored(out, out->entries[out->count].name))
            return error_set(err, ERROR_FORMAT, "%s: %s: occurs twice", cursor->path,
                             out->entries[out->count].name);
        if (set_data(cursor, &heads[out->count], &out->entries[out->count], err) != 0)
            return -1;
    }
    if (cursor->at != cursor->size)
        return error_set(err, ERROR_FORMAT, "%s: %llu bytes follow the last tensor", cursor->path,
                         (unsigned long long)(cursor->size - cursor->at));
    return 0;
}

int tensors_open_marian(const char *path, struct arena *arena, struct container *out,
                        struct error *err) {
    struct source_cursor cursor = {.path = path, .arena = arena};
    struct container found = {.file = source_open(path, &cursor.size, err)};
    if (found.file < 0)
        return -1;
    cursor.file = found.file;
    return tensors_finish(&found, read_index(&cursor, &found, err), out);
}

/* ---- .npz ----
 * An .npz file is a zip of .npy files. A .npy file begins with \x93NUMPY, its version, the length
 * of a header and the header, a Python dictionary such as {'descr': '<f4', 'fortran_order': False,
 * 'shape': (3, 4), }, which is read here as text of exactly this form. */

enum { MAGIC_BYTES = 8, MOST_HEADER_BYTES = 1 << 16, DESCR_BYTES = 16 };

static const struct {
    const char *descr;
    enum stored_kind kind;
} types[] = {{"<f4", STORED_F32}, {"<f2", STORED_F16}, {"<f8", STORED_F64}, {"|i1", STORED_I8},
             {"<i1", STORED_I8},  {"<i2", STORED_I16}, {"<i4", STORED_I32}, {"<i8", STORED_I64},
             {"|u1", STORED_U8},  {"<u1", STORED_U8},  {"<u2", STORED_U16}, {"<u4", STORED_U32},
             {"<u8", STORED_U64}};

/* A place in the header's text. */
struct header_text {
    const char *at;
    bool fits; /* the text has been valid so far */
};

static void skip_blanks(struct header_text *text) {
    while (*text->at == ' ' || *text->at == '\n')
        text->at++;
}

static bool take(struct header_text *text, const char *token) {
    skip_blanks(text);
    size_t length = strlen(token);
    bool found = strncmp(text->at, token, length) == 0;
    text->at += found ? length : 0;
    return found;
}

static void need(struct header_text *text, const char *token) {
    text->fits = text->fits && take(text, token);
}

/* Reads a string in single quotes, without escapes. */
static void read_string(struct header_text *text, char *out, size_t room) {
    need(text, "'");
    size_t length = strcspn(text->at, "'\\\n");
    text->fits = text->fits && text->at[length] == '\'' && length < room;
    if (!text->fits)
        return;
    snprintf(out, room, "%.*s", (int)length, text->at);
    text->at += length + 1;
}

/* Reads the three keys, which may be in any order and must occur once each. */
static bool read_header(char *header, struct stored_tensor *entry, char descr[DESCR_BYTES],
                        bool *fortran) {
    struct header_text text = {header, true};
    unsigned seen = 0;
    need(&text, "{");
    while (text.fits && !take(&text, "}")) {
        char key[DESCR_BYTES] = "";
        unsigned bit = 0;
        read_string(&text, key, sizeof key);
        need(&text, ":");
        if (strcmp(key, "descr") == 0) {
            bit = 1;
            read_string(&text, descr, DESCR_BYTES);
        } else if (strcmp(key, "fortran_order") == 0) {
            bit = 2;
            *fortran = take(&text, "True");
            if (!*fortran)
                need(&text, "False");
        } else if (strcmp(key, "shape") == 0) {
            bit = 4;
            need(&text, "(");
            for (bool more = true; text.fits && more && !take(&text, ")");) {
                skip_blanks(&text);
                text.fits = isdigit((unsigned char)*text.at) && entry->dims < STORED_MOST_DIMS;
                if (!text.fits)
                    break;
                char *end;
                unsigned long long size = strtoull(text.at, &end, 10);
                text.fits = size <= INT64_MAX && end - text.at < 19;
                entry->shape[entry->dims++] = (size_t)size;
                text.at = end;
                more = take(&text, ",");
                if (!more) {
                    text.fits = text.fits && entry->dims > 1; /* (3) is not a tuple */
                    need(&text, ")");
                }
            }
        }
        text.fits = text.fits && bit != 0 && !(seen & bit);
        seen |= bit;
        if (!take(&text, ","))
            need(&text, "}"), text.at--;
    }
    skip_blanks(&text);
    return text.fits && seen == 7 && *text.at == '\0';
}

static int read_entry(struct stored_tensor *entry, const char *path,
                      const struct archive_member *member, int spool, struct arena *arena,
                      struct error *err) {
    unsigned char start[MAGIC_BYTES + 4];
    char descr[DESCR_BYTES] = "";
    bool fortran = false, two = false;
    size_t lead = MAGIC_BYTES + 2, length = 0;
    *entry = (struct stored_tensor){
        .name = arena_copy(arena, member->name, strlen(member->name) - strlen(".npy")),
        .file = spool};
    if (!entry->name)
        return error_memory(err);
    if (member->bytes >= sizeof start &&
        source_read_at(spool, member->at, start, sizeof start, path, err) != 0)
        return -1;
    if (member->bytes >= sizeof start && memcmp(start, "\x93NUMPY", 6) == 0 && start[7] == 0 &&
        (start[6] == 1 || start[6] == 2)) {
        two = start[6] == 2;
        lead += two ? 2 : 0;
        length = start[8] | (size_t)start[9] << 8 |
                 (two ? (size_t)start[10] << 16 | (size_t)start[11] << 24 : 0);
    }
    if (length == 0 || length > MOST_HEADER_BYTES || member->bytes - lead < length)
        return error_set(err, ERROR_FORMAT, "%s: %s: its header cannot be read", path, entry->name);
    struct arena_mark mark = arena_mark(arena);
    char *header = arena_zalloc(arena, length + 1, 1);
    if (!header)
        return error_memory(err);
    if (source_read_at(spool, member->at + lead, header, length, path, err) != 0)
        return -1;
    bool whole = strlen(header) == length && read_header(header, entry, descr, &fortran);
    arena_release(arena, mark);
    if (!whole)
        return error_set(err, ERROR_FORMAT, "%s: %s: its header cannot be read", path, entry->name);
    entry->kind = STORED_KINDS;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        entry->kind = strcmp(descr, types[i].descr) == 0 ? types[i].kind : entry->kind;
    if (entry->kind == STORED_KINDS || (fortran && entry->dims > 1))
        return error_set(err, ERROR_FORMAT, "%s: %s: must hold plain numbers in C order, not %s%s",
                         path, entry->name, descr, fortran ? " in Fortran order" : "");
    uint64_t bytes, left = member->bytes - lead - length;
    if (!tensors_size(entry, &bytes) || bytes != left)
        return error_set(err, ERROR_FORMAT, "%s: %s: shape %s of %s does not fit its %llu bytes",
                         path, entry->name, tensors_shape(arena, entry->shape, entry->dims),
                         stored_types[entry->kind].name, (unsigned long long)left);
    entry->at = member->at + lead + length;
    return 0;
}

int tensors_open_npz(const char *path, const char *work, struct arena *arena, import_stop stop,
                     struct container *out, struct error *err) {
    struct archive_members members;
    struct error inner = {0};
    if (source_archive_spool(path, work, arena, stop, &members, &inner) != 0)
        return inner.code == ERROR_FORMAT
                   ? error_set(err, ERROR_FORMAT, "%s: not a whole .npz file: %s", path,
                               source_begins(inner.message, path) ? inner.message + strlen(path) + 2
                                                                  : inner.message)
                   : error_set(err, inner.code, "%s", inner.message);
    struct container found = {.file = members.spool};
    int result = 0;
    found.entries = arena_zalloc(arena, members.count, sizeof *found.entries);
    if (!found.entries)
        result = error_memory(err);
    for (; result == 0 && found.count < members.count; found.count++) {
        const struct archive_member *member = &members.members[found.count];
        if (!source_ends(member->name, ".npy") || strlen(member->name) == strlen(".npy"))
            result = error_set(err, ERROR_FORMAT, "%s: %s: not an array", path, member->name);
        else
            result =
                read_entry(&found.entries[found.count], path, member, members.spool, arena, err);
        if (result == 0 && tensors_find_stored(&found, found.entries[found.count].name))
            result = error_set(err, ERROR_FORMAT, "%s: %s: occurs twice", path, member->name);
    }
    return tensors_finish(&found, result, out);
}

/* ---- pytorch_model.bin ----
 * The file contains a pickle and the numbers, which are other members of a zip (since PyTorch 1.6)
 * or follow the pickle. A pickle is a program for a stack machine. The machine here runs only the
 * instructions that torch.save writes for a dictionary of tensors: a pickle may make numbers,
 * strings, tuples, lists and dictionaries, and call the few functions below, which this file
 * implements. Everything else is refused by name or code, and nothing in the file is ever executed.
 */

enum { MOST_PICKLE_BYTES = 1 << 26, MOST_VALUES = 1 << 20, MOST_TENSORS = 20000 };

enum value_type { NONE, NUMBER, STRING, LIST, MAP, FUNCTION, STORAGE, TENSOR, MARK };
static const char *const type_names[] = {"None",    "a number",     "a string",
                                         "a list",  "a dictionary", "a function",
                                         "numbers", "a tensor",     "a mark"};

enum function { ORDERED_DICT, REBUILD_TENSOR, REBUILD_PARAMETER, STORAGE_OF };

/* The functions that a pickle may call, such as collections.OrderedDict, and the classes that name
 * a type of numbers. */
static const struct function_name {
    const char *module, *name;
    enum function function;
    enum stored_kind kind; /* STORAGE_OF */
} functions[] = {{"collections", "OrderedDict", ORDERED_DICT, 0},
                 {"torch._utils", "_rebuild_tensor_v2", REBUILD_TENSOR, 0},
                 {"torch._utils", "_rebuild_tensor", REBUILD_TENSOR, 0},
                 {"torch._utils", "_rebuild_parameter", REBUILD_PARAMETER, 0},
                 {"torch", "FloatStorage", STORAGE_OF, STORED_F32},
                 {"torch", "HalfStorage", STORAGE_OF, STORED_F16},
                 {"torch", "BFloat16Storage", STORAGE_OF, STORED_BF16},
                 {"torch", "DoubleStorage", STORAGE_OF, STORED_F64},
                 {"torch", "LongStorage", STORAGE_OF, STORED_I64},
                 {"torch", "IntStorage", STORAGE_OF, STORED_I32},
                 {"torch", "ShortStorage", STORAGE_OF, STORED_I16},
                 {"torch", "CharStorage", STORAGE_OF, STORED_I8},
                 {"torch", "ByteStorage", STORAGE_OF, STORED_U8},
                 {"torch", "BoolStorage", STORAGE_OF, STORED_BOOL}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* The numbers of one or several tensors. */
struct storage {
    const char *key;
    enum stored_kind kind;
    uint64_t count;
    uint64_t at; /* in the container's file, if `found` */
    bool found;
    struct storage *next;
};

struct values {
    struct value **at; /* [count] */
    size_t count, room;
};

struct value {
    enum value_type type;
    int64_t number;                       /* NUMBER */
    const char *text;                     /* STRING */
    struct values items;                  /* LIST, also a tuple; MAP: keys and values by turns */
    const struct function_name *function; /* FUNCTION */
    struct storage *storage;              /* STORAGE, TENSOR */
    uint64_t offset;                      /* TENSOR, as the next three */
    size_t dims;
    size_t shape[STORED_MOST_DIMS], stride[STORED_MOST_DIMS];
};

struct machine {
    const char *path;
    const unsigned char *bytes;
    size_t size, at;
    struct arena *arena;
    struct values stack, memo;
    size_t made;              /* values so far */
    struct storage *storages; /* the last one first */
    struct error *err;
};

static int refuse(struct machine *m, const char *why) {
    return error_set(m->err, ERROR_FORMAT, "%s: %s", m->path, why);
}

static int damaged(struct machine *m) {
    return refuse(m, "its pickle is damaged");
}

static const unsigned char *next_bytes(struct machine *m, size_t count) {
    if (count > m->size - m->at)
        return NULL;
    m->at += count;
    return m->bytes + m->at - count;
}

static struct value *new_value(struct machine *m, enum value_type type) {
    if (++m->made > MOST_VALUES) {
        refuse(m, "its pickle has too many values");
        return NULL;
    }
    struct value *value = arena_zalloc(m->arena, 1, sizeof *value);
    if (value)
        value->type = type;
    else
        error_memory(m->err);
    return value;
}

static int append(struct machine *m, struct values *values, struct value *value) {
    values->at =
        arena_grow(m->arena, values->at, values->count, &values->room, 1, sizeof *values->at);
    if (!values->at)
        return error_memory(m->err);
    values->at[values->count++] = value;
    return 0;
}

static int push(struct machine *m, struct value *value) {
    return value ? append(m, &m->stack, value) : -1;
}

static struct value *pop(struct machine *m) {
    return m->stack.count > 0 ? m->stack.at[--m->stack.count] : NULL;
}

static struct value *top_of(const struct machine *m) {
    return m->stack.count > 0 ? m->stack.at[m->stack.count - 1] : NULL;
}

static int push_number(struct machine *m, int64_t number) {
    struct value *value = new_value(m, NUMBER);
    if (value)
        value->number = number;
    return push(m, value);
}

static int push_string(struct machine *m, size_t length) {
    const unsigned char *bytes = next_bytes(m, length);
    if (!bytes || memchr(bytes, '\0', length))
        return damaged(m);
    struct value *value = new_value(m, STRING);
    if (value && !(value->text = arena_copy(m->arena, (const char *)bytes, length)))
        return error_memory(m->err);
    return push(m, value);
}

/* Reads a little-endian integer of up to 8 bytes, of which the highest bit is the sign if
 * is_signed. */
static bool integer(struct machine *m, size_t count, bool is_signed, int64_t *out) {
    const unsigned char *bytes = count <= 8 ? next_bytes(m, count) : NULL;
    uint64_t value = 0;
    if (!bytes)
        return false;
    for (size_t i = 0; i < count; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    if (is_signed && count > 0 && count < 8 && bytes[count - 1] & 0x80)
        value |= UINT64_MAX << 8 * count;
    memcpy(out, &value, sizeof value);
    return true;
}

/* Moves the values of the stack from this index on to a list. */
static struct value *gather(struct machine *m, size_t from) {
    struct value *list = new_value(m, LIST);
    for (size_t i = from; list && i < m->stack.count; i++)
        if (append(m, &list->items, m->stack.at[i]) != 0)
            return NULL;
    m->stack.count = from;
    return list;
}

static struct value *tuple(struct machine *m, size_t count) {
    if (m->stack.count >= count)
        return gather(m, m->stack.count - count);
    damaged(m);
    return NULL;
}

/* Moves the values above the last mark to a list, and removes the mark. */
static struct value *collect(struct machine *m) {
    size_t from = m->stack.count;
    while (from > 0 && m->stack.at[from - 1]->type != MARK)
        from--;
    struct value *list = from > 0 ? gather(m, from) : NULL;
    if (list)
        m->stack.count--;
    else
        damaged(m);
    return list;
}

static const char *line_of(struct machine *m) {
    const unsigned char *end =
        m->at < m->size ? memchr(m->bytes + m->at, '\n', m->size - m->at) : NULL;
    if (!end)
        return NULL;
    const char *line =
        arena_copy(m->arena, (const char *)m->bytes + m->at, (size_t)(end - m->bytes) - m->at);
    m->at = (size_t)(end - m->bytes) + 1;
    return line;
}

static int push_function(struct machine *m, const char *module, const char *name) {
    struct value *value = new_value(m, FUNCTION);
    if (!value)
        return -1;
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (strcmp(module, functions[i].module) == 0 && strcmp(name, functions[i].name) == 0)
            value->function = &functions[i];
    return value->function ? push(m, value)
                           : error_set(m->err, ERROR_FORMAT,
                                       "%s: its pickle calls %.80s.%.80s, but only dictionaries of "
                                       "tensors can be read",
                                       m->path, module, name);
}

static bool sizes_of(const struct value *list, size_t *out) {
    if (list->type != LIST || list->items.count > STORED_MOST_DIMS)
        return false;
    for (size_t i = 0; i < list->items.count; i++) {
        const struct value *size = list->items.at[i];
        if (size->type != NUMBER || size->number < 0)
            return false;
        out[i] = (size_t)size->number;
    }
    return true;
}

/* Calls the function below the arguments on the stack. */
static int call(struct machine *m) {
    const struct value *arguments = pop(m), *function = pop(m);
    if (!arguments || !function || arguments->type != LIST || function->type != FUNCTION)
        return damaged(m);
    size_t count = arguments->items.count;
    struct value *const *given = arguments->items.at, *tensor;
    switch (function->function->function) {
    case ORDERED_DICT:
        return count == 0 ? push(m, new_value(m, MAP)) : damaged(m);
    case REBUILD_PARAMETER:
        return count > 0 && given[0]->type == TENSOR ? push(m, given[0]) : damaged(m);
    case REBUILD_TENSOR: /* its arguments: storage, offset, shape, stride, ... */
        if (!(tensor = new_value(m, TENSOR)))
            return -1;
        if (count < 4 || given[0]->type != STORAGE || given[1]->type != NUMBER ||
            given[1]->number < 0 || !sizes_of(given[2], tensor->shape) ||
            !sizes_of(given[3], tensor->stride) || given[2]->items.count != given[3]->items.count)
            return refuse(m, "its pickle has a tensor without numbers, a shape or steps");
        tensor->storage = given[0]->storage;
        tensor->offset = (uint64_t)given[1]->number;
        tensor->dims = given[2]->items.count;
        return push(m, tensor);
    case STORAGE_OF:
        break;
    }
    return damaged(m);
}

static struct storage *find_storage(const struct machine *m, const struct value *key) {
    struct storage *storage = m->storages;
    while (storage && (key->type != STRING || strcmp(storage->key, key->text) != 0))
        storage = storage->next;
    return storage;
}

/* Replaces a reference to numbers outside the pickle, ("storage", kind, key, device, count, ...),
 * with a storage. */
static int push_storage(struct machine *m) {
    const struct value *what = pop(m);
    struct value *const *items = what ? what->items.at : NULL;
    if (!what || what->type != LIST || what->items.count < 5 || items[0]->type != STRING ||
        strcmp(items[0]->text, "storage") != 0 || items[1]->type != FUNCTION ||
        items[1]->function->function != STORAGE_OF || items[2]->type != STRING ||
        items[4]->type != NUMBER || items[4]->number < 0 ||
        (what->items.count > 5 && items[5]->type != NONE))
        return refuse(m, "its pickle refers to numbers of an unknown kind");
    enum stored_kind kind = items[1]->function->kind;
    uint64_t count = (uint64_t)items[4]->number;
    struct storage *storage = find_storage(m, items[2]);
    if (!storage) {
        storage = arena_zalloc(m->arena, 1, sizeof *storage);
        if (!storage)
            return error_memory(m->err);
        *storage = (struct storage){
            .key = items[2]->text, .kind = kind, .count = count, .next = m->storages};
        m->storages = storage;
    }
    if (storage->kind != kind || storage->count != count)
        return refuse(m, "its pickle gives the same numbers two types");
    struct value *value = new_value(m, STORAGE);
    if (value)
        value->storage = storage;
    return push(m, value);
}

/* Adds the items to the list or dictionary on top of the stack. */
static int extend(struct machine *m, enum value_type type, const struct value *list) {
    struct value *to = list ? top_of(m) : NULL;
    if (!to || to->type != type || (type == MAP && list->items.count % 2 != 0))
        return damaged(m);
    for (size_t i = 0; i < list->items.count; i++)
        if (append(m, &to->items, list->items.at[i]) != 0)
            return -1;
    return 0;
}

static int remember(struct machine *m, int64_t place) {
    if (m->stack.count == 0 || place < 0 || (uint64_t)place > m->memo.count)
        return damaged(m); /* picklers number their memo entries consecutively */
    if ((uint64_t)place == m->memo.count)
        return append(m, &m->memo, top_of(m));
    m->memo.at[place] = top_of(m);
    return 0;
}

/* Runs one instruction. Returns 1 when the pickle has ended. */
static int step(struct machine *m) {
    static const struct {
        unsigned char code, bytes; /* the instruction's code; bytes of the number that follows it */
    } operands[] = {{'J', 4},  {'K', 1}, {'M', 2}, {0x8a, 1}, {'X', 4},
                    {0x8c, 1}, {'q', 1}, {'r', 4}, {'h', 1},  {'j', 4}};
    const unsigned char *code = next_bytes(m, 1);
    const char *module, *name;
    const struct value *state;
    int64_t n = 0;
    if (!code)
        return refuse(m, "the file ends within its pickle");
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++)
        if (operands[i].code == *code && !integer(m, operands[i].bytes, *code == 'J', &n))
            return damaged(m);
    switch (*code) {
    case 0x80: /* PROTO */
        return integer(m, 1, false, &n) && n >= 2 && n <= 5
                   ? 0
                   : refuse(m, "its pickle is of an unknown protocol");
    case '.':
        return 1;
    case 'N':
        return push(m, new_value(m, NONE));
    case 0x88: /* NEWTRUE */
    case 0x89: /* NEWFALSE */
        return push_number(m, *code == 0x88);
    case 'J': /* BININT */
    case 'K': /* BININT1 */
    case 'M': /* BININT2 */
        return push_number(m, n);
    case 0x8a: /* LONG1; only the file's magic number has more than 8 bytes */
        if (n > 8)
            return next_bytes(m, (size_t)n) ? push_number(m, -1) : damaged(m);
        return integer(m, (size_t)n, true, &n) ? push_number(m, n) : damaged(m);
    case 'X':  /* BINUNICODE */
    case 0x8c: /* SHORT_BINUNICODE */
        return push_string(m, (size_t)n);
    case '(':
        return push(m, new_value(m, MARK));
    case ')':
    case ']':
        return push(m, new_value(m, LIST));
    case '}':
        return push(m, new_value(m, MAP));
    case 't':
        return push(m, collect(m));
    case 0x85: /* TUPLE1, TUPLE2, TUPLE3 */
    case 0x86:
    case 0x87:
        return push(m, tuple(m, *code - 0x84u));
    case 'q': /* BINPUT */
    case 'r': /* LONG_BINPUT */
        return remember(m, n);
    case 'h': /* BINGET */
    case 'j': /* LONG_BINGET */
        return (uint64_t)n < m->memo.count ? push(m, m->memo.at[n]) : damaged(m);
    case 'c': /* GLOBAL */
        module = line_of(m);
        name = module ? line_of(m) : NULL;
        return name ? push_function(m, module, name) : damaged(m);
    case 'R': /* REDUCE */
        return call(m);
    case 'Q': /* BINPERSID */
        return push_storage(m);
    case 'b': /* BUILD: attributes of an ordered dictionary, which hold no tensors */
        state = pop(m);
        return state && state->type == MAP && top_of(m) && top_of(m)->type == MAP ? 0 : damaged(m);
    case 's': /* SETITEM */
        return extend(m, MAP, tuple(m, 2));
    case 'u': /* SETITEMS */
        return extend(m, MAP, collect(m));
    case 'a': /* APPEND */
        return extend(m, LIST, tuple(m, 1));
    case 'e': /* APPENDS */
        return extend(m, LIST, collect(m));
    default:
        return error_set(
            m->err, ERROR_FORMAT,
            "%s: its pickle has the opcode 0x%02x, which no dictionary of tensors needs", m->path,
            *code);
    }
}

/* Runs a pickle to its end and returns its value, or NULL with the machine's error. */
static const struct value *run(struct machine *m) {
    int result;
    m->stack.count = m->memo.count = 0;
    while ((result = step(m)) == 0) {
    }
    const struct value *top = result > 0 ? pop(m) : NULL;
    if (!top)
        damaged(m);
    return top;
}

static int add_entries(struct machine *m, const struct value *top, struct container *out) {
    if (top->type != MAP)
        return error_set(m->err, ERROR_FORMAT, "%s: contains %s instead of a dictionary of tensors",
                         m->path, type_names[top->type]);
    if (top->items.count / 2 > MOST_TENSORS)
        return refuse(m, "has too many tensors");
    out->entries = arena_zalloc(m->arena, top->items.count / 2, sizeof *out->entries);
    if (!out->entries)
        return error_memory(m->err);
    for (size_t i = 0; i + 1 < top->items.count; i += 2, out->count++) {
        const struct value *key = top->items.at[i], *tensor = top->items.at[i + 1];
        if (key->type != STRING || tensor->type != TENSOR)
            return error_set(m->err, ERROR_FORMAT, "%s: must contain only tensors, but %.80s is %s",
                             m->path, key->type == STRING ? key->text : "a key",
                             type_names[tensor->type]);
        const char *name = key->text;
        if (tensors_find_stored(out, name))
            return error_set(m->err, ERROR_FORMAT, "%s: %s: occurs twice", m->path, name);
        const struct storage *storage = tensor->storage;
        const struct stored_type *type = &stored_types[storage->kind];
        struct stored_tensor *entry = &out->entries[out->count];
        *entry = (struct stored_tensor){.name = name,
                                        .kind = storage->kind,
                                        .dims = tensor->dims,
                                        .file = out->file,
                                        .at = storage->at + tensor->offset * type->bytes};
        memcpy(entry->shape, tensor->shape, sizeof entry->shape);
        if (storage->kind > STORED_F64)
            return error_set(
                m->err, ERROR_FORMAT,
                "%s: %s: has numbers of type %s, but only floating-point numbers can be read",
                m->path, name, type->name);
        if (!storage->found)
            return error_set(m->err, ERROR_FORMAT, "%s: %s: its numbers are missing", m->path,
                             name);
        uint64_t bytes;
        if (!tensors_size(entry, &bytes) || tensor->offset > storage->count ||
            bytes > (storage->count - tensor->offset) * type->bytes)
            return error_set(m->err, ERROR_FORMAT, "%s: %s: a tensor is larger than its numbers",
                             m->path, name);

        /* The strides must be those of row-major order or, in a matrix, of its transpose. Where a
         * size is 1, any stride of a row-major tensor will do. */
        size_t step = 1;
        bool plain = true;
        for (size_t d = tensor->dims; d-- > 0; step *= tensor->shape[d])
            plain = plain && (tensor->shape[d] <= 1 || tensor->stride[d] == step);
        entry->transposed = !plain && tensor->dims == 2 && tensor->stride[0] == 1 &&
                            tensor->stride[1] == tensor->shape[0];
        if (!plain && !entry->transposed)
            return error_set(m->err, ERROR_FORMAT, "%s: %s: its numbers are not in row-major order",
                             m->path, name);
    }
    return 0;
}

static int load_zip(struct machine *m, const char *work, import_stop stop, struct container *out) {
    struct archive_members members;
    const struct archive_member *program = NULL;
    if (source_archive_spool(m->path, work, m->arena, stop, &members, m->err) != 0)
        return -1;
    out->file = members.spool;
    for (size_t i = 0; i < members.count && !program; i++)
        if (source_ends(members.members[i].name, "/data.pkl"))
            program = &members.members[i];
    if (!program)
        return refuse(m, "the zip has no data.pkl");
    if (program->bytes > MOST_PICKLE_BYTES)
        return refuse(m, "its pickle is too large");
    unsigned char *bytes = arena_alloc(m->arena, (size_t)program->bytes, 1);
    if (!bytes)
        return error_memory(m->err);
    if (source_read_at(members.spool, program->at, bytes, (size_t)program->bytes, m->path,
                       m->err) != 0)
        return -1;
    m->bytes = bytes;
    m->size = (size_t)program->bytes;
    const struct value *top = run(m);
    if (!top)
        return -1;
    size_t folder = strlen(program->name) - strlen("data.pkl");
    for (struct storage *storage = m->storages; storage; storage = storage->next)
        for (size_t i = 0; i < members.count; i++) {
            const char *name = members.members[i].name;
            size_t item = stored_types[storage->kind].bytes;
            if (strncmp(name, program->name, folder) != 0 ||
                !source_begins(name + folder, "data/") ||
                strcmp(name + folder + strlen("data/"), storage->key) != 0)
                continue;
            if (storage->found || members.members[i].bytes / item != storage->count ||
                members.members[i].bytes % item != 0)
                return refuse(m,
                              "its numbers occur twice, or their count differs from its pickle's");
            storage->at = members.members[i].at;
            storage->found = true;
        }
    return add_entries(m, top, out);
}

/* Reads the older format: three pickles that identify the file, then pickles of the content and of
 * the keys of the storages, and then each storage, a count and its numbers. */
static int load_older(struct machine *m, uint64_t size, struct container *out) {
    const unsigned char magic[] = {0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};
    size_t read = size < MOST_PICKLE_BYTES ? (size_t)size : MOST_PICKLE_BYTES;
    unsigned char *bytes = arena_alloc(m->arena, read, 1);
    if (!bytes)
        return error_memory(m->err);
    if (source_read_at(out->file, 0, bytes, read, m->path, m->err) != 0)
        return -1;
    m->bytes = bytes;
    m->size = read;
    if (read < 4 + sizeof magic || bytes[0] != 0x80 || bytes[2] != 0x8a ||
        bytes[3] != sizeof magic || memcmp(bytes + 4, magic, sizeof magic) != 0)
        return refuse(m, "is not a file of PyTorch");
    const struct value *top = NULL, *keys;
    for (int i = 0; i < 4; i++)
        if (!(top = run(m)))
            return -1;
    if (!(keys = run(m)))
        return -1;
    if (keys->type != LIST)
        return damaged(m);
    uint64_t at = m->at;
    for (size_t i = 0; i < keys->items.count; i++) {
        struct storage *storage = find_storage(m, keys->items.at[i]);
        uint64_t count;
        if (!storage || storage->found)
            return refuse(m, "the list of its numbers differs from its pickle's");
        if (size - at < sizeof count ||
            source_read_at(out->file, at, &count, sizeof count, m->path, m->err) != 0)
            return refuse(m, "the file ends within its numbers");
        at += sizeof count;
        if (count != storage->count || (size - at) / stored_types[storage->kind].bytes < count)
            return refuse(
                m,
                "the count of its numbers differs from its pickle's, or the file ends within them");
        storage->at = at;
        storage->found = true;
        at += count * stored_types[storage->kind].bytes;
    }
    return add_entries(m, top, out);
}

int tensors_open_pickle(const char *path, const char *work, struct arena *arena, import_stop stop,
                        struct container *out, struct error *err) {
    struct machine machine = {.path = path, .arena = arena, .err = err};
    struct container found = {.file = -1};
    enum archive_kind kind;
    uint64_t size;
    if (source_archive_kind_of(path, &kind, err) != 0)
        return -1;
    int result = -1;
    if (kind == ARCHIVE_ZIP)
        result = load_zip(&machine, work, stop, &found);
    else if ((found.file = source_open(path, &size, err)) >= 0)
        result = load_older(&machine, size, &found);
    return tensors_finish(&found, result, out);
}
