/* What the server needs to know about UTF-8. */
#ifndef ALIGND_UTF8_H
#define ALIGND_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* True if the bytes are well-formed UTF-8 (no surrogates, no overlong forms, nothing past U+10FFFF). */
bool utf8_valid(const char *text, size_t length);
/* Characters (code points) of valid UTF-8. */
size_t utf8_count(const char *text, size_t length);
/* The longest prefix of at most max_bytes that ends on a character boundary. */
size_t utf8_clip(const char *text, size_t length, size_t max_bytes);

/* Turns byte positions in one text into UTF-16 positions; quickest when they rise. */
struct utf16_cursor {
    const char *text;
    size_t byte, unit;
};
size_t utf16_position(struct utf16_cursor *cursor, size_t byte);

#endif
