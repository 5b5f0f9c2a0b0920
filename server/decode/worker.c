/* This module hides the round of a decoding thread: how many jobs a worker takes by the predicted
 * time of a round (fitted by least squares), which jobs are live, and when they enter and leave its
 * batches. */
#include "server/decode/worker.h"
#include "server/base/clock.h"
#include "server/decode/outcome.h"
#include "server/models/catalog.h"
#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum { ARENA_BLOCK_BYTES = 64 * 1024 };
static const double KEEP = 0.95; /* the weight of earlier observations at each new one */
static const double ORIGIN =
    0.1; /* the weight of one more observation at the origin: no work takes no time */
static const double WORTH =
    3; /* a round may always take this many times as long as with a single row */
static const double SPARE = 0.125; /* the part that is reserved for newcomers */
static const double APART =
    0.02; /* rows and past must each have this part of their variance independently */
static const double EXPRESS =
    0.5; /* the part of the target that the lane adds, unless it has only EXPRESS_LEAST rows */
enum {
    EXPRESS_LEAST = 4,
    EXPRESS_TOKENS = 24
}; /* the lane's work per row, in tokens: short sentences */
enum {
    SPARE_OF_ROWS = 128
}; /* with fewer rows, none are reserved: an eighth would often be less than a beam */

struct admission {
    size_t max_rows;
    double target_us,
        over_us; /* over: the time that newcomers have added to this round beyond the target */
    double encoded_us; /* the time that encoding has taken in this round */
    struct admission_load *
        *loads; /* [count]; each has at least one row, so rows bound their number */
    size_t count;
};

/* ---- admission: what things cost ---- */

void admission_observe(struct admission_cost *cost, size_t amount, int64_t duration_us) {
    double x = (double)amount, us = (double)duration_us;
    if (amount == 0)
        return; /* an amount of 0 does not help to fit the line */
    cost->weight = KEEP * cost->weight + 1;
    cost->x = KEEP * cost->x + x;
    cost->us = KEEP * cost->us + us;
    cost->xx = KEEP * cost->xx + x * x;
    cost->xus = KEEP * cost->xus + x * us;
}

/* The origin counts as one more observation. While all amounts are similar, the line goes through
 * it, and a large step is not expected to be as cheap as the small ones seen so far. */
double admission_predict(const struct admission_cost *cost, size_t amount) {
    if (amount == 0 || cost->weight <= 0)
        return 0;
    double n = cost->weight + ORIGIN;
    double slope = (n * cost->xus - cost->x * cost->us) / (n * cost->xx - cost->x * cost->x);
    double fixed = (cost->us - slope * cost->x) / n;
    if (slope < 0 || fixed < 0) /* noise */
        return cost->xus / cost->xx * (double)amount;
    return fixed + slope * (double)amount;
}

void admission_observe_step(struct admission_step *step, size_t rows, size_t past,
                            int64_t duration_us) {
    double x = (double)rows, p = (double)past;
    if (rows == 0)
        return;
    admission_observe(&step->by_rows, rows, duration_us);
    step->past = KEEP * step->past + p;
    step->past2 = KEEP * step->past2 + p * p;
    step->cross = KEEP * step->cross + x * p;
    step->past_us = KEEP * step->past_us + p * (double)duration_us;
}

/* us = fixed + row rows + back past. If the observations cannot separate the two costs, the
 * prediction uses rows alone. */
double admission_predict_step(const struct admission_step *step, size_t rows, size_t past) {
    const struct admission_cost *c = &step->by_rows;
    if (rows == 0 || c->weight <= 0)
        return 0;
    double n = c->weight + ORIGIN;
    double xx = c->xx - c->x * c->x / n, xp = step->cross - c->x * step->past / n,
           pp = step->past2 - step->past * step->past / n;
    double xu = c->xus - c->x * c->us / n, pu = step->past_us - step->past * c->us / n,
           all = xx * pp - xp * xp;
    if (all <= APART * xx * pp)
        return admission_predict(c, rows);
    double row = (xu * pp - pu * xp) / all, back = (pu * xx - xu * xp) / all;
    double fixed = (c->us - row * c->x - back * step->past) / n;
    if (row < 0 || back < 0 || fixed < 0)
        return admission_predict(c, rows);
    return fixed + row * (double)rows + back * (double)past;
}

/* ---- admission: the loads ---- */

size_t admission_all_rows(size_t max_rows) {
    return max_rows + max_rows / ADMISSION_EXPRESS_SHARE;
}

struct admission *admission_create(size_t max_rows, int64_t target_us) {
    struct admission *admission = calloc(1, sizeof *admission);
    struct admission_load **loads = calloc(admission_all_rows(max_rows), sizeof *loads);
    if (!admission || !loads) {
        free(admission);
        free(loads);
        return NULL;
    }
    *admission =
        (struct admission){.max_rows = max_rows, .target_us = (double)target_us, .loads = loads};
    return admission;
}

void admission_free(struct admission *admission) {
    if (!admission)
        return;
    free(admission->loads);
    free(admission);
}

static void use(struct admission *admission, struct admission_load *load) {
    if (load->used)
        return;
    assert(admission->count < admission_all_rows(admission->max_rows));
    load->used = true;
    load->index = admission->count;
    admission->loads[admission->count++] = load;
}

static void forget_claims(struct admission_load *load) {
    load->main.new_rows = load->main.new_past = load->express.new_rows = load->express.new_past = 0;
    load->main.new_work = load->express.new_work = load->new_tokens = 0;
}

static void forget_if_empty(struct admission *admission, struct admission_load *load) {
    if (load->main.rows + load->express.rows > 0)
        return;
    struct admission_load *last = admission->loads[--admission->count];
    last->index = load->index;
    admission->loads[last->index] = last;
    load->used = false;
    forget_claims(load);
}

struct admission_load *const *admission_loads(const struct admission *admission, size_t *count) {
    *count = admission->count;
    return admission->loads;
}

void admission_settle(struct admission *admission) {
    for (size_t i = admission->count; i-- > 0;)
        forget_if_empty(admission, admission->loads[i]);
}

void admission_round(struct admission *admission) {
    admission_settle(admission);
    admission->over_us = admission->encoded_us = 0;
    for (size_t i = 0; i < admission->count; i++)
        forget_claims(admission->loads[i]);
}

/* Returns the number of earlier steps that the rows look back on when the sentence ends. */
static size_t past_of(const struct admission_load *load, size_t rows, size_t tokens) {
    return load->grows ? rows * tokens : 0;
}

void admission_enter(struct admission *admission, struct admission_load *load, size_t rows,
                     size_t tokens, bool express) {
    struct admission_rows *part = express ? &load->express : &load->main;
    use(admission, load);
    part->rows += rows;
    part->past += past_of(load, rows, tokens);
    part->work += rows * tokens;
}

void admission_leave(struct admission *admission, struct admission_load *load, size_t rows,
                     size_t tokens, bool express) {
    struct admission_rows *part = express ? &load->express : &load->main;
    assert(part->rows >= rows && part->past >= past_of(load, rows, tokens));
    part->rows -= rows;
    part->past -= past_of(load, rows, tokens);
    part->work -= rows * tokens;
    forget_if_empty(admission, load);
}

/* ---- admission: claims ---- */

/* The work of all models in this round, including what has been claimed so far. */
struct work {
    size_t rows, tokens;
    double step_us, encode_us, least_us; /* least: a step with one row */
    size_t express_rows, express_work;
    double express_us; /* the time that the express rows add to the step */
};

static void add_work(struct work *work, const struct admission_load *load) {
    const struct admission_rows *main = &load->main, *express = &load->express;
    size_t rows = main->rows + main->new_rows, past = main->past + main->new_past,
           more = express->rows + express->new_rows;
    double step_us = admission_predict_step(&load->step, rows, past);
    work->rows += rows;
    work->express_rows += more;
    work->express_work += express->work + express->new_work;
    work->tokens += load->new_tokens;
    work->step_us += step_us;
    work->express_us +=
        admission_predict_step(&load->step, rows + more, past + express->past + express->new_past) -
        step_us;
    work->least_us += admission_predict_step(&load->step, rows + more > 0, 0);
    work->encode_us += admission_predict(&load->encode, load->new_tokens);
}

/* Sums the work of all loads. load: included even if it is not in use. */
static struct work sum_work(const struct admission *admission, const struct admission_load *load) {
    struct work work = {0};
    for (size_t i = 0; i < admission->count; i++)
        add_work(&work, admission->loads[i]);
    if (!load->used)
        add_work(&work, load);
    return work;
}

/* If a single row takes most of the target, as it does when the weights come from memory, refusing
 * others would cost throughput and save little time. */
static double limit_us(const struct admission *admission, const struct work *work) {
    return fmax(admission->target_us, WORTH * work->least_us);
}

bool admission_encoded(struct admission *admission, int64_t part_us) {
    struct work work = {0};
    for (size_t i = 0; i < admission->count;
         i++) { /* the claims of this round are already among the rows */
        const struct admission_load *load = admission->loads[i];
        size_t rows = load->main.rows + load->express.rows;
        work.step_us +=
            admission_predict_step(&load->step, rows, load->main.past + load->express.past);
        work.least_us += admission_predict_step(&load->step, rows > 0, 0);
    }
    admission->encoded_us += (double)part_us;
    double us = work.step_us + admission->encoded_us + (double)part_us;
    return admission->target_us <= 0 || us <= limit_us(admission, &work);
}

/* Adds the time by which a newcomer extends a round beyond the target, or returns false if the sum
 * would exceed most_us. */
static bool add_over(struct admission *admission, double added_us, double most_us) {
    if (admission->over_us + added_us > most_us)
        return false;
    admission->over_us += added_us;
    return true;
}

/* Returns whether a sentence has been admitted before any step of the model was measured. */
static bool is_unknown(const struct admission_load *load) {
    const struct admission_rows *main = &load->main, *express = &load->express;
    return load->step.by_rows.weight <= 0 &&
           main->rows + main->new_rows + express->rows + express->new_rows > 0;
}

static void add_claim(struct admission_load *load, struct admission_rows *part, size_t rows,
                      size_t tokens) {
    part->new_rows += rows;
    part->new_past += past_of(load, rows, tokens);
    part->new_work += rows * tokens;
    load->new_tokens += tokens;
}

bool admission_claim(struct admission *admission, struct admission_load *load, size_t rows,
                     size_t tokens, enum admission_share share) {
    const struct admission_load former = *load;
    struct work before = sum_work(admission, load);
    /* An idle worker offers all its rows to any client. */
    bool spare = share == ADMISSION_MOST && before.rows > 0 && admission->max_rows >= SPARE_OF_ROWS;
    size_t most = admission->max_rows - (spare ? (size_t)(SPARE * (double)admission->max_rows) : 0);
    if (before.rows > most || rows > most - before.rows)
        return false;
    add_claim(load, &load->main, rows, tokens);
    struct work after = sum_work(admission, load);
    bool fits = admission->target_us <= 0 || before.rows == 0;
    if (!fits && !is_unknown(&former)) {
        bool encoding = before.tokens > 0; /* the first sentence to be encoded always fits */
        double most_us = limit_us(admission, &after), spare_us = SPARE * most_us;
        double us = after.step_us + (encoding ? after.encode_us : 0);
        double before_us = before.step_us + (encoding ? before.encode_us : 0);
        fits = us <= most_us - (share == ADMISSION_MOST ? spare_us : 0) ||
               (share == ADMISSION_NEWCOMER && add_over(admission, us - before_us, spare_us));
    }
    if (fits)
        use(admission, load);
    else
        *load = former;
    return fits;
}

bool admission_claim_express(struct admission *admission, struct admission_load *load, size_t rows,
                             size_t tokens, size_t own) {
    const struct admission_load former = *load;
    struct work before = sum_work(admission, load);
    add_claim(load, &load->express, rows, tokens);
    struct work after = sum_work(admission, load);

    /* The lane has as many rows as are predicted to fill its time, but at least `least`. */
    size_t lane = admission->max_rows / ADMISSION_EXPRESS_SHARE,
           least = lane < EXPRESS_LEAST ? lane : EXPRESS_LEAST;
    double each_us = after.express_us / (double)after.express_rows,
           most_us = EXPRESS * limit_us(admission, &after);
    if (admission->target_us > 0 && each_us * (double)lane > most_us)
        lane = each_us * (double)least >= most_us ? least : (size_t)(most_us / each_us);
    size_t most = lane * EXPRESS_TOKENS,
           all = own + rows * tokens; /* all: the client's work, including this sentence */
    bool fits = !is_unknown(&former) && after.express_rows <= lane && after.express_work <= most &&
                all <= most - after.express_work;
    if (fits && admission->target_us > 0 && before.tokens > 0)
        fits = add_over(admission, after.encode_us - before.encode_us, most_us);
    if (fits)
        use(admission, load);
    else
        *load = former;
    return fits;
}

/* ---- workers ---- */

/* The jobs of the main room or of the express lane. */
struct held {
    size_t count, bytes,
        document_rows; /* bytes: the sum over the jobs; document_rows: of those of lean requests */
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
    struct job **live;              /* [live_count] */
    size_t live_count, claimed;     /* claimed: jobs being taken, which will be live soon */
    struct held held[2], taking[2]; /* by job.express: the live, and the claimed jobs */
    bool refused;                   /* a job waits for a later round */
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
    return (struct holder){job->request->client, job->request->priority,
                           (size_t)job->rows * job->steps};
}

/* Returns the length that admission counts. The lane counts the translation, which must be short,
 * too. */
static size_t length_of(const struct job *job) {
    return job->express ? job->steps : job->tokens;
}

static void end_job(struct job *job) {
    const struct sentence *sentence = job->sentence;
    job->done_us = clock_us();
    job->written = sentence && sentence->hypotheses ? (uint32_t)sentence->hypotheses[0].length : 0;
    outcome_take(job);
    if (job->request->progress)
        job->request->progress(job);
    for (struct job *twin = job->next_twin; twin;
         twin = twin->next_twin) { /* before the job itself, whose end may be the last */
        twin->done_us = job->done_us;
        twin->outcome = job->outcome;
        if (twin->request->progress)
            twin->request->progress(twin);
        job_end(twin);
    }
    job_end(job);
}

/* ---- taking jobs from the scheduler ---- */

/* Returns whether the job's memory fits. An empty main room takes any job. */
static bool has_memory(const struct worker *worker, const struct job *job, bool express) {
    const struct held *live = &worker->held[express], *claimed = &worker->taking[express];
    size_t most = worker->pool->options.bytes, taken = live->bytes + claimed->bytes;
    if (most == 0 || (!express && live->count + claimed->count == 0))
        return true;
    most /= express ? ADMISSION_EXPRESS_SHARE : 1;
    return taken <= most && job->bytes <= most - taken;
}

static void hold(struct held *held, const struct job *job) {
    held->count++;
    held->bytes += job->bytes;
    held->document_rows += job->request->lean ? job->rows : 0;
}

/* Called when the scheduler asks for room (struct scheduler_room). Batch jobs use neither the room
 * that is reserved for newcomers nor the lane. */
static enum scheduler_claim claim(void *owner, struct job *job, bool express) {
    struct worker *worker = owner;
    struct slot *slot = slot_of(worker, job);
    const struct request *request = job->request;
    bool shared = worker->pool->options.shared,
         interactive = request->priority == PRIORITY_INTERACTIVE;

    /* Documents take half of the rows, if that leaves full groups to a step (model/batch.c): with
     * more rows they would take more memory without being faster. */
    size_t rows = worker->pool->options.rows, most = rows >= 4 * SEARCH_MAX_ROWS ? rows / 2 : rows;
    if (request->lean &&
        worker->held[false].document_rows + worker->taking[false].document_rows + job->rows >
            most) {
        worker->refused = true;
        return CLAIM_HELD_BACK;
    }

    size_t own =
        0; /* a client's batch jobs do not count against its interactive jobs, and vice versa */
    for (size_t i = 0; i < worker->live_count + worker->claimed; i++) {
        const struct holder *holder = &worker->holders[i];
        own += holder->client == request->client && holder->priority == request->priority
                   ? holder->work
                   : 0;
    }
    enum admission_share share = !shared                   ? ADMISSION_ALL
                                 : own > 0 || !interactive ? ADMISSION_MOST
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

/* Makes the sentences of lean requests' jobs, and admits the jobs in order. A claimed job may have
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
        metrics_queued(metrics, job->model->metrics, job->request->priority,
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
        job_gives_up(job);
        end_job(job);
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

/* Ends a sentence. The model may be freed with its last job. A job with a second attempt waits for
 * its turn like any other. */
static void worker_finish(struct worker *worker, struct sentence *sentence) {
    struct metrics *metrics = worker->pool->options.metrics;
    struct job *job = sentence->owner, *last = worker->live[--worker->live_count];
    struct held *held = &worker->held[job->express];
    last->live_index = job->live_index;
    worker->live[last->live_index] = last;
    worker->holders[last->live_index] = worker->holders[worker->live_count];
    worker->followed -= job->request->progress != NULL;
    held->count--;
    held->bytes -= job->bytes;
    held->document_rows -= job->request->lean ? job->rows : 0;
    admission_leave(worker->admission, &slot_of(worker, job)->load, job->rows, length_of(job),
                    job->express);
    metrics_add(metrics, GAUGE_ROWS_LIVE, -(int64_t)job->rows);
    metrics_add(metrics, GAUGE_DECODING_BYTES, -(int64_t)job->bytes);

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
    for (size_t i = 0; i < count; i++)
        worker_finish(worker, worker->done[i]);
}

static void *worker_run(void *argument) {
    struct worker *worker = argument;
    struct workers *pool = worker->pool;
    const struct scheduler_room room = {claim, worker};
    for (;;) {
        admission_round(worker->admission);
        worker->claimed = 0;
        worker->refused = false;
        worker->taking[false] = worker->taking[true] = (struct held){0};
        struct job *jobs = scheduler_take(pool->options.scheduler, &room, worker->live_count == 0);
        if (!jobs && worker->live_count == 0)
            break; /* closed and empty */

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
    }
    pthread_mutex_lock(&pool->lock);
    pool->running--;
    pthread_cond_broadcast(&pool->ended);
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* ---- the threads ---- */

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
    workers->running =
        result == 0 ? options->workers : 0; /* set before any thread can decrement it */
    while (result == 0 && workers->started < options->workers) {
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
    free(workers);
}
