/* This file has the dialects whose requests are plain fields: texts and two language codes. They
 * are LibreTranslate with its other endpoints and the APIs that browser extensions and Zotero call:
 * Immersive Translate's custom API, KISS Translator and DeepLX. This file hides their field names
 * and error messages. Unknown fields are ignored, because clients send additional ones. */
#include "server/dialects/plain.h"
#include "server/api/access.h"
#include "server/api/dialect.h"
#include "server/api/languages.h"
#include "server/api/order.h"
#include "server/api/pairs.h"
#include "server/api/plan.h"
#include "server/api/reply.h"
#include "server/api/value.h"
#include "server/base/strings.h"
#include "server/dialects/microsoft.h"
#include "server/documents/document.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* {"translations": [{source_key, "text"}]} */
static void put_translations(struct writer *w, const char *source_key, const struct plan *plan,
                             const struct plan_answers *answers) {
    writer_begin_array(w, "translations");
    for (size_t i = 0; i < plan->count; i++) {
        writer_begin_object(w, NULL);
        writer_string(w, source_key, plan_source(plan, i));
        order_put_text(w, "text", &answers[i].all[0]);
        writer_end_object(w);
    }
    writer_end_array(w);
}

/* ---- Immersive Translate ---- */

static void immersive_put(struct writer *w, const struct plan *plan,
                          const struct plan_answers *answers, struct arena *arena) {
    (void)arena;
    writer_begin_object(w, NULL);
    put_translations(w, "detected_source_lang", plan, answers);
    writer_end_object(w);
}

static const struct dialect_field immersive_fields[] = {
#define IMMERSIVE(name, fate, usual, example) {name, FIELD_##fate, usual},
#include "server/dialects/fields.def"
    {NULL, FIELD_HONOURED, NULL}};

const struct dialect dialect_immersive = {.name = "immersive",
                                          .key = "?token=KEY in the address",
                                          .fields = immersive_fields,
                                          .load = order_load,
                                          .several = "text_list",
                                          .order = {.text_name = "text_list",
                                                    .source_name = "source_lang",
                                                    .target_name = "target_lang",
                                                    .apart = true},
                                          .start = order_begin,
                                          .finish = order_finish,
                                          .put = immersive_put};

/* ---- KISS Translator ---- */

static void kiss_put(struct writer *w, const struct plan *plan, const struct plan_answers *answers,
                     struct arena *arena) {
    (void)arena;
    writer_begin_object(w, NULL);
    if (plan->order->array) {
        put_translations(w, "src", plan, answers);
    } else {
        order_put_text(w, "text", &answers[0].all[0]);
        writer_string(w, "src", plan_source(plan, 0));
    }
    writer_end_object(w);
}

static const struct dialect_field kiss_fields[] = {
#define KISS(name, fate, usual, example) {name, FIELD_##fate, usual},
#include "server/dialects/fields.def"
    {NULL, FIELD_HONOURED, NULL}};

const struct dialect dialect_kiss = {
    .name = "kiss",
    .key = "?token=KEY in the address",
    .fields = kiss_fields,
    .load = order_load,
    .several = "texts",
    .order = {.text_name = "text", .source_name = "from", .target_name = "to", .apart = true},
    .start = order_begin,
    .finish = order_finish,
    .put = kiss_put};

/* Reads a number, which is a string in forms. */
static int read_alternatives(const json_t *root, size_t most, size_t *out, struct reply *reply) {
    const char *name = "alternatives";
    const json_t *value = json_object_get(root, name);
    if (!value || json_is_null(value) || (json_is_string(value) && json_string_length(value) == 0))
        return 0;
    json_int_t number;
    char *end = NULL;
    errno = 0;
    bool integer = value_integer(value, &number);
    if (json_is_string(value)) {
        number = strtoll(json_string_value(value), &end, 10);
        integer = errno == 0 && *end == '\0';
    }
    if (!integer)
        return reply_refuse(reply, name, "Invalid request: alternatives parameter is not a number");
    if (number > (json_int_t)most)
        return reply_refuse(reply, name, "Invalid request: alternatives parameter must be <= %zu",
                            most);
    *out = number > 0 ? (size_t)number : 0;
    return 0;
}

/* ---- DeepLX ---- */

enum { DEEPLX_MOST_ALTERNATIVES = 5 };

static void deeplx_put_error(struct writer *w, const struct dialect_error *error) {
    writer_begin_object(w, NULL);
    writer_count(w, "code", error->status);
    writer_string(w, "message", error->message);
    writer_end_object(w);
}

static bool deeplx_speaks(const struct dialect_fields *fields) {
    return dialect_has(fields, "source_lang") && dialect_has(fields, "target_lang");
}

/* Some clients show the first alternative in place of the translation, so there are none unless
 * the request asks for them. */
static int deeplx_read(const json_t *root, struct order *order, struct arena *arena,
                       struct reply *reply) {
    (void)arena;
    return read_alternatives(root, DEEPLX_MOST_ALTERNATIVES, &order->alternatives, reply);
}

static void deeplx_start(const struct dialect *dialect, const struct service *service, json_t *root,
                         struct request *request, struct reply *reply) {
    if (json_is_array(json_object_get(root, "text")))
        reply_fail(reply, STATUS_INVALID, "text", "text must be a string");
    else
        order_begin(dialect, service, root, request, reply);
}

static void deeplx_put(struct writer *w, const struct plan *plan,
                       const struct plan_answers *answers, struct arena *arena) {
    (void)arena;
    writer_begin_object(w, NULL);
    writer_count(w, "code", STATUS_OK);
    writer_count(w, "id", 1); /* required by clients, which do not use it */
    order_put_text(w, "data", &answers[0].all[0]);
    writer_begin_array(w, "alternatives");
    for (size_t i = 1; i < answers[0].count; i++)
        order_put_text(w, NULL, &answers[0].all[i]);
    writer_end_array(w);
    order_put_code(w, "source_lang", plan_source(plan, 0));
    order_put_code(w, "target_lang", plan->order->targets[0]);
    writer_string(w, "method", "Free");
    writer_end_object(w);
}

static const struct dialect_field deeplx_fields[] = {
#define DEEPLX(name, fate, usual, example) {name, FIELD_##fate, usual},
#include "server/dialects/fields.def"
    {NULL, FIELD_HONOURED, NULL}};

const struct dialect dialect_deeplx = {
    .name = "deeplx",
    .key = "Authorization: Bearer KEY, or ?token=KEY in the address",
    .fields = deeplx_fields,
    .speaks = deeplx_speaks,
    .load = order_load,
    .order = {.text_name = "text",
              .source_name = "source_lang",
              .target_name = "target_lang",
              .apart = true},
    .start = deeplx_start,
    .read = deeplx_read,
    .finish = order_finish,
    .put = deeplx_put,
    .put_error = deeplx_put_error};

/* ---- LibreTranslate: POST /translate ---- */

/* A request without text is LibreTranslate's if it has a field that only its clients send. */
static bool libre_speaks(const struct dialect_fields *fields) {
    return !dialect_has(fields, "text") &&
           (dialect_has(fields, "q") ||
            (dialect_has(fields, "source") && dialect_has(fields, "target")) ||
            dialect_has(fields, "format") || dialect_has(fields, "alternatives") ||
            dialect_has(fields, "api_key"));
}

static int libre_count(const json_t *q, size_t *count, struct reply *reply) {
    *count = json_is_array(q) ? json_array_size(q) : 1;
    if (!q || json_is_null(q) || *count == 0 || (json_is_string(q) && json_string_length(q) == 0))
        return reply_refuse(reply, "q", "Invalid request: missing q parameter");
    if (*count > API_MAX_TEXTS)
        return reply_refuse(reply, "q", "Invalid request: request (%zu) exceeds text limit (%d)",
                            *count, API_MAX_TEXTS);
    for (size_t i = 0; i < *count; i++) {
        if (!json_is_string(json_is_array(q) ? json_array_get(q, i) : q))
            return reply_refuse(
                reply, "q", "Invalid request: q parameter is not a string or an array of strings");
    }
    return 0;
}

static int read_code(const json_t *root, const char *name, const char **out, struct reply *reply) {
    if (order_string(root, name, out, reply) != 0)
        return -1;
    return *out ? 0 : reply_refuse(reply, name, "Invalid request: missing %s parameter", name);
}

static void libre_refuse(enum plan_refusal refusal, const struct plan_reason *reason, size_t most,
                         struct reply *reply) {
    char from[LANGUAGE_NAME_BYTES], to[LANGUAGE_NAME_BYTES];
    if (refusal == PLAN_SOURCE || refusal == PLAN_TARGET) {
        reply_fail(reply, STATUS_INVALID, refusal == PLAN_SOURCE ? "source" : "target",
                   "%.60s is not supported", reason->asked);
    } else if (refusal == PLAN_PAIR) {
        language_name(reason->source, from);
        language_name(reason->target, to);
        reply_fail(reply, STATUS_INVALID, "target",
                   "%s (%s) is not available as a target language from %s (%s)", to, reason->target,
                   from, reason->source);
    } else if (refusal == PLAN_MARKUP) {
        reply_fail(reply, STATUS_INVALID, "q", "Invalid request: %s", reason->error.message);
    } else { /* PLAN_LENGTH */
        reply_fail(reply, STATUS_TOO_LARGE, "q",
                   "Invalid request: request (%zu) exceeds text limit (%zu)", reason->characters,
                   most);
    }
}

/* Clients retry if the message has the word "Slowdown". */
static void libre_put_error(struct writer *w, const struct dialect_error *error) {
    char message[REPLY_MESSAGE_BYTES];
    struct dialect_error own = *error;
    snprintf(message, sizeof message, "Slowdown: %s", error->message);
    if (error->status == STATUS_QUEUE_FULL)
        own.message = message;
    reply_put_error(w, &own);
}

static void libre_start(const struct dialect *dialect, const struct service *service, json_t *root,
                        struct request *request, struct reply *reply) {
    struct order *order = order_create(request, &dialect->order, reply);
    size_t rows = service->options->rows, beam = rows < REQUEST_MAX_BEAM ? rows : REQUEST_MAX_BEAM;
    const char *format;
    if (!order)
        return;
    order->texts = json_object_get(root, "q");
    order->target_count = 1;
    if (libre_count(order->texts, &order->count, reply) != 0 ||
        read_code(root, "source", &order->source, reply) != 0 ||
        read_code(root, "target", &order->targets[0], reply) != 0 ||
        order_string(root, "format", &format, reply) != 0 ||
        read_alternatives(root, beam - 1, &order->alternatives, reply) != 0)
        return;
    order->markup = format && strcmp(format, "html") == 0;
    if (format && !order->markup && strcmp(format, "text") != 0)
        reply_fail(reply, STATUS_INVALID, "format", "%.60s format is not supported", format);
    else
        order_start(order, dialect, service, root, request, reply);
}

static void libre_put_guess(struct writer *w, const char *key, const struct plan_guess *guess) {
    writer_begin_object(w, key);
    writer_number(w, "confidence", guess->confidence);
    writer_string(w, "language", guess->code);
    writer_end_object(w);
}

/* Writes each member as an array with an element for each item or, if q is not an array, as the
 * element of the only item. */
static void libre_put(struct writer *w, const struct plan *plan, const struct plan_answers *answers,
                      struct arena *arena) {
    enum { TEXT, ALTERNATIVES, LANGUAGE };
    static const char *const members[] = {"translatedText", "alternatives", "detectedLanguage"};
    (void)arena;
    bool array = plan->order->array;
    writer_begin_object(w, NULL);
    for (size_t member = TEXT; member <= LANGUAGE; member++) {
        if ((member == ALTERNATIVES && plan->alternatives == 0) ||
            (member == LANGUAGE && !plan->guessed))
            continue;
        const char *key = array ? NULL : members[member];
        if (array)
            writer_begin_array(w, members[member]);
        for (size_t i = 0; i < plan->count; i++) {
            if (member == TEXT)
                order_put_text(w, key, &answers[i].all[0]);
            if (member == LANGUAGE)
                libre_put_guess(w, key, &plan->items[i].guess);
            if (member != ALTERNATIVES)
                continue;
            writer_begin_array(w, key);
            for (size_t other = 1; other < answers[i].count; other++)
                order_put_text(w, NULL, &answers[i].all[other]);
            writer_end_array(w);
        }
        if (array)
            writer_end_array(w);
    }
    writer_end_object(w);
}

static const struct dialect_field libre_fields[] = {
#define LIBRETRANSLATE(name, fate, usual, example) {name, FIELD_##fate, usual},
#include "server/dialects/fields.def"
    {NULL, FIELD_HONOURED, NULL}};

const struct dialect dialect_libre = {.name = "libre",
                                      .key = "the field api_key",
                                      .fields = libre_fields,
                                      .speaks = libre_speaks,
                                      .load = order_load,
                                      .order = {.text_name = "q", .refuse = libre_refuse},
                                      .start = libre_start,
                                      .finish = order_finish,
                                      .put = libre_put,
                                      .put_error = libre_put_error};

/* ---- LibreTranslate: its other endpoints ---- */

/* LibreTranslate's page waits this long after a key is pressed; its clients expect the field. */
enum { FRONTEND_TIMEOUT_MS = 500 };

/* This dialect is the first of its path, so it is also used if the fields fit no dialect. */
static bool libre_detect_speaks(const struct dialect_fields *fields) {
    return dialect_has(fields, "q");
}

static void libre_detect_start(const struct dialect *dialect, const struct service *service,
                               json_t *root, struct request *request, struct reply *reply) {
    (void)dialect;
    (void)service;
    const json_t *q = json_object_get(root, "q");
    struct plan plan = {0};
    size_t count;
    if (libre_count(q, &count, reply) != 0)
        return;
    struct plan_guess guess = {0};
    if (plan_read(&plan, q, count, &request->arena) == 0)
        guess = plan_detect(plan.items, plan.count, false, request);
    struct writer w = {.most = SIZE_MAX};
    writer_begin_array(&w, NULL);
    if (guess.code)
        libre_put_guess(&w, NULL, &guess);
    else
        writer_fail(&w);
    writer_end_array(&w);
    reply_json(reply, &w);
}

const struct dialect dialect_libre_detect = {.name = "libre_detect",
                                             .key = "the field api_key",
                                             .speaks = libre_detect_speaks,
                                             .load = order_load,
                                             .start = libre_detect_start};

static void put_code(struct writer *w, const char *code) {
    char name[LANGUAGE_NAME_BYTES];
    language_name(code, name);
    writer_strings(w, "code", code, "name", name, NULL);
}

void plain_languages(const struct service *service, const struct call *call,
                     struct request *request, struct reply *reply) {
    struct plan_codes codes, targets; /* codes: without duplicates, sources first, then languages
                                         that are only targets */
    if (microsoft_speaks(&(struct dialect_fields){.call = call})) {
        microsoft_languages(call, request, reply);
        return;
    }
    if (order_list(request, true, true, &codes, reply) != 0)
        return;
    struct writer w = {.most = SIZE_MAX};
    struct arena *arena = &request->arena;
    writer_begin_array(&w, NULL);
    for (size_t i = 0; !writer_ended(&w) && i < codes.count; i++) {
        struct arena_mark mark = arena_mark(arena);
        writer_begin_object(&w, NULL);
        put_code(&w, codes.all[i]);
        writer_begin_array(&w, "targets");
        if (plan_targets(request->models, codes.all[i], service->options->pivot, arena, &targets) !=
            0)
            writer_fail(&w);
        for (size_t j = 0; !writer_ended(&w) && j < targets.count; j++)
            writer_string(&w, NULL, targets.all[j]);
        writer_end_array(&w);
        writer_end_object(&w);
        arena_release(arena, mark);
    }
    writer_end_array(&w);
    reply_json(reply, &w);
}

void plain_settings(const struct service *service, const struct call *call, struct request *request,
                    struct reply *reply) {
    (void)call;
    if (access_is_loading(request, reply))
        return;
    bool keys = service->keys != NULL;
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_count(&w, "charLimit", service->options->max_text_chars);
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
    writer_begin_object(&w, "language"); /* the languages that a page shows first: those of the
                                            first model that translates */
    const struct translator_info *first = NULL;
    for (size_t i = 0; !first && i < request->models->count; i++)
        first =
            pair_translates(&request->models->all[i]->info) ? &request->models->all[i]->info : NULL;
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
    reply_json(reply, &w);
}

void plain_spec(const struct service *service, const struct call *call, struct request *request,
                struct reply *reply) {
    (void)service;
    (void)call;
    (void)request;
    reply->status = STATUS_MOVED;
    reply->location = "/openapi.json";
}
