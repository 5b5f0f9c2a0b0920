/* LibreTranslate's dialect: POST /translate and /detect, GET /languages, /frontend/settings and /spec, with its error messages.
 * Unknown fields are ignored, since its clients send fields of their own. */
#include "server/api/languages.h"
#include "server/api/plan.h"
#include "server/documents/document.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- fields ---- */

/* Without text, a request is LibreTranslate's only if it has a field that only its clients send. */
static bool libre_speaks(const struct dialect_fields *fields) {
    return dialect_has(fields, "q") || (dialect_has(fields, "source") && dialect_has(fields, "target")) ||
           dialect_has(fields, "format") || dialect_has(fields, "alternatives") || dialect_has(fields, "api_key");
}

static int libre_count(const json_t *q, size_t *count, struct reply *reply) {
    *count = json_is_array(q) ? json_array_size(q) : 1;
    if (!q || json_is_null(q) || *count == 0 || (json_is_string(q) && json_string_length(q) == 0))
        return api_refuse(reply, "q", "Invalid request: missing q parameter");
    if (*count > API_MAX_TEXTS)
        return api_refuse(reply, "q", "Invalid request: request (%zu) exceeds text limit (%d)", *count, API_MAX_TEXTS);
    for (size_t i = 0; i < *count; i++) {
        if (!json_is_string(json_is_array(q) ? json_array_get(q, i) : q))
            return api_refuse(reply, "q", "Invalid request: q parameter is not a string or an array of strings");
    }
    return 0;
}

static int read_code(const json_t *root, const char *name, const char **out, struct reply *reply) {
    if (order_string(root, name, out, reply) != 0)
        return -1;
    return *out ? 0 : api_refuse(reply, name, "Invalid request: missing %s parameter", name);
}

/* Reads a number, or a number in a string as forms have it. */
static int read_alternatives(const json_t *root, size_t most, size_t *out, struct reply *reply) {
    const char *name = "alternatives";
    const json_t *value = json_object_get(root, name);
    if (!value || json_is_null(value) || (json_is_string(value) && json_string_length(value) == 0))
        return 0;
    json_int_t number;
    char *end = NULL;
    errno = 0;
    bool integer = api_integer(value, &number);
    if (json_is_string(value)) {
        number = strtoll(json_string_value(value), &end, 10);
        integer = errno == 0 && *end == '\0';
    }
    if (!integer)
        return api_refuse(reply, name, "Invalid request: alternatives parameter is not a number");
    if (number > (json_int_t)most)
        return api_refuse(reply, name, "Invalid request: alternatives parameter must be <= %zu", most);
    *out = number > 0 ? (size_t)number : 0;
    return 0;
}

static int read_order(const json_t *root, size_t rows, struct order *order, struct reply *reply) {
    size_t beam = rows < REQUEST_MAX_BEAM ? rows : REQUEST_MAX_BEAM;
    const char *format = NULL;
    order->texts = json_object_get(root, "q");
    if (libre_count(order->texts, &order->count, reply) != 0 || read_code(root, "source", &order->source, reply) != 0 ||
        read_code(root, "target", &order->targets[0], reply) != 0 || order_string(root, "format", &format, reply) != 0 ||
        read_alternatives(root, beam - 1, &order->alternatives, reply) != 0)
        return -1;
    if (format && strcmp(format, "text") != 0 && strcmp(format, "html") != 0)
        return api_refuse(reply, "format", "%.60s format is not supported", format);
    order->target_count = 1;
    order->markup = format && strcmp(format, "html") == 0;
    return 0;
}

/* ---- refusals ---- */

static void fail_pair(const struct plan_reason *reason, struct reply *reply) {
    char from[LANGUAGE_NAME_BYTES], to[LANGUAGE_NAME_BYTES];
    language_name(reason->source, from);
    language_name(reason->target, to);
    api_fail(reply, STATUS_INVALID, "target", "%s (%s) is not available as a target language from %s (%s)", to, reason->target,
             from, reason->source);
}

static void libre_refuse(enum plan_refusal refusal, const struct order *order, const struct plan_reason *reason, size_t most,
                         struct reply *reply) {
    (void)order;
    switch (refusal) {
    case PLAN_SOURCE:
        api_fail(reply, STATUS_INVALID, "source", "%.60s is not supported", reason->asked);
        break;
    case PLAN_TARGET:
        api_fail(reply, STATUS_INVALID, "target", "%.60s is not supported", reason->asked);
        break;
    case PLAN_PAIR:
        fail_pair(reason, reply);
        break;
    case PLAN_MARKUP:
        api_fail(reply, STATUS_INVALID, "q", "Invalid request: %s", reason->error.message);
        break;
    default: /* PLAN_LENGTH */
        api_fail(reply, STATUS_TOO_LARGE, "q", "Invalid request: request (%zu) exceeds text limit (%zu)", reason->characters, most);
    }
}

/* Its clients recognize by this word that they must ask again. */
static void libre_put_error(struct writer *w, const struct dialect_error *error) {
    char message[API_MESSAGE_BYTES];
    struct dialect_error own = *error;
    snprintf(message, sizeof message, "Slowdown: %s", error->message);
    if (error->status == STATUS_QUEUE_FULL)
        own.message = message;
    dialect_put_error(w, &own);
}

/* ---- from the fields to the jobs ---- */

static void libre_start(const struct dialect *dialect, const struct service *service, json_t *root, struct request *request,
                        struct reply *reply) {
    struct order *order = order_create(request, &(struct order){.text_name = "q", .refuse = libre_refuse}, reply);
    if (order && read_order(root, service->options.rows, order, reply) == 0)
        order_start(order, dialect, service, root, request, reply);
}

/* ---- the answer ---- */

/* Writes a member for all items: an array with an element for each or, if q is not an array, the element of the only item. */
static void put_member(struct writer *w, const char *key, const struct plan *plan, const struct plan_answers *answers,
                       void (*put)(struct writer *w, const char *key, const struct plan_item *item,
                                   const struct plan_answers *answers)) {
    bool array = plan->order->array;
    if (array)
        writer_begin_array(w, key);
    for (size_t i = 0; i < plan->count; i++)
        put(w, array ? NULL : key, &plan->items[i], &answers[i]);
    if (array)
        writer_end_array(w);
}

static void put_translated(struct writer *w, const char *key, const struct plan_item *item, const struct plan_answers *answers) {
    (void)item;
    writer_string_of(w, key, answers->all[0].text, answers->all[0].length);
}

static void put_alternatives(struct writer *w, const char *key, const struct plan_item *item, const struct plan_answers *answers) {
    (void)item;
    writer_begin_array(w, key);
    for (size_t i = 1; i < answers->count; i++)
        writer_string_of(w, NULL, answers->all[i].text, answers->all[i].length);
    writer_end_array(w);
}

static void libre_put_guess(struct writer *w, const char *key, const struct plan_guess *guess) {
    writer_begin_object(w, key);
    writer_number(w, "confidence", guess->confidence);
    writer_string(w, "language", guess->code);
    writer_end_object(w);
}

static void put_detected(struct writer *w, const char *key, const struct plan_item *item, const struct plan_answers *answers) {
    (void)answers;
    libre_put_guess(w, key, &item->guess);
}

static void put_answers(struct writer *w, const struct plan *plan, const struct plan_answers *answers, struct arena *arena) {
    (void)arena;
    writer_begin_object(w, NULL);
    put_member(w, "translatedText", plan, answers, put_translated);
    if (plan->alternatives > 0)
        put_member(w, "alternatives", plan, answers, put_alternatives);
    if (plan->guessed)
        put_member(w, "detectedLanguage", plan, answers, put_detected);
    writer_end_object(w);
}

const struct dialect dialect_libre = {.name = "libre",
                                      .path = "/translate",
                                      .speaks = libre_speaks,
                                      .load = order_load,
                                      .start = libre_start,
                                      .finish = order_finish,
                                      .put = put_answers,
                                      .put_error = libre_put_error};

/* ---- its other endpoints ---- */

/* LibreTranslate's page waits this long after a key is pressed; its clients expect the field. */
enum { FRONTEND_TIMEOUT_MS = 500 };

/* The first dialect of its path, used if the fields fit no other. */
static bool detect_speaks(const struct dialect_fields *fields) {
    return dialect_has(fields, "q");
}

static void detect_start(const struct dialect *dialect, const struct service *service, json_t *root, struct request *request,
                         struct reply *reply) {
    (void)dialect;
    (void)service;
    const json_t *q = json_object_get(root, "q");
    struct plan plan = {0};
    size_t count;
    if (libre_count(q, &count, reply) != 0)
        return;
    struct plan_guess guess = {0};
    if (plan_read(&plan, q, count, &request->arena) == 0)
        guess = plan_detect(plan.items, plan.count, false, request->models);
    struct writer w = {.most = SIZE_MAX};
    writer_begin_array(&w, NULL);
    if (guess.code)
        libre_put_guess(&w, NULL, &guess);
    else
        writer_fail(&w);
    writer_end_array(&w);
    api_reply_json(reply, &w);
}

const struct dialect dialect_libre_detect = {
    .name = "libre_detect", .path = "/detect", .speaks = detect_speaks, .load = order_load, .start = detect_start};

static void put_code(struct writer *w, const char *code) {
    char name[LANGUAGE_NAME_BYTES];
    language_name(code, name);
    writer_strings(w, "code", code, "name", name, NULL);
}

void api_languages(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    if (api_is_loading(request, reply))
        return;
    if (microsoft_speaks(&(struct dialect_fields){.call = call})) {
        microsoft_languages(call, request, reply);
        return;
    }
    struct writer w = {.most = SIZE_MAX};
    struct arena *arena = &request->arena;
    struct plan_codes codes = {.count = 0}, targets; /* without duplicates: sources first, then languages that are only targets */
    writer_begin_array(&w, NULL);
    if (plan_languages(request->models, true, true, arena, &codes) != 0)
        writer_fail(&w);
    for (size_t i = 0; !writer_ended(&w) && i < codes.count; i++) {
        struct arena_mark mark = arena_mark(arena);
        writer_begin_object(&w, NULL);
        put_code(&w, codes.all[i]);
        writer_begin_array(&w, "targets");
        if (plan_targets(request->models, codes.all[i], service->options.pivot, arena, &targets) != 0)
            writer_fail(&w);
        for (size_t j = 0; !writer_ended(&w) && j < targets.count; j++)
            writer_string(&w, NULL, targets.all[j]);
        writer_end_array(&w);
        writer_end_object(&w);
        arena_release(arena, mark);
    }
    writer_end_array(&w);
    api_reply_json(reply, &w);
}

void api_settings(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)call;
    if (api_is_loading(request, reply))
        return;
    bool keys = service->keys != NULL;
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_count(&w, "charLimit", service->options.max_text_chars);
    writer_count(&w, "frontendTimeout", FRONTEND_TIMEOUT_MS);
    writer_boolean(&w, "apiKeys", keys);
    writer_boolean(&w, "keyRequired", keys);
    writer_boolean(&w, "suggestions", false);
    writer_boolean(&w, "filesTranslation", true);
    writer_begin_array(&w, "supportedFilesFormat");
    const struct document_format *format;
    for (size_t i = 0; (format = document_nth(i)) != NULL; i++)
        for (const char *at = format->extensions; *at; at += strspn(at, " ")) {
            char extension[16];
            int length = (int)strcspn(at, " ");
            snprintf(extension, sizeof extension, ".%.*s", length, at);
            writer_string(&w, NULL, extension);
            at += length;
        }
    writer_end_array(&w);
    writer_begin_object(&w, "language"); /* the languages that a page shows first: those of the first model that translates */
    const struct translator_info *first = NULL;
    for (size_t i = 0; !first && i < request->models->count; i++)
        first = plan_translates(&request->models->all[i]->info) ? &request->models->all[i]->info : NULL;
    if (first) {
        writer_begin_object(&w, "source");
        put_code(&w, first->source);
        writer_end_object(&w);
        writer_begin_object(&w, "target");
        put_code(&w, first->target);
        writer_end_object(&w);
    }
    writer_end_object(&w);
    writer_end_object(&w);
    api_reply_json(reply, &w);
}

void api_spec(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)service;
    (void)call;
    (void)request;
    reply->status = STATUS_MOVED;
    reply->location = "/openapi.json";
}
