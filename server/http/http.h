/* This module speaks HTTP over libmicrohttpd, with one thread for each address. It receives
 * requests, calls the endpoints, and sends every reply.
 *
 * A small request is prepared on its connection's thread; preparing a large one, and writing a
 * large answer, are chores (server/decode/chores.h). While other threads work on a request, its
 * connection is suspended; the worker or chore that ends the request sets the reply and resumes the
 * connection. A client that leaves cancels its request. */
#ifndef ALIGND_HTTP_H
#define ALIGND_HTTP_H

#include "server/api/api.h"
#include "server/http/connection.h"
#include <microhttpd.h>
#include <sys/stat.h>

struct http;

struct listeners_options {
    const struct name_list *listen, *admin_listen; /* addresses; those for administrators */
    const char *standard; /* the address if listen is empty and systemd passed no socket */
    size_t socket_mode;   /* permissions of Unix sockets */
    size_t threads;       /* of each address but those for administrators, which have one */
};

struct http_options {
    struct connections_options connections;
    struct listeners_options listeners;
    const char *tls_cert, *tls_key; /* files; NULL: no HTTPS */
};

/* Binds the addresses of the options, whose strings and lists must outlive the server, and starts
 * serving. Returns NULL with ERROR_INPUT, ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY. */
struct http *http_start(struct service *service, const struct http_options *options,
                        struct error *err);
/* Returns the i-th address, such as "127.0.0.1:8080", or NULL after the last. *admin: it is for
 * administrators. */
const char *http_address(const struct http *http, size_t i, bool *admin);
/* Returns the most connections that there may be at the same time. */
size_t http_most_connections(const struct http *http);
/* Reads the certificate again, if there is one. Returns -1 with the reason, and then keeps the old
 * one. Thread-safe. */
int http_reload_certificate(struct http *http, struct error *err);

/* Called now and then. If requests were decoded since the last call and none is in flight now,
 * freed memory returns to the system.
 */
void http_tidy(struct http *http);

/* Stops accepting connections. Requests on open ones are still answered, those whose bodies have
 * not arrived with 503 at once. */
void http_quiesce(struct http *http);
/* Waits until no chore of this kind waits or runs. Returns false after timeout_ms, and then cancels
 * the requests of all waiting and later chores. */
bool http_wait_chores(struct http *http, enum metrics_chore kind, size_t timeout_ms);
/* Waits until every request is answered. Returns false after timeout_ms. */
bool http_wait_idle(struct http *http, size_t timeout_ms);
/* Closes everything. No request may be with the workers or wait to be prepared. Accepts NULL. */
void http_stop(struct http *http);

/* ---- asking a running daemon, for health checks in containers that lack curl ---- */

enum { HEALTH_TIMEOUT_MS = 5000 };

/* Sends GET with this path. addresses: as for --listen, HOST:PORT or unix:PATH; if there are
 * several, separated by ',', only the first counts. A missing host or a wildcard address means this
 * machine. https: a HOST:PORT speaks TLS. Its certificate is not verified, because a renewed or
 * expired one is not a failure of the daemon, and nothing secret is sent. timeout_ms: for
 * everything except resolving a name. Returns 0 if the reply's status is 200, or else -1 with
 * ERROR_INPUT (not an address), ERROR_FILE (no connection, no TLS, no reply in time, or another
 * status) or ERROR_MEMORY. */
int health_ask(const char *addresses, const char *path, bool https, int timeout_ms,
               struct error *err);

/* ---- addresses, HOST:PORT or unix:PATH (listen.c) ----
 *
 * Connections come in through listening sockets: TCP, Unix, and those that systemd opened before it
 * started the daemon. Each has its own libmicrohttpd daemon and thread. TCP sockets speak HTTPS if
 * there is a certificate; Unix sockets never do. */

#define LISTEN_UNIX_PREFIX "unix:"
enum { LISTEN_ADDRESS_BYTES = 128, LISTEN_MAX = 32, LISTEN_HOST_BYTES = 256 };

struct listener {
    int fd;                             /* does not block; the owner closes it */
    char address[LISTEN_ADDRESS_BYTES]; /* "127.0.0.1:8080", "[::1]:8080",
                                           "unix:/run/alignd/alignd.socket" */
    bool local;                         /* a Unix socket */
    bool own;                           /* listen_open opened it, and no other process uses it */
    bool made; /* we created its file, and remove it if it still has these two numbers: */
    dev_t device;
    ino_t inode;
};

/* Splits "host:port" or "[host]:port", where the port follows the last ':' and is a number from 0
 * to 65535: the system would reduce a larger one modulo 65536. *port points into where. Returns -1
 * with ERROR_INPUT. */
int listen_split(const char *where, char host[LISTEN_HOST_BYTES], const char **port,
                 struct error *err);

/* where: "127.0.0.1:8080", "[::1]:8080" (IPv6 alone), "localhost:8080", ":8080" (every IPv4
 * address), with port 0 for a free one; or "unix:PATH". mode: permissions of a Unix socket. A
 * socket at PATH on which no process listens is replaced; any other file stays. Returns -1 with
 * ERROR_INPUT (not an address) or ERROR_FILE (in use, not ours). Changes the umask for a moment, so
 * no other thread may create files. */
int listen_open(const char *where, mode_t mode, struct listener *listener, struct error *err);

/* Removes the file of a Unix socket made by listen_open. */
void listen_remove(struct listener *listener);

/* Refuses new connections: removes the file of a Unix socket; TCP handshakes get no answer until
 * the socket is closed, and are refused then. Earlier connections can still be accepted. A socket
 * passed by systemd stays open, and new connections wait there for the next daemon. */
void listen_refuse(struct listener *listener);

struct http_listeners;

/* libmicrohttpd calls these on the thread of the socket; a connection stays with one thread. */
struct http_callbacks {
    MHD_AccessHandlerCallback handle;
    MHD_RequestCompletedCallback completed;
    void *closure; /* argument of both callbacks */
    struct connections
        *connections; /* divided among the sockets of each kind; outlives the listeners */
};

/* Listens on the sockets passed by systemd and on all addresses. https: there is a certificate.
 * Returns NULL with ERROR_INPUT, ERROR_FILE or ERROR_MEMORY. */
struct http_listeners *http_listeners_start(const struct listeners_options *options, bool https,
                                            const struct http_callbacks *callbacks,
                                            struct error *err);

/* Returns the i-th address, such as "127.0.0.1:8080", or NULL after the last. *admin: it is for
 * administrators. */
const char *http_listeners_address(const struct http_listeners *listeners, size_t i, bool *admin);
/* Stops accepting connections; open ones stay open. */
void http_listeners_quiesce(struct http_listeners *listeners);
/* Closes everything; no connection may be suspended. Accepts NULL. */
void http_listeners_stop(struct http_listeners *listeners);

#endif
