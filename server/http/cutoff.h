/* This module cuts off slow connections, and some of those that keep others out.
 *
 * A connection has read_timeout_ms to send its first line, and each request has as long from its
 * first line to arrive completely. A reply has send_timeout_ms to be read; a stream has as long for
 * each piece, and from the end of the decoding on for all the rest. In between, the deadline
 * applies, and between two requests CONNECTION_IDLE_S. libmicrohttpd limits only silence, and a
 * client could evade that by sending a byte now and then. So a thread shuts down the sockets of
 * connections that take too long, and the threads that serve them see that the peer is gone.
 *
 * While at least three quarters of a crowd's places are taken, connections between two requests
 * (SLOW_IDLE) are cut after a second. When the last place is taken, one connection is cut at once,
 * so that a place stays free for others. A client that has more connections whose requests have not
 * arrived than a browser opens loses the one that has been silent for the longest time, or, if none
 * is silent, the newest whose body is arriving; where several clients have such a connection, it is
 * the client with the most. If nobody has, the connection of any client that has been silent for
 * the longest time is cut. If several clients have so many, they are refused the last place, which
 * takes much less time than reading what they send, while others wait to be accepted. A connection
 * is silent (SLOW_SILENT) from its beginning, or from the first line of a later request, until the
 * head of the request is complete. While all places are taken, silent connections are cut after a
 * second, and bodies have five seconds to arrive.
 */
#ifndef ALIGND_CUTOFF_H
#define ALIGND_CUTOFF_H

#include "model/base/error.h"
#include "server/base/metrics.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cutoff;

/* Whoever has more connections than this (a browser opens six) whose requests have not arrived may
 * lose some while places are scarce. */
enum { CONNECTIONS_FEW = 8 };

/* The connections that share a limit; lives in its owner's memory. */
struct crowd {
    size_t most;

    /* only for cutoff */
    size_t count;
    struct holder *holders; /* its clients */
};

/* One connection; lives in its owner's memory. */
struct timed {
    int fd;
    struct crowd *crowd;
    uint64_t client;    /* whose connection it is; 0: a proxy's, which stands for many clients */
    int64_t timeout_us; /* time limit of the connection's stage; INT64_MAX: no limit */

    /* private */
    bool silent;      /* the head of its first request, or of one that has begun, is not complete */
    int64_t since_us; /* clock_us */
    enum metrics_counter
        reason;            /* counts the connection if its stage takes longer than its limit */
    struct holder *holder; /* the client, with the number of its connections; NULL: no client's */
    struct timed *next, *previous;
};

/* Starts the thread. Returns NULL with ERROR_MEMORY. */
struct cutoff *cutoff_start(struct metrics *metrics, struct error *err);
/* Stops the thread and frees the cutoff. All connections must have been removed. Accepts NULL. */
void cutoff_free(struct cutoff *cutoff);

/* These functions are thread-safe. Returns whether a client (0: a proxy) may have a further
 * connection; if not, it is counted as SLOW_SILENT. */
bool cutoff_admits(struct cutoff *cutoff, const struct crowd *crowd, uint64_t client);
/* A new connection, whose public members the caller has set, is
 * silent and has timeout_us to send the first line of a request (SLOW_REQUEST). It must stay open
 * until cutoff_remove. */
void cutoff_add(struct cutoff *cutoff, struct timed *timed);
void cutoff_remove(struct cutoff *cutoff, struct timed *timed);
/* Returns the number of connections of a crowd. */
size_t cutoff_count(struct cutoff *cutoff, const struct crowd *crowd);
/* Begins a stage, which may take this long; INT64_MAX: no limit. */
void cutoff_set(struct cutoff *cutoff, struct timed *timed, enum metrics_counter reason,
                int64_t timeout_us);
void cutoff_listen(struct cutoff *cutoff, struct timed *timed, bool silent);

#endif
