#include "server/utf8.h"

/* Bytes of the character that starts here, or 0 if it is not well-formed. The ranges are Table 3-7 of the Unicode Standard. */
static size_t character_bytes(const unsigned char *text, size_t length) {
    unsigned char lead = text[0];
    if (lead < 0x80)
        return 1;
    size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || bytes > length)
        return 0;
    unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (text[1] < low || text[1] > high)
        return 0;
    for (size_t i = 2; i < bytes; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    }
    return bytes;
}

bool utf8_valid(const char *text, size_t length) {
    for (size_t i = 0; i < length;) {
        size_t bytes = character_bytes((const unsigned char *)text + i, length - i);
        if (bytes == 0)
            return false;
        i += bytes;
    }
    return true;
}

static bool continues(char byte) {
    return ((unsigned char)byte & 0xC0) == 0x80;
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
