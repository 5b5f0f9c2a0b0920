/* What the dialects share: from the checked fields to the jobs, and from these to the answer. */
#include "server/api/api_json.h"
#include "server/base/log.h"
#include <string.h>

static void fail_internal(const struct request *request, const struct error *error, struct reply *reply) {
    if (error->code == ERROR_MEMORY) {
        api_fail_memory(reply);
        return;
    }
    log_event(LOG_ERROR, "internal_error", "id=%s message=%s", request->id, error->message);
    api_fail(reply, STATUS_INTERNAL, NULL, "internal error, request id %s", request->id);
}

static void fail_preparation(const struct request *request, const char *name, const struct error *error, struct reply *reply) {
    if (error->code == ERROR_LENGTH)
        api_fail(reply, STATUS_TOO_LARGE, name, "%s", error->message);
    else if (error->code == ERROR_INPUT)
        api_fail(reply, STATUS_INVALID, name, "%s", error->message);
    else
        fail_internal(request, error, reply);
}

bool api_is_loading(const struct request *request, struct reply *reply) {
    if (request->models)
        return false;
    api_fail_unready(SERVICE_LOADING, reply);
    return true;
}

bool api_admit(const struct service *service, const struct request *request, struct reply *reply) {
    enum service_state state = request->models ? service_state(service) : SERVICE_LOADING;
    if (state == SERVICE_READY || (state == SERVICE_DRAINING && request->accepted))
        return true;
    metrics_rejected(service->metrics, state == SERVICE_LOADING ? REJECTED_LOADING : REJECTED_DRAINING);
    api_fail_unready(state, reply);
    return false;
}

bool api_has_models(const struct service *service, const struct request *request, struct reply *reply) {
    if (request->models->count > 0)
        return true;
    metrics_rejected(service->metrics, REJECTED_MODEL);
    api_fail_modelless(reply);
    return false;
}

/* What would never be accepted. */
static void check_size(const struct service *service, const char *field, const struct request *request, struct reply *reply) {
    const struct scheduler_limits *limits = scheduler_limits(service->scheduler);
    size_t work = request_work(request), least = api_least_bytes(request);
    size_t bytes = request_decoding_bytes(request), most = service->options.decode_memory;
    if (request->job_count > limits->jobs)
        api_fail(reply, STATUS_TOO_LARGE, field, "%s must have at most %zu sentences, got %zu", field, limits->jobs,
                 request->job_count);
    else if (work > limits->work)
        api_fail(reply, STATUS_TOO_LARGE, field, "%s must have at most %zu tokens x rows, got %zu", field, limits->work, work);
    else if (most > 0 && bytes > most)
        api_fail(reply, STATUS_TOO_LARGE, field,
                 "%s has a sentence that could need %zu bytes of memory while it is decoded, and at most %zu are allowed: ask for "
                 "fewer hypotheses (beam_size, n_best) or a smaller max_length",
                 field, bytes, most);
    else if (least > service->options.max_reply_bytes)
        api_fail_length(service, least, reply);
}

static struct held_model *find_held(const struct request *request, const struct served_model *model) {
    struct held_model *held = request->held;
    while (held && held->model != model)
        held = held->next;
    return held;
}

/* Without a model and a reason the request is over, or the daemon stops: preparing it again tells. */
static void finish_wait(struct model_wait *wait) {
    struct request *request = wait->owner;
    find_held(request, wait->model)->loaded = wait->loaded;
    if (wait->error.code == ERROR_NONE)
        request->wait = NULL;
    request->finish(request);
}

/* The reason is no client's fault, and may pass. */
static void fail_model(const struct service *service, const struct served_model *model, const struct error *error,
                       struct reply *reply) {
    metrics_rejected(service->metrics, REJECTED_MODEL);
    api_fail(reply, STATUS_UNAVAILABLE, NULL, "model \"%.60s\" cannot be loaded: %s", model->info.name, error->message);
    reply->retry_after_s = 10;
}

bool api_waits(const struct request *request) {
    return request->wait && request->wait->error.code == ERROR_NONE;
}

static bool begin_wait(struct request *request, struct served_model *model, struct reply *reply) {
    request->wait = arena_zalloc(&request->arena, 1, sizeof *request->wait);
    if (request->wait)
        *request->wait = (struct model_wait){.model = model,
                                             .deadline_us = request->deadline_us,
                                             .cancelled = &request->cancelled,
                                             .finish = finish_wait,
                                             .owner = request};
    else
        api_fail_memory(reply);
    return false;
}

/* NULL when memory is out. */
static struct held_model *hold(struct request *request, struct served_model *model) {
    struct held_model *held = find_held(request, model);
    if (held)
        return held;
    held = arena_zalloc(&request->arena, 1, sizeof *held);
    if (held) {
        held->model = model;
        held->next = request->held;
        request->held = held;
    }
    return held;
}

/* True: the model is there, and the request holds it. Otherwise either the reply is set or the request waits for it. */
static bool has_model(const struct service *service, struct served_model *model, struct request *request, struct reply *reply) {
    struct error error = {0};
    struct held_model *held = hold(request, model);
    if (!held) {
        api_fail_memory(reply);
        return false;
    }
    if (held->loaded)
        return true;
    switch (catalog_take(service->catalog, model, &held->loaded, &error)) {
    case CATALOG_READY:
        return true;
    case CATALOG_FAILED:
        fail_model(service, model, &error, reply);
        return false;
    case CATALOG_NOT_YET:
        break;
    }
    return begin_wait(request, model, reply);
}

/* The same of all that its texts are for. */
static bool has_models(const struct service *service, struct request *request, struct reply *reply) {
    if (request->wait) { /* there is a reason why nothing came of it */
        fail_model(service, request->wait->model, &request->wait->error, reply);
        return false;
    }
    if (!request->loaded) {
        if (!has_model(service, request->model, request, reply))
            return false;
        request->loaded = loaded_model_acquire(find_held(request, request->model)->loaded);
    }
    for (size_t i = 0; i < request->text_count; i++) {
        struct text *text = &request->texts[i];
        if (text->model && !has_model(service, text->model, request, reply))
            return false;
        text->loaded = text->model ? find_held(request, text->model)->loaded : NULL;
        if (text->second && !has_model(service, text->second, request, reply))
            return false;
        text->second_loaded = text->second ? find_held(request, text->second)->loaded : NULL;
    }
    return true;
}

void api_prepare(const struct service *service, const char *field, struct request *request, struct reply *reply) {
    const char *const names[] = {[REQUEST_TEXT] = field,
                                 [REQUEST_TARGET] = request->target_name,
                                 [REQUEST_SPLIT] = "split_sentences",
                                 [REQUEST_PREFIX] = "prefix",
                                 [REQUEST_FORCE] = "force_attention",
                                 [REQUEST_HEADS] = "include",
                                 [REQUEST_GLOSSARY] = "glossary",
                                 [REQUEST_PROTECT] = "protect"};
    enum request_input input = REQUEST_TEXT;
    struct error error = {0};
    enum scheduler_verdict verdict = scheduler_judge(service->scheduler, request);
    if (verdict != SCHEDULER_ACCEPTED) /* the cheapest way to say so: under overload most requests end here */
        api_fail_refused(service, verdict, request, reply);
    else if (!has_models(service, request, reply))
        return;
    else if (request_prepare(request, request->loaded->translator, &input, &error) != 0 &&
             request->budget.spent == BUDGET_SENTENCES)
        api_fail(reply, STATUS_TOO_LARGE, field, "%s must have at most %zu sentences", field, request->budget.most_sentences);
    else if (error.code != ERROR_NONE)
        fail_preparation(request, names[input], &error, reply);
    else
        check_size(service, field, request, reply);
}

static const struct error *first_error(const struct request *request) {
    for (size_t i = 0; i < request->job_count; i++) {
        if (request->jobs[i].sentence->error.code != ERROR_NONE)
            return &request->jobs[i].sentence->error;
    }
    return NULL;
}

bool api_fail_decoded(const struct request *request, struct reply *reply) {
    const struct error *error = first_error(request);
    if (error)
        fail_internal(request, error, reply);
    return error != NULL;
}
