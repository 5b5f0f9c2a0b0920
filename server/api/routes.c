/* This file decides which endpoints a caller may reach. One table has a row for each path and method, and a call passes if its key
 * may use that endpoint and these models, and has not used up its rate and quota. openapi.json describes the fields and replies. */
#include "server/api/endpoint.h"
#include "server/base/clock.h"
#include "server/get/get.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the table ---- */

static const struct route routes[] = {
    {"/translate", "POST", ACCESS_USER, api_decode_start, api_decode_finish, NULL, PAGES_ANY},
    {"/translate", "GET", ACCESS_USER, api_decode_start, api_decode_finish, NULL, PAGES_ANY},
    {"/attention", "POST", ACCESS_USER, api_decode_start, api_decode_finish, NULL, PAGES_ANY},
    {"/attention", "GET", ACCESS_USER, api_decode_start, api_decode_finish, NULL, PAGES_ANY},
    {"/documents", "POST", ACCESS_USER, api_document_start, api_document_finish, NULL, PAGES_ANY},
    {"/translate_file", "POST", ACCESS_USER, api_file_start, api_file_finish, NULL, PAGES_OWN},
    {"/download_file/{file}", "GET", ACCESS_OPEN, api_file, NULL, NULL, PAGES_OWN},
    {"/models", "GET", ACCESS_LIST, api_models, NULL, NULL, PAGES_OWN},
    {"/models", "POST", ACCESS_ADMIN, api_add_model, NULL, NULL, PAGES_OWN},
    {"/models/reload", "POST", ACCESS_ADMIN, api_reload_start, api_reload_finish, NULL, PAGES_OWN},
    {"/models/{name}", "DELETE", ACCESS_ADMIN, api_remove_model, NULL, NULL, PAGES_OWN},
    {"/health", "GET", ACCESS_OPEN, api_health, NULL, NULL, PAGES_ANY},
    {"/ready", "GET", ACCESS_OPEN, api_ready, NULL, NULL, PAGES_ANY},
    {"/metrics", "GET", ACCESS_OPEN, api_metrics, NULL, NULL, PAGES_OWN},
    {"/detect", "POST", ACCESS_USER, api_decode_start, NULL, NULL, PAGES_ANY},
    {"/languages", "GET", ACCESS_LIST, api_languages, NULL, NULL, PAGES_ANY},
    {"/frontend/settings", "GET", ACCESS_LIST, api_settings, NULL, NULL, PAGES_ANY},
    {"/v2/translate", "POST", ACCESS_USER, api_decode_start, api_decode_finish, &dialect_deepl, PAGES_ANY},
    {"/v2/languages", "GET", ACCESS_LIST, api_deepl_languages, NULL, &dialect_deepl, PAGES_ANY},
    {"/v2/languages", "POST", ACCESS_LIST, api_deepl_languages, NULL, &dialect_deepl, PAGES_ANY},
    {"/v2/usage", "GET", ACCESS_USER, api_deepl_usage, NULL, &dialect_deepl, PAGES_OWN},
    {"/v2/usage", "POST", ACCESS_USER, api_deepl_usage, NULL, &dialect_deepl, PAGES_OWN},
    {"/v2/glossary-language-pairs", "GET", ACCESS_LIST, api_deepl_glossary_pairs, NULL, &dialect_deepl, PAGES_ANY},
    {"/v2/glossaries", "GET", ACCESS_USER, api_deepl_glossaries, NULL, &dialect_deepl, PAGES_OWN},
    {"/v2/glossaries", "POST", ACCESS_USER, api_deepl_make_glossary, NULL, &dialect_deepl, PAGES_OWN},
    {"/v2/glossaries/{id}", "GET", ACCESS_USER, api_deepl_glossary, NULL, &dialect_deepl, PAGES_OWN},
    {"/v2/glossaries/{id}", "DELETE", ACCESS_USER, api_deepl_remove_glossary, NULL, &dialect_deepl, PAGES_OWN},
    {"/v2/glossaries/{id}/entries", "GET", ACCESS_USER, api_deepl_entries, NULL, &dialect_deepl, PAGES_OWN},
    {"/v3/glossaries", "GET", ACCESS_USER, api_deepl_glossaries, NULL, &dialect_deepl, PAGES_OWN},
    {"/v3/glossaries", "POST", ACCESS_USER, api_deepl_make_glossary, NULL, &dialect_deepl, PAGES_OWN},
    {"/v3/glossaries/{id}", "GET", ACCESS_USER, api_deepl_glossary, NULL, &dialect_deepl, PAGES_OWN},
    {"/v3/glossaries/{id}", "PATCH", ACCESS_USER, api_deepl_change_multilingual, NULL, &dialect_deepl, PAGES_OWN},
    {"/v3/glossaries/{id}", "DELETE", ACCESS_USER, api_deepl_remove_glossary, NULL, &dialect_deepl, PAGES_OWN},
    {"/v3/glossaries/{id}/entries", "GET", ACCESS_USER, api_deepl_dictionary_entries, NULL, &dialect_deepl, PAGES_OWN},
    {"/v3/glossaries/{id}/dictionaries", "PUT", ACCESS_USER, api_deepl_set_dictionary, NULL, &dialect_deepl, PAGES_OWN},
    {"/v3/glossaries/{id}/dictionaries", "DELETE", ACCESS_USER, api_deepl_remove_dictionary, NULL, &dialect_deepl, PAGES_OWN},
    {"/v2/document", "POST", ACCESS_USER, api_deepl_document_start, api_document_finish, &dialect_deepl, PAGES_OWN},
    {"/v2/document/{id}", "POST", ACCESS_USER, api_deepl_document_status, NULL, &dialect_deepl, PAGES_OWN},
    {"/v2/document/{id}/result", "POST", ACCESS_USER, api_deepl_document_result, NULL, &dialect_deepl, PAGES_OWN},
    {"/language/translate/v2", "GET", ACCESS_USER, api_decode_start, api_decode_finish, &dialect_google, PAGES_ANY},
    {"/language/translate/v2", "POST", ACCESS_USER, api_decode_start, api_decode_finish, &dialect_google, PAGES_ANY},
    {"/language/translate/v2/", "GET", ACCESS_USER, api_decode_start, api_decode_finish, &dialect_google, PAGES_ANY},
    {"/language/translate/v2/", "POST", ACCESS_USER, api_decode_start, api_decode_finish, &dialect_google, PAGES_ANY},
    {"/language/translate/v2/languages", "GET", ACCESS_LIST, api_google_languages, NULL, &dialect_google, PAGES_ANY},
    {"/language/translate/v2/languages", "POST", ACCESS_LIST, api_google_languages, NULL, &dialect_google, PAGES_ANY},
    {"/language/translate/v2/detect", "GET", ACCESS_USER, api_decode_start, NULL, &dialect_google_detect, PAGES_ANY},
    {"/language/translate/v2/detect", "POST", ACCESS_USER, api_decode_start, NULL, &dialect_google_detect, PAGES_ANY},
    {"/breaksentence", "POST", ACCESS_USER, api_decode_start, NULL, &dialect_microsoft_break, PAGES_ANY},
    {"/sts/v1.0/issueToken", "POST", ACCESS_USER, api_microsoft_token, NULL, &dialect_microsoft, PAGES_ANY},
    {"/imme", "POST", ACCESS_USER, api_decode_start, api_decode_finish, &dialect_immersive, PAGES_ANY},
    {"/kiss", "POST", ACCESS_USER, api_decode_start, api_decode_finish, &dialect_kiss, PAGES_ANY},
    {"/deeplx", "POST", ACCESS_USER, api_decode_start, api_decode_finish, &dialect_deeplx, PAGES_ANY},
    {"/spec", "GET", ACCESS_OPEN, api_spec, NULL, NULL, PAGES_ANY},
    {"/openapi.json", "GET", ACCESS_OPEN, api_openapi, NULL, NULL, PAGES_ANY},
    {"/docs", "GET", ACCESS_OPEN, api_docs, NULL, NULL, PAGES_ANY},
    {"/", "GET", ACCESS_OPEN, api_page, NULL, NULL,
     PAGES_ANY}, /* this row must be the last; the other files of the page share it */
};
enum { ROUTE_COUNT = sizeof routes / sizeof routes[0] };

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

/* The rows of a path are adjacent. All paths without a route share the last label, since clients may send any path. */
size_t api_labels(const char *labels[API_MOST_LABELS]) {
    _Static_assert(sizeof routes / sizeof *routes < API_MOST_LABELS, "all labels fit");
    size_t count = 0;
    for (size_t i = 0; i < ROUTE_COUNT; i++)
        if (i == 0 || strcmp(routes[i - 1].path, routes[i].path) != 0)
            labels[count++] = routes[i].path;
    labels[count++] = "other";
    return count;
}

/* Returns the index of the route's label, or of the label for all other paths if route is NULL. */
static size_t label_of(const struct route *route) {
    const struct route *last = route ? route : &routes[ROUTE_COUNT - 1];
    size_t label = !route;
    for (const struct route *row = routes; row < last; row++)
        label += strcmp(row[0].path, row[1].path) != 0;
    return label;
}

/* Compares segment by segment. Unless part is NULL, sets it to the segment that matches the braces. */
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

const struct route *api_find(const char *path, const char *method, size_t *index) {
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        if (path_fits(routes[i].path, path, NULL, NULL)) {
            *index = label_of(&routes[i]);
            for (size_t row = i; row < ROUTE_COUNT && strcmp(routes[row].path, routes[i].path) == 0; row++)
                if (api_method_fits(&routes[row], method))
                    return &routes[row];
            return &routes[i];
        }
    }
    const struct route *page = page_find(path) ? &routes[ROUTE_COUNT - 1] : NULL;
    *index = label_of(page);
    return page;
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
           route->start == api_deepl_change_multilingual || route->start == api_deepl_set_dictionary ||
           route->start == api_deepl_remove_dictionary;
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

/* ---- the key of a request ---- */

const char *const api_key_headers[API_KEY_HEADERS] = {"X-Api-Key", "Ocp-Apim-Subscription-Key", "X-Goog-Api-Key"};

static const char *const schemes[] = {"Bearer ", "DeepL-Auth-Key "};

static const char *const key_fields[] = {"api_key", "auth_key", "key", "token", "Subscription-Key"};

/* Holds a key as sent: [length] bytes of any value. Length 0 means that no key was sent. */
struct secret {
    const char *bytes;
    size_t length;
};

/* Returns the value of a header without surrounding blanks. */
static struct secret trimmed(const char *value) {
    struct secret secret = {value ? value + strspn(value, " \t") : "", 0};
    secret.length = strlen(secret.bytes);
    while (secret.length > 0 && strchr(" \t", secret.bytes[secret.length - 1]))
        secret.length--;
    return secret;
}

bool api_is_key(const char *name) {
    for (size_t i = 0; i < sizeof key_fields / sizeof *key_fields; i++)
        if (strcmp(key_fields[i], name) == 0)
            return true;
    return false;
}

/* Returns the key that is sent in a header or a field; length 0 if there is none. */
static struct secret shown_key(const struct call *call) {
    struct secret secret = {0};
    for (size_t i = 0; call->authorization && secret.length == 0 && i < sizeof schemes / sizeof *schemes; i++)
        if (strncasecmp(call->authorization, schemes[i], strlen(schemes[i])) == 0) /* other schemes are meant for a proxy */
            secret = trimmed(call->authorization + strlen(schemes[i]));
    for (size_t i = 0; secret.length == 0 && i < API_KEY_HEADERS; i++)
        secret = trimmed(call->api_keys[i]);
    for (size_t i = 0; secret.length == 0 && i < call->field_count; i++)
        if (api_is_key(call->fields[i].name))
            secret = (struct secret){call->fields[i].value, call->fields[i].length};
    return secret;
}

/* Returns 1 if the key has a holder, 0 if it is missing or unknown, and -1 if memory runs out. *sent is true if the call has a
 * key. */
static int find_holder(struct keys *keys, const struct call *call, bool *sent, struct key_holder *holder) {
    struct secret secret = shown_key(call);
    json_t *root = NULL;
    int found = 0;

    /* A body that may contain the key is parsed twice: here only for the key, since the sender is not known yet. */
    if (secret.length == 0 && api_begins_json(call)) {
        root = api_load_json(call->body, call->length, 0, NULL);
        const json_t *value = json_object_get(root, "api_key");
        secret = (struct secret){json_string_value(value), json_string_length(value)};
        found = api_lacked_memory() ? -1 : 0;
    }
    *sent = secret.length > 0;
    if (found == 0 && *sent)
        found = keys_find(keys, secret.bytes, secret.length, holder);
    json_decref(root);
    return found;
}

/* LibreTranslate's clients send the key in the body, and so do others in forms. */
bool api_shows_key(const struct service *service, const struct route *route, const struct call *call, bool form) {
    bool needed = service->keys && route->access >= ACCESS_USER, in_body = !route->dialect || form;
    return !needed || !in_body || shown_key(call).length > 0;
}

int api_authorize(const struct service *service, const struct route *route, const struct call *call, struct request *request,
                  struct reply *reply) {
    struct key_holder holder;
    bool sent;
    bool lists = route->access == ACCESS_LIST;
    if (route->access == ACCESS_OPEN || (route->access < ACCESS_ADMIN && !service->keys) ||
        ((route->access == ACCESS_ADMIN || lists) && call->administrator))
        return 0;
    if (!service->keys)
        return api_fail(reply, STATUS_FORBIDDEN, NULL,
                        "this requires an admin API key, and the server was started without --api-keys");
    int found = find_holder(service->keys, call, &sent, &holder);
    if (found < 0)
        return api_fail_memory(reply);
    if (lists && !found)
        return 0;
    if (!sent)
        return api_fail(reply, STATUS_UNAUTHORIZED, NULL,
                        "an API key is required: Authorization: Bearer KEY, X-Api-Key, or the field api_key");
    if (!found)
        return api_fail(reply, STATUS_FORBIDDEN, NULL, "Invalid API key");
    struct key_holder *key = arena_alloc(&request->arena, 1, sizeof *key);
    if (!key)
        return api_fail_memory(reply);
    *key = holder;
    request->key = key;
    if (route->access == ACCESS_ADMIN && !holder.admin)
        return api_fail(reply, STATUS_FORBIDDEN, NULL, "this requires an admin API key");
    return 0;
}

bool api_is_administrator(const struct service *service, const struct call *call) {
    struct key_holder holder;
    bool sent;
    if (call->administrator || !service->keys)
        return call->administrator;
    return find_holder(service->keys, call, &sent, &holder) == 1 && holder.admin;
}

int api_take_models(const struct service *service, const struct route *route, struct request *request, struct reply *reply) {
    struct model_set *all = request->models = catalog_acquire(service->catalog);
    if (!all || !request->key || !*request->key->models)
        return 0;
    struct model_set *allowed = model_set_create(all->generation, NULL);
    for (size_t i = 0; allowed && i < all->count; i++) {
        struct served_model *model = all->all[i];
        if (keys_allow(request->key, model->info.name) && model_set_add(allowed, served_model_acquire(model), NULL) != 0) {
            model_set_release(allowed);
            allowed = NULL;
        }
    }
    model_set_release(all);
    request->models = allowed;
    if (!allowed)
        return api_fail_memory(reply);
    return allowed->count > 0 || route->access == ACCESS_LIST
               ? 0
               : api_fail(reply, STATUS_FORBIDDEN, NULL, "this API key has access to no loaded model");
}

/* ---- charging a request to its key and its client ---- */

static struct charge charge_of(const struct request *request, size_t sentences) {
    return (struct charge){.client = request->client,
                           .name = request->key ? request->key->name : "",
                           .sentences = sentences,
                           .characters = request->characters,
                           .now_us = clock_us(),
                           .now_s = time(NULL)};
}

/* Takes the charge from the allowance of the request's client and its key. False: it is used up, and the reply is set. */
static bool take(const struct service *service, const struct request *request, const struct charge *charge, struct reply *reply) {
    struct limit limit = request->key ? request->key->limit : (struct limit){0};
    if (limit.rate <= 0)
        limit.rate = service->options.rate;
    if (limit.burst == 0)
        limit.burst = service->options.burst;
    double wait_s;
    enum limiter_verdict verdict = limiter_take(service->limiter, charge, &limit, &wait_s);
    if (verdict == LIMITER_RATE) {
        api_fail_busy(service, REJECTED_RATE, "rate_limited", wait_s, reply,
                      "at most %g sentences per second are allowed for each client", limit.rate);
    } else if (verdict == LIMITER_DAILY) {
        api_fail_busy(service, REJECTED_QUOTA, "quota_exceeded", 0, reply,
                      "this API key may translate %llu characters a day, and has no room for this text today",
                      (unsigned long long)limit.daily);
        reply->retry_after_s = (unsigned)wait_s; /* the wait may be longer than api_fail_busy allows */
    } else if (verdict == LIMITER_MEMORY) {
        api_fail_memory(reply);
    }
    return verdict == LIMITER_TAKEN;
}

bool api_charge(const struct service *service, const struct request *request, struct reply *reply) {
    const struct charge charge = charge_of(request, request->job_count);
    return take(service, request, &charge, reply);
}

void api_check_allowance(const struct service *service, const struct route *route, const struct request *request,
                         struct reply *reply) {
    if (!route->finish || route->access != ACCESS_USER) /* it does not decode */
        return;
    const struct charge least = charge_of(request, 1);
    if (take(service, request, &least, reply))
        limiter_return(service->limiter, &least);
}

void api_refund(const struct service *service, const struct request *request, size_t sentences) {
    const struct charge charge = charge_of(request, sentences);
    limiter_return(service->limiter, &charge);
}
