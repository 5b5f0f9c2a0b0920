/* HTTP over libmicrohttpd, in one thread: receives requests, hands them to the endpoints, and sends every reply. While a request is
 * decoded its connection is suspended; the worker that ends it sets the reply and resumes the connection. */
#ifndef ALIGND_HTTP_H
#define ALIGND_HTTP_H

#include "server/service.h"

struct http;

/* Binds options->listen and starts to answer. NULL with ERROR_INPUT, ERROR_FILE or ERROR_MEMORY. */
struct http *http_start(struct service *service, struct error *err);
/* Where it listens: "127.0.0.1:8080". */
const char *http_address(const struct http *http);

/* Takes no more connections; requests on open ones are still answered. */
void http_quiesce(struct http *http);
/* Waits until no request is unanswered. False after timeout_ms. */
bool http_wait_idle(struct http *http, size_t timeout_ms);
/* Closes everything. No request may be with the workers. NULL allowed. */
void http_stop(struct http *http);

#endif
