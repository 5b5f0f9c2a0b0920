/* The APIs that browser extensions and Zotero call: POST /imme (Immersive Translate's custom API), /kiss (KISS Translator's) and
 * /deeplx (DeepLX). */
#include "server/api/languages.h"
#include "server/api/plan.h"
#include <string.h>

/* The fields of each API. */
struct names {
    const char *text, *texts, *source, *target; /* texts: another field, which takes an array; NULL: none */
};

static void start(const struct names *names, size_t alternatives, const struct dialect *dialect, const struct service *service,
                  json_t *root, struct request *request, struct reply *reply) {
    bool several = names->texts && json_object_get(root, names->texts);
    const struct order begun = {.text_name = several ? names->texts : names->text,
                                .source_name = names->source,
                                .target_name = names->target,
                                .target_count = 1,
                                .apart = true,
                                .alternatives = alternatives};
    struct order *order = order_create(request, &begun, reply);
    if (!order || order_texts(root, order, API_MAX_TEXTS, reply) != 0 ||
        order_string(root, names->source, &order->source, reply) != 0 ||
        order_string(root, names->target, &order->targets[0], reply) != 0)
        return;
    if (order->targets[0])
        order_start(order, dialect, service, root, request, reply);
    else
        api_fail(reply, STATUS_INVALID, names->target, "%s is missing", names->target);
}

static void put_text(struct writer *w, const char *key, const struct plan_answer *answer) {
    writer_string_of(w, key, answer->text, answer->length);
}

/* {"translations": [{source_key, "text"}]} */
static void put_translations(struct writer *w, const char *source_key, const struct plan *plan,
                             const struct plan_answers *answers) {
    writer_begin_array(w, "translations");
    for (size_t i = 0; i < plan->count; i++) {
        writer_begin_object(w, NULL);
        writer_string(w, source_key, plan_source(plan, i));
        put_text(w, "text", &answers[i].all[0]);
        writer_end_object(w);
    }
    writer_end_array(w);
}

/* ---- Immersive Translate ---- */

static void immersive_start(const struct dialect *dialect, const struct service *service, json_t *root, struct request *request,
                            struct reply *reply) {
    static const struct names names = {"text_list", NULL, "source_lang", "target_lang"};
    start(&names, 0, dialect, service, root, request, reply);
}

static void immersive_put(struct writer *w, const struct plan *plan, const struct plan_answers *answers, struct arena *arena) {
    (void)arena;
    writer_begin_object(w, NULL);
    put_translations(w, "detected_source_lang", plan, answers);
    writer_end_object(w);
}

const struct dialect dialect_immersive = {.name = "immersive",
                                          .load = order_load,
                                          .several = "text_list",
                                          .start = immersive_start,
                                          .finish = order_finish,
                                          .put = immersive_put};

/* ---- KISS Translator ---- */

static void kiss_start(const struct dialect *dialect, const struct service *service, json_t *root, struct request *request,
                       struct reply *reply) {
    static const struct names names = {"text", "texts", "from", "to"};
    start(&names, 0, dialect, service, root, request, reply);
}

static void kiss_put(struct writer *w, const struct plan *plan, const struct plan_answers *answers, struct arena *arena) {
    (void)arena;
    writer_begin_object(w, NULL);
    if (plan->order->array) {
        put_translations(w, "src", plan, answers);
    } else {
        put_text(w, "text", &answers[0].all[0]);
        writer_string(w, "src", plan_source(plan, 0));
    }
    writer_end_object(w);
}

const struct dialect dialect_kiss = {
    .name = "kiss", .load = order_load, .several = "texts", .start = kiss_start, .finish = order_finish, .put = kiss_put};

/* ---- DeepLX ---- */

enum { DEEPLX_ALTERNATIVES = 3 };

static void deeplx_put_error(struct writer *w, const struct dialect_error *error) {
    writer_begin_object(w, NULL);
    writer_count(w, "code", error->status);
    writer_string(w, "message", error->message);
    writer_end_object(w);
}

static void deeplx_start(const struct dialect *dialect, const struct service *service, json_t *root, struct request *request,
                         struct reply *reply) {
    static const struct names names = {"text", NULL, "source_lang", "target_lang"};
    size_t rows = service->options.rows;
    if (json_is_array(json_object_get(root, "text")))
        api_fail(reply, STATUS_INVALID, "text", "text must be a string");
    else
        start(&names, rows > DEEPLX_ALTERNATIVES ? DEEPLX_ALTERNATIVES : rows - 1, dialect, service, root, request, reply);
}

static void deeplx_put(struct writer *w, const struct plan *plan, const struct plan_answers *answers, struct arena *arena) {
    (void)arena;
    writer_begin_object(w, NULL);
    writer_count(w, "code", STATUS_OK);
    writer_count(w, "id", 1); /* required by clients, which do not use it */
    put_text(w, "data", &answers[0].all[0]);
    writer_begin_array(w, "alternatives");
    for (size_t i = 1; i < answers[0].count; i++)
        put_text(w, NULL, &answers[0].all[i]);
    writer_end_array(w);
    order_put_code(w, "source_lang", plan_source(plan, 0));
    order_put_code(w, "target_lang", plan->order->targets[0]);
    writer_string(w, "method", "Free");
    writer_end_object(w);
}

const struct dialect dialect_deeplx = {.name = "deeplx",
                                       .load = order_load,
                                       .start = deeplx_start,
                                       .finish = order_finish,
                                       .put = deeplx_put,
                                       .put_error = deeplx_put_error};
