/* GET /models, /health, /ready and /metrics: what the daemon reports of itself; and POST /models/reload. */
#include "server/api/api_json.h"

static void put_sizes(struct writer *w, const struct translator_info *info) {
    writer_begin_object(w, "vocabulary");
    writer_count(w, "source", info->source_vocabulary);
    writer_count(w, "target", info->target_vocabulary);
    writer_end_object(w);
    writer_begin_object(w, "limits");
    writer_count(w, "max_source_tokens", info->max_source_tokens);
    writer_number(w, "max_target_ratio", info->max_target_ratio);
    writer_count(w, "max_target_tokens", TRANSLATOR_MAX_TARGET);
    writer_end_object(w);
}

/* What alignment is made of, and whether that was asked to align. */
static void put_alignment(struct writer *w, const struct translator_info *info) {
    const char *attention = !info->attention ? "none" : info->attention_trained ? "attention" : "untrained";
    writer_string(w, "alignment", info->alignment_head ? "head" : attention);
    writer_boolean(w, "alignment_head", info->alignment_head);
}

static void put_variants(struct writer *w, const struct translator_info *info) {
    if (info->variant_count == 0)
        return;
    writer_begin_array(w, "variants");
    for (size_t i = 0; i < info->variant_count; i++)
        writer_string(w, NULL, info->variants[i]);
    writer_end_array(w);
}

static void put_model(struct writer *w, const struct translator_info *info) {
    writer_begin_object(w, NULL);
    writer_strings(w, "name", info->name, "source", info->source, "target", info->target, "task", info->task, "architecture",
                   info->architecture, NULL);
    writer_count(w, "parameters", info->parameters);
    writer_strings(w, "compute", info->compute, "storage", info->storage, NULL);
    put_alignment(w, info);
    writer_boolean(w, "heads", info->heads);
    writer_boolean(w, "quality", info->quality);
    put_variants(w, info);
    writer_begin_object(w, "search");
    writer_count(w, "beam_size", info->beam_size);
    writer_number(w, "length_penalty", info->length_penalty);
    writer_end_object(w);
    put_sizes(w, info);
    writer_end_object(w);
}

void api_models(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)call;
    if (api_is_loading(request, reply))
        return;
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_begin_array(&w, "models");
    for (size_t i = 0; i < request->models->count; i++)
        put_model(&w, &request->models->all[i].info);
    writer_end_array(&w);
    writer_count(&w, "generation", request->models->generation);
    writer_string(&w, "reload", catalog_reloading(service->catalog));
    writer_end_object(&w);
    api_reply_json(reply, &w);
}

/* generation 0: none. */
static void reply_status(const char *status, size_t generation, struct reply *reply) {
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_string(&w, "status", status);
    if (generation > 0)
        writer_count(&w, "generation", generation);
    writer_end_object(&w);
    api_reply_json(reply, &w);
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
        reply_status("reloaded", reload->generation, reply);
    else if (reload->error.code != ERROR_NONE)
        api_fail(reply, STATUS_CONFLICT, NULL, "the models were not reloaded, and those in service stay: %s",
                 reload->error.message);
    else
        api_fail_unready(SERVICE_DRAINING, reply);
}

void api_health(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)service;
    (void)call;
    (void)request;
    reply_status("ok", 0, reply);
}

void api_ready(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)call;
    (void)request;
    enum service_state state = service_state(service);
    if (state == SERVICE_READY)
        reply_status("ready", 0, reply);
    else
        api_fail_unready(state, reply);
}

void api_metrics(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)call;
    struct reply made = {.status = STATUS_OK, .content_type = "text/plain; version=0.0.4; charset=utf-8"};
    struct metrics_served served[MODEL_SET_MAX];
    struct metrics_state state = {.models = served,
                                  .model_count = model_set_served(request->models, served),
                                  .queue_depth = scheduler_depth(service->scheduler),
                                  .cache_bytes = service->cache ? cache_bytes(service->cache) : 0};
    if (metrics_write(service->metrics, &state, &made.body, &made.length, NULL) != 0)
        api_fail_memory(reply);
    else
        *reply = made;
}
