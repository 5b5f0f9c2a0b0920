#include "server/decode/scheduler.h"
#include "server/base/clock.h"
#include "server/base/metrics.h"
#include "server/decode/client_queues.h"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { SWEEP_US = 10000, OVERTAKES = 16, BATCH_SHARE = 10 }; /* of the work, one part in so many is batch's if it waits */

struct scheduler {
    struct scheduler_limits limits; /* constant */

    pthread_mutex_t lock;        /* guards everything below */
    pthread_cond_t ready;        /* a job was queued, or the queue closed */
    struct client_queues queues; /* what waits */
    struct meter meter;          /* of the work taken */
    size_t owed;                 /* interactive work taken while batch jobs waited, for which they have had no share yet */
    size_t waiting;              /* workers blocked in scheduler_take */
    bool closed;
    int64_t swept_us; /* when expired jobs were last looked for */
};

struct scheduler *scheduler_create(const struct scheduler_limits *limits) {
    struct scheduler *scheduler = calloc(1, sizeof *scheduler);
    if (!scheduler || client_queues_init(&scheduler->queues, limits->jobs) != 0) {
        free(scheduler);
        return NULL;
    }
    scheduler->limits = *limits;
    pthread_mutex_init(&scheduler->lock, NULL);
    pthread_cond_init(&scheduler->ready, NULL);
    return scheduler;
}

void scheduler_free(struct scheduler *scheduler) {
    if (!scheduler)
        return;
    assert(scheduler->waiting == 0);
    client_queues_done(&scheduler->queues);
    pthread_cond_destroy(&scheduler->ready);
    pthread_mutex_destroy(&scheduler->lock);
    free(scheduler);
}

/* ---- in ---- */

/* Batch requests are as one client's. */
static bool has_waiting(const struct client_queues *queues, const struct request *request) {
    return request->priority == PRIORITY_BATCH ? queues->rings[PRIORITY_BATCH].first : client_queues_find(queues, request);
}

/* By how much the request goes beyond what its client may fill. One that has no jobs yet will have one at least. */
static struct scheduler_limits excess(const struct scheduler *scheduler, const struct request *request) {
    bool waits = has_waiting(&scheduler->queues, request);
    struct scheduler_limits most = scheduler->limits;
    most.jobs -= waits ? most.jobs / 8 : 0;
    most.work -= waits ? most.work / 8 : 0;
    size_t jobs = scheduler->queues.jobs + (request->job_count > 0 ? request->job_count : 1),
           work = scheduler->queues.work + request_work(request);
    return (struct scheduler_limits){jobs > most.jobs ? jobs - most.jobs : 0, work > most.work ? work - most.work : 0};
}

static enum scheduler_verdict scheduler_judge_room(const struct scheduler *scheduler, const struct request *request) {
    if (scheduler->closed)
        return SCHEDULER_CLOSED;
    struct scheduler_limits over = excess(scheduler, request);
    if (over.jobs > 0 || !client_queues_admits(&scheduler->queues, request))
        return SCHEDULER_FULL;
    return over.work > 0 ? SCHEDULER_FULL_WORK : SCHEDULER_ACCEPTED;
}

static void push_jobs(struct scheduler *scheduler, struct request *request) {
    int64_t now_us = clock_us();
    atomic_store(&request->pending, request->job_count);
    for (size_t i = 0; i < request->job_count; i++) {
        request->jobs[i].queued_us = now_us;
        client_queues_push(&scheduler->queues, &request->jobs[i]);
    }
}

enum scheduler_verdict scheduler_submit(struct scheduler *scheduler, struct request *request) {
    assert(request->job_count > 0);
    size_t count = request->job_count; /* the request may be gone once the lock is released */
    pthread_mutex_lock(&scheduler->lock);
    enum scheduler_verdict verdict = scheduler_judge_room(scheduler, request);
    if (verdict == SCHEDULER_ACCEPTED)
        push_jobs(scheduler, request);
    pthread_mutex_unlock(&scheduler->lock);
    if (verdict == SCHEDULER_ACCEPTED) {
        if (count > 1)
            pthread_cond_broadcast(&scheduler->ready);
        else
            pthread_cond_signal(&scheduler->ready);
    }
    return verdict;
}

bool scheduler_return(struct scheduler *scheduler, struct job *job) {
    pthread_mutex_lock(&scheduler->lock);
    bool admitted = client_queues_admits(&scheduler->queues, job->request);
    if (admitted) {
        job->queued_us = clock_us();
        client_queues_push(&scheduler->queues, job);
    }
    pthread_mutex_unlock(&scheduler->lock);
    if (admitted)
        pthread_cond_signal(&scheduler->ready);
    return admitted;
}

enum scheduler_verdict scheduler_judge(struct scheduler *scheduler, const struct request *request) {
    pthread_mutex_lock(&scheduler->lock);
    enum scheduler_verdict verdict = scheduler_judge_room(scheduler, request);
    pthread_mutex_unlock(&scheduler->lock);
    return verdict;
}

double scheduler_wait_s(struct scheduler *scheduler, const struct request *request) {
    pthread_mutex_lock(&scheduler->lock);
    struct scheduler_limits over = excess(scheduler, request);
    const struct client_queues *queues = &scheduler->queues;
    double jobs_work = queues->jobs > 0 ? (double)over.jobs * (double)queues->work / (double)queues->jobs : 0;
    double work = jobs_work > (double)over.work ? jobs_work : (double)over.work;
    double seconds = meter_seconds(&scheduler->meter, work);
    pthread_mutex_unlock(&scheduler->lock);
    return seconds;
}

/* ---- out ---- */

/* The list that scheduler_take returns, while it grows. */
struct taken {
    struct job *jobs, **end;
    double work; /* of those that were claimed */
};

static bool expired(const struct job *job, int64_t now_us) {
    if (now_us >= job->request->deadline_us)
        request_cancel(job->request, CANCEL_DEADLINE);
    return request_reason(job->request) != CANCEL_NONE;
}

/* True: the queue is gone. */
static bool scheduler_take_job(struct scheduler *scheduler, struct client_queue *queue, struct job **link, struct taken *taken) {
    struct job *job = *link;
    bool gone = client_queues_take(&scheduler->queues, queue, link);
    *taken->end = job;
    taken->end = &job->next;
    return gone;
}

static void take_expired_of(struct scheduler *scheduler, struct client_queue *queue, int64_t now_us, struct taken *taken) {
    for (struct job **link = &queue->head; *link;) {
        if (!expired(*link, now_us))
            link = &(*link)->next;
        else if (scheduler_take_job(scheduler, queue, link, taken))
            return;
    }
}

static void take_expired(struct scheduler *scheduler, struct taken *taken) {
    int64_t now_us = clock_us();
    if (scheduler->queues.jobs == 0 || now_us - scheduler->swept_us < SWEEP_US)
        return;
    scheduler->swept_us = now_us;
    for (size_t i = 0; i < PRIORITIES; i++)
        for (struct client_queue *queue = scheduler->queues.rings[i].first, *next; queue; queue = next) {
            next = queue->next;
            take_expired_of(scheduler, queue, now_us, taken);
        }
}

/* The share of a worker that was idle is rounded up, that of a busy one down: a single job is left to an idle worker. */
static size_t fair_share(const struct scheduler *scheduler, bool idle) {
    size_t workers = scheduler->waiting + 1;
    return (scheduler->queues.jobs + (idle ? workers - 1 : 0)) / workers;
}

static struct client_queue *first_of(const struct scheduler *scheduler, enum priority priority) {
    return scheduler->queues.rings[priority].first;
}

/* batch: NULL, and it is not. */
static bool is_due(const struct scheduler *scheduler, const struct client_queue *batch) {
    return batch && scheduler->owed / (BATCH_SHARE - 1) >= job_work(batch->head);
}

/* The queue's first job is taken. What is due already does not become more. */
static void account(struct scheduler *scheduler, const struct client_queue *queue) {
    const struct client_queue *batch = first_of(scheduler, PRIORITY_BATCH);
    size_t work = job_work(queue->head), paid = (BATCH_SHARE - 1) * work;
    if (queue->priority == PRIORITY_BATCH)
        scheduler->owed -= paid < scheduler->owed ? paid : scheduler->owed;
    else if (!is_due(scheduler, batch))
        scheduler->owed = batch ? scheduler->owed + work : 0;
}

/* The turn of one client is over. Returns whose is next: while it is the only one that can be served, its own. */
static struct client_queue *take_turn(struct scheduler *scheduler, struct client_queue *queue, struct taken *taken) {
    struct client_queue *next = queue->next;
    taken->work += (double)job_work(queue->head);
    account(scheduler, queue);
    queue->overtaken = 0;
    if (scheduler_take_job(scheduler, queue, &queue->head, taken))
        return next;
    client_queues_rotate(&scheduler->queues, queue);
    return next ? next : queue;
}

/* A round through both rings. */
struct turns {
    struct client_queue *next[PRIORITIES];
    struct client_queue *stuck; /* the first client that has no room yet, whose turn is not over */
};

/* NULL: the round is over. */
static struct client_queue *whose_turn(const struct scheduler *scheduler, const struct turns *turns) {
    struct client_queue *batch = turns->next[PRIORITY_BATCH];
    bool goes = batch && (!first_of(scheduler, PRIORITY_INTERACTIVE) || is_due(scheduler, batch));
    return goes ? batch : turns->next[PRIORITY_INTERACTIVE];
}

/* What is due to batch jobs is not passed without limit, whatever their client has already. */
static bool gets_stuck(const struct scheduler *scheduler, const struct client_queue *queue, enum scheduler_claim claim) {
    bool due = queue->priority == PRIORITY_BATCH && first_of(scheduler, PRIORITY_INTERACTIVE);
    return claim == CLAIM_NO_ROOM || due;
}

static void take_turns(struct scheduler *scheduler, const struct scheduler_room *room, size_t most, struct taken *taken) {
    struct turns turns = {{first_of(scheduler, PRIORITY_INTERACTIVE), first_of(scheduler, PRIORITY_BATCH)}, NULL};
    for (struct client_queue *queue; most > 0 && (queue = whose_turn(scheduler, &turns)) != NULL;) {
        struct client_queue **next = &turns.next[queue->priority], *stuck = turns.stuck;
        bool reserved = stuck && stuck->overtaken >= OVERTAKES;
        enum scheduler_claim claim = room->claim(room->owner, queue->head, reserved);
        assert(!reserved || claim != CLAIM_TAKEN);
        if (claim == CLAIM_TAKEN || claim == CLAIM_EXPRESS) {
            *next = take_turn(scheduler, queue, taken);
            most--;
            if (stuck && claim == CLAIM_TAKEN)
                stuck->overtaken++;
            continue;
        }
        if (!stuck && gets_stuck(scheduler, queue, claim))
            turns.stuck = queue;
        *next = queue->next;
    }
}

struct job *scheduler_take(struct scheduler *scheduler, const struct scheduler_room *room, bool wait) {
    struct taken taken = {.end = &taken.jobs};
    struct client_queues *queues = &scheduler->queues;
    pthread_mutex_lock(&scheduler->lock);
    while (wait && queues->jobs == 0 && !scheduler->closed) {
        scheduler->waiting++;
        pthread_cond_wait(&scheduler->ready, &scheduler->lock);
        scheduler->waiting--;
    }
    take_expired(scheduler, &taken);
    take_turns(scheduler, room, fair_share(scheduler, wait), &taken);
    meter_observe(&scheduler->meter, taken.work, queues->jobs, clock_us());
    assert(!wait || taken.jobs || queues->jobs == 0); /* an idle worker has room for any job */
    bool pass_on = queues->jobs > 0 && scheduler->waiting > 0;
    pthread_mutex_unlock(&scheduler->lock);
    if (pass_on)
        pthread_cond_signal(&scheduler->ready);
    return taken.jobs;
}

void scheduler_close(struct scheduler *scheduler) {
    pthread_mutex_lock(&scheduler->lock);
    scheduler->closed = true;
    pthread_mutex_unlock(&scheduler->lock);
    pthread_cond_broadcast(&scheduler->ready);
}

size_t scheduler_depth(struct scheduler *scheduler) {
    pthread_mutex_lock(&scheduler->lock);
    size_t depth = scheduler->queues.jobs;
    pthread_mutex_unlock(&scheduler->lock);
    return depth;
}

size_t scheduler_depth_of(struct scheduler *scheduler, enum priority priority) {
    pthread_mutex_lock(&scheduler->lock);
    size_t depth = scheduler->queues.rings[priority].jobs;
    pthread_mutex_unlock(&scheduler->lock);
    return depth;
}

size_t scheduler_idle(struct scheduler *scheduler) {
    pthread_mutex_lock(&scheduler->lock);
    size_t idle = scheduler->waiting;
    pthread_mutex_unlock(&scheduler->lock);
    return idle;
}

const struct scheduler_limits *scheduler_limits(const struct scheduler *scheduler) {
    return &scheduler->limits;
}
