/* The jobs that wait: those of each client in the order in which they came, the clients in a ring that is gone round; each priority
 * has a ring of its own. Memory is bounded however many clients there are. Not thread-safe: the scheduler's. */
#ifndef ALIGND_CLIENT_QUEUES_H
#define ALIGND_CLIENT_QUEUES_H

#include "server/decode/request.h"

/* One client's jobs of one priority: at least one. */
struct client_queue {
    uint64_t client;
    enum priority priority;
    struct job *head, **tail; /* tail: where the next one is linked in */
    size_t overtaken;         /* jobs of others taken while this one's first should have been */
    struct client_queue *next, *previous;
    struct client_queue *chain; /* in its bucket, or among those that are free */
};

struct client_ring {
    struct client_queue *first, *last; /* in the order of their turns */
    size_t jobs;
};

struct client_queues {
    struct client_ring rings[PRIORITIES];
    struct client_queue *all;             /* [most] */
    struct client_queue *free, **buckets; /* [bucket_count] by client */
    size_t used, most;                    /* of all: ever in use; how many there can be */
    size_t bucket_count, jobs, work;      /* jobs that wait, and their work (job_work) */
};

/* most_jobs: how many jobs there will be at most. -1: memory is out. */
int client_queues_init(struct client_queues *queues, size_t most_jobs);
void client_queues_done(struct client_queues *queues); /* of what was zeroed, too */

/* NULL: no job of this request's client and priority waits. */
struct client_queue *client_queues_find(const struct client_queues *queues, const struct request *request);
/* False: so many clients wait that another has no place. */
bool client_queues_admits(const struct client_queues *queues, const struct request *request);
/* Behind the jobs of its client and priority; its request must be admitted. */
void client_queues_push(struct client_queues *queues, struct job *job);

/* Takes the job at *link, which is one of the queue's. True: it was the queue's last, and the queue is gone. */
bool client_queues_take(struct client_queues *queues, struct client_queue *queue, struct job **link);
/* The queue has had its turn: it goes behind all others of its ring. */
void client_queues_rotate(struct client_queues *queues, struct client_queue *queue);

#endif
