/* The work of a request that is neither HTTP nor decoding: reading it, and writing its answer. What is large of it is done here, on
 * threads of its own, so that neither those that serve connections nor those that decode are held up. Bounded; clients take turns,
 * a chore each. Thread-safe. */
#ifndef ALIGND_CHORES_H
#define ALIGND_CHORES_H

#include "server/base/metrics.h"
#include "server/decode/request.h"

struct chores;

/* One piece of work; lives in its owner's memory, which run may free. */
struct chore {
    struct request
        *request; /* whose client takes a turn. Where it is cancelled or past its deadline, run comes at once: it looks */
    enum metrics_chore kind;
    size_t bytes; /* of memory held while it waits */
    void (*run)(void *owner);
    void *owner;
    uint64_t turn; /* the rest is the chores' own */
    struct chore *next;
};

struct chores_options {
    size_t threads;
    size_t chores, bytes; /* that may wait; a client of which something waits may fill seven eighths of each */
    struct metrics *metrics;
};

/* NULL with ERROR_MEMORY. */
struct chores *chores_start(const struct chores_options *options, struct error *err);
/* Ends the threads once nothing waits. NULL allowed. */
void chores_free(struct chores *chores);

/* False: there is no room. A chore of kind CHORE_RENDERING is taken in any case: what it needs is in memory already. Once accepted,
 * it may be done before this returns. */
bool chores_submit(struct chores *chores, struct chore *chore);
/* Seconds until one that was just refused would have been accepted, if nobody else comes; 0: nothing has been measured. */
double chores_wait_s(struct chores *chores, const struct chore *chore);

/* Cancels (CANCEL_SHUTDOWN) the requests of what waits and of what is submitted from now on. */
void chores_abandon(struct chores *chores);
/* Waits until no chore of this kind waits or is being done. False after timeout_ms. */
bool chores_wait(struct chores *chores, enum metrics_chore kind, size_t timeout_ms);

#endif
