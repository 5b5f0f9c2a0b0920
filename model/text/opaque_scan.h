/* A text that is looked through for opaque runs, and how its characters are called. Included by opaque.c and opaque_codes.c only.
 */
#ifndef ALIGND_OPAQUE_SCAN_H
#define ALIGND_OPAQUE_SCAN_H

#include "model/text/character.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* No code that people type is longer, but for the words of other kinds; the bound keeps the time proportional to the length. */
enum { MAX_CODE = 256 };

/* A text, and where a run may begin in it. */
struct scan {
    const char *text;
    size_t length, begin;
};

static inline char peek(const struct scan *scan, size_t at) {
    return at < scan->length ? scan->text[at] : '\0';
}

/* Not <ctype.h>'s, which know locales. */
static inline bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static inline bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}

static inline bool is_letter(char c) {
    return is_upper(c) || (c >= 'a' && c <= 'z');
}

static inline bool is_one_of(char c, const char *set) {
    return c != '\0' && strchr(set, c);
}

/* A letter or digit, of any alphabet. */
static inline bool is_word(char c) {
    return is_letter(c) || is_digit(c) || (unsigned char)c >= 0x80;
}

static inline size_t scan_skip(const struct scan *scan, size_t at, const char *set) {
    while (is_one_of(peek(scan, at), set))
        at++;
    return at;
}

static inline size_t skip_digits(const struct scan *scan, size_t at) {
    return scan_skip(scan, at, "0123456789");
}

static inline int32_t character_at(const struct scan *scan, size_t at, size_t *next) {
    *next = at;
    return at < scan->length ? character_next(scan->text, scan->length, next) : -1;
}

static inline bool begins_word(const struct scan *scan) {
    return scan->begin == 0 || !is_word(scan->text[scan->begin - 1]);
}

/* Ends an address at what is more likely of the sentence: a closing bracket only if it has none to close within. */
size_t scan_trim(const struct scan *scan, size_t first, size_t end);

#endif
