/* This module hides what an address is, and how its sockets are opened and closed. */
#include "server/base/clock.h"
#include "server/http/connection.h"
#include "server/http/http.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

/* BACKLOG: as many as Linux allows by default. A handshake for which there is no room is tried
 * again after a second, then two. */
enum { BACKLOG = 4096, PORT_DIGITS = 5, LEAST_SHARE = 2 };

static void close_quietly(int fd) {
    int reason = errno;
    close(fd);
    errno = reason;
}

/* ---- TCP ---- */

int listen_split(const char *where, char host[LISTEN_HOST_BYTES], const char **port,
                 struct error *err) {
    const char *colon = strrchr(where, ':'), *begin = where;
    size_t length = colon ? (size_t)(colon - where) : 0,
           digits = colon ? strspn(colon + 1, "0123456789") : 0;
    if (!colon || colon[1] == '\0' || length >= LISTEN_HOST_BYTES)
        return error_set(err, ERROR_INPUT, "\"%.100s\" is not HOST:PORT", where);
    if (digits == 0 || digits > PORT_DIGITS || colon[1 + digits] != '\0' ||
        strtoul(colon + 1, NULL, 10) > UINT16_MAX)
        return error_set(err, ERROR_INPUT,
                         "the port must be a number from 0 to 65535, got \"%.100s\"", where);
    if (length >= 2 && where[0] == '[' && where[length - 1] == ']') {
        begin++;
        length -= 2;
    }
    memcpy(host, begin, length);
    host[length] = '\0';
    *port = colon + 1;
    return 0;
}

static int open_tcp(const char *where, struct error *err) {
    char host[LISTEN_HOST_BYTES];
    const char *port;
    if (listen_split(where, host, &port, err) != 0)
        return -1;
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV},
                    *infos;
    int code = getaddrinfo(host[0] ? host : NULL, port, &hints, &infos);
    if (code != 0)
        return error_set(err, ERROR_INPUT, "cannot listen on %.100s: %s", where,
                         gai_strerror(code));
    int fd = -1;
    for (const struct addrinfo *info = infos; info && fd < 0; info = info->ai_next) {
        int opened = socket(info->ai_family, info->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                            info->ai_protocol);
        if (opened < 0)
            continue;
        int on = 1; /* a restart need not wait until connections of the last run time out */
        setsockopt(opened, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (info->ai_family == AF_INET6) /* so that one can listen on both 0.0.0.0 and [::] */
            setsockopt(opened, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
        if (bind(opened, info->ai_addr, info->ai_addrlen) == 0 && listen(opened, BACKLOG) == 0)
            fd = opened;
        else
            close_quietly(opened);
    }
    if (fd < 0)
        error_set(err, ERROR_FILE, "cannot listen on %.100s: %s", where, strerror(errno));
    freeaddrinfo(infos);
    return fd;
}

/* ---- Unix ---- */

/* Removes a socket that a killed daemon left and on which no process listens. */
static bool remove_dead(const struct sockaddr_un *address) {
    struct stat file;
    if (lstat(address->sun_path, &file) != 0 || !S_ISSOCK(file.st_mode))
        return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    bool dead = connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 &&
                errno == ECONNREFUSED;
    close(fd);
    return dead && unlink(address->sun_path) == 0;
}

static int open_unix(const char *path, mode_t mode, struct listener *listener, struct error *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (*path == '\0' || strlen(path) >= sizeof address.sun_path)
        return error_set(err, ERROR_INPUT,
                         "the path of a Unix socket must have 1 to %zu bytes, got \"%.100s\"",
                         sizeof address.sun_path - 1, path);
    strcpy(address.sun_path, path);
    snprintf(listener->address, LISTEN_ADDRESS_BYTES, LISTEN_UNIX_PREFIX "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), bound = -1;
    if (fd >= 0) { /* the umask sets the permissions instead of chmod, so that others cannot connect
                      before a chmod */
        mode_t before = umask(0777 & ~mode);
        bound = bind(fd, (const struct sockaddr *)&address, sizeof address);
        if (bound != 0 && errno == EADDRINUSE) {
            if (remove_dead(&address))
                bound = bind(fd, (const struct sockaddr *)&address, sizeof address);
            else
                errno = EADDRINUSE;
        }
        umask(before);
    }
    struct stat file;
    if (bound == 0 && lstat(path, &file) == 0) {
        listener->made = true;
        listener->device = file.st_dev;
        listener->inode = file.st_ino;
        if (listen(fd, BACKLOG) == 0)
            return fd;
    }
    if (fd >= 0)
        close_quietly(fd);
    return error_set(err, ERROR_FILE, "cannot listen on " LISTEN_UNIX_PREFIX "%.100s: %s", path,
                     strerror(errno));
}

/* ---- opening and closing ---- */

static int write_address(int fd, struct listener *listener) {
    struct sockaddr_storage bound = {0};
    socklen_t size = sizeof bound;
    char host[48], port[8];
    if (getsockname(fd, (struct sockaddr *)&bound, &size) != 0)
        return -1;
    if (bound.ss_family == AF_UNIX) {
        const struct sockaddr_un *local = (const struct sockaddr_un *)&bound;
        listener->local = true;
        snprintf(listener->address, LISTEN_ADDRESS_BYTES, LISTEN_UNIX_PREFIX "%.*s",
                 (int)sizeof local->sun_path, local->sun_path);
        return 0;
    }
    if (getnameinfo((struct sockaddr *)&bound, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return -1;
    snprintf(listener->address, LISTEN_ADDRESS_BYTES, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host,
             port);
    return 0;
}

int listen_open(const char *where, mode_t mode, struct listener *listener, struct error *err) {
    struct listener opened = {0};
    size_t prefix = sizeof LISTEN_UNIX_PREFIX - 1;
    if (strncmp(where, LISTEN_UNIX_PREFIX, prefix) == 0)
        opened.fd = open_unix(where + prefix, mode, &opened, err);
    else
        opened.fd = open_tcp(where, err);
    if (opened.fd >= 0 && write_address(opened.fd, &opened) == 0) {
        opened.own = true;
        *listener = opened;
        return 0;
    }
    error_set(err, ERROR_FILE, "cannot determine the address of %.100s: %s", where,
              strerror(errno));
    if (opened.fd >= 0)
        close(opened.fd);
    listen_remove(&opened);
    return -1;
}

void listen_remove(struct listener *listener) {
    const char *path = listener->address + sizeof LISTEN_UNIX_PREFIX - 1;
    struct stat file;
    if (listener->made && lstat(path, &file) == 0 && file.st_dev == listener->device &&
        file.st_ino == listener->inode)
        unlink(path);
    listener->made = false;
}

void listen_refuse(struct listener *listener) {
    struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog program = {1, &nothing};
    listen_remove(listener);
    if (!listener->own)
        return;
    if (listener->local)
        shutdown(listener->fd, SHUT_RD);
    else
        setsockopt(listener->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

/* ---- all of them ---- */

struct door {
    struct listener listener;
    struct gate gate;
    size_t threads;
    struct MHD_Daemon *daemon; /* NULL: not started; otherwise the daemon closes the socket */
};

struct http_listeners {
    struct door doors[LISTEN_MAX];
    size_t count;
};

static int open_address(struct http_listeners *listeners, const char *address, mode_t mode,
                        bool admin, struct error *err) {
    struct door *door = &listeners->doors[listeners->count];
    if (listeners->count == LISTEN_MAX)
        return error_set(err, ERROR_INPUT, "at most %d listen addresses are allowed", LISTEN_MAX);
    if (listen_open(address, mode, &door->listener, err) != 0)
        return -1;
    door->gate.admin = admin;
    listeners->count++;
    return 0;
}

/* Takes over the sockets passed by systemd (LISTEN_FDS), removes the variables, and opens all
 * addresses. */
static int open_sockets(struct http_listeners *listeners, const struct listeners_options *options,
                        struct error *err) {
    mode_t mode = (mode_t)options->socket_mode;
    int count = sd_listen_fds(1);
    if (count < 0)
        return error_set(err, ERROR_FILE, "cannot receive the sockets passed by systemd: %s",
                         strerror(-count));
    if (count > LISTEN_MAX)
        return error_set(err, ERROR_FILE, "systemd passed %d sockets, more than %d", count,
                         LISTEN_MAX);
    for (; listeners->count < (size_t)count; listeners->count++) {
        int fd = SD_LISTEN_FDS_START + (int)listeners->count;
        struct listener *listener = &listeners->doors[listeners->count].listener;
        *listener = (struct listener){.fd = fd};
        if (sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, 1) <= 0)
            return error_set(err, ERROR_FILE,
                             "descriptor %d, passed by systemd, is not a listening stream socket",
                             fd);
        int flags = fcntl(fd, F_GETFL);
        if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
            write_address(fd, listener) != 0)
            return error_set(err, ERROR_FILE, "cannot use descriptor %d, passed by systemd: %s", fd,
                             strerror(errno));
    }

    if (options->listen->count == 0 && listeners->count == 0 &&
        open_address(listeners, options->standard, mode, false, err) != 0)
        return -1;
    for (int admin = 0; admin < 2; admin++) {
        const struct name_list *addresses = admin ? options->admin_listen : options->listen;
        for (size_t i = 0; i < addresses->count; i++)
            if (open_address(listeners, addresses->names[i], mode, admin != 0, err) != 0)
                return -1;
    }
    return 0;
}

/* The daemons start under SCHED_BATCH, which libmicrohttpd's threads inherit. A thread that wakes
 * then does not preempt a worker in the middle of a step. It runs within a scheduler tick and
 * handles everything that has arrived by then. If the system forbids this policy, it runs at once.
 */
struct http_listeners *http_listeners_start(const struct listeners_options *options, bool https,
                                            const struct http_callbacks *callbacks,
                                            struct error *err) {
    struct http_listeners *listeners = calloc(1, sizeof *listeners);
    if (!listeners) {
        error_memory(err);
        return NULL;
    }
    int result = open_sockets(listeners, options, err), policy = sched_getscheduler(0);
    struct sched_param parameters = {0};
    bool set = policy == SCHED_OTHER && sched_setscheduler(0, SCHED_BATCH, &parameters) == 0;
    size_t admins = 0;
    for (size_t i = 0; i < listeners->count; i++)
        admins += listeners->doors[i].gate.admin;
    for (size_t i = 0; i < listeners->count && result == 0; i++) {
        struct connections *connections = callbacks->connections;
        struct door *door = &listeners->doors[i];

        /* The sockets share the connections equally, but each has room for at least one connection
         * and the next one. */
        size_t share = door->gate.admin ? connections->most_admin / admins
                                        : connections->most / (listeners->count - admins);
        door->gate.connections = connections;
        door->gate.local = door->listener.local;
        door->gate.crowd.most = share < LEAST_SHARE ? LEAST_SHARE : share;

        /* poll is used instead of epoll: libmicrohttpd 0.9.75 uses epoll edge-triggered and misses
         * a hang-up that arrives together with data */
        bool tls = https && !door->listener.local;
        unsigned flags =
            MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | (tls ? MHD_USE_TLS : 0);
        struct MHD_OptionItem items[CONNECTION_OPTIONS];
        connection_options(&door->gate, items);

        /* libmicrohttpd divides the connections among the threads; a pool has at least two */
        size_t most_threads = door->gate.admin ? 1 : door->gate.crowd.most / LEAST_SHARE;
        unsigned threads =
            (unsigned)(options->threads < most_threads ? options->threads : most_threads);
        door->threads = threads;
        const struct MHD_OptionItem pool[] = {
            {threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, threads, NULL},
            {MHD_OPTION_END, 0, NULL}};
        /* the options after the first END are for HTTPS only */
        door->daemon = MHD_start_daemon(
            flags, 0, connection_admits, &door->gate, callbacks->handle, callbacks->closure,
            MHD_OPTION_LISTEN_SOCKET, door->listener.fd, MHD_OPTION_NOTIFY_COMPLETED,
            callbacks->completed, callbacks->closure, MHD_OPTION_ARRAY, items, MHD_OPTION_ARRAY,
            pool, tls ? MHD_OPTION_HTTPS_PRIORITIES : MHD_OPTION_END, TLS_PRIORITIES,
            MHD_OPTION_HTTPS_CERT_CALLBACK2, tls_retrieve, MHD_OPTION_END);
        if (!door->daemon)
            result =
                error_set(err, ERROR_MEMORY, "cannot start an HTTP thread: %s", strerror(errno));
    }
    if (set)
        sched_setscheduler(0, policy, &parameters);
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

/* Connections that the kernel has accepted would be reset when the socket closes, so they are
 * answered instead, as far as there are places. The threads divide the places, and libmicrohttpd
 * before 1.0.1 keeps a lock forever if one of them gets more than its part. So there are no more
 * than one part may have, with those that the threads have and may be accepting themselves.
 * MHD_add_connection closes a connection on failure. */
static void take_accepted(const struct door *door, int fd) {
    const struct gate *gate = &door->gate;
    size_t part = gate->crowd.most / door->threads,
           taken = cutoff_count(gate->connections->cutoff, &gate->crowd) + door->threads;
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    for (int client; taken < part && (client = accept4(fd, (struct sockaddr *)&peer, &size,
                                                       SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;
         size = sizeof peer, taken++)
        MHD_add_connection(door->daemon, client, (struct sockaddr *)&peer, size);
}

void http_listeners_quiesce(struct http_listeners *listeners) {
    for (size_t i = 0; i < listeners->count; i++) {
        struct door *door = &listeners->doors[i];
        int fd = MHD_quiesce_daemon(door->daemon);
        if (fd < 0)
            continue;
        listen_refuse(&door->listener);
        take_accepted(door, fd);
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
