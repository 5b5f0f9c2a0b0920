/* The jobs that wait: those of each client in the order in which they came, the clients in a ring that is gone round. Memory is
 * bounded however many clients there are. Not thread-safe: the scheduler's. */
#ifndef ALIGND_FLOWS_H
#define ALIGND_FLOWS_H

#include "server/decode/request.h"

/* One client's jobs: at least one. */
struct flow {
    uint64_t client;
    struct job *head, **tail; /* tail: where the next one is linked in */
    size_t overtaken;         /* jobs of others taken while this one's first should have been */
    struct flow *next, *previous;
    struct flow *chain; /* in its bucket, or among those that are free */
};

struct flows {
    struct flow *first, *last;       /* in the order of their turns */
    struct flow *all;                /* [most] */
    struct flow *free, **buckets;    /* [bucket_count] by client */
    size_t used, most;               /* of all: ever in use; how many there can be */
    size_t bucket_count, jobs, work; /* jobs that wait, and their work (job_work) */
};

/* most_jobs: how many jobs there will be at most. -1: memory is out. */
int flows_init(struct flows *flows, size_t most_jobs);
void flows_done(struct flows *flows); /* of what was zeroed, too */

/* NULL: none of this client's jobs waits. */
struct flow *flows_find(const struct flows *flows, uint64_t client);
/* False: so many clients wait that another has no place. */
bool flows_admits(const struct flows *flows, uint64_t client);
/* Behind the jobs of its client, which must be admitted. */
void flows_push(struct flows *flows, struct job *job);

/* Takes the job at *link, which is one of the flow's. True: it was the flow's last, and the flow is gone. */
bool flows_take(struct flows *flows, struct flow *flow, struct job **link);
/* The flow has had its turn: it goes behind all others. */
void flows_rotate(struct flows *flows, struct flow *flow);

#endif
