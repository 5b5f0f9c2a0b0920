/* JSON as it is written: every reply, into one growing buffer. The text is what jansson dumps with JSON_COMPACT and
 * JSON_REAL_PRECISION(DECIMAL_DIGITS), byte for byte, without the tree and in a fraction of the time.
 *
 * Failure sticks: once memory is out, the limit reached, or something was to be written that JSON has not (a string that is not
 * UTF-8, a number that is not finite), nothing is written any more. A group of calls is checked once, at its end.
 *
 * Objects and arrays nest up to WRITER_DEPTH; each is ended by who began it, whether or not anything failed. Every function that
 * writes a value takes its key: in an object, ours, without anything to escape; in an array and outside of all, NULL. */
#ifndef ALIGND_WRITER_H
#define ALIGND_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WRITER_DEPTH = 64 };

/* Starts as {.most = ...}. */
struct writer {
    char *bytes; /* [length] and a NUL, malloc'ed; NULL: empty */
    size_t length, capacity;
    size_t most;           /* bytes that may be written; SIZE_MAX: any number */
    bool too_long, failed; /* the limit; anything else */
    bool comma;            /* the next value has one before it */
    unsigned depth;        /* objects and arrays that are open */
    uint64_t objects;      /* bit i: the one at depth i is an object */
};

void writer_begin_object(struct writer *w, const char *key);
void writer_end_object(struct writer *w);
void writer_begin_array(struct writer *w, const char *key);
void writer_end_array(struct writer *w);

void writer_string(struct writer *w, const char *key, const char *string);
/* [length] bytes, any characters, NUL too. */
void writer_string_of(struct writer *w, const char *key, const char *bytes, size_t length);
/* Members of an object: a key, its string, another key, its string, ... and NULL. */
__attribute__((sentinel)) void writer_strings(struct writer *w, ...);
void writer_integer(struct writer *w, const char *key, int64_t number);
/* As decimal_write, with DECIMAL_DIGITS. */
void writer_number(struct writer *w, const char *key, double number);
void writer_boolean(struct writer *w, const char *key, bool value);
void writer_null(struct writer *w, const char *key);
/* An array of numbers, each with so many digits. */
void writer_numbers(struct writer *w, const char *key, const float *numbers, size_t count, int digits);
/* A value that is JSON already. */
void writer_json(struct writer *w, const char *key, const char *json);

/* Bytes as they are, outside of all values: what a reply has around them. */
void writer_put(struct writer *w, const char *bytes, size_t length);
/* What was to be written could not be made: memory is out. */
void writer_fail(struct writer *w);

/* True: it failed, and whatever else would be written is of no use. */
static inline bool writer_ended(const struct writer *w) {
    return w->too_long || w->failed;
}

/* Of a count, size or index, which are all far below 2^63. */
static inline void writer_count(struct writer *w, const char *key, size_t count) {
    writer_integer(w, key, (int64_t)count);
}

/* The text, NUL-terminated, to be freed; NULL if it failed. The writer is as at its start then, but for its limit and failure. */
char *writer_take(struct writer *w);
void writer_done(struct writer *w);

#endif
