/* One character at a time out of UTF-8. */
#ifndef ALIGND_CHARACTER_H
#define ALIGND_CHARACTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the character at text[*next], *next < length, and moves *next behind it. Ill-formed bytes (a stray or missing
 * continuation, an overlong form, a surrogate, anything past U+10FFFF): -1, and *next is behind at least one of them. */
int32_t character_next(const char *text, size_t length, size_t *next);
/* The same backwards: reads the character that ends at *end, *end > 0, and moves *end to its begin. */
int32_t character_previous(const char *text, size_t *end);

/* Unicode's White_Space; false for -1. */
bool character_is_space(int32_t character);
/* Line and paragraph separators, CR and LF, NEL: what must end a line. */
bool character_ends_line(int32_t character);
/* Unicode's categories P (punctuation) and S (symbols); false for -1. */
bool character_is_punctuation(int32_t character);
/* Unicode's category P alone; false for -1. */
bool character_is_mark(int32_t character);
/* Unicode's category C: control and format characters, private use, unassigned. */
bool character_is_other(int32_t character);
/* Chinese, Japanese and Korean letters and marks, between which no space stands; false for -1. */
bool character_is_wide(int32_t character);
/* A letter or digit of a script that writes spaces between words; false for -1. */
bool character_is_spaced(int32_t character);
/* Unicode's simple lower and upper case: one character of one. */
int32_t character_lower(int32_t character);
int32_t character_upper(int32_t character);

/* Writes a character, at most 4 bytes; returns how many. */
size_t character_put(int32_t character, char *to);

#endif
