/* Workers are the threads that decode, or, where there are none, those that wait. Each has one
 * batch per model (struct worker_batch) and one budget of rows for all of them, and repeats
 *
 *   take -> admit -> step -> finish
 *
 * It blocks only when nothing is live. Its admission (admission.h) decides how many jobs it takes.
 */
#ifndef ALIGND_WORKER_H
#define ALIGND_WORKER_H

#include "server/base/metrics.h"
#include "server/decode/scheduler.h"

struct workers;

/* Returns the bytes of state that a worker needs for each model (struct loading). */
size_t worker_state_bytes(void);

struct worker_options {
    bool waiting;         /* the one worker has no thread: whoever waits calls workers_turn */
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

/* Takes jobs and decodes a step of all live ones on the calling thread, if the workers have none
 * (worker_options.waiting). While another thread does, waits for it. Thread-safe. */
void workers_turn(struct workers *workers);

/* Waits until every worker has ended, which happens once the scheduler is closed and its queue is
 * empty. Returns false after timeout_ms. */
bool workers_wait(struct workers *workers, size_t timeout_ms);

/* Cancels live and waiting jobs (CANCEL_SHUTDOWN), so that the workers end soon. */
void workers_abandon(struct workers *workers);

/* Joins the threads; the scheduler must be closed. Accepts NULL. */
void workers_free(struct workers *workers);

#endif
