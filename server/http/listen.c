#include "server/http/listen.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

enum { BACKLOG = 511, HOST_BYTES = 256, PORT_DIGITS = 5 };

#define UNIX_PREFIX "unix:"

static void close_quietly(int fd) {
    int reason = errno;
    close(fd);
    errno = reason;
}

static int write_address(int fd, struct listener *listener) {
    struct sockaddr_storage bound = {0};
    socklen_t size = sizeof bound;
    char host[48], port[8];
    if (getsockname(fd, (struct sockaddr *)&bound, &size) != 0)
        return -1;
    if (bound.ss_family == AF_UNIX) {
        const struct sockaddr_un *local = (const struct sockaddr_un *)&bound;
        listener->local = true;
        snprintf(listener->address, LISTEN_ADDRESS_BYTES, UNIX_PREFIX "%.*s", (int)sizeof local->sun_path, local->sun_path);
        return 0;
    }
    if (getnameinfo((struct sockaddr *)&bound, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return -1;
    snprintf(listener->address, LISTEN_ADDRESS_BYTES, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
    return 0;
}

/* ---- TCP ---- */

bool listen_is_port(const char *port) {
    size_t digits = strspn(port, "0123456789");
    return digits > 0 && digits <= PORT_DIGITS && port[digits] == '\0' && strtoul(port, NULL, 10) <= UINT16_MAX;
}

/* "host:port" or "[host]:port"; the port is what follows the last ':'. */
static int split_address(const char *where, char host[HOST_BYTES], const char **port, struct error *err) {
    const char *colon = strrchr(where, ':');
    size_t length = colon ? (size_t)(colon - where) : 0;
    if (!colon || colon[1] == '\0' || length >= HOST_BYTES)
        return error_set(err, ERROR_INPUT, "\"%.100s\" is not HOST:PORT", where);
    if (!listen_is_port(colon + 1))
        return error_set(err, ERROR_INPUT, "the port must be a number from 0 to 65535, got \"%.100s\"", where);
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
    if (info->ai_family == AF_INET6) /* 0.0.0.0 and [::] can both be listened on */
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    close_quietly(fd);
    return -1;
}

static int open_tcp(const char *where, struct error *err) {
    char host[HOST_BYTES];
    const char *port = NULL;
    if (split_address(where, host, &port, err) != 0)
        return -1;
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *infos;
    int code = getaddrinfo(host[0] ? host : NULL, port, &hints, &infos);
    if (code != 0)
        return error_set(err, ERROR_INPUT, "cannot listen on %.100s: %s", where, gai_strerror(code));
    int fd = -1;
    for (const struct addrinfo *info = infos; info && fd < 0; info = info->ai_next)
        fd = open_socket(info);
    if (fd < 0)
        error_set(err, ERROR_FILE, "cannot listen on %.100s: %s", where, strerror(errno));
    freeaddrinfo(infos);
    return fd;
}

/* ---- Unix ---- */

/* A daemon that was killed leaves its socket: nobody answers there. */
static bool remove_dead(const struct sockaddr_un *address) {
    struct stat file;
    if (lstat(address->sun_path, &file) != 0 || !S_ISSOCK(file.st_mode))
        return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    bool dead = connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 && errno == ECONNREFUSED;
    close(fd);
    return dead && unlink(address->sun_path) == 0;
}

/* Through the umask rather than chmod: at no moment may others connect. */
static int bind_file(int fd, const struct sockaddr_un *address, mode_t mode) {
    mode_t before = umask(0777 & ~mode);
    int result = bind(fd, (const struct sockaddr *)address, sizeof *address);
    if (result != 0 && errno == EADDRINUSE) {
        if (remove_dead(address))
            result = bind(fd, (const struct sockaddr *)address, sizeof *address);
        else
            errno = EADDRINUSE;
    }
    umask(before);
    return result;
}

static int open_file(const struct sockaddr_un *address, mode_t mode, struct listener *listener) {
    struct stat file;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (bind_file(fd, address, mode) == 0 && lstat(address->sun_path, &file) == 0) {
        listener->made = true;
        listener->device = file.st_dev;
        listener->inode = file.st_ino;
        if (listen(fd, BACKLOG) == 0)
            return fd;
    }
    close_quietly(fd);
    return -1;
}

static int open_unix(const char *path, mode_t mode, struct listener *listener, struct error *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (*path == '\0' || strlen(path) >= sizeof address.sun_path)
        return error_set(err, ERROR_INPUT, "the path of a Unix socket must have 1 to %zu bytes, got \"%.100s\"",
                         sizeof address.sun_path - 1, path);
    strcpy(address.sun_path, path);
    snprintf(listener->address, LISTEN_ADDRESS_BYTES, UNIX_PREFIX "%s", path);
    int fd = open_file(&address, mode, listener);
    return fd >= 0 ? fd : error_set(err, ERROR_FILE, "cannot listen on " UNIX_PREFIX "%.100s: %s", path, strerror(errno));
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
    error_set(err, ERROR_FILE, "cannot determine the address of %.100s: %s", where, strerror(errno));
    if (opened.fd >= 0)
        close(opened.fd);
    listen_remove(&opened);
    return -1;
}

void listen_remove(struct listener *listener) {
    const char *path = listener->address + sizeof UNIX_PREFIX - 1;
    struct stat file;
    if (listener->made && lstat(path, &file) == 0 && file.st_dev == listener->device && file.st_ino == listener->inode)
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

/* ---- systemd ---- */

static int inherit(int fd, struct listener *listener, struct error *err) {
    *listener = (struct listener){.fd = fd};
    if (sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, 1) <= 0)
        return error_set(err, ERROR_FILE, "descriptor %d, passed by systemd, is not a listening stream socket", fd);
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 || write_address(fd, listener) != 0)
        return error_set(err, ERROR_FILE, "cannot use descriptor %d, passed by systemd: %s", fd, strerror(errno));
    return 0;
}

int listen_inherit(struct listener *listeners, struct error *err) {
    int count = sd_listen_fds(1);
    if (count < 0)
        return error_set(err, ERROR_FILE, "cannot receive the sockets passed by systemd: %s", strerror(-count));
    if (count > LISTEN_MAX)
        return error_set(err, ERROR_FILE, "systemd passed %d sockets, more than %d", count, LISTEN_MAX);
    for (int i = 0; i < count; i++) {
        if (inherit(SD_LISTEN_FDS_START + i, &listeners[i], err) != 0)
            return -1;
    }
    return count;
}
