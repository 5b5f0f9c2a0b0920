/* This file sets replies: JSON, and errors, which have a status, a code and a message in the form
 * of the reply's dialect. Requests that are refused are counted. */
#include "server/api/reply.h"
#include "server/api/dialect.h"
#include "server/api/value.h"
#include "server/base/strings.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reply_set(struct reply *reply, unsigned status, char *text, size_t length) {
    free(reply->body);
    *reply = (struct reply){.status = status,
                            .content_type = "application/json; charset=utf-8",
                            .body = text,
                            .length = length,
                            .dialect = reply->dialect,
                            .ignored = reply->ignored};
}

void reply_json_text(struct reply *reply, unsigned status, char *text) {
    reply_set(reply, status, text, text ? strlen(text) : 0);
}

void reply_json_as(struct reply *reply, unsigned status, struct writer *w) {
    size_t length = w->length;
    char *text = writer_take(w);
    if (text)
        reply_set(reply, status, text, length);
    else
        reply_fail_memory(reply);
}

void reply_json(struct reply *reply, struct writer *w) {
    reply_json_as(reply, STATUS_OK, w);
}

void reply_status(struct reply *reply, const char *status, const char *name, size_t generation) {
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_strings(&w, "status", status, name ? "name" : NULL, name, NULL);
    if (generation > 0)
        writer_count(&w, "generation", generation);
    writer_end_object(&w);
    reply_json(reply, &w);
}

/* ---- errors ---- */

enum { MAX_RETRY_S = 60, MESSAGE_BYTES = 128, FIELD_BYTES = 64 };

static const struct {
    unsigned status;
    const char *code;
} codes[] = {
    {STATUS_INVALID, "invalid_request"},    {STATUS_NOT_FOUND, "not_found"},
    {STATUS_UNAUTHORIZED, "unauthorized"},  {STATUS_FORBIDDEN, "forbidden"},
    {STATUS_CONFLICT, "reload_failed"},     {STATUS_METHOD, "method_not_allowed"},
    {STATUS_TOO_LARGE, "too_large"},        {STATUS_MEDIA_TYPE, "unsupported_media_type"},
    {STATUS_QUEUE_FULL, "queue_full"},      {STATUS_UNAVAILABLE, "unavailable"},
    {STATUS_DEADLINE, "deadline_exceeded"},
};

void reply_put_error(struct writer *w, const struct dialect_error *error) {
    writer_begin_object(w, NULL);
    writer_strings(w, "error", error->message, "code", error->code, NULL);
    if (error->field)
        writer_string_of(w, "field", error->field,
                         utf8_clip(error->field, strlen(error->field), FIELD_BYTES));
    if (error->progress)
        writer_number(w, "progress", *error->progress);
    writer_end_object(w);
}

static int fail_with(struct reply *reply, struct dialect_error error) {
    struct writer w = {.most = SIZE_MAX};
    const struct dialect *dialect = reply->dialect;
    if (dialect && dialect->status_of)
        error.status = dialect->status_of(&error);
    if (dialect && dialect->put_error)
        dialect->put_error(&w, &error);
    else
        reply_put_error(&w, &error);
    reply_json_as(reply, error.status, &w);
    return -1;
}

void reply_fail_progress(struct reply *reply, unsigned status, const char *code,
                         const char *message, double progress) {
    fail_with(reply, (struct dialect_error){status, code, NULL, message, &progress});
}

int reply_fail_coded(struct reply *reply, unsigned status, const char *code, const char *field,
                     const char *message) {
    return fail_with(reply, (struct dialect_error){status, code, field, message, NULL});
}

int reply_fail(struct reply *reply, unsigned status, const char *field, const char *format, ...) {
    char message[REPLY_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    /* vsnprintf may have truncated a quoted string within a character, which JSON cannot represent
     */
    for (char *c = message; !utf8_valid(message, strlen(message)); c++)
        *c = (unsigned char)*c >= 0x80 ? '?' : *c;
    const char *code = "internal_error";
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (codes[i].status == status)
            code = codes[i].code;
    }
    return reply_fail_coded(reply, status, code, field, message);
}

int reply_fail_memory(struct reply *reply) {
    value_lacked_memory();
    reply_json_text(reply, STATUS_UNAVAILABLE,
                    strdup("{\"error\":\"the server is out of memory\",\"code\":\"unavailable\"}"));
    reply->retry_after_s = 1;
    return -1;
}

void reply_fail_unready(enum service_state state, struct reply *reply) {
    reply_fail(reply, STATUS_UNAVAILABLE, NULL,
               state == SERVICE_LOADING ? "the models are still loading"
                                        : "the server is shutting down");
    reply->retry_after_s = 1;
}

void reply_fail_modelless(struct reply *reply) {
    reply_fail(reply, STATUS_UNAVAILABLE, NULL, "no models are in service");
    reply->retry_after_s = 10;
}

void reply_fail_cancelled(const struct service *service, enum cancel_reason reason,
                          struct reply *reply) {
    if (reason == CANCEL_DEADLINE) {
        metrics_cancelled(service->metrics, CANCELLED_DEADLINE);
        reply_fail(reply, STATUS_DEADLINE, NULL,
                   "the request's deadline passed before it was answered");
    } else if (reason == CANCEL_LENGTH) {
        reply_fail_length(service, 0, reply);
    } else {
        /* if the client has disconnected, this reply is only logged */
        metrics_cancelled(service->metrics,
                          reason == CANCEL_CLIENT ? CANCELLED_CLIENT : CANCELLED_SHUTDOWN);
        reply_fail_unready(SERVICE_DRAINING, reply);
    }
}

/* Sets Retry-After in whole seconds, up to a limit that clients accept. */
void reply_fail_busy(const struct service *service, struct reply_busy busy, struct reply *reply,
                     const char *format, ...) {
    char message[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    metrics_rejected(service->metrics, busy.reason);
    reply_fail_coded(reply, STATUS_QUEUE_FULL, busy.code, NULL, message);
    reply->retry_after_s = (unsigned)fmin(fmax(ceil(busy.wait_s), 1), MAX_RETRY_S);
}

void reply_fail_refused(const struct service *service, enum scheduler_verdict verdict,
                        const struct request *request, struct reply *reply) {
    if (verdict == SCHEDULER_CLOSED) {
        metrics_rejected(service->metrics, REJECTED_DRAINING);
        reply_fail_unready(SERVICE_DRAINING, reply);
        return;
    }
    bool jobs = verdict == SCHEDULER_FULL;
    reply_fail_busy(service,
                    (struct reply_busy){jobs ? REJECTED_QUEUE_FULL : REJECTED_QUEUE_WORK,
                                        "queue_full",
                                        scheduler_wait_s(service->scheduler, request)},
                    reply, jobs ? "the queue is full" : "the queue has no room for this much work");
}

void reply_fail_crowded(const struct service *service, struct reply *reply) {
    reply_fail_busy(service, (struct reply_busy){REJECTED_REQUEST_MEMORY, "queue_full", 0}, reply,
                    "the queue has no room for so large a request");
}

void reply_fail_unprepared(const struct service *service, double wait_s, struct reply *reply) {
    reply_fail_busy(service, (struct reply_busy){REJECTED_PREPARATION, "queue_full", wait_s}, reply,
                    "too many large requests are waiting to be read");
}

void reply_fail_length(const struct service *service, size_t least, struct reply *reply) {
    size_t most = service->options->max_reply_bytes;
    metrics_rejected(service->metrics, REJECTED_REPLY_LENGTH);
    if (least > 0)
        reply_fail(reply, STATUS_TOO_LARGE, NULL,
                   "the reply must have at most %zu bytes, but would have at least %zu", most,
                   least);
    else
        reply_fail(reply, STATUS_TOO_LARGE, NULL,
                   "the reply must have at most %zu bytes, but would have more", most);
}

void reply_fail_unread(const struct service *service, struct reply *reply) {
    metrics_rejected(service->metrics, REJECTED_REPLY_MEMORY);
    reply_fail(reply, STATUS_UNAVAILABLE, NULL, "too many replies are waiting to be read");
    reply->retry_after_s = 1;
}
