/* What a request is told that will not be answered, or not now. */
#include "server/api/api.h"
#include <math.h>
#include <stdio.h>

enum { MAX_RETRY_S = 60, MESSAGE_BYTES = 128 };

void api_fail_unready(enum service_state state, struct reply *reply) {
    api_fail(reply, STATUS_UNAVAILABLE, NULL,
             state == SERVICE_LOADING ? "the models are still loading" : "the server is shutting down");
    reply->retry_after_s = 1;
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

/* Retry-After: whole seconds, and no more than anybody would wait. In LibreTranslate's dialect (it alone has a plan) the message
 * begins as LibreTranslate's does. */
static void fail_busy(const struct request *request, const char *code, const char *message, double wait_s, struct reply *reply) {
    char whole[MESSAGE_BYTES];
    snprintf(whole, sizeof whole, "%s%s", request->plan ? "Slowdown: " : "", message);
    api_fail_coded(reply, STATUS_QUEUE_FULL, code, NULL, whole);
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
    fail_busy(request, "queue_full", jobs ? "the queue is full" : "the queue has no room for this much work",
              scheduler_wait_s(service->scheduler, request), reply);
}

void api_fail_crowded(const struct service *service, const struct request *request, struct reply *reply) {
    metrics_rejected(service->metrics, REJECTED_REQUEST_MEMORY);
    fail_busy(request, "queue_full", "the queue has no room for so large a request", 0, reply);
}

void api_fail_unprepared(const struct service *service, const struct request *request, double wait_s, struct reply *reply) {
    metrics_rejected(service->metrics, REJECTED_PREPARATION);
    fail_busy(request, "queue_full", "too many large requests are waiting to be read", wait_s, reply);
}

void api_fail_rate(const struct service *service, const struct request *request, double wait_s, struct reply *reply) {
    char message[MESSAGE_BYTES];
    snprintf(message, sizeof message, "at most %g sentences per second are allowed for each client", service->options.rate);
    metrics_rejected(service->metrics, REJECTED_RATE);
    fail_busy(request, "rate_limited", message, wait_s, reply);
}
