/* What a request says in its headers, beside what it is about. */
#ifndef ALIGND_HTTP_SENT_H
#define ALIGND_HTTP_SENT_H

#include "server/api/api.h"

enum { SENT_ID_BYTES = 129, SENT_TRACE_BYTES = 56, SENT_TRACE_ID = 3, SENT_TRACE_ID_LENGTH = 32 };

struct MHD_Connection;

/* NULL: there is no such header. Of several the first. */
const char *sent_header(struct MHD_Connection *connection, const char *name);

/* Copies X-Request-Id. False: there is none, or it would spoil replies and log lines: only visible ASCII is taken. */
bool sent_id(struct MHD_Connection *connection, char id[SENT_ID_BYTES]);

/* Copies traceparent, of W3C's Trace Context, version 00; the trace's id begins at SENT_TRACE_ID. False, and "": there is none, or
 * it is not one. */
bool sent_trace(struct MHD_Connection *connection, char trace[SENT_TRACE_BYTES]);

/* -1 with the reply set, where it is not clear how long the body is, and so where the next request begins: whoever stands in
 * between may see it otherwise. */
int sent_length(struct MHD_Connection *connection, struct reply *reply);

/* -1 with the reply set, where the body is compressed, or anything but what it is. */
int sent_as_it_is(struct MHD_Connection *connection, struct reply *reply);

/* Who sends it (client.h): the peer, or whom the last of the headers of this name tells of, if there is one. NULL: none does. */
uint64_t sent_client(struct MHD_Connection *connection, const char *header);

/* X-Priority; without that header interactive. -1 with the reply set. */
int sent_priority(struct MHD_Connection *connection, enum priority *priority, struct reply *reply);
/* X-Deadline-Ms, most_ms at most; without that header most_ms. -1 with the reply set. */
int sent_deadline(struct MHD_Connection *connection, size_t most_ms, size_t *deadline_ms, struct reply *reply);

#endif
