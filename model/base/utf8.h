/* This module validates UTF-8; counts, clips and locates characters in valid text; and reads,
 * writes and classifies single characters. */
#ifndef ALIGND_UTF8_H
#define ALIGND_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

/* ---- texts ---- */

/* A text or another run of bytes that somebody else owns and that outlives this struct. */
struct bytes {
    const char *start; /* [length] */
    size_t length;
};

/* Returns the number of bytes of the text's first character, length >= 1, and whether it is
 * well-formed. The text may be any bytes: an ill-formed character is one byte and the continuation
 * bytes after it, at most as many as the first byte announces. */
size_t utf8_first(const char *text, size_t length, bool *valid);

/* True if all of it is well-formed: no overlong forms, no surrogates, no code points above
 * U+10FFFF. */
bool utf8_valid(const char *text, size_t length);

/* Counts the characters (code points) of valid UTF-8. */
size_t utf8_count(const char *text, size_t length);
/* Returns the length of the longest prefix of at most max_bytes that ends on a character boundary.
 */
size_t utf8_clip(const char *text, size_t length, size_t max_bytes);

/* The line of byte `at`, and its column in characters, both from 1. at may be the end of the text.
 */
struct utf8_place {
    size_t line, column;
};
struct utf8_place utf8_place(const char *text, const char *at);

/* Turns byte positions in a text into UTF-16 positions, fastest if they rise. */
struct utf16_cursor {
    const char *text;
    size_t byte, unit;
};
size_t character_utf16_position(struct utf16_cursor *cursor, size_t byte);

/* ---- characters ---- */

/* Reads the character at text[*next], *next < length, and moves *next to its end. Returns -1 for
 * ill-formed bytes (a stray or missing continuation, an overlong form, a surrogate, anything past
 * U+10FFFF), and moves *next past at least one of them. */
int32_t character_next(const char *text, size_t length, size_t *next);
/* Does the same backwards: reads the character that ends at *end, *end > 0, and moves *end to its
 * beginning. */
int32_t character_previous(const char *text, size_t *end);

/* Writes a character as at most 4 bytes and returns their number. */
size_t character_put(int32_t character, char *to);

/* ---- showing text to people ----
 *
 * Text from files and the network may have characters that a terminal obeys instead of showing
 * them, or that make a line look like another one. */

enum { UTF8_SHOWN_BYTES = 8 };
/* Writes the character at text[*next], *next < length, as a line may show it, and moves *next to
 * its end. Control characters, line and paragraph separators, and controls of the direction of
 * writing become an escape such as \u001b; an ill-formed character becomes "?". Returns the number
 * of bytes written, without a zero byte. */
size_t utf8_show(const char *text, size_t length, size_t *next, char shown[UTF8_SHOWN_BYTES]);

/* ---- properties ---- */

/* True if the character is one of these; false for 0 and -1. */
bool character_is_among(int32_t character, const wchar_t *characters);
/* Unicode's White_Space; false for -1. */
bool character_is_space(int32_t character);
/* White space, or the text's end, is on this side of text[at]. text: NUL-terminated. */
bool character_space_before(const char *text, size_t at);
bool character_space_after(const char *text, size_t at);
/* Line and paragraph separators, CR and LF, NEL: characters that always end a line. */
bool character_ends_line(int32_t character);
/* A letter or a digit of any script; false for -1. */
bool character_is_letter(int32_t character);
/* A decimal digit of any script; false for -1. */
bool character_is_digit(int32_t character);
/* Unicode's categories P (punctuation) and S (symbols); false for -1. */
bool character_is_punctuation(int32_t character);
/* Unicode's category P alone; false for -1. */
bool character_is_mark(int32_t character);
/* Unicode's category C: control and format characters, private use, unassigned; true for -1. */
bool character_is_other(int32_t character);
/* Unicode's wide and full-width characters: Chinese, Japanese and Korean ones, and most emoji;
 * false for -1. */
bool character_is_wide(int32_t character);
/* Neither white space nor punctuation, a symbol or wide: a letter or digit of most scripts with
 * spaces; false for -1. */
bool character_is_spaced(int32_t character);
/* Part of a stretch that white space ends: neither white space, nor a letter of a script that
 * writes no spaces, nor a mark between its words; false for -1. */
bool character_joins(int32_t character);
/* Returns the value of a decimal digit of any script, or -1. */
int character_digit(int32_t character);
/* Returns the number of a character's script, below CHARACTER_SCRIPTS; 0 for one that belongs to
 * several or to none, and for -1. */
enum { CHARACTER_SCRIPTS = 512 };
size_t character_script(int32_t character);
/* Unicode's simple lower and upper case: one character for one. */
int32_t character_lower(int32_t character);
int32_t character_upper(int32_t character);
/* Writes the canonical decomposition of a character (NFD), or the character itself. Returns the
 * number of characters. */
enum { CHARACTER_PARTS = 18 };
size_t character_decompose(int32_t character, int32_t parts[CHARACTER_PARTS]);

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

/* True if the byte is one of the string; false for a zero byte. */
static inline bool ascii_among(char c, const char *set) {
    return c != '\0' && strchr(set, c);
}

/* A letter or digit. Every byte of a character outside ASCII counts as one. */
static inline bool ascii_word(char c) {
    return ascii_letter(c) || ascii_digit(c) || (unsigned char)c >= 0x80;
}

#endif
