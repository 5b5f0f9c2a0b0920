#include "server/http/http.h"
#include "server/base/clock.h"
#include "server/http/http_head.h"
#include "server/http/http_listeners.h"
#include "server/http/http_work.h"
#include <stdlib.h>

enum { WAITING_BYTES = 32 << 20, STOP_MS = 100 }; /* WAITING_BYTES: of large requests that wait to be prepared */

struct http {
    struct exchanges exchanges;
    struct http_listeners *listeners;
    struct tls *tls; /* NULL: no HTTPS */
};

/* The head has come. Some requests are answered without being read any further. */
static enum MHD_Result http_begin(struct http *http, struct MHD_Connection *connection, const char *path, const char *method,
                                  const char *version, void **state) {
    connection_begun(&http->exchanges.connections, connection);
    struct exchange *exchange = exchange_create(&http->exchanges, connection, path, method);
    *state = exchange;
    if (!exchange)
        return MHD_NO;
    if (head_check(connection_line(connection), connection, method, version, &exchange->reply) == 0 &&
        sent_length(connection, &exchange->reply) == 0)
        return MHD_YES;
    exchange_count(exchange);
    return exchange_respond(exchange);
}

static enum MHD_Result handle(void *closure, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *upload, size_t *upload_bytes, void **state) {
    struct exchange *exchange = *state;
    if (!exchange)
        return http_begin(closure, connection, path, method, version, state);
    if (*upload_bytes > 0) {
        int received = body_append(&exchange->body, upload, *upload_bytes, exchange->exchanges->service->options.max_body_bytes);
        *upload_bytes = 0;
        return received == 0 ? MHD_YES : MHD_NO;
    }
    if (exchange->stage == STAGE_RECEIVING) {
        exchange_count(exchange);
        connection_received(&exchange->exchanges->connections, connection);
        if (work_begin(exchange))
            return MHD_YES; /* called again once resumed */
    }
    *state = exchange = work_detach(exchange);
    return exchange_respond(exchange);
}

static void completed(void *closure, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode code) {
    struct http *http = closure;
    struct exchange *exchange = *state;
    if (!exchange)
        return;
    *state = NULL;
    connection_idle(&http->exchanges.connections, connection);
    if (code == MHD_REQUEST_TERMINATED_COMPLETED_OK)
        exchange_sent(exchange);
    work_end(exchange);
}

static struct http *create(struct service *service, struct error *err) {
    struct http *http = calloc(1, sizeof *http);
    if (http)
        exchanges_init(&http->exchanges, service);
    else
        error_memory(err);
    return http;
}

/* A quarter as many as decode: reading and writing is much less work. */
static struct chores *start_chores(const struct service *service, struct error *err) {
    const struct service_options *options = &service->options;
    return chores_start(&(struct chores_options){(options->workers + 3) / 4, options->queue, WAITING_BYTES, service->metrics}, err);
}

static int start_daemon(struct http *http, const struct http_options *options, struct error *err) {
    struct exchanges *exchanges = &http->exchanges;
    exchanges->watch = watch_start(exchanges->service->options.heartbeat_ms, err);
    exchanges->chores = exchanges->watch ? start_chores(exchanges->service, err) : NULL;
    if (!exchanges->chores ||
        connections_start(&exchanges->connections, &options->connections, exchanges->service->metrics, err) != 0)
        return -1;
    if (options->tls_cert && !(http->tls = tls_open(options->tls_cert, options->tls_key, err)))
        return -1;
    exchanges->connections.tls = http->tls;
    const struct http_callbacks callbacks = {handle, completed, http, &exchanges->connections};
    http->listeners = http_listeners_start(&options->listeners, http->tls != NULL, &callbacks, err);
    return http->listeners ? 0 : -1;
}

struct http *http_start(struct service *service, const struct http_options *options, struct error *err) {
    struct http *http = create(service, err);
    if (http && start_daemon(http, options, err) != 0) {
        http_stop(http);
        return NULL;
    }
    return http;
}

const char *http_address(const struct http *http, size_t i, bool *admin) {
    return http_listeners_address(http->listeners, i, admin);
}

int http_reload_certificate(struct http *http, struct error *err) {
    return http->tls ? tls_reload(http->tls, err) : 0;
}

void http_quiesce(struct http *http) {
    http_listeners_quiesce(http->listeners);
}

static bool wait_for(struct chores *chores, enum metrics_chore kind, size_t timeout_ms) {
    bool ended = chores_wait(chores, kind, timeout_ms);
    if (!ended)
        chores_abandon(chores);
    return ended;
}

bool http_wait_prepared(struct http *http, size_t timeout_ms) {
    return wait_for(http->exchanges.chores, CHORE_PREPARATION, timeout_ms);
}

bool http_wait_rendered(struct http *http, size_t timeout_ms) {
    return wait_for(http->exchanges.chores, CHORE_RENDERING, timeout_ms);
}

bool http_wait_idle(struct http *http, size_t timeout_ms) {
    return exchanges_wait_idle(&http->exchanges, timeout_ms);
}

void http_stop(struct http *http) {
    if (!http)
        return;
    struct exchanges *exchanges = &http->exchanges;
    for (enum metrics_chore kind = 0; exchanges->chores && kind < CHORE_KINDS; kind++) {
        while (!wait_for(exchanges->chores, kind, STOP_MS)) /* the connections of what is cancelled are resumed soon */
            ;
    }
    http_listeners_stop(http->listeners);
    connections_stop(&exchanges->connections);
    tls_free(http->tls);
    chores_free(exchanges->chores);
    watch_free(exchanges->watch);
    exchanges_done(exchanges);
    free(http);
}
