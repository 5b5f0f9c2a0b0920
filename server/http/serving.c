/* This file begins and ends the service: what it consists of, and in which order it stops. */
#include "server/base/clock.h"
#include "server/http/exchange.h"
#include "server/http/http.h"
#include "server/http/tls.h"
#include <stdlib.h>
#include <sys/random.h>

enum {
    WAITING_BYTES = 32 << 20, /* limit on all bodies that wait to be prepared */
    STOP_MS = 100,            /* time after which http_stop cancels the chores that still wait */
    OVERDUE_MS = 40, /* for so long a chore that cannot be divided holds up others: two slices */
};

struct http *http_start(struct service *service, const struct http_options *options,
                        struct error *err) {
    struct http *http = calloc(1, sizeof *http);
    if (!http) {
        error_memory(err);
        return NULL;
    }
    http->service = service;
    if (getrandom(&http->id_prefix, sizeof http->id_prefix, 0) != sizeof http->id_prefix)
        http->id_prefix = (uint32_t)clock_us(); /* ids only distinguish requests */
    pthread_mutex_init(&http->lock, NULL);
    clock_condition_init(&http->idle);

    /* a quarter as many threads as decode: reading and writing is much less work */
    const struct chores_options chores = {(service->options->workers + 3) / 4,
                                          service->options->queue, WAITING_BYTES, service->metrics,
                                          OVERDUE_MS};
    const struct http_callbacks callbacks = {exchange_handle, exchange_completed, http,
                                             &http->connections};
    http->bodies = bodies_create(service->options->body_memory, service->metrics);
    if (!http->bodies)
        error_memory(err);
    else
        http->watch = watch_start(service->options->heartbeat_ms, err);
    if (http->watch)
        http->chores = chores_start(&chores, err);
    if (http->chores &&
        connection_start_all(&http->connections, &options->connections, service->metrics, err) ==
            0 &&
        (!options->tls_cert || (http->tls = tls_open(options->tls_cert, options->tls_key, err)))) {
        http->connections.tls = http->tls;
        http->listeners =
            http_listeners_start(&options->listeners, http->tls != NULL, &callbacks, err);
    }
    if (http->listeners)
        return http;
    http_stop(http);
    return NULL;
}

const char *http_address(const struct http *http, size_t i, bool *admin) {
    return http_listeners_address(http->listeners, i, admin);
}

size_t http_most_connections(const struct http *http) {
    return http->connections.most + http->connections.most_admin;
}

int http_reload_certificate(struct http *http, struct error *err) {
    return http->tls ? tls_reload(http->tls, err) : 0;
}

void http_quiesce(struct http *http) {
    http_listeners_quiesce(http->listeners);
    receiving_refuse(http);
}

void http_tidy(struct http *http) {
    pthread_mutex_lock(&http->lock);
    bool tidies = http->untidy && http->in_flight == 0;
    http->untidy &= !tidies;
    pthread_mutex_unlock(&http->lock);
    if (tidies)
        chores_tidy(http->chores);
}

bool http_wait_chores(struct http *http, enum metrics_chore kind, size_t timeout_ms) {
    bool ended = chores_wait(http->chores, kind, timeout_ms);
    if (!ended)
        chores_abandon(http->chores);
    return ended;
}

bool http_wait_idle(struct http *http, size_t timeout_ms) {
    return clock_wait_zero(&http->idle, &http->lock, &http->in_flight, timeout_ms);
}

void http_stop(struct http *http) {
    if (!http)
        return;
    for (enum metrics_chore kind = 0; http->chores && kind < CHORE_KINDS; kind++) {
        while (!http_wait_chores(
            http, kind, STOP_MS)) /* the connections of cancelled requests are resumed soon */
            ;
    }
    receiving_refuse(http);
    if (http->bodies)
        bodies_close(http->bodies);
    http_listeners_stop(http->listeners);
    cutoff_free(http->connections.cutoff);
    tls_free(http->tls);
    chores_free(http->chores);
    watch_free(http->watch);
    bodies_free(http->bodies);
    assert(http->in_flight == 0);
    pthread_cond_destroy(&http->idle);
    pthread_mutex_destroy(&http->lock);
    free(http);
}
