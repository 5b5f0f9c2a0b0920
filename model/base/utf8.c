/* This file hides how UTF-8 encodes a character; ICU has the properties of characters. */
#include "model/base/utf8.h"
#include <stdio.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uscript.h>
#include <unicode/ustring.h>

/* ---- texts ---- */

static bool continues(char byte) {
    return ((unsigned char)byte & 0xC0) == 0x80;
}

size_t utf8_first(const char *text, size_t length, bool *valid) {
    unsigned char first = (unsigned char)text[0];
    size_t size = first < 0x80   ? 1
                  : first < 0xC0 ? 0
                  : first < 0xE0 ? 2
                  : first < 0xF0 ? 3
                  : first < 0xF8 ? 4
                                 : 0,
           at = 1;
    while (at < size && at < length && continues(text[at]))
        at++;
    *valid = size == 1;
    if (size < 2 || at < size)
        return at;

    /* The first two bytes show whether there is a shorter form, or the character is a surrogate or
     * beyond U+10FFFF. */
    unsigned char second = (unsigned char)text[1];
    if (first == 0xE0 || first == 0xF0)
        *valid = second >= (first == 0xE0 ? 0xA0 : 0x90);
    else if (first == 0xED || first == 0xF4)
        *valid = second < (first == 0xED ? 0xA0 : 0x90);
    else
        *valid = first >= 0xC2 && first < 0xF4;
    return at;
}

bool utf8_valid(const char *text, size_t length) {
    bool valid = true;
    for (size_t at = 0; valid && at < length;)
        at += (unsigned char)text[at] < 0x80 ? 1 : utf8_first(text + at, length - at, &valid);
    return valid;
}

size_t utf8_count(const char *text, size_t length) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += !continues(text[i]);
    return count;
}

size_t utf8_clip(const char *text, size_t length, size_t max_bytes) {
    if (length <= max_bytes)
        return length;
    size_t end = max_bytes;
    while (end > 0 && continues(text[end]))
        end--;
    return end;
}

struct utf8_place utf8_place(const char *text, const char *at) {
    struct utf8_place place = {1, 1};
    for (const char *c = text; c < at; c++) {
        place.column = *c == '\n' ? 1 : place.column + !continues(*c);
        place.line += *c == '\n';
    }
    return place;
}

/* Characters of four bytes take a surrogate pair. */
static size_t units_of(char c) {
    return continues(c) ? 0 : (unsigned char)c >= 0xF0 ? 2 : 1;
}

size_t character_utf16_position(struct utf16_cursor *cursor, size_t byte) {
    if (byte < cursor->byte / 2)
        cursor->byte = cursor->unit = 0;
    for (; cursor->byte < byte; cursor->byte++)
        cursor->unit += units_of(cursor->text[cursor->byte]);
    for (; cursor->byte > byte; cursor->byte--)
        cursor->unit -= units_of(cursor->text[cursor->byte - 1]);
    return cursor->unit;
}

/* ---- characters ---- */

int32_t character_next(const char *text, size_t length, size_t *next) {
    unsigned char lead = (unsigned char)text[*next];
    size_t begin = *next, size = 1;
    bool valid = true;
    if (lead >= 0x80)
        size = utf8_first(text + begin, length - begin, &valid);
    *next += size;
    int32_t character = size == 1 ? lead : lead & (0x7f >> size);
    for (size_t i = 1; i < size; i++)
        character = character << 6 | (text[begin + i] & 0x3f);
    return valid ? character : -1;
}

int32_t character_previous(const char *text, size_t *end) {
    size_t length = *end, begin = length - 1;
    while (begin > 0 && length - begin < 4 && continues(text[begin]))
        begin--;
    size_t next = begin;
    int32_t character = character_next(text, length, &next);
    bool whole = next == length;
    *end = whole ? begin : length - 1;
    return whole ? character : -1;
}

size_t character_put(int32_t character, char *to) {
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t size = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (size_t i = size; i-- > 1; character >>= 6)
        to[i] = (char)(0x80 | (character & 0x3f));
    to[0] = (char)(leads[size] | character);
    return size;
}

/* ---- showing text to people ---- */

/* True if a terminal may obey the character, or it ends or reorders a line. */
static bool is_unseen(int32_t character) {
    int8_t category = u_charType(character);
    return category == U_CONTROL_CHAR || category == U_LINE_SEPARATOR ||
           category == U_PARAGRAPH_SEPARATOR || u_hasBinaryProperty(character, UCHAR_BIDI_CONTROL);
}

size_t utf8_show(const char *text, size_t length, size_t *next, char shown[UTF8_SHOWN_BYTES]) {
    size_t begin = *next;
    int32_t character = character_next(text, length, next);
    if (character < 0) {
        shown[0] = '?';
        return 1;
    }
    if (is_unseen(character)) /* all of them have four digits */
        return (size_t)snprintf(shown, UTF8_SHOWN_BYTES, "\\u%04x", (unsigned)character);
    memcpy(shown, text + begin, *next - begin);
    return *next - begin;
}

/* ---- properties ---- */

bool character_is_among(int32_t character, const wchar_t *characters) {
    return character > 0 && wcschr(characters, (wchar_t)character);
}

bool character_is_space(int32_t character) {
    return character >= 0 && u_isUWhiteSpace(character);
}

bool character_is_letter(int32_t character) {
    return character >= 0 && u_isalnum(character);
}

bool character_is_digit(int32_t character) {
    return character >= 0 && u_isdigit(character);
}

bool character_space_before(const char *text, size_t at) {
    return at == 0 || character_is_space(character_previous(text, &at));
}

bool character_space_after(const char *text, size_t at) {
    size_t length = strlen(text);
    return at >= length || character_is_space(character_next(text, length, &at));
}

bool character_ends_line(int32_t character) {
    return character == '\n' || character == '\r' || character == 0x85 || character == 0x2028 ||
           character == 0x2029;
}

bool character_is_punctuation(int32_t character) {
    return character >= 0 && (U_GET_GC_MASK(character) & (U_GC_P_MASK | U_GC_S_MASK)) != 0;
}

bool character_is_mark(int32_t character) {
    return character >= 0 && (U_GET_GC_MASK(character) & U_GC_P_MASK) != 0;
}

bool character_is_other(int32_t character) {
    return character < 0 || (U_GET_GC_MASK(character) & U_GC_C_MASK) != 0;
}

bool character_is_wide(int32_t character) {
    int32_t width = u_getIntPropertyValue(character, UCHAR_EAST_ASIAN_WIDTH);
    return width == U_EA_WIDE || width == U_EA_FULLWIDTH;
}

bool character_is_spaced(int32_t character) {
    return character >= 0 && !character_is_space(character) &&
           !character_is_punctuation(character) && !character_is_wide(character);
}

/* Lines may end beside Thai and Chinese letters, and after Tibetan and Ethiopic marks. */
bool character_joins(int32_t character) {
    if (character < 0x80)
        return character > ' ';
    int32_t lines = u_getIntPropertyValue(character, UCHAR_LINE_BREAK);
    bool separates = lines == U_LB_COMPLEX_CONTEXT || lines == U_LB_IDEOGRAPHIC ||
                     lines == U_LB_ZWSPACE ||
                     (lines == U_LB_BREAK_AFTER && u_charType(character) != U_DASH_PUNCTUATION);
    return !separates && !character_is_space(character) && !character_is_wide(character);
}

int character_digit(int32_t character) {
    if (character < 0x80)
        return character >= '0' && character <= '9' ? character - '0' : -1;
    return u_charDigitValue(character);
}

size_t character_script(int32_t character) {
    UErrorCode status = U_ZERO_ERROR;
    UScriptCode script = character < 0 ? USCRIPT_COMMON : uscript_getScript(character, &status);
    bool own = U_SUCCESS(status) && script > USCRIPT_INHERITED && (int)script < CHARACTER_SCRIPTS &&
               script != USCRIPT_UNKNOWN;
    return own ? (size_t)script : 0;
}

int32_t character_lower(int32_t character) {
    return u_tolower(character);
}

int32_t character_upper(int32_t character) {
    return u_toupper(character);
}

size_t character_decompose(int32_t character, int32_t parts[CHARACTER_PARTS]) {
    UErrorCode status = U_ZERO_ERROR;
    UChar units[CHARACTER_PARTS];
    parts[0] = character;
    if (character < 0xc0) /* no earlier character has a decomposition */
        return 1;
    const UNormalizer2 *nfd = unorm2_getNFDInstance(&status);
    int32_t length = U_SUCCESS(status)
                         ? unorm2_getDecomposition(nfd, character, units, CHARACTER_PARTS, &status)
                         : -1;
    if (U_FAILURE(status) || length <= 0)
        return 1;
    int32_t count = 0;
    u_strToUTF32(parts, CHARACTER_PARTS, &count, units, length, &status);
    return (size_t)count;
}
