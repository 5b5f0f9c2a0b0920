/* Chores are the work of a request that is neither HTTP nor decoding: reading its documents and
 * texts, and writing its answer. They have their own threads, so that they delay neither
 * connections nor decoding.
 *
 * Clients take turns, a slice each: a chore that has worked for 20 ms and calls chores_pause lets
 * others go on, and waits there for its next slice. Small chores do not wait for large ones: they
 * begin first, and large ones get a slice only now and then. As many chores work at a time as
 * options.threads says. One that has had a slice for options.overdue_ms, since what it does cannot
 * be divided, goes on beside others, which get its turn. Paused chores keep their threads, which
 * are started when they are needed: up to three for large chores and eight for small ones per
 * working thread. Chores that wait for a disk have eight threads of their own. Thread-safe. */
#ifndef ALIGND_CHORES_H
#define ALIGND_CHORES_H

#include "server/base/metrics.h"
#include "server/decode/request.h"

struct chores;

/* One piece of work. It lives in its owner's memory, which run may free. */
struct chore {
    struct request *request; /* whose client's turn it takes. If the request is cancelled or past
                                its deadline, the chore comes first, and run must check that */
    enum metrics_chore kind;
    bool large;
    bool waits; /* it takes little processor time but may wait for a disk: it gets a thread without
                   waiting for a turn */
    size_t bytes; /* bytes of memory held while it waits */
    void (*run)(void *owner);
    void *owner;

    /* private */
    uint64_t turn;
    bool away;
    int64_t slice_us;
    size_t place;
    struct chore_resumed *resumed;
    struct chore *next;
};

struct chores_options {
    size_t threads;       /* the number of chores that run at a time */
    size_t chores, bytes; /* limits on waiting chores; a client that already has chores waiting may
                             fill seven eighths of each */
    struct metrics *metrics;
    size_t overdue_ms; /* more than a slice; 0: others wait for all chores */
};

/* Returns NULL with ERROR_MEMORY. */
struct chores *chores_start(const struct chores_options *options, struct error *err);
/* Ends the threads once all chores are done. Accepts NULL. */
void chores_free(struct chores *chores);

/* Returns false if there is no room. A chore of kind CHORE_RENDERING is always accepted: its data
 * is in memory already. Once accepted, it may end before this returns. */
bool chores_submit(struct chores *chores, struct chore *chore);
/* Lets others have their turn once this chore's slice is over. The chore's function calls it now
 * and then, never while it holds a lock. */
void chores_pause(struct chores *chores, struct chore *chore);
/* Called by the same function: between away = true and away = false, the chore does work that
 * cannot be interrupted, or waits for a lock, and another chore runs. Meanwhile chores_pause is a
 * no-op. */
void chores_away(struct chores *chores, struct chore *chore, bool away);
/* Makes an idle thread return freed memory to the system. Called after many small blocks were
 * freed. */
void chores_tidy(struct chores *chores);
/* Returns the seconds until a chore that was just refused would have been accepted, if no others
 * arrive; 0 if nothing has been measured. */
double chores_wait_s(struct chores *chores, const struct chore *chore);

/* Cancels (CANCEL_SHUTDOWN) the requests of waiting chores and of all that are submitted from now
 * on. */
void chores_abandon(struct chores *chores);
/* Waits until no chore of this kind waits or runs. Returns false after timeout_ms. */
bool chores_wait(struct chores *chores, enum metrics_chore kind, size_t timeout_ms);

#endif
