/* The work of a request that is neither HTTP nor decoding: reading it, and writing its answer. It is done here, on threads of its
 * own, so that neither those that serve connections nor those that decode are held up.
 *
 * Clients take turns, a slice each: a chore that has worked for 20 ms and calls chores_pause lets others go on, and waits there for
 * its next slice. Small chores do not wait for large ones: they begin before them, and only a slice of a large one now and then
 * comes first. So many work at a time as there are threads by the options; those that pause keep threads of their own, which are
 * started when they are needed: three for large chores and eight for small ones of each by the options. Chores that wait for a disk
 * have eight of their own. Thread-safe. */
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
    bool large;
    bool waits;   /* it takes little time of a processor but may wait for a disk: it has a thread to itself, and no turn */
    size_t bytes; /* of memory held while it waits */
    void (*run)(void *owner);
    void *owner;
    uint64_t turn; /* the rest is the chores' own */
    bool away;
    int64_t slice_us;
    size_t place;
    struct chore_resumed *resumed;
    struct chore *next;
};

struct chores_options {
    size_t threads;       /* how many work at a time */
    size_t chores, bytes; /* that may wait; a client of which something waits may fill seven eighths of each */
    struct metrics *metrics;
};

/* NULL with ERROR_MEMORY. */
struct chores *chores_start(const struct chores_options *options, struct error *err);
/* Ends the threads once all is done. NULL allowed. */
void chores_free(struct chores *chores);

/* False: there is no room. A chore of kind CHORE_RENDERING is taken in any case: what it needs is in memory already. Once accepted,
 * it may be done before this returns. */
bool chores_submit(struct chores *chores, struct chore *chore);
/* Lets others have their turn once this chore's slice is over. The function that does the chore calls it now and then, and never
 * with a lock held. */
void chores_pause(struct chores *chores, struct chore *chore);
/* Called by the same: from away = true until away = false this chore does what cannot be interrupted, or waits for a lock, and
 * another has its turn beside it. Meanwhile chores_pause does nothing. */
void chores_away(struct chores *chores, struct chore *chore, bool away);
/* Asks a thread that has nothing else to do to give freed memory back to the system: much was freed, in many small blocks. */
void chores_tidy(struct chores *chores);
/* Seconds until one that was just refused would have been accepted, if nobody else comes; 0: nothing has been measured. */
double chores_wait_s(struct chores *chores, const struct chore *chore);

/* Cancels (CANCEL_SHUTDOWN) the requests of what waits and of what is submitted from now on. */
void chores_abandon(struct chores *chores);
/* Waits until no chore of this kind waits or is being done. False after timeout_ms. */
bool chores_wait(struct chores *chores, enum metrics_chore kind, size_t timeout_ms);

#endif
