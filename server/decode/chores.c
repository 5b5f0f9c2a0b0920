#include "server/decode/chores.h"
#include "server/base/clock.h"
#include "server/base/meter.h"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct chores {
    struct chores_options options; /* constant */
    pthread_t *threads;            /* [started] */
    size_t started;

    pthread_mutex_t lock;        /* guards everything below */
    pthread_cond_t ready;        /* a chore was submitted, or there will be none */
    pthread_cond_t ended;        /* one of pending became 0 */
    struct chore *first;         /* what waits, by turns; of one turn, in the order in which they came */
    size_t count, bytes;         /* of what waits */
    size_t pending[CHORE_KINDS]; /* waiting, or being done */
    uint64_t turn;               /* of the last one taken */
    struct meter meter;          /* of the bytes taken */
    bool closed, abandoned;
};

/* ---- in ---- */

static bool has_waiting(const struct chores *chores, uint64_t client) {
    const struct chore *chore = chores->first;
    while (chore && chore->request->client != client)
        chore = chore->next;
    return chore != NULL;
}

/* By how many bytes what would wait is too much; of too many chores, the bytes of one. */
static size_t excess(const struct chores *chores, const struct chore *chore) {
    size_t share = has_waiting(chores, chore->request->client) ? 8 : SIZE_MAX;
    size_t most = chores->options.chores - chores->options.chores / share;
    size_t most_bytes = chores->options.bytes - chores->options.bytes / share, bytes = chores->bytes + chore->bytes;
    size_t over = bytes > most_bytes && chores->count > 0 ? bytes - most_bytes : 0; /* an empty queue has room for any one */
    return chores->count >= most && over == 0 ? chore->bytes + 1 : over;
}

/* Behind all of its turn, which is the one after the client's last: a client has one chore in each. */
static void chores_insert(struct chores *chores, struct chore *chore) {
    struct chore **link = &chores->first;
    chore->turn = chores->turn + 1;
    for (const struct chore *other = chores->first; other; other = other->next) {
        if (other->request->client == chore->request->client)
            chore->turn = other->turn + 1;
    }
    while (*link && (*link)->turn <= chore->turn)
        link = &(*link)->next;
    chore->next = *link;
    *link = chore;
    chores->count++;
    chores->bytes += chore->bytes;
    chores->pending[chore->kind]++;
    metrics_chores_changed(chores->options.metrics, 1);
}

bool chores_submit(struct chores *chores, struct chore *chore) {
    pthread_mutex_lock(&chores->lock);
    assert(!chores->closed);
    bool taken = chore->kind == CHORE_RENDERING || excess(chores, chore) == 0;
    if (taken && chores->abandoned)
        request_cancel(chore->request, CANCEL_SHUTDOWN);
    if (taken)
        chores_insert(chores, chore);
    pthread_mutex_unlock(&chores->lock);
    if (taken)
        pthread_cond_signal(&chores->ready);
    return taken;
}

double chores_wait_s(struct chores *chores, const struct chore *chore) {
    pthread_mutex_lock(&chores->lock);
    double seconds = meter_seconds(&chores->meter, (double)excess(chores, chore));
    pthread_mutex_unlock(&chores->lock);
    return seconds;
}

void chores_abandon(struct chores *chores) {
    pthread_mutex_lock(&chores->lock);
    chores->abandoned = true;
    for (struct chore *chore = chores->first; chore; chore = chore->next)
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

/* ---- out ---- */

static bool is_over(const struct chore *chore, int64_t now_us) {
    return now_us >= chore->request->deadline_us || request_reason(chore->request) != CANCEL_NONE;
}

/* What is over is answered first, whatever its turn. */
static struct chore *chores_take(struct chores *chores) {
    int64_t now_us = clock_us();
    struct chore **link = &chores->first;
    while (*link && !is_over(*link, now_us))
        link = &(*link)->next;
    if (!*link)
        link = &chores->first;
    struct chore *chore = *link;
    *link = chore->next;
    if (link == &chores->first)
        chores->turn = chore->turn > chores->turn ? chore->turn : chores->turn;
    chores->count--;
    chores->bytes -= chore->bytes;
    meter_observe(&chores->meter, (double)chore->bytes, chores->count, now_us);
    metrics_chores_changed(chores->options.metrics, -1);
    return chore;
}

/* run may free the chore. */
static void perform(const struct chores *chores, struct chore *chore) {
    enum metrics_chore kind = chore->kind;
    int64_t began_us = clock_us();
    chore->run(chore->owner);
    metrics_chore(chores->options.metrics, kind, clock_us() - began_us);
}

static void *chores_run(void *argument) {
    struct chores *chores = argument;
    pthread_mutex_lock(&chores->lock);
    while (chores->first || !chores->closed) {
        if (!chores->first) {
            pthread_cond_wait(&chores->ready, &chores->lock);
            continue;
        }
        struct chore *chore = chores_take(chores);
        enum metrics_chore kind = chore->kind;
        pthread_mutex_unlock(&chores->lock);
        perform(chores, chore);
        pthread_mutex_lock(&chores->lock);
        if (--chores->pending[kind] == 0)
            pthread_cond_broadcast(&chores->ended);
    }
    pthread_mutex_unlock(&chores->lock);
    return NULL;
}

/* ---- life ---- */

static int start_threads(struct chores *chores, struct error *err) {
    chores->threads = calloc(chores->options.threads, sizeof *chores->threads);
    if (!chores->threads)
        return error_memory(err);
    for (; chores->started < chores->options.threads; chores->started++) {
        if (pthread_create(&chores->threads[chores->started], NULL, chores_run, chores) != 0)
            return error_set(err, ERROR_MEMORY, "cannot start the thread that prepares large requests");
    }
    return 0;
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
    if (start_threads(chores, err) == 0)
        return chores;
    chores_free(chores);
    return NULL;
}

void chores_free(struct chores *chores) {
    if (!chores)
        return;
    pthread_mutex_lock(&chores->lock);
    chores->closed = true;
    pthread_mutex_unlock(&chores->lock);
    pthread_cond_broadcast(&chores->ready);
    for (size_t i = 0; i < chores->started; i++)
        pthread_join(chores->threads[i], NULL);
    pthread_cond_destroy(&chores->ended);
    pthread_cond_destroy(&chores->ready);
    pthread_mutex_destroy(&chores->lock);
    free(chores->threads);
    free(chores);
}
