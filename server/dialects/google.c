/* This file has Google's APIs: versions 2 and 3 of Cloud Translation, and the two addresses below
 * /translate_a that browser extensions and scripts call. It hides their fields, their errors, and
 * the arrays without names that the latter answer with. Unknown fields are ignored. */
#include "server/dialects/google.h"
#include "server/api/languages.h"
#include "server/api/order.h"
#include "server/api/plan.h"
#include "server/api/reply.h"
#include <string.h>

/* ---- version 2 ---- */

static const char google_key[] = "the parameter key, or X-Goog-Api-Key: KEY",
                  google_3_key[] = "Authorization: Bearer KEY, or X-Goog-Api-Key: KEY";

enum { GOOGLE_MOST_TEXTS = 128 };

static void google_put_error(struct writer *w, const struct dialect_error *error) {
    static const struct {
        unsigned status;
        const char *word;
    } words[] = {
        {STATUS_INVALID, "INVALID_ARGUMENT"},    {STATUS_UNAUTHORIZED, "UNAUTHENTICATED"},
        {STATUS_FORBIDDEN, "PERMISSION_DENIED"}, {STATUS_QUEUE_FULL, "RESOURCE_EXHAUSTED"},
        {STATUS_UNAVAILABLE, "UNAVAILABLE"},     {STATUS_DEADLINE, "DEADLINE_EXCEEDED"},
        {STATUS_TOO_LARGE, "INVALID_ARGUMENT"},  {STATUS_INTERNAL, "INTERNAL"},
    };
    const char *word = "UNKNOWN";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].status == error->status)
            word = words[i].word;
    writer_begin_object(w, NULL);
    writer_begin_object(w, "error");
    writer_count(w, "code", error->status);
    writer_string(w, "message", error->message);
    writer_begin_array(w, "errors");
    writer_begin_object(w, NULL);
    writer_strings(w, "message", error->message, "domain", "global", "reason", error->code, NULL);
    writer_end_object(w);
    writer_end_array(w);
    writer_string(w, "status", word);
    writer_end_object(w);
    writer_end_object(w);
}

/* HTML is the default format. */
static int google_read(const json_t *root, struct order *order, struct arena *arena,
                       struct reply *reply) {
    (void)arena;
    static const char *const formats[] = {"text", "html", NULL};
    const char *format;
    if (order_word(root, "format", formats, "text or html", &format, reply) != 0)
        return -1;
    order->markup = !format || strcmp(format, "html") == 0;
    return 0;
}

/* {"data": {key: [...]}} */
static void google_begin(struct writer *w, const char *key) {
    writer_begin_object(w, NULL);
    writer_begin_object(w, "data");
    writer_begin_array(w, key);
}

static void google_end(struct writer *w) {
    writer_end_array(w);
    writer_end_object(w);
    writer_end_object(w);
}

static void google_put(struct writer *w, const struct plan *plan,
                       const struct plan_answers *answers, struct arena *arena) {
    (void)arena;
    google_begin(w, "translations");
    for (size_t i = 0; i < plan->count; i++) {
        writer_begin_object(w, NULL);
        order_put_text(w, "translatedText", &answers[i].all[0]);
        if (plan->guessed)
            writer_string(w, "detectedSourceLanguage", plan->items[i].guess.code);
        writer_end_object(w);
    }
    google_end(w);
}

static const struct dialect_field google_2_fields[] = {
#define GOOGLE_2(name, fate, usual, example) {name, FIELD_##fate, usual},
#include "server/dialects/fields.def"
    {NULL, FIELD_HONOURED, NULL}};

const struct dialect dialect_google = {
    .name = "google",
    .key = google_key,
    .fields = google_2_fields,
    .load = order_load,
    .several = "q",
    .most_texts = GOOGLE_MOST_TEXTS,
    .order = {.text_name = "q", .source_name = "source", .target_name = "target", .apart = true},
    .start = order_begin,
    .read = google_read,
    .finish = order_finish,
    .put = google_put,
    .put_error = google_put_error};

void google_languages(const struct service *service, const struct call *call,
                      struct request *request, struct reply *reply) {
    (void)service;
    const struct api_field *in =
        dialect_sent(call, "target"); /* the language of names; NULL: no names */
    struct plan_codes codes;
    if (dialect_judge_fields(&dialect_google, &(struct dialect_fields){.call = call}, reply) != 0 ||
        order_list(request, true, true, &codes, reply) != 0)
        return;
    struct writer w = {.most = SIZE_MAX};
    google_begin(&w, "languages");
    for (size_t i = 0; i < codes.count; i++) {
        char name[LANGUAGE_NAME_BYTES];
        writer_begin_object(&w, NULL);
        writer_string(&w, "language", codes.all[i]);
        if (in) {
            language_name_in(codes.all[i], in->value, name);
            writer_string(&w, "name", name);
        }
        writer_end_object(&w);
    }
    google_end(&w);
    reply_json(reply, &w);
}

static void google_detect_start(const struct dialect *dialect, const struct service *service,
                                json_t *root, struct request *request, struct reply *reply) {
    (void)dialect;
    (void)service;
    struct plan plan = {0};
    if (order_read(root, "q", GOOGLE_MOST_TEXTS, &plan, &request->arena, reply) != 0)
        return;
    struct writer w = {.most = SIZE_MAX};
    google_begin(&w, "detections");
    for (size_t i = 0; i < plan.count; i++) {
        struct plan_guess guess = plan_detect(&plan.items[i], 1, false, request);
        if (!guess.code)
            writer_fail(&w);
        writer_begin_array(&w, NULL);
        writer_begin_object(&w, NULL);
        writer_string(&w, "language", guess.code ? guess.code : "");
        writer_boolean(&w, "isReliable", false);
        writer_number(&w, "confidence", guess.confidence / 100);
        writer_end_object(&w);
        writer_end_array(&w);
    }
    google_end(&w);
    reply_json(reply, &w);
}

const struct dialect dialect_google_detect = {.name = "google_detect",
                                              .key = google_key,
                                              .fields = google_2_fields,
                                              .load = order_load,
                                              .several = "q",
                                              .start = google_detect_start,
                                              .put_error = google_put_error};

/* ---- version 3 ---- */

enum { GOOGLE_3_MOST_TEXTS = 1024 };

/* Reads mimeType. HTML is the default. */
static int read_mime_type(const json_t *root, bool *markup, struct reply *reply) {
    static const char *const types[] = {"text/plain", "text/html", NULL};
    const char *type;
    if (order_word(root, "mimeType", types, "text/plain or text/html", &type, reply) != 0)
        return -1;
    *markup = !type || strcmp(type, "text/html") == 0;
    return 0;
}

/* A glossary is named projects/P/locations/L/glossaries/ID. */
static int google_3_read(const json_t *root, struct order *order, struct arena *arena,
                         struct reply *reply) {
    const json_t *glossary = json_object_get(root, "glossaryConfig");
    const char *name = NULL;
    if (read_mime_type(root, &order->markup, reply) != 0)
        return -1;
    if (glossary && !json_is_object(glossary))
        return reply_refuse(reply, "glossaryConfig", "glossaryConfig must be an object");
    if (glossary && order_string(glossary, "glossary", &name, reply) != 0)
        return -1;
    if (name) {
        const char *slash = strrchr(name, '/');
        name = slash ? slash + 1 : name;
        order->glossary = arena_copy(arena, name, strlen(name));
    }
    return 0;
}

static void put_translations(struct writer *w, const char *key, const struct plan *plan,
                             const struct plan_answers *answers) {
    writer_begin_array(w, key);
    for (size_t i = 0; i < plan->count; i++) {
        writer_begin_object(w, NULL);
        order_put_text(w, "translatedText", &answers[i].all[0]);
        if (plan->guessed)
            writer_string(w, "detectedLanguageCode", plan->items[i].guess.code);
        writer_end_object(w);
    }
    writer_end_array(w);
}

/* With a glossary Google translates twice, without it and with it; here both arrays have the
 * translations that obey it. */
static void google_3_put(struct writer *w, const struct plan *plan,
                         const struct plan_answers *answers, struct arena *arena) {
    (void)arena;
    writer_begin_object(w, NULL);
    put_translations(w, "translations", plan, answers);
    if (plan->order->glossary)
        put_translations(w, "glossaryTranslations", plan, answers);
    writer_end_object(w);
}

static const struct dialect_field google_3_fields[] = {
#define GOOGLE_3(name, fate, usual, example) {name, FIELD_##fate, usual},
#include "server/dialects/fields.def"
    {NULL, FIELD_HONOURED, NULL}};

const struct dialect dialect_google_3 = {.name = "google_3",
                                         .key = google_3_key,
                                         .fields = google_3_fields,
                                         .load = order_load,
                                         .several = "contents",
                                         .most_texts = GOOGLE_3_MOST_TEXTS,
                                         .order = {.text_name = "contents",
                                                   .source_name = "sourceLanguageCode",
                                                   .target_name = "targetLanguageCode",
                                                   .apart = true},
                                         .start = order_begin,
                                         .read = google_3_read,
                                         .finish = order_finish,
                                         .put = google_3_put,
                                         .put_error = google_put_error};

static void google_3_detect_start(const struct dialect *dialect, const struct service *service,
                                  json_t *root, struct request *request, struct reply *reply) {
    (void)dialect;
    (void)service;
    struct plan plan = {0};
    bool markup;
    if (read_mime_type(root, &markup, reply) != 0 ||
        order_read(root, "content", 1, &plan, &request->arena, reply) != 0)
        return;
    struct plan_guess guess = plan_detect(plan.items, 1, markup, request);
    struct writer w = {.most = SIZE_MAX};
    if (!guess.code)
        writer_fail(&w);
    writer_begin_object(&w, NULL);
    writer_begin_array(&w, "languages");
    writer_begin_object(&w, NULL);
    writer_string(&w, "languageCode", guess.code ? guess.code : "");
    writer_number(&w, "confidence", guess.confidence / 100);
    writer_end_object(&w);
    writer_end_array(&w);
    writer_end_object(&w);
    reply_json(reply, &w);
}

const struct dialect dialect_google_3_detect = {.name = "google_3_detect",
                                                .key = google_3_key,
                                                .fields = google_3_fields,
                                                .load = order_load,
                                                .start = google_3_detect_start,
                                                .put_error = google_put_error};

static bool is_among(const struct plan_codes *codes, const char *code) {
    for (size_t i = 0; i < codes->count; i++)
        if (strcmp(codes->all[i], code) == 0)
            return true;
    return false;
}

void google_3_languages(const struct service *service, const struct call *call,
                        struct request *request, struct reply *reply) {
    (void)service;
    const struct api_field *in = dialect_sent(call, "displayLanguageCode");
    struct plan_codes codes, sources, targets;
    if (dialect_judge_fields(&dialect_google_3, &(struct dialect_fields){.call = call}, reply) !=
            0 ||
        order_list(request, true, true, &codes, reply) != 0 ||
        order_list(request, true, false, &sources, reply) != 0 ||
        order_list(request, false, true, &targets, reply) != 0)
        return;
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_begin_array(&w, "languages");
    for (size_t i = 0; i < codes.count; i++) {
        char name[LANGUAGE_NAME_BYTES];
        writer_begin_object(&w, NULL);
        writer_string(&w, "languageCode", codes.all[i]);
        if (in) {
            language_name_in(codes.all[i], in->value, name);
            writer_string(&w, "displayName", name);
        }
        writer_boolean(&w, "supportSource", is_among(&sources, codes.all[i]));
        writer_boolean(&w, "supportTarget", is_among(&targets, codes.all[i]));
        writer_end_object(&w);
    }
    writer_end_array(&w);
    writer_end_object(&w);
    reply_json(reply, &w);
}

/* ---- /translate_a/single and /translate_a/t ---- */

/* The part of an order that only /translate_a/single has. */
struct single {
    bool named; /* dj=1: the reply is an object with names */
};

static int texts_read(const json_t *root, struct order *order, struct arena *arena,
                      struct reply *reply) {
    (void)arena;
    static const char *const formats[] = {"text", "html", NULL};
    const char *format;
    if (order_word(root, "format", formats, "text or html", &format, reply) != 0)
        return -1;
    order->markup = format && strcmp(format, "html") == 0;
    return 0;
}

static int single_read(const json_t *root, struct order *order, struct arena *arena,
                       struct reply *reply) {
    (void)arena;
    bool named;
    if (order_flag(root, "dj", &named, reply) != 0)
        return -1;
    if (order->own)
        *(struct single *)order->own = (struct single){named};
    return 0;
}

/* The whole text is one entry of the sentences, which clients join. */
static void single_put(struct writer *w, const struct plan *plan,
                       const struct plan_answers *answers, struct arena *arena) {
    enum { BACKEND = 10, ENGINE = 1 }; /* numbers that clients do not interpret */
    (void)arena;
    const struct single *single = plan->order->own;
    const struct plan_item *item = &plan->items[0];
    if (single->named) {
        writer_begin_object(w, NULL);
        writer_begin_array(w, "sentences");
        writer_begin_object(w, NULL);
        order_put_text(w, "trans", &answers[0].all[0]);
        writer_string_of(w, "orig", item->source, item->length);
        writer_count(w, "backend", BACKEND);
        writer_end_object(w);
        writer_end_array(w);
        writer_string(w, "src", plan_source(plan, 0));
        writer_number(w, "confidence", plan->guessed ? item->guess.confidence / 100 : 1);
        writer_end_object(w);
        return;
    }
    writer_begin_array(w, NULL);
    writer_begin_array(w, NULL);
    writer_begin_array(w, NULL);
    order_put_text(w, NULL, &answers[0].all[0]);
    writer_string_of(w, NULL, item->source, item->length);
    writer_null(w, NULL);
    writer_null(w, NULL);
    writer_count(w, NULL, ENGINE);
    writer_end_array(w);
    writer_end_array(w);
    writer_null(w, NULL);
    writer_string(w, NULL, plan_source(plan, 0));
    writer_end_array(w);
}

static const struct dialect_field gtx_fields[] = {
#define GTX(name, fate, usual, example) {name, FIELD_##fate, usual},
#include "server/dialects/fields.def"
    {NULL, FIELD_HONOURED, NULL}};

const struct dialect dialect_google_single = {
    .name = "google_single",
    .key = "the parameter key",
    .fields = gtx_fields,
    .load = order_load,
    .own_bytes = sizeof(struct single),
    .order = {.text_name = "q", .source_name = "sl", .target_name = "tl", .apart = true},
    .start = order_begin,
    .read = single_read,
    .finish = order_finish,
    .put = single_put,
    .put_error = google_put_error};

/* ["...", ...] or, if the language was detected, [["...", "en"], ...] */
static void texts_put(struct writer *w, const struct plan *plan, const struct plan_answers *answers,
                      struct arena *arena) {
    (void)arena;
    writer_begin_array(w, NULL);
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->guessed)
            writer_begin_array(w, NULL);
        order_put_text(w, NULL, &answers[i].all[0]);
        if (plan->guessed) {
            writer_string(w, NULL, plan->items[i].guess.code);
            writer_end_array(w);
        }
    }
    writer_end_array(w);
}

const struct dialect dialect_google_texts = {
    .name = "google_texts",
    .key = "the parameter key",
    .fields = gtx_fields,
    .load = order_load,
    .several = "q",
    .most_texts = GOOGLE_MOST_TEXTS,
    .order = {.text_name = "q", .source_name = "sl", .target_name = "tl", .apart = true},
    .start = order_begin,
    .read = texts_read,
    .finish = order_finish,
    .put = texts_put,
    .put_error = google_put_error};
