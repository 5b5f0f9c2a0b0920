/* Reading UTF-8, and counting and cutting what is known to be valid. */
#ifndef ALIGND_UTF8_H
#define ALIGND_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the first character of a text of any bytes, length >= 1. *valid: it is well-formed; if not, the bytes are the first and
 * those behind it that continue as many as it announces. */
size_t utf8_first(const char *text, size_t length, bool *valid);

/* All of it is well-formed: no overlong forms, no surrogates, nothing past U+10FFFF. */
bool utf8_valid(const char *text, size_t length);

/* Characters (code points) of valid UTF-8. */
size_t utf8_count(const char *text, size_t length);
/* The longest prefix of at most max_bytes that ends on a character boundary. */
size_t utf8_clip(const char *text, size_t length, size_t max_bytes);

/* Where a byte of a text stands: its line and column in characters, both from 1. at: in the text, or at its end. */
struct utf8_place {
    size_t line, column;
};
struct utf8_place utf8_place(const char *text, const char *at);

/* Turns byte positions in one text into UTF-16 positions; quickest when they rise. */
struct utf16_cursor {
    const char *text;
    size_t byte, unit;
};
size_t utf16_position(struct utf16_cursor *cursor, size_t byte);

#endif
