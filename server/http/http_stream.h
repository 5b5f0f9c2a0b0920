/* The reply to a streamed request, as libmicrohttpd asks for it: a piece whenever the socket takes one. While there is nothing to
 * send the connection is suspended. */
#ifndef ALIGND_HTTP_STREAM_H
#define ALIGND_HTTP_STREAM_H

#include "server/api/api.h"
#include "server/decode/chores.h"

struct stream;
struct MHD_Connection;
struct MHD_Response;

/* For a request that is prepared but not submitted yet; reply: what its finish will set. most: bytes of an event. chores write its
 * events where they may be large. NULL: memory is out. */
struct stream *stream_open(struct MHD_Connection *connection, struct request *request, struct reply *reply, size_t most,
                           struct chores *chores);
/* NULL allowed. */
void stream_free(struct stream *stream);

/* The response that the stream feeds; the stream must outlive it. NULL: memory is out. */
struct MHD_Response *stream_response(struct stream *stream);

#endif
