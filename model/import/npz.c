/* NumPy's .npz: a zip of .npy files. A .npy file begins with \x93NUMPY, its version, the length of a header and the header, a
 * Python dictionary such as {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, which is read here as text of exactly this
 * form. */
#include "model/import/archive.h"
#include "model/import/stored.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
