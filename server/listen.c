#include "server/listen.h"
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 511, HOST_BYTES = 256 };

/* "host:port" or "[host]:port"; the port is what follows the last ':'. */
static int split(const char *where, char host[HOST_BYTES], const char **port, struct error *err) {
    const char *colon = strrchr(where, ':');
    size_t length = colon ? (size_t)(colon - where) : 0;
    if (!colon || colon[1] == '\0' || length >= HOST_BYTES)
        return error_set(err, ERROR_INPUT, "\"%.100s\" is not HOST:PORT", where);
    if (length >= 2 && where[0] == '[' && where[length - 1] == ']') {
        where++;
        length -= 2;
    }
    memcpy(host, where, length);
    host[length] = '\0';
    *port = colon + 1;
    return 0;
}

static int open_socket(const struct addrinfo *info) {
    int fd = socket(info->ai_family, info->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, info->ai_protocol);
    if (fd < 0)
        return -1;
    int on = 1; /* a restart need not wait for connections of the last run to time out */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, info->ai_addr, info->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
        int reason = errno;
        close(fd);
        errno = reason;
        return -1;
    }
    return fd;
}

static int write_address(int fd, char address[LISTEN_ADDRESS_BYTES]) {
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    char host[48], port[8];
    if (getsockname(fd, (struct sockaddr *)&bound, &size) != 0 ||
        getnameinfo((struct sockaddr *)&bound, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return -1;
    snprintf(address, LISTEN_ADDRESS_BYTES, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
    return 0;
}

int listen_open(const char *where, char address[LISTEN_ADDRESS_BYTES], struct error *err) {
    char host[HOST_BYTES];
    const char *port = NULL;
    if (split(where, host, &port, err) != 0)
        return -1;
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *infos;
    int code = getaddrinfo(host[0] ? host : NULL, port, &hints, &infos);
    if (code != 0)
        return error_set(err, ERROR_INPUT, "cannot listen on %.100s: %s", where, gai_strerror(code));
    int fd = -1;
    for (const struct addrinfo *info = infos; info && fd < 0; info = info->ai_next)
        fd = open_socket(info);
    if (fd >= 0 && write_address(fd, address) != 0) {
        close(fd);
        fd = -1;
    }
    if (fd < 0)
        error_set(err, ERROR_FILE, "cannot listen on %.100s: %s", where, strerror(errno));
    freeaddrinfo(infos);
    return fd;
}
