/* This file hides how UTF-8 encodes a character: which bytes begin one and which continue it. */
#include "model/base/utf8.h"

static bool continues(char byte) {
    return ((unsigned char)byte & 0xC0) == 0x80;
}

size_t utf8_first(const char *text, size_t length, bool *valid) {
    unsigned char first = (unsigned char)text[0];
    size_t size = first < 0x80 ? 1 : first < 0xC0 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF8 ? 4 : 0, at = 1;
    while (at < size && at < length && continues(text[at]))
        at++;
    *valid = size == 1;
    if (size < 2 || at < size)
        return at;

    /* The first two bytes show whether there is a shorter form, or the character is a surrogate or beyond U+10FFFF. */
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
        char c = cursor->text[cursor->byte];
        /* characters of four bytes take a surrogate pair */
        cursor->unit += continues(c) ? 0 : (unsigned char)c >= 0xF0 ? 2 : 1;
    }
    return cursor->unit;
}
