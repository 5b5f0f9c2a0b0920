/* This module hides what an address is: how its sockets are opened and closed, and how a client
 * reaches the daemon there. */
#include "server/base/clock.h"
#include "server/http/connection.h"
#include "server/http/http.h"
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
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

#define UNIX_PREFIX "unix:"

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
    snprintf(listener->address, LISTEN_ADDRESS_BYTES, UNIX_PREFIX "%s", path);
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
    return error_set(err, ERROR_FILE, "cannot listen on " UNIX_PREFIX "%.100s: %s", path,
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
        snprintf(listener->address, LISTEN_ADDRESS_BYTES, UNIX_PREFIX "%.*s",
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
    size_t prefix = sizeof UNIX_PREFIX - 1;
    if (strncmp(where, UNIX_PREFIX, prefix) == 0)
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
    const char *path = listener->address + sizeof UNIX_PREFIX - 1;
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
        /* the options after the first END are for HTTPS only */
        door->daemon = MHD_start_daemon(
            flags, 0, NULL, NULL, callbacks->handle, callbacks->closure, MHD_OPTION_LISTEN_SOCKET,
            door->listener.fd, MHD_OPTION_NOTIFY_COMPLETED, callbacks->completed,
            callbacks->closure, MHD_OPTION_ARRAY, items,
            tls ? MHD_OPTION_HTTPS_PRIORITIES : MHD_OPTION_END, TLS_PRIORITIES,
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

void http_listeners_quiesce(struct http_listeners *listeners) {
    for (size_t i = 0; i < listeners->count; i++) {
        struct door *door = &listeners->doors[i];
        int fd = MHD_quiesce_daemon(door->daemon);
        if (fd < 0)
            continue;
        listen_refuse(&door->listener);

        /* Connections that the kernel has accepted would be reset when the socket closes, so they
         * are answered instead. MHD_add_connection closes a client on failure. */
        struct sockaddr_storage peer;
        socklen_t size = sizeof peer;
        for (int client; (client = accept4(fd, (struct sockaddr *)&peer, &size,
                                           SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;
             size = sizeof peer)
            MHD_add_connection(door->daemon, client, (struct sockaddr *)&peer, size);
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

/* ---- asking a running daemon ---- */

enum { ADDRESS_BYTES = 256, REQUEST_BYTES = 1024, STATUS_LINE_BYTES = 64 };

struct connection {
    int fd;
    int64_t until_us;     /* by clock_us() */
    gnutls_session_t tls; /* NULL: plain */
    gnutls_certificate_credentials_t credentials;
};

/* Waits until the socket is ready for these events; returns -1 with errno, which is ETIMEDOUT when
 * the time is up. */
static int await(int fd, short events, int64_t until_us) {
    int64_t left_us = until_us - clock_us();
    struct pollfd waiting = {.fd = fd, .events = events};
    int ready = left_us > 0 ? poll(&waiting, 1, (int)(left_us / 1000) + 1) : 0;
    if (ready == 0)
        errno = ETIMEDOUT;
    return ready > 0 ? 0 : -1;
}

/* Returns the connected socket, or -1 with errno. */
static int connect_socket(const struct sockaddr *address, socklen_t size, int64_t until_us) {
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    int reason = connect(fd, address, size) == 0 ? 0 : errno;
    socklen_t reason_size = sizeof reason;
    if (reason == EINPROGRESS && (await(fd, POLLOUT, until_us) != 0 ||
                                  getsockopt(fd, SOL_SOCKET, SO_ERROR, &reason, &reason_size) != 0))
        reason = errno;
    if (reason == 0)
        return fd;
    close(fd);
    errno = reason;
    return -1;
}

static int start_tls(struct connection *to, struct error *err) {
    if (gnutls_certificate_allocate_credentials(&to->credentials) != 0 ||
        gnutls_init(&to->tls, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) != 0 ||
        gnutls_set_default_priority(to->tls) != 0 ||
        gnutls_credentials_set(to->tls, GNUTLS_CRD_CERTIFICATE, to->credentials) != 0)
        return error_memory(err);
    gnutls_transport_set_int(to->tls, to->fd);
    int code;
    while ((code = gnutls_handshake(to->tls)) != 0 && !gnutls_error_is_fatal(code)) {
        short events = gnutls_record_get_direction(to->tls) ? POLLOUT : POLLIN;
        if (code == GNUTLS_E_AGAIN && await(to->fd, events, to->until_us) != 0)
            return error_set(err, ERROR_FILE, "no reply: %s", strerror(errno));
    }
    return code == 0 ? 0 : error_set(err, ERROR_FILE, "no TLS: %s", gnutls_strerror(code));
}

static int open_connection(struct connection *to, const char *addresses, bool https,
                           struct error *err) {
    char address[ADDRESS_BYTES];
    size_t length = strcspn(addresses, ","), prefix = sizeof UNIX_PREFIX - 1;
    if (length >= sizeof address)
        return error_set(err, ERROR_INPUT, "\"%.100s\" is not HOST:PORT", addresses);
    memcpy(address, addresses, length);
    address[length] = '\0';
    if (strncmp(address, UNIX_PREFIX, prefix) == 0) {
        const char *path = address + prefix;
        struct sockaddr_un local = {.sun_family = AF_UNIX};
        if (*path == '\0' || strlen(path) >= sizeof local.sun_path)
            return error_set(err, ERROR_INPUT, "\"%.120s\" is not the path of a socket", path);
        strcpy(local.sun_path, path);
        to->fd = connect_socket((const struct sockaddr *)&local, sizeof local, to->until_us);
        return to->fd >= 0 ? 0 : error_set(err, ERROR_FILE, "cannot connect: %s", strerror(errno));
    }

    char host[LISTEN_HOST_BYTES];
    const char *port;
    if (listen_split(address, host, &port, err) != 0)
        return -1;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *infos;
    int code = getaddrinfo(*host ? host : NULL, port, &hints, &infos);
    if (code != 0)
        return error_set(err, ERROR_INPUT, "%.100s: %s", host, gai_strerror(code));
    for (const struct addrinfo *info = infos; info && to->fd < 0; info = info->ai_next)
        to->fd = connect_socket(info->ai_addr, info->ai_addrlen, to->until_us);
    if (to->fd < 0)
        error_set(err, ERROR_FILE, "cannot connect: %s", strerror(errno));
    freeaddrinfo(infos);
    return to->fd < 0 ? -1 : https ? start_tls(to, err) : 0;
}

/* Returns a count of bytes unchanged, and -1 with errno for an error of GnuTLS: EAGAIN to try
 * again, or else EPROTO. */
static ssize_t with_errno(ssize_t code) {
    if (code < 0)
        errno = code == GNUTLS_E_AGAIN || code == GNUTLS_E_INTERRUPTED ? EAGAIN : EPROTO;
    return code < 0 ? -1 : code;
}

/* Sends the request and reads the status line; the rest of the reply is ignored. */
static int ask(const struct connection *server, const char *path, int *status, struct error *err) {
    char request[REQUEST_BYTES], line[STATUS_LINE_BYTES] = "";
    int length = snprintf(request, sizeof request,
                          "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
    if (length < 0 || (size_t)length >= sizeof request)
        return error_set(err, ERROR_INPUT, "the path is too long");
    /* An empty socket buffer takes the whole request at once. */
    ssize_t sent = server->tls
                       ? with_errno(gnutls_record_send(server->tls, request, (size_t)length))
                       : send(server->fd, request, (size_t)length, MSG_NOSIGNAL);
    if (sent != length)
        return error_set(err, ERROR_FILE, "cannot send: %s", strerror(errno));

    for (size_t got = 0; got < sizeof line - 1 && !strchr(line, '\n');) {
        char *at = line + got;
        size_t room = sizeof line - 1 - got;
        ssize_t count = server->tls ? with_errno(gnutls_record_recv(server->tls, at, room))
                                    : recv(server->fd, at, room, 0);
        if (count < 0 && errno == EAGAIN && await(server->fd, POLLIN, server->until_us) == 0)
            continue;
        if (count < 0)
            return error_set(err, ERROR_FILE, "no reply: %s", strerror(errno));
        if (count == 0)
            break;
        got += (size_t)count;
        line[got] = '\0';
    }
    if (sscanf(line, "HTTP/1.%*1[01] %3d", status) != 1)
        return error_set(err, ERROR_FILE, "the reply is not HTTP");
    return 0;
}

int health_ask(const char *addresses, const char *path, bool https, int timeout_ms,
               struct error *err) {
    struct connection server = {.fd = -1, .until_us = clock_us() + (int64_t)timeout_ms * 1000};
    int status = 0, result = open_connection(&server, addresses, https, err);
    if (result == 0)
        result = ask(&server, path, &status, err);
    if (result == 0 && status != 200)
        result = error_set(err, ERROR_FILE, "%.100s answered with status %d", path, status);
    if (server.tls)
        gnutls_deinit(server.tls);
    if (server.credentials)
        gnutls_certificate_free_credentials(server.credentials);
    if (server.fd >= 0)
        close(server.fd);
    return result;
}
