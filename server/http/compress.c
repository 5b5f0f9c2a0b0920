/* This module hides when a reply is compressed with gzip, and how. */
#include "server/http/compress.h"
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#define ZLIB_CONST /* next_in points to const */
#include <zlib.h>

/* GZIP_WINDOW: + 16 makes zlib write gzip's header. */
enum { GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8 };

/* Returns true for "q=0" or "q=0.000": the client does not accept the encoding. */
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

/* Elements are separated by ',', and parameters follow a ';'. An element that names gzip takes
 * precedence over "*". */
bool compress_is_accepted(const char *accept) {
    bool any = false;
    for (const char *at = accept; at && *at;) {
        size_t length = strcspn(at, ","), blank = strspn(at, " \t");
        const char *end = at + length, *name = at + (blank < length ? blank : length);
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

/* Uses the fastest level, which shrinks JSON to a fifth. */
void compress_reply(struct reply *reply) {
    char *out = malloc(reply->length);
    z_stream stream = {.next_in = (const Bytef *)reply->body,
                       .avail_in = (uInt)reply->length,
                       .next_out = (Bytef *)out,
                       .avail_out = (uInt)(reply->length - 1)};
    size_t length = 0;
    if (out && deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
                            Z_DEFAULT_STRATEGY) == Z_OK) {
        length = deflate(&stream, Z_FINISH) == Z_STREAM_END ? stream.total_out : 0;
        deflateEnd(&stream);
    }
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
