/* GET /models, /health, /ready and /metrics: what the daemon says of itself; and POST /models/reload. */
#include "server/api/api_json.h"

static json_t *model_json(const struct translator_info *info) {
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:s, s:s, s:{s:I, s:I}, s:{s:I, s:f, s:i}}", "name", info->name, "source",
                     info->source, "target", info->target, "task", info->task, "architecture", info->architecture, "parameters",
                     (json_int_t)info->parameters, "compute", info->compute, "storage", info->storage, "vocabulary", "source",
                     (json_int_t)info->source_vocabulary, "target", (json_int_t)info->target_vocabulary, "limits",
                     "max_source_tokens", (json_int_t)info->max_source_tokens, "max_target_ratio", info->max_target_ratio,
                     "max_target_tokens", TRANSLATOR_MAX_TARGET);
}

void api_models(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)call;
    if (api_is_loading(request, reply))
        return;
    json_t *models = json_array();
    for (size_t i = 0; i < request->models->count; i++)
        json_array_append_new(models, model_json(&request->models->all[i].info));
    api_reply_json(reply, STATUS_OK,
                   json_pack("{s:o, s:I, s:s}", "models", models, "generation", (json_int_t)request->models->generation, "reload",
                             catalog_reloading(service->catalog)));
}

static void finish_reload(struct reload *reload) {
    struct request *request = reload->owner;
    request->finish(request);
}

void api_reload_start(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)call;
    if (!api_admit(service, request, reply))
        return;
    request->reload = arena_zalloc(&request->arena, 1, sizeof *request->reload);
    if (request->reload)
        *request->reload = (struct reload){.finish = finish_reload, .owner = request};
    else
        api_fail_memory(reply);
}

/* The reason names folders and files: it is for administrators. */
void api_reload_finish(const struct service *service, struct request *request, struct reply *reply) {
    (void)service;
    const struct reload *reload = request->reload;
    if (reload->generation > 0)
        api_reply_json(reply, STATUS_OK,
                       json_pack("{s:s, s:I}", "status", "reloaded", "generation", (json_int_t)reload->generation));
    else if (reload->error.code != ERROR_NONE)
        api_fail(reply, STATUS_CONFLICT, NULL, "the models in service stay: %s", reload->error.message);
    else
        api_fail_unready(SERVICE_DRAINING, reply);
}

void api_health(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)service;
    (void)call;
    (void)request;
    api_reply_json(reply, STATUS_OK, json_pack("{s:s}", "status", "ok"));
}

void api_ready(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)call;
    (void)request;
    enum service_state state = service_state(service);
    if (state == SERVICE_READY)
        api_reply_json(reply, STATUS_OK, json_pack("{s:s}", "status", "ready"));
    else
        api_fail_unready(state, reply);
}

void api_metrics(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)call;
    struct reply made = {.status = STATUS_OK, .content_type = "text/plain; version=0.0.4; charset=utf-8"};
    struct metrics_served served[MODELS_MAX];
    struct metrics_state state = {.models = served,
                                  .model_count = models_served(request->models, served),
                                  .queue_depth = scheduler_depth(service->scheduler),
                                  .cache_bytes = service->cache ? cache_bytes(service->cache) : 0};
    if (metrics_write(service->metrics, &state, &made.body, &made.length, NULL) != 0)
        api_fail_memory(reply);
    else
        *reply = made;
}
