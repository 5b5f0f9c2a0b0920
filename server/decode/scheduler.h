/* A bounded queue of jobs: a monitor, not a thread. Clients (request.client) take turns, one job each; a client's own jobs go first
 * in, first out. Thread-safe.
 *
 * Nobody starves. The first job of a client whose turn it is may not fit yet: others go before it, but only OVERTAKES times
 * (scheduler.c), then everybody waits until it does. One of a client that has jobs in the worker's hands already may be passed
 * without limit: those end, and then the rule above holds for it. Whoever the worker has room apart for (the express lane of
 * admission.h) passes nobody and does not wait for them.
 *
 * Of two priorities (request.priority) interactive jobs go first: batch jobs are handed out while no interactive one waits, and
 * otherwise where a tenth of the work is due to them. What is due waits for room as everybody does, and is passed no more often.
 * Clients take turns within a priority. Of what may wait, all batch jobs together have what one client has. */
#ifndef ALIGND_SCHEDULER_H
#define ALIGND_SCHEDULER_H

#include "server/decode/request.h"

struct scheduler;

/* What may wait. A client that has something waiting may fill seven eighths of each: the rest is for those who have nothing. */
struct scheduler_limits {
    size_t jobs, work; /* work: the sum of job_work */
};

enum scheduler_verdict { SCHEDULER_ACCEPTED, SCHEDULER_FULL, SCHEDULER_FULL_WORK, SCHEDULER_CLOSED };

/* NULL when memory is out. */
struct scheduler *scheduler_create(const struct scheduler_limits *limits);
/* The queue must be empty and no worker inside. NULL allowed. */
void scheduler_free(struct scheduler *scheduler);

/* Queues all jobs of a request, or none. Once accepted, the request belongs to the workers: it may be finished before this
 * returns. */
enum scheduler_verdict scheduler_submit(struct scheduler *scheduler, struct request *request);
/* Queues a job that was taken once more, behind those of its client: its request is accepted already, and stays so even if the
 * queue is full or closed by now. To be called by the worker that took it. False: too many clients wait. */
bool scheduler_return(struct scheduler *scheduler, struct job *job);
/* What scheduler_submit would say now, also of a request that has no jobs yet: when even one would be too many, there is no need to
 * make them. */
enum scheduler_verdict scheduler_judge(struct scheduler *scheduler, const struct request *request);
/* Seconds until the request just refused would have been accepted, if nobody else comes: the work that must leave the queue first
 * at the pace at which work has been leaving it. 0: nothing has been measured yet. */
double scheduler_wait_s(struct scheduler *scheduler, const struct request *request);

/* What a worker says to a job that is offered: counted in; counted in where it takes no room from others; no room for it; no room,
 * but its client has some already. */
enum scheduler_claim { CLAIM_TAKEN, CLAIM_EXPRESS, CLAIM_NO_ROOM, CLAIM_SERVED };

/* Room for jobs, as a worker has it. claim is called with the queue locked: it must be quick. express: the room that there is is
 * somebody else's, who waits for more of it: nothing but CLAIM_EXPRESS may come of it. */
struct scheduler_room {
    enum scheduler_claim (*claim)(void *owner, struct job *job, bool express);
    void *owner;
};

/* Takes the jobs whose turn it is and for which there is room, as a list in order. While other workers stand idle it takes no
 * more than its share, so that a burst is spread over all of them. Every few milliseconds it also takes, whatever their place
 * and the room, the jobs whose request is cancelled or past its deadline: these come first and must be ended, not admitted
 * (request_reason tells). wait: blocks until there is a job. NULL: nothing fits; with wait: the queue is closed and empty. */
struct job *scheduler_take(struct scheduler *scheduler, const struct scheduler_room *room, bool wait);

/* From now on nothing is accepted; what waits is still handed out. */
void scheduler_close(struct scheduler *scheduler);

/* Jobs that wait, in all and of one priority, and workers that wait for one. */
size_t scheduler_depth(struct scheduler *scheduler);
size_t scheduler_depth_of(struct scheduler *scheduler, enum priority priority);
size_t scheduler_idle(struct scheduler *scheduler);
const struct scheduler_limits *scheduler_limits(const struct scheduler *scheduler);

#endif
