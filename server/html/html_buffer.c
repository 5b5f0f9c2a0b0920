/* Arrays and texts that grow in an arena. */
#include "server/html/html_piece.h"
#include <string.h>

enum { FIRST_ITEMS = 64 };

void *html_reserve(struct arena *arena, void *items, size_t used, size_t *capacity, size_t count, size_t size) {
    if (*capacity - used >= count)
        return items;
    size_t wanted = 2 * *capacity + count + FIRST_ITEMS;
    void *grown = arena_alloc(arena, wanted, size);
    if (!grown)
        return NULL;
    if (used > 0)
        memcpy(grown, items, used * size);
    *capacity = wanted;
    return grown;
}

void html_put(struct html_buffer *buffer, const char *bytes, size_t length) {
    char *grown =
        buffer->failed ? NULL : html_reserve(buffer->arena, buffer->bytes, buffer->length, &buffer->capacity, length + 1, 1);
    if (!grown) {
        buffer->failed = true;
        return;
    }
    buffer->bytes = grown;
    memcpy(grown + buffer->length, bytes, length);
    buffer->length += length;
    grown[buffer->length] = '\0';
}

void html_put_string(struct html_buffer *buffer, const char *string) {
    html_put(buffer, string, strlen(string));
}

static const char *reference_of(char character) {
    switch (character) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    default:
        return "&quot;";
    }
}

void html_put_escaped(struct html_buffer *buffer, const char *text, size_t length, const char *marks) {
    for (size_t at = 0; at < length && !buffer->failed; at++) {
        size_t plain = at;
        while (at < length && !memchr(marks, text[at], strlen(marks)))
            at++;
        html_put(buffer, text + plain, at - plain);
        if (at < length)
            html_put_string(buffer, reference_of(text[at]));
    }
}
