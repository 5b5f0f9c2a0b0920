/* HTTP over libmicrohttpd, with one thread for each address: receives requests, calls the endpoints, and sends every reply.
 *
 * A small request is prepared on its connection's thread; preparing a large one, and writing a large answer, are chores
 * (server/decode/chores.h). While others work on a request its connection is suspended; the worker or chore that ends it sets the
 * reply and resumes the connection. A client that leaves cancels its request. */
#ifndef ALIGND_HTTP_H
#define ALIGND_HTTP_H

#include "server/api/api.h"
#include "server/http/connection.h"
#include "server/http/listen.h"

struct http;

struct http_options {
    struct connections_options connections;
    struct listeners_options listeners;
    const char *tls_cert, *tls_key; /* files; NULL: no HTTPS */
};

/* Binds the addresses of the options, whose strings and lists must outlive it, and starts to serve. NULL with ERROR_INPUT,
 * ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY. */
struct http *http_start(struct service *service, const struct http_options *options, struct error *err);
/* The i-th address: "127.0.0.1:8080"; admin: whether it is for administrators. NULL after the last. */
const char *http_address(const struct http *http, size_t i, bool *admin);
/* Reads the certificate again, if there is one. Returns -1 with the reason; the old one then stays. Thread-safe. */
int http_reload_certificate(struct http *http, struct error *err);

/* Accepts no more connections; requests on open ones are still answered. */
void http_quiesce(struct http *http);
/* Waits until no large request waits to be prepared and no large answer waits to be written. Returns false after timeout_ms, and
 * cancels those that still wait. */
bool http_wait_chores(struct http *http, enum metrics_chore kind, size_t timeout_ms);
/* Waits until every request is answered. Returns false after timeout_ms. */
bool http_wait_idle(struct http *http, size_t timeout_ms);
/* Closes everything. No request may be with the workers or wait to be prepared. Accepts NULL. */
void http_stop(struct http *http);

#endif
