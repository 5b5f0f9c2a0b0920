#include "server/http/http_compress.h"
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#define ZLIB_CONST /* next_in is not written to */
#include <zlib.h>

enum { GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8 }; /* + 16: with gzip's head, not zlib's */

/* "q=0", "q=0.000": it is not wanted. */
static bool is_refused(const char *parameters, size_t length) {
    const char *end = parameters + length;
    for (const char *at = parameters; at < end; at++) {
        if (tolower((unsigned char)*at) == 'q' && at + 1 < end && at[1] == '=') {
            at += 2;
            while (at < end && strchr("0.", *at))
                at++;
            return at == end || !isdigit((unsigned char)*at);
        }
    }
    return false;
}

/* Elements have ',' between them, and parameters behind ';'. One that names gzip counts before "*". */
bool compress_is_accepted(const char *accept) {
    bool any = false;
    for (const char *at = accept; at && *at;) {
        size_t length = strcspn(at, ","), blank = strspn(at, " \t");
        const char *end = at + length;
        if (blank > length)
            blank = length;
        const char *name = at + blank;
        size_t bytes = strcspn(name, " \t;,");
        bool refused = is_refused(name + bytes, (size_t)(end - name) - bytes);
        if (bytes == 4 && strncasecmp(name, "gzip", bytes) == 0)
            return !refused;
        any |= bytes == 1 && *name == '*' && !refused;
        at = end + (*end == ',');
    }
    return any;
}

bool compress_is_worthwhile(const struct reply *reply) {
    return !reply->streamed && reply->length >= COMPRESS_LEAST_BYTES && reply->length <= UINT_MAX;
}

/* As fast as it goes: JSON shrinks to a fifth even so. 0: it does not fit into room bytes, or memory is out. */
static size_t gzip(const char *bytes, size_t length, char *out, size_t room) {
    z_stream stream = {
        .next_in = (const Bytef *)bytes, .avail_in = (uInt)length, .next_out = (Bytef *)out, .avail_out = (uInt)room};
    if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        return 0;
    size_t made = deflate(&stream, Z_FINISH) == Z_STREAM_END ? stream.total_out : 0;
    deflateEnd(&stream);
    return made;
}

void compress_reply(struct reply *reply) {
    char *out = malloc(reply->length);
    size_t length = out ? gzip(reply->body, reply->length, out, reply->length - 1) : 0;
    char *fitted = length > 0 ? realloc(out, length) : NULL;
    if (!fitted) {
        free(out);
        return;
    }
    free(reply->body);
    reply->body = fitted;
    reply->length = length;
    reply->compressed = true;
}
