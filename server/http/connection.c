#include "server/http/connection.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/http/tls.h"
#include <assert.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum { SWEEP_US = 100000, SCARCE_IDLE_US = 1000000, SCARCE_BODY_US = 5000000 };
/* OTHER_FILES: models, logs and libraries; MORE_CONNECTIONS: in addition to those whose requests wait or are decoded. */
enum { OTHER_FILES = 128, MORE_CONNECTIONS = 1024, LEAST_CONNECTIONS = 16, ADMIN_CONNECTIONS = 16 };

/* ---- cutting off ---- */

struct cutoff {
    struct metrics *metrics;
    pthread_t thread;

    pthread_mutex_t lock;       /* guards everything below, and that a listed socket is open */
    pthread_cond_t wake;        /* signals that a connection was added or that the cutoff stops */
    struct timed *first, *last; /* the newest and the oldest connection */
    bool stopped;
};

static void cutoff_cut(struct cutoff *cutoff, struct timed *timed, enum metrics_slow reason) {
    shutdown(timed->fd, SHUT_RDWR);
    metrics_slow(cutoff->metrics, reason);
    timed->timeout_us = INT64_MAX; /* a socket is shut down only once */
    timed->silent = false;
}

/* Cuts the connections that have taken too long. While places are scarce, idle connections have little time. While every place is
 * taken, so do heads and bodies that have not arrived, because they keep all other clients out. Requires the lock. */
static void sweep(struct cutoff *cutoff) {
    int64_t now_us = clock_us();
    for (struct timed *timed = cutoff->first; timed; timed = timed->next) {
        const struct crowd *crowd = timed->crowd;
        int64_t most_us = timed->timeout_us, scarce_us = INT64_MAX;
        if (timed->reason == SLOW_IDLE && crowd->count >= crowd->most - crowd->most / 4)
            scarce_us = SCARCE_IDLE_US;
        else if (timed->reason == SLOW_REQUEST && crowd->count >= crowd->most)
            scarce_us = timed->silent ? SCARCE_IDLE_US : SCARCE_BODY_US;
        if (scarce_us < most_us)
            most_us = scarce_us;
        if (timed->timeout_us != INT64_MAX && now_us - timed->since_us >= most_us)
            cutoff_cut(cutoff, timed, timed->silent && most_us < timed->timeout_us ? SLOW_SILENT : timed->reason);
    }
}

static void *cutoff_run(void *argument) {
    struct cutoff *cutoff = argument;
    pthread_mutex_lock(&cutoff->lock);
    while (!cutoff->stopped) {
        if (!cutoff->first) {
            pthread_cond_wait(&cutoff->wake, &cutoff->lock);
            continue;
        }
        sweep(cutoff);
        int64_t next_us = clock_us() + SWEEP_US;
        pthread_cond_timedwait(&cutoff->wake, &cutoff->lock, &(struct timespec){next_us / 1000000, next_us % 1000000 * 1000});
    }
    pthread_mutex_unlock(&cutoff->lock);
    return NULL;
}

static void cutoff_release(struct cutoff *cutoff) {
    pthread_cond_destroy(&cutoff->wake);
    pthread_mutex_destroy(&cutoff->lock);
    free(cutoff);
}

struct cutoff *cutoff_start(struct metrics *metrics, struct error *err) {
    struct cutoff *cutoff = calloc(1, sizeof *cutoff);
    if (!cutoff) {
        error_memory(err);
        return NULL;
    }
    cutoff->metrics = metrics;
    pthread_mutex_init(&cutoff->lock, NULL);
    clock_condition_init(&cutoff->wake);
    if (pthread_create(&cutoff->thread, NULL, cutoff_run, cutoff) == 0)
        return cutoff;
    error_set(err, ERROR_MEMORY, "cannot start the thread that cuts off slow connections");
    cutoff_release(cutoff);
    return NULL;
}

void cutoff_free(struct cutoff *cutoff) {
    if (!cutoff)
        return;
    assert(!cutoff->first);
    pthread_mutex_lock(&cutoff->lock);
    cutoff->stopped = true;
    pthread_cond_signal(&cutoff->wake);
    pthread_mutex_unlock(&cutoff->lock);
    pthread_join(cutoff->thread, NULL);
    cutoff_release(cutoff);
}

/* Cuts the connection that has been silent for the longest time, but not the newest, which may be about to send. Requires the
 * lock. */
static void cutoff_make_room(struct cutoff *cutoff, const struct timed *newest) {
    struct timed *longest = NULL;
    for (struct timed *timed = cutoff->last; timed != newest; timed = timed->previous)
        if (timed->silent && timed->crowd == newest->crowd && (!longest || timed->since_us < longest->since_us))
            longest = timed;
    if (longest)
        cutoff_cut(cutoff, longest, SLOW_SILENT);
}

void cutoff_add(struct cutoff *cutoff, struct timed *timed, int fd, struct crowd *crowd, int64_t timeout_us) {
    pthread_mutex_lock(&cutoff->lock);
    *timed = (struct timed){.fd = fd,
                            .crowd = crowd,
                            .silent = true,
                            .since_us = clock_us(),
                            .timeout_us = timeout_us,
                            .reason = SLOW_REQUEST,
                            .next = cutoff->first};
    if (cutoff->first)
        cutoff->first->previous = timed;
    else
        pthread_cond_signal(&cutoff->wake);
    if (!cutoff->last)
        cutoff->last = timed;
    cutoff->first = timed;
    if (++crowd->count >= crowd->most)
        cutoff_make_room(cutoff, timed);
    pthread_mutex_unlock(&cutoff->lock);
}

void cutoff_remove(struct cutoff *cutoff, struct timed *timed) {
    pthread_mutex_lock(&cutoff->lock);
    *(timed->previous ? &timed->previous->next : &cutoff->first) = timed->next;
    *(timed->next ? &timed->next->previous : &cutoff->last) = timed->previous;
    timed->crowd->count--;
    pthread_mutex_unlock(&cutoff->lock);
}

void cutoff_set(struct cutoff *cutoff, struct timed *timed, enum metrics_slow reason, int64_t timeout_us) {
    pthread_mutex_lock(&cutoff->lock);
    timed->reason = reason;
    timed->since_us = clock_us();
    timed->timeout_us = timeout_us;
    pthread_mutex_unlock(&cutoff->lock);
}

void cutoff_listen(struct cutoff *cutoff, struct timed *timed, bool silent) {
    pthread_mutex_lock(&cutoff->lock);
    timed->silent = silent;
    pthread_mutex_unlock(&cutoff->lock);
}

/* ---- a connection ---- */

struct peer {
    struct timed timed;
    const struct gate *gate;
    struct guard_line line; /* of the current request */
};

/* NULL: memory was out when the connection was opened, so that it is not timed. */
static struct peer *peer_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

const struct guard_line *connection_line(struct MHD_Connection *connection) {
    const struct peer *peer = peer_of(connection);
    return peer ? &peer->line : NULL;
}

const struct gate *connection_gate(struct MHD_Connection *connection) {
    const struct peer *peer = peer_of(connection);
    return peer ? peer->gate : NULL;
}

static void limit(const struct connections *connections, struct MHD_Connection *connection, enum metrics_slow reason,
                  int64_t timeout_us) {
    struct peer *peer = peer_of(connection);
    if (peer)
        cutoff_set(connections->cutoff, &peer->timed, reason, timeout_us);
}

void connection_begun(const struct connections *connections, struct MHD_Connection *connection) {
    struct peer *peer = peer_of(connection);
    if (peer)
        cutoff_listen(connections->cutoff, &peer->timed, false);
}

void connection_received(const struct connections *connections, struct MHD_Connection *connection) {
    limit(connections, connection, SLOW_REQUEST, INT64_MAX);
}

void connection_replying(const struct connections *connections, struct MHD_Connection *connection, int64_t answer_us) {
    limit(connections, connection, SLOW_READER, answer_us + (int64_t)connections->options.send_timeout_ms * 1000);
}

void connection_idle(const struct connections *connections, struct MHD_Connection *connection) {
    limit(connections, connection, SLOW_IDLE, (int64_t)CONNECTION_IDLE_S * 1000000);
}

static void opened_or_closed(void *closure, struct MHD_Connection *connection, void **context,
                             enum MHD_ConnectionNotificationCode code) {
    struct gate *gate = closure;
    const struct connections *connections = gate->connections;
    struct peer *peer = *context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *session = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        if (session)
            tls_serve(connections->tls, session->tls_session);
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *context = peer = malloc(sizeof *peer);
        if (!peer)
            return;
        peer->gate = gate;
        guard_begin(&peer->line, NULL);
        cutoff_add(connections->cutoff, &peer->timed, info->connect_fd, &gate->crowd,
                   (int64_t)connections->options.read_timeout_ms * 1000);
    } else if (peer) {
        cutoff_remove(connections->cutoff, &peer->timed);
        free(peer);
        *context = NULL;
    }
}

/* Called when the first line of a request has arrived. Returns NULL: http.c makes its own state once the head is complete. */
static void *request_began(void *closure, const char *uri, struct MHD_Connection *connection) {
    const struct connections *connections = closure;
    struct peer *peer = peer_of(connection);
    if (!peer)
        return NULL;
    guard_begin(&peer->line, uri);
    cutoff_set(connections->cutoff, &peer->timed, SLOW_REQUEST, (int64_t)connections->options.read_timeout_ms * 1000);
    cutoff_listen(connections->cutoff, &peer->timed, true);
    return NULL;
}

/* ---- all connections ---- */

/* Raises the limit of open files to what the system allows, and returns the limit. */
static size_t raise_file_limit(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return LEAST_CONNECTIONS + OTHER_FILES;
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0)
        getrlimit(RLIMIT_NOFILE, &files);
    return files.rlim_cur;
}

int connections_start(struct connections *connections, const struct connections_options *options, struct metrics *metrics,
                      struct error *err) {
    size_t files = raise_file_limit(), others = files / 2 < OTHER_FILES ? files / 2 : OTHER_FILES, most = files - others;
    size_t wanted = options->most > 0 ? options->most : options->requests + MORE_CONNECTIONS;
    if (wanted > most)
        log_event(LOG_WARN, "few_files", "connections=%zu wanted=%zu files=%zu", most, wanted, files);
    else
        most = wanted;
    size_t quarter = most / 4, admin = !options->admin ? 0 : quarter < ADMIN_CONNECTIONS ? quarter : ADMIN_CONNECTIONS;
    *connections =
        (struct connections){.options = *options, .most = most, .most_admin = admin, .cutoff = cutoff_start(metrics, err)};
    return connections->cutoff ? 0 : -1;
}

void connections_stop(struct connections *connections) {
    cutoff_free(connections->cutoff);
}

void connection_options(struct gate *gate, struct MHD_OptionItem *items) {
    struct connections *connections = gate->connections;
    const struct connections_options *options = &connections->options;

    /* A proxy that names its clients may have all connections, and so may administrators. Any other address leaves half of them to
     * others. */
    size_t per_peer = options->most_per_peer;
    if (per_peer == 0)
        per_peer = gate->admin || options->trusts_proxy ? gate->crowd.most : (gate->crowd.most + 1) / 2;
    const struct MHD_OptionItem all[CONNECTION_OPTIONS] = {
        {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)gate->crowd.most, NULL},
        {MHD_OPTION_PER_IP_CONNECTION_LIMIT, (intptr_t)per_peer, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_IDLE_S, NULL},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)opened_or_closed, gate},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)request_began, connections},
        {MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)guard_unescape, NULL},
        {MHD_OPTION_STRICT_FOR_CLIENT, guard_strictness(), NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    memcpy(items, all, sizeof all);
}
