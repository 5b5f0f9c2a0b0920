/* A strict reader of replies with server-sent events. */
#ifndef ALIGND_TESTS_HTTP_SSE_H
#define ALIGND_TESTS_HTTP_SSE_H

#include "tests/http/client.h"

struct sse_event {
    char name[16];
    json_t *data;
};

struct sse {
    struct sse_event *events; /* [count] */
    size_t count, comments;
};

/* The events of a stream, which must be nothing but events and comments, each whole. End it with
 * sse_done. */
struct sse sse_read(const char *text);
void sse_done(struct sse *sse);

/* How many of this name there are; and the last event, which must have it. */
size_t sse_count(const struct sse *sse, const char *name);
const json_t *sse_last(const struct sse *sse, const char *name);

/* The text that the token events of a sentence make. The caller frees it. */
char *sse_text(const struct sse *sse, size_t text, size_t sentence);

/* Each sentence event has the number of those after it. */
void sse_check_left(const struct sse *sse);

/* Tokens before their sentence, sentences in the order of their text, one result, last, with the
 * same sentences, and with the text of the tokens where there are any; sse_check_left. array:
 * "translations" or "results". */
void sse_check(const struct sse *sse, const char *array);

#endif
