/* A bounded first-in first-out queue of jobs: a monitor, not a thread. The head is never overtaken. Thread-safe. */
#ifndef ALIGND_SCHEDULER_H
#define ALIGND_SCHEDULER_H

#include "server/request.h"

struct scheduler;

enum scheduler_verdict { SCHEDULER_ACCEPTED, SCHEDULER_FULL, SCHEDULER_CLOSED };

/* capacity: jobs that may wait. NULL when memory is out. */
struct scheduler *scheduler_create(size_t capacity);
/* The queue must be empty and no worker inside. NULL allowed. */
void scheduler_free(struct scheduler *scheduler);

/* Queues all jobs of a request, or none. Once accepted, the request belongs to the workers: it may be finished before this
 * returns. */
enum scheduler_verdict scheduler_submit(struct scheduler *scheduler, struct request *request);

/* Room for jobs, as a worker has it. claim counts a job in, or says that it does not fit; called with the queue locked, it must be
 * quick. */
struct scheduler_room {
    bool (*claim)(void *owner, const struct job *job);
    void *owner;
};

/* Takes the oldest jobs for which there is room, as a list in order. While other workers stand idle it takes no
 * more than its share, so that a burst is spread over all of them. Every few milliseconds it also takes, whatever their place
 * and the room, the jobs whose request is cancelled or past its deadline: these come first and must be ended, not admitted
 * (request_reason tells). wait: blocks until there is a job. NULL: nothing fits; with wait: the queue is closed and empty. */
struct job *scheduler_take(struct scheduler *scheduler, const struct scheduler_room *room, bool wait);

/* From now on nothing is accepted; what waits is still handed out. */
void scheduler_close(struct scheduler *scheduler);

size_t scheduler_depth(struct scheduler *scheduler);
size_t scheduler_capacity(const struct scheduler *scheduler);

#endif
