/* Replies in JSON, and errors. */
#ifndef ALIGND_REPLY_H
#define ALIGND_REPLY_H

#include "server/api/api.h"

struct dialect_error;

/* Sets a JSON reply from the writer's text, which it takes over; 503 if the writer has failed. */
void reply_json(struct reply *reply, struct writer *w);
/* Replies {"status","name","generation"}: without the name if it is NULL, and without the
 * generation if it is 0. */
void reply_status(struct reply *reply, const char *status, const char *name, size_t generation);
/* The same with another status. */
void reply_json_as(struct reply *reply, unsigned status, struct writer *w);
/* Sets a JSON reply from this text, malloc'ed, which it takes over. */
void reply_json_text(struct reply *reply, unsigned status, char *text);

/* Why a request is not served now. */
struct reply_busy {
    enum metrics_rejected reason; /* counted */
    const char *code;
    double wait_s; /* Retry-After, at least one second */
};

/* Replies 429 because the server is busy or the client's allowance is used up. */
__attribute__((format(printf, 4, 5))) void reply_fail_busy(const struct service *service,
                                                           struct reply_busy busy,
                                                           struct reply *reply, const char *format,
                                                           ...);

/* This is a macro, so that the compiler sees that the value is -1. */
#define reply_refuse(reply, field, ...) (reply_fail(reply, STATUS_INVALID, field, __VA_ARGS__), -1)

enum { REPLY_MESSAGE_BYTES = 400 }; /* longer messages are cut */

/* Sets an error reply with "progress": 0 to 1. */
void reply_fail_progress(struct reply *reply, unsigned status, const char *code,
                         const char *message, double progress);

/* Sets an error reply: {"error": message, "code": ..., "field": field}, or its form in the reply's
 * dialect. field may be NULL. This and the other functions of this name that return an int always
 * return -1. */
__attribute__((format(printf, 4, 5))) int reply_fail(struct reply *reply, unsigned status,
                                                     const char *field, const char *format, ...);
/* The same for errors whose code does not follow from the status. message: valid UTF-8. */
int reply_fail_coded(struct reply *reply, unsigned status, const char *code, const char *field,
                     const char *message);
/* Replaces the reply by 503 and counts it, because too many unread replies are waiting. */
void reply_fail_unread(const struct service *service, struct reply *reply);

/* Replies 503 because memory has run out; it may be available again soon. */
int reply_fail_memory(struct reply *reply);
/* Sets the reply of an endpoint that requires SERVICE_READY in any other state. */
void reply_fail_unready(enum service_state state, struct reply *reply);
/* Replies 503: all models have been taken out of service. */
void reply_fail_modelless(struct reply *reply);
/* Set and count the reply to a request whose jobs were cancelled, and to one that the scheduler
 * refused. */
void reply_fail_cancelled(const struct service *service, enum cancel_reason reason,
                          struct reply *reply);
void reply_fail_refused(const struct service *service, enum scheduler_verdict verdict,
                        const struct request *request, struct reply *reply);
/* The same for a large request, if the requests that have been read take too much memory. */
void reply_fail_crowded(const struct service *service, struct reply *reply);
/* The same if too many requests wait to be read (chores.h). */
void reply_fail_unprepared(const struct service *service, double wait_s, struct reply *reply);

/* Replies 413 and counts it. least: the minimum length of the answer; 0: unknown, but over the
 * limit. */
void reply_fail_length(const struct service *service, size_t least, struct reply *reply);
/* Writes the error object of alignd's own dialect: {"error","code","field"}. */
void reply_put_error(struct writer *w, const struct dialect_error *error);

#endif
