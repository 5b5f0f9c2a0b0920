/* The endpoints: one table has a row for each path and method. openapi.json documents what each path does, accepts and returns. */
#include "server/api/endpoint.h"
#include "server/api/page.h"
#include "server/get/fetch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct route routes[] = {
    {"/translate", "POST", ACCESS_USER, api_decode_start, api_decode_finish, NULL},
    {"/translate", "GET", ACCESS_USER, api_decode_start, api_decode_finish, NULL},
    {"/attention", "POST", ACCESS_USER, api_decode_start, api_decode_finish, NULL},
    {"/attention", "GET", ACCESS_USER, api_decode_start, api_decode_finish, NULL},
    {"/documents", "POST", ACCESS_USER, api_document_start, api_document_finish, NULL},
    {"/translate_file", "POST", ACCESS_USER, api_file_start, api_file_finish, NULL},
    {"/download_file/{file}", "GET", ACCESS_OPEN, api_file, NULL, NULL},
    {"/models", "GET", ACCESS_OPEN, api_models, NULL, NULL},
    {"/models", "POST", ACCESS_ADMIN, api_add_model, NULL, NULL},
    {"/models/reload", "POST", ACCESS_ADMIN, api_reload_start, api_reload_finish, NULL},
    {"/models/{name}", "DELETE", ACCESS_ADMIN, api_remove_model, NULL, NULL},
    {"/health", "GET", ACCESS_OPEN, api_health, NULL, NULL},
    {"/ready", "GET", ACCESS_OPEN, api_ready, NULL, NULL},
    {"/metrics", "GET", ACCESS_OPEN, api_metrics, NULL, NULL},
    {"/detect", "POST", ACCESS_USER, api_decode_start, NULL, NULL},
    {"/languages", "GET", ACCESS_OPEN, api_languages, NULL, NULL},
    {"/frontend/settings", "GET", ACCESS_OPEN, api_settings, NULL, NULL},
    {"/v2/translate", "POST", ACCESS_USER, api_decode_start, api_decode_finish, &dialect_deepl},
    {"/v2/languages", "GET", ACCESS_OPEN, api_deepl_languages, NULL, &dialect_deepl},
    {"/v2/languages", "POST", ACCESS_OPEN, api_deepl_languages, NULL, &dialect_deepl},
    {"/v2/usage", "GET", ACCESS_USER, api_deepl_usage, NULL, &dialect_deepl},
    {"/v2/usage", "POST", ACCESS_USER, api_deepl_usage, NULL, &dialect_deepl},
    {"/v2/glossary-language-pairs", "GET", ACCESS_OPEN, api_deepl_glossary_pairs, NULL, &dialect_deepl},
    {"/v2/glossaries", "GET", ACCESS_USER, api_deepl_glossaries, NULL, &dialect_deepl},
    {"/v2/glossaries", "POST", ACCESS_USER, api_deepl_make_glossary, NULL, &dialect_deepl},
    {"/v2/glossaries/{id}", "GET", ACCESS_USER, api_deepl_glossary, NULL, &dialect_deepl},
    {"/v2/glossaries/{id}", "DELETE", ACCESS_USER, api_deepl_remove_glossary, NULL, &dialect_deepl},
    {"/v2/glossaries/{id}/entries", "GET", ACCESS_USER, api_deepl_entries, NULL, &dialect_deepl},
    {"/v3/glossaries", "GET", ACCESS_USER, api_deepl_multilingual_glossaries, NULL, &dialect_deepl},
    {"/v3/glossaries", "POST", ACCESS_USER, api_deepl_make_multilingual, NULL, &dialect_deepl},
    {"/v3/glossaries/{id}", "GET", ACCESS_USER, api_deepl_multilingual, NULL, &dialect_deepl},
    {"/v3/glossaries/{id}", "PATCH", ACCESS_USER, api_deepl_change_multilingual, NULL, &dialect_deepl},
    {"/v3/glossaries/{id}", "DELETE", ACCESS_USER, api_deepl_remove_glossary, NULL, &dialect_deepl},
    {"/v3/glossaries/{id}/entries", "GET", ACCESS_USER, api_deepl_dictionary_entries, NULL, &dialect_deepl},
    {"/v3/glossaries/{id}/dictionaries", "PUT", ACCESS_USER, api_deepl_set_dictionary, NULL, &dialect_deepl},
    {"/v3/glossaries/{id}/dictionaries", "DELETE", ACCESS_USER, api_deepl_remove_dictionary, NULL, &dialect_deepl},
    {"/v2/document", "POST", ACCESS_USER, api_deepl_document_start, api_document_finish, &dialect_deepl},
    {"/v2/document/{id}", "POST", ACCESS_USER, api_deepl_document_status, NULL, &dialect_deepl},
    {"/v2/document/{id}/result", "POST", ACCESS_USER, api_deepl_document_result, NULL, &dialect_deepl},
    {"/language/translate/v2", "GET", ACCESS_USER, api_decode_start, api_decode_finish, &dialect_google},
    {"/language/translate/v2", "POST", ACCESS_USER, api_decode_start, api_decode_finish, &dialect_google},
    {"/language/translate/v2/", "GET", ACCESS_USER, api_decode_start, api_decode_finish, &dialect_google},
    {"/language/translate/v2/", "POST", ACCESS_USER, api_decode_start, api_decode_finish, &dialect_google},
    {"/language/translate/v2/languages", "GET", ACCESS_OPEN, api_google_languages, NULL, &dialect_google},
    {"/language/translate/v2/languages", "POST", ACCESS_OPEN, api_google_languages, NULL, &dialect_google},
    {"/language/translate/v2/detect", "GET", ACCESS_USER, api_decode_start, NULL, &dialect_google_detect},
    {"/language/translate/v2/detect", "POST", ACCESS_USER, api_decode_start, NULL, &dialect_google_detect},
    {"/breaksentence", "POST", ACCESS_USER, api_decode_start, NULL, &dialect_microsoft_break},
    {"/sts/v1.0/issueToken", "POST", ACCESS_USER, api_microsoft_token, NULL, &dialect_microsoft},
    {"/imme", "POST", ACCESS_USER, api_decode_start, api_decode_finish, &dialect_immersive},
    {"/kiss", "POST", ACCESS_USER, api_decode_start, api_decode_finish, &dialect_kiss},
    {"/deeplx", "POST", ACCESS_USER, api_decode_start, api_decode_finish, &dialect_deeplx},
    {"/spec", "GET", ACCESS_OPEN, api_spec, NULL, NULL},
    {"/openapi.json", "GET", ACCESS_OPEN, api_openapi, NULL, NULL},
    {"/docs", "GET", ACCESS_OPEN, api_docs, NULL, NULL},
    {"/", "GET", ACCESS_OPEN, api_page, NULL, NULL}, /* this is the last; the other files of the page share it */
};
enum { ROUTE_COUNT = sizeof routes / sizeof routes[0] };

/* The labels of metrics and log lines, one for each path. All other paths share the last label, since clients may send any path. */
static const char *const labels[] = {
    "/translate",
    "/attention",
    "/documents",
    "/translate_file",
    "/download_file/{file}",
    "/models",
    "/models/reload",
    "/models/{name}",
    "/health",
    "/ready",
    "/metrics",
    "/detect",
    "/languages",
    "/frontend/settings",
    "/v2/translate",
    "/v2/languages",
    "/v2/usage",
    "/v2/glossary-language-pairs",
    "/v2/glossaries",
    "/v2/glossaries/{id}",
    "/v2/glossaries/{id}/entries",
    "/v3/glossaries",
    "/v3/glossaries/{id}",
    "/v3/glossaries/{id}/entries",
    "/v3/glossaries/{id}/dictionaries",
    "/v2/document",
    "/v2/document/{id}",
    "/v2/document/{id}/result",
    "/language/translate/v2",
    "/language/translate/v2/",
    "/language/translate/v2/languages",
    "/language/translate/v2/detect",
    "/breaksentence",
    "/sts/v1.0/issueToken",
    "/imme",
    "/kiss",
    "/deeplx",
    "/spec",
    "/openapi.json",
    "/docs",
    "/",
    "other",
};
enum { LABEL_COUNT = sizeof labels / sizeof labels[0] };

const char *api_method(const char *method) {
    static const char *const known[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(method, known[i]) == 0)
            return known[i];
    }
    return "other";
}

const struct route *api_route(size_t i) {
    return i < ROUTE_COUNT ? &routes[i] : NULL;
}

static size_t label_of(const char *path) {
    for (size_t i = 0; i < LABEL_COUNT - 1; i++)
        if (strcmp(labels[i], path) == 0)
            return i;
    return LABEL_COUNT - 1;
}

/* Compares segment by segment. part: NULL, or receives the segment that matches the braces. */
static bool path_fits(const char *pattern, const char *path, const char **part, size_t *length) {
    while (*pattern && *path) {
        if (*pattern == '{') {
            size_t bytes = strcspn(path, "/");
            if (bytes == 0)
                return false;
            if (part) {
                *part = path;
                *length = bytes;
            }
            pattern += strcspn(pattern, "}") + 1;
            path += bytes;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return *pattern == *path;
}

const char *api_path_part(const struct route *route, const char *path, size_t *length) {
    const char *part = NULL;
    return path_fits(route->path, path, &part, length) ? part : NULL;
}

bool api_method_fits(const struct route *route, const char *method) {
    return strcmp(method, route->method) == 0 || (strcmp(method, "HEAD") == 0 && strcmp(route->method, "GET") == 0);
}

/* The row of the same path that has the method, or else this row. */
static const struct route *of_method(const struct route *route, const char *method) {
    for (const struct route *row = route; row < routes + ROUTE_COUNT && strcmp(row->path, route->path) == 0; row++)
        if (api_method_fits(row, method))
            return row;
    return route;
}

const struct route *api_find(const char *path, const char *method, size_t *index) {
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        if (path_fits(routes[i].path, path, NULL, NULL)) {
            *index = label_of(routes[i].path);
            return of_method(&routes[i], method);
        }
    }
    bool file = page_find(path) != NULL;
    *index = file ? label_of("/") : LABEL_COUNT - 1;
    return file ? &routes[ROUTE_COUNT - 1] : NULL;
}

void api_allowed(const struct route *route, char methods[API_METHODS_BYTES]) {
    size_t length = 0;
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        const char *method = routes[i].method;
        if (strcmp(routes[i].path, route->path) == 0)
            length += (size_t)snprintf(methods + length, API_METHODS_BYTES - length, "%s, ",
                                       strcmp(method, "GET") == 0 ? "GET, HEAD" : method);
    }
    snprintf(methods + length, API_METHODS_BYTES - length, "OPTIONS");
}

bool api_writes(const struct route *route) {
    return route->start == api_deepl_make_glossary || route->start == api_deepl_remove_glossary ||
           route->start == api_deepl_make_multilingual || route->start == api_deepl_change_multilingual ||
           route->start == api_deepl_set_dictionary || route->start == api_deepl_remove_dictionary;
}

bool api_detaches(const struct route *route) {
    return route->start == api_deepl_document_start;
}

bool api_is_lasting(const struct route *route) {
    return route->start == api_document_start || route->start == api_file_start || route->start == api_deepl_document_start;
}

bool api_is_for_administrators(const struct route *route) {
    if (route->access == ACCESS_ADMIN)
        return true;
    static const char *const paths[] = {"/health", "/ready", "/metrics", "/models"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (strcmp(route->path, paths[i]) == 0)
            return true;
    }
    return false;
}

const char *const *api_labels(size_t *count) {
    *count = LABEL_COUNT;
    return labels;
}

enum scheduler_verdict api_submit(const struct service *service, struct request *request) {
    if (request->reload)
        return catalog_reload(service->catalog, request->reload) ? SCHEDULER_ACCEPTED : SCHEDULER_CLOSED;
    if (request->fetch)
        return fetcher_await(service->fetcher, request->fetch) ? SCHEDULER_ACCEPTED : SCHEDULER_FULL;
    if (!api_waits(request))
        return scheduler_submit(service->scheduler, request);
    if (catalog_await(service->catalog, request->wait)) /* the request may have been freed */
        return SCHEDULER_ACCEPTED;
    return service_state(service) == SERVICE_DRAINING ? SCHEDULER_CLOSED : SCHEDULER_FULL;
}

/* ---- the page ---- */

const struct page_file *page_find(const char *path) {
    for (size_t i = 0; i < page_file_count; i++)
        if (strcmp(page_files[i].path, path) == 0)
            return &page_files[i];
    return NULL;
}

void api_page(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    /* nothing inline or from other hosts; an export draws a picture from data: */
    static const char policy[] =
        "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";
    (void)service;
    (void)request;
    const struct page_file *file = page_find(call->path);
    if (!file) {
        api_fail(reply, STATUS_NOT_FOUND, NULL, "this path does not exist");
        return;
    }

    /* If-None-Match is "*" or a list of tags, some of them weak; our tags are not substrings of each other */
    const char *tags = call->if_none_match;
    bool known = tags && (strcmp(tags, "*") == 0 || strstr(tags, file->etag));
    struct reply made = {.status = STATUS_NOT_MODIFIED, .content_type = file->type, .etag = file->etag, .policy = policy};
    if (!known) {
        made.body = malloc(file->length);
        if (!made.body) {
            api_fail_memory(reply);
            return;
        }
        memcpy(made.body, file->bytes, file->length);
        made.status = STATUS_OK;
        made.length = file->length;
    }
    *reply = made;
}
