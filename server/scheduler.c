#include "server/scheduler.h"
#include "server/clock.h"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { SWEEP_US = 10000 };

struct scheduler {
    size_t capacity; /* constant */

    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t ready; /* a job was queued, or the queue closed */
    struct job *head;
    struct job **tail; /* where the next job is linked in */
    size_t depth;      /* jobs in the queue */
    size_t waiting;    /* workers blocked in scheduler_take */
    bool closed;
    int64_t swept_us; /* when expired jobs were last looked for */
};

struct scheduler *scheduler_create(size_t capacity) {
    struct scheduler *scheduler = calloc(1, sizeof *scheduler);
    if (!scheduler)
        return NULL;
    scheduler->capacity = capacity;
    scheduler->tail = &scheduler->head;
    pthread_mutex_init(&scheduler->lock, NULL);
    pthread_cond_init(&scheduler->ready, NULL);
    return scheduler;
}

void scheduler_free(struct scheduler *scheduler) {
    if (!scheduler)
        return;
    assert(!scheduler->head && scheduler->waiting == 0);
    pthread_cond_destroy(&scheduler->ready);
    pthread_mutex_destroy(&scheduler->lock);
    free(scheduler);
}

static void link_jobs(struct scheduler *scheduler, struct request *request) {
    int64_t now_us = clock_us();
    atomic_store(&request->pending, request->job_count);
    for (size_t i = 0; i < request->job_count; i++) {
        struct job *job = &request->jobs[i];
        job->queued_us = now_us;
        job->next = NULL;
        *scheduler->tail = job;
        scheduler->tail = &job->next;
    }
    scheduler->depth += request->job_count;
}

enum scheduler_verdict scheduler_submit(struct scheduler *scheduler, struct request *request) {
    assert(request->job_count > 0);
    enum scheduler_verdict verdict = SCHEDULER_ACCEPTED;
    size_t count = request->job_count; /* the request may be gone once the lock is released */
    pthread_mutex_lock(&scheduler->lock);
    if (scheduler->closed)
        verdict = SCHEDULER_CLOSED;
    else if (count > scheduler->capacity - scheduler->depth)
        verdict = SCHEDULER_FULL;
    else
        link_jobs(scheduler, request);
    pthread_mutex_unlock(&scheduler->lock);
    if (verdict == SCHEDULER_ACCEPTED) {
        if (count > 1)
            pthread_cond_broadcast(&scheduler->ready);
        else
            pthread_cond_signal(&scheduler->ready);
    }
    return verdict;
}

static bool expired(const struct job *job, int64_t now_us) {
    if (now_us >= job->request->deadline_us)
        request_cancel(job->request, CANCEL_DEADLINE);
    return request_reason(job->request) != CANCEL_NONE;
}

/* Moves the job at *link to the end of the list that *end closes. */
static void move_job(struct scheduler *scheduler, struct job **link, struct job ***end) {
    struct job *job = *link;
    *link = job->next;
    if (scheduler->tail == &job->next)
        scheduler->tail = link;
    scheduler->depth--;
    job->next = NULL;
    **end = job;
    *end = &job->next;
}

static void take_expired(struct scheduler *scheduler, struct job ***end) {
    int64_t now_us = clock_us();
    if (!scheduler->head || now_us - scheduler->swept_us < SWEEP_US)
        return;
    scheduler->swept_us = now_us;
    for (struct job **link = &scheduler->head; *link;) {
        if (expired(*link, now_us))
            move_job(scheduler, link, end);
        else
            link = &(*link)->next;
    }
}

/* The share of a worker that was idle is rounded up, that of a busy one down: a single job is left to an idle worker. */
static size_t fair_share(const struct scheduler *scheduler, bool idle) {
    size_t workers = scheduler->waiting + 1;
    return (scheduler->depth + (idle ? workers - 1 : 0)) / workers;
}

static void take_oldest(struct scheduler *scheduler, const struct scheduler_room *room, size_t most, struct job ***end) {
    for (; most > 0 && scheduler->head && room->claim(room->owner, scheduler->head); most--)
        move_job(scheduler, &scheduler->head, end);
}

struct job *scheduler_take(struct scheduler *scheduler, const struct scheduler_room *room, bool wait) {
    struct job *taken = NULL, **end = &taken;
    pthread_mutex_lock(&scheduler->lock);
    while (wait && !scheduler->head && !scheduler->closed) {
        scheduler->waiting++;
        pthread_cond_wait(&scheduler->ready, &scheduler->lock);
        scheduler->waiting--;
    }
    take_expired(scheduler, &end);
    take_oldest(scheduler, room, fair_share(scheduler, wait), &end);
    assert(!wait || taken || !scheduler->head); /* an idle worker has room for any job */
    bool pass_on = scheduler->head && scheduler->waiting > 0;
    pthread_mutex_unlock(&scheduler->lock);
    if (pass_on)
        pthread_cond_signal(&scheduler->ready);
    return taken;
}

void scheduler_close(struct scheduler *scheduler) {
    pthread_mutex_lock(&scheduler->lock);
    scheduler->closed = true;
    pthread_mutex_unlock(&scheduler->lock);
    pthread_cond_broadcast(&scheduler->ready);
}

size_t scheduler_depth(struct scheduler *scheduler) {
    pthread_mutex_lock(&scheduler->lock);
    size_t depth = scheduler->depth;
    pthread_mutex_unlock(&scheduler->lock);
    return depth;
}

size_t scheduler_capacity(const struct scheduler *scheduler) {
    return scheduler->capacity;
}
