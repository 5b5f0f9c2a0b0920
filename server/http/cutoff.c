#include "server/http/cutoff.h"
#include "server/base/clock.h"
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { SWEEP_US = 100000, SCARCE_IDLE_US = 1000000, SCARCE_BODY_US = 5000000 };

struct cutoff {
    struct metrics *metrics;
    pthread_t thread;

    pthread_mutex_t lock;       /* guards everything below, and that a listed socket is open */
    pthread_cond_t wake;        /* there is a connection, or no more work */
    struct timed *first, *last; /* the newest, the oldest */
    bool stopped;
};

/* How long the connection may take now. While every place is taken, heads and bodies that have not arrived have little time, too,
 * because whoever holds the places with them keeps all others out. */
static int64_t patience(const struct timed *timed) {
    const struct crowd *crowd = timed->crowd;
    bool scarce = crowd->count >= crowd->most - crowd->most / 4, full = crowd->count >= crowd->most;
    int64_t most_us = INT64_MAX;
    if (scarce && timed->reason == SLOW_IDLE)
        most_us = SCARCE_IDLE_US;
    else if (full && timed->reason == SLOW_REQUEST)
        most_us = timed->silent ? SCARCE_IDLE_US : SCARCE_BODY_US;
    return timed->timeout_us < most_us ? timed->timeout_us : most_us;
}

static void cutoff_cut(struct cutoff *cutoff, struct timed *timed, enum metrics_slow reason) {
    shutdown(timed->fd, SHUT_RDWR);
    metrics_slow(cutoff->metrics, reason);
    timed->timeout_us = INT64_MAX; /* once is enough */
    timed->silent = false;
}

static void sweep(struct cutoff *cutoff) {
    int64_t now_us = clock_us();
    for (struct timed *timed = cutoff->first; timed; timed = timed->next) {
        int64_t most_us = patience(timed);
        if (timed->timeout_us != INT64_MAX && now_us - timed->since_us >= most_us)
            cutoff_cut(cutoff, timed, timed->silent && most_us < timed->timeout_us ? SLOW_SILENT : timed->reason);
    }
}

static void *cutoff_run(void *argument) {
    struct cutoff *cutoff = argument;
    pthread_mutex_lock(&cutoff->lock);
    while (!cutoff->stopped) {
        if (!cutoff->first) {
            pthread_cond_wait(&cutoff->wake, &cutoff->lock);
            continue;
        }
        sweep(cutoff);
        int64_t next_us = clock_us() + SWEEP_US;
        pthread_cond_timedwait(&cutoff->wake, &cutoff->lock, &(struct timespec){next_us / 1000000, next_us % 1000000 * 1000});
    }
    pthread_mutex_unlock(&cutoff->lock);
    return NULL;
}

static void cutoff_release(struct cutoff *cutoff) {
    pthread_cond_destroy(&cutoff->wake);
    pthread_mutex_destroy(&cutoff->lock);
    free(cutoff);
}

struct cutoff *cutoff_start(struct metrics *metrics, struct error *err) {
    struct cutoff *cutoff = calloc(1, sizeof *cutoff);
    if (!cutoff) {
        error_memory(err);
        return NULL;
    }
    cutoff->metrics = metrics;
    pthread_mutex_init(&cutoff->lock, NULL);
    clock_condition_init(&cutoff->wake);
    if (pthread_create(&cutoff->thread, NULL, cutoff_run, cutoff) == 0)
        return cutoff;
    error_set(err, ERROR_MEMORY, "cannot start the thread that cuts off slow connections");
    cutoff_release(cutoff);
    return NULL;
}

void cutoff_free(struct cutoff *cutoff) {
    if (!cutoff)
        return;
    assert(!cutoff->first);
    pthread_mutex_lock(&cutoff->lock);
    cutoff->stopped = true;
    pthread_cond_signal(&cutoff->wake);
    pthread_mutex_unlock(&cutoff->lock);
    pthread_join(cutoff->thread, NULL);
    cutoff_release(cutoff);
}

/* Closes the connection that has been silent for the longest time, but not the newest, which may be about to send. */
static void cutoff_make_room(struct cutoff *cutoff, const struct timed *newest) {
    struct timed *longest = NULL;
    for (struct timed *timed = cutoff->last; timed != newest; timed = timed->previous)
        if (timed->silent && timed->crowd == newest->crowd && (!longest || timed->since_us < longest->since_us))
            longest = timed;
    if (longest)
        cutoff_cut(cutoff, longest, SLOW_SILENT);
}

void cutoff_add(struct cutoff *cutoff, struct timed *timed, int fd, struct crowd *crowd, int64_t timeout_us) {
    pthread_mutex_lock(&cutoff->lock);
    *timed = (struct timed){.fd = fd,
                            .crowd = crowd,
                            .silent = true,
                            .since_us = clock_us(),
                            .timeout_us = timeout_us,
                            .reason = SLOW_REQUEST,
                            .next = cutoff->first};
    if (cutoff->first)
        cutoff->first->previous = timed;
    else
        pthread_cond_signal(&cutoff->wake);
    if (!cutoff->last)
        cutoff->last = timed;
    cutoff->first = timed;
    if (++crowd->count >= crowd->most)
        cutoff_make_room(cutoff, timed);
    pthread_mutex_unlock(&cutoff->lock);
}

void cutoff_remove(struct cutoff *cutoff, struct timed *timed) {
    pthread_mutex_lock(&cutoff->lock);
    *(timed->previous ? &timed->previous->next : &cutoff->first) = timed->next;
    *(timed->next ? &timed->next->previous : &cutoff->last) = timed->previous;
    timed->crowd->count--;
    pthread_mutex_unlock(&cutoff->lock);
}

void cutoff_set(struct cutoff *cutoff, struct timed *timed, enum metrics_slow reason, int64_t timeout_us) {
    pthread_mutex_lock(&cutoff->lock);
    timed->reason = reason;
    timed->since_us = clock_us();
    timed->timeout_us = timeout_us;
    pthread_mutex_unlock(&cutoff->lock);
}

void cutoff_listen(struct cutoff *cutoff, struct timed *timed, bool silent) {
    pthread_mutex_lock(&cutoff->lock);
    timed->silent = silent;
    pthread_mutex_unlock(&cutoff->lock);
}
