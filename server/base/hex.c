#include "server/base/hex.h"
#include <string.h>

void hex_print(const unsigned char *bytes, size_t count, char *text) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        *text++ = digits[bytes[i] >> 4];
        *text++ = digits[bytes[i] & 15];
    }
    *text = '\0';
}

/* Returns -1 if the character is not a digit. */
static int value_of(char digit) {
    static const char digits[] = "0123456789abcdefABCDEF";
    const char *found = digit ? strchr(digits, digit) : NULL;
    long value = found ? found - digits : -1;
    return (int)(value > 15 ? value - 6 : value);
}

static bool parse_byte(const char *text, unsigned char *byte) {
    int high = value_of(text[0]), low = high < 0 ? -1 : value_of(text[1]);
    if (low >= 0)
        *byte = (unsigned char)(high << 4 | low);
    return low >= 0;
}

bool hex_parse(const char *text, unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!parse_byte(text + 2 * i, &bytes[i]))
            return false;
    return text[2 * count] == '\0';
}

void percent_encode(const char *text, char *out) {
    static const char kept[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~", digits[] = "0123456789ABCDEF";
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (strchr(kept, *c)) {
            *out++ = (char)*c;
            continue;
        }
        *out++ = '%';
        *out++ = digits[*c >> 4];
        *out++ = digits[*c & 15];
    }
    *out = '\0';
}

size_t percent_decode(const char *text, size_t length, char *out) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte;
        if (text[i] == '%' && length - i > 2 && parse_byte(text + i + 1, &byte)) {
            out[count++] = (char)byte;
            i += 2;
        } else {
            out[count++] = text[i];
        }
    }
    out[count] = '\0';
    return count;
}
