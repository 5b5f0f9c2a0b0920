/* Workers are the threads that decode. Each has one batch per model (struct worker_batch) and one
 * budget of rows for all of them, and repeats
 *
 *   take -> admit -> step -> finish
 *
 * It blocks only when nothing is live. Its admission decides how many jobs it takes. */
#ifndef ALIGND_WORKER_H
#define ALIGND_WORKER_H

#include "server/base/metrics.h"
#include "server/decode/scheduler.h"

struct workers;

/* Returns the bytes of state that a worker needs for each model (struct loading). */
size_t worker_state_bytes(void);

struct worker_options {
    size_t workers, rows; /* threads, and rows of each. The models of all jobs must be loaded for as
                             many workers, with batches of admission_all_rows(rows) */
    size_t bytes; /* limit for each worker on the sum of its live jobs' bytes, unless it has only
                     one job; 0: no limit */
    /* Clients share the workers: part of the room is reserved for those who have nothing live, and
     * an express lane, an additional eighth of the rows and bytes, for those who have little. */
    bool shared;
    int64_t step_us; /* target of a round; 0: none */
    struct scheduler *scheduler;
    struct metrics *metrics;
};

/* Allocates all memory for decoding and starts the threads. Returns NULL with ERROR_MEMORY. */
struct workers *workers_start(const struct worker_options *options, struct error *err);

/* Waits until every worker has ended, which happens once the scheduler is closed and its queue is
 * empty. Returns false after timeout_ms. */
bool workers_wait(struct workers *workers, size_t timeout_ms);

/* Cancels live and waiting jobs (CANCEL_SHUTDOWN), so that the workers end soon. */
void workers_abandon(struct workers *workers);

/* Joins the threads; the scheduler must be closed. Accepts NULL. */
void workers_free(struct workers *workers);

/* ---- admission ----
 *
 * Admission decides how many jobs a worker takes. Between two tokens of a sentence a worker does
 * one round: it encodes the sentences just admitted, or a part of them, then steps the batch of
 * every model. A job is admitted if its rows are free and the round is still predicted to end
 * within the target; otherwise it waits for a round with less to do. No job waits forever: an idle
 * worker takes any job, a sentence that is too long to be encoded within the target is admitted as
 * the only one of its round, and a client that has nothing live lengthens the round instead of
 * waiting for the long sentences of others. If a single row nearly uses up the target, the target
 * is exceeded.
 *
 * Beside this main room there is an express lane with an eighth of its rows, which may exceed the
 * target by half. While others fill the main room, it takes short sentences of clients that have
 * little live. It takes nothing from the main room, so jobs that wait for the main room never wait
 * for the lane.
 *
 * Each worker has its own admission, since it measures the time of its own thread. Not thread-safe.
 */

/* A duration that grows with an amount along a line. Only the last few dozen observations count. */
struct admission_cost {
    double weight, x, us, xx, xus; /* sums over the observations; older ones weigh less */
};
void admission_observe(struct admission_cost *cost, size_t amount, int64_t duration_us);
/* Returns 0 if the amount is 0 or there are no observations. */
double admission_predict(const struct admission_cost *cost, size_t amount);

/* The duration of a step. It grows with the rows and, if a row attends to all of its earlier steps,
 * with past, their number summed over the rows. */
struct admission_step {
    struct admission_cost by_rows;
    double past, past2, cross, past_us; /* sums of past, past^2, rows past, past us; likewise */
};
void admission_observe_step(struct admission_step *step, size_t rows, size_t past,
                            int64_t duration_us);
/* Predicts by the rows alone if rows and past have always been in proportion, as for sentences that
 * run side by side. */
double admission_predict_step(const struct admission_step *step, size_t rows, size_t past);

/* Upper bounds of the rows of live sentences, and of the earlier steps that they will attend to
 * before they end; new_: the same for rows claimed in this round. */
struct admission_rows {
    size_t rows, past, work, new_rows, new_past, new_work; /* work: rows x tokens */
};

/* The costs of the batch of one model, and the rows in it. Zeroed at first, except for the caller's
 * members; it must live as long as it is in use. */
struct admission_load {
    void *owner;                  /* the caller's */
    bool grows;                   /* the caller's: its rows have a past */
    struct admission_cost encode; /* by tokens; the caller observes it */
    struct admission_step step;   /* the caller observes it */
    struct admission_rows main, express;
    size_t new_tokens; /* claimed in this round */
    bool used;         /* it is one of the admission's loads, */
    size_t index;      /* at this place */
};

struct admission;

/* The lane has one row for each ADMISSION_EXPRESS_SHARE rows of the main room. */
enum { ADMISSION_EXPRESS_SHARE = 8 };
/* Returns how many rows may be live at once, with those of the lane, if the main room has max_rows.
 */
size_t admission_all_rows(size_t max_rows);

/* max_rows: of the main room. target_us: 0 if rows are the only limit. Returns NULL if memory runs
 * out. */
struct admission *admission_create(size_t max_rows, int64_t target_us);
void admission_free(struct admission *admission); /* accepts NULL */

/* Begins a round: claims from now on add to the live rows. */
void admission_round(struct admission *admission);
/* The part that a sentence may take of the target and, if there are 128 or more, of the rows. */
enum admission_share {
    ADMISSION_MOST,    /* all but an eighth, which is reserved for clients that have nothing live;
                          batch jobs get the same */
    ADMISSION_ALL,     /* all */
    ADMISSION_NEWCOMER /* all, and, if others use up the target, an eighth of it on top, which all
                          newcomers of a round share */
};
/* Claims room for one more sentence, or returns false. A translation is expected to become as long
 * as its source, tokens. Until a model has been measured, only one sentence is admitted to it. */
bool admission_claim(struct admission *admission, struct admission_load *load, size_t rows,
                     size_t tokens, enum admission_share share);
/* Claims room in the lane. own: the work of the client in the main room and in the lane. Including
 * the sentence's, it may not exceed the part of the lane that would stay free, so that there is
 * always room for the next client. tokens: of the source or of the translation, whichever is
 * larger. */
bool admission_claim_express(struct admission *admission, struct admission_load *load, size_t rows,
                             size_t tokens, size_t own);
/* Notes that a part of an encoding took part_us in this round. Returns true if another part of that
 * length still fits beside the steps, so that the encoding ends some rounds earlier for those that
 * wait. Each round has at least one part. */
bool admission_encoded(struct admission *admission, int64_t part_us);
/* Drops the loads that have claims but no admitted sentence. */
void admission_settle(struct admission *admission);

/* Notes that a sentence was admitted, or left; express: by the lane. When its last sentence leaves,
 * the admission drops the load, and its owner may free it. */
void admission_enter(struct admission *admission, struct admission_load *load, size_t rows,
                     size_t tokens, bool express);
void admission_leave(struct admission *admission, struct admission_load *load, size_t rows,
                     size_t tokens, bool express);

/* Returns the loads in use, which have live sentences or claims: [*count], changed by the calls
 * above. The last one moves to the place of a dropped one. */
struct admission_load *const *admission_loads(const struct admission *admission, size_t *count);

#endif
