#include "model/base/utf8.h"
#include <stdbool.h>

static bool continues(char byte) {
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* Bytes of a character by its first one; 0: no character begins so. */
static size_t size_of(unsigned char first) {
    if (first < 0x80)
        return 1;
    if (first < 0xC0)
        return 0;
    return first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF8 ? 4 : 0;
}

/* True if a first byte and its second stand for a character that has no shorter form, is no surrogate and not past U+10FFFF. */
static bool may_begin(unsigned char first, unsigned char second) {
    if (first == 0xE0 || first == 0xF0)
        return second >= (first == 0xE0 ? 0xA0 : 0x90);
    if (first == 0xED || first == 0xF4)
        return second < (first == 0xED ? 0xA0 : 0x90);
    return first >= 0xC2 && first < 0xF4;
}

size_t utf8_first(const char *text, size_t length, bool *valid) {
    unsigned char first = (unsigned char)text[0];
    size_t size = size_of(first), at = 1;
    while (at < size && at < length && continues(text[at]))
        at++;
    *valid = size == 1 || (size > 1 && at == size && may_begin(first, (unsigned char)text[1]));
    return at;
}

bool utf8_valid(const char *text, size_t length) {
    bool valid = true;
    for (size_t at = 0; valid && at < length;)
        at += utf8_first(text + at, length - at, &valid);
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

size_t utf16_position(struct utf16_cursor *cursor, size_t byte) {
    if (byte < cursor->byte)
        cursor->byte = cursor->unit = 0;
    for (; cursor->byte < byte; cursor->byte++) {
        unsigned char c = (unsigned char)cursor->text[cursor->byte];
        /* characters of four bytes lie outside the basic plane: a surrogate pair */
        cursor->unit += (c & 0xC0) == 0x80 ? 0 : c >= 0xF0 ? 2 : 1;
    }
    return cursor->unit;
}
