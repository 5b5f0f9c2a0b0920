#include "server/utf8.h"
#include <stdbool.h>

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
