/* Headers: parsing a request's headers, and writing a reply's. */
#ifndef ALIGND_HEADERS_H
#define ALIGND_HEADERS_H

#include "server/api/api.h"

enum { SENT_ID_BYTES = 129, SENT_TRACE_BYTES = 56, SENT_TRACE_ID = 3, SENT_TRACE_ID_LENGTH = 32 };

struct MHD_Connection;
struct MHD_Response;
struct sockaddr;

/* ---- of requests ---- */

/* The first header of this name; NULL if there is none. */
const char *sent_header(struct MHD_Connection *connection, const char *name);

/* Copies X-Request-Id. Returns false if there is none, or if it contains anything but visible ASCII, which would spoil replies and
 * log lines. */
bool sent_id(struct MHD_Connection *connection, char id[SENT_ID_BYTES]);

/* Copies traceparent (W3C Trace Context, version 00); the trace id begins at SENT_TRACE_ID. Copies "" if there is none, or it is
 * invalid. */
void sent_trace(struct MHD_Connection *connection, char trace[SENT_TRACE_BYTES]);

/* Returns -1 after setting the reply if the length of the body, and so the beginning of the next request, is ambiguous: a proxy may
 * read it differently. */
int sent_length(struct MHD_Connection *connection, struct reply *reply);

/* Returns -1 after setting the reply if the body is compressed or otherwise encoded. */
int sent_as_it_is(struct MHD_Connection *connection, struct reply *reply);

/* X-Priority, by default interactive. -1 with the reply set. */
int sent_priority(struct MHD_Connection *connection, enum priority *priority, struct reply *reply);
/* X-Deadline-Ms, at most most_ms, which is also the default. -1 with the reply set. */
int sent_deadline(struct MHD_Connection *connection, size_t most_ms, size_t *deadline_ms, struct reply *reply);

/* ---- the client of a request ---- */

/* For fairness and rates, a client is a number (a hash) that is the same for all its requests and, with high probability, differs
 * from those of all others. Nothing is stored. */

/* The client that sends the request. If a proxy is trusted, the last header of this name identifies it, or else the peer does.
 * header NULL: no proxy is trusted. */
uint64_t sent_client(struct MHD_Connection *connection, const char *header);

/* A client is an IPv4 address or an IPv6 network of 64 bits, since one host may use any address in it. An IPv4 address mapped to
 * IPv6 counts as that IPv4 address. All peers of Unix sockets, and unknown ones (NULL), are one client. */
uint64_t client_of_peer(const struct sockaddr *address);
/* name: [length], an API key's name or anything else that identifies a client. */
uint64_t client_of_name(const char *name, size_t length);
/* Reads a header such as X-Forwarded-For: the nearest proxy appends the part after the last comma. An address, with or without a
 * port, is the same client as that peer; anything else is a name. */
uint64_t client_of_forwarded(const char *header);

/* ---- of replies ---- */

/* The values on which a reply's headers depend. */
struct heading {
    const struct service *service;
    const struct route *route; /* NULL: the path does not exist */
    const char *method, *id;
    const char *trace;  /* traceparent; "": none */
    const char *origin; /* the request's key; NULL: unknown */
    const struct reply *reply;
};
/* Returns -1 if memory is out; some headers are then missing. */
int headers_add(const struct heading *heading, struct MHD_Response *response);

#endif
