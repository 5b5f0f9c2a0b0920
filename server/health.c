#include "server/health.h"
#include "server/clock.h"
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ADDRESS_BYTES = 256, REQUEST_BYTES = 1024, STATUS_LINE_BYTES = 64 };

static const char unix_prefix[] = "unix:";

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
    if (strncmp(address, unix_prefix, sizeof unix_prefix - 1) == 0)
        return connect_unix(address + sizeof unix_prefix - 1, until_us, err);
    return connect_tcp(address, until_us, err);
}

/* A request is short enough for an empty socket to take it in one piece. */
static int send_request(int fd, const char *path, struct error *err) {
    char request[REQUEST_BYTES];
    int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
    if (length < 0 || (size_t)length >= sizeof request)
        return error_set(err, ERROR_INPUT, "the path is too long");
    if (send(fd, request, (size_t)length, MSG_NOSIGNAL) != length)
        return error_set(err, ERROR_FILE, "cannot send: %s", strerror(errno));
    return 0;
}

/* Reads the status line; what follows it is nobody's concern. */
static int read_status(int fd, int64_t until_us, int *status, struct error *err) {
    char line[STATUS_LINE_BYTES] = "";
    size_t length = 0;
    while (length < sizeof line - 1 && !strchr(line, '\n')) {
        ssize_t count = await(fd, POLLIN, until_us) == 0 ? recv(fd, line + length, sizeof line - 1 - length, 0) : -1;
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

int health_ask(const char *address, const char *path, int timeout_ms, struct error *err) {
    int64_t until_us = clock_us() + (int64_t)timeout_ms * 1000;
    int fd = connect_first(address, until_us, err), status = 0, result = -1;
    if (fd < 0)
        return -1;
    if (send_request(fd, path, err) == 0 && read_status(fd, until_us, &status, err) == 0)
        result = status == 200 ? 0 : error_set(err, ERROR_FILE, "%.100s says status %d", path, status);
    close(fd);
    return result;
}
