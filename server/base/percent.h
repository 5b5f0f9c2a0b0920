/* Percent-encoding (RFC 3986): text in addresses and in headers. */
#ifndef ALIGND_PERCENT_H
#define ALIGND_PERCENT_H

#include <stddef.h>

/* Letters and digits of ASCII and "-._~" stay, each other byte becomes "%" and two digits. out: room for 3 bytes of each and a NUL.
 */
void percent_encode(const char *text, char *out);
/* Into out, which has room for as many bytes and a NUL; a "%" without two digits behind it stays. Returns how many bytes. */
size_t percent_decode(const char *text, size_t length, char *out);

#endif
