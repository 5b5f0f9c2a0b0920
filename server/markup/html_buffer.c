/* Texts that grow in an arena. */
#include "server/markup/html_buffer.h"
#include <string.h>

void html_put(struct html_buffer *buffer, const char *bytes, size_t length) {
    char *grown =
        buffer->failed ? NULL : arena_grow(buffer->arena, buffer->bytes, buffer->length, &buffer->capacity, length + 1, 1);
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
