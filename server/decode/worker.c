/* This module hides the round of a decoding thread: which jobs are live, and when they enter and
 * leave its batches. */
#include "server/decode/worker.h"
#include "server/base/clock.h"
#include "server/decode/admission.h"
#include "server/decode/job.h"
#include "server/models/catalog.h"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { ARENA_BLOCK_BYTES = 64 * 1024 };

/* The jobs of the main room or of the express lane. */
struct lane_load {
    size_t count, bytes,
        document_rows; /* bytes: the sum over the jobs; document_rows: of those of documents */
};

/* The work of one job, which counts for its client. */
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
    size_t encoding_tokens;     /* tokens admitted but not completely encoded */
    int64_t encoding_us;        /* the time that encoding them has taken so far */
};

struct worker {
    struct workers *pool;
    size_t index; /* place of its batch in every model */
    struct admission *admission;
    struct job **live;                   /* [live_count] */
    size_t live_count, claimed;          /* claimed: jobs being taken, which will be live soon */
    struct lane_load held[2], taking[2]; /* by job.express: the live, and the claimed jobs */
    bool refused;                        /* a job waits for a later round */
    struct holder *holders; /* [live_count + claimed] of the live jobs, then of the claimed ones */
    size_t followed;        /* live jobs whose requests follow each step */
    struct sentence **admitted, **done; /* [all rows] scratch */
};

struct workers {
    struct worker_options options;
    atomic_bool abandoned;
    struct arena arena; /* the workers' memory, allocated before they start */
    struct worker *all; /* [options.workers] */
    pthread_t *threads;
    size_t started;
    pthread_mutex_t turn; /* protects the worker that has no thread */

    pthread_mutex_t lock; /* protects running */
    pthread_cond_t ended; /* running has decreased */
    size_t running;
};

size_t worker_state_bytes(void) {
    return sizeof(struct slot);
}

/* Returns the worker's slot for the job's model, which stays until all jobs of the model have
 * ended. */
static struct slot *slot_of(const struct worker *worker, const struct job *job) {
    const struct worker_batch *own = &job->model->batches[worker->index];
    struct slot *slot = own->state;
    if (!slot->model)
        *slot = (struct slot){.model = job->model,
                              .batch = own->batch,
                              .load = {.owner = slot, .grows = batch_grows(own->batch)}};
    return slot;
}

static struct holder holder_of(const struct job *job) {
    return (struct holder){job->request->account.client, job->request->account.priority,
                           (size_t)job->rows * job->steps};
}

/* Returns the length that admission counts. The lane counts the translation, which must be short,
 * too. */
static size_t length_of(const struct job *job) {
    return job->express ? job->steps : job->tokens;
}

/* ---- taking jobs from the scheduler ---- */

/* Returns whether the job's memory fits. An empty main room takes any job. */
static bool has_memory(const struct worker *worker, const struct job *job, bool express) {
    const struct lane_load *live = &worker->held[express], *claimed = &worker->taking[express];
    size_t most = worker->pool->options.bytes, taken = live->bytes + claimed->bytes;
    if (most == 0 || (!express && live->count + claimed->count == 0))
        return true;
    most /= express ? ADMISSION_EXPRESS_SHARE : 1;
    return taken <= most && job->bytes <= most - taken;
}

static void hold(struct lane_load *held, const struct job *job) {
    held->count++;
    held->bytes += job->bytes;
    held->document_rows += job->request->queued.window > 0 ? job->rows : 0;
}

/* Returns the rows of documents in both lanes. */
static size_t document_rows(const struct worker *worker) {
    size_t rows = 0;
    for (size_t lane = 0; lane < 2; lane++)
        rows += worker->held[lane].document_rows + worker->taking[lane].document_rows;
    return rows;
}

/* Called when the scheduler asks for room (struct scheduler_room). Batch jobs use neither the room
 * that is reserved for newcomers nor the lane. */
static enum scheduler_claim claim(void *owner, struct job *job, bool express) {
    struct worker *worker = owner;
    struct slot *slot = slot_of(worker, job);
    const struct request *request = job->request;
    bool shared = worker->pool->options.shared,
         interactive = request->account.priority == PRIORITY_INTERACTIVE;

    /* Documents take half of the rows, if that leaves full groups to a step (model/batch.c): with
     * more rows they would take more memory without being faster. */
    size_t rows = worker->pool->options.rows, most = rows >= 4 * SEARCH_MAX_ROWS ? rows / 2 : rows;
    if (request->queued.window > 0 && document_rows(worker) + job->rows > most) {
        worker->refused = true;
        return CLAIM_HELD_BACK;
    }

    size_t own =
        0; /* a client's batch jobs do not count against its interactive jobs, and vice versa */
    for (size_t i = 0; i < worker->live_count + worker->claimed; i++) {
        const struct holder *holder = &worker->holders[i];
        own += holder->client == request->account.client &&
                       holder->priority == request->account.priority
                   ? holder->work
                   : 0;
    }
    enum admission_share share = !shared                   ? ADMISSION_ALL
                                 : own > 0 || !interactive ? ADMISSION_UNRESERVED
                                                           : ADMISSION_NEWCOMER;
    bool wanted = batch_wants(slot->batch);
    bool taken = wanted && !express && has_memory(worker, job, false) &&
                 admission_claim(worker->admission, &slot->load, job->rows, job->tokens, share);
    job->express =
        !taken && wanted && shared && interactive && has_memory(worker, job, true) &&
        admission_claim_express(worker->admission, &slot->load, job->rows, job->steps, own);
    if (!taken && !job->express) {
        worker->refused = true;
        return own > 0 ? CLAIM_SERVED : CLAIM_NO_ROOM;
    }
    worker->holders[worker->live_count + worker->claimed++] = holder_of(job);
    hold(&worker->taking[job->express], job);
    return taken ? CLAIM_TAKEN : CLAIM_EXPRESS;
}

/* ---- entering and leaving ---- */

/* Adds the time of a part. The duration of an encoding is known when all of its parts are done. */
static void note_encoded(struct slot *slot, int64_t duration_us) {
    slot->encoding_us += duration_us;
    if (batch_encodes(slot->batch))
        return;
    admission_observe(&slot->load.encode, slot->encoding_tokens, slot->encoding_us);
    slot->encoding_tokens = 0;
    slot->encoding_us = 0;
}

/* Makes the sentences of jobs that have none, and admits the jobs in order. A claimed job may have
 * no sentence, because it cannot be made or the request is cancelled. When such a job ends, its
 * model must not be in use any more, since it may then be freed. */
static void admit(struct worker *worker, struct job *jobs) {
    struct metrics *metrics = worker->pool->options.metrics;
    struct job *ended = NULL, *fresh = NULL, **end = &fresh;
    while (jobs) {
        struct job *job = jobs;
        jobs = job->next;
        job->next = NULL;
        if (request_reason(job->request) == CANCEL_NONE && job_open(job) == 0) {
            *end = job;
            end = &job->next;
        } else {
            job->next = ended;
            ended = job;
        }
    }

    int64_t now_us = clock_us();
    for (struct job *job = fresh; job; job = job->next) {
        job->admitted_us = now_us;
        metrics_queued(metrics, job->model->metrics, job->request->account.priority,
                       now_us - job->queued_us);
        job->live_index = (uint32_t)worker->live_count;
        worker->holders[worker->live_count] = holder_of(job);
        worker->live[worker->live_count++] = job;
        worker->followed += job->request->progress != NULL;
        hold(&worker->held[job->express], job);
        admission_enter(worker->admission, &slot_of(worker, job)->load, job->rows, length_of(job),
                        job->express);
        metrics_add(metrics, GAUGE_ROWS_LIVE, (int64_t)job->rows);
        metrics_add(metrics, GAUGE_DECODING_BYTES, (int64_t)job->bytes);
    }
    admission_settle(worker->admission);
    while (ended) {
        struct job *job = ended;
        ended = job->next;
        if (job->sentence)
            job->sentence->dropped = true;
        job_give_up(job);
        job_end(job);
    }

    /* All new sentences of a model enter its batch together. */
    size_t load_count;
    struct admission_load *const *loads = admission_loads(worker->admission, &load_count);
    for (size_t i = 0; fresh && i < load_count; i++) {
        struct slot *slot = loads[i]->owner;
        size_t count = 0, tokens = 0;
        for (struct job *job = fresh; job; job = job->next) {
            if (job->model == slot->model) {
                worker->admitted[count++] = job_sentence(job);
                tokens += job->tokens;
            }
        }
        if (count == 0)
            continue;
        int64_t began_us = clock_us();
        batch_admit(slot->batch, worker->admitted, count);
        slot->encoding_tokens += tokens;
        note_encoded(slot, clock_us() - began_us);
    }
}

/* Queues a job again, or ends it if it cannot be decoded any more. */
static void return_job(const struct worker *worker, struct job *job) {
    if (job->sentence && scheduler_return(worker->pool->options.scheduler, job))
        return;
    job_give_up(job);
    job_end(job);
}

/* Ends a sentence. The model may be freed with its last job. A job with a retry waits for
 * its turn like any other. */
static void worker_finish(struct worker *worker, struct sentence *sentence) {
    struct metrics *metrics = worker->pool->options.metrics;
    struct job *job = sentence->caller.owner, *last = worker->live[--worker->live_count];
    struct lane_load *held = &worker->held[job->express];
    last->live_index = job->live_index;
    worker->live[last->live_index] = last;
    worker->holders[last->live_index] = worker->holders[worker->live_count];
    worker->followed -= job->request->progress != NULL;
    held->count--;
    held->bytes -= job->bytes;
    held->document_rows -= job->request->queued.window > 0 ? job->rows : 0;
    admission_leave(worker->admission, &slot_of(worker, job)->load, job->rows, length_of(job),
                    job->express);
    metrics_add(metrics, GAUGE_ROWS_LIVE, -(int64_t)job->rows);
    metrics_add(metrics, GAUGE_DECODING_BYTES, -(int64_t)job->bytes);

    size_t tokens = sentence->hypotheses ? sentence->hypotheses[0].length : 0;
    metrics_tokens(job->model->metrics, sentence->length, tokens, sentence->reading.unknown);
    job->sentence->dropped |= sentence->dropped;
    if (!job_continues(job)) {
        job_end(job);
        return;
    }
    for (struct job *fork = job_forks(job), *next; fork; fork = next) {
        next = fork->next_fork;
        return_job(worker, fork);
    }
    return_job(worker, job);
}

/* ---- the round ---- */

/* Encodes a part, if there is something to encode, and further ones if jobs wait and the round has
 * time for them. Then decodes one step. */
static void worker_step(struct worker *worker, struct slot *slot) {
    for (bool more = true; more && batch_encodes(slot->batch);) {
        int64_t began_us = clock_us();
        batch_encode(slot->batch);
        int64_t duration_us = clock_us() - began_us;
        note_encoded(slot, duration_us);
        more = admission_encoded(worker->admission, duration_us) && worker->refused;
    }
    size_t rows = batch_rows(slot->batch), past = batch_past(slot->batch);
    int64_t began_us = clock_us();
    size_t count = batch_step(slot->batch, worker->done);
    int64_t duration_us = clock_us() - began_us;
    metrics_step(worker->pool->options.metrics, rows, duration_us);
    admission_observe_step(&slot->load.step, rows, past, duration_us);
    if (batch_sentences(slot->batch) == 0)
        batch_rest(slot->batch); /* its model may be freed with the last job */
    for (size_t i = 0; i < count; i++)
        worker_finish(worker, worker->done[i]);
}

/* Returns false if there was nothing to do. wait: waits for a job unless one is live. */
static bool worker_round(struct worker *worker, bool wait) {
    struct workers *pool = worker->pool;
    const struct scheduler_room room = {claim, worker};
    admission_round(worker->admission);
    worker->claimed = 0;
    worker->refused = false;
    worker->taking[false] = worker->taking[true] = (struct lane_load){0};
    struct job *jobs =
        scheduler_take(pool->options.scheduler, &room, wait && worker->live_count == 0);
    if (!jobs && worker->live_count == 0)
        return false;

    /* Jobs that are still queued when the pool is abandoned must be cancelled before they are
     * admitted. */
    for (struct job *job = atomic_load(&pool->abandoned) ? jobs : NULL; job; job = job->next)
        request_cancel(job->request, CANCEL_SHUTDOWN);
    admit(worker, jobs);

    /* Sentences whose request is past its deadline leave at the next step. */
    bool abandoned = atomic_load(&pool->abandoned);
    int64_t now_us = clock_us();
    for (size_t i = 0; i < worker->live_count; i++) {
        struct request *request = worker->live[i]->request;
        if (abandoned)
            request_cancel(request, CANCEL_SHUTDOWN);
        else if (now_us >= request->deadline_us)
            request_cancel(request, CANCEL_DEADLINE);
    }

    /* Iterates backwards: when all sentences have left a slot, a slot that was already stepped
     * takes its place. */
    size_t count;
    struct admission_load *const *loads = admission_loads(worker->admission, &count);
    while (count-- > 0)
        worker_step(worker, loads[count]->owner);
    for (size_t i = 0; worker->followed > 0 && i < worker->live_count; i++) {
        if (worker->live[i]->request->progress)
            worker->live[i]->request->progress(worker->live[i]);
    }
    return true;
}

void workers_turn(struct workers *workers) {
    assert(workers->options.waiting);
    pthread_mutex_lock(&workers->turn);
    worker_round(workers->all, false);
    pthread_mutex_unlock(&workers->turn);
}

static void *worker_run(void *argument) {
    struct worker *worker = argument;
    struct workers *pool = worker->pool;
    while (worker_round(worker, true)) {
    } /* until the scheduler is closed and empty */
    pthread_mutex_lock(&pool->lock);
    pool->running--;
    pthread_cond_broadcast(&pool->ended);
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* ---- the threads ---- */

struct workers *workers_start(const struct worker_options *options, struct error *err) {
    assert(options->workers > 0 && options->rows > 0);
    size_t threads = options->waiting ? 0 : options->workers;
    struct workers *workers = calloc(1, sizeof *workers);
    if (!workers) {
        error_memory(err);
        return NULL;
    }
    workers->options = *options;
    pthread_mutex_init(&workers->turn, NULL);
    pthread_mutex_init(&workers->lock, NULL);
    clock_condition_init(&workers->ended);
    arena_init(&workers->arena, ARENA_BLOCK_BYTES);
    workers->all = arena_zalloc(&workers->arena, options->workers, sizeof *workers->all);
    workers->threads = arena_zalloc(&workers->arena, options->workers, sizeof *workers->threads);
    int result = arena_failed(&workers->arena) ? error_memory(err) : 0;
    for (size_t i = 0; result == 0 && i < options->workers; i++) {
        struct worker *worker = &workers->all[i];
        size_t rows = admission_all_rows(options->rows);
        worker->pool = workers;
        worker->index = i;
        worker->admission = admission_create(options->rows, options->step_us);
        worker->live = arena_zalloc(&workers->arena, rows, sizeof *worker->live);
        worker->holders = arena_zalloc(&workers->arena, rows, sizeof *worker->holders);
        worker->admitted = arena_zalloc(&workers->arena, rows, sizeof *worker->admitted);
        worker->done = arena_zalloc(&workers->arena, rows, sizeof *worker->done);
        if (!worker->admission || arena_failed(&workers->arena))
            result = error_memory(err);
    }
    workers->running = result == 0 ? threads : 0; /* set before any thread can decrement it */
    while (result == 0 && workers->started < threads) {
        if (pthread_create(&workers->threads[workers->started], NULL, worker_run,
                           &workers->all[workers->started]) == 0)
            workers->started++;
        else
            result = error_set(err, ERROR_MEMORY, "cannot start worker thread %zu",
                               workers->started + 1);
    }
    if (result != 0) {
        scheduler_close(options->scheduler); /* ends the threads that were started */
        workers_free(workers);
        return NULL;
    }
    return workers;
}

bool workers_wait(struct workers *workers, size_t timeout_ms) {
    return clock_wait_zero(&workers->ended, &workers->lock, &workers->running, timeout_ms);
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
    pthread_mutex_destroy(&workers->turn);
    free(workers);
}
