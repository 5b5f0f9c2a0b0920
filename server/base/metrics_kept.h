/* What metrics_count.c counts and metrics_write.c writes. */
#ifndef ALIGND_METRICS_KEPT_H
#define ALIGND_METRICS_KEPT_H

#include "server/base/metrics.h"
#include <pthread.h>
#include <stdatomic.h>

enum { MAX_BUCKETS = 16 };

/* What a histogram measures: whole microseconds, written as seconds, or whole rows. */
struct scale {
    int64_t bounds[MAX_BUCKETS]; /* rising, inclusive */
    size_t count;
    double unit;
};

struct histogram {
    const struct scale *scale;
    atomic_uint_fast64_t buckets[MAX_BUCKETS + 1]; /* the last: beyond all bounds */
    atomic_int_fast64_t sum;
};

static const unsigned statuses[] = {200, 201, 204, 302, 304, 400, 401, 403, 404, 405, 409, 413, 415, 429, 456, 499, 500, 503, 504};
enum { STATUS_COUNT = sizeof statuses / sizeof statuses[0] };

struct endpoint_metrics {
    atomic_uint_fast64_t requests[STATUS_COUNT];
    struct histogram durations;
};

struct model_metrics {
    struct model_metrics *next;
    atomic_uint_fast64_t source_tokens, target_tokens, unknown_tokens, misses, hits;
    struct histogram durations, queue; /* of requests; of sentences */
    char name[];                       /* NUL-terminated */
};

struct metrics {
    const char *const *endpoint_names;
    size_t endpoint_count;
    struct endpoint_metrics *endpoints;
    struct histogram queue, step, rows, chores[CHORE_KINDS];
    atomic_int_fast64_t requests_in_flight, rows_live, decoding_bytes, chores_waiting, reply_bytes, model_sets;
    atomic_uint_fast64_t admitted[PRIORITIES];
    atomic_uint_fast64_t cancelled[CANCELLED_COUNT], rejected[REJECTED_COUNT], slow[SLOW_COUNT];
    atomic_uint_fast64_t reloads[2], loads[2], unloads, cache[2]; /* failed, done; the same; misses, hits */

    pthread_mutex_t lock; /* guards the list */
    struct model_metrics *models;
};

static inline uint64_t counter_load(const atomic_uint_fast64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static inline int64_t gauge_load(const atomic_int_fast64_t *gauge) {
    return atomic_load_explicit(gauge, memory_order_relaxed);
}

#endif
