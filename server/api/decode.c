/* This file takes a decoding request from its body to its answer: it finds the dialect, makes the
 * jobs, hands them to the workers, and replies when they have failed. */
#include "server/api/decode.h"
#include "server/api/access.h"
#include "server/api/answer.h"
#include "server/api/call.h"
#include "server/api/dialect.h"
#include "server/api/recall.h"
#include "server/api/reply.h"
#include "server/api/value.h"
#include "server/api/wait.h"
#include "server/base/log.h"
#include "server/decode/job.h"

/* ---- a body becomes jobs ---- */

void decode_start(const struct service *service, const struct call *call, struct request *request,
                  struct reply *reply) {
    if (!access_admit(service, request, reply) || !wait_finds_models(service, request, reply))
        return;
    bool form = call_is_form(call);
    json_t *body = form ? NULL : call_load_value(call, reply), *root = NULL;
    if (form ? call_check_fields(call, reply) != 0 : !body)
        return;
    const struct dialect *dialect = reply->dialect =
        route_spoken(call->route, &(struct dialect_fields){body, call});
    if (form)
        root = dialect->load(call, reply);
    else if (dialect->merge)
        root = dialect->merge(call, body, reply);
    else if (json_is_object(body))
        root = json_incref(body);
    else
        reply_fail(reply, STATUS_INVALID, NULL, "the body must be a JSON object, got %s",
                   value_type_name(body));
    json_decref(body);
    if (root && dialect_judge_fields(dialect, &(struct dialect_fields){root, call}, reply) == 0)
        dialect->start(dialect, service, root, request, reply);
    json_decref(root);
}

/* Returns true if the second of two models refuses what the first has written. */
static bool is_refused(const struct request *request) {
    const struct error *failure = request->failure.first;
    return request->texts[0].second &&
           (failure->code == ERROR_LENGTH || failure->code == ERROR_INPUT);
}

void decode_finish(const struct service *service, struct request *request, struct reply *reply) {
    reply->dialect->finish(service, request, reply);
    if (atomic_load(&request->failure.any) && is_refused(request))
        access_refund(service, request, request->job_count);
    recall_keep(service, request, reply);
}

/* ---- jobs ---- */

/* A document or a long text queues at most WORKER_WINDOW sentences per worker at once, since other
 * requests of the same client wait until these are taken, and at most 1 / QUEUE_SHARE of the queue.
 * A text is long if it has more than so many characters or sentences. */
enum { WORKER_WINDOW = 16, QUEUE_SHARE = 4, LONG_CHARACTERS = 10000, LONG_SENTENCES = 200 };

size_t decode_window(const struct service *service) {
    size_t most = scheduler_limits(service->scheduler)->jobs / QUEUE_SHARE,
           window = WORKER_WINDOW * service->options->workers;
    return window < most ? window : most > 0 ? most : 1;
}

static void fail_internal(const struct request *request, const struct error *error,
                          struct reply *reply) {
    if (error->code == ERROR_MEMORY) {
        reply_fail_memory(reply);
        return;
    }
    log_event(LOG_ERROR, "internal_error", log_text("id", request->id),
              log_text("message", error->message));
    reply_fail(reply, STATUS_INTERNAL, NULL, "internal error, request id %s", request->id);
}

void decode_prepare(const struct service *service, const char *field, struct request *request,
                    struct reply *reply) {
    const char *const names[] = {[REQUEST_TEXT] = field,
                                 [REQUEST_TARGET] = request->target_name,
                                 [REQUEST_SPLIT] = "split_sentences",
                                 [REQUEST_PREFIX] = "prefix",
                                 [REQUEST_SUFFIX] = "suffix",
                                 [REQUEST_FORCE] = "force_attention",
                                 [REQUEST_HEADS] = "include",
                                 [REQUEST_GLOSSARY] = "glossary",
                                 [REQUEST_PROTECT] = "protect",
                                 [REQUEST_FORMALITY] = "formality"};
    enum request_input input = REQUEST_TEXT;
    struct error error = {0};
    enum scheduler_verdict verdict = scheduler_judge(service->scheduler, request);
    if (verdict != SCHEDULER_ACCEPTED) { /* this check is the cheapest, and under overload most
                                            requests end here */
        reply_fail_refused(service, verdict, request, reply);
        return;
    }
    if (!wait_has_models(service, request, reply))
        return;
    const struct scheduler_limits *limits = scheduler_limits(service->scheduler);
    bool is_long = request->account.characters > LONG_CHARACTERS;
    request->queued.long_window = decode_window(service);
    request->queued.long_jobs = is_long                         ? 0
                                : limits->jobs < LONG_SENTENCES ? limits->jobs
                                                                : LONG_SENTENCES;
    int result = job_list(request, &input, &error);
    if (result != 0 && request->budget.spent == BUDGET_SENTENCES)
        reply_fail(reply, STATUS_TOO_LARGE, field, "%s must have at most %zu sentences", field,
                   request->budget.most_sentences);
    else if (error.code == ERROR_LENGTH)
        reply_fail(reply, STATUS_TOO_LARGE, names[input], "%s", error.message);
    else if (error.code == ERROR_INPUT)
        reply_fail(reply, STATUS_INVALID, names[input], "%s", error.message);
    else if (error.code != ERROR_NONE)
        fail_internal(request, &error, reply);
    if (result != 0 || error.code != ERROR_NONE)
        return;
    request_extend(request, (int64_t)service->options->deadline_ms * 1000, LONG_CHARACTERS);

    /* refuse a request that could never be accepted */
    size_t work = request_work(request), least = answer_least_bytes(request);
    size_t bytes = request_decoding_bytes(request), most = service->options->decode_memory;
    size_t kept = request_answer_bytes(request);
    if (work > limits->work)
        reply_fail(reply, STATUS_TOO_LARGE, field,
                   "%s must have at most %zu tokens x rows, got %zu", field, limits->work, work);
    else if (most > 0 && bytes > most)
        reply_fail(reply, STATUS_TOO_LARGE, field,
                   "%s has a sentence that could need %zu bytes of memory while it is decoded, and "
                   "at most %zu are allowed: ask for "
                   "fewer hypotheses (beam_size, n_best) or a smaller max_length",
                   field, bytes, most);
    else if (kept > service->options->request_memory)
        reply_fail(
            reply, STATUS_TOO_LARGE, field,
            "%s would need about %zu bytes of memory for its translation, and at most %zu are "
            "allowed: send it in parts",
            field, kept, service->options->request_memory);
    else if (least > service->options->max_reply_bytes)
        reply_fail_length(service, least, reply);
    answer_bound(service, request);
}

/* Replies with the reason why the second of two models cannot translate the output of the first. */
static void fail_second(const struct request *request, const struct error *error,
                        struct reply *reply) {
    if (error->code == ERROR_MEMORY)
        reply_fail_memory(reply);
    else
        reply_fail(reply, error->code == ERROR_LENGTH ? STATUS_TOO_LARGE : STATUS_INVALID, "text",
                   "what model \"%.60s\" makes of the text cannot be translated further: %s",
                   request->texts[0].model->info.name, error->message);
}

bool decode_fail(const struct request *request, struct reply *reply) {
    if (atomic_load(&request->failure.any)) {
        const struct error *failure = request->failure.first;
        (is_refused(request) ? fail_second : fail_internal)(request, failure, reply);
        return true;
    }
    return false;
}

enum scheduler_verdict decode_submit(const struct service *service, struct request *request) {
    if (request->waits.reload)
        return catalog_reload(service->catalog, request->waits.reload) ? SCHEDULER_ACCEPTED
                                                                       : SCHEDULER_CLOSED;
    return wait_is_needed(request) ? wait_submit(service, request)
                                   : scheduler_submit(service->scheduler, request);
}
