/* The threads that decode. Each has one batch per model (a struct worker_batch, server/decode/loaded_model.h) and one budget of
 * rows for all of them, and runs
 *
 *   admit -> step -> finish -> drop
 *
 * blocking only when nothing is live. Its admission decides how much is taken on. */
#ifndef ALIGND_WORKER_H
#define ALIGND_WORKER_H

#include "server/base/metrics.h"
#include "server/decode/scheduler.h"

struct workers;

struct worker_options {
    size_t workers, rows; /* threads; rows of each. The models of jobs are loaded for as many */
    size_t bytes;         /* of each: the sum of its live jobs' bytes, unless there is but one; 0: no limit */
    bool shared;          /* by clients: of the room (admission.h) a part is for those who have nothing live, and an express lane
                             with rows and bytes of its own, an eighth of these, for those who have little */
    int64_t step_us;      /* target of a round (admission.h); 0: none */
    struct scheduler *scheduler;
    struct metrics *metrics;
};

/* Allocates all that decoding needs and starts the threads. NULL with ERROR_MEMORY. */
struct workers *workers_start(const struct worker_options *options, struct error *err);

/* Waits until every worker has ended, which they do once the scheduler is closed and its queue empty. False after timeout_ms. */
bool workers_wait(struct workers *workers, size_t timeout_ms);

/* Cancels what is live or waiting (CANCEL_SHUTDOWN), so that the workers end soon. */
void workers_abandon(struct workers *workers);

/* Joins the threads: the scheduler must be closed. NULL allowed. */
void workers_free(struct workers *workers);

#endif
