/* LibreTranslate's other endpoints: POST /detect, GET /languages, /frontend/settings and /spec. */
#include "server/api/api_libre.h"
#include "server/api/api_microsoft.h"
#include "server/api/language.h"
#include "server/documents/document.h"
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

/* The first of its path, and what is taken where no other speaks. */
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
    put_detected(&w, &guess);
    api_reply_json(reply, &w);
}

const struct dialect dialect_libre_detect = {
    .name = "libre_detect", .path = "/detect", .speaks = detect_speaks, .load = order_load, .start = detect_start};

static void put_code(struct writer *w, const char *code) {
    char name[LANGUAGE_NAME_BYTES];
    language_name(code, name);
    writer_strings(w, "code", code, "name", name, NULL);
}

static void put_language(struct writer *w, const struct model_set *models, const char *pivot, const char *code,
                         struct arena *arena) {
    struct plan_codes targets;
    struct arena_mark mark = arena_mark(arena);
    writer_begin_object(w, NULL);
    put_code(w, code);
    writer_begin_array(w, "targets");
    if (plan_targets(models, code, pivot, arena, &targets) != 0)
        writer_fail(w);
    for (size_t i = 0; !writer_ended(w) && i < targets.count; i++)
        writer_string(w, NULL, targets.all[i]);
    writer_end_array(w);
    writer_end_object(w);
    arena_release(arena, mark);
}

/* Each once: sources, then those that are targets only. */
static void put_languages(struct writer *w, const struct model_set *models, const char *pivot, struct arena *arena) {
    struct plan_codes codes;
    if (plan_languages(models, true, true, arena, &codes) != 0) {
        writer_fail(w);
        return;
    }
    for (size_t i = 0; i < codes.count; i++)
        put_language(w, models, pivot, codes.all[i], arena);
}

void api_languages(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    if (api_is_loading(request, reply))
        return;
    if (microsoft_speaks(&(struct dialect_fields){.call = call})) {
        microsoft_languages(call, request, reply);
        return;
    }
    struct writer w = {.most = SIZE_MAX};
    writer_begin_array(&w, NULL);
    put_languages(&w, request->models, service->options.pivot, &request->arena);
    writer_end_array(&w);
    api_reply_json(reply, &w);
}

/* The languages that a page shows first: the first model's that translates. */
static void put_first_languages(struct writer *w, const struct model_set *models) {
    for (size_t i = 0; i < models->count; i++) {
        const struct translator_info *info = &models->all[i]->info;
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

/* Of documents: ".txt". */
static void put_extensions(struct writer *w) {
    const struct document_format *format;
    writer_begin_array(w, "supportedFilesFormat");
    for (size_t i = 0; (format = document_nth(i)) != NULL; i++) {
        for (const char *at = format->extensions; *at; at += strspn(at, " ")) {
            char extension[16];
            size_t length = strcspn(at, " ");
            snprintf(extension, sizeof extension, ".%.*s", (int)length, at);
            writer_string(w, NULL, extension);
            at += length;
        }
    }
    writer_end_array(w);
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
    put_extensions(&w);
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
