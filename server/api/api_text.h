/* The text of an answer as it grows, up to a limit. Included by api_*.c only. */
#ifndef ALIGND_API_TEXT_H
#define ALIGND_API_TEXT_H

#include "server/api/api_splice.h"

/* Starts as {.most = ...}. Once it is too long or memory is out nothing more is put. */
struct api_text {
    char *bytes; /* [length] and a NUL, malloc'ed; NULL: empty */
    size_t length, capacity;
    size_t most; /* bytes */
    bool too_long, failed;
};

void api_text_put(struct api_text *text, const char *bytes);
void api_text_put_bytes(struct api_text *text, const char *bytes, size_t length);
/* The JSON of a tree with every placeholder of splices; takes over root. As splice_dump, NULL means that memory is out. */
void api_text_put_json(struct api_text *text, json_t *root, const struct splices *splices);
/* The same of an object, without its braces. */
void api_text_put_members(struct api_text *text, json_t *root, const struct splices *splices);
/* True: there is no more to be put, since it would be of no use. */
static inline bool api_text_ended(const struct api_text *text) {
    return text->too_long || text->failed;
}
void api_text_done(struct api_text *text);

#endif
