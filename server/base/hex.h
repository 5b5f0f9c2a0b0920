/* A few bytes, such as hashes, in hexadecimal digits. */
#ifndef ALIGND_HEX_H
#define ALIGND_HEX_H

#include <stdbool.h>
#include <stddef.h>

enum { HEX_MOST_BYTES = 32 };

/* bytes: [count], at most HEX_MOST_BYTES. text: 2 x count digits and a NUL. */
void hex_print(const unsigned char *bytes, size_t count, char *text);
/* text: NUL-terminated. False: it is not 2 x count hexadecimal digits. */
bool hex_parse(const char *text, unsigned char *bytes, size_t count);

#endif
