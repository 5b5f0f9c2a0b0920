/* Cuts off connections that take too long: a thread that shuts their sockets down, so that whoever serves them sees the peer
 * gone. libmicrohttpd's own limit is on silence: a byte now and then would get around that.
 *
 * Where three quarters of a crowd's places are taken, connections between two requests (SLOW_IDLE) go after a second. Before the
 * last place is taken, the one that has been silent for the longest time goes at once (SLOW_SILENT). A connection is silent until
 * the head of its next request is complete. While all places are taken, the silent ones go after a second and bodies have five
 * seconds to come. */
#ifndef ALIGND_CUTOFF_H
#define ALIGND_CUTOFF_H

#include "server/base/metrics.h"
#include <stdbool.h>
#include <stdint.h>

struct cutoff;

/* The connections that share a limit; lives in its owner's memory. */
struct crowd {
    size_t most;  /* there can be */
    size_t count; /* cutoff's */
};

/* One connection; lives in its owner's memory. */
struct timed {
    int fd;
    struct crowd *crowd;
    bool silent;              /* the head of its next request has not come in whole */
    int64_t since_us;         /* clock_us */
    int64_t timeout_us;       /* INT64_MAX: it may take any time */
    enum metrics_slow reason; /* what takes too long then */
    struct timed *next, *previous;
};

/* Starts the thread. NULL with ERROR_MEMORY. */
struct cutoff *cutoff_start(struct metrics *metrics, struct error *err);
/* Ends the thread; no connection may be left. NULL allowed. */
void cutoff_free(struct cutoff *cutoff);

/* A new connection, which has so long to send a request (SLOW_REQUEST). It stays open until cutoff_remove. All thread-safe. */
void cutoff_add(struct cutoff *cutoff, struct timed *timed, int fd, struct crowd *crowd, int64_t timeout_us);
void cutoff_remove(struct cutoff *cutoff, struct timed *timed);
/* From now on the connection may take so long for this. INT64_MAX: any time. */
void cutoff_set(struct cutoff *cutoff, struct timed *timed, enum metrics_slow reason, int64_t timeout_us);
/* A new connection is silent, and so is one whose next request has begun, until the head of that is complete. */
void cutoff_listen(struct cutoff *cutoff, struct timed *timed, bool silent);

#endif
