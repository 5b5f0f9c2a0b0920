#include "server/http/http_listeners.h"
#include "server/http/http_connection.h"
#include "server/http/listen.h"
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LEAST_SHARE = 2 };

struct door {
    struct listener listener;
    struct gate gate;
    struct MHD_Daemon *daemon; /* NULL: not started; otherwise it closes the socket */
};

struct http_listeners {
    struct door doors[LISTEN_MAX];
    size_t count;
};

/* ---- sockets ---- */

static int open_address(struct http_listeners *listeners, const char *address, mode_t mode, bool admin, struct error *err) {
    struct door *door = &listeners->doors[listeners->count];
    if (listeners->count == LISTEN_MAX)
        return error_set(err, ERROR_INPUT, "at most %d listen addresses are allowed", LISTEN_MAX);
    if (listen_open(address, mode, &door->listener, err) != 0)
        return -1;
    door->gate.admin = admin;
    listeners->count++;
    return 0;
}

static int open_addresses(struct http_listeners *listeners, const struct name_list *addresses, mode_t mode, bool admin,
                          struct error *err) {
    for (size_t i = 0; i < addresses->count; i++)
        if (open_address(listeners, addresses->names[i], mode, admin, err) != 0)
            return -1;
    return 0;
}

static int open_sockets(struct http_listeners *listeners, const struct listeners_options *options, struct error *err) {
    struct listener inherited[LISTEN_MAX];
    mode_t mode = (mode_t)options->socket_mode;
    int count = listen_inherit(inherited, err);
    if (count < 0)
        return -1;
    for (; listeners->count < (size_t)count; listeners->count++)
        listeners->doors[listeners->count].listener = inherited[listeners->count];
    bool none = options->listen->count == 0 && count == 0;
    if (none && open_address(listeners, options->standard, mode, false, err) != 0)
        return -1;
    if (open_addresses(listeners, options->listen, mode, false, err) != 0)
        return -1;
    return open_addresses(listeners, options->admin_listen, mode, true, err);
}

/* ---- daemons ---- */

/* A thread of libmicrohttpd has the policy of the one that starts it. Of SCHED_BATCH, it does not take the core from a worker in
 * the midst of a step when it wakes: it has its turn within a tick, and handles together what came until then. Where the system
 * forbids that, it wakes at once. */
static struct MHD_Daemon *start_gathering(struct door *door, unsigned flags, const struct http_callbacks *callbacks) {
    struct MHD_OptionItem items[CONNECTION_OPTIONS];
    connection_options(&door->gate, items);
    int policy = sched_getscheduler(0);
    struct sched_param parameters = {0};
    bool set = policy == SCHED_OTHER && sched_setscheduler(0, SCHED_BATCH, &parameters) == 0;
    /* what stands behind the first END is for HTTPS alone */
    struct MHD_Daemon *daemon =
        MHD_start_daemon(flags, 0, NULL, NULL, callbacks->handle, callbacks->closure, MHD_OPTION_LISTEN_SOCKET, door->listener.fd,
                         MHD_OPTION_NOTIFY_COMPLETED, callbacks->completed, callbacks->closure, MHD_OPTION_ARRAY, items,
                         flags & MHD_USE_TLS ? MHD_OPTION_HTTPS_PRIORITIES : MHD_OPTION_END, TLS_PRIORITIES,
                         MHD_OPTION_HTTPS_CERT_CALLBACK2, tls_retrieve, MHD_OPTION_END);
    if (set)
        sched_setscheduler(0, policy, &parameters);
    return daemon;
}

static int start_daemon(struct door *door, bool https, const struct http_callbacks *callbacks, struct error *err) {
    /* poll, not epoll: libmicrohttpd 0.9.75 waits for edges there, and misses a hang-up that comes together with data */
    unsigned flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | (https ? MHD_USE_TLS : 0);
    door->daemon = start_gathering(door, flags, callbacks);
    return door->daemon ? 0 : error_set(err, ERROR_MEMORY, "cannot start an HTTP thread: %s", strerror(errno));
}

/* Each has room for a connection and for the next one. */
static void share_out(struct http_listeners *listeners, struct connections *connections) {
    size_t admins = 0;
    for (size_t i = 0; i < listeners->count; i++)
        admins += listeners->doors[i].gate.admin;
    for (size_t i = 0; i < listeners->count; i++) {
        struct gate *gate = &listeners->doors[i].gate;
        size_t share = gate->admin ? connections->most_admin / admins : connections->most / (listeners->count - admins);
        gate->connections = connections;
        gate->local = listeners->doors[i].listener.local;
        gate->crowd.most = share < LEAST_SHARE ? LEAST_SHARE : share;
    }
}

struct http_listeners *http_listeners_start(const struct listeners_options *options, bool https,
                                            const struct http_callbacks *callbacks, struct error *err) {
    struct http_listeners *listeners = calloc(1, sizeof *listeners);
    if (!listeners) {
        error_memory(err);
        return NULL;
    }
    int result = open_sockets(listeners, options, err);
    if (result == 0)
        share_out(listeners, callbacks->connections);
    for (size_t i = 0; i < listeners->count && result == 0; i++)
        result = start_daemon(&listeners->doors[i], https && !listeners->doors[i].listener.local, callbacks, err);
    if (result == 0)
        return listeners;
    http_listeners_stop(listeners);
    return NULL;
}

const char *http_listeners_address(const struct http_listeners *listeners, size_t i, bool *admin) {
    if (i >= listeners->count)
        return NULL;
    *admin = listeners->doors[i].gate.admin;
    return listeners->doors[i].listener.address;
}

/* Connections that the kernel has taken but nobody accepted yet would be reset when the socket closes: they are answered
 * instead. */
static void adopt_backlog(struct MHD_Daemon *daemon, int fd) {
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    for (int client; (client = accept4(fd, (struct sockaddr *)&peer, &size, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0; size = sizeof peer)
        MHD_add_connection(daemon, client, (struct sockaddr *)&peer, size); /* closes client where it fails */
}

void http_listeners_quiesce(struct http_listeners *listeners) {
    for (size_t i = 0; i < listeners->count; i++) {
        struct door *door = &listeners->doors[i];
        int fd = MHD_quiesce_daemon(door->daemon);
        if (fd < 0)
            continue;
        listen_refuse(&door->listener);
        adopt_backlog(door->daemon, fd);
        close(fd);
    }
}

void http_listeners_stop(struct http_listeners *listeners) {
    if (!listeners)
        return;
    for (size_t i = 0; i < listeners->count; i++) {
        struct door *door = &listeners->doors[i];
        listen_remove(&door->listener);
        if (door->daemon)
            MHD_stop_daemon(door->daemon);
        else
            close(door->listener.fd);
    }
    free(listeners);
}
