/* JSON, the bodies of requests, and replies. */
#ifndef ALIGND_JSON_H
#define ALIGND_JSON_H

#include "server/api/api.h"
#include <jansson.h>

/* Returns true, once, if jansson has run out of memory on this thread. A value that it has read may
 * be silently incomplete. */
bool api_lacked_memory(void);
/* json_loadb with reserved memory (model/base/arena.h): jansson aborts if it cannot lengthen the
 * string that it is reading. */
json_t *api_load_json(const char *text, size_t length, size_t flags, json_error_t *error);

/* Sets a JSON reply from the writer's text, which it takes over; 503 if the writer has failed. */
void api_reply_json(struct reply *reply, struct writer *w);
/* The same with another status. */
void api_reply_status(struct reply *reply, unsigned status, struct writer *w);
/* Sets a JSON reply from this text, malloc'ed, which it takes over. */
void api_reply_text(struct reply *reply, unsigned status, char *text);

/* Replies 429 because the server is busy or the client's allowance is used up, counts it, and sets
 * Retry-After to wait_s, at least one second. */
__attribute__((format(printf, 6, 7))) void
api_fail_busy(const struct service *service, enum metrics_rejected reason, const char *code,
              double wait_s, struct reply *reply, const char *format, ...);

/* This is a macro, so that the compiler sees that the value is -1. */
#define api_refuse(reply, field, ...) (api_fail(reply, STATUS_INVALID, field, __VA_ARGS__), -1)

/* Reads an integer, which may have a fraction of 0, such as 5.0. False: the value is not an
 * integer, or too large. */
bool api_integer(const json_t *value, json_int_t *number);

/* Returns the type of a value with its article: "an array", "null". */
const char *api_type_name(const json_t *value);

enum { API_MAX_TEXTS = 64 }; /* in a request */

/* Parse the body as any JSON value, or as an object. NULL: the reply is set. */
json_t *api_load_value(const struct call *call, struct reply *reply);
json_t *api_load(const struct call *call, struct reply *reply);
/* Returns -1 after setting the reply if a field of a form or of the query string is not text. */
int api_check_fields(const struct call *call, struct reply *reply);

/* Holds a position in the whole source or target text. */
struct api_place {
    size_t bytes, units; /* UTF-8, UTF-16 */
};
struct api_places {
    struct api_place source, target;
};
/* Writes two offsets, each in bytes of UTF-8 and in UTF-16 units. */
void api_put_place(struct writer *out, const char *key, struct api_place begin,
                   struct api_place end);

#endif
