/* This file hides what a caller may reach, and how a body and a refusal are written. One table has a row for each path and method.
 * A call passes if its key may call that endpoint with these models and has not used up its rate and quota. What a path takes and
 * gives, openapi.json says. An error has a status, a code and a message, in the dialect of its request. jansson reads what clients
 * send with reserved memory, since it does not always report that memory was out. */
#include "model/base/arena.h"
#include "model/base/utf8.h"
#include "server/api/endpoint.h"
#include "server/base/clock.h"
#include "server/get/get.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the table ---- */

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
    {"/v3/glossaries", "GET", ACCESS_USER, api_deepl_glossaries, NULL, &dialect_deepl},
    {"/v3/glossaries", "POST", ACCESS_USER, api_deepl_make_glossary, NULL, &dialect_deepl},
    {"/v3/glossaries/{id}", "GET", ACCESS_USER, api_deepl_glossary, NULL, &dialect_deepl},
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

/* Rows of one path are neighbours. All paths without a route share the last label, since clients may send any. */
size_t api_labels(const char *labels[API_MOST_LABELS]) {
    _Static_assert(sizeof routes / sizeof *routes < API_MOST_LABELS, "all labels fit");
    size_t count = 0;
    for (size_t i = 0; i < ROUTE_COUNT; i++)
        if (i == 0 || strcmp(routes[i - 1].path, routes[i].path) != 0)
            labels[count++] = routes[i].path;
    labels[count++] = "other";
    return count;
}

/* The place of the route's label; route NULL: that of all other paths. */
static size_t label_of(const struct route *route) {
    const struct route *last = route ? route : &routes[ROUTE_COUNT - 1];
    size_t label = !route;
    for (const struct route *row = routes; row < last; row++)
        label += strcmp(row[0].path, row[1].path) != 0;
    return label;
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
            *index = label_of(&routes[i]);
            return of_method(&routes[i], method);
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

/* ---- JSON ---- */

static _Thread_local bool lacked;

static void *json_allocate(size_t bytes) {
    void *block = reserve_alloc(bytes);
    lacked |= !block;
    return block;
}

bool api_lacked_memory(void) {
    bool before = lacked;
    lacked = false;
    return before;
}

json_t *api_load_json(const char *text, size_t length, size_t flags, json_error_t *error) {
    if (reserve_fill(NULL) == 0)
        return json_loadb(text, length, flags, error);
    lacked = true;
    return NULL;
}

void api_init(void) {
    json_set_alloc_funcs(json_allocate, free);
    json_object_seed(0); /* otherwise jansson does this at the first object, on any thread */
}

static void reply_set(struct reply *reply, unsigned status, char *text, size_t length) {
    free(reply->body);
    *reply = (struct reply){.status = status,
                            .content_type = "application/json; charset=utf-8",
                            .body = text,
                            .length = length,
                            .dialect = reply->dialect};
}

void api_reply_text(struct reply *reply, unsigned status, char *text) {
    reply_set(reply, status, text, text ? strlen(text) : 0);
}

void api_reply_status(struct reply *reply, unsigned status, struct writer *w) {
    size_t length = w->length;
    char *text = writer_take(w);
    if (text)
        reply_set(reply, status, text, length);
    else
        api_fail_memory(reply);
}

void api_reply_json(struct reply *reply, struct writer *w) {
    api_reply_status(reply, STATUS_OK, w);
}

bool api_integer(const json_t *value, json_int_t *number) {
    double real = json_is_real(value) ? json_real_value(value) : 0;
    *number = json_is_integer(value) ? json_integer_value(value) : 0;
    if (!json_is_real(value))
        return json_is_integer(value);
    if (real != trunc(real) || fabs(real) >= 9223372036854775808.0)
        return false;
    *number = (json_int_t)real;
    return true;
}

const char *api_type_name(const json_t *value) {
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    default:
        return "null";
    }
}

/* ---- bodies ---- */

static bool is_json_type(const char *content_type) {
    size_t length = content_type ? strcspn(content_type, "; \t") : 0;
    return (length == 16 && strncasecmp(content_type, "application/json", length) == 0) ||
           (length > 5 && strncasecmp(content_type + length - 5, "+json", 5) == 0);
}

static size_t count_blanks(const struct call *call) {
    size_t blank = 0;
    while (blank < call->length && strchr(" \t\r\n", call->body[blank]) && call->body[blank])
        blank++;
    return blank;
}

/* A body that begins with { or [ is JSON regardless of its content type, so that plain `curl -d` works. */
bool api_begins_json(const struct call *call) {
    size_t blank = count_blanks(call);
    return blank < call->length && (call->body[blank] == '{' || call->body[blank] == '[');
}

bool api_is_blank(const struct call *call) {
    return count_blanks(call) == call->length;
}

bool api_is_form(const struct call *call) {
    return (call->form || call->field_count > 0) && !api_begins_json(call);
}

json_t *api_load_value(const struct call *call, struct reply *reply) {
    if (api_is_blank(call)) {
        api_fail(reply, STATUS_INVALID, NULL, "the body is empty: send a JSON object, or the fields in the query string");
        return NULL;
    }
    if (!api_begins_json(call) && !is_json_type(call->content_type)) {
        api_fail(reply, STATUS_MEDIA_TYPE, NULL, "the body must be a JSON object (content type application/json)");
        return NULL;
    }
    if (memchr(call->body, '\0', call->length)) { /* jansson ignores a zero byte after a number or a word */
        api_fail(reply, STATUS_INVALID, NULL, "the body is not valid JSON: it contains a zero byte");
        return NULL;
    }
    json_error_t error;
    json_t *root = api_load_json(call->body, call->length, JSON_REJECT_DUPLICATES, &error);
    if (api_lacked_memory()) { /* characters of a string may be missing */
        json_decref(root);
        root = NULL;
        api_fail_memory(reply);
    } else if (!root) {
        const char *what = json_error_code(&error) == json_error_invalid_utf8 ? "UTF-8" : "JSON";
        api_fail(reply, STATUS_INVALID, NULL, "the body is not valid %s: line %d, column %d: %s", what, error.line, error.column,
                 error.text);
    }
    return root;
}

json_t *api_load(const struct call *call, struct reply *reply) {
    json_t *root = api_load_value(call, reply);
    if (!root || json_is_object(root))
        return root;
    api_fail(reply, STATUS_INVALID, NULL, "the body must be a JSON object, got %s", api_type_name(root));
    json_decref(root);
    return NULL;
}

int api_check_fields(const struct call *call, struct reply *reply) {
    for (size_t i = 0; i < call->field_count; i++) {
        const struct api_field *field = &call->fields[i];
        if (utf8_valid(field->name, strlen(field->name)) && utf8_valid(field->value, field->length) &&
            !memchr(field->value, '\0', field->length))
            continue;
        return api_fail(reply, STATUS_INVALID, NULL, "the fields are not valid UTF-8");
    }
    return 0;
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

static const char *code_of(unsigned status) {
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (codes[i].status == status)
            return codes[i].code;
    }
    return "internal_error";
}

void dialect_put_error(struct writer *w, const struct dialect_error *error) {
    writer_begin_object(w, NULL);
    writer_strings(w, "error", error->message, "code", error->code, NULL);
    if (error->field)
        writer_string_of(w, "field", error->field, utf8_clip(error->field, strlen(error->field), FIELD_BYTES));
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
        dialect_put_error(&w, &error);
    api_reply_status(reply, error.status, &w);
    return -1;
}

void api_fail_progress(struct reply *reply, unsigned status, const char *code, const char *message, double progress) {
    fail_with(reply, (struct dialect_error){status, code, NULL, message, &progress});
}

int api_fail_coded(struct reply *reply, unsigned status, const char *code, const char *field, const char *message) {
    return fail_with(reply, (struct dialect_error){status, code, field, message, NULL});
}

int api_fail(struct reply *reply, unsigned status, const char *field, const char *format, ...) {
    char message[API_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    /* a message that quotes a client may have been cut within a character, which JSON cannot represent */
    for (char *c = message; !utf8_valid(message, strlen(message)); c++)
        *c = (unsigned char)*c >= 0x80 ? '?' : *c;
    return api_fail_coded(reply, status, code_of(status), field, message);
}

int api_fail_memory(struct reply *reply) {
    api_lacked_memory();
    api_reply_text(reply, STATUS_UNAVAILABLE, strdup("{\"error\":\"the server is out of memory\",\"code\":\"unavailable\"}"));
    reply->retry_after_s = 1;
    return -1;
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
        /* the client has disconnected: this reply is only logged */
        metrics_cancelled(service->metrics, reason == CANCEL_CLIENT ? CANCELLED_CLIENT : CANCELLED_SHUTDOWN);
        api_fail_unready(SERVICE_DRAINING, reply);
    }
}

/* Counts the refusal. Retry-After is in whole seconds, limited to what a client would accept. */
__attribute__((format(printf, 6, 7))) static void fail_busy(const struct service *service, enum metrics_rejected reason,
                                                            const char *code, double wait_s, struct reply *reply,
                                                            const char *format, ...) {
    char message[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    metrics_rejected(service->metrics, reason);
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
    fail_busy(service, jobs ? REJECTED_QUEUE_FULL : REJECTED_QUEUE_WORK, "queue_full",
              scheduler_wait_s(service->scheduler, request), reply,
              jobs ? "the queue is full" : "the queue has no room for this much work");
}

void api_fail_crowded(const struct service *service, struct reply *reply) {
    fail_busy(service, REJECTED_REQUEST_MEMORY, "queue_full", 0, reply, "the queue has no room for so large a request");
}

void api_fail_unprepared(const struct service *service, double wait_s, struct reply *reply) {
    fail_busy(service, REJECTED_PREPARATION, "queue_full", wait_s, reply, "too many large requests are waiting to be read");
}

/* ---- the key of a request ---- */

const char *const api_key_headers[API_KEY_HEADERS] = {"X-Api-Key", "Ocp-Apim-Subscription-Key", "X-Goog-Api-Key"};

static const char *const schemes[] = {"Bearer ", "DeepL-Auth-Key "};

static const char *const key_fields[] = {"api_key", "auth_key", "key", "token", "Subscription-Key"};

/* A key as sent: [length] bytes of any value. Length 0 means that no key was sent. */
struct secret {
    const char *bytes;
    size_t length;
};

/* The value of a header without the blanks around it. */
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

/* Returns 1 if the key belongs to somebody, 0 if it is missing or unknown, and -1 if memory is out. sent: whether the request has a
 * key. */
static int find_holder(struct keys *keys, const struct call *call, bool *sent, struct key_holder *holder) {
    struct secret secret = {0};
    json_t *root = NULL;
    int found = 0;
    for (size_t i = 0; call->authorization && secret.length == 0 && i < sizeof schemes / sizeof *schemes; i++)
        if (strncasecmp(call->authorization, schemes[i], strlen(schemes[i])) == 0) /* other schemes are meant for a proxy */
            secret = trimmed(call->authorization + strlen(schemes[i]));
    for (size_t i = 0; secret.length == 0 && i < API_KEY_HEADERS; i++)
        secret = trimmed(call->api_keys[i]);
    for (size_t i = 0; secret.length == 0 && i < call->field_count; i++)
        if (api_is_key(call->fields[i].name))
            secret = (struct secret){call->fields[i].value, call->fields[i].length};

    /* A body that contains the key is parsed twice: here only for the key, since the sender is not known yet. */
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

int api_authorize(const struct service *service, const struct route *route, const struct call *call, struct request *request,
                  struct reply *reply) {
    struct key_holder holder;
    bool sent;
    if (route->access == ACCESS_OPEN || (route->access == ACCESS_USER && !service->keys) ||
        (route->access == ACCESS_ADMIN && call->administrator))
        return 0;
    if (!service->keys)
        return api_fail(reply, STATUS_FORBIDDEN, NULL,
                        "this requires an admin API key, and the server was started without --api-keys");
    int found = find_holder(service->keys, call, &sent, &holder);
    if (found < 0)
        return api_fail_memory(reply);
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
    if (route->access == ACCESS_ADMIN && holder.role != KEY_ADMIN)
        return api_fail(reply, STATUS_FORBIDDEN, NULL, "this requires an admin API key");
    return 0;
}

bool api_is_administrator(const struct service *service, const struct call *call) {
    struct key_holder holder;
    bool sent;
    if (call->administrator || !service->keys)
        return call->administrator;
    return find_holder(service->keys, call, &sent, &holder) == 1 && holder.role == KEY_ADMIN;
}

int api_take_models(const struct service *service, struct request *request, struct reply *reply) {
    struct model_set *all = request->models = catalog_acquire(service->catalog);
    if (!all || !request->key || !*request->key->limits.models)
        return 0;
    struct model_set *allowed = model_set_create(all->generation, NULL);
    for (size_t i = 0; allowed && i < all->count; i++) {
        struct served_model *model = all->all[i];
        if (keys_allow(&request->key->limits, model->info.name) && model_set_add(allowed, served_model_acquire(model), NULL) != 0) {
            model_set_release(allowed);
            allowed = NULL;
        }
    }
    model_set_release(all);
    request->models = allowed;
    if (!allowed)
        return api_fail_memory(reply);
    return allowed->count > 0 ? 0 : api_fail(reply, STATUS_FORBIDDEN, NULL, "this API key has access to no loaded model");
}

/* ---- what a request uses of its key's and its client's allowance ---- */

static const char *account_of(const struct request *request) {
    return request->key ? request->key->name : "";
}

bool api_charge(const struct service *service, const struct request *request, struct reply *reply) {
    const struct key_holder *key = request->key;
    struct limit limit = {service->options.rate, service->options.burst};
    if (key && key->limits.rate > 0)
        limit.rate = key->limits.rate;
    if (key && key->limits.burst > 0)
        limit.burst = key->limits.burst;
    double wait_s = limiter_take(service->limiter, request->client, &limit, request->job_count, clock_us());
    if (wait_s > 0) {
        fail_busy(service, REJECTED_RATE, "rate_limited", wait_s, reply,
                  "at most %g sentences per second are allowed for each client", limit.rate);
        return false;
    }

    uint64_t daily = key ? key->limits.daily : 0;
    int64_t now_s = time(NULL);
    enum usage_verdict verdict = usage_take(service->usage, account_of(request), request->characters, daily, now_s);
    if (verdict == USAGE_EXCEEDED) {
        fail_busy(service, REJECTED_QUOTA, "quota_exceeded", 0, reply,
                  "this API key may translate %llu characters a day, and has no room for this text today",
                  (unsigned long long)daily);
        reply->retry_after_s = usage_rest_s(now_s);
    } else if (verdict == USAGE_MEMORY) {
        api_fail_memory(reply);
    }
    if (verdict != USAGE_TAKEN)
        limiter_return(service->limiter, request->client, request->job_count);
    return verdict == USAGE_TAKEN;
}

void api_refund(const struct service *service, const struct request *request, size_t sentences) {
    limiter_return(service->limiter, request->client, sentences);
    usage_return(service->usage, account_of(request), request->characters, time(NULL));
}
