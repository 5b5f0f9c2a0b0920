/* Reads any bytes as UTF-8; counts, cuts and locates in valid UTF-8. */
#ifndef ALIGND_UTF8_H
#define ALIGND_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the number of bytes of the first character of any bytes, length >= 1, and says whether it is well-formed. If it is not,
 * the bytes are the first one and those that continue it, at most as many as it announces. */
size_t utf8_first(const char *text, size_t length, bool *valid);

/* True if all of it is well-formed: no overlong forms, no surrogates, no code points above U+10FFFF. */
bool utf8_valid(const char *text, size_t length);

/* Counts the characters (code points) of valid UTF-8. */
size_t utf8_count(const char *text, size_t length);
/* Returns the length of the longest prefix of at most max_bytes that ends on a character boundary. */
size_t utf8_clip(const char *text, size_t length, size_t max_bytes);

/* The line and column of a byte, in characters, both from 1. at: in the text, or at its end. */
struct utf8_place {
    size_t line, column;
};
struct utf8_place utf8_place(const char *text, const char *at);

/* Turns byte positions in a text into UTF-16 positions; fastest if they rise. */
struct utf16_cursor {
    const char *text;
    size_t byte, unit;
};
size_t utf16_position(struct utf16_cursor *cursor, size_t byte);

#endif
