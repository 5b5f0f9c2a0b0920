/* This module reads the headers of a request and writes those of a reply. */
#ifndef ALIGND_HEADERS_H
#define ALIGND_HEADERS_H

#include "server/api/api.h"
#include "server/api/reach.h"

struct MHD_Connection;
struct MHD_Response;

enum {
    HEADERS_ID_BYTES = 129,
    HEADERS_TRACE_BYTES = 56,
    HEADERS_TRACE_ID = 3,
    HEADERS_TRACE_ID_LENGTH = 32
};

/* ---- headers of a request ---- */

/* Returns the first header of this name, or NULL if there is none. */
const char *headers_find(struct MHD_Connection *connection, const char *name);
/* Returns the last one, which the nearest proxy wrote. */
const char *headers_find_last(struct MHD_Connection *connection, const char *name);

/* Copies X-Request-Id. Returns false if it is missing, has more than 128 bytes, or contains
 * anything but visible ASCII, which would corrupt replies and log lines. */
bool headers_id(struct MHD_Connection *connection, char id[HEADERS_ID_BYTES]);

/* Copies traceparent (W3C Trace Context, version 00); the trace id begins at HEADERS_TRACE_ID.
 * Copies
 * "" if there is none, or it is invalid. */
void headers_trace(struct MHD_Connection *connection, char trace[HEADERS_TRACE_BYTES]);

#define HEADERS_LENGTH_UNKNOWN SIZE_MAX
/* Reads the length of the body: 0 if there is none, HEADERS_LENGTH_UNKNOWN if it is chunked.
 * Returns -1 after setting the reply if the length, and so the beginning of the next request, is
 * ambiguous: a proxy may read it differently. */
int headers_length(struct MHD_Connection *connection, size_t *bytes, struct reply *reply);

/* Returns -1 after setting the reply if the body is compressed or otherwise encoded. */
int headers_check_encoding(struct MHD_Connection *connection, struct reply *reply);

/* Reads X-Priority; the default is interactive. Returns -1 after setting the reply. */
int headers_priority(struct MHD_Connection *connection, enum priority *priority,
                     struct reply *reply);
/* Reads X-Deadline-Ms, at most most_ms, which is also the default. Returns -1 after setting the
 * reply. */
int headers_deadline(struct MHD_Connection *connection, size_t most_ms, size_t *deadline_ms,
                     struct reply *reply);

/* Returns what the head says of where the request comes from. */
struct visit headers_visit(struct MHD_Connection *connection, const char *method);

/* ---- headers of a reply ---- */

/* The values on which a reply's headers depend. */
struct heading {
    const struct service *service;
    const struct route *route; /* NULL: the path does not exist */
    const char *method, *id;
    const char *trace;  /* traceparent; "": none */
    const char *origin; /* the request's Origin header; NULL: none */
    const struct reply *reply;
};
/* Returns -1 if memory runs out; some headers are then missing. */
int headers_add(const struct heading *heading, struct MHD_Response *response);
/* Writes a reply as HTTP/1.1, with the same headers. Returns malloc'ed bytes [*length], or NULL if
 * memory runs out. */
char *headers_write_reply(const struct heading *heading, size_t *length);

#endif
