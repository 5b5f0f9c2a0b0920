/* Headers: what a request says in them beside its subject, and those of a reply. */
#ifndef ALIGND_HEADERS_H
#define ALIGND_HEADERS_H

#include "server/api/api.h"

enum { SENT_ID_BYTES = 129, SENT_TRACE_BYTES = 56, SENT_TRACE_ID = 3, SENT_TRACE_ID_LENGTH = 32 };

struct MHD_Connection;
struct MHD_Response;
struct sockaddr;

/* ---- of requests ---- */

/* The first header of this name; NULL: there is none. */
const char *sent_header(struct MHD_Connection *connection, const char *name);

/* Copies X-Request-Id. Returns false if there is none, or if it contains anything but visible ASCII, which would spoil replies and
 * log lines. */
bool sent_id(struct MHD_Connection *connection, char id[SENT_ID_BYTES]);

/* Copies traceparent (W3C Trace Context, version 00); the trace id begins at SENT_TRACE_ID. Copies "" if there is none, or it is
 * invalid. */
void sent_trace(struct MHD_Connection *connection, char trace[SENT_TRACE_BYTES]);

/* -1 with the reply set if the length of the body, and so the beginning of the next request, is ambiguous: a proxy may see it
 * differently. */
int sent_length(struct MHD_Connection *connection, struct reply *reply);

/* -1 with the reply set if the body is compressed or encoded otherwise. */
int sent_as_it_is(struct MHD_Connection *connection, struct reply *reply);

/* X-Priority, by default interactive. -1 with the reply set. */
int sent_priority(struct MHD_Connection *connection, enum priority *priority, struct reply *reply);
/* X-Deadline-Ms, at most most_ms, which is also the default. -1 with the reply set. */
int sent_deadline(struct MHD_Connection *connection, size_t most_ms, size_t *deadline_ms, struct reply *reply);

/* ---- the client of a request ---- */

/* A client, for fairness and rates, is a number that is the same for all requests of one client and, but for chance, differs from
 * those of all others. Nothing is stored. */

/* The client that sends the request: the one in the last header of this name, which a trusted proxy sets, or else the peer. header
 * NULL: no proxy is trusted. */
uint64_t sent_client(struct MHD_Connection *connection, const char *header);

/* An IPv4 address is a client; so is an IPv6 network of 64 bits, in which one host may have any address; an IPv4 address mapped to
 * IPv6 is that address. All peers of Unix sockets, and unknown ones (NULL), are one client. */
uint64_t client_of_peer(const struct sockaddr *address);
/* name: [length], an API key's name or anything else that tells clients apart. */
uint64_t client_of_name(const char *name, size_t length);
/* A header such as X-Forwarded-For: the part after the last comma is what the nearest proxy saw. An address, with or without a
 * port, is the same client as that peer; anything else is a name. */
uint64_t client_of_forwarded(const char *header);

/* ---- of replies ---- */

/* The headers of a reply depend on these. */
struct heading {
    const struct service *service;
    const struct route *route; /* NULL: the path does not exist */
    const char *method, *id;
    const char *trace;  /* traceparent; "": none */
    const char *origin; /* of the request; NULL: unknown */
    const struct reply *reply;
};
/* -1: memory is out, and some are missing. */
int headers_add(const struct heading *heading, struct MHD_Response *response);

#endif
