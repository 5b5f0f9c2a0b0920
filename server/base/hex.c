#include "server/base/hex.h"
#include <assert.h>
#include <gnutls/gnutls.h>
#include <string.h>

void hex_print(const unsigned char *bytes, size_t count, char *text) {
    unsigned char copy[HEX_MOST_BYTES]; /* the library takes nothing constant */
    size_t size = 2 * count + 1;
    assert(count <= sizeof copy);
    memcpy(copy, bytes, count);
    int code = gnutls_hex_encode(&(gnutls_datum_t){copy, (unsigned)count}, text, &size);
    assert(code == 0);
    (void)code;
}

bool hex_parse(const char *text, unsigned char *bytes, size_t count) {
    unsigned char copy[2 * HEX_MOST_BYTES];
    size_t length = strlen(text), size = count;
    assert(count <= HEX_MOST_BYTES);
    if (length != 2 * count)
        return false;
    memcpy(copy, text, length);
    return gnutls_hex_decode(&(gnutls_datum_t){copy, (unsigned)length}, bytes, &size) == 0 && size == count;
}
