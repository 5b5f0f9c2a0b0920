#include "server/http/http_body.h"
#include <stdlib.h>
#include <string.h>

/* DISCARD_FACTOR: up to so many times the limit is thrown away. */
enum { FIRST_BYTES = 4096, DISCARD_FACTOR = 16 };

static int body_make_room(struct body *body, size_t count) {
    size_t capacity = body->capacity ? body->capacity : FIRST_BYTES;
    if (count <= body->capacity - body->length)
        return 0;
    while (capacity - body->length < count)
        capacity *= 2;
    char *bytes = realloc(body->bytes, capacity);
    if (!bytes)
        return -1;
    body->bytes = bytes;
    body->capacity = capacity;
    return 0;
}

int body_append(struct body *body, const char *bytes, size_t count, size_t limit) {
    if (body->discarded > 0 || count > limit - body->length) {
        body->discarded += count;
        return body->discarded / DISCARD_FACTOR > limit ? -1 : 0;
    }
    if (body_make_room(body, count) != 0)
        return -1;
    memcpy(body->bytes + body->length, bytes, count);
    body->length += count;
    return 0;
}

void body_done(struct body *body) {
    free(body->bytes);
    *body = (struct body){.discarded = body->discarded};
}
