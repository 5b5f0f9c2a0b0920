/* This module hides when a connection has taken too long, and which one makes room for another. */
#include "server/http/cutoff.h"
#include "server/base/clock.h"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum { SWEEP_US = 100000, SCARCE_IDLE_US = 1000000, SCARCE_BODY_US = 5000000 };

/* A client with connections of a crowd. There are at most as many as connections. */
struct holder {
    uint64_t client;
    size_t count, arriving; /* arriving: of count_arriving */
    struct holder *next;
};

struct cutoff {
    struct metrics *metrics;
    pthread_t thread;

    pthread_mutex_t
        lock;            /* guards everything below; while it is held, a listed socket stays open */
    pthread_cond_t wake; /* signals that the list is no longer empty or that the cutoff stops */
    struct timed *first; /* the newest connection, then older ones */
    bool stopped;
};

/* Requires the lock. */
static void cutoff_cut(struct cutoff *cutoff, struct timed *timed, enum metrics_counter reason) {
    shutdown(timed->fd, SHUT_RDWR);
    metrics_count(cutoff->metrics, reason);
    timed->timeout_us = INT64_MAX; /* a socket is shut down only once */
    timed->silent = false;
}

/* Cuts the connections that have taken too long, ten times a second. While places are scarce, idle
 * connections have little time. While every place is taken, heads and bodies that have not arrived
 * have little time, too, because they keep all other clients out. */
static void *cutoff_run(void *argument) {
    struct cutoff *cutoff = argument;
    pthread_mutex_lock(&cutoff->lock);
    while (!cutoff->stopped) {
        int64_t now_us = clock_us();
        for (struct timed *timed = cutoff->first; timed; timed = timed->next) {
            const struct crowd *crowd = timed->crowd;
            int64_t most_us = timed->timeout_us, scarce_us = INT64_MAX;
            if (timed->reason == SLOW_IDLE && crowd->count >= crowd->most - crowd->most / 4)
                scarce_us = SCARCE_IDLE_US;
            else if (timed->reason == SLOW_REQUEST && crowd->count >= crowd->most)
                scarce_us = timed->silent ? SCARCE_IDLE_US : SCARCE_BODY_US;
            if (scarce_us < most_us)
                most_us = scarce_us;
            if (timed->timeout_us != INT64_MAX && now_us - timed->since_us >= most_us)
                cutoff_cut(cutoff, timed,
                           timed->silent && most_us < timed->timeout_us ? SLOW_SILENT
                                                                        : timed->reason);
        }
        if (cutoff->first)
            clock_wait(&cutoff->wake, &cutoff->lock, clock_us() + SWEEP_US);
        else
            pthread_cond_wait(&cutoff->wake, &cutoff->lock);
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

/* Returns true if bytes have arrived that the connection's thread has not read yet. */
static bool has_unread(const struct timed *timed) {
    int count = 0;
    return ioctl(timed->fd, FIONREAD, &count) == 0 && count > 0;
}

/* The head or the body of a request has not arrived. */
static bool is_arriving(const struct timed *timed) {
    return timed->silent || (timed->reason == SLOW_REQUEST && timed->timeout_us != INT64_MAX);
}

/* Requires the lock. Counts, for each client, the connections whose requests have not arrived. */
static void count_arriving(const struct cutoff *cutoff, const struct crowd *crowd) {
    for (struct holder *holder = crowd->holders; holder; holder = holder->next)
        holder->arriving = 0;
    for (const struct timed *timed = cutoff->first; timed; timed = timed->next)
        if (timed->crowd == crowd && timed->holder)
            timed->holder->arriving += is_arriving(timed);
}

/* Returns the number of them if it is more than a few, or else 0. */
static size_t crowding(const struct holder *holder) {
    return holder && holder->arriving > CONNECTIONS_FEW ? holder->arriving : 0;
}

static bool goes_before(const struct timed *timed, const struct timed *other) {
    size_t own = crowding(timed->holder), others = crowding(other->holder);
    if ((own > 0) != (others > 0))
        return own > 0;
    if (timed->silent != other->silent)
        return timed->silent;
    if (own != others)
        return own > others;
    return timed->silent && timed->since_us <= other->since_us;
}

/* Requires the lock. Returns the connection that makes room (cutoff.h), but not the newest, which
 * may be about to send. NULL: none. */
static struct timed *find_victim(const struct cutoff *cutoff, const struct timed *newest) {
    struct timed *victim = NULL;
    count_arriving(cutoff, newest->crowd);
    for (struct timed *other = newest->next; other; other = other->next) {
        bool may_go = other->silent || (is_arriving(other) && crowding(other->holder) > 0);
        if (other->crowd == newest->crowd && may_go && (!victim || goes_before(other, victim)) &&
            !(other->silent && has_unread(other)))
            victim = other;
    }
    return victim;
}

bool cutoff_admits(struct cutoff *cutoff, const struct crowd *crowd, uint64_t client) {
    bool crowds = false;
    size_t others = 0;
    pthread_mutex_lock(&cutoff->lock);
    if (client != 0 && crowd->count + 1 >= crowd->most) {
        count_arriving(cutoff, crowd);
        for (const struct holder *holder = crowd->holders; holder; holder = holder->next) {
            bool many = crowding(holder) > 0;
            crowds |= many && holder->client == client;
            others += many && holder->client != client;
        }
    }
    pthread_mutex_unlock(&cutoff->lock);
    bool refused = crowds && others > 0;
    if (refused)
        metrics_count(cutoff->metrics, SLOW_SILENT);
    return !refused;
}

/* Requires the lock. Counts the connection for its client; if memory runs out, for nobody. */
static void hold(struct timed *timed) {
    struct crowd *crowd = timed->crowd;
    struct holder *holder = crowd->holders;
    timed->holder = NULL;
    if (timed->client == 0)
        return;
    while (holder && holder->client != timed->client)
        holder = holder->next;
    if (!holder) {
        holder = malloc(sizeof *holder);
        if (!holder)
            return;
        *holder = (struct holder){.client = timed->client, .next = crowd->holders};
        crowd->holders = holder;
    }
    holder->count++;
    timed->holder = holder;
}

/* Requires the lock. */
static void let_go(struct timed *timed) {
    struct holder *holder = timed->holder, **place = &timed->crowd->holders;
    if (!holder || --holder->count > 0)
        return;
    while (*place != holder)
        place = &(*place)->next;
    *place = holder->next;
    free(holder);
}

void cutoff_add(struct cutoff *cutoff, struct timed *timed) {
    pthread_mutex_lock(&cutoff->lock);
    timed->silent = true;
    timed->since_us = clock_us();
    timed->reason = SLOW_REQUEST;
    timed->previous = NULL;
    timed->next = cutoff->first;
    if (cutoff->first)
        cutoff->first->previous = timed;
    else
        pthread_cond_signal(&cutoff->wake);
    cutoff->first = timed;
    hold(timed);
    if (++timed->crowd->count >= timed->crowd->most) {
        struct timed *victim = find_victim(cutoff, timed);
        if (victim)
            cutoff_cut(cutoff, victim, victim->silent ? SLOW_SILENT : SLOW_REQUEST);
    }
    pthread_mutex_unlock(&cutoff->lock);
}

void cutoff_remove(struct cutoff *cutoff, struct timed *timed) {
    pthread_mutex_lock(&cutoff->lock);
    *(timed->previous ? &timed->previous->next : &cutoff->first) = timed->next;
    if (timed->next)
        timed->next->previous = timed->previous;
    let_go(timed);
    timed->crowd->count--;
    pthread_mutex_unlock(&cutoff->lock);
}

size_t cutoff_count(struct cutoff *cutoff, const struct crowd *crowd) {
    pthread_mutex_lock(&cutoff->lock);
    size_t count = crowd->count;
    pthread_mutex_unlock(&cutoff->lock);
    return count;
}

void cutoff_set(struct cutoff *cutoff, struct timed *timed, enum metrics_counter reason,
                int64_t timeout_us) {
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
