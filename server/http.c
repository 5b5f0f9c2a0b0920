#include "server/http.h"
#include "server/api.h"
#include "server/clock.h"
#include "server/events.h"
#include "server/http_form.h"
#include "server/http_headers.h"
#include "server/http_stream.h"
#include "server/listen.h"
#include "server/log.h"
#include "server/watch.h"
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

/* DISCARD_FACTOR: a body over the limit is read and thrown away up to so many times the limit, since a client that is still
 * sending when the connection closes may never see the reply. */
enum { ID_BYTES = 129, FIRST_BODY_BYTES = 4096, DISCARD_FACTOR = 16, IDLE_CONNECTION_S = 60 };

struct http {
    struct service *service;
    struct MHD_Daemon *daemon;
    struct watch *watch;
    char address[LISTEN_ADDRESS_BYTES];
    uint32_t id_prefix, id_counter; /* of generated request ids; HTTP thread only */

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
    const struct route *route;     /* NULL: no such path */
    size_t endpoint;               /* index of its label */
    const char *path;              /* as long as the request */
    char method[16], id[ID_BYTES]; /* a longer method is cut, and is none that is known */
    bool whole;                    /* the request has come in whole: counted in http->in_flight */
    int64_t began_us;
    char *body; /* [length] */
    size_t length, capacity, discarded;
    struct reply reply;
    struct watched watched;
    struct stream *stream; /* NULL: answered in one piece */
};

static const char *header(struct MHD_Connection *connection, const char *name) {
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* A client's id goes into replies and log lines: only visible ASCII. */
static bool usable_id(const char *id) {
    size_t length = id ? strlen(id) : 0;
    if (length == 0 || length >= ID_BYTES)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (id[i] < '!' || id[i] > '~')
            return false;
    }
    return true;
}

static void set_id(struct exchange *exchange) {
    const char *sent = header(exchange->connection, "X-Request-Id");
    struct http *http = exchange->http;
    if (usable_id(sent))
        strcpy(exchange->id, sent);
    else
        snprintf(exchange->id, ID_BYTES, "%08x%08x", (unsigned)http->id_prefix, (unsigned)++http->id_counter);
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
    snprintf(exchange->method, sizeof exchange->method, "%s", method);
    set_id(exchange);
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
    free(exchange->body);
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
    log_event(LOG_INFO, "request", "id=%s method=%s endpoint=%s status=%u sentences=%zu duration_ms=%.3f", exchange->id,
              exchange->method, api_labels(&count)[exchange->endpoint], status, exchange->request.job_count,
              (double)duration_us / 1000);
    exchange_free(exchange);
}

/* 0, or -1 when the client sends without end or memory is out: the connection closes. */
static int receive(struct exchange *exchange, const char *bytes, size_t count) {
    size_t limit = exchange->http->service->options->max_body_bytes;
    if (exchange->discarded > 0 || count > limit - exchange->length) {
        exchange->discarded += count;
        return exchange->discarded / DISCARD_FACTOR > limit ? -1 : 0;
    }
    if (count > exchange->capacity - exchange->length) {
        size_t capacity = exchange->capacity ? exchange->capacity : FIRST_BODY_BYTES;
        while (capacity - exchange->length < count)
            capacity *= 2;
        char *body = realloc(exchange->body, capacity);
        if (!body)
            return -1;
        exchange->body = body;
        exchange->capacity = capacity;
    }
    memcpy(exchange->body + exchange->length, bytes, count);
    exchange->length += count;
    return 0;
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
    enum scheduler_verdict verdict = scheduler_submit(http->service->scheduler, &exchange->request);
    if (verdict == SCHEDULER_ACCEPTED)
        return;
    watch_remove(http->watch, &exchange->watched);
    api_fail_refused(http->service, verdict, &exchange->reply);
    if (streamed)
        exchange->stage = STAGE_RECEIVING;
    else
        MHD_resume_connection(exchange->connection);
}

/* A request may ask for less time than options->deadline_ms. */
static int set_deadline(struct exchange *exchange) {
    size_t limit_ms = exchange->http->service->options->deadline_ms;
    const char *asked = header(exchange->connection, "X-Deadline-Ms");
    if (asked) {
        char *end;
        unsigned long long number = strtoull(asked, &end, 10);
        if (!isdigit((unsigned char)asked[0]) || *end != '\0' || number == 0) {
            api_fail(&exchange->reply, STATUS_INVALID, "X-Deadline-Ms",
                     "X-Deadline-Ms must be a whole number of milliseconds, at least 1");
            return -1;
        }
        if (number < limit_ms)
            limit_ms = (size_t)number;
    }
    exchange->request.deadline_us = exchange->began_us + (int64_t)limit_ms * 1000;
    return 0;
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
    struct call call = {.body = exchange->body,
                        .length = exchange->length,
                        .content_type = header(exchange->connection, "Content-Type"),
                        .path = exchange->path,
                        .if_none_match = header(exchange->connection, "If-None-Match")};
    if (exchange->route->finish && set_deadline(exchange) != 0)
        return;
    if (form_read(exchange->connection, &exchange->request.arena, &call) != 0) {
        api_fail_memory(&exchange->reply);
        return;
    }
    const struct service *service = exchange->http->service;
    exchange->route->start(service, &call, &exchange->request, &exchange->reply);
    if (exchange->reply.status == 0 && exchange->request.streamed)
        open_stream(exchange);
    if (exchange->reply.status != 0)
        return;
    if (exchange->request.job_count > 0)
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
    else if (exchange->discarded > 0)
        api_fail(reply, STATUS_TOO_LARGE, NULL, "the body must have at most %zu bytes",
                 exchange->http->service->options->max_body_bytes);
    else
        call_route(exchange);
}

/* A reply without one of its headers is none: where memory is out for them the connection closes. */
static enum MHD_Result queue(const struct exchange *exchange, const struct reply *reply, struct MHD_Response *response) {
    const struct heading heading = {exchange->http->service, exchange->route, exchange->method, exchange->id, reply};
    return headers_add(&heading, response) == 0 ? MHD_queue_response(exchange->connection, reply->status, response) : MHD_NO;
}

/* The reply is the workers' still: what comes of the request is told in the last event. */
static enum MHD_Result respond_streaming(struct exchange *exchange) {
    static const struct reply begun = {.status = STATUS_OK, .content_type = "text/event-stream", .streamed = true};
    struct MHD_Response *response = stream_response(exchange->stream);
    if (!response)
        return MHD_NO;
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
    enum MHD_Result queued = queue(exchange, reply, response);
    MHD_destroy_response(response);
    exchange->stage = STAGE_ANSWERED;
    return queued;
}

static enum MHD_Result handle(void *closure, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *upload, size_t *upload_bytes, void **state) {
    (void)version;
    struct exchange *exchange = *state;
    if (!exchange) {
        *state = exchange_create(closure, connection, path, method);
        return *state ? MHD_YES : MHD_NO;
    }
    if (*upload_bytes > 0) {
        int received = receive(exchange, upload, *upload_bytes);
        *upload_bytes = 0;
        return received == 0 ? MHD_YES : MHD_NO;
    }
    if (exchange->stage == STAGE_RECEIVING) {
        exchange_count(exchange);
        dispatch(exchange);
        if (exchange->stage == STAGE_DECODING)
            return MHD_YES; /* called again once resumed */
    }
    return exchange->stage == STAGE_STREAMING ? respond_streaming(exchange) : respond(exchange);
}

static void completed(void *closure, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode code) {
    (void)connection;
    (void)code;
    struct http *http = closure;
    struct exchange *exchange = *state;
    if (!exchange)
        return;
    *state = NULL;
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
    http->watch = watch_start(http->service->options->heartbeat_ms, err);
    int fd = http->watch ? listen_open(http->service->options->listen, http->address, err) : -1;
    if (fd < 0)
        return -1;
    /* poll, not epoll: libmicrohttpd 0.9.75 waits for edges there, and misses a hang-up that comes together with data */
    http->daemon = MHD_start_daemon(MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, http,
                                    MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_NOTIFY_COMPLETED, completed, http,
                                    MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_CONNECTION_S, MHD_OPTION_END);
    if (http->daemon)
        return 0;
    close(fd);
    return error_set(err, ERROR_MEMORY, "cannot start the HTTP thread: %s", strerror(errno));
}

struct http *http_start(struct service *service, struct error *err) {
    struct http *http = create(service, err);
    if (http && start(http, err) != 0) {
        http_stop(http);
        return NULL;
    }
    return http;
}

const char *http_address(const struct http *http) {
    return http->address;
}

/* Connections that the kernel has taken but nobody accepted yet would be reset when the socket closes: they are answered
 * instead. */
static void adopt_backlog(struct http *http, int fd) {
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    for (int client; (client = accept4(fd, (struct sockaddr *)&peer, &size, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0; size = sizeof peer)
        MHD_add_connection(http->daemon, client, (struct sockaddr *)&peer, size); /* closes client where it fails */
}

void http_quiesce(struct http *http) {
    int fd = MHD_quiesce_daemon(http->daemon);
    if (fd < 0)
        return;
    adopt_backlog(http, fd);
    close(fd);
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
    if (http->daemon)
        MHD_stop_daemon(http->daemon);
    watch_free(http->watch);
    pthread_cond_destroy(&http->idle);
    pthread_mutex_destroy(&http->lock);
    free(http);
}
