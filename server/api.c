#include "server/api.h"
#include "server/page.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_RETRY_S = 60, MESSAGE_BYTES = 128 };

static const struct route routes[] = {
    {"/translate", "POST", ACCESS_USER, api_translate_start, api_translate_finish,
     "Translate: natively where the body has text, LibreTranslate's way where it has q", "TranslateRequest|LibreRequest",
     "Translations|LibreTranslation"},
    {"/attention", "POST", ACCESS_USER, api_attention_start, api_attention_finish,
     "Tokens and alignment matrices, of the model's own translation or of a given one", "AttentionRequest", "Attentions"},
    {"/models", "GET", ACCESS_OPEN, api_models, NULL, "The models that are loaded", NULL, "Models"},
    {"/models/reload", "POST", ACCESS_ADMIN, api_reload_start, api_reload_finish, "Loads the models again, beside those in service",
     NULL, "Reloaded"},
    {"/health", "GET", ACCESS_OPEN, api_health, NULL, "The process lives", NULL, "Status"},
    {"/ready", "GET", ACCESS_OPEN, api_ready, NULL, "Requests are accepted: 503 while loading or draining", NULL, "Status"},
    {"/metrics", "GET", ACCESS_OPEN, api_metrics, NULL, "Metrics as Prometheus text", NULL, NULL},
    {"/detect", "POST", ACCESS_USER, api_detect, NULL, "LibreTranslate: the likeliest source language", "LibreDetect",
     "[Detected]"},
    {"/languages", "GET", ACCESS_OPEN, api_languages, NULL, "LibreTranslate: languages, and what each is translated to", NULL,
     "[Language]"},
    {"/frontend/settings", "GET", ACCESS_OPEN, api_settings, NULL, "LibreTranslate: what its page asks for", NULL, "Settings"},
    {"/spec", "GET", ACCESS_OPEN, api_spec, NULL, "LibreTranslate: leads to /openapi.json", NULL, NULL},
    {"/openapi.json", "GET", ACCESS_OPEN, api_openapi, NULL, "This description", NULL, "object"},
    {"/", "GET", ACCESS_OPEN, api_page, NULL, "The page; its other files are below /page/", NULL,
     NULL}, /* the last: its files, too */
};
enum { ROUTE_COUNT = sizeof routes / sizeof routes[0] };

/* The labels of metrics and log lines: other paths share one, since clients may send any. */
static const char *const labels[] = {"/translate", "/attention",    "/models", "/models/reload", "/health",
                                     "/ready",     "/metrics",      "/detect", "/languages",     "/frontend/settings",
                                     "/spec",      "/openapi.json", "/",       "other"};
_Static_assert(sizeof labels / sizeof labels[0] == ROUTE_COUNT + 1, "one label per route, and one for the rest");

const char *api_method(const char *method) {
    static const char *const known[] = {"GET", "HEAD", "POST", "OPTIONS"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(method, known[i]) == 0)
            return known[i];
    }
    return "other";
}

const struct route *api_route(size_t i) {
    return i < ROUTE_COUNT ? &routes[i] : NULL;
}

const struct route *api_find(const char *path, size_t *index) {
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        if (strcmp(routes[i].path, path) == 0) {
            *index = i;
            return &routes[i];
        }
    }
    *index = page_find(path) ? ROUTE_COUNT - 1 : ROUTE_COUNT;
    return *index < ROUTE_COUNT ? &routes[*index] : NULL;
}

bool api_is_for_administrators(const struct route *route) {
    static const char *const paths[] = {"/health", "/ready", "/metrics", "/models/reload"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (strcmp(route->path, paths[i]) == 0)
            return true;
    }
    return false;
}

const char *const *api_labels(size_t *count) {
    *count = ROUTE_COUNT + 1;
    return labels;
}

enum scheduler_verdict api_submit(const struct service *service, struct request *request) {
    if (request->reload)
        return catalog_reload(service->catalog, request->reload) ? SCHEDULER_ACCEPTED : SCHEDULER_CLOSED;
    return scheduler_submit(service->scheduler, request);
}

void api_fail_unready(enum service_state state, struct reply *reply) {
    api_fail(reply, STATUS_UNAVAILABLE, NULL,
             state == SERVICE_LOADING ? "the models are being loaded" : "the server is shutting down");
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
    fail_busy(request, "queue_full", jobs ? "the queue is full" : "the queue has no room for so much work",
              scheduler_wait_s(service->scheduler, request), reply);
}

void api_fail_unprepared(const struct service *service, const struct request *request, double wait_s, struct reply *reply) {
    metrics_rejected(service->metrics, REJECTED_PREPARATION);
    fail_busy(request, "queue_full", "too many large requests are waiting to be read", wait_s, reply);
}

void api_fail_rate(const struct service *service, const struct request *request, double wait_s, struct reply *reply) {
    char message[MESSAGE_BYTES];
    snprintf(message, sizeof message, "a client may ask for %g sentences a second", service->options.rate);
    metrics_rejected(service->metrics, REJECTED_RATE);
    fail_busy(request, "rate_limited", message, wait_s, reply);
}
