#include "server/http.h"
#include "server/api.h"
#include "server/clock.h"
#include "server/http_form.h"
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

/* RECEIVING -> ANSWERED, or RECEIVING -> DECODING (suspended) -> ANSWERED. */
enum stage { STAGE_RECEIVING, STAGE_DECODING, STAGE_ANSWERED };

/* One request and its reply. Made by the first call for it, freed by the completion callback and nowhere else. */
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
    request_done(&exchange->request);
    free(exchange->body);
    free(exchange->reply.body);
    free(exchange);
    pthread_mutex_lock(&http->lock);
    if (counted && --http->in_flight == 0)
        pthread_cond_broadcast(&http->idle);
    pthread_mutex_unlock(&http->lock);
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

/* Called by the worker that ended the last job: after the resume the exchange is the HTTP thread's again, and may be gone. */
static void finish(struct request *request) {
    struct exchange *exchange = request->owner;
    const struct service *service = exchange->http->service;
    watch_remove(exchange->http->watch, &exchange->watched);
    enum cancel_reason reason = request_reason(request);
    if (reason == CANCEL_NONE)
        exchange->route->finish(service, request, &exchange->reply);
    else
        api_fail_cancelled(service, reason, &exchange->reply);
    MHD_resume_connection(exchange->connection);
}

/* Suspended first and watched first: from the moment the scheduler accepts it, the request may be finished by a worker. A
 * refusal takes the same way back. */
static void submit(struct exchange *exchange) {
    struct http *http = exchange->http;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    assert(info);
    exchange->request.finish = finish;
    exchange->request.owner = exchange;
    exchange->stage = STAGE_DECODING;
    watch_add(http->watch, &exchange->watched, &exchange->request, info->connect_fd);
    MHD_suspend_connection(exchange->connection);
    enum scheduler_verdict verdict = scheduler_submit(http->service->scheduler, &exchange->request);
    if (verdict == SCHEDULER_ACCEPTED)
        return;
    watch_remove(http->watch, &exchange->watched);
    api_fail_refused(http->service, verdict, &exchange->reply);
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

static void call_route(struct exchange *exchange) {
    struct call call = {.body = exchange->body,
                        .length = exchange->length,
                        .content_type = header(exchange->connection, "Content-Type"),
                        .path = exchange->path,
                        .if_none_match = header(exchange->connection, "If-None-Match")};
    if (exchange->route->finish && set_deadline(exchange) != 0)
        return;
    if (form_read(exchange->connection, &exchange->request.arena, &call) != 0) {
        api_fail(&exchange->reply, STATUS_INTERNAL, NULL, "out of memory");
        return;
    }
    const struct service *service = exchange->http->service;
    exchange->route->start(service, &call, &exchange->request, &exchange->reply);
    if (exchange->reply.status != 0)
        return;
    if (exchange->request.job_count > 0)
        submit(exchange);
    else /* only blank texts: there is nothing to decode */
        exchange->route->finish(service, &exchange->request, &exchange->reply);
}

static bool method_fits(const struct exchange *exchange) {
    return strcmp(exchange->method, exchange->route->method) == 0 ||
           (strcmp(exchange->method, "HEAD") == 0 && strcmp(exchange->route->method, "GET") == 0);
}

static const char *allowed_methods(const struct route *route) {
    return strcmp(route->method, "GET") == 0 ? "GET, HEAD, OPTIONS" : "POST, OPTIONS";
}

/* The request has come in whole. Either sets the reply or suspends the connection. */
static void dispatch(struct exchange *exchange) {
    struct reply *reply = &exchange->reply;
    if (!exchange->route)
        api_fail(reply, STATUS_NOT_FOUND, NULL, "there is nothing at this path");
    else if (strcmp(exchange->method, "OPTIONS") == 0)
        reply->status = STATUS_NO_CONTENT;
    else if (!method_fits(exchange))
        api_fail(reply, STATUS_METHOD, NULL, "the method must be one of %s", allowed_methods(exchange->route));
    else if (exchange->discarded > 0)
        api_fail(reply, STATUS_TOO_LARGE, NULL, "the body must have at most %zu bytes",
                 exchange->http->service->options->max_body_bytes);
    else
        call_route(exchange);
}

static void add_header(struct MHD_Response *response, const char *name, const char *value) {
    if (MHD_add_response_header(response, name, value) != MHD_YES)
        log_event(LOG_ERROR, "header_lost", "name=%s", name);
}

static void add_cors(const struct exchange *exchange, struct MHD_Response *response) {
    const char *origin = exchange->http->service->options->cors;
    if (*origin == '\0')
        return;
    add_header(response, "Access-Control-Allow-Origin", origin);
    add_header(response, "Access-Control-Expose-Headers", "X-Request-Id, Retry-After");
    if (exchange->route && strcmp(exchange->method, "OPTIONS") == 0) {
        add_header(response, "Access-Control-Allow-Methods", allowed_methods(exchange->route));
        add_header(response, "Access-Control-Allow-Headers", "Content-Type, X-Request-Id, X-Deadline-Ms");
        add_header(response, "Access-Control-Max-Age", "86400");
    }
}

static void add_headers(const struct exchange *exchange, struct MHD_Response *response) {
    const struct reply *reply = &exchange->reply;
    if (reply->content_type)
        add_header(response, "Content-Type", reply->content_type);
    if (reply->retry_after_s > 0) {
        char seconds[16];
        snprintf(seconds, sizeof seconds, "%u", reply->retry_after_s);
        add_header(response, "Retry-After", seconds);
    }
    if (reply->location)
        add_header(response, "Location", reply->location);
    if (reply->etag) {
        add_header(response, "ETag", reply->etag);
        add_header(response, "Cache-Control", "no-cache");
    }
    if (reply->policy)
        add_header(response, "Content-Security-Policy", reply->policy);
    add_header(response, "X-Content-Type-Options", "nosniff");
    if (reply->status == STATUS_METHOD || reply->status == STATUS_NO_CONTENT)
        add_header(response, "Allow", allowed_methods(exchange->route));
    if (service_state(exchange->http->service) == SERVICE_DRAINING)
        add_header(response, "Connection", "close");
    add_header(response, "X-Request-Id", exchange->id);
    add_cors(exchange, response);
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
    add_headers(exchange, response);
    enum MHD_Result queued = MHD_queue_response(exchange->connection, reply->status, response);
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
    return respond(exchange);
}

static void completed(void *closure, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode code) {
    (void)connection;
    (void)code;
    struct http *http = closure;
    struct exchange *exchange = *state;
    if (!exchange)
        return;
    *state = NULL;
    int64_t duration_us = clock_us() - exchange->began_us;
    unsigned status = exchange->stage == STAGE_ANSWERED ? exchange->reply.status : 0;
    size_t count;
    metrics_request_ended(http->service->metrics, exchange->endpoint, status, duration_us);
    log_event(LOG_INFO, "request", "id=%s method=%s endpoint=%s status=%u sentences=%zu duration_ms=%.3f", exchange->id,
              exchange->method, api_labels(&count)[exchange->endpoint], status, exchange->request.job_count,
              (double)duration_us / 1000);
    exchange_free(exchange);
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
    http->watch = watch_start(err);
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
