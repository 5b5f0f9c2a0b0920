#include "server/http/http_work.h"
#include "server/base/clock.h"
#include "server/decode/events.h"
#include "server/http/client.h"
#include "server/http/http_form.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Larger requests do not hold up smaller ones (chores.h). Reading one may take READ_BYTES, READ_FACTOR times the longest body, and
 * SENTENCE_BYTES for each sentence that the queue has room for; writing its answer may take ANSWER_FACTOR times the longest reply.
 * A request that took MUCH_BYTES gives them back to the system. */
enum {
    SMALL_BODY_BYTES = 16 * 1024,
    SMALL_SENTENCES = 16,
    MUCH_BYTES = 4 << 20,
    READ_BYTES = 24 << 20,
    READ_FACTOR = 8,
    SENTENCE_BYTES = 4 * 1024,
    ANSWER_FACTOR = 2
};

/* ---- the answer ---- */

/* What is not needed to send the reply goes at once: that may be much more than the reply. */
static void work_release(struct exchange *exchange) {
    stream_free(exchange->stream); /* of one that was refused */
    exchange->stream = NULL;
    body_done(&exchange->body);
    exchange_note(exchange);
    bool stopped = exchange->request.budget.spent != BUDGET_LEFT;
    bool much = stopped || (exchange->request.models && request_bytes(&exchange->request) > MUCH_BYTES);
    request_done(&exchange->request);
    if (much)
        chores_tidy(exchange->exchanges->chores);
    exchange_forget(exchange);
}

static void fail_cancelled(struct exchange *exchange) {
    free(exchange->reply.body);
    exchange->reply = (struct reply){.dialect = exchange->reply.dialect};
    api_fail_cancelled(exchange->exchanges->service, request_reason(&exchange->request), &exchange->reply);
}

/* Called in the middle of a chore: lets others have their turn. False: the request is over. */
static bool take_turns(void *owner) {
    struct exchange *exchange = owner;
    chores_pause(exchange->exchanges->chores, &exchange->chore);
    return !request_is_over(&exchange->request);
}

static void let_others(void *owner, bool away) {
    struct exchange *exchange = owner;
    chores_away(exchange->exchanges->chores, &exchange->chore, away);
}

/* Bounds what the chore allocates from now on, until end_budget. */
static void set_budget(struct exchange *exchange, size_t most_bytes) {
    struct request *request = &exchange->request;
    const struct service *service = exchange->exchanges->service;
    request->budget = (struct budget){.most_bytes = most_bytes,
                                      .most_sentences = scheduler_limits(service->scheduler)->jobs,
                                      .go_on = take_turns,
                                      .away = let_others,
                                      .owner = exchange};
    arena_limit(&request->arena, &request->budget);
}

static void set_reading_budget(struct exchange *exchange) {
    const struct service *service = exchange->exchanges->service;
    size_t sentences = scheduler_limits(service->scheduler)->jobs;
    set_budget(exchange, READ_BYTES + READ_FACTOR * service->options.max_body_bytes + SENTENCE_BYTES * sentences);
}

/* Replaces the reply if the budget had too little memory for the right one. */
static void end_budget(struct exchange *exchange) {
    struct request *request = &exchange->request;
    arena_limit(&request->arena, NULL);
    if (request->budget.spent != BUDGET_BYTES)
        return;
    free(exchange->reply.body);
    exchange->reply = (struct reply){.dialect = exchange->reply.dialect};
    api_fail(&exchange->reply, STATUS_TOO_LARGE, NULL, "the request takes more than %zu bytes of memory",
             request->budget.most_bytes);
}

static void set_reply(struct exchange *exchange) {
    const struct exchanges *exchanges = exchange->exchanges;
    if (request_reason(&exchange->request) == CANCEL_NONE)
        exchange->route->finish(exchanges->service, &exchange->request, &exchange->reply);
    end_budget(exchange);
    bool detached = exchange->stage == STAGE_DETACHED;
    if (!detached)
        watch_remove(exchanges->watch, &exchange->watched); /* nobody cancels it any more */
    if (request_reason(&exchange->request) != CANCEL_NONE)
        fail_cancelled(exchange);
    if (!exchange->stream && !detached)
        exchange_compress(exchange);
    if (!detached)
        exchange_hold(exchange);
}

/* After the resume the exchange is the connection's thread's again, and may be gone. A detached one ends here. */
static void resume(struct exchange *exchange) {
    bool detached = exchange->stage == STAGE_DETACHED;
    if (detached)
        api_settle(exchange->exchanges->service, &exchange->request, &exchange->reply);
    work_release(exchange);
    if (detached)
        exchange_end(exchange);
    else
        MHD_resume_connection(exchange->connection);
}

/* Called by the worker that ended the last job, or as a chore. */
static void conclude(struct exchange *exchange) {
    set_reply(exchange);
    if (!exchange->stream)
        resume(exchange);
    else if (events_end(exchange->request.events)) /* its reader has left */
        exchange_end(exchange);
}

static void run_rendering(void *owner) {
    struct exchange *exchange = owner;
    request_is_over(&exchange->request);
    set_budget(exchange, ANSWER_FACTOR * exchange->exchanges->service->options.max_reply_bytes);
    conclude(exchange);
}

static void add_chore(struct exchange *exchange, enum metrics_chore kind, bool large, void (*run)(void *)) {
    exchange->chore = (struct chore){.request = &exchange->request,
                                     .kind = kind,
                                     .large = large,
                                     .waits = kind == CHORE_PREPARATION && api_writes(exchange->route),
                                     .bytes = exchange->body.capacity,
                                     .run = run,
                                     .owner = exchange};
}

/* The second decoding is refused. charged: sentences of the first. */
static void give_up(struct exchange *exchange, size_t charged) {
    api_refund(exchange->exchanges->service, &exchange->request, charged);
    if (exchange->stage != STAGE_DETACHED)
        watch_remove(exchange->exchanges->watch, &exchange->watched);
    resume(exchange);
}

/* As a chore, between two decodings: the request is watched and suspended. */
static void run_second(void *owner) {
    struct exchange *exchange = owner;
    struct request *request = &exchange->request;
    const struct service *service = exchange->exchanges->service;
    if (request_is_over(request)) {
        conclude(exchange);
        return;
    }
    size_t charged = request->job_count;
    set_reading_budget(exchange);
    int result = api_go_on(request, &exchange->reply);
    end_budget(exchange);
    if (result != 0) {
        give_up(exchange, charged);
        return;
    }
    enum scheduler_verdict verdict = api_submit(service, request); /* once accepted, it may be gone */
    if (verdict == SCHEDULER_ACCEPTED)
        return;
    api_fail_refused(service, verdict, request, &exchange->reply);
    give_up(exchange, charged);
}

static void work_finish(struct request *request) {
    struct exchange *exchange = request->owner;
    if (request_reason(request) == CANCEL_NONE && api_goes_on(request)) {
        add_chore(exchange, CHORE_RENDERING, request->job_count > SMALL_SENTENCES, run_second);
        chores_submit(exchange->exchanges->chores, &exchange->chore);
        return;
    }
    if (request_reason(request) != CANCEL_NONE || !api_is_large(request)) {
        conclude(exchange);
        return;
    }
    add_chore(exchange, CHORE_RENDERING, true, run_rendering);
    bool taken = chores_submit(exchange->exchanges->chores, &exchange->chore);
    assert(taken);
    (void)taken;
}

static void run_end(void *owner) {
    exchange_end(owner);
}

/* What a stream held may be much to free. */
static void end_stream(struct exchange *exchange) {
    add_chore(exchange, CHORE_RENDERING, true, run_end);
    if (api_is_large(&exchange->request))
        chores_submit(exchange->exchanges->chores, &exchange->chore);
    else
        exchange_end(exchange);
}

void work_end(struct exchange *exchange) {
    if (exchange->stage != STAGE_STREAMING) {
        exchange_end(exchange);
        return;
    }
    watch_remove(exchange->exchanges->watch, &exchange->watched); /* before its socket is closed and the number given to another */
    if (events_close(exchange->request.events))
        end_stream(exchange);
}

/* ---- to the workers ---- */

static void watch(struct exchange *exchange) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    assert(info);
    watch_add(exchange->exchanges->watch, &exchange->watched, &exchange->request, info->connect_fd);
}

static void suspend(struct exchange *exchange) {
    exchange->stage = STAGE_SUSPENDED;
    MHD_suspend_connection(exchange->connection);
}

/* Suspended first and watched first: from the moment the scheduler accepts it, the request may be finished by a worker. A stream
 * suspends itself when it has nothing to send. suspended: it is already. Returns whether it is then. */
static bool submit(struct exchange *exchange, bool suspended) {
    struct exchanges *exchanges = exchange->exchanges;
    bool streamed = exchange->stream != NULL;
    exchange->request.finish = work_finish;
    exchange->request.owner = exchange;
    watch(exchange);
    if (streamed)
        exchange->stage = STAGE_STREAMING;
    else if (!suspended)
        suspend(exchange);
    enum scheduler_verdict verdict = api_submit(exchanges->service, &exchange->request);
    if (verdict == SCHEDULER_ACCEPTED)
        return !streamed;
    watch_remove(exchanges->watch, &exchange->watched);
    api_refund(exchanges->service, &exchange->request, exchange->request.job_count);
    api_fail_refused(exchanges->service, verdict, &exchange->request, &exchange->reply);
    if (streamed)
        exchange->stage = suspended ? STAGE_SUSPENDED : STAGE_RECEIVING;
    if (!streamed && !suspended)
        resume(exchange);
    return !streamed && !suspended;
}

static void run_preparation(void *owner);

/* On a thread of its own, of one that is watched and suspended. */
static void prepare_beside(struct exchange *exchange) {
    struct exchanges *exchanges = exchange->exchanges;
    add_chore(exchange, CHORE_PREPARATION, exchange->body.length > SMALL_BODY_BYTES, run_preparation);
    if (chores_submit(exchanges->chores, &exchange->chore))
        return;
    watch_remove(exchanges->watch, &exchange->watched);
    api_fail_unprepared(exchanges->service, chores_wait_s(exchanges->chores, &exchange->chore), &exchange->reply);
    resume(exchange);
}

/* Its model is in memory, or will not be: on the thread that says so. */
static void prepare_again(struct request *request) {
    prepare_beside(request->owner);
}

/* Until its model is in memory; then it is prepared from the start. As submit. */
static bool await_model(struct exchange *exchange, bool suspended) {
    struct exchanges *exchanges = exchange->exchanges;
    exchange->request.finish = prepare_again;
    exchange->request.owner = exchange;
    exchange->request.accepted = true;
    watch(exchange);
    if (!suspended)
        suspend(exchange);
    enum scheduler_verdict verdict = api_submit(exchanges->service, &exchange->request);
    if (verdict == SCHEDULER_ACCEPTED)
        return true;
    watch_remove(exchanges->watch, &exchange->watched);
    api_fail_refused(exchanges->service, verdict, &exchange->request, &exchange->reply);
    if (!suspended)
        resume(exchange);
    return !suspended;
}

/* Prepared and not submitted yet: from now on the request is answered piece by piece. */
static void open_stream(struct exchange *exchange) {
    exchange->stream = stream_open(exchange->connection, &exchange->request, &exchange->reply,
                                   exchange->exchanges->service->options.max_reply_bytes, exchange->exchanges->chores);
    if (!exchange->stream)
        api_fail_memory(&exchange->reply);
}

/* Only blank texts: there is nothing to decode. */
static void answer_blank(struct exchange *exchange) {
    exchange->route->finish(exchange->exchanges->service, &exchange->request, &exchange->reply);
    if (exchange->stream) {
        exchange->stage = STAGE_STREAMING;
        events_end(exchange->request.events);
    }
}

/* What was prepared goes to the workers, unless its reply is set, or it is over, whatever its preparation says of that. As submit.
 */
static bool go_on(struct exchange *exchange, bool suspended) {
    if (request_reason(&exchange->request) != CANCEL_NONE)
        fail_cancelled(exchange);
    if (exchange->reply.status == 0 && api_waits(&exchange->request))
        return exchange_keep(exchange) && await_model(exchange, suspended);
    if (exchange->reply.status == 0 && exchange_keep(exchange) &&
        api_charge(exchange->exchanges->service, &exchange->request, &exchange->reply) && exchange->request.streamed)
        open_stream(exchange);
    if (exchange->reply.status != 0 || api_detaches(exchange->route))
        return false;
    if (exchange->request.job_count > 0 || exchange->request.reload)
        return submit(exchange, suspended);
    answer_blank(exchange);
    return false;
}

struct exchange *work_detach(struct exchange *exchange) {
    const struct service *service = exchange->exchanges->service;
    struct request *request = &exchange->request;
    struct reply *reply = &exchange->reply, early = {.dialect = reply->dialect};
    if (!exchange->route || !api_detaches(exchange->route) || reply->status != 0)
        return exchange;
    if (request_reason(request) != CANCEL_NONE) {
        fail_cancelled(exchange);
        return exchange;
    }
    api_detach(service, request, &early);
    struct exchange *fork = early.status == STATUS_OK ? exchange_fork(exchange, &early) : NULL;
    if (!fork) {
        bool crowded = early.status == STATUS_OK;
        *reply = early;
        if (crowded) {
            api_fail_memory(reply);
            api_settle(service, request, reply);
        }
        api_refund(service, request, request->job_count);
        return exchange;
    }
    exchange->stage = STAGE_DETACHED;
    exchange->connection = NULL;
    exchange->path = exchange->route->path;
    request->finish = work_finish;
    request->owner = exchange;
    if (request->job_count == 0) {
        conclude(exchange);
        return fork;
    }
    enum scheduler_verdict verdict = api_submit(service, request); /* once accepted, it may be gone */
    if (verdict == SCHEDULER_ACCEPTED)
        return fork;
    api_fail_refused(service, verdict, request, &fork->reply); /* its client is told at once, and never learns the id */
    api_refund(service, request, request->job_count);
    reply->status = fork->reply.status;
    resume(exchange);
    return fork;
}

/* By a Unix socket for administrators: whoever may open it is one. */
static bool is_administrator(struct MHD_Connection *connection) {
    const struct gate *gate = connection_gate(connection);
    return gate && gate->admin && gate->local;
}

/* Over TLS, here or at a proxy that says so. */
static bool is_secure(struct MHD_Connection *connection) {
    const char *protocol = sent_header(connection, "X-Forwarded-Proto");
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION) || (protocol && strcmp(protocol, "https") == 0);
}

/* ---- preparation ---- */

static void work_prepare(struct exchange *exchange) {
    const struct service *service = exchange->exchanges->service;
    struct call call = {.body = exchange->body.bytes,
                        .length = exchange->body.length,
                        .content_type = sent_header(exchange->connection, "Content-Type"),
                        .path = exchange->path,
                        .if_none_match = sent_header(exchange->connection, "If-None-Match"),
                        .authorization = sent_header(exchange->connection, "Authorization"),
                        .host = sent_header(exchange->connection, "Host"),
                        .accept_language = sent_header(exchange->connection, "Accept-Language"),
                        .secure = is_secure(exchange->connection),
                        .administrator = is_administrator(exchange->connection)};
    for (size_t i = 0; i < API_KEY_HEADERS; i++)
        call.api_keys[i] = sent_header(exchange->connection, api_key_headers[i]);
    if (form_read(exchange->connection, &exchange->request.arena, &call, &exchange->reply) != 0)
        return;
    api_choose_dialect(exchange->route, &call, &exchange->reply);
    if (api_authorize(service, exchange->route, &call, &exchange->request, &exchange->reply) != 0)
        return;
    if (exchange->request.key) {
        strcpy(exchange->key_name, exchange->request.key->name);
        exchange->request.client = client_of_name(exchange->key_name, strlen(exchange->key_name));
        if (exchange->request.key->limits.priority > exchange->request.priority) /* a request asks for less, never for more */
            exchange->request.priority = exchange->request.key->limits.priority;
    }
    if (!exchange->request.models && api_take_models(service, &exchange->request, &exchange->reply) != 0)
        return;
    exchange->route->start(service, &call, &exchange->request, &exchange->reply);
}

/* As a chore: the connection is suspended. */
static void run_preparation(void *owner) {
    struct exchange *exchange = owner;
    struct MHD_Connection *connection = exchange->connection;
    exchange_forget(exchange); /* of one that has waited for its model */
    set_reading_budget(exchange);
    if (!request_is_over(&exchange->request))
        work_prepare(exchange);
    end_budget(exchange);
    watch_remove(exchange->exchanges->watch, &exchange->watched);
    if (exchange->reply.status != 0 || !api_waits(&exchange->request))
        body_done(&exchange->body);
    if (go_on(exchange, true))
        return;
    if (exchange->stage == STAGE_STREAMING || (exchange->reply.status == 0 && api_detaches(exchange->route)))
        MHD_resume_connection(connection);
    else
        resume(exchange);
}

static enum MHD_Result add_length(void *closure, enum MHD_ValueKind kind, const char *name, size_t name_length, const char *value,
                                  size_t length) {
    (void)kind;
    (void)name;
    (void)value;
    *(size_t *)closure += name_length + length;
    return MHD_YES;
}

static bool is_small(const struct exchange *exchange) {
    size_t bytes = exchange->body.length;
    MHD_get_connection_values_n(exchange->connection, MHD_GET_ARGUMENT_KIND, add_length, &bytes);
    return bytes <= WORK_SMALL_BYTES;
}

/* Watched and suspended first, as in submit. */
static void defer(struct exchange *exchange) {
    exchange->request.accepted = true;
    watch(exchange);
    suspend(exchange);
    prepare_beside(exchange);
}

static int set_deadline(struct exchange *exchange) {
    const struct service_options *options = &exchange->exchanges->service->options;
    size_t deadline_ms, most_ms = api_is_lasting(exchange->route) ? options->document_ms : options->deadline_ms;
    if (sent_deadline(exchange->connection, most_ms, &deadline_ms, &exchange->reply) != 0)
        return -1;
    exchange->request.deadline_us = exchange->began_us + (int64_t)deadline_ms * 1000;
    return 0;
}

static bool call_route(struct exchange *exchange) {
    const struct service *service = exchange->exchanges->service;
    bool reads = exchange->route->method[0] == 'P' /* POST, PUT, PATCH */ || exchange->route->finish;
    if (reads &&
        (set_deadline(exchange) != 0 || sent_priority(exchange->connection, &exchange->request.priority, &exchange->reply) != 0))
        return false;
    bool ready = service_state(service) == SERVICE_READY;
    if (ready && (api_writes(exchange->route) || (reads && !is_small(exchange)))) {
        defer(exchange);
        return true;
    }
    work_prepare(exchange);
    return go_on(exchange, false);
}

static void fail_method(struct exchange *exchange) {
    char methods[API_METHODS_BYTES];
    api_allowed(exchange->route, methods);
    api_fail(&exchange->reply, STATUS_METHOD, NULL, "the method must be one of %s", methods);
}

bool work_begin(struct exchange *exchange) {
    struct reply *reply = &exchange->reply;
    if (!exchange->route)
        api_fail(reply, STATUS_NOT_FOUND, NULL, "this path does not exist");
    else if (strcmp(exchange->method, "OPTIONS") == 0)
        reply->status = STATUS_NO_CONTENT;
    else if (!api_method_fits(exchange->route, exchange->method))
        fail_method(exchange);
    else if (exchange->body.discarded > 0)
        api_fail(reply, STATUS_TOO_LARGE, NULL, "the body must have at most %zu bytes",
                 exchange->exchanges->service->options.max_body_bytes);
    else if (sent_as_it_is(exchange->connection, reply) == 0)
        return call_route(exchange);
    return false;
}
