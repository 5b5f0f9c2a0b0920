/* LibreTranslate's other endpoints: POST /detect, GET /languages, /frontend/settings and /spec. */
#include "server/api/api_json.h"
#include "server/api/language.h"
#include <string.h>

/* LibreTranslate's page waits so long after a key is pressed; its clients expect the field. */
enum { FRONTEND_TIMEOUT_MS = 500 };

static bool translates(const struct translator_info *info) {
    return strcmp(info->task, "translation") == 0;
}

void api_detect(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    if (!api_admit(service, request, reply))
        return;
    json_t *root = api_is_form(call) ? api_libre_load(call, reply) : api_load(call, reply);
    const json_t *q = json_object_get(root, "q");
    size_t count;
    if (root && api_libre_count(q, &count, reply) == 0) {
        struct api_guess guess = api_libre_detect(request->models, q, false);
        json_t *answer = json_pack("[{s:f, s:s}]", "confidence", guess.confidence, "language", guess.code);
        api_reply_json(reply, STATUS_OK, guess.code ? answer : NULL);
    }
    json_decref(root);
}

/* The entry of a language, added if need be. */
static json_t *entry_of(json_t *languages, const char *code) {
    char name[LANGUAGE_NAME_BYTES];
    size_t i;
    json_t *entry;
    json_array_foreach(languages, i, entry) {
        if (language_same(json_string_value(json_object_get(entry, "code")), code))
            return entry;
    }
    language_name(code, name);
    entry = json_pack("{s:s, s:s, s:[]}", "code", code, "name", name, "targets");
    return json_array_append_new(languages, entry) == 0 ? entry : NULL;
}

static void add_target(json_t *entry, const char *code) {
    json_t *targets = json_object_get(entry, "targets"), *target;
    size_t i;
    json_array_foreach(targets, i, target) {
        if (language_same(json_string_value(target), code))
            return;
    }
    json_array_append_new(targets, json_string(code));
}

/* A model of another task, such as parsing, has no languages here. */
static json_t *make_languages(const struct models *models) {
    json_t *languages = json_array();
    for (size_t i = 0; i < models->count; i++) {
        if (translates(&models->all[i].info))
            add_target(entry_of(languages, models->all[i].info.source), models->all[i].info.target);
    }
    for (size_t i = 0; i < models->count; i++) {
        if (translates(&models->all[i].info))
            entry_of(languages, models->all[i].info.target);
    }
    return languages;
}

void api_languages(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)service;
    (void)call;
    if (!api_is_loading(request, reply))
        api_reply_json(reply, STATUS_OK, make_languages(request->models));
}

static json_t *language_json(const char *code) {
    char name[LANGUAGE_NAME_BYTES];
    language_name(code, name);
    return json_pack("{s:s, s:s}", "code", code, "name", name);
}

/* The languages that a page shows first: the first model's that translates. */
static json_t *first_languages(const struct models *models) {
    for (size_t i = 0; i < models->count; i++) {
        const struct translator_info *info = &models->all[i].info;
        if (translates(info))
            return json_pack("{s:o, s:o}", "source", language_json(info->source), "target", language_json(info->target));
    }
    return json_object();
}

void api_settings(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)call;
    if (api_is_loading(request, reply))
        return;
    bool keys = service->keys != NULL;
    api_reply_json(reply, STATUS_OK,
                   json_pack("{s:I, s:i, s:b, s:b, s:b, s:b, s:[], s:o}", "charLimit", (json_int_t)service->options.max_text_chars,
                             "frontendTimeout", FRONTEND_TIMEOUT_MS, "apiKeys", keys, "keyRequired", keys, "suggestions", 0,
                             "filesTranslation", 0, "supportedFilesFormat", "language", first_languages(request->models)));
}

void api_spec(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)service;
    (void)call;
    (void)request;
    reply->status = STATUS_MOVED;
    reply->location = "/openapi.json";
}
