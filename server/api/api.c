#include "server/api/api.h"
#include "server/api/page.h"
#include <string.h>

static const struct route routes[] = {
    {"/translate", "POST", ACCESS_USER, api_decode_start, api_decode_finish,
     "Translates: a body with text uses alignd's own fields, one with q LibreTranslate's", "TranslateRequest|LibreRequest",
     "Translations|LibreTranslation"},
    {"/attention", "POST", ACCESS_USER, api_decode_start, api_decode_finish,
     "Tokens and attention matrices of the model's own translation or of one that is given", "AttentionRequest", "Attentions"},
    {"/models", "GET", ACCESS_OPEN, api_models, NULL, "The loaded models", NULL, "Models"},
    {"/models/reload", "POST", ACCESS_ADMIN, api_reload_start, api_reload_finish, "Loads the models again, beside those in service",
     NULL, "Reloaded"},
    {"/health", "GET", ACCESS_OPEN, api_health, NULL, "Liveness: the process is running", NULL, "Status"},
    {"/ready", "GET", ACCESS_OPEN, api_ready, NULL, "Readiness: 503 while loading or shutting down", NULL, "Status"},
    {"/metrics", "GET", ACCESS_OPEN, api_metrics, NULL, "Metrics in the Prometheus text format", NULL, NULL},
    {"/detect", "POST", ACCESS_USER, api_detect, NULL, "LibreTranslate: detects the language of a text", "LibreDetect",
     "[Detected]"},
    {"/languages", "GET", ACCESS_OPEN, api_languages, NULL, "LibreTranslate: languages and their possible targets", NULL,
     "[Language]"},
    {"/frontend/settings", "GET", ACCESS_OPEN, api_settings, NULL, "LibreTranslate: settings for its web page", NULL, "Settings"},
    {"/spec", "GET", ACCESS_OPEN, api_spec, NULL, "LibreTranslate: redirects to /openapi.json", NULL, NULL},
    {"/openapi.json", "GET", ACCESS_OPEN, api_openapi, NULL, "This description", NULL, "object"},
    {"/", "GET", ACCESS_OPEN, api_page, NULL, "The web page; its other files are under /page/", NULL,
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
