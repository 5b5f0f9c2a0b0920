/* This module hides which chore gets a slice on which thread. */
#include "server/decode/chores.h"
#include "server/base/clock.h"
#include "server/base/metrics.h"
#include <assert.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

enum {
    SLICE_US = 16000, /* 20 ms minus the time between two checks of the clock */
    /* Chores in progress are bounded for each working thread and for each client, since each holds
       memory and a thread. */
    MOST_LARGE = 3,
    MOST_SMALL = 8,
    MOST_LARGE_OF_CLIENT = 1, /* leaves room for others */
    MOST_SMALL_OF_CLIENT = 4,
    MOST_WAITING = 8, /* for chores that wait for a disk */
    SMALL_RUN = 3     /* slices of small chores in a row while a large one waits */
};

/* A chore in progress. Only its thread may look at the chore itself, whose owner may free it at any
 * time. */
struct chore_place {
    bool taken, large, waits;
    bool runs; /* it counts in `running`: it has a slice, and neither is away nor overdue */
    uint64_t client;
    int64_t slice_us; /* when its slice began */
};

/* A thread that waits for its chore's next slice. */
struct chore_resumed {
    pthread_cond_t condition;
    bool now;
};

struct chores {
    struct chores_options options; /* constant */
    size_t most_threads;           /* constant */

    pthread_mutex_t lock; /* protects everything below */
    pthread_cond_t ready; /* a chore was handed over or waits, or tidy or closed was set */
    pthread_cond_t ended; /* a count in pending became 0 */
    pthread_t *threads;   /* [started], room for most_threads */
    size_t started, idle; /* idle: threads that do no chore */
    struct chore *small, *large, *waiting; /* chores that have not begun, by turns; waiting: chores
                                              that will wait for a disk */
    struct chore *paused; /* chores that have begun and wait for their next slice, by turns */
    struct chore *handed; /* [handed_count] chores for threads that are still idle */
    size_t handed_count;
    struct chore_place
        *places;         /* [most_threads] the chores that are handed over, running or paused */
    size_t running;      /* the places whose chores run */
    size_t small_run;    /* slices of small chores since the last of a large one */
    size_t count, bytes; /* number and bytes of the chores that have not begun */
    size_t pending[CHORE_KINDS]; /* chores that have not ended */
    uint64_t turn;               /* the turn of the chore taken last */
    struct meter meter;          /* the bytes taken */
    bool closed, abandoned, tidy;
};

/* ---- turns ---- */

/* Gives the chore the turn after its client's last, since a client has one chore per turn, and
 * inserts it last in that turn. */
static void list_insert(const struct chores *chores, struct chore **list, struct chore *chore) {
    struct chore **link = list;
    chore->turn = chores->turn + 1;
    for (const struct chore *other = *list; other; other = other->next) {
        if (other->request->account.client == chore->request->account.client)
            chore->turn = other->turn + 1;
    }
    while (*link && (*link)->turn <= chore->turn)
        link = &(*link)->next;
    chore->next = *link;
    *link = chore;
}

static struct chore *list_take(struct chore **link) {
    struct chore *chore = *link;
    *link = chore->next;
    chore->next = NULL;
    return chore;
}

/* Returns whether there are a thread and memory for the chore. */
static bool may_begin(const struct chores *chores, const struct chore *chore) {
    size_t all = 0, own = 0;
    for (size_t i = 0; i < chores->most_threads; i++) {
        const struct chore_place *place = &chores->places[i];
        bool alike = place->taken && place->waits == chore->waits &&
                     (place->large == chore->large || chore->waits);
        all += alike;
        own += alike && place->client == chore->request->account.client;
    }
    if (chore->waits)
        return all < MOST_WAITING;
    return all < chores->options.threads * (chore->large ? MOST_LARGE : MOST_SMALL) &&
           own < (chore->large ? MOST_LARGE_OF_CLIENT : MOST_SMALL_OF_CLIENT);
}

static struct chore **first_to_begin(const struct chores *chores, struct chore **list) {
    while (*list && !may_begin(chores, *list))
        list = &(*list)->next;
    return *list ? list : NULL;
}

/* Returns the link to the first chore whose request is over, or NULL. */
static struct chore **first_over(struct chore **list, int64_t now_us) {
    while (*list && now_us < (*list)->request->deadline_us &&
           request_reason((*list)->request) == CANCEL_NONE)
        list = &(*list)->next;
    return *list ? list : NULL;
}

/* Returns the link to the next chore, or NULL if no chore may run now. begin: includes chores that
 * have not begun. A chore whose request is over comes first, whatever its turn, and is answered at
 * once. Otherwise small chores come before large ones and before those that have used up a slice,
 * but each of these still has its turn now and then. */
static struct chore **next_chore(struct chores *chores, bool begin) {
    int64_t now_us = clock_us();
    struct chore **link = first_over(&chores->paused, now_us),
                 **lists[] = {&chores->small, &chores->large};
    for (size_t i = 0; begin && !link && i < 2; i++) {
        link = first_over(lists[i], now_us);
        if (link && !may_begin(chores, *link))
            link = NULL;
    }
    if (link)
        return link;
    struct chore **paused = chores->paused ? &chores->paused : NULL;
    if (!begin)
        return paused;
    struct chore **small = first_to_begin(chores, &chores->small),
                 **large = first_to_begin(chores, &chores->large);
    if (paused && (!large || (*paused)->turn <= (*large)->turn))
        large = paused;
    return !small || (large && chores->small_run >= SMALL_RUN) ? large : small;
}

static void *chores_run(void *argument);

/* Returns whether a thread could begin a chore; starts one if necessary. */
static bool has_thread(struct chores *chores) {
    if (chores->idle > chores->handed_count)
        return true;
    if (chores->started == chores->most_threads ||
        pthread_create(&chores->threads[chores->started], NULL, chores_run, chores) != 0)
        return false;
    chores->started++;
    chores->idle++;
    return true;
}

/* Its slice begins, or is over. */
static void set_runs(struct chores *chores, const struct chore *chore, bool runs) {
    struct chore_place *place = &chores->places[chore->place];
    chores->running += runs;
    chores->running -= place->runs;
    place->runs = runs;
    place->slice_us = clock_us();
}

static void hand_over(struct chores *chores, struct chore *chore) {
    struct chore **end = &chores->handed;
    while (*end)
        end = &(*end)->next;
    *end = chore;
    chores->handed_count++;
    while (chores->places[chore->place].taken)
        chore->place++;
    chores->places[chore->place] = (struct chore_place){
        .taken = true,
        .large = chore->large,
        .waits = chore->waits,
        .client = chore->request->account.client,
    };
    chores->count--;
    chores->bytes -= chore->bytes;
    meter_observe(&chores->meter, (double)chore->bytes, chores->count, clock_us());
    metrics_add(chores->options.metrics, GAUGE_CHORES_WAITING, -1);
    pthread_cond_signal(&chores->ready);
}

/* Lets chores begin and continue as far as they can. Called with the lock held whenever a chore has
 * arrived, paused or ended. */
static void dispatch(struct chores *chores) {
    while (chores->waiting && may_begin(chores, chores->waiting) && has_thread(chores))
        hand_over(chores, list_take(&chores->waiting));
    while (chores->running < chores->options.threads) {
        struct chore **link = next_chore(chores, true);
        if (link && !(*link)->resumed && !has_thread(chores))
            link = next_chore(chores, false);
        if (!link)
            return;
        struct chore *chore = list_take(link);
        chores->small_run = chore->large || chore->resumed ? 0 : chores->small_run + 1;
        chores->turn = chore->turn > chores->turn ? chore->turn : chores->turn;
        if (chore->resumed) {
            set_runs(chores, chore, true);
            chore->resumed->now = true;
            pthread_cond_signal(&chore->resumed->condition);
        } else {
            hand_over(chores, chore);
            set_runs(chores, chore, true);
        }
    }
}

/* ---- overdue ---- */

/* Returns the time at which the first of the running chores is overdue, INT64_MAX if nobody waits
 * for its place. */
static int64_t due_us(struct chores *chores) {
    int64_t first_us = INT64_MAX;
    if (chores->options.overdue_ms == 0 || !next_chore(chores, true))
        return INT64_MAX;
    for (size_t i = 0; i < chores->most_threads; i++) {
        const struct chore_place *place = &chores->places[i];
        if (place->runs && place->slice_us < first_us)
            first_us = place->slice_us;
    }
    return first_us == INT64_MAX ? first_us : first_us + (int64_t)chores->options.overdue_ms * 1000;
}

/* Others get the turns of chores that are overdue, which go on beside them. */
static void pass_by(struct chores *chores) {
    int64_t since_us = clock_us() - (int64_t)chores->options.overdue_ms * 1000;
    for (size_t i = 0; i < chores->most_threads; i++) {
        struct chore_place *place = &chores->places[i];
        if (place->runs && place->slice_us <= since_us) {
            place->runs = false;
            chores->running--;
        }
    }
    dispatch(chores);
}

/* Makes an idle thread wait for the time at which a chore is overdue, if others wait for its place.
 */
static void watch(struct chores *chores) {
    if (due_us(chores) < INT64_MAX && has_thread(chores))
        pthread_cond_signal(&chores->ready);
}

/* ---- called by chores ---- */

/* Waits for the chore's next slice. Called with the lock held, while the chore is not counted as
 * running. */
static void await_slice(struct chores *chores, struct chore *chore) {
    struct chore_resumed resumed = {.now = false};
    pthread_cond_init(&resumed.condition, NULL);
    chore->resumed = &resumed;
    list_insert(chores, &chores->paused, chore);
    dispatch(chores);
    watch(chores);
    while (!resumed.now)
        pthread_cond_wait(&resumed.condition, &chores->lock);
    chore->resumed = NULL;
    pthread_cond_destroy(&resumed.condition);
    chore->slice_us = clock_us();
}

void chores_pause(struct chores *chores, struct chore *chore) {
    if (chore->waits || chore->away || clock_us() - chore->slice_us < SLICE_US)
        return;
    pthread_mutex_lock(&chores->lock);
    bool overdue = !chores->places[chore->place].runs;
    set_runs(chores, chore, !overdue);
    if (overdue || next_chore(chores, true)) {
        set_runs(chores, chore, false);
        await_slice(chores, chore);
    }
    pthread_mutex_unlock(&chores->lock);
    chore->slice_us = clock_us();
}

void chores_away(struct chores *chores, struct chore *chore, bool away) {
    if (chore->waits || chore->away == away)
        return;
    chore->away = away;
    pthread_mutex_lock(&chores->lock);
    if (away) {
        set_runs(chores, chore, false);
        dispatch(chores);
    } else {
        await_slice(chores, chore);
    }
    pthread_mutex_unlock(&chores->lock);
}

/* ---- called by others ---- */

/* Returns by how many bytes the chore would exceed the limit, or its own bytes plus 1 if only the
 * number of chores is too large. */
static size_t find_excess(const struct chores *chores, const struct chore *chore) {
    const struct chore *const lists[] = {chores->small, chores->large};
    bool has_some = false;
    for (size_t i = 0; i < 2; i++) {
        for (const struct chore *other = lists[i]; other && !has_some; other = other->next)
            has_some = other->request->account.client == chore->request->account.client;
    }
    size_t share = has_some ? 8 : SIZE_MAX;
    size_t most = chores->options.chores - chores->options.chores / share;
    size_t most_bytes = chores->options.bytes - chores->options.bytes / share,
           bytes = chores->bytes + chore->bytes;
    size_t over = bytes > most_bytes && chores->count > 0
                      ? bytes - most_bytes
                      : 0; /* an empty queue accepts any chore */
    return chores->count >= most && over == 0 ? chore->bytes + 1 : over;
}

bool chores_submit(struct chores *chores, struct chore *chore) {
    pthread_mutex_lock(&chores->lock);
    assert(!chores->closed);
    bool taken = chore->kind == CHORE_RENDERING || find_excess(chores, chore) == 0;
    if (taken) {
        if (chores->abandoned)
            request_cancel(chore->request, CANCEL_SHUTDOWN);
        list_insert(chores,
                    chore->waits   ? &chores->waiting
                    : chore->large ? &chores->large
                                   : &chores->small,
                    chore);
        chores->count++;
        chores->bytes += chore->bytes;
        chores->pending[chore->kind]++;
        metrics_add(chores->options.metrics, GAUGE_CHORES_WAITING, 1);
        dispatch(chores);
        watch(chores);
    }
    pthread_mutex_unlock(&chores->lock);
    return taken;
}

double chores_wait_s(struct chores *chores, const struct chore *chore) {
    pthread_mutex_lock(&chores->lock);
    double seconds = meter_seconds(&chores->meter, (double)find_excess(chores, chore));
    pthread_mutex_unlock(&chores->lock);
    return seconds;
}

void chores_tidy(struct chores *chores) {
    pthread_mutex_lock(&chores->lock);
    chores->tidy = true;
    pthread_cond_signal(&chores->ready);
    pthread_mutex_unlock(&chores->lock);
}

void chores_abandon(struct chores *chores) {
    pthread_mutex_lock(&chores->lock);
    chores->abandoned = true;
    struct chore *const lists[] = {chores->small, chores->large, chores->paused, chores->waiting};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        for (struct chore *chore = lists[i]; chore; chore = chore->next)
            request_cancel(chore->request, CANCEL_SHUTDOWN);
    }
    pthread_mutex_unlock(&chores->lock);
}

bool chores_wait(struct chores *chores, enum metrics_chore kind, size_t timeout_ms) {
    return clock_wait_zero(&chores->ended, &chores->lock, &chores->pending[kind], timeout_ms);
}

/* ---- the threads ---- */

static void *chores_run(void *argument) {
    struct chores *chores = argument;
    pthread_setname_np(pthread_self(), "chore"); /* shown by ps and top */
    pthread_mutex_lock(&chores->lock);
    for (;;) {
        if (chores->handed) {
            struct chore *chore = list_take(&chores->handed);
            chores->handed_count--;
            chores->idle--;

            /* The chore runs without the lock, and may free itself. */
            enum metrics_chore kind = chore->kind;
            struct chore_place *place = &chores->places[chore->place];
            watch(chores); /* this thread may have been the one that waited for an overdue chore */
            pthread_mutex_unlock(&chores->lock);
            int64_t began_us = chore->slice_us = clock_us();
            chore->run(chore->owner);
            metrics_chore(chores->options.metrics, kind, clock_us() - began_us);
            pthread_mutex_lock(&chores->lock);
            chores->running -= place->runs;
            *place = (struct chore_place){.taken = false};
            chores->idle++;
            if (--chores->pending[kind] == 0)
                pthread_cond_broadcast(&chores->ended);
            dispatch(chores);
        } else if (chores->tidy) {
            chores->tidy = false;
            pthread_mutex_unlock(&chores->lock);
            malloc_trim(0);
            pthread_mutex_lock(&chores->lock);
        } else if (chores->closed) {
            break;
        } else if (clock_wait(&chores->ready, &chores->lock, due_us(chores)) != 0) {
            pass_by(chores);
        }
    }
    pthread_mutex_unlock(&chores->lock);
    return NULL;
}

struct chores *chores_start(const struct chores_options *options, struct error *err) {
    assert(options->threads > 0);
    struct chores *chores = calloc(1, sizeof *chores);
    if (!chores) {
        error_memory(err);
        return NULL;
    }
    chores->options = *options;
    chores->most_threads = options->threads * (MOST_LARGE + MOST_SMALL) + MOST_WAITING;
    pthread_mutex_init(&chores->lock, NULL);
    clock_condition_init(&chores->ready);
    clock_condition_init(&chores->ended);
    chores->threads = calloc(chores->most_threads, sizeof *chores->threads);
    chores->places = calloc(chores->most_threads, sizeof *chores->places);
    bool allocated = chores->threads && chores->places, started = false;
    if (allocated) { /* one thread is enough: others are started on demand */
        pthread_mutex_lock(&chores->lock);
        started = has_thread(chores);
        pthread_mutex_unlock(&chores->lock);
    }
    if (started)
        return chores;
    if (allocated)
        error_set(err, ERROR_MEMORY, "cannot start the thread that prepares large requests");
    else
        error_memory(err);
    chores_free(chores);
    return NULL;
}

void chores_free(struct chores *chores) {
    if (!chores)
        return;
    pthread_mutex_lock(&chores->lock);
    while (chores->pending[CHORE_PREPARATION] + chores->pending[CHORE_RENDERING] > 0)
        pthread_cond_wait(&chores->ended, &chores->lock);
    chores->closed = true;
    pthread_mutex_unlock(&chores->lock);
    pthread_cond_broadcast(&chores->ready);
    for (size_t i = 0; i < chores->started; i++) /* no more threads start from now on */
        pthread_join(chores->threads[i], NULL);
    pthread_cond_destroy(&chores->ended);
    pthread_cond_destroy(&chores->ready);
    pthread_mutex_destroy(&chores->lock);
    free(chores->threads);
    free(chores->places);
    free(chores);
}
