#include "server/base/writer.h"
#include "model/base/utf8.h"
#include "server/base/decimal.h"
#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 1024, INTEGER_BYTES = 20 /* -9223372036854775808 */ };

/* ---- the buffer ---- */

/* Room for so many bytes more, and a NUL; NULL: it failed. What is written is in memory elsewhere, if not so long: far from
 * overflow. */
static char *reserve(struct writer *w, size_t bytes) {
    if (writer_ended(w))
        return NULL;
    if (w->capacity - w->length <= bytes) {
        size_t capacity = 2 * w->capacity + bytes + FIRST_BYTES;
        char *grown = realloc(w->bytes, capacity);
        if (!grown) {
            w->failed = true;
            return NULL;
        }
        w->bytes = grown;
        w->capacity = capacity;
    }
    return w->bytes + w->length;
}

static void writer_append(struct writer *w, const char *bytes, size_t length) {
    char *to = reserve(w, length);
    if (!to)
        return;
    if (length > w->most - w->length) {
        w->too_long = true;
        return;
    }
    memcpy(to, bytes, length);
    to[length] = '\0';
    w->length += length;
}

void writer_put(struct writer *w, const char *bytes, size_t length) {
    assert(w->depth == 0);
    writer_append(w, bytes, length);
    w->comma = false;
}

void writer_fail(struct writer *w) {
    w->failed = true;
}

char *writer_take(struct writer *w) {
    assert(w->depth == 0);
    char *bytes = writer_ended(w) ? NULL : w->bytes;
    if (!bytes)
        free(w->bytes);
    *w = (struct writer){.most = w->most, .too_long = w->too_long, .failed = w->failed};
    return bytes;
}

void writer_done(struct writer *w) {
    free(w->bytes);
    *w = (struct writer){0};
}

/* ---- nesting ---- */

static bool in_object(const struct writer *w) {
    return w->depth > 0 && w->objects >> (w->depth - 1) & 1;
}

/* What stands before a value. */
static void put_key(struct writer *w, const char *key) {
    assert(in_object(w) == (key != NULL));
    if (w->comma)
        writer_append(w, ",", 1);
    w->comma = true;
    if (!key)
        return;
    writer_append(w, "\"", 1);
    writer_append(w, key, strlen(key));
    writer_append(w, "\":", 2);
}

static void writer_begin(struct writer *w, const char *key, bool object) {
    put_key(w, key);
    writer_append(w, object ? "{" : "[", 1);
    assert(w->depth < WRITER_DEPTH);
    uint64_t bit = (uint64_t)1 << w->depth++;
    w->objects = object ? w->objects | bit : w->objects & ~bit;
    w->comma = false;
}

static void writer_end(struct writer *w, bool object) {
    assert(w->depth > 0 && in_object(w) == object);
    w->depth--;
    writer_append(w, object ? "}" : "]", 1);
    w->comma = true;
}

void writer_begin_object(struct writer *w, const char *key) {
    writer_begin(w, key, true);
}

void writer_end_object(struct writer *w) {
    writer_end(w, true);
}

void writer_begin_array(struct writer *w, const char *key) {
    writer_begin(w, key, false);
}

void writer_end_array(struct writer *w) {
    writer_end(w, false);
}

/* ---- strings ---- */

/* Bytes at the beginning that stand for themselves. high: some of them may be, or not be, UTF-8. */
static size_t plain_length(const char *bytes, size_t length, bool *high) {
    unsigned char all = 0;
    size_t i = 0;
    for (; i < length && (unsigned char)bytes[i] >= 0x20 && bytes[i] != '"' && bytes[i] != '\\'; i++)
        all |= (unsigned char)bytes[i];
    *high |= all >= 0x80;
    return i;
}

static void put_escaped(struct writer *w, char byte) {
    static const char names[] = "\"\"\\\\\bb\ff\nn\rr\tt", digits[] = "0123456789ABCDEF";
    for (const char *name = names; *name; name += 2) {
        if (byte == *name) {
            writer_append(w, (const char[]){'\\', name[1]}, 2);
            return;
        }
    }
    writer_append(w, (const char[]){'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15]}, 6);
}

void writer_string_of(struct writer *w, const char *key, const char *bytes, size_t length) {
    bool high = false;
    put_key(w, key);
    writer_append(w, "\"", 1);
    for (size_t at = 0; at < length;) {
        size_t plain = plain_length(bytes + at, length - at, &high);
        writer_append(w, bytes + at, plain);
        at += plain;
        if (at < length)
            put_escaped(w, bytes[at++]);
    }
    writer_append(w, "\"", 1);
    if (high && !utf8_valid(bytes, length))
        writer_fail(w);
}

void writer_string(struct writer *w, const char *key, const char *string) {
    writer_string_of(w, key, string, strlen(string));
}

void writer_strings(struct writer *w, ...) {
    va_list arguments;
    va_start(arguments, w);
    for (const char *key; (key = va_arg(arguments, const char *)) != NULL;)
        writer_string(w, key, va_arg(arguments, const char *));
    va_end(arguments);
}

/* ---- the other values ---- */

void writer_json(struct writer *w, const char *key, const char *json) {
    put_key(w, key);
    writer_append(w, json, strlen(json));
}

void writer_boolean(struct writer *w, const char *key, bool value) {
    writer_json(w, key, value ? "true" : "false");
}

void writer_null(struct writer *w, const char *key) {
    writer_json(w, key, "null");
}

void writer_integer(struct writer *w, const char *key, int64_t number) {
    char text[INTEGER_BYTES], *begin = text + sizeof text;
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    do
        *--begin = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (number < 0)
        *--begin = '-';
    put_key(w, key);
    writer_append(w, begin, (size_t)(text + sizeof text - begin));
}

void writer_number(struct writer *w, const char *key, double number) {
    char text[DECIMAL_BYTES(DECIMAL_DIGITS)];
    put_key(w, key);
    if (isfinite(number))
        writer_append(w, text, (size_t)(decimal_write(text, number, DECIMAL_DIGITS) - text));
    else
        writer_fail(w);
}

/* Most of the bytes of a large reply are written here: room is made once. */
void writer_numbers(struct writer *w, const char *key, const float *numbers, size_t count, int digits) {
    writer_begin_array(w, key);
    char *out = reserve(w, count * (DECIMAL_BYTES((size_t)digits) + 1));
    for (size_t i = 0; out && i < count; i++) {
        if (!isfinite(numbers[i])) {
            writer_fail(w);
            break;
        }
        if (i > 0)
            *out++ = ',';
        out = decimal_write(out, (double)numbers[i], digits);
    }
    if (out && !writer_ended(w)) {
        size_t length = (size_t)(out - w->bytes);
        w->too_long |= length > w->most;
        w->length = w->too_long ? w->length : length;
        w->bytes[w->length] = '\0';
    }
    writer_end_array(w);
}
