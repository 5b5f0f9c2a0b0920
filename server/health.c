#include "server/health.h"
#include "server/base/clock.h"
#include "server/http/listen.h"
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

static const char unix_prefix[] = "unix:";

struct connection {
    int fd;
    int64_t until_us;     /* by clock_us() */
    gnutls_session_t tls; /* NULL: plain */
    gnutls_certificate_credentials_t credentials;
};

/* ---- connecting ---- */

/* Waits until the socket is ready for these events; returns -1 with ETIMEDOUT when the time is up. */
static int await(int fd, short events, int64_t until_us) {
    int64_t left_us = until_us - clock_us();
    struct pollfd waiting = {.fd = fd, .events = events};
    int ready = left_us > 0 ? poll(&waiting, 1, (int)(left_us / 1000) + 1) : 0;
    if (ready == 0)
        errno = ETIMEDOUT;
    return ready > 0 ? 0 : -1;
}

/* Returns the connected socket, or -1 with errno. */
static int open_socket(const struct sockaddr *address, socklen_t size, int64_t until_us) {
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    int reason = connect(fd, address, size) == 0 ? 0 : errno;
    socklen_t reason_size = sizeof reason;
    if (reason == EINPROGRESS &&
        (await(fd, POLLOUT, until_us) != 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &reason, &reason_size) != 0))
        reason = errno;
    if (reason == 0)
        return fd;
    close(fd);
    errno = reason;
    return -1;
}

static int connect_unix(const char *path, int64_t until_us, struct error *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (*path == '\0' || strlen(path) >= sizeof address.sun_path)
        return error_set(err, ERROR_INPUT, "\"%.120s\" is not the path of a socket", path);
    strcpy(address.sun_path, path);
    int fd = open_socket((const struct sockaddr *)&address, sizeof address, until_us);
    return fd >= 0 ? fd : error_set(err, ERROR_FILE, "cannot connect: %s", strerror(errno));
}

static int connect_tcp(const char *address, int64_t until_us, struct error *err) {
    char host[LISTEN_HOST_BYTES];
    const char *port;
    if (listen_split(address, host, &port, err) != 0)
        return -1;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *infos;
    int code = getaddrinfo(*host ? host : NULL, port, &hints, &infos);
    if (code != 0)
        return error_set(err, ERROR_INPUT, "%.100s: %s", host, gai_strerror(code));
    int fd = -1;
    for (const struct addrinfo *info = infos; info && fd < 0; info = info->ai_next)
        fd = open_socket(info->ai_addr, info->ai_addrlen, until_us);
    if (fd < 0)
        error_set(err, ERROR_FILE, "cannot connect: %s", strerror(errno));
    freeaddrinfo(infos);
    return fd;
}

static int start_tls(struct connection *to, struct error *err) {
    if (gnutls_certificate_allocate_credentials(&to->credentials) != 0 ||
        gnutls_init(&to->tls, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) != 0 ||
        gnutls_set_default_priority(to->tls) != 0 || gnutls_credentials_set(to->tls, GNUTLS_CRD_CERTIFICATE, to->credentials) != 0)
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

static int open_connection(struct connection *to, const char *addresses, bool https, struct error *err) {
    char address[ADDRESS_BYTES];
    size_t length = strcspn(addresses, ","), prefix = sizeof unix_prefix - 1;
    if (length >= sizeof address)
        return error_set(err, ERROR_INPUT, "\"%.100s\" is not HOST:PORT", addresses);
    memcpy(address, addresses, length);
    address[length] = '\0';
    bool local = strncmp(address, unix_prefix, prefix) == 0;
    to->fd = local ? connect_unix(address + prefix, to->until_us, err) : connect_tcp(address, to->until_us, err);
    if (to->fd < 0)
        return -1;
    return https && !local ? start_tls(to, err) : 0;
}

/* ---- asking ---- */

/* code: a count of bytes, or GnuTLS's error, which becomes -1 with errno. EPROTO: the server does not speak TLS. */
static ssize_t with_errno(ssize_t code) {
    if (code < 0)
        errno = code == GNUTLS_E_AGAIN || code == GNUTLS_E_INTERRUPTED ? EAGAIN : EPROTO;
    return code < 0 ? -1 : code;
}

static int send_request(const struct connection *to, const char *path, struct error *err) {
    char request[REQUEST_BYTES];
    int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
    if (length < 0 || (size_t)length >= sizeof request)
        return error_set(err, ERROR_INPUT, "the path is too long");
    ssize_t sent = to->tls ? with_errno(gnutls_record_send(to->tls, request, (size_t)length))
                           : send(to->fd, request, (size_t)length, MSG_NOSIGNAL); /* an empty socket buffer takes it at once */
    return sent == length ? 0 : error_set(err, ERROR_FILE, "cannot send: %s", strerror(errno));
}

/* Reads the status line and ignores the rest. */
static int read_status(const struct connection *from, int *status, struct error *err) {
    char line[STATUS_LINE_BYTES] = "";
    for (size_t length = 0; length < sizeof line - 1 && !strchr(line, '\n');) {
        char *at = line + length;
        size_t room = sizeof line - 1 - length;
        ssize_t count = from->tls ? with_errno(gnutls_record_recv(from->tls, at, room)) : recv(from->fd, at, room, 0);
        if (count < 0 && errno == EAGAIN && await(from->fd, POLLIN, from->until_us) == 0)
            continue;
        if (count < 0)
            return error_set(err, ERROR_FILE, "no reply: %s", strerror(errno));
        if (count == 0)
            break;
        length += (size_t)count;
        line[length] = '\0';
    }
    if (sscanf(line, "HTTP/1.%*1[01] %3d", status) != 1)
        return error_set(err, ERROR_FILE, "the reply is not HTTP");
    return 0;
}

int health_ask(const char *addresses, const char *path, bool https, int timeout_ms, struct error *err) {
    struct connection server = {.fd = -1, .until_us = clock_us() + (int64_t)timeout_ms * 1000};
    int status = 0, result = open_connection(&server, addresses, https, err);
    if (result == 0 && (send_request(&server, path, err) != 0 || read_status(&server, &status, err) != 0))
        result = -1;
    else if (result == 0 && status != 200)
        result = error_set(err, ERROR_FILE, "%.100s answered with status %d", path, status);
    if (server.tls)
        gnutls_deinit(server.tls);
    if (server.credentials)
        gnutls_certificate_free_credentials(server.credentials);
    if (server.fd >= 0)
        close(server.fd);
    return result;
}
