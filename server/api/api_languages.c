/* LibreTranslate's other endpoints: POST /detect, GET /languages, /frontend/settings and /spec. */
#include "server/api/api_libre.h"
#include "server/api/language.h"
#include "server/decode/variant.h"
#include <stdio.h>
#include <string.h>

/* LibreTranslate's page waits so long after a key is pressed; its clients expect the field. */
enum { FRONTEND_TIMEOUT_MS = 500 };

static void put_detected(struct writer *w, const struct plan_guess *guess) {
    writer_begin_array(w, NULL);
    if (guess->code)
        libre_put_guess(w, NULL, guess);
    else
        writer_fail(w);
    writer_end_array(w);
}

/* NULL: the reply is set. */
static json_t *load_call(const struct call *call, struct reply *reply) {
    if (!api_is_form(call))
        return api_load(call, reply);
    return api_check_fields(call, reply) == 0 ? libre_load(call, reply) : NULL;
}

void api_detect(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    if (!api_admit(service, request, reply))
        return;
    json_t *root = load_call(call, reply);
    const json_t *q = json_object_get(root, "q");
    struct plan plan = {0};
    size_t count;
    if (root && libre_count(q, &count, reply) == 0) {
        struct plan_guess guess = {0};
        if (plan_read(&plan, q, count, &request->arena) == 0)
            guess = plan_detect(&plan, request->models);
        struct writer w = {.most = SIZE_MAX};
        put_detected(&w, &guess);
        api_reply_json(reply, &w);
    }
    json_decref(root);
}

static void put_code(struct writer *w, const char *code) {
    char name[LANGUAGE_NAME_BYTES];
    language_name(code, name);
    writer_strings(w, "code", code, "name", name, NULL);
}

/* Calls back for each language that a model writes: the model's own, or its variants' codes. */
typedef void each_target(const char *code, void *context);

static void for_each_target(const struct translator_info *info, each_target *call, void *context) {
    char code[VARIANT_CODE_BYTES];
    if (!variant_must_be(info))
        call(info->target, context);
    for (size_t i = 0; variant_must_be(info) && i < info->variant_count; i++) {
        variant_code(info->variants[i], code);
        call(code, context);
    }
}

/* Codes, each once. */
struct codes {
    char (*all)[VARIANT_CODE_BYTES]; /* [count], with room for as many as are added */
    size_t count;
};

static void codes_add(const char *code, void *context) {
    struct codes *codes = context;
    for (size_t i = 0; i < codes->count; i++)
        if (language_same(codes->all[i], code))
            return;
    snprintf(codes->all[codes->count++], VARIANT_CODE_BYTES, "%s", code);
}

/* source NULL: of all. A model of another task, such as parsing, has no languages here. */
static void find_targets(const struct model_set *models, const char *source, struct codes *codes) {
    for (size_t i = 0; i < models->count; i++) {
        const struct translator_info *info = &models->all[i].info;
        if (plan_translates(info) && (!source || language_same(info->source, source)))
            for_each_target(info, codes_add, codes);
    }
}

static void find_sources(const struct model_set *models, struct codes *codes) {
    for (size_t i = 0; i < models->count; i++)
        if (plan_translates(&models->all[i].info))
            codes_add(models->all[i].info.source, codes);
}

/* Languages that there can be. */
static size_t most_codes(const struct model_set *models) {
    size_t most = 0;
    for (size_t i = 0; i < models->count; i++)
        most += 2 + models->all[i].info.variant_count;
    return most;
}

/* targets: scratch. */
static void put_language(struct writer *w, const struct model_set *models, const char *code, struct codes *targets) {
    writer_begin_object(w, NULL);
    put_code(w, code);
    targets->count = 0;
    find_targets(models, code, targets);
    writer_begin_array(w, "targets");
    for (size_t i = 0; i < targets->count; i++)
        writer_string(w, NULL, targets->all[i]);
    writer_end_array(w);
    writer_end_object(w);
}

/* Each once: sources, then those that are targets only. */
static void put_languages(struct writer *w, const struct model_set *models, struct arena *arena) {
    size_t most = most_codes(models);
    struct codes all = {.all = arena_alloc(arena, most, sizeof *all.all)},
                 targets = {.all = arena_alloc(arena, most, sizeof *all.all)};
    if (arena_failed(arena)) {
        writer_fail(w);
        return;
    }
    find_sources(models, &all);
    find_targets(models, NULL, &all);
    for (size_t i = 0; i < all.count; i++)
        put_language(w, models, all.all[i], &targets);
}

void api_languages(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)service;
    (void)call;
    if (api_is_loading(request, reply))
        return;
    struct writer w = {.most = SIZE_MAX};
    writer_begin_array(&w, NULL);
    put_languages(&w, request->models, &request->arena);
    writer_end_array(&w);
    api_reply_json(reply, &w);
}

/* The languages that a page shows first: the first model's that translates. */
static void put_first_languages(struct writer *w, const struct model_set *models) {
    for (size_t i = 0; i < models->count; i++) {
        const struct translator_info *info = &models->all[i].info;
        if (!plan_translates(info))
            continue;
        writer_begin_object(w, "source");
        put_code(w, info->source);
        writer_end_object(w);
        writer_begin_object(w, "target");
        put_code(w, info->target);
        writer_end_object(w);
        return;
    }
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
    writer_boolean(&w, "filesTranslation", false);
    writer_json(&w, "supportedFilesFormat", "[]");
    writer_begin_object(&w, "language");
    put_first_languages(&w, request->models);
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
