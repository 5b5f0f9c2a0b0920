/* LibreTranslate's other endpoints: POST /detect, GET /languages, /frontend/settings and /spec. */
#include "server/api/api_libre.h"
#include "server/api/language.h"
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

/* Whether a model before this one has it as its source; or as its target, from this source where there is one. A model of another
 * task, such as parsing, has no languages here. */
static bool is_source(const struct model_set *models, size_t count, const char *code) {
    for (size_t i = 0; i < count; i++)
        if (plan_translates(&models->all[i].info) && language_same(models->all[i].info.source, code))
            return true;
    return false;
}

static bool is_target(const struct model_set *models, size_t count, const char *source, const char *code) {
    for (size_t i = 0; i < count; i++) {
        const struct translator_info *info = &models->all[i].info;
        if (plan_translates(info) && (!source || language_same(info->source, source)) && language_same(info->target, code))
            return true;
    }
    return false;
}

static void put_language(struct writer *w, const struct model_set *models, const char *code) {
    writer_begin_object(w, NULL);
    put_code(w, code);
    writer_begin_array(w, "targets");
    for (size_t i = 0; i < models->count; i++) {
        const struct translator_info *info = &models->all[i].info;
        if (plan_translates(info) && language_same(info->source, code) && !is_target(models, i, code, info->target))
            writer_string(w, NULL, info->target);
    }
    writer_end_array(w);
    writer_end_object(w);
}

/* Each once: sources, then those that are targets only. */
static void put_languages(struct writer *w, const struct model_set *models) {
    for (size_t i = 0; i < models->count; i++) {
        const struct translator_info *info = &models->all[i].info;
        if (plan_translates(info) && !is_source(models, i, info->source))
            put_language(w, models, info->source);
    }
    for (size_t i = 0; i < models->count; i++) {
        const struct translator_info *info = &models->all[i].info;
        if (plan_translates(info) && !is_source(models, models->count, info->target) && !is_target(models, i, NULL, info->target))
            put_language(w, models, info->target);
    }
}

void api_languages(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)service;
    (void)call;
    if (api_is_loading(request, reply))
        return;
    struct writer w = {.most = SIZE_MAX};
    writer_begin_array(&w, NULL);
    put_languages(&w, request->models);
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
