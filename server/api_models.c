/* GET /models, /health, /ready and /metrics: what the daemon says of itself. */
#include "server/api_json.h"

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
    (void)request;
    if (service_state(service) == SERVICE_LOADING) {
        api_fail_unready(SERVICE_LOADING, reply);
        return;
    }
    json_t *models = json_array();
    for (size_t i = 0; i < service->models.count; i++)
        json_array_append_new(models, model_json(&service->models.infos[i]));
    api_reply_json(reply, STATUS_OK, json_pack("{s:o}", "models", models));
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
    (void)request;
    struct reply made = {.status = STATUS_OK, .content_type = "text/plain; version=0.0.4; charset=utf-8"};
    if (metrics_write(service->metrics, scheduler_depth(service->scheduler), &made.body, &made.length, NULL) != 0)
        api_fail_memory(reply);
    else
        *reply = made;
}
