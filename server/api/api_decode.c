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

void api_prepare(const struct service *service, const char *field, struct request *request, struct reply *reply) {
    const char *const names[] = {
        [REQUEST_TEXT] = field,         [REQUEST_TARGET] = request->target_name, [REQUEST_SPLIT] = "split_sentences",
        [REQUEST_PREFIX] = "prefix",    [REQUEST_FORCE] = "force_attention",     [REQUEST_HEADS] = "include",
        [REQUEST_GLOSSARY] = "glossary"};
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
