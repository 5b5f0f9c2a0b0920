/* This file hides the containers in which programs in Python keep tensors: NumPy's .npz and PyTorch's pytorch_model.bin. */
#include "model/import/tensors.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- .npz ----
 * A zip of .npy files. A .npy file begins with \x93NUMPY, its version, the length of a header and the header, a
 * Python dictionary such as {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, which is read here as text of exactly this
 * form. */

enum { MAGIC_BYTES = 8, MOST_HEADER_BYTES = 1 << 16, DESCR_BYTES = 16 };

static const struct {
    const char *descr, *type;
    enum stored_kind kind;
    size_t item;
} types[] = {
    {"<f4", "float32", STORED_F32, 4},  {"<f2", "float16", STORED_F16, 2},  {"<f8", "float64", STORED_F64, 8},
    {"|i1", "int8", STORED_I8, 1},      {"<i2", "int16", STORED_OTHER, 2},  {"<i4", "int32", STORED_OTHER, 4},
    {"<i8", "int64", STORED_OTHER, 8},  {"|u1", "uint8", STORED_OTHER, 1},  {"<u2", "uint16", STORED_OTHER, 2},
    {"<u4", "uint32", STORED_OTHER, 4}, {"<u8", "uint64", STORED_OTHER, 8},
};

/* A place in the header's text. */
struct text {
    const char *at;
    bool fits; /* the text has been valid so far */
};

static void skip_blanks(struct text *text) {
    while (*text->at == ' ' || *text->at == '\n')
        text->at++;
}

static bool take(struct text *text, const char *token) {
    skip_blanks(text);
    size_t length = strlen(token);
    bool found = strncmp(text->at, token, length) == 0;
    text->at += found ? length : 0;
    return found;
}

static void need(struct text *text, const char *token) {
    text->fits = text->fits && take(text, token);
}

/* A string in single quotes without escapes. */
static void read_string(struct text *text, char *out, size_t room) {
    need(text, "'");
    size_t length = strcspn(text->at, "'\\\n");
    text->fits = text->fits && text->at[length] == '\'' && length < room;
    if (!text->fits)
        return;
    snprintf(out, room, "%.*s", (int)length, text->at);
    text->at += length + 1;
}

static void read_shape(struct text *text, struct stored *entry) {
    need(text, "(");
    while (text->fits && !take(text, ")")) {
        skip_blanks(text);
        if (!isdigit((unsigned char)*text->at) || entry->dims == STORED_MOST_DIMS) {
            text->fits = false;
            return;
        }
        char *end;
        unsigned long long size = strtoull(text->at, &end, 10);
        text->fits = size <= INT64_MAX && end - text->at < 19;
        entry->shape[entry->dims++] = (size_t)size;
        text->at = end;
        if (!take(text, ",")) {
            text->fits = text->fits && entry->dims > 1; /* (3) is not a tuple */
            need(text, ")");
            return;
        }
    }
}

/* The three keys, in any order, each once. */
static bool read_header(char *header, struct stored *entry, char descr[DESCR_BYTES], bool *fortran) {
    struct text text = {header, true};
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
            read_shape(&text, entry);
        }
        text.fits = text.fits && bit != 0 && !(seen & bit);
        seen |= bit;
        if (!take(&text, ","))
            need(&text, "}"), text.at--;
    }
    skip_blanks(&text);
    return text.fits && seen == 7 && *text.at == '\0';
}

static int read_entry(struct stored *entry, const char *path, const struct archive_member *member, int spool, struct arena *arena,
                      struct error *err) {
    unsigned char start[MAGIC_BYTES + 4];
    char descr[DESCR_BYTES] = "";
    bool fortran = false, two = false;
    size_t lead = MAGIC_BYTES + 2, length = 0;
    *entry = (struct stored){.name = arena_copy(arena, member->name, strlen(member->name) - strlen(".npy")), .file = spool};
    if (!entry->name)
        return error_memory(err);
    if (member->bytes >= sizeof start && source_read_at(spool, member->at, start, sizeof start, path, err) != 0)
        return -1;
    if (member->bytes >= sizeof start && memcmp(start, "\x93NUMPY", 6) == 0 && start[7] == 0 && (start[6] == 1 || start[6] == 2)) {
        two = start[6] == 2;
        lead += two ? 2 : 0;
        length = start[8] | (size_t)start[9] << 8 | (two ? (size_t)start[10] << 16 | (size_t)start[11] << 24 : 0);
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
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(descr, types[i].descr) == 0 ||
            (descr[0] == '<' && types[i].item == 1 && strcmp(descr + 1, types[i].descr + 1) == 0)) {
            entry->type = types[i].type;
            entry->kind = types[i].kind;
            entry->item = types[i].item;
        }
    if (!entry->type || (fortran && entry->dims > 1))
        return error_set(err, ERROR_FORMAT, "%s: %s: must hold plain numbers in C order, not %s%s", path, entry->name, descr,
                         fortran ? " in Fortran order" : "");
    uint64_t bytes, left = member->bytes - lead - length;
    if (!stored_size(entry->shape, entry->dims, entry->item, &bytes) || bytes != left)
        return error_set(err, ERROR_FORMAT, "%s: %s: shape %s of %s does not fit its %llu bytes", path, entry->name,
                         stored_shape(arena, entry->shape, entry->dims), entry->type, (unsigned long long)left);
    entry->at = member->at + lead + length;
    return 0;
}

int npz_open(const char *path, const char *work, struct arena *arena, import_stop stop, struct container *out, struct error *err) {
    struct archive_members members;
    struct error inner = {0};
    if (archive_spool(path, work, &archive_usual, arena, stop, &members, &inner) != 0)
        return inner.code == ERROR_FORMAT
                   ? error_set(err, ERROR_FORMAT, "%s: not a whole .npz file: %s", path,
                               source_begins(inner.message, path) ? inner.message + strlen(path) + 2 : inner.message)
                   : error_set(err, inner.code, "%s", inner.message);
    struct container found = {.path = path, .file = members.spool};
    int result = 0;
    found.entries = arena_zalloc(arena, members.count, sizeof *found.entries);
    if (!found.entries)
        result = error_memory(err);
    for (; result == 0 && found.count < members.count; found.count++) {
        const struct archive_member *member = &members.members[found.count];
        if (!source_ends(member->name, ".npy") || strlen(member->name) == strlen(".npy"))
            result = error_set(err, ERROR_FORMAT, "%s: %s: not an array", path, member->name);
        else
            result = read_entry(&found.entries[found.count], path, member, members.spool, arena, err);
        if (result == 0 && stored_find(&found, found.entries[found.count].name))
            result = error_set(err, ERROR_FORMAT, "%s: %s: occurs twice", path, member->name);
    }
    if (result != 0) {
        container_close(&found);
        return -1;
    }
    *out = found;
    return 0;
}

/* ---- pytorch_model.bin ----
 * A pickle beside which the numbers lie, in a zip (since PyTorch 1.6), or one after the other after it. A pickle
 * is a program for a machine with a stack. Here it is run only as far as torch.save writes it for a dictionary of tensors: it may
 * make numbers, strings, tuples, lists and dictionaries, and call the few functions below, which stand for themselves. Everything
 * else is refused by name, and nothing in the file is ever executed. */

enum { MOST_PICKLE_BYTES = 1 << 26, MOST_VALUES = 1 << 20, MOST_TENSORS = 20000 };

enum value_type { NONE, NUMBER, STRING, LIST, MAP, FUNCTION, STORAGE, TENSOR, MARK };
static const char *const type_names[] = {"None",       "a number", "a string", "a list", "a dictionary",
                                         "a function", "numbers",  "a tensor", "a mark"};

enum function { ORDERED_DICT, REBUILD_TENSOR, REBUILD_PARAMETER, STORAGE_KIND };

/* The numbers of one or several tensors. */
struct storage {
    const char *key;
    const struct kind *kind;
    uint64_t count;
    uint64_t at; /* in the container's file, once that is known */
    bool found;
    struct storage *next;
};

struct value {
    enum value_type type;
    int64_t number;       /* NUMBER */
    const char *text;     /* STRING */
    struct value **items; /* LIST, also a tuple: [count]; MAP: keys and values by turns, [count] */
    size_t count, room;
    enum function function; /* FUNCTION */
    const struct kind *kind;
    struct storage *storage; /* STORAGE, TENSOR */
    uint64_t offset;         /* TENSOR, as the next three */
    size_t dims;
    size_t shape[STORED_MOST_DIMS];
    uint64_t stride[STORED_MOST_DIMS];
};

static const struct kind {
    const char *storage, *type;
    enum stored_kind kind;
    size_t item;
} kinds[] = {
    {"FloatStorage", "float32", STORED_F32, 4},      {"HalfStorage", "float16", STORED_F16, 2},
    {"BFloat16Storage", "bfloat16", STORED_BF16, 2}, {"DoubleStorage", "float64", STORED_F64, 8},
    {"LongStorage", "int64", STORED_OTHER, 8},       {"IntStorage", "int32", STORED_OTHER, 4},
    {"ShortStorage", "int16", STORED_OTHER, 2},      {"CharStorage", "int8", STORED_I8, 1},
    {"ByteStorage", "uint8", STORED_OTHER, 1},       {"BoolStorage", "bool", STORED_OTHER, 1},
};

/* The machine. */
struct machine {
    const char *path;
    const unsigned char *bytes;
    size_t size, at;
    struct arena *arena;
    struct value **stack;
    size_t depth, stack_room;
    struct value **memo;
    size_t memo_count, memo_room;
    size_t values;
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
    if (++m->values > MOST_VALUES) {
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

static int append(struct machine *m, struct value ***items, size_t *count, size_t *room, struct value *value) {
    struct value **grown = arena_grow(m->arena, *items, *count, room, 1, sizeof **items);
    if (!grown)
        return error_memory(m->err);
    *items = grown;
    (*items)[(*count)++] = value;
    return 0;
}

static int push(struct machine *m, struct value *value) {
    return value ? append(m, &m->stack, &m->depth, &m->stack_room, value) : -1;
}

static struct value *pop(struct machine *m) {
    return m->depth > 0 ? m->stack[--m->depth] : NULL;
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

/* Little-endian, of up to 8 bytes; the last one's sign counts if it is signed. */
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

/* The values above the last mark become a list, and the mark is removed. */
static struct value *collect(struct machine *m) {
    size_t from = m->depth;
    while (from > 0 && m->stack[from - 1]->type != MARK)
        from--;
    struct value *list = from > 0 ? new_value(m, LIST) : NULL;
    if (!list) {
        damaged(m);
        return NULL;
    }
    for (size_t i = from; i < m->depth; i++)
        if (append(m, &list->items, &list->count, &list->room, m->stack[i]) != 0)
            return NULL;
    m->depth = from - 1;
    return list;
}

static int push_tuple(struct machine *m, size_t count) {
    struct value *tuple = m->depth >= count ? new_value(m, LIST) : NULL;
    if (!tuple)
        return damaged(m);
    for (size_t i = m->depth - count; i < m->depth; i++)
        if (append(m, &tuple->items, &tuple->count, &tuple->room, m->stack[i]) != 0)
            return -1;
    m->depth -= count;
    return push(m, tuple);
}

static const char *line_of(struct machine *m) {
    const unsigned char *end = m->at < m->size ? memchr(m->bytes + m->at, '\n', m->size - m->at) : NULL;
    if (!end)
        return NULL;
    const char *line = arena_copy(m->arena, (const char *)m->bytes + m->at, (size_t)(end - m->bytes) - m->at);
    m->at = (size_t)(end - m->bytes) + 1;
    return line;
}

static int push_function(struct machine *m, const char *module, const char *name) {
    struct value *value = new_value(m, FUNCTION);
    if (!value)
        return -1;
    if (strcmp(module, "collections") == 0 && strcmp(name, "OrderedDict") == 0) {
        value->function = ORDERED_DICT;
    } else if (strcmp(module, "torch._utils") == 0 &&
               (strcmp(name, "_rebuild_tensor_v2") == 0 || strcmp(name, "_rebuild_tensor") == 0)) {
        value->function = REBUILD_TENSOR;
    } else if (strcmp(module, "torch._utils") == 0 && strcmp(name, "_rebuild_parameter") == 0) {
        value->function = REBUILD_PARAMETER;
    } else {
        value->function = STORAGE_KIND;
        for (size_t i = 0; strcmp(module, "torch") == 0 && i < sizeof kinds / sizeof *kinds; i++)
            if (strcmp(name, kinds[i].storage) == 0)
                value->kind = &kinds[i];
        if (!value->kind)
            return error_set(m->err, ERROR_FORMAT, "%s: its pickle calls %.80s.%.80s, but only dictionaries of tensors can be read",
                             m->path, module, name);
    }
    return push(m, value);
}

static bool sizes_of(const struct value *list, size_t *out, uint64_t *wide) {
    if (!list || list->type != LIST || list->count > STORED_MOST_DIMS)
        return false;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i]->type != NUMBER || list->items[i]->number < 0)
            return false;
        if (out)
            out[i] = (size_t)list->items[i]->number;
        if (wide)
            wide[i] = (uint64_t)list->items[i]->number;
    }
    return true;
}

/* _rebuild_tensor_v2(storage, offset, shape, stride, ...) */
static int push_tensor(struct machine *m, const struct value *arguments) {
    struct value *tensor = new_value(m, TENSOR);
    if (!tensor)
        return -1;
    if (arguments->count < 4 || arguments->items[0]->type != STORAGE || arguments->items[1]->type != NUMBER ||
        arguments->items[1]->number < 0 || !sizes_of(arguments->items[2], tensor->shape, NULL) ||
        !sizes_of(arguments->items[3], NULL, tensor->stride) || arguments->items[2]->count != arguments->items[3]->count)
        return refuse(m, "its pickle has a tensor without numbers, a shape or steps");
    tensor->storage = arguments->items[0]->storage;
    tensor->offset = (uint64_t)arguments->items[1]->number;
    tensor->dims = arguments->items[2]->count;
    return push(m, tensor);
}

static int call(struct machine *m) {
    struct value *arguments = pop(m), *function = pop(m);
    if (!arguments || !function || arguments->type != LIST || function->type != FUNCTION)
        return damaged(m);
    switch (function->function) {
    case ORDERED_DICT:
        return arguments->count == 0 ? push(m, new_value(m, MAP)) : damaged(m);
    case REBUILD_TENSOR:
        return push_tensor(m, arguments);
    case REBUILD_PARAMETER:
        return arguments->count > 0 && arguments->items[0]->type == TENSOR ? push(m, arguments->items[0]) : damaged(m);
    case STORAGE_KIND:
        break;
    }
    return damaged(m);
}

/* ("storage", its kind, its key, the device that it was on, how many numbers): the pickle refers to numbers beside it. */
static int push_storage(struct machine *m) {
    const struct value *what = pop(m);
    if (!what || what->type != LIST || what->count < 5 || what->items[0]->type != STRING ||
        strcmp(what->items[0]->text, "storage") != 0 || what->items[1]->type != FUNCTION || !what->items[1]->kind ||
        what->items[2]->type != STRING || what->items[4]->type != NUMBER || what->items[4]->number < 0 ||
        (what->count > 5 && what->items[5]->type != NONE))
        return refuse(m, "its pickle refers to numbers of an unknown kind");
    struct storage *storage = m->storages;
    while (storage && strcmp(storage->key, what->items[2]->text) != 0)
        storage = storage->next;
    if (!storage) {
        storage = arena_zalloc(m->arena, 1, sizeof *storage);
        if (!storage)
            return error_memory(m->err);
        *storage = (struct storage){.key = what->items[2]->text,
                                    .kind = what->items[1]->kind,
                                    .count = (uint64_t)what->items[4]->number,
                                    .next = m->storages};
        m->storages = storage;
    }
    if (storage->kind != what->items[1]->kind || storage->count != (uint64_t)what->items[4]->number)
        return refuse(m, "its pickle gives the same numbers two types");
    struct value *value = new_value(m, STORAGE);
    if (value)
        value->storage = storage;
    return push(m, value);
}

static int set_items(struct machine *m, const struct value *list) {
    struct value *map = m->depth > 0 && list ? m->stack[m->depth - 1] : NULL;
    if (!map || map->type != MAP || list->count % 2 != 0)
        return damaged(m);
    for (size_t i = 0; i < list->count; i++)
        if (append(m, &map->items, &map->count, &map->room, list->items[i]) != 0)
            return -1;
    return 0;
}

static int append_items(struct machine *m, const struct value *list) {
    struct value *to = m->depth > 0 && list ? m->stack[m->depth - 1] : NULL;
    if (!to || to->type != LIST)
        return damaged(m);
    for (size_t i = 0; i < list->count; i++)
        if (append(m, &to->items, &to->count, &to->room, list->items[i]) != 0)
            return -1;
    return 0;
}

static int remember(struct machine *m, int64_t place) {
    if (m->depth == 0 || place < 0 || (uint64_t)place > m->memo_count)
        return damaged(m); /* picklers number what they remember one by one */
    if ((uint64_t)place < m->memo_count) {
        m->memo[place] = m->stack[m->depth - 1];
        return 0;
    }
    return append(m, &m->memo, &m->memo_count, &m->memo_room, m->stack[m->depth - 1]);
}

static int recall(struct machine *m, int64_t place) {
    return place >= 0 && (uint64_t)place < m->memo_count ? push(m, m->memo[place]) : damaged(m);
}

/* Runs one instruction. Returns 1 when the pickle has ended. */
static int step(struct machine *m) {
    const unsigned char *code = next_bytes(m, 1);
    const char *module, *name;
    struct value *list;
    int64_t n = 0;
    if (!code)
        return refuse(m, "the file ends within its pickle");
    switch (*code) {
    case 0x80: /* PROTO */
        return integer(m, 1, false, &n) && n >= 2 && n <= 5 ? 0 : refuse(m, "its pickle is of an unknown protocol");
    case '.':
        return 1;
    case 'N':
        return push(m, new_value(m, NONE));
    case 0x88: /* NEWTRUE */
    case 0x89: /* NEWFALSE */
        return push_number(m, *code == 0x88);
    case 'J': /* BININT */
        return integer(m, 4, true, &n) ? push_number(m, n) : damaged(m);
    case 'K': /* BININT1 */
        return integer(m, 1, false, &n) ? push_number(m, n) : damaged(m);
    case 'M': /* BININT2 */
        return integer(m, 2, false, &n) ? push_number(m, n) : damaged(m);
    case 0x8a: /* LONG1 */
        if (!integer(m, 1, false, &n))
            return damaged(m);
        if (n <= 8)
            return integer(m, (size_t)n, true, &n) ? push_number(m, n) : damaged(m);
        return next_bytes(m, (size_t)n) ? push_number(m, -1) : damaged(m); /* only the number that says what the file is */
    case 'X':                                                              /* BINUNICODE */
        return integer(m, 4, false, &n) ? push_string(m, (size_t)n) : damaged(m);
    case 0x8c: /* SHORT_BINUNICODE */
        return integer(m, 1, false, &n) ? push_string(m, (size_t)n) : damaged(m);
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
        return push_tuple(m, *code - 0x84u);
    case 'q': /* BINPUT */
        return integer(m, 1, false, &n) ? remember(m, n) : damaged(m);
    case 'r': /* LONG_BINPUT */
        return integer(m, 4, false, &n) ? remember(m, n) : damaged(m);
    case 'h': /* BINGET */
        return integer(m, 1, false, &n) ? recall(m, n) : damaged(m);
    case 'j': /* LONG_BINGET */
        return integer(m, 4, false, &n) ? recall(m, n) : damaged(m);
    case 'c': /* GLOBAL */
        module = line_of(m);
        name = module ? line_of(m) : NULL;
        return name ? push_function(m, module, name) : damaged(m);
    case 'R': /* REDUCE */
        return call(m);
    case 'Q': /* BINPERSID */
        return push_storage(m);
    case 'b': /* BUILD: attributes of an ordered dictionary, which hold no tensors */
        list = pop(m);
        return list && list->type == MAP && m->depth > 0 && m->stack[m->depth - 1]->type == MAP ? 0 : damaged(m);
    case 's': /* SETITEM */
        return push_tuple(m, 2) == 0 ? set_items(m, pop(m)) : -1;
    case 'u': /* SETITEMS */
        return set_items(m, collect(m));
    case 'a': /* APPEND */
        return push_tuple(m, 1) == 0 ? append_items(m, pop(m)) : -1;
    case 'e': /* APPENDS */
        return append_items(m, collect(m));
    default:
        return error_set(m->err, ERROR_FORMAT, "%s: its pickle has the opcode 0x%02x, which no dictionary of tensors needs",
                         m->path, *code);
    }
}

/* Runs a pickle to its end. NULL with the machine's error. */
static const struct value *run(struct machine *m) {
    int result;
    m->depth = m->memo_count = 0;
    while ((result = step(m)) == 0) {
    }
    if (result < 0)
        return NULL;
    struct value *top = pop(m);
    if (!top)
        damaged(m);
    return top;
}

/* The steps of row-major order, or of a matrix those of its transpose. Where a size is 1 any step will do. */
static bool laid_out(const struct value *tensor, bool *transposed) {
    uint64_t step = 1;
    bool plain = true;
    for (size_t i = tensor->dims; i-- > 0; step *= tensor->shape[i])
        plain = plain && (tensor->shape[i] <= 1 || tensor->stride[i] == step);
    *transposed = !plain && tensor->dims == 2 && tensor->stride[0] == 1 && tensor->stride[1] == tensor->shape[0];
    return plain || *transposed;
}

static int add_entry(struct machine *m, struct container *out, const char *name, const struct value *tensor) {
    struct stored *entry = &out->entries[out->count];
    const struct storage *storage = tensor->storage;
    uint64_t bytes;
    if (stored_find(out, name))
        return error_set(m->err, ERROR_FORMAT, "%s: %s: occurs twice", m->path, name);
    *entry = (struct stored){.name = name,
                             .type = storage->kind->type,
                             .kind = storage->kind->kind,
                             .item = storage->kind->item,
                             .dims = tensor->dims,
                             .file = out->file,
                             .at = storage->at + tensor->offset * storage->kind->item};
    memcpy(entry->shape, tensor->shape, sizeof entry->shape);
    if (storage->kind->kind == STORED_OTHER || storage->kind->kind == STORED_I8)
        return error_set(m->err, ERROR_FORMAT, "%s: %s: has numbers of type %s, but only floating-point numbers can be read",
                         m->path, name, entry->type);
    if (!storage->found)
        return error_set(m->err, ERROR_FORMAT, "%s: %s: its numbers are missing", m->path, name);
    if (!stored_size(entry->shape, entry->dims, entry->item, &bytes) || tensor->offset > storage->count ||
        bytes > (storage->count - tensor->offset) * entry->item)
        return error_set(m->err, ERROR_FORMAT, "%s: %s: a tensor is larger than its numbers", m->path, name);
    if (!laid_out(tensor, &entry->transposed))
        return error_set(m->err, ERROR_FORMAT, "%s: %s: its numbers do not lie row by row", m->path, name);
    out->count++;
    return 0;
}

static int add_entries(struct machine *m, const struct value *top, struct container *out) {
    if (top->type != MAP)
        return error_set(m->err, ERROR_FORMAT, "%s: contains %s instead of a dictionary of tensors", m->path,
                         type_names[top->type]);
    if (top->count / 2 > MOST_TENSORS)
        return refuse(m, "has too many tensors");
    out->entries = arena_zalloc(m->arena, top->count / 2, sizeof *out->entries);
    if (!out->entries)
        return error_memory(m->err);
    for (size_t i = 0; i + 1 < top->count; i += 2) {
        const struct value *key = top->items[i], *value = top->items[i + 1];
        if (key->type != STRING || value->type != TENSOR)
            return error_set(m->err, ERROR_FORMAT, "%s: must contain only tensors, but %.80s is %s", m->path,
                             key->type == STRING ? key->text : "a key", type_names[value->type]);
        if (add_entry(m, out, key->text, value) != 0)
            return -1;
    }
    return 0;
}

static int load_zip(struct machine *m, const char *work, import_stop stop, struct container *out) {
    struct archive_members members;
    const struct archive_member *program = NULL;
    if (archive_spool(m->path, work, &archive_usual, m->arena, stop, &members, m->err) != 0)
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
    if (source_read_at(members.spool, program->at, bytes, (size_t)program->bytes, m->path, m->err) != 0)
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
            if (strncmp(name, program->name, folder) != 0 || !source_begins(name + folder, "data/") ||
                strcmp(name + folder + strlen("data/"), storage->key) != 0)
                continue;
            if (storage->found || members.members[i].bytes / storage->kind->item != storage->count ||
                members.members[i].bytes % storage->kind->item != 0)
                return refuse(m, "its numbers occur twice, or their count differs from its pickle's");
            storage->at = members.members[i].at;
            storage->found = true;
        }
    return add_entries(m, top, out);
}

/* Three pickles that say what it is, the content, the keys of the storages, and each of them: a count and its numbers. */
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
    if (read < 4 + sizeof magic || bytes[0] != 0x80 || bytes[2] != 0x8a || bytes[3] != sizeof magic ||
        memcmp(bytes + 4, magic, sizeof magic) != 0)
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
    for (size_t i = 0; i < keys->count; i++) {
        struct storage *storage = m->storages;
        uint64_t count;
        while (storage && (keys->items[i]->type != STRING || strcmp(storage->key, keys->items[i]->text) != 0))
            storage = storage->next;
        if (!storage || storage->found)
            return refuse(m, "the list of its numbers differs from its pickle's");
        if (size - at < sizeof count || source_read_at(out->file, at, &count, sizeof count, m->path, m->err) != 0)
            return refuse(m, "the file ends within its numbers");
        at += sizeof count;
        if (count != storage->count || (size - at) / storage->kind->item < count)
            return refuse(m, "the count of its numbers differs from its pickle's, or the file ends within them");
        storage->at = at;
        storage->found = true;
        at += count * storage->kind->item;
    }
    return add_entries(m, top, out);
}

int pickle_open(const char *path, const char *work, struct arena *arena, import_stop stop, struct container *out,
                struct error *err) {
    struct machine machine = {.path = path, .arena = arena, .err = err};
    struct container found = {.path = path, .file = -1};
    enum archive_kind kind;
    uint64_t size;
    if (archive_kind_of(path, &kind, err) != 0)
        return -1;
    int result = -1;
    if (kind == ARCHIVE_ZIP)
        result = load_zip(&machine, work, stop, &found);
    else if ((found.file = source_open(path, &size, err)) >= 0)
        result = load_older(&machine, size, &found);
    if (result != 0) {
        container_close(&found);
        return -1;
    }
    *out = found;
    return 0;
}
