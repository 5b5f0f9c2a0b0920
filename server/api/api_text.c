#include "server/api/api_text.h"
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 1024 };

/* Room for so many bytes more, and a NUL. */
static bool reserve(struct api_text *text, size_t bytes) {
    if (text->length + bytes < text->capacity)
        return true;
    size_t capacity = 2 * text->capacity + bytes + FIRST_BYTES;
    char *grown = realloc(text->bytes, capacity);
    if (!grown) {
        text->failed = true;
        return false;
    }
    text->bytes = grown;
    text->capacity = capacity;
    return true;
}

void api_text_put_bytes(struct api_text *text, const char *bytes, size_t length) {
    text->too_long |= length > text->most - text->length;
    if (api_text_ended(text) || !reserve(text, length))
        return;
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

void api_text_put(struct api_text *text, const char *bytes) {
    api_text_put_bytes(text, bytes, strlen(bytes));
}

/* Without so many bytes at both ends. */
static void put_inner(struct api_text *text, json_t *root, const struct splices *splices, size_t less) {
    char *json = splice_dump(splices, root);
    json_decref(root);
    text->failed |= !json;
    if (json)
        api_text_put_bytes(text, json + less, strlen(json) - 2 * less);
    free(json);
}

void api_text_put_json(struct api_text *text, json_t *root, const struct splices *splices) {
    put_inner(text, root, splices, 0);
}

void api_text_put_members(struct api_text *text, json_t *root, const struct splices *splices) {
    put_inner(text, root, splices, 1);
}

void api_text_done(struct api_text *text) {
    free(text->bytes);
    *text = (struct api_text){0};
}
