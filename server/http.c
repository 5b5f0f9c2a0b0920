#include "server/http.h"
#include "server/api.h"
#include "server/client.h"
#include "server/clock.h"
#include "server/events.h"
#include "server/http_body.h"
#include "server/http_connection.h"
#include "server/http_form.h"
#include "server/http_head.h"
#include "server/http_headers.h"
#include "server/http_listeners.h"
#include "server/http_queue.h"
#include "server/http_sent.h"
#include "server/http_stream.h"
#include "server/log.h"
#include "server/watch.h"
#include <assert.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct http {
    struct service *service;
    struct http_listeners *listeners;
    struct tls *tls; /* NULL: no HTTPS */
    struct watch *watch;
    struct connections connections;
    uint32_t id_prefix; /* of generated request ids */
    atomic_uint_least32_t id_counter;

    pthread_mutex_t lock; /* guards in_flight */
    pthread_cond_t idle;  /* in_flight became 0 */
    size_t in_flight;     /* exchanges whose request has come in whole: they are owed a reply */
};

/* RECEIVING -> ANSWERED, or RECEIVING -> DECODING (suspended) -> ANSWERED, or RECEIVING -> STREAMING. */
enum stage { STAGE_RECEIVING, STAGE_DECODING, STAGE_ANSWERED, STAGE_STREAMING };

/* One request and its reply. Made by the first call for it, ended by the completion callback and nowhere else; but while it
 * streams, request and reply are the workers' until they have the answer (events_end), and if the client has left by then, they end
 * it. */
struct exchange {
    struct request request;
    struct http *http;
    struct MHD_Connection *connection;
    enum stage stage;
    const struct route *route; /* NULL: no such path */
    size_t endpoint;           /* index of its label */
    const char *path;          /* as long as the request */
    const char *method;        /* as of api_method */
    char id[SENT_ID_BYTES];
    bool whole; /* the request has come in whole: counted in http->in_flight */
    int64_t began_us;
    struct body body;
    struct reply reply;
    struct watched watched;
    struct stream *stream; /* NULL: answered in one piece */
};

static void set_id(struct exchange *exchange) {
    struct http *http = exchange->http;
    if (!sent_id(exchange->connection, exchange->id))
        snprintf(exchange->id, SENT_ID_BYTES, "%08x%08x", (unsigned)http->id_prefix,
                 (unsigned)atomic_fetch_add(&http->id_counter, 1) + 1);
    exchange->request.id = exchange->id;
}

static struct exchange *exchange_create(struct http *http, struct MHD_Connection *connection, const char *path,
                                        const char *method) {
    struct exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange)
        return NULL;
    request_init(&exchange->request);
    exchange->http = http;
    exchange->connection = connection;
    exchange->began_us = clock_us();
    exchange->path = path;
    exchange->route = api_find(path, &exchange->endpoint);
    exchange->method = api_method(method);
    set_id(exchange);
    /* whoever knows better who this is, by an API key, sets client_of_name instead */
    exchange->request.client = sent_client(connection, http->service->options->client_header);
    metrics_request_began(http->service->metrics);
    return exchange;
}

static void exchange_count(struct exchange *exchange) {
    pthread_mutex_lock(&exchange->http->lock);
    exchange->http->in_flight++;
    pthread_mutex_unlock(&exchange->http->lock);
    exchange->whole = true;
}

static void exchange_free(struct exchange *exchange) {
    struct http *http = exchange->http;
    bool counted = exchange->whole;
    stream_free(exchange->stream);
    request_done(&exchange->request);
    body_done(&exchange->body);
    free(exchange->reply.body);
    free(exchange);
    pthread_mutex_lock(&http->lock);
    if (counted && --http->in_flight == 0)
        pthread_cond_broadcast(&http->idle);
    pthread_mutex_unlock(&http->lock);
}

/* What the client got; a stream: what its last event told. 0: it left without. */
static unsigned status_sent(const struct exchange *exchange) {
    bool answered = exchange->stage == STAGE_ANSWERED || exchange->stage == STAGE_STREAMING;
    return answered && request_reason(&exchange->request) != CANCEL_CLIENT ? exchange->reply.status : 0;
}

static void exchange_end(struct exchange *exchange) {
    int64_t duration_us = clock_us() - exchange->began_us;
    unsigned status = status_sent(exchange);
    size_t count;
    metrics_request_ended(exchange->http->service->metrics, exchange->endpoint, status, duration_us);
    log_event(LOG_INFO, "request", "id=%s method=%s endpoint=%s status=%u sentences=%zu duration_ms=%.3f key=%s", exchange->id,
              exchange->method, api_labels(&count)[exchange->endpoint], status, exchange->request.job_count,
              (double)duration_us / 1000, exchange->request.key_name ? exchange->request.key_name : "-");
    exchange_free(exchange);
}

static void set_reply(struct exchange *exchange) {
    const struct service *service = exchange->http->service;
    watch_remove(exchange->http->watch, &exchange->watched);
    enum cancel_reason reason = request_reason(&exchange->request);
    if (reason == CANCEL_NONE)
        exchange->route->finish(service, &exchange->request, &exchange->reply);
    else
        api_fail_cancelled(service, reason, &exchange->reply);
}

/* Called by the worker that ended the last job: after the resume the exchange is the HTTP thread's again, and may be gone. */
static void finish(struct request *request) {
    struct exchange *exchange = request->owner;
    set_reply(exchange);
    MHD_resume_connection(exchange->connection);
}

/* The same of a stream, whose reader may have left. */
static void finish_stream(struct request *request) {
    struct exchange *exchange = request->owner;
    set_reply(exchange);
    if (events_end(request->events))
        exchange_end(exchange);
}

/* Prepared and not submitted yet: from now on the request is answered piece by piece. */
static void open_stream(struct exchange *exchange) {
    exchange->stream = stream_open(exchange->connection, &exchange->request, &exchange->reply);
    if (!exchange->stream)
        api_fail_memory(&exchange->reply);
}

/* Suspended first and watched first: from the moment the scheduler accepts it, the request may be finished by a worker. A
 * refusal takes the same way back. A stream suspends itself when it has nothing to send. */
static void submit(struct exchange *exchange) {
    struct http *http = exchange->http;
    bool streamed = exchange->stream != NULL;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    assert(info);
    exchange->request.finish = streamed ? finish_stream : finish;
    exchange->request.owner = exchange;
    exchange->stage = streamed ? STAGE_STREAMING : STAGE_DECODING;
    watch_add(http->watch, &exchange->watched, &exchange->request, info->connect_fd);
    if (!streamed)
        MHD_suspend_connection(exchange->connection);
    enum scheduler_verdict verdict = api_submit(http->service, &exchange->request);
    if (verdict == SCHEDULER_ACCEPTED)
        return;
    watch_remove(http->watch, &exchange->watched);
    limiter_return(http->service->limiter, exchange->request.client, exchange->request.job_count);
    api_fail_refused(http->service, verdict, &exchange->request, &exchange->reply);
    if (streamed)
        exchange->stage = STAGE_RECEIVING;
    else
        MHD_resume_connection(exchange->connection);
}

static int set_deadline(struct exchange *exchange) {
    size_t deadline_ms, most_ms = exchange->http->service->options->deadline_ms;
    if (sent_deadline(exchange->connection, most_ms, &deadline_ms, &exchange->reply) != 0)
        return -1;
    exchange->request.deadline_us = exchange->began_us + (int64_t)deadline_ms * 1000;
    return 0;
}

/* Counts the sentences against what the client may ask for. */
static bool within_rate(struct exchange *exchange) {
    const struct service *service = exchange->http->service;
    const struct request *request = &exchange->request;
    double wait_s = limiter_take(service->limiter, request->client, request->job_count, clock_us());
    if (wait_s > 0)
        api_fail_rate(service, request, wait_s, &exchange->reply);
    return wait_s <= 0;
}

/* Only blank texts: there is nothing to decode. */
static void answer_blank(struct exchange *exchange) {
    exchange->route->finish(exchange->http->service, &exchange->request, &exchange->reply);
    if (exchange->stream) {
        exchange->stage = STAGE_STREAMING;
        events_end(exchange->request.events);
    }
}

static void call_route(struct exchange *exchange) {
    struct call call = {.body = exchange->body.bytes,
                        .length = exchange->body.length,
                        .content_type = sent_header(exchange->connection, "Content-Type"),
                        .path = exchange->path,
                        .if_none_match = sent_header(exchange->connection, "If-None-Match"),
                        .authorization = sent_header(exchange->connection, "Authorization"),
                        .x_api_key = sent_header(exchange->connection, "X-Api-Key")};
    if (exchange->route->finish && set_deadline(exchange) != 0)
        return;
    if (form_read(exchange->connection, &exchange->request.arena, &call, &exchange->reply) != 0)
        return;
    const struct service *service = exchange->http->service;
    if (api_authorize(service, exchange->route, &call, &exchange->request, &exchange->reply) != 0)
        return;
    if (exchange->request.key_name)
        exchange->request.client = client_of_name(exchange->request.key_name, strlen(exchange->request.key_name));
    exchange->request.models = catalog_acquire(service->catalog);
    exchange->route->start(service, &call, &exchange->request, &exchange->reply);
    if (exchange->reply.status != 0 || !within_rate(exchange))
        return;
    if (exchange->request.streamed)
        open_stream(exchange);
    if (exchange->reply.status != 0)
        return;
    if (exchange->request.job_count > 0 || exchange->request.reload)
        submit(exchange);
    else
        answer_blank(exchange);
}

static bool method_fits(const struct exchange *exchange) {
    return strcmp(exchange->method, exchange->route->method) == 0 ||
           (strcmp(exchange->method, "HEAD") == 0 && strcmp(exchange->route->method, "GET") == 0);
}

/* The request has come in whole. Either sets the reply or suspends the connection. */
static void dispatch(struct exchange *exchange) {
    struct reply *reply = &exchange->reply;
    if (!exchange->route)
        api_fail(reply, STATUS_NOT_FOUND, NULL, "there is nothing at this path");
    else if (strcmp(exchange->method, "OPTIONS") == 0)
        reply->status = STATUS_NO_CONTENT;
    else if (!method_fits(exchange))
        api_fail(reply, STATUS_METHOD, NULL, "the method must be one of %s", headers_allowed(exchange->route));
    else if (exchange->body.discarded > 0)
        api_fail(reply, STATUS_TOO_LARGE, NULL, "the body must have at most %zu bytes",
                 exchange->http->service->options->max_body_bytes);
    else if (sent_as_it_is(exchange->connection, reply) == 0)
        call_route(exchange);
}

/* A reply without one of its headers is none: where memory is out for them the connection closes. */
static enum MHD_Result queue(const struct exchange *exchange, const struct reply *reply, struct MHD_Response *response) {
    const char *origin = sent_header(exchange->connection, "Origin");
    const struct heading heading = {exchange->http->service, exchange->route, exchange->method, exchange->id, origin, reply};
    bool queued = headers_add(&heading, response) == 0 && http_queue(exchange->connection, reply->status, response);
    return queued ? MHD_YES : MHD_NO;
}

/* The reply is the workers' still: what comes of the request is told in the last event. */
static enum MHD_Result respond_streaming(struct exchange *exchange) {
    static const struct reply begun = {.status = STATUS_OK, .content_type = "text/event-stream", .streamed = true};
    struct MHD_Response *response = stream_response(exchange->stream);
    if (!response)
        return MHD_NO;
    connection_replying(&exchange->http->connections, exchange->connection, exchange->request.deadline_us - clock_us());
    enum MHD_Result queued = queue(exchange, &begun, response);
    MHD_destroy_response(response);
    return queued;
}

static enum MHD_Result respond(struct exchange *exchange) {
    struct reply *reply = &exchange->reply;
    assert(reply->status != 0 && exchange->stage != STAGE_ANSWERED);
    if (request_reason(&exchange->request) == CANCEL_CLIENT)
        return MHD_NO; /* nobody is there to read it */
    struct MHD_Response *response = MHD_create_response_from_buffer(reply->length, reply->body, MHD_RESPMEM_MUST_FREE);
    if (!response)
        return MHD_NO;
    reply->body = NULL; /* the response's now */
    connection_replying(&exchange->http->connections, exchange->connection, 0);
    enum MHD_Result queued = queue(exchange, reply, response);
    MHD_destroy_response(response);
    exchange->stage = STAGE_ANSWERED;
    return queued;
}

/* The head has come. Some requests are answered without being read any further. */
static enum MHD_Result begin(struct http *http, struct MHD_Connection *connection, const char *path, const char *method,
                             const char *version, void **state) {
    struct exchange *exchange = exchange_create(http, connection, path, method);
    *state = exchange;
    if (!exchange)
        return MHD_NO;
    if (head_check(connection_line(connection), connection, method, version, &exchange->reply) == 0 &&
        sent_length(connection, &exchange->reply) == 0)
        return MHD_YES;
    exchange_count(exchange);
    return respond(exchange);
}

static enum MHD_Result handle(void *closure, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *upload, size_t *upload_bytes, void **state) {
    struct exchange *exchange = *state;
    if (!exchange)
        return begin(closure, connection, path, method, version, state);
    if (*upload_bytes > 0) {
        int received = body_append(&exchange->body, upload, *upload_bytes, exchange->http->service->options->max_body_bytes);
        *upload_bytes = 0;
        return received == 0 ? MHD_YES : MHD_NO;
    }
    if (exchange->stage == STAGE_RECEIVING) {
        exchange_count(exchange);
        connection_received(&exchange->http->connections, connection);
        dispatch(exchange);
        if (exchange->stage == STAGE_DECODING)
            return MHD_YES; /* called again once resumed */
    }
    return exchange->stage == STAGE_STREAMING ? respond_streaming(exchange) : respond(exchange);
}

static void completed(void *closure, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode code) {
    (void)code;
    struct http *http = closure;
    struct exchange *exchange = *state;
    if (!exchange)
        return;
    *state = NULL;
    connection_idle(&http->connections, connection);
    bool streaming = exchange->stage == STAGE_STREAMING;
    if (streaming) /* before its socket is closed and the number given to another */
        watch_remove(http->watch, &exchange->watched);
    if (!streaming || events_close(exchange->request.events))
        exchange_end(exchange);
}

static struct http *create(struct service *service, struct error *err) {
    struct http *http = calloc(1, sizeof *http);
    if (!http) {
        error_memory(err);
        return NULL;
    }
    http->service = service;
    if (getrandom(&http->id_prefix, sizeof http->id_prefix, 0) != sizeof http->id_prefix)
        http->id_prefix = (uint32_t)clock_us(); /* ids tell requests apart, they guard nothing */
    pthread_mutex_init(&http->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&http->idle, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return http;
}

static int start(struct http *http, struct error *err) {
    const struct options *options = http->service->options;
    http->watch = watch_start(options->heartbeat_ms, err);
    if (!http->watch || connections_start(&http->connections, options, http->service->metrics, err) != 0)
        return -1;
    if (options->tls_cert && !(http->tls = tls_open(options->tls_cert, options->tls_key, err)))
        return -1;
    http->connections.tls = http->tls;
    struct MHD_OptionItem limits[CONNECTION_OPTIONS];
    connection_options(&http->connections, limits);
    http->listeners =
        http_listeners_start(options, &(struct http_callbacks){handle, completed, http, limits, http->connections.most}, err);
    return http->listeners ? 0 : -1;
}

struct http *http_start(struct service *service, struct error *err) {
    struct http *http = create(service, err);
    if (http && start(http, err) != 0) {
        http_stop(http);
        return NULL;
    }
    return http;
}

const char *http_address(const struct http *http, size_t i) {
    return http_listeners_address(http->listeners, i);
}

int http_reload_certificate(struct http *http, struct error *err) {
    return http->tls ? tls_reload(http->tls, err) : 0;
}

void http_quiesce(struct http *http) {
    http_listeners_quiesce(http->listeners);
}

bool http_wait_idle(struct http *http, size_t timeout_ms) {
    int64_t until_us = clock_us() + (int64_t)timeout_ms * 1000;
    struct timespec until = {until_us / 1000000, until_us % 1000000 * 1000};
    int result = 0;
    pthread_mutex_lock(&http->lock);
    while (http->in_flight > 0 && result == 0)
        result = pthread_cond_timedwait(&http->idle, &http->lock, &until);
    bool idle = http->in_flight == 0;
    pthread_mutex_unlock(&http->lock);
    return idle;
}

void http_stop(struct http *http) {
    if (!http)
        return;
    http_listeners_stop(http->listeners);
    connections_stop(&http->connections);
    tls_free(http->tls);
    watch_free(http->watch);
    pthread_cond_destroy(&http->idle);
    pthread_mutex_destroy(&http->lock);
    free(http);
}
