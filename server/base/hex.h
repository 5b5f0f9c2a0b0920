/* Bytes as hexadecimal digits, and percent-encoding (RFC 3986), which uses such digits for some bytes. */
#ifndef ALIGND_HEX_H
#define ALIGND_HEX_H

#include <stdbool.h>
#include <stddef.h>

/* bytes: [count]. text: 2 x count digits and a NUL. */
void hex_print(const unsigned char *bytes, size_t count, char *text);
/* text: NUL-terminated. Returns false if it is not 2 x count hexadecimal digits. */
bool hex_parse(const char *text, unsigned char *bytes, size_t count);

/* ASCII letters and digits and "-._~" are copied; each other byte becomes "%" and two digits. out: room for three times the bytes
 * and a NUL. */
void percent_encode(const char *text, char *out);
/* out: room for as many bytes and a NUL. A "%" that is not followed by two digits is copied. Returns the number of bytes. */
size_t percent_decode(const char *text, size_t length, char *out);

#endif
