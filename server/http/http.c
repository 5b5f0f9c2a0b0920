/* This file hides the life of an exchange (a request and its reply), from its head to its last
 * byte, and which thread works on it at each stage.
 *
 * state      begins                                    works on it              goes on to
 * RECEIVING  exchange_handle: the head is complete     the connection's thread  any other
 * WAITING    receiving_take: its body has no room      nobody, until bodies.c   RECEIVING
 *                                                      or watch.c wakes it
 * SUSPENDED  suspend: others prepare, decode or write  chores, workers, loader  ANSWERED (resume),
 *                                                                               STREAMING
 * STREAMING  submit: the reply is a stream             workers and chores; the  the end, when both
 *                                                      connection's thread      have ended with it
 *                                                      sends what is there
 * DETACHED   detach: another exchange answers the      workers and chores       the end
 *            client before this one is decoded
 * ANSWERED   respond: libmicrohttpd has the reply      the connection's thread  the end
 *                                                                              (completed)
 *
 * callback           set by           called                               on the thread of
 * route->start       routes.c         prepare: the request is complete     the connection; a chore
 *                                                                          if it is large
 * request->finish    submit, detach   the last job or the reload ended:    the worker or loader
 *                                     work_finish; the model that it
 *                                     waits for is loaded or has failed:
 *                                     prepare_again
 * api_go_on          run_second       the first of two models has decoded  a chore
 * route->finish      routes.c         conclude: nothing is left to decode  the worker; a chore if
 *                                                                          the answer is large;
 *                                                                          the connection if
 *                                                                          nothing was decoded
 * request->progress  feed_open        after each step of a streamed job    the worker
 * budget.go_on       set_budget       now and then while a chore reads or  the chore
 *                                     writes: others have their turn
 * reply->sent        route->finish    exchange_completed: it was sent      the connection
 */
#include "server/api/access.h"
#include "server/api/answer.h"
#include "server/api/api.h"
#include "server/api/decode.h"
#include "server/api/documents.h"
#include "server/api/reach.h"
#include "server/api/reply.h"
#include "server/api/wait.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/decode/chores.h"
#include "server/decode/events.h"
#include "server/endpoints/routes.h"
#include "server/http/bodies.h"
#include "server/http/client.h"
#include "server/http/compress.h"
#include "server/http/connection.h"
#include "server/http/exchange.h"
#include "server/http/feed.h"
#include "server/http/form.h"
#include "server/http/headers.h"
#include "server/http/queue.h"
#include "server/http/watch.h"
#include <assert.h>
#include <malloc.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SMALL_REQUEST_BYTES = 64 * 1024, /* --request-memory does not refuse smaller requests: --queue
                                        bounds how many there are */

    SMALL_REPLY_BYTES = 64 * 1024, /* --reply-memory does not refuse smaller replies, which the
                                      system's buffer of a socket takes at once */

    /* A body and query string of up to this many bytes are read on the connection's thread, in a
     * few milliseconds at most. A request for one sentence rarely has more. */
    SMALL_BYTES = 256,

    /* Requests above these limits do not hold up smaller ones (chores.h). */
    SMALL_BODY_BYTES = 16 * 1024,
    MUCH_BYTES = 4 << 20,   /* a request that took more returns it to the system */
    REST_BYTES = 16 * 1024, /* a body of up to this many bytes is read and discarded to keep the
                               connection of a refused request */

    /* Reading a request may take this much memory: READ_BYTES, READ_FACTOR times max_body_bytes,
     * and SENTENCE_BYTES for each sentence that it may have. Writing its answer may take
     * ANSWER_FACTOR times max_reply_bytes. */
    READ_BYTES = 16 << 20,
    READ_FACTOR = 8,
    SENTENCE_BYTES = 2 * 1024,
    ANSWER_FACTOR = 2
};

/* ---- memory of requests and replies ---- */

static void forget_request(struct exchange *exchange) {
    atomic_fetch_sub(&exchange->http->read, exchange->kept);
    exchange->kept = 0;
}

static int64_t send_us(const struct http *http) {
    return (int64_t)http->connections.options.send_timeout_ms * 1000;
}

/* Counts the request until forget_request. Returns false, with the reply set, if it is large and
 * does not fit beside others. */
static bool keep_request(struct exchange *exchange) {
    const struct service *service = exchange->http->service;
    exchange->kept = request_bytes(&exchange->request) + request_answer_bytes(&exchange->request);
    size_t before = atomic_fetch_add(&exchange->http->read, exchange->kept);
    bool fits = before == 0 || before + exchange->kept <= service->options->request_memory;
    if (fits || exchange->kept <= SMALL_REQUEST_BYTES)
        return true;
    forget_request(exchange);
    reply_fail_crowded(service, &exchange->reply);
    return false;
}

static void release_body(struct exchange *exchange) {
    bodies_release(exchange->http->bodies, &exchange->body);
}

static void release_reply(struct exchange *exchange) {
    atomic_fetch_sub(&exchange->http->unread, exchange->held);
    metrics_add(exchange->http->service->metrics, GAUGE_REPLY_BYTES, -(int64_t)exchange->held);
    exchange->held = 0;
}

/* Counts more bytes of the reply until release_reply. Returns false if it is large and they do not
 * fit beside other unread replies. */
static bool hold(struct exchange *exchange, size_t bytes) {
    const struct service *service = exchange->http->service;
    size_t before = atomic_fetch_add(&exchange->http->unread, bytes);
    metrics_add(service->metrics, GAUGE_REPLY_BYTES, (int64_t)bytes);
    exchange->held += bytes;
    return before + bytes <= service->options->reply_memory || exchange->held <= SMALL_REPLY_BYTES;
}

/* Counts a reply with status 200 among the unread ones, or replaces it with 503 if it does not fit
 * beside them. What administrators watch is not counted: it shows why others get no reply. */
static void hold_reply(struct exchange *exchange) {
    if (exchange->reply.status != STATUS_OK || route_has(exchange->route, ROUTE_ADMIN) ||
        hold(exchange, exchange->reply.length))
        return;
    release_reply(exchange);
    reply_fail_unread(exchange->http->service, &exchange->reply);
}

/* Compresses the reply if the client accepts gzip and this makes the reply shorter. Takes 10 ms per
 * MB. */
static void compress(struct exchange *exchange) {
    if (exchange->gzip && !exchange->reply.compressed && compress_is_worthwhile(&exchange->reply))
        compress_reply(&exchange->reply);
}

static void clear_reply(struct exchange *exchange) {
    free(exchange->reply.body);
    exchange->reply = (struct reply){.dialect = exchange->reply.dialect};
}

/* ---- the beginning and the end ---- */

/* path must outlive the exchange. Returns NULL if memory runs out. */
static struct exchange *exchange_create(struct http *http, struct MHD_Connection *connection,
                                        const char *path, const char *method) {
    struct exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange)
        return NULL;
    request_init(&exchange->request);
    exchange->request.parameters.verbatim = http->service->options->verbatim;
    exchange->http = http;
    exchange->body = (struct body){.wake = receiving_resume, .owner = exchange};
    exchange->connection = connection;
    exchange->began_us = clock_us();
    exchange->path = path;
    exchange->method = route_method(method);
    exchange->origin = headers_find(connection, "Origin");
    const struct gate *gate = connection_gate(connection);
    const struct route *route = routes_find(path, exchange->method, &exchange->endpoint);
    exchange->route = route && gate && gate->admin && !route_has(route, ROUTE_ADMIN) ? NULL : route;
    exchange->reply.dialect = route_dialect(route);
    if (!headers_id(connection, exchange->id))
        snprintf(exchange->id, HEADERS_ID_BYTES, "%08x%08x", (unsigned)http->id_prefix,
                 (unsigned)atomic_fetch_add(&http->id_counter, 1) + 1);
    exchange->request.id = exchange->id;
    exchange->request.owner = exchange;
    headers_trace(connection, exchange->trace);
    exchange->gzip = compress_is_accepted(headers_find(connection, "Accept-Encoding"));
    exchange->request.account.client = client_of_connection(
        connection, http->service->options->client_header); /* prepare prefers a key's */
    metrics_add(http->service->metrics, GAUGE_REQUESTS_IN_FLIGHT, 1);
    return exchange;
}

/* Called when the request is complete or refused. Returns false if it has been answered already. */
static bool count_in_flight(struct exchange *exchange) {
    struct http *http = exchange->http;
    pthread_mutex_lock(&http->lock);
    receiving_unlist(exchange);
    exchange->whole = !atomic_load(&exchange->passed);
    http->in_flight += exchange->whole;
    pthread_mutex_unlock(&http->lock);
    return exchange->whole;
}

/* Makes another exchange for the same connection, with an empty request and this reply, which it
 * takes over. Returns NULL if memory runs out. */
static struct exchange *exchange_fork(const struct exchange *exchange, const struct reply *reply) {
    struct exchange *fork = calloc(1, sizeof *fork);
    if (!fork)
        return NULL;
    *fork = (struct exchange){.http = exchange->http,
                              .connection = exchange->connection,
                              .began_us = exchange->began_us,
                              .path = exchange->path,
                              .method = exchange->method,
                              .route = exchange->route,
                              .endpoint = exchange->endpoint,
                              .origin = exchange->origin,
                              .gzip = exchange->gzip,
                              .reply = *reply};
    request_init(&fork->request);
    memcpy(fork->id, exchange->id, sizeof fork->id);
    memcpy(fork->trace, exchange->trace, sizeof fork->trace);
    memcpy(fork->key_name, exchange->key_name, sizeof fork->key_name);
    fork->request.id = fork->id;
    metrics_add(fork->http->service->metrics, GAUGE_REQUESTS_IN_FLIGHT, 1);
    count_in_flight(fork);
    return fork;
}

/* Records the time and tokens that the request used. Called before request_done. */
static void note_spent(struct exchange *exchange) {
    const struct request *request = &exchange->request;
    struct spent *spent = &exchange->spent;
    int64_t began_us = INT64_MAX, ended_us = 0;
    if (request->model) {
        snprintf(spent->model, sizeof spent->model, "%s", request->model->info.name);
        spent->metrics = request->model->metrics;
    }
    for (size_t i = 0; i < request->job_count; i++) {
        const struct job *job = &request->jobs[i];
        if (job->admitted_us == 0 || job->done_us == 0)
            continue; /* the sentence was not decoded to the end */
        int64_t queued_us = job->admitted_us - job->queued_us;
        spent->queue_us = queued_us > spent->queue_us ? queued_us : spent->queue_us;
        began_us = job->admitted_us < began_us ? job->admitted_us : began_us;
        ended_us = job->done_us > ended_us ? job->done_us : ended_us;
        spent->tokens += job->written;
    }
    spent->decode_us = ended_us > 0 ? ended_us - began_us : 0;
}

/* Frees the memory of the request. A request that took much memory returns it to the system. */
static void end_request(struct exchange *exchange) {
    struct request *request = &exchange->request;
    bool stopped = request->budget.spent != BUDGET_LEFT;
    bool decoded = request->models != NULL;
    bool much = stopped || (decoded && request_bytes(request) > MUCH_BYTES);
    exchange->untidy |= decoded; /* request_done forgets it */
    request_done(request);
    request->budget = (struct budget){0}; /* this may be called again */
    if (much)
        chores_tidy(exchange->http->chores);
}

/* Counts and logs the exchange, and frees it. */
static void exchange_end(struct exchange *exchange) {
    struct http *http = exchange->http;
    int64_t duration_us = clock_us() - exchange->began_us;
    if (exchange->request.models) /* request_done has not been called */
        note_spent(exchange);
    const struct spent *spent = &exchange->spent;

    /* The status that the client received, or the one in the last event of a feed; 0: the client
     * left before it. */
    bool answered = exchange->stage == STAGE_ANSWERED || exchange->stage == STAGE_STREAMING ||
                    exchange->stage == STAGE_DETACHED;
    unsigned status = answered && request_reason(&exchange->request) != CANCEL_CLIENT
                          ? exchange->reply.status
                          : 0;
    char trace[HEADERS_TRACE_ID_LENGTH + 1] = "";
    if (*exchange->trace)
        memcpy(trace, exchange->trace + HEADERS_TRACE_ID, HEADERS_TRACE_ID_LENGTH);
    metrics_request_ended(http->service->metrics, exchange->endpoint, spent->metrics, status,
                          duration_us);
    log_event(
        LOG_INFO, "request", log_text("id", exchange->id), log_text("method", exchange->method),
        log_text("endpoint", metrics_endpoint(http->service->metrics, exchange->endpoint)),
        log_count("status", status), log_count("sentences", exchange->request.job_count),
        log_real("duration_ms", (double)duration_us / 1000),
        log_text("model", *spent->model ? spent->model : "-"), log_count("tokens", spent->tokens),
        log_real("queue_ms", (double)spent->queue_us / 1000),
        log_real("decode_ms", (double)spent->decode_us / 1000),
        log_text("trace", *trace ? trace : "-"),
        log_text("key", *exchange->key_name ? exchange->key_name : "-"));

    bool counted = exchange->whole;
    release_reply(exchange);
    forget_request(exchange);
    feed_free(exchange->feed);
    end_request(exchange);
    release_body(exchange);
    bool untidy = exchange->untidy;
    free(exchange->reply.body);
    free(exchange);
    pthread_mutex_lock(&http->lock);
    http->untidy |= untidy;
    if (counted && --http->in_flight == 0)
        pthread_cond_broadcast(&http->idle);
    pthread_mutex_unlock(&http->lock);
}

/* ---- limits of a chore ---- */

/* Called during a chore: lets other chores have their turn. Returns false if the request is over.
 */
static bool take_turns(void *owner) {
    struct exchange *exchange = owner;
    chores_pause(exchange->http->chores, &exchange->chore);
    return !request_is_over(&exchange->request);
}

static void let_others(void *owner, bool away) {
    struct exchange *exchange = owner;
    chores_away(exchange->http->chores, &exchange->chore, away);
}

/* Bounds the memory that the chore allocates from now on, until end_budget. */
static void set_budget(struct exchange *exchange, size_t most_bytes) {
    struct request *request = &exchange->request;
    const struct options *options = exchange->http->service->options;
    request->budget = (struct budget){.most_bytes = most_bytes,
                                      .most_sentences = options->document_sentences,
                                      .go_on = take_turns,
                                      .away = let_others,
                                      .owner = exchange};
    arena_limit(&request->arena, &request->budget);
}

static void set_reading_budget(struct exchange *exchange) {
    const struct options *options = exchange->http->service->options;
    set_budget(exchange, READ_BYTES + READ_FACTOR * options->max_body_bytes +
                             SENTENCE_BYTES * options->document_sentences);
}

/* Replaces the reply with 413 if its chore exceeded the budget of memory. */
static void end_budget(struct exchange *exchange) {
    struct request *request = &exchange->request;
    arena_limit(&request->arena, NULL);
    if (request->budget.spent != BUDGET_BYTES)
        return;
    clear_reply(exchange);
    reply_fail(&exchange->reply, STATUS_TOO_LARGE, NULL,
               "the request takes more than %zu bytes of memory", request->budget.most_bytes);
}

/* ---- the answer ---- */

static void fail_cancelled(struct exchange *exchange) {
    clear_reply(exchange);
    reply_fail_cancelled(exchange->http->service, request_reason(&exchange->request),
                         &exchange->reply);
}

/* Frees the request, with its models: sending the reply does not need it, and may take long. */
static void release_request(struct exchange *exchange) {
    note_spent(exchange);
    end_request(exchange);
    forget_request(exchange);
}

/* Resumes the connection, after releasing everything that sending the reply does not need, which
 * may be much larger than the reply. Then the exchange belongs to the connection's thread again,
 * which may free it. A detached exchange ends here. */
static void resume(struct exchange *exchange) {
    bool detached = exchange->stage == STAGE_DETACHED;
    if (detached)
        documents_settle(exchange->http->service, &exchange->request, &exchange->reply);
    feed_free(exchange->feed); /* the request was refused */
    exchange->feed = NULL;
    release_body(exchange);
    release_request(exchange);
    if (detached)
        exchange_end(exchange);
    else
        MHD_resume_connection(exchange->connection);
}

/* Drops events that do not fit beside other unread replies. The stream ends with that error, or
 * with the one that it has. */
static void cut_stream(struct exchange *exchange) {
    if (exchange->reply.status == STATUS_OK) {
        clear_reply(exchange);
        reply_fail_unread(exchange->http->service, &exchange->reply);
    } else if (feed_is_whole(exchange->feed)) {
        return;
    }
    release_reply(exchange);
    feed_cut(exchange->feed);
}

/* Writes the events that the client has not read, and frees the request. If they do not fit beside
 * other unread replies, the stream ends with an error. chore: this thread runs the exchange's
 * chore. */
static void end_stream(struct exchange *exchange, bool chore) {
    struct feed *feed = exchange->feed;
    feed_take(feed);
    for (size_t bytes;
         (bytes = feed_write(feed)) > 0 && request_reason(&exchange->request) != CANCEL_CLIENT;) {
        if (!hold(exchange, bytes))
            cut_stream(exchange);
        if (chore)
            chores_pause(exchange->http->chores, &exchange->chore);
    }
    feed_release(feed);
    release_request(exchange);
    if (feed_end(feed)) /* the client has left */
        exchange_end(exchange);
}

/* Sets the reply and resumes the connection or ends the stream. Called when no job is left, by the
 * thread that ended the last one, by a chore or by detach. chore: this thread runs the exchange's
 * chore. */
static void conclude(struct exchange *exchange, bool chore) {
    const struct http *http = exchange->http;
    if (request_reason(&exchange->request) == CANCEL_NONE)
        exchange->route->finish(http->service, &exchange->request, &exchange->reply);
    end_budget(exchange);
    bool detached = exchange->stage == STAGE_DETACHED;
    if (!detached)
        watch_remove(http->watch, &exchange->watched); /* from now on nothing cancels it */
    if (request_reason(&exchange->request) != CANCEL_NONE)
        fail_cancelled(exchange);
    if (!exchange->feed && !detached)
        compress(exchange);
    if (!exchange->feed && !detached)
        hold_reply(exchange);
    if (exchange->feed)
        end_stream(exchange, chore);
    else
        resume(exchange);
}

static void run_rendering(void *owner) {
    struct exchange *exchange = owner;
    request_is_over(&exchange->request);
    set_budget(exchange, ANSWER_FACTOR * exchange->http->service->options->max_reply_bytes);
    if (!exchange->request.keeps && request_bytes(&exchange->request) > MUCH_BYTES) {
        let_others(exchange, true); /* the memory of its sentences is not needed any more, and
                                       writing takes other memory */
        malloc_trim(0);
        let_others(exchange, false);
    }
    conclude(exchange, true);
}

static bool submit_chore(struct exchange *exchange, enum metrics_chore kind, bool large,
                         void (*run)(void *)) {
    exchange->chore = (struct chore){.request = &exchange->request,
                                     .kind = kind,
                                     .large = large,
                                     .waits = kind == CHORE_PREPARATION &&
                                              route_has(exchange->route, ROUTE_WRITES),
                                     .bytes = exchange->body.capacity,
                                     .run = run,
                                     .owner = exchange};
    return chores_submit(exchange->http->chores, &exchange->chore);
}

/* Called when the request's last job, or its reload, has ended. */
static void work_finish(struct request *request) {
    struct exchange *exchange = request->owner;
    bool over = request_reason(request) != CANCEL_NONE;
    if (over || !answer_is_large(request)) {
        conclude(exchange, false);
    } else {
        bool taken = submit_chore(exchange, CHORE_RENDERING, true, run_rendering);
        assert(taken);
        (void)taken;
    }
}

/* ---- to the workers ---- */

static void suspend(struct exchange *exchange) {
    exchange->stage = STAGE_SUSPENDED;
    MHD_suspend_connection(exchange->connection);
}

static void run_preparation(void *owner);

/* Prepares a request, which is watched and suspended, as a chore. */
static void prepare_beside(struct exchange *exchange) {
    struct http *http = exchange->http;
    if (submit_chore(exchange, CHORE_PREPARATION, exchange->body.length > SMALL_BODY_BYTES,
                     run_preparation))
        return;
    watch_remove(http->watch, &exchange->watched);
    reply_fail_unprepared(http->service, chores_wait_s(http->chores, &exchange->chore),
                          &exchange->reply);
    resume(exchange);
}

/* Called on the loading thread when the model for which the request waits is in memory or has
 * failed to load. */
static void prepare_again(struct request *request) {
    prepare_beside(request->owner);
}

/* Hands the request to the workers, or, if it waits for its model, to the loading thread, after
 * which it is prepared from the beginning. The request is watched and suspended first, because it
 * may be finished as soon as it is accepted. A stream suspends itself when it has nothing to send.
 * suspended: the connection is suspended already. Returns true if the connection has been or will
 * be resumed elsewhere, and false if the caller must go on with it. */
static bool submit(struct exchange *exchange, bool suspended) {
    struct http *http = exchange->http;
    struct request *request = &exchange->request;
    bool streamed = exchange->feed != NULL, waits = wait_is_needed(request);
    request->finish = waits ? prepare_again : work_finish;
    request->owner = exchange;
    request->waits.accepted |= waits;
    exchange_watch(exchange, NULL);
    if (streamed)
        exchange->stage = STAGE_STREAMING;
    else if (!suspended)
        suspend(exchange);
    enum scheduler_verdict verdict = decode_submit(http->service, request);
    if (verdict == SCHEDULER_ACCEPTED)
        return !streamed;
    watch_remove(http->watch, &exchange->watched);
    if (!waits)
        access_refund(http->service, request, request->job_count);
    reply_fail_refused(http->service, verdict, request, &exchange->reply);
    if (streamed)
        exchange->stage = suspended ? STAGE_SUSPENDED : STAGE_RECEIVING;
    if (!streamed && !suspended)
        resume(exchange);
    return !streamed && !suspended;
}

/* Continues with a prepared request: submits it, unless its reply is set or it has been cancelled.
 * Returns true and false as submit does. */
static bool go_on(struct exchange *exchange, bool suspended) {
    const struct http *http = exchange->http;
    struct request *request = &exchange->request;
    struct reply *reply = &exchange->reply;
    if (request_reason(request) != CANCEL_NONE)
        fail_cancelled(exchange);
    if (reply->status == 0 && wait_is_needed(request))
        return keep_request(exchange) && submit(exchange, suspended);
    if (reply->status == 0 && keep_request(exchange) &&
        access_charge(http->service, request, reply) && request->wanted.streamed) {
        const struct feed_options options = {.most = http->service->options->max_reply_bytes,
                                             .chores = http->chores,
                                             .cutoff = http->connections.cutoff,
                                             .send_us = send_us(http)};
        exchange->feed = feed_open(exchange->connection, request, reply, &options);
        if (!exchange->feed)
            reply_fail_memory(reply);
    }
    if (reply->status != 0 || route_has(exchange->route, ROUTE_DETACHES))
        return false;
    if (request->job_count > 0 || request->waits.reload)
        return submit(exchange, suspended);

    /* The texts are blank: there is nothing to decode. */
    exchange->route->finish(http->service, request, reply);
    if (exchange->feed) {
        exchange->stage = STAGE_STREAMING;
        end_stream(exchange, false);
    }
    return false;
}

/* ---- preparation ---- */

/* Describes the request, with what has arrived of it, to the endpoints. Returns -1 after setting
 * the reply. */
static int describe(struct exchange *exchange, struct call *call) {
    struct MHD_Connection *connection = exchange->connection;
    const struct gate *gate = connection_gate(connection);
    const char *protocol =
        headers_find(connection, "X-Forwarded-Proto"); /* from a proxy that speaks TLS */
    *call = (struct call){
        .body = exchange->body.bytes,
        .length = exchange->body.length,
        .content_type = headers_find(connection, "Content-Type"),
        .path = exchange->path,
        .route = exchange->route,
        .if_none_match = headers_find(connection, "If-None-Match"),
        .authorization = headers_find(connection, "Authorization"),
        .host = headers_find(connection, "Host"),
        .accept_language = headers_find(connection, "Accept-Language"),
        .protocol_version = headers_find(connection, "MCP-Protocol-Version"),
        .secure = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION) ||
                  (protocol && strcmp(protocol, "https") == 0),
        .administrator =
            gate && gate->admin &&
            gate->local}; /* any process that may open the socket is an administrator */
    for (size_t i = 0; i < ACCESS_KEY_HEADERS; i++)
        call->api_keys[i] = headers_find(connection, access_key_headers[i]);
    return form_read(connection, &exchange->request.arena, call, &exchange->reply);
}

/* Finds the holder of the request's key. Returns -1 after setting the reply if the client may not
 * call the endpoint. */
static int authorize(struct exchange *exchange, const struct call *call) {
    struct request *request = &exchange->request;
    route_choose_dialect(exchange->route, call, &exchange->reply);
    if (access_authorize(exchange->http->service, exchange->route, call, request,
                         &exchange->reply) != 0)
        return -1;
    if (request->key) {
        strcpy(exchange->key_name, request->key->name);
        request->account.client = client_of_name(exchange->key_name, strlen(exchange->key_name));
        if (request->key->priority >
            request->account.priority) /* a request can lower its key's priority, never raise it */
            request->account.priority = request->key->priority;
    }
    return 0;
}

static void prepare(struct exchange *exchange) {
    const struct service *service = exchange->http->service;
    struct request *request = &exchange->request;
    struct reply *reply = &exchange->reply;
    struct call call;
    if (describe(exchange, &call) != 0 || authorize(exchange, &call) != 0)
        return;
    if (!request->models && access_take_models(service, exchange->route, request, reply) != 0)
        return;
    exchange->route->start(service, &call, request, reply);
}

/* Prepares the request as a chore, while the connection is suspended. */
static void run_preparation(void *owner) {
    struct exchange *exchange = owner;
    struct MHD_Connection *connection = exchange->connection;
    forget_request(exchange); /* the request was counted if it waited for its model */
    set_reading_budget(exchange);
    if (!request_is_over(&exchange->request))
        prepare(exchange);
    end_budget(exchange);
    watch_remove(exchange->http->watch, &exchange->watched);
    if (exchange->reply.status != 0 || !wait_is_needed(&exchange->request))
        release_body(exchange);
    if (go_on(exchange, true))
        return;
    if (exchange->stage == STAGE_STREAMING ||
        (exchange->reply.status == 0 && route_has(exchange->route, ROUTE_DETACHES)))
        MHD_resume_connection(connection);
    else
        resume(exchange);
}

static enum MHD_Result add_length(void *closure, enum MHD_ValueKind kind, const char *name,
                                  size_t name_length, const char *value, size_t length) {
    (void)kind;
    (void)name;
    (void)value;
    *(size_t *)closure += name_length + length;
    return MHD_YES;
}

/* Called when the head is complete. Sets the reply if it does not depend on the body, which nobody
 * needs to send then. The key and the allowance of a request with a short body are checked when it
 * has arrived, because its fields may show the dialect of the reply. */
static void judge_head(struct exchange *exchange, size_t length) {
    const struct service *service = exchange->http->service;
    const struct route *route = exchange->route;
    struct reply *reply = &exchange->reply;
    struct call call;
    const struct visit visit = headers_visit(exchange->connection, exchange->method);
    exchange->request.waits.fetches = reach_may_fetch(service, &visit);
    if (reach_check(service, route, &visit, reply) != 0)
        return;
    if (!route) {
        reply_fail(reply, STATUS_NOT_FOUND, NULL, "this path does not exist");
    } else if (strcmp(exchange->method, "OPTIONS") == 0) {
        reply->status = STATUS_NO_CONTENT;
    } else if (!route_takes(route, exchange->method)) {
        char methods[ROUTES_METHODS_BYTES];
        routes_allowed(route, methods);
        reply_fail(reply, STATUS_METHOD, NULL, "the method must be one of %s", methods);
    } else if (length > receiving_most_bytes(exchange) && length != HEADERS_LENGTH_UNKNOWN) {
        reply_fail(reply, STATUS_TOO_LARGE, NULL, "the body must have at most %zu bytes",
                   receiving_most_bytes(exchange));
    } else if (headers_check_encoding(exchange->connection, reply) == 0 && length > REST_BYTES &&
               describe(exchange, &call) == 0 && access_shows_key(service, route, &call) &&
               authorize(exchange, &call) == 0) {
        access_check_allowance(service, route, &exchange->request, reply);
    }
}

/* Called when the request is complete. Returns true if the connection was suspended, and false if
 * the reply can be sent. */
static bool work_begin(struct exchange *exchange) {
    struct MHD_Connection *connection = exchange->connection;
    const struct service *service = exchange->http->service;
    struct request *request = &exchange->request;
    struct reply *reply = &exchange->reply;
    if (reply->status == 0 && exchange->discarded > 0)
        reply_fail(reply, STATUS_TOO_LARGE, NULL, "the body must have at most %zu bytes",
                   receiving_most_bytes(exchange));
    if (reply->status != 0)
        return false;

    bool reads =
        exchange->route->method[0] == 'P' /* POST, PUT, PATCH */ || exchange->route->finish;
    if (reads) {
        size_t asked_ms,
            document_ms = service->options->document_ms,
            usual_ms = route_has(exchange->route, ROUTE_LASTS) ? document_ms
                                                               : service->options->deadline_ms,
            most_ms = document_ms > usual_ms ? document_ms : usual_ms;
        if (headers_deadline(connection, most_ms, &asked_ms, reply) != 0)
            return false;
        request->latest_us = exchange->began_us + (int64_t)asked_ms * 1000;
        request->deadline_us =
            exchange->began_us + (int64_t)(asked_ms < usual_ms ? asked_ms : usual_ms) * 1000;
        if (headers_priority(connection, &request->account.priority, reply) != 0)
            return false;
    }
    if (service_state(service) == SERVICE_READY) {
        size_t bytes = exchange->body.length;
        MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, add_length, &bytes);
        if (route_has(exchange->route, ROUTE_WRITES) || (reads && bytes > SMALL_BYTES)) {
            request->waits.accepted = true;
            exchange_watch(exchange, NULL);
            suspend(exchange);
            prepare_beside(exchange);
            return true;
        }
    }
    prepare(exchange);
    return go_on(exchange, false);
}

/* Called before respond, on the connection's thread. Hands a prepared request that is answered
 * before it is decoded (api_detaches) to the workers, which end its exchange, and returns another
 * exchange with the reply. Returns any other exchange unchanged. */
static struct exchange *detach(struct exchange *exchange) {
    const struct service *service = exchange->http->service;
    struct request *request = &exchange->request;
    struct reply *reply = &exchange->reply;
    if (!exchange->route || !route_has(exchange->route, ROUTE_DETACHES) || reply->status != 0)
        return exchange; /* api_detaches comes first: a worker may be writing the reply of a stream
                          */
    struct reply early = {.dialect = reply->dialect};
    if (request_reason(request) != CANCEL_NONE) {
        fail_cancelled(exchange);
        return exchange;
    }
    documents_detach(service, request, &early);
    struct exchange *fork = early.status == STATUS_OK ? exchange_fork(exchange, &early) : NULL;
    if (!fork) {
        bool made = early.status == STATUS_OK;
        *reply = early;
        if (made) {
            reply_fail_memory(reply);
            documents_settle(service, request, reply);
        }
        access_refund(service, request, request->job_count);
        return exchange;
    }
    exchange->stage = STAGE_DETACHED;
    exchange->connection = NULL;
    exchange->path = exchange->route->path;
    request->finish = work_finish;
    request->owner = exchange;
    if (request->job_count == 0) {
        conclude(exchange, false);
        return fork;
    }
    enum scheduler_verdict verdict =
        decode_submit(service, request); /* once accepted, the request may be freed */
    if (verdict == SCHEDULER_ACCEPTED)
        return fork;
    reply_fail_refused(service, verdict, request,
                       &fork->reply); /* the client receives this instead of the id */
    access_refund(service, request, request->job_count);
    reply->status = fork->reply.status;
    resume(exchange);
    return fork;
}

/* ---- libmicrohttpd's calls ---- */

/* A reply that lacks a header is not sent: if memory runs out, the connection closes. */
static enum MHD_Result queue(const struct exchange *exchange, const struct reply *reply,
                             struct MHD_Response *response) {
    const struct heading heading = {exchange->http->service,
                                    exchange->route,
                                    exchange->method,
                                    exchange->id,
                                    exchange->trace,
                                    exchange->origin,
                                    reply};
    bool queued = headers_add(&heading, response) == 0 &&
                  queue_response(exchange->connection, reply->status, response);
    MHD_destroy_response(response);
    return queued ? MHD_YES : MHD_NO;
}

/* Hands the reply, or the beginning of a feed, to libmicrohttpd. Returns MHD_NO if the connection
 * must close. */
static enum MHD_Result respond(struct exchange *exchange) {
    static const struct reply begun = {
        .status = STATUS_OK, .content_type = "text/event-stream", .streamed = true};
    const struct connections *connections = &exchange->http->connections;
    struct reply *reply = &exchange->reply;
    struct MHD_Response *response;
    if (exchange->stage ==
        STAGE_STREAMING) { /* the workers still own the reply: the last event has the outcome */
        response = feed_response(exchange->feed);
        if (!response)
            return MHD_NO;
        return queue(exchange, &begun, response);
    }
    if (exchange->held == 0) { /* the reply was made on this thread, which others wait for */
        if (reply->length <= COMPRESS_QUICK_BYTES)
            compress(exchange);
        hold_reply(exchange);
    }
    assert(reply->status != 0 && exchange->stage != STAGE_ANSWERED);
    if (request_reason(&exchange->request) == CANCEL_CLIENT)
        return MHD_NO; /* the client is gone */
    response = MHD_create_response_from_buffer(reply->length, reply->body, MHD_RESPMEM_MUST_FREE);
    if (!response)
        return MHD_NO;
    reply->body = NULL; /* the response owns it from now on */
    if (exchange->request.models)
        release_request(exchange);
    connection_limit(connections, exchange->connection, SLOW_READER, send_us(exchange->http));
    enum MHD_Result queued = queue(exchange, reply, response);
    exchange->stage = STAGE_ANSWERED;
    return queued;
}

enum MHD_Result exchange_handle(void *closure, struct MHD_Connection *connection, const char *path,
                                const char *method, const char *version, const char *upload,
                                size_t *upload_bytes, void **state) {
    struct http *http = closure;
    struct exchange *exchange = *state;
    if (!exchange) {
        connection_begun(&http->connections, connection);
        *state = exchange = exchange_create(http, connection, path, method);
        if (!exchange)
            return MHD_NO;
        size_t length = 0;
        if (connection_check(connection, method, version, &exchange->reply) == 0 &&
            headers_length(connection, &length, &exchange->reply) == 0)
            judge_head(exchange, length);
        if (exchange->reply.status == 0 || (!exchange->reply.close && length <= REST_BYTES)) {
            if (length > 0)
                receiving_list(exchange);
            return MHD_YES;
        }
        exchange->reply.close = true;
        count_in_flight(exchange);
        return respond(exchange); /* the rest of the request is not read */
    }
    if (*upload_bytes > 0)
        return receiving_take(exchange, upload, upload_bytes) ? MHD_YES : MHD_NO;
    if (exchange->stage == STAGE_RECEIVING) {
        if (!count_in_flight(exchange))
            return MHD_NO;
        connection_limit(&http->connections, connection, SLOW_REQUEST, INT64_MAX);
        if (work_begin(exchange))
            return MHD_YES; /* libmicrohttpd calls this again once the connection is resumed */
    }
    *state = exchange = detach(exchange);
    return respond(exchange);
}

void exchange_completed(void *closure, struct MHD_Connection *connection, void **state,
                        enum MHD_RequestTerminationCode code) {
    struct http *http = closure;
    struct exchange *exchange = *state;
    if (!exchange)
        return;
    *state = NULL;
    pthread_mutex_lock(&http->lock);
    receiving_unlist(exchange);
    pthread_mutex_unlock(&http->lock);
    if (exchange->stage == STAGE_WAITING)
        watch_remove(http->watch, &exchange->watched);
    if (atomic_load(&exchange->passed)) {
        exchange->reply.status = STATUS_UNAVAILABLE;
        exchange->stage = STAGE_ANSWERED;
    }
    connection_limit(&http->connections, connection, SLOW_IDLE,
                     (int64_t)CONNECTION_IDLE_S * 1000000);
    const struct reply *reply = &exchange->reply;
    if (code == MHD_REQUEST_TERMINATED_COMPLETED_OK && exchange->stage == STAGE_ANSWERED &&
        reply->sent && strcmp(exchange->method, "HEAD") != 0)
        reply->sent(http->service, exchange->route, exchange->path);
    if (exchange->stage != STAGE_STREAMING) {
        exchange_end(exchange);
        return;
    }
    watch_remove(http->watch,
                 &exchange->watched); /* before the socket is closed and its number is reused */
    if (feed_close(exchange->feed))
        exchange_end(exchange);
}
