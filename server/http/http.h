/* HTTP over libmicrohttpd, in one thread for each address: receives requests, hands them to the endpoints, and sends every reply.
 * While a request is decoded its connection is suspended; the worker that ends it sets the reply and resumes the connection. What
 * is large is read and written by threads of their own, too (http_work.h). */
#ifndef ALIGND_HTTP_H
#define ALIGND_HTTP_H

#include "server/api/api.h"
#include "server/http/http_connection.h"
#include "server/http/http_listeners.h"

struct http;

struct http_options {
    struct connections_options connections;
    struct listeners_options listeners;
    const char *tls_cert, *tls_key; /* files; NULL: no HTTPS */
};

/* Binds the addresses of the options, whose strings and lists outlive it, and starts to answer. NULL with ERROR_INPUT, ERROR_FILE,
 * ERROR_FORMAT or ERROR_MEMORY. */
struct http *http_start(struct service *service, const struct http_options *options, struct error *err);
/* Where it listens, the i-th address: "127.0.0.1:8080"; admin: whether for administrators. NULL: there are no more. */
const char *http_address(const struct http *http, size_t i, bool *admin);
/* Reads the certificate again, if there is one. -1: the old one stays, and the message tells why. Thread-safe. */
int http_reload_certificate(struct http *http, struct error *err);

/* Takes no more connections; requests on open ones are still answered. */
void http_quiesce(struct http *http);
/* Waits until no large request that came in waits to be prepared; until no large answer waits to be written. False after
 * timeout_ms: then those that wait are cancelled. */
bool http_wait_prepared(struct http *http, size_t timeout_ms);
bool http_wait_rendered(struct http *http, size_t timeout_ms);
/* Waits until no request is unanswered. False after timeout_ms. */
bool http_wait_idle(struct http *http, size_t timeout_ms);
/* Closes everything. No request may be with the workers, nor waiting to be prepared. NULL allowed. */
void http_stop(struct http *http);

#endif
