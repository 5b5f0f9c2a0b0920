/* Characters: reading and writing them one at a time as UTF-8, and their properties. */
#ifndef ALIGND_CHARACTER_H
#define ALIGND_CHARACTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the character at text[*next], *next < length, and moves *next to its end. Returns -1 for ill-formed bytes (a stray or
 * missing continuation, an overlong form, a surrogate, anything past U+10FFFF), of which *next then passes at least one. */
int32_t character_next(const char *text, size_t length, size_t *next);
/* The same backwards: reads the character that ends at *end, *end > 0, and moves *end to its beginning. */
int32_t character_previous(const char *text, size_t *end);

/* Unicode's White_Space; false for -1. */
bool character_is_space(int32_t character);
/* Line and paragraph separators, CR and LF, NEL: characters that always end a line. */
bool character_ends_line(int32_t character);
/* Unicode's categories P (punctuation) and S (symbols); false for -1. */
bool character_is_punctuation(int32_t character);
/* Unicode's category P alone; false for -1. */
bool character_is_mark(int32_t character);
/* Unicode's category C: control and format characters, private use, unassigned. */
bool character_is_other(int32_t character);
/* Chinese, Japanese and Korean letters and marks, which have no space between them; false for -1. */
bool character_is_wide(int32_t character);
/* A letter or digit of a script that writes spaces between words; false for -1. */
bool character_is_spaced(int32_t character);
/* The number of a character's script, below CHARACTER_SCRIPTS; 0 for one that belongs to several or to none, and for -1. */
enum { CHARACTER_SCRIPTS = 512 };
size_t character_script(int32_t character);
/* Unicode's simple lower and upper case: one character for one. */
int32_t character_lower(int32_t character);
int32_t character_upper(int32_t character);

/* Writes a character as at most 4 bytes and returns their number. */
size_t character_put(int32_t character, char *to);

/* Bytes of ASCII; the functions of <ctype.h> depend on the locale. */
static inline bool ascii_digit(char c) {
    return c >= '0' && c <= '9';
}

static inline bool ascii_upper(char c) {
    return c >= 'A' && c <= 'Z';
}

static inline bool ascii_letter(char c) {
    return ascii_upper(c) || (c >= 'a' && c <= 'z');
}

/* A letter or digit of any alphabet: all bytes of other characters count. */
static inline bool ascii_word(char c) {
    return ascii_letter(c) || ascii_digit(c) || (unsigned char)c >= 0x80;
}

#endif
