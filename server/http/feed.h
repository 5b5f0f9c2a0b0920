/* This module feeds a connection with a reply that is a stream of events.
 *
 * libmicrohttpd asks for a piece whenever the socket is writable. While there is nothing to send,
 * the connection is suspended.
 *
 * The stream writes events as its client reads them while the request is decoded. When that has
 * ended, the thread that ended it writes all other events, so that the request, with its models,
 * can be freed however slowly the client reads. */
#ifndef ALIGND_FEED_H
#define ALIGND_FEED_H

#include "server/api/api.h"
#include "server/decode/chores.h"

struct MHD_Connection;
struct MHD_Response;

struct feed;

struct feed_options {
    size_t most;           /* bytes of an event */
    struct chores *chores; /* write events that may be large */
    struct cutoff *cutoff; /* limits the time in which the client reads */
    int64_t
        send_us; /* for each piece while the request is decoded, and for all the rest afterwards */
};

/* Opens the stream of a request that is prepared but not submitted yet. reply: the one that its
 * finish will set. Called on the connection's thread, or while it is suspended. Returns NULL if
 * memory runs out. */
struct feed *feed_open(struct MHD_Connection *connection, struct request *request,
                       struct reply *reply, const struct feed_options *options);
/* The request may have been freed since feed_release. Accepts NULL. */
void feed_free(struct feed *feed);
/* Called by the thread that ends the request, once its reply is set: from now on that thread writes
 * the events, and the client waits until feed_end. */
void feed_take(struct feed *feed);
/* Writes the next event. Returns its bytes, which the stream keeps; 0 after the last event, or if
 * memory runs out, which ends the stream there. */
size_t feed_write(struct feed *feed);
/* Returns true if the last event has been written, which took the reply's body. */
bool feed_is_whole(const struct feed *feed);
/* Drops the events that nothing has been sent of, and writes the reply instead. */
void feed_cut(struct feed *feed);
/* Ends the use of the request, which can be freed afterwards. */
void feed_release(struct feed *feed);
/* Returns true if the client has left: the caller then owns the exchange. Otherwise the connection
 * owns it, and the caller must not use it any more. */
bool feed_end(struct feed *feed);
/* Notes that the client leaves. Returns true after feed_end: the caller then owns the exchange.
 * Otherwise the caller of feed_end will own it, and the request is cancelled (CANCEL_CLIENT) unless
 * the client has received all events. */
bool feed_close(struct feed *feed);
/* Returns the response that the stream feeds, or NULL if memory runs out. The stream must outlive
 * it. */
struct MHD_Response *feed_response(struct feed *feed);

#endif
