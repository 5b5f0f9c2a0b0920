/* This module has strings that grow, and notations that programs read: JSON, decimal numbers,
 * hexadecimal digits and percent-encoding. */
#ifndef ALIGND_STRINGS_H
#define ALIGND_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- JSON ----
 *
 * A writer puts the JSON of a reply into one growing buffer. The text is the same as jansson dumps
 * with JSON_COMPACT and JSON_REAL_PRECISION(DECIMAL_DIGITS), byte for byte, without the tree and in
 * a fraction of the time.
 *
 * Failures stick: once memory runs out, the limit is exceeded, or a value is not JSON (a string
 * that is not UTF-8, a number that is not finite), nothing more is written. A group of calls needs
 * only one check at its end.
 *
 * Objects and arrays nest up to WRITER_DEPTH; the caller that begins one must end it, even after a
 * failure. Every function that writes a value takes its key: in an object a string without
 * characters that need escapes; in an array and at the top level NULL.
 *
 * A writer that counts (number_bytes > 0) writes nothing: its length grows as if each number had
 * number_bytes and no character needed an escape. The values of numbers are not read and may be
 * NULL, and an array of numbers takes constant time, so that the length of a reply is known for a
 * fraction of the time of writing it.
 */

enum {
    WRITER_DEPTH = 64,
    DECIMAL_DIGITS = 6, /* significant digits, unless the caller asks for others */
    DECIMAL_MOST = 9,   /* enough to distinguish any two floats */
};
/* The longest number with this many digits: -1.23457e-308. */
#define DECIMAL_BYTES(digits) ((digits) + 7)

/* The shortest number: 0.0, 1e6. A writer that counts with it never exceeds what would be written.
 */
enum { WRITER_LEAST_NUMBER = 3 };

/* Starts as {.most = ...}. */
struct writer {
    char *bytes; /* [length] and a NUL, malloc'ed; NULL: empty */
    size_t length, capacity;
    size_t most;           /* limit of length; SIZE_MAX: none */
    size_t number_bytes;   /* the writer counts; 0: it writes */
    bool too_long, failed; /* the limit was exceeded; any other failure */
    bool comma;            /* a comma must precede the next value */
    unsigned depth;        /* open objects and arrays */
    uint64_t objects;      /* bit i: at depth i there is an object */
};

void writer_begin_object(struct writer *w, const char *key);
void writer_end_object(struct writer *w);
void writer_begin_array(struct writer *w, const char *key);
void writer_end_array(struct writer *w);

void writer_string(struct writer *w, const char *key, const char *string);
/* bytes: [length], any characters including NUL. */
void writer_string_of(struct writer *w, const char *key, const char *bytes, size_t length);
/* Writes members of an object: a key, its string, another key, its string, ... and NULL. */
__attribute__((sentinel)) void writer_strings(struct writer *w, ...);
void writer_integer(struct writer *w, const char *key, int64_t number);
/* Writes a finite number as decimal_write does, with DECIMAL_DIGITS. */
void writer_number(struct writer *w, const char *key, double number);
void writer_boolean(struct writer *w, const char *key, bool value);
void writer_null(struct writer *w, const char *key);
/* Writes an array of finite numbers, each with this many digits. */
void writer_numbers(struct writer *w, const char *key, const float *numbers, size_t count,
                    int digits);
/* Writes a value that is already JSON. */
void writer_json(struct writer *w, const char *key, const char *json);

/* Appends bytes unchanged, outside all values, for a reply that contains more than JSON. */
void writer_put(struct writer *w, const char *bytes, size_t length);
/* Marks a failure, for a caller that ran out of memory before it could write. */
void writer_fail(struct writer *w);

/* Returns true after a failure: further writing is pointless. */
static inline bool writer_ended(const struct writer *w) {
    return w->too_long || w->failed;
}

/* count: a count, size or index, which is always far below 2^63. */
static inline void writer_count(struct writer *w, const char *key, size_t count) {
    writer_integer(w, key, (int64_t)count);
}

/* Returns the text, NUL-terminated, for the caller to free; NULL after a failure or if nothing was
 * written. The writer is then empty, but keeps its limit and failure. */
char *writer_take(struct writer *w);
void writer_done(struct writer *w);

/* Writes value, which must be finite, with 1 to DECIMAL_MOST digits, rounded as printf rounds it
 * and without trailing zeros, as jansson does: 0.0, 1.0, 0.0800003, 8.67509e-5. Returns the end of
 * the text, at most out + DECIMAL_BYTES(digits); does not write a NUL. Takes a seventh of printf's
 * time: 22 ns instead of 160. */
char *decimal_write(char *out, double value, int digits);

/* ---- digits of bytes: hexadecimal, and percent-encoding (RFC 3986) ---- */

/* bytes: [count]. text: 2 x count digits and a NUL. */
void hex_print(const unsigned char *bytes, size_t count, char *text);
/* text: NUL-terminated. Returns false if it is not 2 x count hexadecimal digits. */
bool hex_parse(const char *text, unsigned char *bytes, size_t count);

/* ASCII letters and digits and "-._~" are copied; each other byte becomes "%" and two digits. out:
 * room for three times the bytes and a NUL. */
void percent_encode(const char *text, char *out);
/* out: room for as many bytes and a NUL. A "%" that is not followed by two digits is copied.
 * Returns the number of bytes. */
size_t percent_decode(const char *text, size_t length, char *out);

/* ---- lists: of an option's model folders, addresses or origins ---- */

struct name_list {
    char **names; /* [count], owned */
    size_t count;
};

/* Appends a copy of length bytes. Returns -1 if memory runs out. */
int name_list_add(struct name_list *list, const char *name, size_t length);
bool name_list_has(const struct name_list *list, const char *name);
/* Removes the name if the list contains it. */
void name_list_remove(struct name_list *list, const char *name);
/* Frees the strings and empties the list. */
void name_list_done(struct name_list *list);

#endif
