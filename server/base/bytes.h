/* This module has the bytes of texts and documents: ranges that somebody else owns, and a buffer
 * that grows in an arena. */
#ifndef ALIGND_BYTES_H
#define ALIGND_BYTES_H

#include "model/base/arena.h"
#include "model/base/utf8.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static const struct bytes nothing = {"", 0};

static inline struct bytes bytes_between(const char *begin, const char *end) {
    return (struct bytes){begin, (size_t)(end - begin)};
}
static inline struct bytes bytes_of(const char *text) {
    return (struct bytes){text, strlen(text)};
}
static inline bool bytes_are(struct bytes bytes, const char *text) {
    return bytes.length == strlen(text) && memcmp(bytes.start, text, bytes.length) == 0;
}
static inline bool bytes_same_any_case(struct bytes a, struct bytes b) {
    return a.length == b.length && strncasecmp(a.start, b.start, a.length) == 0;
}
static inline bool bytes_are_any_case(struct bytes bytes, const char *text) {
    return bytes_same_any_case(bytes, bytes_of(text));
}
/* True if the bytes at `at` begin with the text. */
static inline bool bytes_begin(const char *at, const char *end, const char *text) {
    size_t length = strlen(text);
    return (size_t)(end - at) >= length && memcmp(at, text, length) == 0;
}
/* Returns the bytes without white space at both ends. */
struct bytes bytes_trimmed(struct bytes bytes);
static inline bool bytes_same(struct bytes a, struct bytes b) {
    return a.length == b.length && (a.length == 0 || memcmp(a.start, b.start, a.length) == 0);
}

/* True if the word is one of a list that spaces separate. */
bool bytes_among(struct bytes word, const char *list);
/* Like bytes_among, but ignores the case of ASCII letters. */
bool bytes_among_any_case(struct bytes word, const char *list);

/* True if two codes are of one language, regardless of their regions. */
bool bytes_same_language(struct bytes a, struct bytes b);

/* Bytes that grow in an arena. */
struct bytes_buffer {
    struct arena *arena;
    char *bytes; /* [length] and a NUL, once something was put */
    size_t length, capacity;
    bool failed; /* memory ran out, and nothing more is added */
};

void bytes_put(struct bytes_buffer *buffer, const char *bytes, size_t length);
void bytes_put_string(struct bytes_buffer *buffer, const char *string);
/* Returns the bytes (NULL if nothing was put), or NULL with ERROR_MEMORY if the buffer has failed.
 */
char *bytes_take(const struct bytes_buffer *buffer, size_t *length, struct error *err);
/* Appends the text with references for the given marks, which are some of "&<>\"", and a space for
 * each character that XML does not allow: control characters other than tabs and line ends, and
 * noncharacters. */
void bytes_put_escaped(struct bytes_buffer *buffer, const char *text, size_t length,
                       const char *marks);

/* True for HTML's white space. */
static inline bool byte_is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

#endif
