/* What a request is told that will not be answered, or not now. */
#include "model/base/utf8.h"
#include "server/api/api_dialect.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

static const char *code_of(unsigned status) {
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (codes[i].status == status)
            return codes[i].code;
    }
    return "internal_error";
}

/* A message that quotes a client and was cut within a character could not be written as JSON. */
static void mend_message(char *message) {
    if (utf8_valid(message, strlen(message)))
        return;
    for (char *c = message; *c; c++) {
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    }
}

void dialect_put_error(struct writer *w, const struct dialect_error *error) {
    writer_begin_object(w, NULL);
    writer_strings(w, "error", error->message, "code", error->code, NULL);
    if (error->field)
        writer_string_of(w, "field", error->field, utf8_clip(error->field, strlen(error->field), FIELD_BYTES));
    writer_end_object(w);
}

void api_fail_coded(struct reply *reply, unsigned status, const char *code, const char *field, const char *message) {
    struct writer w = {.most = SIZE_MAX};
    struct dialect_error error = {status, code, field, message};
    const struct dialect *dialect = reply->dialect;
    if (dialect && dialect->status_of)
        error.status = dialect->status_of(&error);
    if (dialect && dialect->put_error)
        dialect->put_error(&w, &error);
    else
        dialect_put_error(&w, &error);
    api_reply_status(reply, error.status, &w);
}

void api_fail(struct reply *reply, unsigned status, const char *field, const char *format, ...) {
    char message[API_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    mend_message(message);
    api_fail_coded(reply, status, code_of(status), field, message);
}

void api_fail_unready(enum service_state state, struct reply *reply) {
    api_fail(reply, STATUS_UNAVAILABLE, NULL,
             state == SERVICE_LOADING ? "the models are still loading" : "the server is shutting down");
    reply->retry_after_s = 1;
}

void api_fail_modelless(struct reply *reply) {
    api_fail(reply, STATUS_UNAVAILABLE, NULL, "no models are in service");
    reply->retry_after_s = 10;
}

void api_fail_cancelled(const struct service *service, enum cancel_reason reason, struct reply *reply) {
    if (reason == CANCEL_DEADLINE) {
        metrics_cancelled(service->metrics, CANCELLED_DEADLINE);
        api_fail(reply, STATUS_DEADLINE, NULL, "the request's deadline passed before it was answered");
    } else {
        /* a client that has gone gets no reply: this one is for the log */
        metrics_cancelled(service->metrics, reason == CANCEL_CLIENT ? CANCELLED_CLIENT : CANCELLED_SHUTDOWN);
        api_fail_unready(SERVICE_DRAINING, reply);
    }
}

/* Retry-After: whole seconds, and no more than anybody would wait. */
static void fail_busy(const char *code, const char *message, double wait_s, struct reply *reply) {
    api_fail_coded(reply, STATUS_QUEUE_FULL, code, NULL, message);
    reply->retry_after_s = (unsigned)fmin(fmax(ceil(wait_s), 1), MAX_RETRY_S);
}

void api_fail_refused(const struct service *service, enum scheduler_verdict verdict, const struct request *request,
                      struct reply *reply) {
    if (verdict == SCHEDULER_CLOSED) {
        metrics_rejected(service->metrics, REJECTED_DRAINING);
        api_fail_unready(SERVICE_DRAINING, reply);
        return;
    }
    bool jobs = verdict == SCHEDULER_FULL;
    metrics_rejected(service->metrics, jobs ? REJECTED_QUEUE_FULL : REJECTED_QUEUE_WORK);
    fail_busy("queue_full", jobs ? "the queue is full" : "the queue has no room for this much work",
              scheduler_wait_s(service->scheduler, request), reply);
}

void api_fail_crowded(const struct service *service, struct reply *reply) {
    metrics_rejected(service->metrics, REJECTED_REQUEST_MEMORY);
    fail_busy("queue_full", "the queue has no room for so large a request", 0, reply);
}

void api_fail_unprepared(const struct service *service, double wait_s, struct reply *reply) {
    metrics_rejected(service->metrics, REJECTED_PREPARATION);
    fail_busy("queue_full", "too many large requests are waiting to be read", wait_s, reply);
}

void api_fail_quota(const struct service *service, uint64_t daily, unsigned wait_s, struct reply *reply) {
    char message[MESSAGE_BYTES];
    snprintf(message, sizeof message, "this API key may translate %llu characters a day, and has no room for this text today",
             (unsigned long long)daily);
    metrics_rejected(service->metrics, REJECTED_QUOTA);
    api_fail_coded(reply, STATUS_QUEUE_FULL, "quota_exceeded", NULL, message);
    reply->retry_after_s = wait_s;
}

void api_fail_rate(const struct service *service, double rate, double wait_s, struct reply *reply) {
    char message[MESSAGE_BYTES];
    snprintf(message, sizeof message, "at most %g sentences per second are allowed for each client", rate);
    metrics_rejected(service->metrics, REJECTED_RATE);
    fail_busy("rate_limited", message, wait_s, reply);
}
