/* This module hides how a running daemon is asked for its health. */
#include "server/base/clock.h"
#include "server/http/http.h"
#include <errno.h>
#include <gnutls/gnutls.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

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
    size_t length = strcspn(addresses, ","), prefix = sizeof LISTEN_UNIX_PREFIX - 1;
    if (length >= sizeof address)
        return error_set(err, ERROR_INPUT, "\"%.100s\" is not HOST:PORT", addresses);
    memcpy(address, addresses, length);
    address[length] = '\0';
    if (strncmp(address, LISTEN_UNIX_PREFIX, prefix) == 0) {
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
