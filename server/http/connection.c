/* This module hides everything about connections that libmicrohttpd does not do: time limits,
 * clients that hang up, the number of connections, checks of heads, certificates, and replies that
 * the library makes itself. */
#include "server/http/connection.h"
#include "model/base/file.h"
#include "server/api/reply.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/decode/events.h"
#include "server/http/client.h"
#include <assert.h>
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SWEEP_US = 100000, SCARCE_IDLE_US = 1000000, SCARCE_BODY_US = 5000000 };
/* OTHER_FILES: models, logs and libraries; MORE_CONNECTIONS: in addition to those whose requests
 * wait or are decoded. */
enum { OTHER_FILES = 128, MORE_CONNECTIONS = 1024, LEAST_CONNECTIONS = 16, ADMIN_CONNECTIONS = 16 };

/* libmicrohttpd 1.0 and later refuse malformed heads themselves. The library may be newer at run
 * time than at compile time. */
enum { TRUSTS_LIBRARY = MHD_VERSION >= 0x01000000 };

/* libmicrohttpd has 32 KiB for a connection: an argument takes 64 bytes, and the rest of the head
 * needs at least 4096. */
enum { CONNECTION_BYTES = 32 * 1024, ARGUMENT_BYTES = 64, OTHER_BYTES = 4096 };

#define refuse(reply, field, ...) (reply_fail(reply, STATUS_INVALID, field, __VA_ARGS__), -1)

/* ---- cutting off ---- */

/* A client with connections of a crowd. There are at most as many as connections. */
struct holder {
    uint64_t client;
    size_t count;
    struct holder *next;
};

struct cutoff {
    struct metrics *metrics;
    pthread_t thread;

    pthread_mutex_t
        lock;            /* guards everything below; while it is held, a listed socket stays open */
    pthread_cond_t wake; /* signals that the list is no longer empty or that the cutoff stops */
    struct timed *first; /* the newest connection, then older ones */
    bool stopped;
};

/* Requires the lock. */
static void cutoff_cut(struct cutoff *cutoff, struct timed *timed, enum metrics_counter reason) {
    shutdown(timed->fd, SHUT_RDWR);
    metrics_count(cutoff->metrics, reason);
    timed->timeout_us = INT64_MAX; /* a socket is shut down only once */
    timed->silent = false;
}

/* Cuts the connections that have taken too long, ten times a second. While places are scarce, idle
 * connections have little time. While every place is taken, heads and bodies that have not arrived
 * have little time, too, because they keep all other clients out. */
static void *cutoff_run(void *argument) {
    struct cutoff *cutoff = argument;
    pthread_mutex_lock(&cutoff->lock);
    while (!cutoff->stopped) {
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
                cutoff_cut(cutoff, timed,
                           timed->silent && most_us < timed->timeout_us ? SLOW_SILENT
                                                                        : timed->reason);
        }
        if (cutoff->first)
            clock_wait(&cutoff->wake, &cutoff->lock, clock_us() + SWEEP_US);
        else
            pthread_cond_wait(&cutoff->wake, &cutoff->lock);
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

/* Returns true if bytes have arrived that the connection's thread has not read yet. */
static bool has_unread(const struct timed *timed) {
    int count = 0;
    return ioctl(timed->fd, FIONREAD, &count) == 0 && count > 0;
}

/* Requires the lock. The connection that has been silent for the longest time, but not the newest,
 * which may be about to send. NULL: none. */
static struct timed *find_silent(const struct timed *newest) {
    struct timed *longest = NULL;
    for (struct timed *other = newest->next; other; other = other->next)
        if (other->silent && other->crowd == newest->crowd &&
            (!longest || other->since_us <= longest->since_us) && !has_unread(other))
            longest = other;
    return longest;
}

/* Requires the lock. The newest connection whose body is arriving, of the client with the most
 * connections. NULL: nobody has more than a few, or no body is arriving. */
static struct timed *find_body(const struct timed *newest) {
    struct timed *found = NULL;
    size_t most = CONNECTIONS_FEW;
    for (struct timed *other = newest->next; other; other = other->next) {
        bool arrives =
            other->reason == SLOW_REQUEST && !other->silent && other->timeout_us != INT64_MAX;
        if (other->crowd == newest->crowd && arrives && other->holder &&
            other->holder->count > most) {
            most = other->holder->count;
            found = other;
        }
    }
    return found;
}

/* Requires the lock. Counts the connection for its client; if memory runs out, for nobody. */
static void hold(struct timed *timed) {
    struct crowd *crowd = timed->crowd;
    struct holder *holder = crowd->holders;
    timed->holder = NULL;
    if (timed->client == 0)
        return;
    while (holder && holder->client != timed->client)
        holder = holder->next;
    if (!holder) {
        holder = malloc(sizeof *holder);
        if (!holder)
            return;
        *holder = (struct holder){.client = timed->client, .next = crowd->holders};
        crowd->holders = holder;
    }
    holder->count++;
    timed->holder = holder;
}

/* Requires the lock. */
static void let_go(struct timed *timed) {
    struct holder *holder = timed->holder, **place = &timed->crowd->holders;
    if (!holder || --holder->count > 0)
        return;
    while (*place != holder)
        place = &(*place)->next;
    *place = holder->next;
    free(holder);
}

void cutoff_add(struct cutoff *cutoff, struct timed *timed) {
    pthread_mutex_lock(&cutoff->lock);
    timed->silent = true;
    timed->since_us = clock_us();
    timed->reason = SLOW_REQUEST;
    timed->previous = NULL;
    timed->next = cutoff->first;
    if (cutoff->first)
        cutoff->first->previous = timed;
    else
        pthread_cond_signal(&cutoff->wake);
    cutoff->first = timed;
    hold(timed);
    if (++timed->crowd->count >= timed->crowd->most) {
        struct timed *silent = find_silent(timed), *body = silent ? NULL : find_body(timed);
        if (silent)
            cutoff_cut(cutoff, silent, SLOW_SILENT);
        else if (body)
            cutoff_cut(cutoff, body, SLOW_REQUEST);
    }
    pthread_mutex_unlock(&cutoff->lock);
}

void cutoff_remove(struct cutoff *cutoff, struct timed *timed) {
    pthread_mutex_lock(&cutoff->lock);
    *(timed->previous ? &timed->previous->next : &cutoff->first) = timed->next;
    if (timed->next)
        timed->next->previous = timed->previous;
    let_go(timed);
    timed->crowd->count--;
    pthread_mutex_unlock(&cutoff->lock);
}

void cutoff_set(struct cutoff *cutoff, struct timed *timed, enum metrics_counter reason,
                int64_t timeout_us) {
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

/* ---- clients that hang up ---- */

enum { POLLED_EVENTS = 32 };
static const uint64_t STOP_SERIAL = 0;

struct watch {
    int epoll, stop; /* stop: an eventfd that ends the thread */
    pthread_t thread;
    int64_t pulse_us;

    pthread_mutex_t lock; /* protects the list and last_serial; while it is held, a listed request
                             stays alive */
    struct watched *first;
    uint64_t last_serial;
};

static void *watch_run(void *argument) {
    struct watch *watch = argument;
    struct epoll_event events[POLLED_EVENTS];
    for (int64_t pulse_us = clock_us() + watch->pulse_us;;) {
        int64_t left_us = pulse_us - clock_us();
        if (left_us <= 0) {
            pthread_mutex_lock(&watch->lock);
            for (struct watched *watched = watch->first; watched; watched = watched->next) {
                if (watched->request->events)
                    events_pulse(watched->request->events);
            }
            pthread_mutex_unlock(&watch->lock);
            pulse_us += watch->pulse_us - left_us;
            continue;
        }
        int count = epoll_wait(watch->epoll, events, POLLED_EVENTS, (int)(left_us / 1000 + 1));
        assert(count >= 0 || errno == EINTR);
        for (int i = 0; i < count; i++) {
            uint64_t serial = events[i].data.u64;
            if (serial == STOP_SERIAL)
                return NULL;
            pthread_mutex_lock(&watch->lock);
            struct watched *watched = watch->first;
            while (watched && watched->serial != serial)
                watched = watched->next;
            if (watched)
                request_cancel(watched->request, CANCEL_CLIENT);
            if (watched && watched->gone)
                watched->gone(watched->request);
            pthread_mutex_unlock(&watch->lock);
        }
    }
}

static void watch_release(struct watch *watch) {
    if (watch->epoll >= 0)
        close(watch->epoll);
    if (watch->stop >= 0)
        close(watch->stop);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}

struct watch *watch_start(size_t pulse_ms, struct error *err) {
    struct watch *watch = calloc(1, sizeof *watch);
    if (!watch) {
        error_memory(err);
        return NULL;
    }
    watch->last_serial = STOP_SERIAL;
    watch->pulse_us = (int64_t)pulse_ms * 1000;
    pthread_mutex_init(&watch->lock, NULL);
    watch->epoll = epoll_create1(EPOLL_CLOEXEC);
    watch->stop = eventfd(0, EFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = STOP_SERIAL};
    int result = 0;
    if (watch->epoll < 0 || watch->stop < 0 ||
        epoll_ctl(watch->epoll, EPOLL_CTL_ADD, watch->stop, &event) != 0)
        result = error_set(err, ERROR_FILE, "cannot poll sockets: %s", strerror(errno));
    else if (pthread_create(&watch->thread, NULL, watch_run, watch) != 0)
        result = error_set(err, ERROR_MEMORY, "cannot start the thread that watches sockets");
    if (result != 0) {
        watch_release(watch);
        return NULL;
    }
    return watch;
}

void watch_free(struct watch *watch) {
    if (!watch)
        return;
    assert(!watch->first);
    uint64_t one = 1;
    ssize_t written = write(watch->stop, &one, sizeof one);
    assert(written == sizeof one);
    (void)written;
    pthread_join(watch->thread, NULL);
    watch_release(watch);
}

void watch_add(struct watch *watch, struct watched *watched, struct request *request, int fd,
               void (*gone)(struct request *request)) {
    pthread_mutex_lock(&watch->lock);
    *watched = (struct watched){.request = request,
                                .gone = gone,
                                .fd = fd,
                                .serial = ++watch->last_serial,
                                .next = watch->first};
    if (watch->first)
        watch->first->previous = watched;
    watch->first = watched;
    /* One event is enough: a peer that has hung up does not come back. */
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLONESHOT,
                                .data.u64 = watched->serial};
    if (epoll_ctl(watch->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        watched->fd = -1;
    pthread_mutex_unlock(&watch->lock);
}

void watch_remove(struct watch *watch, struct watched *watched) {
    pthread_mutex_lock(&watch->lock);
    if (watched->serial != STOP_SERIAL) {
        if (watched->fd >= 0)
            epoll_ctl(watch->epoll, EPOLL_CTL_DEL, watched->fd, NULL);
        *(watched->previous ? &watched->previous->next : &watch->first) = watched->next;
        if (watched->next)
            watched->next->previous = watched->previous;
        watched->serial = STOP_SERIAL;
    }
    pthread_mutex_unlock(&watch->lock);
}

/* ---- the first line of a request ----
 *
 * This section, the next one and the last are workarounds for libmicrohttpd 0.9.75 (Debian 12): it
 * accepts heads that a proxy may read differently, and answers invalid requests itself, in HTML.
 * Each workaround states its reason. Those that only old versions need depend on constant
 * conditions, which are false with libmicrohttpd 1.0 and later. */

struct line {
    const char *version; /* where the version should begin; NULL: there was no URI */
    bool odd;            /* the URI contains bytes that no URI may contain */
    bool crowded;        /* the URI leaves too little memory for its arguments */
    size_t arguments;
};

/* uri: as it was sent, before libmicrohttpd splits it; NULL: there is no request yet. Cuts off the
 * whole query string if it has too many arguments or is too long, because libmicrohttpd would close
 * the connection without a reply. */
static void line_begin(struct line *line, const char *uri) {
    *line = (struct line){0};
    if (!uri)
        return;
    char *query = strchr(uri, '?');
    size_t length = strlen(uri);
    line->version = uri + length + 1;
    for (const char *c = uri; *c; c++)
        line->odd |= (unsigned char)*c <= ' ' || *c == 0x7f;
    for (const char *at = query ? query + 1 : NULL; at && *at; at += *at == '&') {
        at += strcspn(at, "&");
        line->arguments++;
    }
    line->crowded = length + ARGUMENT_BYTES * line->arguments > CONNECTION_BYTES - OTHER_BYTES;
    if (query && (line->arguments > CONNECTION_ARGUMENTS || line->crowded))
        query[1] = '\0';
}

/* libmicrohttpd would end a path at %00, in every version. Two bytes that are never part of UTF-8
 * replace it: no path contains them, and a field with them is refused. */
static size_t unescape(void *closure, struct MHD_Connection *connection, char *text) {
    (void)closure;
    (void)connection;
    for (char *at = text; (at = strstr(at, "%00")) != NULL;) {
        memcpy(at, "\xC0\x80", 2);
        memmove(at + 2, at + 3, strlen(at + 3) + 1);
    }
    return MHD_http_unescape(text);
}

/* ---- the other lines of its head ---- */

struct walk {
    const char *at, *end; /* the expected beginning of the next line, and the end of the head; NULL:
                             lines are not compared */
    bool clean;
    size_t hosts, encodings;
};

/* 0.9.75 ends fields at zero bytes and bare line feeds, joins folded lines to the name before them,
 * and counts a blank before a colon as a part of the name. It splits the head in place and replaces
 * colons and both bytes of line ends by zero bytes, so the fields can be compared with the bytes
 * that were sent. From 0.9.76 on, libmicrohttpd refuses all this in strict mode. */
static bool splits_in_place(void) {
    return !TRUSTS_LIBRARY && strverscmp(MHD_get_version(), "0.9.76") < 0;
}

/* Checks that the field's line begins where the last one ended and contains nothing else. */
static enum MHD_Result note_field(void *closure, enum MHD_ValueKind kind, const char *name,
                                  size_t name_length, const char *value, size_t length) {
    (void)kind;
    struct walk *walk = closure;
    if (!TRUSTS_LIBRARY) {
        const char *after = name + name_length + 1;
        walk->clean = walk->clean && name_length > 0;
        if (walk->at)
            walk->clean = walk->clean && name == walk->at &&
                          value == after + strspn(after, " \t") &&
                          walk->end - value >= (ptrdiff_t)length + 4 && value[length] == '\0' &&
                          value[length + 1] == '\0';
        for (size_t i = 0; walk->clean && i < name_length; i++)
            walk->clean =
                isalnum((unsigned char)name[i]) || (name[i] && strchr("!#$%&'*+-.^_`|~", name[i]));
        for (size_t i = 0; walk->clean && i < length; i++)
            walk->clean = ((unsigned char)value[i] >= ' ' || value[i] == '\t') && value[i] != 0x7f;
        if (walk->at && walk->clean)
            walk->at = value + length + 2;
    }
    walk->hosts += strcasecmp(name, "Host") == 0;
    walk->encodings += strcasecmp(name, "Transfer-Encoding") == 0;
    return MHD_YES;
}

/* ---- a connection ---- */

struct peer {
    struct timed timed;
    const struct gate *gate;
    struct line line; /* of the current request */
};

/* Returns NULL if memory ran out when the connection was opened; it then has no time limit. */
static struct peer *peer_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

const struct gate *connection_gate(struct MHD_Connection *connection) {
    const struct peer *peer = peer_of(connection);
    return peer ? peer->gate : NULL;
}

int connection_check(struct MHD_Connection *connection, const char *method, const char *version,
                     struct reply *reply) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    const struct peer *peer = peer_of(connection);
    const struct line none = {.version = version}, *line = peer ? &peer->line : &none;
    struct walk walk = {.clean = true};
    if (info && splits_in_place()) {
        walk.at = version + strlen(version) + 2;
        walk.end = method + info->header_size;
    }
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, note_field, &walk);
    walk.clean = walk.clean && (!walk.end || walk.end - walk.at == 2);

    bool apart = !TRUSTS_LIBRARY && line->version != version; /* 0.9.75 skips additional spaces */
    bool old = strcmp(version, MHD_HTTP_VERSION_1_0) == 0;
    int result = 0;
    if (line->odd || apart)
        result = refuse(reply, NULL,
                        "the request line must be METHOD URI HTTP/1.1, with no spaces or control "
                        "characters in the URI");
    else if (line->arguments > CONNECTION_ARGUMENTS)
        result = refuse(reply, NULL, "the query string must have at most %d fields, got %zu",
                        CONNECTION_ARGUMENTS, line->arguments);
    else if (line->crowded)
        result = refuse(reply, NULL, "the query string is too long");
    else if (!walk.clean)
        result = refuse(reply, NULL,
                        "each header must be a single line NAME: VALUE without control characters");
    else if (walk.hosts > 1 || (walk.hosts == 0 && !old))
        result =
            refuse(reply, "Host", "there must be exactly one Host header, got %zu", walk.hosts);
    else if (old && walk.encodings > 0)
        result = refuse(reply, "Transfer-Encoding", "HTTP/1.0 does not support Transfer-Encoding");
    reply->close |= result != 0;
    return result;
}

void connection_begun(const struct connections *connections, struct MHD_Connection *connection) {
    struct peer *peer = peer_of(connection);
    if (peer)
        cutoff_listen(connections->cutoff, &peer->timed, false);
}

void connection_limit(const struct connections *connections, struct MHD_Connection *connection,
                      enum metrics_counter stage, int64_t timeout_us) {
    struct peer *peer = peer_of(connection);
    if (peer)
        cutoff_set(connections->cutoff, &peer->timed, stage, timeout_us);
}

struct timed *connection_timed(struct MHD_Connection *connection) {
    struct peer *peer = peer_of(connection);
    return peer ? &peer->timed : NULL;
}

static void opened_or_closed(void *closure, struct MHD_Connection *connection, void **context,
                             enum MHD_ConnectionNotificationCode code) {
    struct gate *gate = closure;
    const struct connections *connections = gate->connections;
    struct peer *peer = *context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *session =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        if (session)
            gnutls_session_set_ptr(session->tls_session, connections->tls); /* for tls_retrieve */
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *context = peer = malloc(sizeof *peer);
        if (!peer)
            return;
        peer->gate = gate;
        line_begin(&peer->line, NULL);
        const union MHD_ConnectionInfo *from =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
        bool proxy = connections->options.trusts_proxy || gate->local;
        peer->timed =
            (struct timed){.fd = info->connect_fd,
                           .crowd = &gate->crowd,
                           .client = proxy || !from ? 0 : client_of_peer(from->client_addr),
                           .timeout_us = (int64_t)connections->options.read_timeout_ms * 1000};
        cutoff_add(connections->cutoff, &peer->timed);
    } else if (peer) {
        cutoff_remove(connections->cutoff, &peer->timed);
        free(peer);
        *context = NULL;
    }
}

/* Called when the first line of a request has arrived. Returns NULL: http.c makes its own state
 * once the head is complete. */
static void *request_began(void *closure, const char *uri, struct MHD_Connection *connection) {
    const struct connections *connections = closure;
    struct peer *peer = peer_of(connection);
    if (!peer)
        return NULL;
    line_begin(&peer->line, uri);
    cutoff_set(connections->cutoff, &peer->timed, SLOW_REQUEST,
               (int64_t)connections->options.read_timeout_ms * 1000);
    cutoff_listen(connections->cutoff, &peer->timed, true);
    return NULL;
}

/* ---- all connections ---- */

int connections_start(struct connections *connections, const struct connections_options *options,
                      struct metrics *metrics, struct error *err) {
    struct rlimit allowed;
    size_t files = LEAST_CONNECTIONS + OTHER_FILES;
    if (getrlimit(RLIMIT_NOFILE, &allowed) == 0) {
        allowed.rlim_cur = allowed.rlim_max; /* as many as the system allows */
        if (setrlimit(RLIMIT_NOFILE, &allowed) != 0)
            getrlimit(RLIMIT_NOFILE, &allowed);
        files = allowed.rlim_cur;
    }
    size_t others = files / 2 < OTHER_FILES ? files / 2 : OTHER_FILES, most = files - others;
    size_t wanted = options->requests + MORE_CONNECTIONS,
           affordable = options->memory / CONNECTION_MEMORY;
    if (options->most > 0)
        wanted = options->most;
    else if (affordable < wanted)
        wanted = affordable > LEAST_CONNECTIONS ? affordable : LEAST_CONNECTIONS;
    if (wanted > most)
        log_event(LOG_WARN, "few_files", log_count("connections", most),
                  log_count("wanted", wanted), log_count("files", files));
    else
        most = wanted;
    size_t quarter = most / 4, admin = !options->admin               ? 0
                                       : quarter < ADMIN_CONNECTIONS ? quarter
                                                                     : ADMIN_CONNECTIONS;
    *connections = (struct connections){.options = *options,
                                        .most = most,
                                        .most_admin = admin,
                                        .cutoff = cutoff_start(metrics, err)};
    return connections->cutoff ? 0 : -1;
}

void connection_options(struct gate *gate, struct MHD_OptionItem *items) {
    struct connections *connections = gate->connections;
    const struct connections_options *options = &connections->options;

    /* A proxy that names its clients may have all connections, and so may administrators. Any other
     * address may have half of them. */
    size_t per_peer = options->most_per_peer;
    if (per_peer == 0)
        per_peer =
            gate->admin || options->trusts_proxy ? gate->crowd.most : (gate->crowd.most + 1) / 2;
    const struct MHD_OptionItem all[CONNECTION_OPTIONS] = {
        {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)gate->crowd.most, NULL},
        {MHD_OPTION_PER_IP_CONNECTION_LIMIT, (intptr_t)per_peer, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_IDLE_S, NULL},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)opened_or_closed, gate},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)request_began, connections},
        {MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)unescape, NULL},
        {MHD_OPTION_STRICT_FOR_CLIENT, splits_in_place() ? 0 : 1,
         NULL}, /* 0: note_field checks the fields instead */
        {MHD_OPTION_END, 0, NULL},
    };
    memcpy(items, all, sizeof all);
}

/* ---- the certificate ---- */

enum { MAX_CHAIN = 16, MAX_FILE_BYTES = 1 << 20 }; /* MAX_CHAIN: certificates in the file */

/* Both are PEM: GnuTLS takes over the credentials of a handshake, so each handshake parses its own
 * copy. */
struct identity {
    gnutls_datum_t certificate, key;
};

struct tls {
    char *certificate, *key; /* file names */
    pthread_mutex_t lock;    /* guards identity */
    struct identity identity;
};

static void wipe(gnutls_datum_t *datum) {
    if (datum->data)
        gnutls_memset(datum->data, 0, datum->size);
    free(datum->data);
    *datum = (gnutls_datum_t){0};
}

static void identity_done(struct identity *identity) {
    wipe(&identity->certificate);
    wipe(&identity->key);
}

static int load_file(const char *name, gnutls_datum_t *datum, struct error *err) {
    char *bytes;
    size_t size;
    if (file_read(name, MAX_FILE_BYTES, &bytes, &size, err) != 0)
        return -1;
    *datum = (gnutls_datum_t){(unsigned char *)bytes, (unsigned)size};
    return 0;
}

int tls_reload(struct tls *tls, struct error *err) {
    struct identity loaded = {0}, old;
    gnutls_certificate_credentials_t credentials;
    int result = load_file(tls->certificate, &loaded.certificate, err);
    if (result == 0)
        result = load_file(tls->key, &loaded.key, err);
    if (result == 0 && gnutls_certificate_allocate_credentials(&credentials) != 0) {
        result = error_memory(err);
    } else if (result == 0) { /* fails if a handshake would */
        int code = gnutls_certificate_set_x509_key_mem(credentials, &loaded.certificate,
                                                       &loaded.key, GNUTLS_X509_FMT_PEM);
        gnutls_certificate_free_credentials(credentials);
        if (code < 0)
            result = error_set(err, ERROR_FORMAT, "cannot use %.80s with %.80s: %s",
                               tls->certificate, tls->key, gnutls_strerror(code));
    }
    if (result != 0) {
        identity_done(&loaded);
        return -1;
    }
    pthread_mutex_lock(&tls->lock);
    old = tls->identity;
    tls->identity = loaded;
    pthread_mutex_unlock(&tls->lock);
    identity_done(&old);
    return 0;
}

struct tls *tls_open(const char *certificate, const char *key, struct error *err) {
    struct tls *tls = calloc(1, sizeof *tls);
    if (!tls) {
        error_memory(err);
        return NULL;
    }
    pthread_mutex_init(&tls->lock, NULL);
    tls->certificate = strdup(certificate);
    tls->key = strdup(key);
    if (!tls->certificate || !tls->key)
        error_memory(err);
    else if (tls_reload(tls, err) == 0)
        return tls;
    tls_free(tls);
    return NULL;
}

void tls_free(struct tls *tls) {
    if (!tls)
        return;
    identity_done(&tls->identity);
    pthread_mutex_destroy(&tls->lock);
    free(tls->certificate);
    free(tls->key);
    free(tls);
}

int tls_retrieve(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                 gnutls_pcert_st **chain, unsigned *count, gnutls_ocsp_data_st **stapled,
                 unsigned *stapled_count, gnutls_privkey_t *key, unsigned *flags) {
    (void)info;
    struct tls *tls = gnutls_session_get_ptr(session);
    *chain = gnutls_calloc(MAX_CHAIN, sizeof **chain);
    if (!*chain)
        return GNUTLS_E_MEMORY_ERROR;
    *count = MAX_CHAIN;
    *stapled = NULL;
    *stapled_count = 0;
    *flags = GNUTLS_CERT_RETR_DEINIT_ALL;
    pthread_mutex_lock(&tls->lock);
    const struct identity *identity = &tls->identity;
    int code = gnutls_privkey_init(key);
    bool made = code == 0;
    if (code == 0)
        code = gnutls_privkey_import_x509_raw(*key, &identity->key, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (code == 0)
        code = gnutls_pcert_list_import_x509_raw(*chain, count, &identity->certificate,
                                                 GNUTLS_X509_FMT_PEM, 0);
    if (code != 0 && made)
        gnutls_privkey_deinit(*key);
    pthread_mutex_unlock(&tls->lock);
    if (code != 0)
        gnutls_free(*chain);
    return code == 0 ? 0 : -1;
}

/* ---- replies that the library makes ---- */

enum {
    STATUS_URI_TOO_LONG = 414,
    STATUS_HEAD_TOO_LARGE = 431,
    STATUS_VERSION = 505,
    REPLY_BYTES = 1024
};

typedef enum MHD_Result queue_function(struct MHD_Connection *connection, unsigned status,
                                       struct MHD_Response *response);

/* Calls the library's function, which the function below overrides. */
bool connection_queue(struct MHD_Connection *connection, unsigned status,
                      struct MHD_Response *response) {
    queue_function *function;
    void *symbol = dlsym(RTLD_NEXT, "MHD_queue_response");
    memcpy(&function, &symbol,
           sizeof function); /* ISO C has no conversion from a data pointer to a function pointer */
    return function(connection, status, response) == MHD_YES;
}

/* The reasons why libmicrohttpd refuses requests. Any other status means that a request is not
 * HTTP. */
static const struct {
    unsigned refused, status;
    const char *code, *message;
} refusals[] = {
    /* Our handler takes every byte of a body, so only a chunk extension longer than the buffer
       leads here. */
    {STATUS_INTERNAL, STATUS_INVALID, "invalid_request", "a chunk extension is too long"},
    {STATUS_URI_TOO_LONG, STATUS_URI_TOO_LONG, "too_large", "the request line is too long"},
    {STATUS_HEAD_TOO_LARGE, STATUS_HEAD_TOO_LARGE, "too_large", "the request headers are too long"},
    {STATUS_TOO_LARGE, STATUS_TOO_LARGE, "too_large", "the body is too long"},
    {STATUS_VERSION, STATUS_VERSION, "invalid_request", "the version must be HTTP/1.0 or HTTP/1.1"},
};

struct passage connection_passage(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct passage passage = {.fd = info->connect_fd};
    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    passage.session = info ? info->tls_session : NULL;
    return passage;
}

void passage_send(const struct passage *passage, const char *bytes, size_t length) {
    if (passage->session) {
        gnutls_record_send(
            passage->session, bytes,
            length); /* the socket does not block; GnuTLS lets another thread receive */
        gnutls_bye(passage->session, GNUTLS_SHUT_WR);
    } else {
        send(passage->fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    shutdown(passage->fd, SHUT_WR);
}

/* 0.9.75 continues after it has refused a Content-Length and begins the same reply again. So the
 * reply is written directly to the socket, and the library then closes the connection. An HTTPS
 * connection is closed without a reply. 0.9.76 does not need this. */
static bool send_past(struct MHD_Connection *connection, const struct reply *reply) {
    char text[REPLY_BYTES];
    if (!MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length") ||
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding"))
        return false;
    if (MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION))
        return true;
    int length = snprintf(
        text, sizeof text,
        "HTTP/1.1 %u %s\r\nConnection: close\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s",
        reply->status, MHD_get_reason_phrase_for(reply->status), reply->content_type, reply->length,
        reply->body);
    const struct passage passage = connection_passage(connection);
    if (length > 0 && (size_t)length < sizeof text)
        passage_send(&passage, text, (size_t)length);
    return true;
}

/* Replaces libmicrohttpd's function of this name, which the library itself calls through the
 * linker: its own replies are HTML, with status 500 if a chunk extension is too long, and clients
 * expect JSON. No version of the library has an interface for this. If memory runs out, the
 * library's reply is sent. */
enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned status,
                                   struct MHD_Response *response) {
    struct reply reply = {0};
    if (status >= STATUS_INVALID) {
        size_t i = 0, count = sizeof refusals / sizeof *refusals;
        while (i < count && refusals[i].refused != status)
            i++;
        if (i < count)
            reply_fail_coded(&reply, refusals[i].status, refusals[i].code, NULL,
                             refusals[i].message);
        else
            reply_fail_coded(&reply, status, "invalid_request", NULL, "the request is not HTTP");
    }
    if (!TRUSTS_LIBRARY && reply.body && send_past(connection, &reply)) {
        free(reply.body);
        return MHD_NO;
    }
    struct MHD_Response *own =
        reply.body
            ? MHD_create_response_from_buffer(reply.length, reply.body, MHD_RESPMEM_MUST_FREE)
            : NULL;
    if (!own)
        free(reply.body);
    bool made = own &&
                MHD_add_response_header(own, "Content-Type", reply.content_type) == MHD_YES &&
                MHD_add_response_header(own, "X-Content-Type-Options", "nosniff") == MHD_YES;
    bool queued = made ? connection_queue(connection, reply.status, own)
                       : connection_queue(connection, status, response);
    if (own)
        MHD_destroy_response(own);
    return queued ? MHD_YES : MHD_NO;
}
