/* DeepL's dialect, version 2 of its API: POST /v2/translate, its languages and usage. Unknown fields are ignored, since newer
 * clients send fields of later versions. */
#include "server/api/languages.h"
#include "server/api/plan.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { QUOTA_STATUS = 456, MOST_TAGS = 64 };

/* ---- errors ---- */

static void deepl_put_error(struct writer *w, const struct dialect_error *error) {
    writer_begin_object(w, NULL);
    writer_string(w, "message", error->message);
    writer_end_object(w);
}

/* Its clients do not know 401, and an exhausted quota has its own status. */
static unsigned deepl_status(const struct dialect_error *error) {
    if (strcmp(error->code, "quota_exceeded") == 0)
        return QUOTA_STATUS;
    return error->status == STATUS_UNAUTHORIZED ? (unsigned)STATUS_FORBIDDEN : error->status;
}

/* ---- fields ---- */

/* "0", "1" or "nonewlines". */
static int read_split(const json_t *root, struct order *order, struct reply *reply) {
    const json_t *value = json_object_get(root, "split_sentences");
    const char *text = json_string_value(value);
    order->joined = text && strcmp(text, "nonewlines") == 0;
    bool split = true;
    if (order->joined || !value)
        return 0;
    if (order_flag(root, "split_sentences", &split, reply) != 0)
        return -1;
    order->whole = !split;
    return 0;
}

static int read_formality(const json_t *root, struct reply *reply) {
    static const char *const known[] = {"default", "prefer_more", "prefer_less"};
    const char *formality;
    if (order_string(root, "formality", &formality, reply) != 0)
        return -1;
    for (size_t i = 0; formality && i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], formality) == 0)
            return 0;
    return formality
               ? api_refuse(reply, "formality", "formality must be default, prefer_more or prefer_less, got \"%.60s\"", formality)
               : 0;
}

/* Reads an array of strings, or one string with names separated by commas, into the arena. */
static int read_names(const json_t *root, const char *field, struct arena *arena, struct html_names *names, struct reply *reply) {
    const json_t *value = json_object_get(root, field);
    const char **all = arena_alloc(arena, MOST_TAGS, sizeof *all);
    size_t strings = json_is_array(value) ? json_array_size(value) : value && !json_is_null(value);
    names->all = all;
    for (size_t i = 0; all && i < strings; i++) {
        const json_t *string = json_is_array(value) ? json_array_get(value, i) : value;
        if (!json_is_string(string))
            return api_refuse(reply, field, "%s must be a string or an array of strings", field);
        char *rest = arena_copy(arena, json_string_value(string), json_string_length(string));
        for (char *name; rest && (name = strsep(&rest, ", ")) != NULL;) {
            if (names->count == MOST_TAGS)
                return api_refuse(reply, field, "%s must have at most %d names", field, MOST_TAGS);
            if (*name)
                all[names->count++] = name;
        }
    }
    if (!arena_failed(arena))
        return 0;
    api_fail_memory(reply);
    return -1;
}

static int read_xml(const json_t *root, struct order *order, struct arena *arena, struct reply *reply) {
    struct html_tags *tags = arena_zalloc(arena, 1, sizeof *tags);
    if (!tags) {
        api_fail_memory(reply);
        return -1;
    }
    order->tags = tags;
    tags->outline = true;
    tags->doctype = true;
    if (json_object_get(root, "outline_detection") && order_flag(root, "outline_detection", &tags->outline, reply) != 0)
        return -1;
    return read_names(root, "ignore_tags", arena, &tags->ignored, reply) == 0 &&
                   read_names(root, "splitting_tags", arena, &tags->splitting, reply) == 0
               ? read_names(root, "non_splitting_tags", arena, &tags->inline_names, reply)
               : -1;
}

static int read_tags(const json_t *root, struct order *order, struct arena *arena, struct reply *reply) {
    const char *handling;
    if (order_string(root, "tag_handling", &handling, reply) != 0)
        return -1;
    bool xml = handling && strcmp(handling, "xml") == 0;
    order->markup = handling != NULL;
    if (xml)
        return read_xml(root, order, arena, reply);
    return !handling || strcmp(handling, "html") == 0
               ? 0
               : api_refuse(reply, "tag_handling", "tag_handling must be xml or html, got \"%.60s\"", handling);
}

/* The parts of an order that only this dialect has. */
struct deepl_order {
    bool billed;
    const char *model_type; /* the model type that the reply reports; NULL: not requested */
};

/* There is only one kind of model, so the reply reports the type that the client asked for. */
static int read_model_type(const json_t *root, const char **used, struct reply *reply) {
    static const char *const types[][2] = {{"quality_optimized", "quality_optimized"},
                                           {"prefer_quality_optimized", "quality_optimized"},
                                           {"latency_optimized", "latency_optimized"}};
    const char *type;
    if (order_string(root, "model_type", &type, reply) != 0)
        return -1;
    for (size_t i = 0; type && i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i][0], type) == 0)
            *used = types[i][1];
    return !type || *used
               ? 0
               : api_refuse(reply, "model_type",
                            "model_type must be quality_optimized, prefer_quality_optimized or latency_optimized, got \"%.60s\"",
                            type);
}

static int read_order(const json_t *root, struct order *order, struct deepl_order *own, struct arena *arena, struct reply *reply) {
    if (order_texts(root, order, API_MAX_TEXTS, reply) != 0 || order_string(root, "source_lang", &order->source, reply) != 0 ||
        order_string(root, "target_lang", &order->targets[0], reply) != 0 ||
        order_string(root, "glossary_id", &order->glossary, reply) != 0 || read_split(root, order, reply) != 0 ||
        read_formality(root, reply) != 0 || read_tags(root, order, arena, reply) != 0 ||
        order_flag(root, "show_billed_characters", &own->billed, reply) != 0 || read_model_type(root, &own->model_type, reply) != 0)
        return -1;
    order->target_count = 1;
    if (order->glossary && !order->source)
        return api_refuse(reply, "source_lang", "source_lang is required with glossary_id");
    return order->targets[0] ? 0 : api_refuse(reply, "target_lang", "target_lang is missing");
}

static void deepl_start(const struct dialect *dialect, const struct service *service, json_t *root, struct request *request,
                        struct reply *reply) {
    struct deepl_order *own = arena_zalloc(&request->arena, 1, sizeof *own); /* order_create reports it if memory was out */
    const struct order begun = {
        .text_name = "text", .source_name = "source_lang", .target_name = "target_lang", .apart = true, .own = own};
    struct order *order = order_create(request, &begun, reply);
    if (order && read_order(root, order, own, &request->arena, reply) == 0)
        order_start(order, dialect, service, root, request, reply);
}

/* ---- answers ---- */

/* The language without its region: "EN" of "en-GB". */
static void put_source(struct writer *w, const char *source) {
    char code[VARIANT_CODE_BYTES];
    snprintf(code, sizeof code, "%s", source);
    while (language_widen(code))
        ;
    order_put_code(w, "detected_source_language", code);
}

static void put_answers(struct writer *w, const struct plan *plan, const struct plan_answers *answers, struct arena *arena) {
    (void)arena;
    const struct deepl_order *own = plan->order->own;
    writer_begin_object(w, NULL);
    writer_begin_array(w, "translations");
    for (size_t i = 0; i < plan->count; i++) {
        writer_begin_object(w, NULL);
        put_source(w, plan_source(plan, i));
        writer_string_of(w, "text", answers[i].all[0].text, answers[i].all[0].length);
        if (own->billed)
            writer_count(w, "billed_characters", plan_characters(plan, i));
        if (own->model_type)
            writer_string(w, "model_type_used", own->model_type);
        writer_end_object(w);
    }
    writer_end_array(w);
    writer_end_object(w);
}

const struct dialect dialect_deepl = {.name = "deepl",
                                      .load = order_load,
                                      .several = "text",
                                      .start = deepl_start,
                                      .finish = order_finish,
                                      .put = put_answers,
                                      .put_error = deepl_put_error,
                                      .status_of = deepl_status};

/* ---- languages and usage ---- */

void api_deepl_languages(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)service;
    const struct api_field *sent = dialect_sent(call, "type");
    const char *type = sent ? sent->value : NULL;
    struct plan_codes codes;
    bool target = type && strcmp(type, "target") == 0;
    if (api_is_loading(request, reply))
        return;
    if (type && !target && strcmp(type, "source") != 0) {
        api_fail(reply, STATUS_INVALID, "type", "type must be source or target");
        return;
    }
    if (plan_languages(request->models, !target, target, &request->arena, &codes) != 0) {
        api_fail_memory(reply);
        return;
    }
    struct writer w = {.most = SIZE_MAX};
    writer_begin_array(&w, NULL);
    for (size_t i = 0; i < codes.count; i++) {
        char name[LANGUAGE_NAME_BYTES];
        language_name(codes.all[i], name);
        writer_begin_object(&w, NULL);
        order_put_code(&w, "language", codes.all[i]);
        writer_string(&w, "name", name);
        if (target)
            writer_boolean(&w, "supports_formality", false);
        writer_end_object(&w);
    }
    writer_end_array(&w);
    api_reply_json(reply, &w);
}

/* DeepL's limit for an account without a limit. */
#define NO_LIMIT 1000000000000

void api_deepl_usage(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)call;
    const struct key_holder *key = request->key;
    uint64_t daily = key ? key->limits.daily : 0;
    struct usage_count count = usage_find(service->usage, key ? key->name : "", time(NULL));
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_integer(&w, "character_count", (int64_t)(daily > 0 ? count.today : count.total));
    writer_integer(&w, "character_limit", daily > 0 ? (int64_t)daily : NO_LIMIT);
    writer_end_object(&w);
    api_reply_json(reply, &w);
}
