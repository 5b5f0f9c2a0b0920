/* Google's dialect, version 2 of its API: /language/translate/v2, its languages and its detection. */
#include "server/api/languages.h"
#include "server/api/plan.h"
#include <string.h>

enum { MOST_TEXTS = 128 };

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
static int read_order(const json_t *root, struct order *order, struct reply *reply) {
    const char *format;
    if (order_texts(root, order, MOST_TEXTS, reply) != 0 || order_string(root, "source", &order->source, reply) != 0 ||
        order_string(root, "target", &order->targets[0], reply) != 0 || order_string(root, "format", &format, reply) != 0)
        return -1;
    order->markup = !format || strcmp(format, "html") == 0;
    order->target_count = 1;
    if (!order->markup && strcmp(format, "text") != 0)
        return api_refuse(reply, "format", "format must be text or html, got \"%.60s\"", format);
    return order->targets[0] ? 0 : api_refuse(reply, "target", "target is missing");
}

static void google_start(const struct dialect *dialect, const struct service *service, json_t *root, struct request *request,
                         struct reply *reply) {
    const struct order begun = {.text_name = "q", .source_name = "source", .target_name = "target", .apart = true};
    struct order *order = order_create(request, &begun, reply);
    if (order && read_order(root, order, reply) == 0)
        order_start(order, dialect, service, root, request, reply);
}

static void put_answers(struct writer *w, const struct plan *plan, const struct plan_answers *answers, struct arena *arena) {
    (void)arena;
    writer_begin_object(w, NULL);
    writer_begin_object(w, "data");
    writer_begin_array(w, "translations");
    for (size_t i = 0; i < plan->count; i++) {
        writer_begin_object(w, NULL);
        writer_string_of(w, "translatedText", answers[i].all[0].text, answers[i].all[0].length);
        if (plan->guessed)
            writer_string(w, "detectedSourceLanguage", plan->items[i].guess.code);
        writer_end_object(w);
    }
    writer_end_array(w);
    writer_end_object(w);
    writer_end_object(w);
}

const struct dialect dialect_google = {.name = "google",
                                       .load = order_load,
                                       .several = "q",
                                       .start = google_start,
                                       .finish = order_finish,
                                       .put = put_answers,
                                       .put_error = google_put_error};

/* ---- languages and detection ---- */

void api_google_languages(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)service;
    const struct api_field *in = dialect_sent(call, "target"); /* the language of names; NULL: no names */
    struct plan_codes codes;
    if (api_is_loading(request, reply))
        return;
    if (plan_languages(request->models, true, true, &request->arena, &codes) != 0) {
        api_fail_memory(reply);
        return;
    }
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_begin_object(&w, "data");
    writer_begin_array(&w, "languages");
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
    writer_end_array(&w);
    writer_end_object(&w);
    writer_end_object(&w);
    api_reply_json(reply, &w);
}

static void detect_start(const struct dialect *dialect, const struct service *service, json_t *root, struct request *request,
                         struct reply *reply) {
    (void)dialect;
    (void)service;
    struct plan plan = {0};
    if (order_read(root, "q", MOST_TEXTS, &plan, &request->arena, reply) != 0)
        return;
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_begin_object(&w, "data");
    writer_begin_array(&w, "detections");
    for (size_t i = 0; i < plan.count; i++) {
        struct plan_guess guess = plan_detect(&plan.items[i], 1, false, request->models);
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
    writer_end_array(&w);
    writer_end_object(&w);
    writer_end_object(&w);
    api_reply_json(reply, &w);
}

const struct dialect dialect_google_detect = {
    .name = "google_detect", .load = order_load, .several = "q", .start = detect_start, .put_error = google_put_error};
