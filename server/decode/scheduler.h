/* The scheduler is a bounded queue of jobs: a monitor, not a thread. Clients
 * (request.account.client) take turns, one job each; the jobs of one client are first in, first
 * out. Thread-safe.
 *
 * No client starves. If the first job of the next client does not fit yet, others overtake it, but
 * only OVERTAKES times (scheduler.c); then all wait until it fits. A client whose earlier jobs the
 * worker is decoding may be overtaken without limit until those jobs have ended. Jobs for which the
 * worker reserves room (the express lane in admission.h) neither overtake others nor wait for them.
 *
 * There are two priorities (request.account.priority). While interactive jobs wait, batch jobs get
 * a tenth of the work. A batch job whose turn has come waits for room like any other, and is
 * overtaken no more often. Clients take turns within a priority. For the bounds on what may wait,
 * all batch jobs together count as one client. */
#ifndef ALIGND_SCHEDULER_H
#define ALIGND_SCHEDULER_H

#include "server/decode/request.h"

struct scheduler;

/* Limits on waiting jobs. A client that already has jobs waiting may fill seven eighths of each:
 * the rest is reserved for newcomers. */
struct scheduler_limits {
    size_t jobs, work; /* work: the sum of request_job_work */
};

enum scheduler_verdict {
    SCHEDULER_ACCEPTED,
    SCHEDULER_FULL,
    SCHEDULER_FULL_WORK,
    SCHEDULER_CLOSED
};

/* Returns NULL if memory runs out. */
struct scheduler *scheduler_create(const struct scheduler_limits *limits);
/* The queue must be empty, and no worker may use the scheduler. Accepts NULL. */
void scheduler_free(struct scheduler *scheduler);

/* Queues a request, or does nothing. If it has more jobs than its window, the others follow one by
 * one as these are taken, and only those that wait count for the limits. Once accepted, the request
 * belongs to the workers: it may be finished before this returns. */
enum scheduler_verdict scheduler_submit(struct scheduler *scheduler, struct request *request);
/* Queues a job again, after the other jobs of its client. Its request stays accepted even
 * if the queue has become full or closed. The worker that took the job calls it.
 * Returns false if too many clients wait. */
bool scheduler_return(struct scheduler *scheduler, struct job *job);
/* Returns what scheduler_submit would return now. A request without jobs counts as one with a
 * single job: when even that is too much, the jobs need not be made. */
enum scheduler_verdict scheduler_judge(struct scheduler *scheduler, const struct request *request);
/* Returns the seconds until the request just refused would have been accepted, if no others arrive:
 * the work that must leave the queue first, at the pace at which work has been leaving it; 0 if
 * nothing has been measured yet. */
double scheduler_wait_s(struct scheduler *scheduler, const struct request *request);

/* A worker's answer to an offered job: it takes the job; it takes the job into reserved room; it
 * has no room; it has no room, but already has jobs of this client; its room is reserved for jobs
 * of another kind, so others need not wait for this one. */
enum scheduler_claim { CLAIM_TAKEN, CLAIM_EXPRESS, CLAIM_NO_ROOM, CLAIM_SERVED, CLAIM_HELD_BACK };

/* The room that a worker has for jobs. claim is called with the queue locked and must be quick.
 * express: the worker's ordinary room is reserved for a client that waits for more of it, so claim
 * may not return CLAIM_TAKEN. */
struct scheduler_room {
    enum scheduler_claim (*claim)(void *owner, struct job *job, bool express);
    void *owner;
};

/* Takes the next jobs in turn for which there is room, as a list in order. While other workers are
 * idle it takes no more than its share, so that a burst is spread over all of them. Every few
 * milliseconds it also takes the jobs whose request is cancelled or past its deadline, in any place
 * and without room: these come first in the list and must be ended, not admitted (see
 * request_reason). wait: block until there is a job. Returns NULL if nothing fits; with wait, if
 * the queue is closed and empty. */
struct job *scheduler_take(struct scheduler *scheduler, const struct scheduler_room *room,
                           bool wait);

/* From now on no job is accepted; waiting jobs are still handed out. */
void scheduler_close(struct scheduler *scheduler);

/* Return the number of waiting jobs of one priority, and of workers that wait for a job. */
size_t scheduler_depth_of(struct scheduler *scheduler, enum priority priority);
size_t scheduler_idle(struct scheduler *scheduler);
const struct scheduler_limits *scheduler_limits(const struct scheduler *scheduler);

#endif
