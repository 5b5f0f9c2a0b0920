#include "server/api/api_splice.h"
#include "server/base/decimal.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 4096 };

static int reserve(struct splices *splices, size_t bytes) {
    if (splices->capacity - splices->length >= bytes)
        return 0;
    size_t capacity = 2 * splices->capacity + bytes + FIRST_BYTES;
    char *text = arena_alloc(splices->arena, capacity, 1);
    if (!text)
        return -1;
    if (splices->length > 0)
        memcpy(text, splices->text, splices->length);
    splices->text = text;
    splices->capacity = capacity;
    return 0;
}

static bool all_finite(const float *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            return false;
    }
    return true;
}

static void append_array(struct splices *splices, const float *values, size_t count) {
    char *out = splices->text + splices->length;
    *out++ = '[';
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            *out++ = ',';
        out = decimal_write(out, (double)values[i]);
    }
    *out++ = ']';
    *out++ = '\0';
    splices->length = (size_t)(out - splices->text);
    splices->count++;
}

json_t *splice_numbers(struct splices *splices, const float *values, size_t count) {
    size_t bytes = count * (DECIMAL_BYTES + 1) + sizeof "[]"; /* count floats are in memory: far from overflow */
    if (!all_finite(values, count) || reserve(splices, bytes) != 0)
        return NULL;
    size_t offset = splices->length;
    append_array(splices, values, count);
    return json_pack("[n, I]", (json_int_t)offset);
}

json_t *splice_text(struct splices *splices, const char *json, size_t length) {
    if (reserve(splices, length + 1) != 0)
        return NULL;
    size_t offset = splices->length;
    memcpy(splices->text + offset, json, length + 1);
    splices->length += length + 1;
    splices->count++;
    return json_pack("[n, I]", (json_int_t)offset);
}

/* The character behind a string, whose opening quote is at c. Whatever a client sent is within strings. */
static const char *skip_string(const char *c) {
    for (c++; *c != '"'; c++) {
        if (*c == '\\')
            c++;
    }
    return c + 1;
}

/* json -> out, with the arrays in the places of their placeholders; returns how many there were. */
static size_t fill(const struct splices *splices, const char *json, char *out) {
    const char *copied = json; /* to here */
    size_t count = 0;
    for (const char *c = json; *c;) {
        if (*c == '"') {
            c = skip_string(c);
        } else if (c[0] == '[' && c[1] == 'n') {
            out = mempcpy(out, copied, (size_t)(c - copied));
            char *end;
            out = stpcpy(out, splices->text + strtoul(c + strlen("[null,"), &end, 10));
            c = copied = end + strlen("]");
            count++;
        } else {
            c++;
        }
    }
    strcpy(out, copied);
    return count;
}

static _Thread_local bool lacked;

static void *allocate(size_t bytes) {
    void *block = malloc(bytes);
    lacked |= !block;
    return block;
}

void splice_init(void) {
    json_set_alloc_funcs(allocate, free);
}

bool splice_lacked(void) {
    bool before = lacked;
    lacked = false;
    return before;
}

/* NULL: something is missing, in the tree or in what was written of it. */
static char *dump(const json_t *root) {
    bool whole = !splice_lacked() && root;
    char *json = whole ? json_dumps(root, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(DECIMAL_DIGITS)) : NULL;
    if (!splice_lacked())
        return json;
    free(json);
    return NULL;
}

char *splice_dump(const struct splices *splices, const json_t *root) {
    char *json = dump(root);
    if (!json || splices->count == 0)
        return json;
    char *filled = malloc(strlen(json) + splices->length + 1);
    if (filled) {
        size_t count = fill(splices, json, filled);
        assert(count == splices->count);
        (void)count;
    }
    free(json);
    return filled;
}
