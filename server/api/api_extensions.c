/* What browser extensions and Zotero call: POST /imme (Immersive Translate's custom API), /kiss (KISS Translator's) and /deeplx
 * (DeepLX). */
#include "server/api/api_plan.h"
#include "server/api/language.h"
#include <stdio.h>
#include <string.h>

/* The fields of each. */
struct names {
    const char *text, *texts, *source, *target; /* texts: another field, for an array; NULL: there is none */
};

static void start(const struct names *names, size_t alternatives, const struct dialect *dialect, const struct service *service,
                  json_t *root, struct request *request, struct reply *reply) {
    struct order *order = order_create(request, reply);
    if (!order)
        return;
    bool several = names->texts && json_object_get(root, names->texts);
    order->text_name = several ? names->texts : names->text;
    order->source_name = names->source;
    order->target_name = names->target;
    order->target_count = 1;
    order->apart = true;
    order->alternatives = alternatives;
    if (order_texts(root, order, API_MAX_TEXTS, reply) != 0 || order_string(root, names->source, &order->source, reply) != 0 ||
        order_string(root, names->target, &order->targets[0], reply) != 0)
        return;
    if (order->targets[0])
        order_start(order, dialect, service, root, request, reply);
    else
        api_fail(reply, STATUS_INVALID, names->target, "%s is missing", names->target);
}

static const char *source_of(const struct plan *plan, size_t i) {
    return plan->guessed ? plan->items[i].guess.code : plan->order->source;
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
        writer_string(w, source_key, source_of(plan, i));
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

static json_t *immersive_load(const struct call *call, struct reply *reply) {
    return order_load(call, "text_list", reply);
}

static void immersive_finish(const struct service *service, struct request *request, struct reply *reply) {
    order_finish(service, request, reply, immersive_put);
}

const struct dialect dialect_immersive = {
    .name = "immersive", .load = immersive_load, .start = immersive_start, .finish = immersive_finish};

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
        writer_string(w, "src", source_of(plan, 0));
    }
    writer_end_object(w);
}

static json_t *kiss_load(const struct call *call, struct reply *reply) {
    return order_load(call, "texts", reply);
}

static void kiss_finish(const struct service *service, struct request *request, struct reply *reply) {
    order_finish(service, request, reply, kiss_put);
}

const struct dialect dialect_kiss = {.name = "kiss", .load = kiss_load, .start = kiss_start, .finish = kiss_finish};

/* ---- DeepLX ---- */

enum { DEEPLX_ALTERNATIVES = 3, CODE_BYTES = 32 };

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

static void put_upper(struct writer *w, const char *key, const char *code) {
    char upper[CODE_BYTES];
    snprintf(upper, sizeof upper, "%s", code);
    for (char *c = upper; *c; c++)
        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    writer_string(w, key, upper);
}

static void deeplx_put(struct writer *w, const struct plan *plan, const struct plan_answers *answers, struct arena *arena) {
    (void)arena;
    writer_begin_object(w, NULL);
    writer_count(w, "code", STATUS_OK);
    writer_count(w, "id", 1); /* nothing is asked for by it */
    put_text(w, "data", &answers[0].all[0]);
    writer_begin_array(w, "alternatives");
    for (size_t i = 1; i < answers[0].count; i++)
        put_text(w, NULL, &answers[0].all[i]);
    writer_end_array(w);
    put_upper(w, "source_lang", source_of(plan, 0));
    put_upper(w, "target_lang", plan->order->targets[0]);
    writer_string(w, "method", "Free");
    writer_end_object(w);
}

static json_t *deeplx_load(const struct call *call, struct reply *reply) {
    return order_load(call, NULL, reply);
}

static void deeplx_finish(const struct service *service, struct request *request, struct reply *reply) {
    order_finish(service, request, reply, deeplx_put);
}

const struct dialect dialect_deeplx = {
    .name = "deeplx", .load = deeplx_load, .start = deeplx_start, .finish = deeplx_finish, .put_error = deeplx_put_error};
