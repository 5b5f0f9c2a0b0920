/* This file hides how strings grow and how their notations are written: JSON as jansson dumps it,
 * and decimal numbers as printf rounds them, both in a fraction of the time. */
#include "server/base/strings.h"
#include "model/base/utf8.h"
#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char capitals[] = "0123456789ABCDEF";

enum { FIRST_BYTES = 1024, INTEGER_BYTES = 20 /* -9223372036854775808 */ };

/* ---- the buffer ---- */

/* Makes room for this many more bytes and a NUL, and returns their place, or NULL after a failure.
 * The bytes to be written are already in memory elsewhere, so the sums cannot overflow. */
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

/* Adds to the length of a writer that counts. */
static void count_bytes(struct writer *w, size_t bytes) {
    w->too_long |= bytes > w->most - w->length;
    w->length += w->too_long ? 0 : bytes;
}

static void writer_append(struct writer *w, const char *bytes, size_t length) {
    if (w->number_bytes) {
        count_bytes(w, length);
        return;
    }
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

/* Puts the comma and the key that precede a value. */
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

void writer_string_of(struct writer *w, const char *key, const char *bytes, size_t length) {
    static const char escapes[] = "\"\"\\\\\bb\ff\nn\rr\tt"; /* pairs: a character, and the letter
                                                                that follows its backslash */
    unsigned char all = 0; /* the OR of all bytes: only text outside ASCII can be invalid UTF-8 */
    put_key(w, key);
    if (w->number_bytes) {
        count_bytes(w, length + 2);
        return;
    }
    writer_append(w, "\"", 1);
    for (size_t at = 0; at < length;) {
        size_t end = at;
        for (; end < length && (unsigned char)bytes[end] >= 0x20 && bytes[end] != '"' &&
               bytes[end] != '\\';
             end++)
            all |= (unsigned char)bytes[end];
        writer_append(w, bytes + at, end - at);
        at = end + 1;
        if (end == length)
            break;
        char byte = bytes[end];
        const char *escape = byte ? strchr(escapes, byte) : NULL;
        if (escape)
            writer_append(w, (const char[]){'\\', escape[1]}, 2);
        else
            writer_append(
                w, (const char[]){'\\', 'u', '0', '0', capitals[byte >> 4], capitals[byte & 15]},
                6);
    }
    writer_append(w, "\"", 1);
    if (all >= 0x80 && !utf8_valid(bytes, length))
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

/* ---- other values ---- */

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
    if (w->number_bytes)
        count_bytes(w, w->number_bytes);
    else if (isfinite(number))
        writer_append(w, text, (size_t)(decimal_write(text, number, DECIMAL_DIGITS) - text));
    else
        writer_fail(w);
}

/* Most bytes of a large reply are written here, so room is reserved once. */
void writer_numbers(struct writer *w, const char *key, const float *numbers, size_t count,
                    int digits) {
    writer_begin_array(w, key);
    if (w->number_bytes) {
        count_bytes(w, count > 0 ? count * (w->number_bytes + 1) - 1 : 0);
        writer_end_array(w);
        return;
    }
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

/* ---- decimal numbers ---- */

/* digits[0].digits[1]... x 10^exponent */
struct decimal {
    char digits[DECIMAL_MOST];
    int significant; /* digits without trailing zeros, at least 1 */
    int exponent;
};

/* The range of the fast path: all floats except the smallest subnormal ones. */
static const double least = 1e-44, greatest = 1e40;
static const double powers[] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13,
    1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27,
    1e28, 1e29, 1e30, 1e31, 1e32, 1e33, 1e34, 1e35, 1e36, 1e37, 1e38, 1e39, 1e40, 1e41,
    1e42, 1e43, 1e44, 1e45, 1e46, 1e47, 1e48, 1e49, 1e50, 1e51, 1e52, 1e53,
};

/* number must have this many digits. */
static struct decimal decimal_of(unsigned number, int exponent, int digits) {
    struct decimal decimal = {.significant = digits, .exponent = exponent};
    for (int i = digits; i-- > 0; number /= 10)
        decimal.digits[i] = (char)('0' + number % 10);
    while (decimal.significant > 1 && decimal.digits[decimal.significant - 1] == '0')
        decimal.significant--;
    return decimal;
}

/* Rounds with printf, which knows all digits: 1.23457e-05, or 1.e-05 for a single digit. */
static struct decimal round_exactly(double value, int digits) {
    char text[DECIMAL_BYTES(DECIMAL_MOST) + 3];
    snprintf(text, sizeof text, "%#.*e", digits - 1, value);
    text[1] = text[0]; /* replaces the point: 123457e-05 follows */
    return decimal_of((unsigned)strtoul(text + 1, NULL, 10),
                      (int)strtol(text + digits + 2, NULL, 10), digits);
}

/* Returns value / 10^exponent, with this many digits before the point. Powers above 10^22 are
 * rounded, too; the error stays below 1e-6. */
static double scaled(double value, int exponent, int digits) {
    int shift = digits - 1 - exponent;
    return shift >= 0 ? value * powers[shift] : value / powers[-shift];
}

static struct decimal round_value(double value, int digits) {
    if (value < least || value > greatest)
        return round_exactly(value, digits);

    /* The decimal exponent of the largest power of two up to the value is the value's own, or one
     * less. Floats that are subnormal are normal doubles. Adding 64 makes truncation round down. */
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int binary = (int)(bits >> 52) - 1023,
        exponent = (int)(binary * 0.30102999566398120 + 64) - 64; /* log10(2) */
    double number = scaled(value, exponent, digits), full = powers[digits];
    if (number >= full)
        number = scaled(value, ++exponent, digits);

    /* This close to a half, rounding needs all digits of the value. */
    if (fabs(number - floor(number) - 0.5) < 1e-6)
        return round_exactly(value, digits);
    unsigned rounded = (unsigned)lrint(number);
    return rounded < full ? decimal_of(rounded, exponent, digits)
                          : decimal_of(rounded / 10, exponent + 1, digits);
}

static char *put_digits(char *out, const char *digits, int count) {
    memcpy(out, digits, (size_t)count);
    return out + count;
}

char *decimal_write(char *out, double value, int digits) {
    assert(isfinite(value) && digits >= 1 && digits <= DECIMAL_MOST);
    if (signbit(value))
        *out++ = '-';
    if (value == 0)
        return put_digits(out, "0.0", 3);
    struct decimal decimal = round_value(fabs(value), digits);
    int whole = decimal.exponent + 1;
    if (decimal.exponent < -4 ||
        decimal.exponent >= digits) { /* where printf's %g does the same: 1.23e-5, 1e6 */
        *out++ = decimal.digits[0];
        if (decimal.significant > 1) {
            *out++ = '.';
            out = put_digits(out, decimal.digits + 1, decimal.significant - 1);
        }
        *out++ = 'e';
        if (decimal.exponent < 0)
            *out++ = '-';
        int magnitude = decimal.exponent < 0 ? -decimal.exponent : decimal.exponent;
        if (magnitude >= 100)
            *out++ = (char)('0' + magnitude / 100);
        if (magnitude >= 10)
            *out++ = (char)('0' + magnitude / 10 % 10);
        *out++ = (char)('0' + magnitude % 10);
        return out;
    }
    if (decimal.exponent < 0) { /* 0.000123 */
        out = put_digits(out, "0.000", 1 - decimal.exponent);
        return put_digits(out, decimal.digits, decimal.significant);
    }
    out = put_digits(out, decimal.digits, whole); /* 123.45, 100.0 */
    *out++ = '.';
    if (decimal.significant <= whole)
        return put_digits(out, "0", 1);
    return put_digits(out, decimal.digits + whole, decimal.significant - whole);
}

/* ---- digits of bytes ---- */

void hex_print(const unsigned char *bytes, size_t count, char *text) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        *text++ = digits[bytes[i] >> 4];
        *text++ = digits[bytes[i] & 15];
    }
    *text = '\0';
}

/* Returns -1 if the character is not a digit. */
static int value_of(char digit) {
    static const char digits[] = "0123456789abcdefABCDEF";
    const char *found = digit ? strchr(digits, digit) : NULL;
    long value = found ? found - digits : -1;
    return (int)(value > 15 ? value - 6 : value);
}

static bool parse_byte(const char *text, unsigned char *byte) {
    int high = value_of(text[0]), low = high < 0 ? -1 : value_of(text[1]);
    if (low >= 0)
        *byte = (unsigned char)(high << 4 | low);
    return low >= 0;
}

bool hex_parse(const char *text, unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!parse_byte(text + 2 * i, &bytes[i]))
            return false;
    return text[2 * count] == '\0';
}

void percent_encode(const char *text, char *out) {
    static const char kept[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (strchr(kept, *c)) {
            *out++ = (char)*c;
            continue;
        }
        *out++ = '%';
        *out++ = capitals[*c >> 4];
        *out++ = capitals[*c & 15];
    }
    *out = '\0';
}

size_t percent_decode(const char *text, size_t length, char *out) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte;
        if (text[i] == '%' && length - i > 2 && parse_byte(text + i + 1, &byte)) {
            out[count++] = (char)byte;
            i += 2;
        } else {
            out[count++] = text[i];
        }
    }
    out[count] = '\0';
    return count;
}

/* ---- lists ---- */

int name_list_add(struct name_list *list, const char *name, size_t length) {
    char *copy = strndup(name, length);
    char **names = copy ? reallocarray(list->names, list->count + 1, sizeof *names) : NULL;
    if (!names) {
        free(copy);
        return -1;
    }
    list->names = names;
    names[list->count++] = copy;
    return 0;
}

/* Returns the index of the name, or count if the list does not contain it. */
static size_t index_of(const struct name_list *list, const char *name) {
    size_t i = 0;
    while (i < list->count && strcmp(list->names[i], name) != 0)
        i++;
    return i;
}

bool name_list_has(const struct name_list *list, const char *name) {
    return index_of(list, name) < list->count;
}

void name_list_remove(struct name_list *list, const char *name) {
    size_t i = index_of(list, name);
    if (i == list->count)
        return;
    free(list->names[i]);
    memmove(&list->names[i], &list->names[i + 1], (list->count - i - 1) * sizeof *list->names);
    list->count--;
}

void name_list_done(struct name_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->names[i]);
    free(list->names);
    *list = (struct name_list){0};
}
