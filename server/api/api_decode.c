/* What POST /translate and POST /attention share: from the body to the jobs, and from these to the answer. */
#include "server/api/api_form.h"
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

/* What would never be accepted. */
static void check_size(const struct service *service, const char *field, const struct request *request, struct reply *reply) {
    const struct scheduler_limits *limits = scheduler_limits(service->scheduler);
    size_t work = request_work(request), least = api_least_bytes(request);
    if (request->job_count > limits->jobs)
        api_fail(reply, STATUS_TOO_LARGE, field, "%s must have at most %zu sentences, got %zu", field, limits->jobs,
                 request->job_count);
    else if (work > limits->work)
        api_fail(reply, STATUS_TOO_LARGE, field, "%s must have at most %zu tokens x rows, got %zu", field, limits->work, work);
    else if (least > service->options.max_reply_bytes)
        api_fail_length(service, least, reply);
}

void api_prepare(const struct service *service, const char *field, struct request *request, struct reply *reply) {
    const char *const names[] = {
        [REQUEST_TEXT] = field,      [REQUEST_TARGET] = request->target_name, [REQUEST_SPLIT] = "split_sentences",
        [REQUEST_PREFIX] = "prefix", [REQUEST_FORCE] = "force_attention",     [REQUEST_GLOSSARY] = "glossary"};
    enum request_input input = REQUEST_TEXT;
    struct error error = {0};
    enum scheduler_verdict verdict = scheduler_judge(service->scheduler, request);
    if (verdict != SCHEDULER_ACCEPTED) /* the cheapest way to say so: under overload most requests end here */
        api_fail_refused(service, verdict, request, reply);
    else if (request_prepare(request, request->model->translator, &input, &error) != 0)
        fail_preparation(request, names[input], &error, reply);
    else
        check_size(service, field, request, reply);
}

void api_decode_start(const struct service *service, json_t *root, enum api_kind kind, struct request *request,
                      struct reply *reply) {
    const char *dialect = kind == API_TRANSLATE ? "translate" : "attention";
    if (root && api_parse(service, root, kind, request, reply) == 0 && !api_recall(service, dialect, root, request, reply))
        api_prepare(service, "text", request, reply);
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

void api_decode_finish(const struct service *service, const char *array_name, struct request *request, struct reply *reply) {
    if (api_fail_decoded(request, reply))
        return;
    const struct translator_info *info = &request->model->info;
    struct writer w = api_begin_answer(service);
    writer_begin_object(&w, NULL);
    writer_strings(&w, "model", info->name, "source", info->source, "target", info->target, NULL);
    if (request->search.strategy == &search_sample)
        writer_integer(&w, "seed", (int64_t)request->search.sampling.seed);
    writer_begin_array(&w, array_name);
    for (size_t i = 0; i < request->text_count && !writer_ended(&w) && !request_is_over(request); i++)
        api_render_text(request, &request->texts[i], &w);
    writer_end_array(&w);
    writer_end_object(&w);
    api_reply_answer(service, reply, &w);
}
