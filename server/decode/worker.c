/* This module hides the round of a decoding thread: which jobs are live in it, and when they enter and leave its batches. */
#include "server/decode/worker.h"
#include "server/base/clock.h"
#include "server/decode/outcome.h"
#include "server/models/model_set.h"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { ARENA_BLOCK_BYTES = 64 * 1024 };

/* The jobs of the main room or of the express lane (admission.h). */
struct held {
    size_t count, bytes; /* bytes: the sum over the jobs */
};

/* The share of one job in its client's work. */
struct holder {
    uint64_t client;
    enum priority priority;
    size_t work; /* rows x steps */
};

/* The worker's state of a model (worker_batch.state). */
struct slot {
    const struct loaded_model *model; /* NULL: not used yet */
    struct batch *batch;
    struct admission_load load; /* owner: this slot */
    size_t encoding_tokens;     /* admitted but not completely encoded, */
    int64_t encoding_us;        /* and the time that this has taken so far */
};

struct worker {
    struct workers *pool;
    size_t index; /* of its batch of every model */
    struct admission *admission;
    struct job **live;                  /* [live_count] */
    size_t live_count, claimed;         /* claimed: jobs being taken, which will be live soon */
    struct held held[2], taking[2];     /* by job.express: of the live, and of the claimed jobs */
    bool refused;                       /* a job waits for a later round */
    struct holder *holders;             /* [live_count + claimed] of the live jobs, then of the claimed ones */
    size_t followed;                    /* live jobs whose requests follow each step */
    struct sentence **admitted, **done; /* [all rows] scratch */
};

struct workers {
    struct worker_options options;
    atomic_bool abandoned;
    struct arena arena; /* the workers' memory, allocated before they start */
    struct worker *all; /* [options.workers] */
    pthread_t *threads;
    size_t started;

    pthread_mutex_t lock; /* protects running */
    pthread_cond_t ended; /* running has decreased */
    size_t running;
};

size_t worker_state_bytes(void) {
    return sizeof(struct slot);
}

/* The slot stays until all jobs of the model have ended. */
static struct slot *slot_of(const struct worker *worker, const struct job *job) {
    const struct worker_batch *own = &job->model->batches[worker->index];
    struct slot *slot = own->state;
    if (!slot->model)
        *slot = (struct slot){.model = job->model, .batch = own->batch, .load = {.owner = slot, .grows = batch_grows(own->batch)}};
    return slot;
}

static struct holder holder_of(const struct job *job) {
    return (struct holder){job->request->client, job->request->priority, job->rows * job->steps};
}

/* The length that the admission counts: in the lane, the translation must be short, too. */
static size_t length_of(const struct job *job) {
    return job->express ? job->steps : job->tokens;
}

static void end_job(struct job *job) {
    const struct sentence *sentence = job->sentence;
    job->done_us = clock_us();
    job->written = sentence && sentence->hypotheses ? sentence->hypotheses[0].length : 0;
    outcome_take(job);
    if (job->request->progress)
        job->request->progress(job);
    job_end(job);
}

/* ---- taking jobs from the scheduler ---- */

/* Batch jobs of a client do not count against its interactive jobs, nor the other way round. */
static size_t work_of(const struct worker *worker, const struct request *request) {
    size_t work = 0;
    for (size_t i = 0; i < worker->live_count + worker->claimed; i++) {
        const struct holder *holder = &worker->holders[i];
        work += holder->client == request->client && holder->priority == request->priority ? holder->work : 0;
    }
    return work;
}

/* An empty main room takes any job. */
static bool has_memory(const struct worker *worker, const struct job *job, bool express) {
    const struct held *live = &worker->held[express], *claimed = &worker->taking[express];
    size_t most = worker->pool->options.bytes, taken = live->bytes + claimed->bytes;
    if (most == 0 || (!express && live->count + claimed->count == 0))
        return true;
    most /= express ? ADMISSION_EXPRESS_SHARE : 1;
    return taken <= most && job->bytes <= most - taken;
}

/* Called when the scheduler asks for room (struct scheduler_room). Batch jobs use neither the room that is reserved for newcomers
 * nor the lane. */
static enum scheduler_claim claim(void *owner, struct job *job, bool express) {
    struct worker *worker = owner;
    struct slot *slot = slot_of(worker, job);
    bool shared = worker->pool->options.shared, interactive = job->request->priority == PRIORITY_INTERACTIVE;
    size_t own = work_of(worker, job->request);
    enum admission_share share = !shared ? ADMISSION_ALL : own > 0 || !interactive ? ADMISSION_MOST : ADMISSION_NEWCOMER;
    bool wanted = batch_wants(slot->batch);
    bool taken = wanted && !express && has_memory(worker, job, false) &&
                 admission_claim(worker->admission, &slot->load, job->rows, job->tokens, share);
    job->express = !taken && wanted && shared && interactive && has_memory(worker, job, true) &&
                   admission_claim_express(worker->admission, &slot->load, job->rows, job->steps, own);
    if (!taken && !job->express) {
        worker->refused = true;
        return own > 0 ? CLAIM_SERVED : CLAIM_NO_ROOM;
    }
    worker->holders[worker->live_count + worker->claimed++] = holder_of(job);
    worker->taking[job->express].count++;
    worker->taking[job->express].bytes += job->bytes;
    return taken ? CLAIM_TAKEN : CLAIM_EXPRESS;
}

/* Jobs that are still queued when the pool is abandoned must be cancelled before they are admitted. */
static struct job *worker_take(struct worker *worker) {
    admission_round(worker->admission);
    worker->claimed = 0;
    worker->refused = false;
    worker->taking[false] = worker->taking[true] = (struct held){0};
    const struct scheduler_room room = {claim, worker};
    struct job *jobs = scheduler_take(worker->pool->options.scheduler, &room, worker->live_count == 0);
    if (atomic_load(&worker->pool->abandoned)) {
        for (struct job *job = jobs; job; job = job->next)
            request_cancel(job->request, CANCEL_SHUTDOWN);
    }
    return jobs;
}

/* ---- entering and leaving ---- */

static void add_live(struct worker *worker, struct job *job) {
    struct metrics *metrics = worker->pool->options.metrics;
    job->live_index = worker->live_count;
    worker->holders[worker->live_count] = holder_of(job);
    worker->live[worker->live_count++] = job;
    worker->followed += job->request->progress != NULL;
    worker->held[job->express].count++;
    worker->held[job->express].bytes += job->bytes;
    admission_enter(worker->admission, &slot_of(worker, job)->load, job->rows, length_of(job), job->express);
    metrics_add(metrics, GAUGE_ROWS_LIVE, (int64_t)job->rows);
    metrics_add(metrics, GAUGE_DECODING_BYTES, (int64_t)job->bytes);
}

static void remove_live(struct worker *worker, struct job *job) {
    struct metrics *metrics = worker->pool->options.metrics;
    struct job *last = worker->live[--worker->live_count];
    last->live_index = job->live_index;
    worker->live[last->live_index] = last;
    worker->holders[last->live_index] = worker->holders[worker->live_count];
    worker->followed -= job->request->progress != NULL;
    worker->held[job->express].count--;
    worker->held[job->express].bytes -= job->bytes;
    admission_leave(worker->admission, &slot_of(worker, job)->load, job->rows, length_of(job), job->express);
    metrics_add(metrics, GAUGE_ROWS_LIVE, -(int64_t)job->rows);
    metrics_add(metrics, GAUGE_DECODING_BYTES, -(int64_t)job->bytes);
}

/* The duration of an encoding is known when all of its parts are done. */
static void note_encoded(struct slot *slot, int64_t duration_us) {
    slot->encoding_us += duration_us;
    if (batch_encodes(slot->batch))
        return;
    admission_observe(&slot->load.encode, slot->encoding_tokens, slot->encoding_us);
    slot->encoding_tokens = 0;
    slot->encoding_us = 0;
}

/* The sentences for one model among the jobs taken enter its batch together. */
static void admit_to(struct worker *worker, struct slot *slot, struct job *jobs) {
    size_t count = 0, tokens = 0;
    for (struct job *job = jobs; job; job = job->next) {
        if (job->model == slot->model) {
            worker->admitted[count++] = job_sentence(job);
            tokens += job->tokens;
        }
    }
    if (count == 0)
        return;
    int64_t began_us = clock_us();
    batch_admit(slot->batch, worker->admitted, count);
    slot->encoding_tokens += tokens;
    note_encoded(slot, clock_us() - began_us);
}

/* Makes the sentences of the jobs of lean requests. Jobs that have none, since it cannot be made or their request is cancelled, go
 * to *ended. Returns the others, in their order. */
static struct job *open_jobs(struct job *jobs, struct job **ended) {
    struct job *fresh = NULL, **end = &fresh;
    while (jobs) {
        struct job *job = jobs;
        jobs = job->next;
        job->next = NULL;
        if (request_reason(job->request) == CANCEL_NONE && job_open(job) == 0) {
            *end = job;
            end = &job->next;
        } else {
            job->next = *ended;
            *ended = job;
        }
    }
    return fresh;
}

/* Jobs that are not admitted may have been claimed. When they end, their models must not be in use any more, since the models may
 * then be freed. */
static void admit(struct worker *worker, struct job *jobs) {
    struct job *ended = NULL, *fresh = open_jobs(jobs, &ended);
    int64_t now_us = clock_us();
    for (struct job *job = fresh; job; job = job->next) {
        job->admitted_us = now_us;
        metrics_queued(worker->pool->options.metrics, job->model->metrics, job->request->priority, now_us - job->queued_us);
        add_live(worker, job);
    }
    admission_settle(worker->admission);
    while (ended) {
        struct job *job = ended;
        ended = job->next;
        if (job->sentence)
            job->sentence->dropped = true;
        job_gives_up(job);
        end_job(job);
    }
    size_t count;
    struct admission_load *const *loads = admission_loads(worker->admission, &count);
    for (size_t i = 0; fresh && i < count; i++)
        admit_to(worker, loads[i]->owner, fresh);
}

/* The model may be freed with its last job. A job that continues with a second attempt waits for its turn like any other. */
static void worker_finish(struct worker *worker, struct sentence *sentence) {
    struct job *job = sentence->owner;
    remove_live(worker, job);
    size_t tokens = sentence->hypotheses ? sentence->hypotheses[0].length : 0;
    metrics_tokens(job->model->metrics, sentence->length, tokens, sentence->unknown);
    job->sentence->dropped |= sentence->dropped;
    if (job_goes_on(job) || outcome_goes_on(job)) {
        if (scheduler_return(worker->pool->options.scheduler, job))
            return;
        job_gives_up(job);
    }
    end_job(job);
}

/* ---- the round ---- */

/* Sets the cancel flag of requests whose time is up: their sentences leave at the next step. */
static void expire(struct worker *worker) {
    bool abandoned = atomic_load(&worker->pool->abandoned);
    int64_t now_us = clock_us();
    for (size_t i = 0; i < worker->live_count; i++) {
        struct request *request = worker->live[i]->request;
        if (abandoned)
            request_cancel(request, CANCEL_SHUTDOWN);
        else if (now_us >= request->deadline_us)
            request_cancel(request, CANCEL_DEADLINE);
    }
}

/* Encodes a part, if there is something to encode, and further ones if jobs wait and the round has time for them. */
static void encode_parts(struct worker *worker, struct slot *slot) {
    for (bool more = true; more && batch_encodes(slot->batch);) {
        int64_t began_us = clock_us();
        batch_encode(slot->batch);
        int64_t duration_us = clock_us() - began_us;
        note_encoded(slot, duration_us);
        more = admission_encoded(worker->admission, duration_us) && worker->refused;
    }
}

/* Encodes some parts and decodes one step. */
static void worker_step(struct worker *worker, struct slot *slot) {
    encode_parts(worker, slot);
    size_t rows = batch_rows(slot->batch), past = batch_past(slot->batch);
    int64_t began_us = clock_us();
    size_t count = batch_step(slot->batch, worker->done);
    int64_t duration_us = clock_us() - began_us;
    metrics_step(worker->pool->options.metrics, rows, duration_us);
    admission_observe_step(&slot->load.step, rows, past, duration_us);
    for (size_t i = 0; i < count; i++)
        worker_finish(worker, worker->done[i]);
}

static void *worker_run(void *argument) {
    struct worker *worker = argument;
    for (;;) {
        struct job *jobs = worker_take(worker);
        if (!jobs && worker->live_count == 0)
            break; /* closed and empty */
        admit(worker, jobs);
        expire(worker);
        /* Iterates backwards: when all sentences have left a slot, a slot that was already stepped takes its place. */
        size_t count;
        struct admission_load *const *loads = admission_loads(worker->admission, &count);
        while (count-- > 0)
            worker_step(worker, loads[count]->owner);
        for (size_t i = 0; worker->followed > 0 && i < worker->live_count; i++) {
            if (worker->live[i]->request->progress)
                worker->live[i]->request->progress(worker->live[i]);
        }
    }
    pthread_mutex_lock(&worker->pool->lock);
    worker->pool->running--;
    pthread_cond_broadcast(&worker->pool->ended);
    pthread_mutex_unlock(&worker->pool->lock);
    return NULL;
}

/* ---- the threads ---- */

static int prepare_worker(struct workers *pool, size_t index, struct error *err) {
    struct worker *worker = &pool->all[index];
    size_t rows = admission_all_rows(pool->options.rows);
    worker->pool = pool;
    worker->index = index;
    worker->admission = admission_create(pool->options.rows, pool->options.step_us);
    worker->live = arena_zalloc(&pool->arena, rows, sizeof *worker->live);
    worker->holders = arena_zalloc(&pool->arena, rows, sizeof *worker->holders);
    worker->admitted = arena_zalloc(&pool->arena, rows, sizeof *worker->admitted);
    worker->done = arena_zalloc(&pool->arena, rows, sizeof *worker->done);
    return worker->admission && !arena_failed(&pool->arena) ? 0 : error_memory(err);
}

static int start_threads(struct workers *workers, struct error *err) {
    for (size_t i = 0; i < workers->options.workers; i++) {
        if (prepare_worker(workers, i, err) != 0)
            return -1;
    }
    workers->running = workers->options.workers; /* set before any thread can decrement it */
    for (; workers->started < workers->options.workers; workers->started++) {
        if (pthread_create(&workers->threads[workers->started], NULL, worker_run, &workers->all[workers->started]) != 0)
            return error_set(err, ERROR_MEMORY, "cannot start worker thread %zu", workers->started + 1);
    }
    return 0;
}

struct workers *workers_start(const struct worker_options *options, struct error *err) {
    assert(options->workers > 0 && options->rows > 0);
    struct workers *workers = calloc(1, sizeof *workers);
    if (!workers) {
        error_memory(err);
        return NULL;
    }
    workers->options = *options;
    pthread_mutex_init(&workers->lock, NULL);
    clock_condition_init(&workers->ended);
    arena_init(&workers->arena, ARENA_BLOCK_BYTES);
    workers->all = arena_zalloc(&workers->arena, options->workers, sizeof *workers->all);
    workers->threads = arena_zalloc(&workers->arena, options->workers, sizeof *workers->threads);
    int result = arena_failed(&workers->arena) ? error_memory(err) : start_threads(workers, err);
    if (result != 0) {
        scheduler_close(options->scheduler); /* ends the threads that were started */
        workers_free(workers);
        return NULL;
    }
    return workers;
}

bool workers_wait(struct workers *workers, size_t timeout_ms) {
    int64_t until_us = clock_us() + (int64_t)timeout_ms * 1000;
    struct timespec until = {until_us / 1000000, until_us % 1000000 * 1000};
    int result = 0;
    pthread_mutex_lock(&workers->lock);
    while (workers->running > 0 && result == 0)
        result = pthread_cond_timedwait(&workers->ended, &workers->lock, &until);
    bool all_ended = workers->running == 0;
    pthread_mutex_unlock(&workers->lock);
    return all_ended;
}

void workers_abandon(struct workers *workers) {
    atomic_store(&workers->abandoned, true);
}

void workers_free(struct workers *workers) {
    if (!workers)
        return;
    for (size_t i = 0; i < workers->started; i++)
        pthread_join(workers->threads[i], NULL);
    for (size_t i = 0; workers->all && i < workers->options.workers; i++)
        admission_free(workers->all[i].admission);
    arena_done(&workers->arena);
    pthread_cond_destroy(&workers->ended);
    pthread_mutex_destroy(&workers->lock);
    free(workers);
}
