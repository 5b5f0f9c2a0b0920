#include "server/decode/flows.h"
#include <assert.h>
#include <stdlib.h>

enum { MAX_FLOWS = 4096, BUCKETS = 4096 };

int flows_init(struct flows *flows, size_t most_jobs) {
    size_t most = most_jobs < MAX_FLOWS ? most_jobs : MAX_FLOWS;
    *flows = (struct flows){.most = most, .bucket_count = BUCKETS};
    flows->all = calloc(most, sizeof *flows->all);
    flows->buckets = calloc(BUCKETS, sizeof *flows->buckets);
    if (flows->all && flows->buckets)
        return 0;
    flows_done(flows);
    return -1;
}

void flows_done(struct flows *flows) {
    assert(!flows->first);
    free(flows->all);
    free(flows->buckets);
    *flows = (struct flows){0};
}

static struct flow **bucket(const struct flows *flows, uint64_t client) {
    return &flows->buckets[client % flows->bucket_count];
}

struct flow *flows_find(const struct flows *flows, uint64_t client) {
    struct flow *flow = *bucket(flows, client);
    while (flow && flow->client != client)
        flow = flow->chain;
    return flow;
}

bool flows_admits(const struct flows *flows, uint64_t client) {
    return flows->free || flows->used < flows->most || flows_find(flows, client);
}

static void link_last(struct flows *flows, struct flow *flow) {
    flow->next = NULL;
    flow->previous = flows->last;
    *(flows->last ? &flows->last->next : &flows->first) = flow;
    flows->last = flow;
}

static void unlink_flow(struct flows *flows, struct flow *flow) {
    *(flow->previous ? &flow->previous->next : &flows->first) = flow->next;
    *(flow->next ? &flow->next->previous : &flows->last) = flow->previous;
}

static struct flow *begin(struct flows *flows, uint64_t client) {
    struct flow *flow = flows->free;
    if (flow) {
        flows->free = flow->chain;
    } else {
        assert(flows->used < flows->most);
        flow = &flows->all[flows->used++];
    }
    struct flow **chain = bucket(flows, client);
    *flow = (struct flow){.client = client, .tail = &flow->head, .chain = *chain};
    *chain = flow;
    link_last(flows, flow);
    return flow;
}

static void end(struct flows *flows, struct flow *flow) {
    struct flow **chain = bucket(flows, flow->client);
    while (*chain != flow)
        chain = &(*chain)->chain;
    *chain = flow->chain;
    unlink_flow(flows, flow);
    flow->chain = flows->free;
    flows->free = flow;
}

void flows_push(struct flows *flows, struct job *job) {
    struct flow *flow = flows_find(flows, job->request->client);
    if (!flow)
        flow = begin(flows, job->request->client);
    job->next = NULL;
    *flow->tail = job;
    flow->tail = &job->next;
    flows->jobs++;
    flows->work += job_work(job);
}

bool flows_take(struct flows *flows, struct flow *flow, struct job **link) {
    struct job *job = *link;
    *link = job->next;
    if (flow->tail == &job->next)
        flow->tail = link;
    job->next = NULL;
    flows->jobs--;
    flows->work -= job_work(job);
    bool last = !flow->head;
    if (last)
        end(flows, flow);
    return last;
}

void flows_rotate(struct flows *flows, struct flow *flow) {
    unlink_flow(flows, flow);
    link_last(flows, flow);
}
