/* This module hides turns: how jobs wait, and in which order workers get them. */
#include "server/decode/scheduler.h"
#include "server/base/clock.h"
#include "server/base/metrics.h"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum {
    MAX_QUEUES = 4096, /* bounds memory for any number of clients */
    BUCKETS = 4096,
    SWEEP_US = 10000,  /* from one check for expired jobs to the next, */
    SWEEP_JOB_US = 10, /* and so much longer for each job that waits, of which the check takes about
                          half a percent */
    OVERTAKES = 16,
    BATCH_SHARE = 10, /* while batch jobs wait, they get one part in this many of the work */
};

/* The waiting jobs, at least one, of one client and priority. */
struct queue {
    uint64_t client;
    enum priority priority;
    struct job *head, **tail; /* tail: where the next job is linked in */
    size_t overtaken; /* jobs of others that were taken while this queue's first job had its turn */
    struct queue *next, *previous;
    struct queue *chain; /* in its bucket, or in the list of free queues */
};

/* The queues of one priority, in the order of their turns. */
struct ring {
    struct queue *first, *last;
    size_t jobs;
};

struct scheduler {
    struct scheduler_limits limits; /* constant */

    pthread_mutex_t lock; /* protects everything below */
    pthread_cond_t ready; /* a job was queued, or the scheduler was closed */
    struct ring rings[PRIORITIES];
    struct queue *all;               /* [most], of which the first `used` have ever been in use */
    struct queue *unused, **buckets; /* [BUCKETS], by client */
    size_t used, most;
    size_t jobs, work;  /* waiting jobs */
    struct meter meter; /* the work taken so far */
    size_t owed;    /* interactive work taken while batch jobs waited, of which batch jobs are still
                       owed a share */
    size_t waiting; /* workers blocked in scheduler_take */
    int64_t sweep_us; /* the time of the next check for expired jobs */
    bool closed;
};

struct scheduler *scheduler_create(const struct scheduler_limits *limits) {
    size_t most = limits->jobs < MAX_QUEUES ? limits->jobs : MAX_QUEUES;
    struct scheduler *scheduler = calloc(1, sizeof *scheduler);
    struct queue *all = calloc(most, sizeof *all),
                 **buckets = calloc(BUCKETS, sizeof(struct queue *));
    if (!scheduler || !all || !buckets) {
        free(scheduler);
        free(all);
        free(buckets);
        return NULL;
    }
    *scheduler =
        (struct scheduler){.limits = *limits, .all = all, .buckets = buckets, .most = most};
    pthread_mutex_init(&scheduler->lock, NULL);
    pthread_cond_init(&scheduler->ready, NULL);
    return scheduler;
}

void scheduler_free(struct scheduler *scheduler) {
    if (!scheduler)
        return;
    assert(scheduler->waiting == 0 && scheduler->jobs == 0);
    free(scheduler->all);
    free(scheduler->buckets);
    pthread_cond_destroy(&scheduler->ready);
    pthread_mutex_destroy(&scheduler->lock);
    free(scheduler);
}

/* ---- the queues ---- */

static struct queue **bucket(const struct scheduler *scheduler, uint64_t client) {
    return &scheduler->buckets[client % BUCKETS];
}

static struct queue *find_queue(const struct scheduler *scheduler, const struct request *request) {
    struct queue *queue = *bucket(scheduler, request->account.client);
    while (queue && (queue->client != request->account.client ||
                     queue->priority != request->account.priority))
        queue = queue->chain;
    return queue;
}

static bool has_queue(const struct scheduler *scheduler, const struct request *request) {
    return scheduler->unused || scheduler->used < scheduler->most || find_queue(scheduler, request);
}

static void ring_append(struct ring *ring, struct queue *queue) {
    queue->next = NULL;
    queue->previous = ring->last;
    *(ring->last ? &ring->last->next : &ring->first) = queue;
    ring->last = queue;
}

static void ring_remove(struct ring *ring, struct queue *queue) {
    *(queue->previous ? &queue->previous->next : &ring->first) = queue->next;
    *(queue->next ? &queue->next->previous : &ring->last) = queue->previous;
}

/* Appends a job to the queue, which may be empty for now. */
static void append_job(struct scheduler *scheduler, struct queue *queue, struct job *job,
                       int64_t now_us) {
    job->queued_us = now_us;
    job->next = NULL;
    *queue->tail = job;
    queue->tail = &job->next;
    job->request->queued.waiting++;
    scheduler->rings[queue->priority].jobs++;
    scheduler->jobs++;
    scheduler->work += request_job_work(job);
}

/* Requires has_queue. */
static void push_job(struct scheduler *scheduler, struct job *job, int64_t now_us) {
    const struct request *request = job->request;
    struct queue *queue = find_queue(scheduler, request);
    if (!queue) {
        struct queue **chain = bucket(scheduler, request->account.client);
        queue = scheduler->unused ? scheduler->unused : &scheduler->all[scheduler->used++];
        assert(scheduler->used <= scheduler->most);
        if (queue == scheduler->unused)
            scheduler->unused = queue->chain;
        *queue = (struct queue){.client = request->account.client,
                                .priority = request->account.priority,
                                .tail = &queue->head,
                                .chain = *chain};
        *chain = queue;
        ring_append(&scheduler->rings[request->account.priority], queue);
    }
    append_job(scheduler, queue, job, now_us);
}

/* The list that scheduler_take returns, while it grows. */
struct taken {
    struct job *jobs, **end;
    double work; /* for the jobs that were claimed */
};

/* Takes the job at *link from the queue and appends the next job of its request, if any. Returns
 * true if the queue is then empty and was removed. */
static bool take_job(struct scheduler *scheduler, struct queue *queue, struct job **link,
                     struct taken *taken) {
    struct ring *ring = &scheduler->rings[queue->priority];
    struct job *job = *link;
    struct request *request = job->request;
    *link = job->next;
    if (queue->tail == &job->next)
        queue->tail = link;
    job->next = NULL;
    *taken->end = job;
    taken->end = &job->next;
    ring->jobs--;
    scheduler->jobs--;
    scheduler->work -= request_job_work(job);
    request->queued.waiting--;
    struct job *more = request->queued.waiting < request_window(request)
                           ? request_next_job(request, &request->queued.handed)
                           : NULL;
    if (more)
        append_job(scheduler, queue, more, clock_us());
    if (queue->head)
        return false;
    struct queue **chain = bucket(scheduler, queue->client);
    while (*chain != queue)
        chain = &(*chain)->chain;
    *chain = queue->chain;
    ring_remove(ring, queue);
    queue->chain = scheduler->unused;
    scheduler->unused = queue;
    return true;
}

/* ---- adding jobs ---- */

/* Returns by how much the request exceeds its client's limits. A request without jobs counts as one
 * job. */
static struct scheduler_limits find_excess(const struct scheduler *scheduler,
                                           const struct request *request) {
    bool waits = request->account.priority == PRIORITY_BATCH
                     ? scheduler->rings[PRIORITY_BATCH].first != NULL
                     : find_queue(scheduler, request) != NULL;
    struct scheduler_limits most = scheduler->limits;
    most.jobs -= waits ? most.jobs / 8 : 0;
    most.work -= waits ? most.work / 8 : 0;
    size_t jobs = scheduler->jobs + (request->job_count > 0 ? request_window(request) : 1),
           work = scheduler->work + request_work(request);
    return (struct scheduler_limits){jobs > most.jobs ? jobs - most.jobs : 0,
                                     work > most.work ? work - most.work : 0};
}

static enum scheduler_verdict judge_locked(const struct scheduler *scheduler,
                                           const struct request *request) {
    if (scheduler->closed)
        return SCHEDULER_CLOSED;
    struct scheduler_limits excess = find_excess(scheduler, request);
    if (excess.jobs > 0 || !has_queue(scheduler, request))
        return SCHEDULER_FULL;
    return excess.work > 0 ? SCHEDULER_FULL_WORK : SCHEDULER_ACCEPTED;
}

enum scheduler_verdict scheduler_judge(struct scheduler *scheduler, const struct request *request) {
    pthread_mutex_lock(&scheduler->lock);
    enum scheduler_verdict verdict = judge_locked(scheduler, request);
    pthread_mutex_unlock(&scheduler->lock);
    return verdict;
}

enum scheduler_verdict scheduler_submit(struct scheduler *scheduler, struct request *request) {
    assert(request->job_count > 0);
    size_t count = request_window(request); /* the request may be freed once the lock is released */
    pthread_mutex_lock(&scheduler->lock);
    enum scheduler_verdict verdict = judge_locked(scheduler, request);
    if (verdict == SCHEDULER_ACCEPTED) {
        int64_t now_us = clock_us();
        atomic_store(&request->pending, request->job_count);
        request->queued.handed = 0;
        for (size_t i = 0; i < count; i++)
            push_job(scheduler, request_next_job(request, &request->queued.handed), now_us);
    }
    pthread_mutex_unlock(&scheduler->lock);
    if (verdict == SCHEDULER_ACCEPTED && count > 1)
        pthread_cond_broadcast(&scheduler->ready);
    else if (verdict == SCHEDULER_ACCEPTED)
        pthread_cond_signal(&scheduler->ready);
    return verdict;
}

bool scheduler_return(struct scheduler *scheduler, struct job *job) {
    pthread_mutex_lock(&scheduler->lock);
    bool queued = has_queue(scheduler, job->request);
    if (queued)
        push_job(scheduler, job, clock_us());
    pthread_mutex_unlock(&scheduler->lock);
    if (queued)
        pthread_cond_signal(&scheduler->ready);
    return queued;
}

double scheduler_wait_s(struct scheduler *scheduler, const struct request *request) {
    pthread_mutex_lock(&scheduler->lock);
    struct scheduler_limits excess = find_excess(scheduler, request);
    double jobs_work = scheduler->jobs > 0
                           ? (double)excess.jobs * (double)scheduler->work / (double)scheduler->jobs
                           : 0;
    double work = jobs_work > (double)excess.work ? jobs_work : (double)excess.work;
    double seconds = meter_seconds(&scheduler->meter, work);
    pthread_mutex_unlock(&scheduler->lock);
    return seconds;
}

/* ---- taking jobs ---- */

static void take_expired(struct scheduler *scheduler, struct taken *taken) {
    int64_t now_us = clock_us();
    if (scheduler->jobs == 0 || now_us < scheduler->sweep_us)
        return;
    for (size_t i = 0; i < PRIORITIES; i++) {
        for (struct queue *queue = scheduler->rings[i].first, *next; queue; queue = next) {
            next = queue->next;
            for (struct job **link = &queue->head; *link;) {
                struct request *request = (*link)->request;
                if (now_us >= request->deadline_us)
                    request_cancel(request, CANCEL_DEADLINE);
                if (request_reason(request) == CANCEL_NONE)
                    link = &(*link)->next;
                else if (take_job(scheduler, queue, link, taken))
                    break;
            }
        }
    }
    scheduler->sweep_us = now_us + SWEEP_US + (int64_t)scheduler->jobs * SWEEP_JOB_US;
}

/* Returns whether the owed work covers the queue's first job. batch: NULL if no batch job waits. */
static bool is_due(const struct scheduler *scheduler, const struct queue *batch) {
    return batch && scheduler->owed / (BATCH_SHARE - 1) >= request_job_work(batch->head);
}

/* Makes one round through both rings and takes at most `most` jobs. */
static void take_turns(struct scheduler *scheduler, const struct scheduler_room *room, size_t most,
                       struct taken *taken) {
    struct queue *next[PRIORITIES] = {scheduler->rings[PRIORITY_INTERACTIVE].first,
                                      scheduler->rings[PRIORITY_BATCH].first};
    struct queue *stuck = NULL; /* the first queue whose job did not fit: its turn is not over */
    while (most > 0) {
        struct queue *batch = next[PRIORITY_BATCH];
        bool competes = scheduler->rings[PRIORITY_INTERACTIVE].first != NULL;
        struct queue *queue =
            batch && (!competes || is_due(scheduler, batch)) ? batch : next[PRIORITY_INTERACTIVE];
        if (!queue)
            return;
        struct ring *ring = &scheduler->rings[queue->priority];
        bool reserved = stuck && stuck->overtaken >= OVERTAKES;
        enum scheduler_claim claim = room->claim(room->owner, queue->head, reserved);
        assert(!reserved || claim != CLAIM_TAKEN);
        if (claim != CLAIM_TAKEN && claim != CLAIM_EXPRESS) {
            /* Batch jobs that are due are overtaken a limited number of times, whatever other jobs
             * their client has. */
            if (!stuck && claim != CLAIM_HELD_BACK &&
                (claim == CLAIM_NO_ROOM || (queue->priority == PRIORITY_BATCH && competes)))
                stuck = queue;
            next[queue->priority] = queue->next;
            continue;
        }

        /* The turn of a client ends when its first job is taken. The queue is next again if no
         * other queue follows it. */
        const struct queue *waiting = scheduler->rings[PRIORITY_BATCH].first;
        struct queue *following = queue->next;
        size_t work = request_job_work(queue->head), paid = (BATCH_SHARE - 1) * work;
        if (queue->priority == PRIORITY_BATCH)
            scheduler->owed -= paid < scheduler->owed ? paid : scheduler->owed;
        else if (!is_due(scheduler, waiting)) /* a share that is due does not grow further */
            scheduler->owed = waiting ? scheduler->owed + work : 0;
        taken->work += (double)work;
        queue->overtaken = 0;
        if (!take_job(scheduler, queue, &queue->head, taken)) {
            ring_remove(ring, queue);
            ring_append(ring, queue);
            following = following ? following : queue;
        }
        next[queue->priority] = following;
        most--;
        if (stuck && claim == CLAIM_TAKEN)
            stuck->overtaken++;
    }
}

struct job *scheduler_take(struct scheduler *scheduler, const struct scheduler_room *room,
                           bool wait) {
    struct taken taken = {.end = &taken.jobs};
    pthread_mutex_lock(&scheduler->lock);
    while (wait && scheduler->jobs == 0 && !scheduler->closed) {
        scheduler->waiting++;
        pthread_cond_wait(&scheduler->ready, &scheduler->lock);
        scheduler->waiting--;
    }
    take_expired(scheduler, &taken);
    /* An idle worker's share is rounded up and a busy worker's share down, so that a single job is
     * left to an idle worker. */
    size_t workers = scheduler->waiting + 1,
           share = (scheduler->jobs + (wait ? workers - 1 : 0)) / workers;
    take_turns(scheduler, room, share, &taken);
    meter_observe(&scheduler->meter, taken.work, scheduler->jobs, clock_us());
    assert(!wait || taken.jobs || scheduler->jobs == 0); /* an idle worker has room for any job */
    bool pass_on = scheduler->jobs > 0 && scheduler->waiting > 0;
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

size_t scheduler_depth_of(struct scheduler *scheduler, enum priority priority) {
    pthread_mutex_lock(&scheduler->lock);
    size_t depth = scheduler->rings[priority].jobs;
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
