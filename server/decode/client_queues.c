#include "server/decode/client_queues.h"
#include <assert.h>
#include <stdlib.h>

enum { MAX_FLOWS = 4096, BUCKETS = 4096 };

int client_queues_init(struct client_queues *queues, size_t most_jobs) {
    size_t most = most_jobs < MAX_FLOWS ? most_jobs : MAX_FLOWS;
    *queues = (struct client_queues){.most = most, .bucket_count = BUCKETS};
    queues->all = calloc(most, sizeof *queues->all);
    queues->buckets = calloc(BUCKETS, sizeof *queues->buckets);
    if (queues->all && queues->buckets)
        return 0;
    client_queues_done(queues);
    return -1;
}

void client_queues_done(struct client_queues *queues) {
    assert(queues->jobs == 0);
    free(queues->all);
    free(queues->buckets);
    *queues = (struct client_queues){0};
}

static struct client_queue **bucket(const struct client_queues *queues, uint64_t client) {
    return &queues->buckets[client % queues->bucket_count];
}

struct client_queue *client_queues_find(const struct client_queues *queues, const struct request *request) {
    struct client_queue *queue = *bucket(queues, request->client);
    while (queue && (queue->client != request->client || queue->priority != request->priority))
        queue = queue->chain;
    return queue;
}

bool client_queues_admits(const struct client_queues *queues, const struct request *request) {
    return queues->free || queues->used < queues->most || client_queues_find(queues, request);
}

static void link_last(struct client_ring *ring, struct client_queue *queue) {
    queue->next = NULL;
    queue->previous = ring->last;
    *(ring->last ? &ring->last->next : &ring->first) = queue;
    ring->last = queue;
}

static void unlink_flow(struct client_ring *ring, struct client_queue *queue) {
    *(queue->previous ? &queue->previous->next : &ring->first) = queue->next;
    *(queue->next ? &queue->next->previous : &ring->last) = queue->previous;
}

static struct client_queue *queue_begin(struct client_queues *queues, const struct request *request) {
    struct client_queue *queue = queues->free;
    if (queue) {
        queues->free = queue->chain;
    } else {
        assert(queues->used < queues->most);
        queue = &queues->all[queues->used++];
    }
    struct client_queue **chain = bucket(queues, request->client);
    *queue = (struct client_queue){.client = request->client, .priority = request->priority, .tail = &queue->head, .chain = *chain};
    *chain = queue;
    link_last(&queues->rings[queue->priority], queue);
    return queue;
}

static void queue_end(struct client_queues *queues, struct client_queue *queue) {
    struct client_queue **chain = bucket(queues, queue->client);
    while (*chain != queue)
        chain = &(*chain)->chain;
    *chain = queue->chain;
    unlink_flow(&queues->rings[queue->priority], queue);
    queue->chain = queues->free;
    queues->free = queue;
}

void client_queues_push(struct client_queues *queues, struct job *job) {
    struct client_queue *queue = client_queues_find(queues, job->request);
    if (!queue)
        queue = queue_begin(queues, job->request);
    job->next = NULL;
    *queue->tail = job;
    queue->tail = &job->next;
    queues->jobs++;
    queues->rings[queue->priority].jobs++;
    queues->work += job_work(job);
}

bool client_queues_take(struct client_queues *queues, struct client_queue *queue, struct job **link) {
    struct job *job = *link;
    *link = job->next;
    if (queue->tail == &job->next)
        queue->tail = link;
    job->next = NULL;
    queues->jobs--;
    queues->rings[queue->priority].jobs--;
    queues->work -= job_work(job);
    bool last = !queue->head;
    if (last)
        queue_end(queues, queue);
    return last;
}

void client_queues_rotate(struct client_queues *queues, struct client_queue *queue) {
    struct client_ring *ring = &queues->rings[queue->priority];
    unlink_flow(ring, queue);
    link_last(ring, queue);
}
