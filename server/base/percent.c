#include "server/base/percent.h"
#include "server/base/hex.h"
#include <string.h>

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
        char digits[3] = {0};
        unsigned char byte;
        if (text[i] == '%' && length - i > 2 && (memcpy(digits, text + i + 1, 2), hex_parse(digits, &byte, 1))) {
            out[count++] = (char)byte;
            i += 2;
        } else {
            out[count++] = text[i];
        }
    }
    out[count] = '\0';
    return count;
}
