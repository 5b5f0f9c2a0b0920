#include "server/base/metrics_kept.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const struct scale request_scale = {
    {1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000, 30000000}, 14, 1e-6};
static const struct scale step_scale = {{100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000}, 11, 1e-6};
static const struct scale rows_scale = {{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}, 10, 1};

struct metrics *metrics_create(const char *const *endpoints, size_t endpoint_count, struct error *err) {
    struct metrics *metrics = calloc(1, sizeof *metrics);
    struct endpoint_metrics *counters = calloc(endpoint_count, sizeof *counters);
    if (!metrics || !counters) {
        free(metrics);
        free(counters);
        error_memory(err);
        return NULL;
    }
    metrics->endpoint_names = endpoints;
    metrics->endpoint_count = endpoint_count;
    metrics->endpoints = counters;
    for (size_t i = 0; i < endpoint_count; i++)
        counters[i].durations.scale = &request_scale;
    for (size_t i = 0; i < CHORE_KINDS; i++)
        metrics->chores[i].scale = &request_scale;
    metrics->queue.scale = &request_scale;
    metrics->step.scale = &step_scale;
    metrics->rows.scale = &rows_scale;
    pthread_mutex_init(&metrics->lock, NULL);
    return metrics;
}

void metrics_free(struct metrics *metrics) {
    if (!metrics)
        return;
    for (struct model_metrics *model = metrics->models, *next; model; model = next) {
        next = model->next;
        free(model);
    }
    pthread_mutex_destroy(&metrics->lock);
    free(metrics->endpoints);
    free(metrics);
}

static void counter_add(atomic_uint_fast64_t *counter, uint64_t amount) {
    atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

static void gauge_add(atomic_int_fast64_t *gauge, int64_t difference) {
    atomic_fetch_add_explicit(gauge, difference, memory_order_relaxed);
}

static void observe(struct histogram *histogram, int64_t value) {
    const struct scale *scale = histogram->scale;
    size_t bucket = 0;
    while (bucket < scale->count && value > scale->bounds[bucket])
        bucket++;
    counter_add(&histogram->buckets[bucket], 1);
    gauge_add(&histogram->sum, value);
}

static size_t status_index(unsigned status) {
    size_t i = 0;
    while (i < STATUS_COUNT - 1 && statuses[i] != status)
        i++;
    assert(statuses[i] == status);
    return i;
}

void metrics_request_began(struct metrics *metrics) {
    gauge_add(&metrics->requests_in_flight, 1);
}

void metrics_request_ended(struct metrics *metrics, size_t endpoint, struct model_metrics *model, unsigned status,
                           int64_t duration_us) {
    assert(endpoint < metrics->endpoint_count);
    gauge_add(&metrics->requests_in_flight, -1);
    counter_add(&metrics->endpoints[endpoint].requests[status_index(status == 0 ? 499 : status)], 1);
    observe(&metrics->endpoints[endpoint].durations, duration_us);
    if (model)
        observe(&model->durations, duration_us);
}

void metrics_cancelled(struct metrics *metrics, enum metrics_cancelled reason) {
    counter_add(&metrics->cancelled[reason], 1);
}

void metrics_rejected(struct metrics *metrics, enum metrics_rejected reason) {
    counter_add(&metrics->rejected[reason], 1);
}

void metrics_slow(struct metrics *metrics, enum metrics_slow reason) {
    counter_add(&metrics->slow[reason], 1);
}

void metrics_queued(struct metrics *metrics, struct model_metrics *model, enum priority priority, int64_t duration_us) {
    counter_add(&metrics->admitted[priority], 1);
    observe(&metrics->queue, duration_us);
    observe(&model->queue, duration_us);
}

void metrics_step(struct metrics *metrics, size_t rows, int64_t duration_us) {
    observe(&metrics->step, duration_us);
    observe(&metrics->rows, (int64_t)rows);
}

void metrics_rows_changed(struct metrics *metrics, int64_t difference) {
    gauge_add(&metrics->rows_live, difference);
}

void metrics_decoding_changed(struct metrics *metrics, int64_t bytes) {
    gauge_add(&metrics->decoding_bytes, bytes);
}

void metrics_chores_changed(struct metrics *metrics, int64_t difference) {
    gauge_add(&metrics->chores_waiting, difference);
}

void metrics_replies_changed(struct metrics *metrics, int64_t difference) {
    gauge_add(&metrics->reply_bytes, difference);
}

void metrics_chore(struct metrics *metrics, enum metrics_chore kind, int64_t duration_us) {
    observe(&metrics->chores[kind], duration_us);
}

static struct model_metrics *find_model(const struct metrics *metrics, const char *name) {
    struct model_metrics *model = metrics->models;
    while (model && strcmp(model->name, name) != 0)
        model = model->next;
    return model;
}

struct model_metrics *metrics_model(struct metrics *metrics, const char *name, struct error *err) {
    pthread_mutex_lock(&metrics->lock);
    struct model_metrics *model = find_model(metrics, name);
    if (!model && (model = calloc(1, sizeof *model + strlen(name) + 1)) != NULL) {
        strcpy(model->name, name);
        model->durations.scale = model->queue.scale = &request_scale;
        model->next = metrics->models;
        metrics->models = model;
    }
    pthread_mutex_unlock(&metrics->lock);
    if (!model)
        error_memory(err);
    return model;
}

void metrics_tokens(struct model_metrics *model, size_t source, size_t target, size_t unknown) {
    counter_add(&model->source_tokens, source);
    counter_add(&model->target_tokens, target);
    counter_add(&model->unknown_tokens, unknown);
}

void metrics_model_sets_changed(struct metrics *metrics, int64_t difference) {
    gauge_add(&metrics->model_sets, difference);
}

void metrics_reloaded(struct metrics *metrics, bool success) {
    counter_add(&metrics->reloads[success], 1);
}

void metrics_model_loaded(struct metrics *metrics, bool success) {
    counter_add(&metrics->loads[success], 1);
}

void metrics_model_unloaded(struct metrics *metrics) {
    counter_add(&metrics->unloads, 1);
}

void metrics_cache_asked(struct metrics *metrics, struct model_metrics *model, bool hit) {
    counter_add(&metrics->cache[hit], 1);
    counter_add(hit ? &model->hits : &model->misses, 1);
}
