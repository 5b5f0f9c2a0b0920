#include "server/decode/chores.h"
#include "server/base/clock.h"
#include "server/base/metrics.h"
#include <assert.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

/* SLICE_US is 20 ms less the time between two looks at the clock. For each thread that works, MOST_LARGE and MOST_SMALL chores may
 * be in progress, because each holds memory and a thread. SMALL_RUN: slices of small chores in a row while a large one waits. */
enum { SLICE_US = 16000, MOST_LARGE = 3, MOST_SMALL = 8, MOST_SMALL_OF_CLIENT = 4, MOST_WAITING = 8, SMALL_RUN = 3 };

/* Chores by turns; of one turn, in the order in which they came. */
struct chore_list {
    struct chore *first;
};

/* A chore in progress. Only its thread may look at the chore itself, whose owner may free it at any time. */
struct chore_place {
    bool taken, large, waits;
    uint64_t client;
};

/* A thread that waits for its chore's next slice. */
struct chore_resumed {
    pthread_cond_t condition;
    bool now;
};

struct chores {
    struct chores_options options; /* constant */

    pthread_mutex_t lock;                    /* guards everything below */
    pthread_cond_t ready;                    /* something was handed, or there will be nothing more */
    pthread_cond_t ended;                    /* one of pending became 0 */
    pthread_t *threads;                      /* [started], room for all that there may be */
    size_t started, idle;                    /* idle: threads that do no chore */
    struct chore_list small, large, waiting; /* chores that have not begun; waiting: those that will wait for a disk */
    struct chore_list paused;                /* chores that have begun and wait for their next slice */
    struct chore *handed;                    /* [handed_count] chores for threads that are still idle */
    size_t handed_count;
    struct chore_place *places;  /* [most_threads] of the chores that are handed, running or paused */
    size_t running;              /* handed or running: at most options.threads */
    size_t small_run;            /* slices of small ones since the last of a large one */
    size_t count, bytes;         /* of the chores that have not begun */
    size_t pending[CHORE_KINDS]; /* waiting, or being done */
    uint64_t turn;               /* of the last one taken */
    struct meter meter;          /* of the bytes taken */
    bool closed, abandoned, tidy;
};

static size_t most_threads(const struct chores *chores) {
    return chores->options.threads * (MOST_LARGE + MOST_SMALL) + MOST_WAITING;
}

/* ---- lists ---- */

static const struct chore *find_client(const struct chore_list *list, uint64_t client) {
    const struct chore *chore = list->first;
    while (chore && chore->request->client != client)
        chore = chore->next;
    return chore;
}

/* Behind all of its turn, which is the one after the client's last: a client has one chore in each. */
static void list_insert(const struct chores *chores, struct chore_list *list, struct chore *chore) {
    struct chore **link = &list->first;
    chore->turn = chores->turn + 1;
    for (const struct chore *other = list->first; other; other = other->next)
        if (other->request->client == chore->request->client)
            chore->turn = other->turn + 1;
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

/* ---- whose turn it is ---- */

static bool is_over(const struct chore *chore, int64_t now_us) {
    return now_us >= chore->request->deadline_us || request_reason(chore->request) != CANCEL_NONE;
}

/* There are a thread and memory for it. A client has one large chore in progress, so that others find room. */
static bool may_begin(const struct chores *chores, const struct chore *chore) {
    size_t all = 0, own = 0;
    for (size_t i = 0; i < most_threads(chores); i++) {
        const struct chore_place *place = &chores->places[i];
        bool alike = place->taken && place->waits == chore->waits && (place->large == chore->large || chore->waits);
        all += alike;
        own += alike && place->client == chore->request->client;
    }
    if (chore->waits)
        return all < MOST_WAITING;
    size_t most = chores->options.threads * (chore->large ? MOST_LARGE : MOST_SMALL);
    return all < most && own < (chore->large ? 1 : MOST_SMALL_OF_CLIENT);
}

/* The first that may begin; NULL: none. */
static struct chore **first_to_begin(const struct chores *chores, struct chore_list *list) {
    struct chore **link = &list->first;
    while (*link && !may_begin(chores, *link))
        link = &(*link)->next;
    return *link ? link : NULL;
}

static struct chore **first_over(struct chore_list *list, int64_t now_us) {
    struct chore **link = &list->first;
    while (*link && !is_over(*link, now_us))
        link = &(*link)->next;
    return *link ? link : NULL;
}

/* The link to the next chore; NULL: nothing can be done now. begin: it need not be a paused one. A chore whose request is over
 * comes first, whatever its turn: it is answered at once. Then small ones come before large ones and before what has used up a
 * slice, of which each has its turn now and then all the same. */
static struct chore **next_chore(struct chores *chores, bool begin) {
    int64_t now_us = clock_us();
    struct chore **link = first_over(&chores->paused, now_us);
    struct chore_list *const lists[] = {&chores->small, &chores->large};
    for (size_t i = 0; begin && !link && i < 2; i++) {
        link = first_over(lists[i], now_us);
        if (link && !may_begin(chores, *link))
            link = NULL;
    }
    if (link)
        return link;
    if (!begin)
        return chores->paused.first ? &chores->paused.first : NULL;
    struct chore **small = first_to_begin(chores, &chores->small), **large = first_to_begin(chores, &chores->large);
    if (chores->paused.first && (!large || chores->paused.first->turn <= (*large)->turn))
        large = &chores->paused.first;
    if (!small || (large && chores->small_run >= SMALL_RUN))
        return large;
    return small;
}

static void *chores_run(void *argument);

/* True: there is a thread that could begin a chore. */
static bool has_thread(struct chores *chores) {
    if (chores->idle > chores->handed_count)
        return true;
    if (chores->started == most_threads(chores) || pthread_create(&chores->threads[chores->started], NULL, chores_run, chores) != 0)
        return false;
    chores->started++;
    chores->idle++;
    return true;
}

static void hand_over(struct chores *chores, struct chore *chore) {
    struct chore **link = &chores->handed;
    while (*link)
        link = &(*link)->next;
    *link = chore;
    chores->handed_count++;
    while (chores->places[chore->place].taken)
        chore->place++;
    chores->places[chore->place] = (struct chore_place){true, chore->large, chore->waits, chore->request->client};
    chores->count--;
    chores->bytes -= chore->bytes;
    meter_observe(&chores->meter, (double)chore->bytes, chores->count, clock_us());
    metrics_chores_changed(chores->options.metrics, -1);
    pthread_cond_signal(&chores->ready);
}

/* Lets begin and go on what can. Called with the lock whenever a chore came, paused or ended. */
static void dispatch(struct chores *chores) {
    while (chores->waiting.first && may_begin(chores, chores->waiting.first) && has_thread(chores))
        hand_over(chores, list_take(&chores->waiting.first));
    while (chores->running < chores->options.threads) {
        struct chore **link = next_chore(chores, true);
        if (link && !(*link)->resumed && !has_thread(chores))
            link = next_chore(chores, false);
        if (!link)
            return;
        struct chore *chore = list_take(link);
        chores->small_run = chore->large || chore->resumed ? 0 : chores->small_run + 1;
        chores->turn = chore->turn > chores->turn ? chore->turn : chores->turn;
        chores->running++;
        if (chore->resumed) {
            chore->resumed->now = true;
            pthread_cond_signal(&chore->resumed->condition);
        } else {
            hand_over(chores, chore);
        }
    }
}

/* Waits for the chore's next slice. With the lock; the chore does not run. */
static void await_slice(struct chores *chores, struct chore *chore) {
    struct chore_resumed resumed = {.now = false};
    pthread_cond_init(&resumed.condition, NULL);
    chore->resumed = &resumed;
    list_insert(chores, &chores->paused, chore);
    dispatch(chores);
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
    if (next_chore(chores, true)) {
        chores->running--;
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
        chores->running--;
        dispatch(chores);
    } else {
        await_slice(chores, chore);
    }
    pthread_mutex_unlock(&chores->lock);
}

/* ---- in ---- */

/* The bytes by which too much would wait; if too many chores would wait, the bytes of one. */
static size_t excess(const struct chores *chores, const struct chore *chore) {
    uint64_t client = chore->request->client;
    size_t share = find_client(&chores->small, client) || find_client(&chores->large, client) ? 8 : SIZE_MAX;
    size_t most = chores->options.chores - chores->options.chores / share;
    size_t most_bytes = chores->options.bytes - chores->options.bytes / share, bytes = chores->bytes + chore->bytes;
    size_t over = bytes > most_bytes && chores->count > 0 ? bytes - most_bytes : 0; /* an empty queue has room for any one */
    return chores->count >= most && over == 0 ? chore->bytes + 1 : over;
}

bool chores_submit(struct chores *chores, struct chore *chore) {
    pthread_mutex_lock(&chores->lock);
    assert(!chores->closed);
    bool taken = chore->kind == CHORE_RENDERING || excess(chores, chore) == 0;
    if (taken && chores->abandoned)
        request_cancel(chore->request, CANCEL_SHUTDOWN);
    if (taken) {
        list_insert(chores, chore->waits ? &chores->waiting : chore->large ? &chores->large : &chores->small, chore);
        chores->count++;
        chores->bytes += chore->bytes;
        chores->pending[chore->kind]++;
        metrics_chores_changed(chores->options.metrics, 1);
        dispatch(chores);
    }
    pthread_mutex_unlock(&chores->lock);
    return taken;
}

double chores_wait_s(struct chores *chores, const struct chore *chore) {
    pthread_mutex_lock(&chores->lock);
    double seconds = meter_seconds(&chores->meter, (double)excess(chores, chore));
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
    const struct chore_list lists[] = {chores->small, chores->large, chores->paused, chores->waiting};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (struct chore *chore = lists[i].first; chore; chore = chore->next)
            request_cancel(chore->request, CANCEL_SHUTDOWN);
    pthread_mutex_unlock(&chores->lock);
}

bool chores_wait(struct chores *chores, enum metrics_chore kind, size_t timeout_ms) {
    int64_t until_us = clock_us() + (int64_t)timeout_ms * 1000;
    struct timespec until = {until_us / 1000000, until_us % 1000000 * 1000};
    int result = 0;
    pthread_mutex_lock(&chores->lock);
    while (chores->pending[kind] > 0 && result == 0)
        result = pthread_cond_timedwait(&chores->ended, &chores->lock, &until);
    bool ended = chores->pending[kind] == 0;
    pthread_mutex_unlock(&chores->lock);
    return ended;
}

/* ---- the threads ---- */

/* run may free the chore. */
static void perform(struct chores *chores, struct chore *chore) {
    enum metrics_chore kind = chore->kind;
    size_t place = chore->place;
    bool waits = chore->waits;
    int64_t began_us = chore->slice_us = clock_us();
    chore->run(chore->owner);
    metrics_chore(chores->options.metrics, kind, clock_us() - began_us);
    pthread_mutex_lock(&chores->lock);
    chores->places[place].taken = false;
    chores->running -= !waits;
    chores->idle++;
    if (--chores->pending[kind] == 0)
        pthread_cond_broadcast(&chores->ended);
    dispatch(chores);
    pthread_mutex_unlock(&chores->lock);
}

static void *chores_run(void *argument) {
    struct chores *chores = argument;
    pthread_setname_np(pthread_self(), "chore"); /* shown by ps and top */
    pthread_mutex_lock(&chores->lock);
    for (;;) {
        if (chores->handed) {
            struct chore *chore = list_take(&chores->handed);
            chores->handed_count--;
            chores->idle--;
            pthread_mutex_unlock(&chores->lock);
            perform(chores, chore);
            pthread_mutex_lock(&chores->lock);
        } else if (chores->tidy) {
            chores->tidy = false;
            pthread_mutex_unlock(&chores->lock);
            malloc_trim(0);
            pthread_mutex_lock(&chores->lock);
        } else if (chores->closed) {
            break;
        } else {
            pthread_cond_wait(&chores->ready, &chores->lock);
        }
    }
    pthread_mutex_unlock(&chores->lock);
    return NULL;
}

/* ---- life ---- */

static int prepare_threads(struct chores *chores, struct error *err) {
    chores->threads = calloc(most_threads(chores), sizeof *chores->threads);
    chores->places = calloc(most_threads(chores), sizeof *chores->places);
    if (!chores->threads || !chores->places)
        return error_memory(err);
    pthread_mutex_lock(&chores->lock);
    bool enough = has_thread(chores); /* the others begin when they are needed */
    pthread_mutex_unlock(&chores->lock);
    return enough ? 0 : error_set(err, ERROR_MEMORY, "cannot start the thread that prepares large requests");
}

struct chores *chores_start(const struct chores_options *options, struct error *err) {
    assert(options->threads > 0);
    struct chores *chores = calloc(1, sizeof *chores);
    if (!chores) {
        error_memory(err);
        return NULL;
    }
    chores->options = *options;
    pthread_mutex_init(&chores->lock, NULL);
    pthread_cond_init(&chores->ready, NULL);
    clock_condition_init(&chores->ended);
    if (prepare_threads(chores, err) == 0)
        return chores;
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
    for (size_t i = 0; i < chores->started; i++) /* nobody starts any more */
        pthread_join(chores->threads[i], NULL);
    pthread_cond_destroy(&chores->ended);
    pthread_cond_destroy(&chores->ready);
    pthread_mutex_destroy(&chores->lock);
    free(chores->threads);
    free(chores->places);
    free(chores);
}
