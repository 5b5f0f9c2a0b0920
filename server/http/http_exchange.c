#include "server/http/http_exchange.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/decode/events.h"
#include "server/http/http_compress.h"
#include "server/http/http_headers.h"
#include "server/http/http_queue.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { SMALL_REQUEST_BYTES = 64 * 1024 }; /* --queue bounds how many there are of these */

/* ---- all ---- */

void exchanges_init(struct exchanges *exchanges, struct service *service) {
    *exchanges = (struct exchanges){.service = service};
    if (getrandom(&exchanges->id_prefix, sizeof exchanges->id_prefix, 0) != sizeof exchanges->id_prefix)
        exchanges->id_prefix = (uint32_t)clock_us(); /* ids tell requests apart, they guard nothing */
    pthread_mutex_init(&exchanges->lock, NULL);
    clock_condition_init(&exchanges->idle);
}

bool exchanges_wait_idle(struct exchanges *exchanges, size_t timeout_ms) {
    int64_t until_us = clock_us() + (int64_t)timeout_ms * 1000;
    struct timespec until = {until_us / 1000000, until_us % 1000000 * 1000};
    int result = 0;
    pthread_mutex_lock(&exchanges->lock);
    while (exchanges->in_flight > 0 && result == 0)
        result = pthread_cond_timedwait(&exchanges->idle, &exchanges->lock, &until);
    bool idle = exchanges->in_flight == 0;
    pthread_mutex_unlock(&exchanges->lock);
    return idle;
}

void exchanges_done(struct exchanges *exchanges) {
    assert(exchanges->in_flight == 0);
    pthread_cond_destroy(&exchanges->idle);
    pthread_mutex_destroy(&exchanges->lock);
}

/* ---- one ---- */

static void set_id(struct exchange *exchange) {
    struct exchanges *exchanges = exchange->exchanges;
    if (!sent_id(exchange->connection, exchange->id))
        snprintf(exchange->id, SENT_ID_BYTES, "%08x%08x", (unsigned)exchanges->id_prefix,
                 (unsigned)atomic_fetch_add(&exchanges->id_counter, 1) + 1);
    exchange->request.id = exchange->id;
}

static const struct route *find_route(struct MHD_Connection *connection, const char *path, const char *method, size_t *endpoint) {
    const struct gate *gate = connection_gate(connection);
    const struct route *route = api_find(path, method, endpoint);
    return route && gate && gate->admin && !api_is_for_administrators(route) ? NULL : route;
}

struct exchange *exchange_create(struct exchanges *exchanges, struct MHD_Connection *connection, const char *path,
                                 const char *method) {
    struct exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange)
        return NULL;
    request_init(&exchange->request);
    exchange->request.verbatim = exchanges->service->options.verbatim;
    exchange->exchanges = exchanges;
    exchange->connection = connection;
    exchange->began_us = clock_us();
    exchange->path = path;
    exchange->method = api_method(method);
    exchange->route = find_route(connection, path, exchange->method, &exchange->endpoint);
    bool named = exchange->route && exchange->route->dialect;
    exchange->reply.dialect = named ? exchange->route->dialect : api_dialect(path);
    set_id(exchange);
    sent_trace(connection, exchange->trace);
    exchange->gzip = compress_is_accepted(sent_header(connection, "Accept-Encoding"));
    /* whoever knows better who this is, by an API key, sets client_of_name instead */
    exchange->request.client = sent_client(connection, exchanges->service->options.client_header);
    metrics_request_began(exchanges->service->metrics);
    return exchange;
}

struct exchange *exchange_fork(const struct exchange *exchange, const struct reply *reply) {
    struct exchange *fork = calloc(1, sizeof *fork);
    if (!fork)
        return NULL;
    request_init(&fork->request);
    fork->exchanges = exchange->exchanges;
    fork->connection = exchange->connection;
    fork->began_us = exchange->began_us;
    fork->path = exchange->path;
    fork->method = exchange->method;
    fork->route = exchange->route;
    fork->endpoint = exchange->endpoint;
    fork->gzip = exchange->gzip;
    fork->reply = *reply;
    memcpy(fork->id, exchange->id, sizeof fork->id);
    memcpy(fork->trace, exchange->trace, sizeof fork->trace);
    memcpy(fork->key_name, exchange->key_name, sizeof fork->key_name);
    fork->request.id = fork->id;
    metrics_request_began(fork->exchanges->service->metrics);
    exchange_count(fork);
    return fork;
}

void exchange_count(struct exchange *exchange) {
    pthread_mutex_lock(&exchange->exchanges->lock);
    exchange->exchanges->in_flight++;
    pthread_mutex_unlock(&exchange->exchanges->lock);
    exchange->whole = true;
}

bool exchange_keep(struct exchange *exchange) {
    const struct service *service = exchange->exchanges->service;
    exchange->kept = request_bytes(&exchange->request);
    size_t before = atomic_fetch_add(&exchange->exchanges->read, exchange->kept);
    bool fits = before == 0 || before + exchange->kept <= service->options.request_memory;
    if (fits || exchange->kept <= SMALL_REQUEST_BYTES)
        return true;
    exchange_forget(exchange);
    api_fail_crowded(service, &exchange->reply);
    return false;
}

void exchange_forget(struct exchange *exchange) {
    atomic_fetch_sub(&exchange->exchanges->read, exchange->kept);
    exchange->kept = 0;
}

void exchange_compress(struct exchange *exchange) {
    if (exchange->gzip && !exchange->reply.compressed && compress_is_worthwhile(&exchange->reply))
        compress_reply(&exchange->reply);
}

static void let_go(struct exchange *exchange) {
    atomic_fetch_sub(&exchange->exchanges->unread, exchange->held);
    metrics_replies_changed(exchange->exchanges->service->metrics, -(int64_t)exchange->held);
    exchange->held = 0;
}

void exchange_hold(struct exchange *exchange) {
    const struct service *service = exchange->exchanges->service;
    if (exchange->reply.status != STATUS_OK)
        return;
    exchange->held = exchange->reply.length;
    size_t before = atomic_fetch_add(&exchange->exchanges->unread, exchange->held);
    metrics_replies_changed(service->metrics, (int64_t)exchange->held);
    if (before + exchange->held <= service->options.reply_memory)
        return;
    let_go(exchange);
    api_fail_unread(service, &exchange->reply);
}

static void exchange_free(struct exchange *exchange) {
    struct exchanges *exchanges = exchange->exchanges;
    bool counted = exchange->whole;
    let_go(exchange);
    exchange_forget(exchange);
    stream_free(exchange->stream);
    request_done(&exchange->request);
    body_done(&exchange->body);
    free(exchange->reply.body);
    free(exchange);
    pthread_mutex_lock(&exchanges->lock);
    if (counted && --exchanges->in_flight == 0)
        pthread_cond_broadcast(&exchanges->idle);
    pthread_mutex_unlock(&exchanges->lock);
}

/* What the client got; a stream: what its last event told. 0: it left without. */
static unsigned status_sent(const struct exchange *exchange) {
    bool answered = exchange->stage == STAGE_ANSWERED || exchange->stage == STAGE_STREAMING || exchange->stage == STAGE_DETACHED;
    return answered && request_reason(&exchange->request) != CANCEL_CLIENT ? exchange->reply.status : 0;
}

void exchange_note(struct exchange *exchange) {
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
            continue; /* it left before it was decoded */
        int64_t queued_us = job->admitted_us - job->queued_us;
        spent->queue_us = queued_us > spent->queue_us ? queued_us : spent->queue_us;
        began_us = job->admitted_us < began_us ? job->admitted_us : began_us;
        ended_us = job->done_us > ended_us ? job->done_us : ended_us;
        spent->tokens += job->sentence->hypotheses ? job->sentence->hypotheses[0].length : 0;
    }
    spent->decode_us = ended_us > 0 ? ended_us - began_us : 0;
}

void exchange_end(struct exchange *exchange) {
    int64_t duration_us = clock_us() - exchange->began_us;
    if (exchange->request.models) /* not done yet */
        exchange_note(exchange);
    const struct spent *spent = &exchange->spent;
    unsigned status = status_sent(exchange);
    char trace[SENT_TRACE_ID_LENGTH + 1] = "";
    size_t count;
    if (*exchange->trace)
        memcpy(trace, exchange->trace + SENT_TRACE_ID, SENT_TRACE_ID_LENGTH);
    metrics_request_ended(exchange->exchanges->service->metrics, exchange->endpoint, spent->metrics, status, duration_us);
    log_event(
        LOG_INFO, "request",
        "id=%s method=%s endpoint=%s status=%u sentences=%zu duration_ms=%.3f model=%s tokens=%zu queue_ms=%.3f decode_ms=%.3f "
        "trace=%s key=%s",
        exchange->id, exchange->method, api_labels(&count)[exchange->endpoint], status, exchange->request.job_count,
        (double)duration_us / 1000, *spent->model ? spent->model : "-", spent->tokens, (double)spent->queue_us / 1000,
        (double)spent->decode_us / 1000, *trace ? trace : "-", *exchange->key_name ? exchange->key_name : "-");
    exchange_free(exchange);
}

void exchange_sent(const struct exchange *exchange) {
    const struct reply *reply = &exchange->reply;
    if (exchange->stage == STAGE_ANSWERED && reply->sent && strcmp(exchange->method, "HEAD") != 0)
        reply->sent(exchange->exchanges->service, exchange->path);
}

/* ---- replies ---- */

/* A reply without one of its headers is none: where memory is out for them the connection closes. */
static enum MHD_Result queue(const struct exchange *exchange, const struct reply *reply, struct MHD_Response *response) {
    const char *origin = sent_header(exchange->connection, "Origin");
    const struct heading heading = {
        exchange->exchanges->service, exchange->route, exchange->method, exchange->id, exchange->trace, origin, reply};
    bool queued = headers_add(&heading, response) == 0 && http_queue(exchange->connection, reply->status, response);
    return queued ? MHD_YES : MHD_NO;
}

/* The reply is the workers' still: what comes of the request is told in the last event. */
static enum MHD_Result respond_streaming(struct exchange *exchange) {
    static const struct reply begun = {.status = STATUS_OK, .content_type = "text/event-stream", .streamed = true};
    struct MHD_Response *response = stream_response(exchange->stream);
    if (!response)
        return MHD_NO;
    connection_replying(&exchange->exchanges->connections, exchange->connection, exchange->request.deadline_us - clock_us());
    enum MHD_Result queued = queue(exchange, &begun, response);
    MHD_destroy_response(response);
    return queued;
}

enum MHD_Result exchange_respond(struct exchange *exchange) {
    if (exchange->stage == STAGE_STREAMING)
        return respond_streaming(exchange);
    struct reply *reply = &exchange->reply;
    if (exchange->held == 0) { /* it was made on this thread, for which others wait */
        if (reply->length <= COMPRESS_QUICK_BYTES)
            exchange_compress(exchange);
        exchange_hold(exchange);
    }
    assert(reply->status != 0 && exchange->stage != STAGE_ANSWERED);
    if (request_reason(&exchange->request) == CANCEL_CLIENT)
        return MHD_NO; /* nobody is there to read it */
    struct MHD_Response *response = MHD_create_response_from_buffer(reply->length, reply->body, MHD_RESPMEM_MUST_FREE);
    if (!response)
        return MHD_NO;
    reply->body = NULL; /* the response's now */
    connection_replying(&exchange->exchanges->connections, exchange->connection, 0);
    enum MHD_Result queued = queue(exchange, reply, response);
    MHD_destroy_response(response);
    exchange->stage = STAGE_ANSWERED;
    return queued;
}
