/* Workarounds for libmicrohttpd 0.9.75 (Debian 12): it accepts heads that a proxy may read differently (RFC 9112, 11.2), and
 * answers invalid requests itself, in HTML. Each workaround states its reason and the version with which it can be removed; those
 * for old versions are not compiled for libmicrohttpd 1.0 and later. */
#ifndef ALIGND_HTTP_GUARD_H
#define ALIGND_HTTP_GUARD_H

#include "server/api/api.h"

struct MHD_Connection;
struct MHD_Response;

enum { GUARD_ARGUMENTS = 100 };

/* The first line of a request. */
struct guard_line {
    const char *version; /* where the version should begin; NULL: there was no URI */
    bool odd;            /* the URI contains bytes that no URI may contain */
    bool crowded;        /* the URI leaves too little memory for its arguments */
    size_t arguments;
};

/* For MHD_OPTION_URI_LOG_CALLBACK: uri is as it was sent; libmicrohttpd splits it next. Cuts off arguments that are too many,
 * because libmicrohttpd would close the connection without a reply. */
void guard_begin(struct guard_line *line, const char *uri);

/* Call this once the head is complete, in the first call of the handler, with its method and version. line NULL: unknown. -1: the
 * reply is set, and the connection must close. */
int guard_check(const struct guard_line *line, struct MHD_Connection *connection, const char *method, const char *version,
                struct reply *reply);

/* The value of MHD_OPTION_STRICT_FOR_CLIENT. */
int guard_strictness(void);

/* For MHD_OPTION_UNESCAPE_CALLBACK. */
size_t guard_unescape(void *closure, struct MHD_Connection *connection, char *text);

/* Calls libmicrohttpd's own MHD_queue_response, for our replies; guard.c defines another function of that name. Returns false if
 * the reply is not queued. */
bool guard_queue(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response);

#endif
