#include "server/outgoing.h"
#include "server/base/clock.h"
#include "server/http/listen.h"
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ADDRESS_BYTES = 256 };

static const char unix_prefix[] = "unix:";

static bool is_unix(const char *address) {
    return strncmp(address, unix_prefix, sizeof unix_prefix - 1) == 0;
}

/* Waits until the socket is ready for these events; the time is up with -1 and ETIMEDOUT. */
static int await(int fd, short events, int64_t until_us) {
    int64_t left_us = until_us - clock_us();
    struct pollfd waiting = {.fd = fd, .events = events};
    int ready = left_us > 0 ? poll(&waiting, 1, (int)(left_us / 1000) + 1) : 0;
    if (ready == 0)
        errno = ETIMEDOUT;
    return ready > 0 ? 0 : -1;
}

/* Returns the connected socket, or -1 with errno. */
static int open_connection(const struct sockaddr *address, socklen_t size, int64_t until_us) {
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
    int fd = open_connection((const struct sockaddr *)&address, sizeof address, until_us);
    return fd >= 0 ? fd : error_set(err, ERROR_FILE, "cannot connect: %s", strerror(errno));
}

/* address: "host:port" or "[host]:port", is cut up. */
static int connect_tcp(char *address, int64_t until_us, struct error *err) {
    char *host = address, *colon = strrchr(address, ':');
    if (!colon || colon[1] == '\0')
        return error_set(err, ERROR_INPUT, "\"%.100s\" is not HOST:PORT", address);
    if (!listen_is_port(colon + 1))
        return error_set(err, ERROR_INPUT, "the port must be a number from 0 to 65535, got \"%.100s\"", address);
    *colon = '\0';
    if (*host == '[' && colon[-1] == ']') {
        colon[-1] = '\0';
        host++;
    }
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *infos;
    int code = getaddrinfo(*host ? host : NULL, colon + 1, &hints, &infos);
    if (code != 0)
        return error_set(err, ERROR_INPUT, "%.100s: %s", host, gai_strerror(code));
    int fd = -1;
    for (const struct addrinfo *info = infos; info && fd < 0; info = info->ai_next)
        fd = open_connection(info->ai_addr, info->ai_addrlen, until_us);
    if (fd < 0)
        error_set(err, ERROR_FILE, "cannot connect: %s", strerror(errno));
    freeaddrinfo(infos);
    return fd;
}

static int connect_first(const char *addresses, int64_t until_us, struct error *err) {
    char address[ADDRESS_BYTES];
    size_t length = strcspn(addresses, ",");
    if (length >= sizeof address)
        return error_set(err, ERROR_INPUT, "\"%.100s\" is not HOST:PORT", addresses);
    memcpy(address, addresses, length);
    address[length] = '\0';
    if (is_unix(address))
        return connect_unix(address + sizeof unix_prefix - 1, until_us, err);
    return connect_tcp(address, until_us, err);
}

static int shake_hands(const struct outgoing *outgoing, struct error *err) {
    int code;
    while ((code = gnutls_handshake(outgoing->tls)) != 0 && !gnutls_error_is_fatal(code)) {
        short events = gnutls_record_get_direction(outgoing->tls) ? POLLOUT : POLLIN;
        if (code == GNUTLS_E_AGAIN && await(outgoing->fd, events, outgoing->until_us) != 0)
            return error_set(err, ERROR_FILE, "no reply: %s", strerror(errno));
    }
    return code == 0 ? 0 : error_set(err, ERROR_FILE, "no TLS: %s", gnutls_strerror(code));
}

static int start_tls(struct outgoing *outgoing, struct error *err) {
    if (gnutls_certificate_allocate_credentials(&outgoing->credentials) != 0 ||
        gnutls_init(&outgoing->tls, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) != 0 ||
        gnutls_set_default_priority(outgoing->tls) != 0 ||
        gnutls_credentials_set(outgoing->tls, GNUTLS_CRD_CERTIFICATE, outgoing->credentials) != 0)
        return error_memory(err);
    gnutls_transport_set_int(outgoing->tls, outgoing->fd);
    return shake_hands(outgoing, err);
}

int outgoing_open(struct outgoing *outgoing, const char *addresses, bool tls, int timeout_ms, struct error *err) {
    *outgoing = (struct outgoing){.until_us = clock_us() + (int64_t)timeout_ms * 1000};
    outgoing->fd = connect_first(addresses, outgoing->until_us, err);
    if (outgoing->fd < 0)
        return -1;
    if (!tls || is_unix(addresses) || start_tls(outgoing, err) == 0)
        return 0;
    outgoing_close(outgoing);
    return -1;
}

void outgoing_close(struct outgoing *outgoing) {
    if (outgoing->tls)
        gnutls_deinit(outgoing->tls);
    if (outgoing->credentials)
        gnutls_certificate_free_credentials(outgoing->credentials);
    close(outgoing->fd);
}

/* code: a count of bytes, or GnuTLS's reason. */
static ssize_t with_errno(ssize_t code) {
    if (code < 0)
        errno = code == GNUTLS_E_AGAIN || code == GNUTLS_E_INTERRUPTED ? EAGAIN : EPROTO;
    return code < 0 ? -1 : code;
}

ssize_t outgoing_send(const struct outgoing *outgoing, const char *bytes, size_t size) {
    return outgoing->tls ? with_errno(gnutls_record_send(outgoing->tls, bytes, size))
                         : send(outgoing->fd, bytes, size, MSG_NOSIGNAL);
}

ssize_t outgoing_receive(const struct outgoing *outgoing, char *bytes, size_t size) {
    for (;;) {
        ssize_t count =
            outgoing->tls ? with_errno(gnutls_record_recv(outgoing->tls, bytes, size)) : recv(outgoing->fd, bytes, size, 0);
        if (count >= 0 || errno != EAGAIN || await(outgoing->fd, POLLIN, outgoing->until_us) != 0)
            return count;
    }
}
