#include "server/metrics.h"
#include "server/process.h"
#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BUCKETS = 16 };

/* What a histogram measures: whole microseconds, written as seconds, or whole rows. */
struct scale {
    const int64_t bounds[MAX_BUCKETS]; /* rising, inclusive */
    size_t count;
    double unit;
};

static const struct scale request_scale = {
    {1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000, 30000000}, 14, 1e-6};
static const struct scale step_scale = {{100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000}, 11, 1e-6};
static const struct scale rows_scale = {{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}, 10, 1};

struct histogram {
    atomic_uint_fast64_t buckets[MAX_BUCKETS + 1]; /* the last: beyond all bounds */
    atomic_int_fast64_t sum;
};

static const unsigned statuses[] = {200, 204, 302, 304, 400, 401, 403, 404, 405, 413, 415, 429, 499, 500, 503, 504};
enum { STATUS_COUNT = sizeof statuses / sizeof statuses[0] };

struct endpoint_metrics {
    atomic_uint_fast64_t requests[STATUS_COUNT];
    struct histogram durations;
};

struct model_metrics {
    atomic_bool loaded; /* set last: the three fields below are constant then */
    char *name, *labels;
    int64_t load_us;
    atomic_uint_fast64_t source_tokens, target_tokens, unknown_tokens;
};

struct metrics {
    const char *const *endpoint_names;
    size_t endpoint_count, model_count;
    struct endpoint_metrics *endpoints;
    struct model_metrics *models;
    struct histogram queue, step, rows;
    atomic_int_fast64_t requests_in_flight, rows_live;
    atomic_uint_fast64_t cancelled[CANCELLED_COUNT], rejected[REJECTED_COUNT];
};

struct metrics *metrics_create(const char *const *endpoints, size_t endpoint_count, size_t models, struct error *err) {
    struct metrics *metrics = calloc(1, sizeof *metrics);
    if (metrics) {
        metrics->endpoint_names = endpoints;
        metrics->endpoint_count = endpoint_count;
        metrics->model_count = models;
        metrics->endpoints = calloc(endpoint_count, sizeof *metrics->endpoints);
        metrics->models = calloc(models, sizeof *metrics->models);
    }
    if (!metrics || !metrics->endpoints || !metrics->models) {
        metrics_free(metrics);
        error_memory(err);
        return NULL;
    }
    return metrics;
}

void metrics_free(struct metrics *metrics) {
    if (!metrics)
        return;
    for (size_t i = 0; metrics->models && i < metrics->model_count; i++) {
        free(metrics->models[i].name);
        free(metrics->models[i].labels);
    }
    free(metrics->models);
    free(metrics->endpoints);
    free(metrics);
}

static void add(atomic_uint_fast64_t *counter, uint64_t amount) {
    atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

static uint64_t load(const atomic_uint_fast64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void observe(struct histogram *histogram, const struct scale *scale, int64_t value) {
    size_t bucket = 0;
    while (bucket < scale->count && value > scale->bounds[bucket])
        bucket++;
    add(&histogram->buckets[bucket], 1);
    atomic_fetch_add_explicit(&histogram->sum, value, memory_order_relaxed);
}

static size_t status_index(unsigned status) {
    size_t i = 0;
    while (i < STATUS_COUNT - 1 && statuses[i] != status)
        i++;
    assert(statuses[i] == status);
    return i;
}

void metrics_request_began(struct metrics *metrics) {
    atomic_fetch_add_explicit(&metrics->requests_in_flight, 1, memory_order_relaxed);
}

void metrics_request_ended(struct metrics *metrics, size_t endpoint, unsigned status, int64_t duration_us) {
    assert(endpoint < metrics->endpoint_count);
    atomic_fetch_sub_explicit(&metrics->requests_in_flight, 1, memory_order_relaxed);
    add(&metrics->endpoints[endpoint].requests[status_index(status == 0 ? 499 : status)], 1);
    observe(&metrics->endpoints[endpoint].durations, &request_scale, duration_us);
}

void metrics_cancelled(struct metrics *metrics, enum metrics_cancelled reason) {
    add(&metrics->cancelled[reason], 1);
}

void metrics_rejected(struct metrics *metrics, enum metrics_rejected reason) {
    add(&metrics->rejected[reason], 1);
}

void metrics_queued(struct metrics *metrics, int64_t duration_us) {
    observe(&metrics->queue, &request_scale, duration_us);
}

void metrics_step(struct metrics *metrics, size_t rows, int64_t duration_us) {
    observe(&metrics->step, &step_scale, duration_us);
    observe(&metrics->rows, &rows_scale, (int64_t)rows);
}

void metrics_rows_changed(struct metrics *metrics, int64_t difference) {
    atomic_fetch_add_explicit(&metrics->rows_live, difference, memory_order_relaxed);
}

void metrics_tokens(struct metrics *metrics, size_t model, size_t source, size_t target, size_t unknown) {
    add(&metrics->models[model].source_tokens, source);
    add(&metrics->models[model].target_tokens, target);
    add(&metrics->models[model].unknown_tokens, unknown);
}

int metrics_model_loaded(struct metrics *metrics, size_t model, const char *name, const char *labels, int64_t duration_us,
                         struct error *err) {
    struct model_metrics *entry = &metrics->models[model];
    assert(model < metrics->model_count && !atomic_load(&entry->loaded));
    entry->name = strdup(name);
    entry->labels = strdup(labels);
    entry->load_us = duration_us;
    if (!entry->name || !entry->labels)
        return error_memory(err);
    atomic_store_explicit(&entry->loaded, true, memory_order_release);
    return 0;
}

static void write_head(FILE *out, const char *name, const char *type, const char *help) {
    fprintf(out, "# HELP alignd_%s %s\n# TYPE alignd_%s %s\n", name, help, name, type);
}

/* labels: "" or `key="value"`. */
static void write_histogram(FILE *out, const char *name, const char *labels, const struct histogram *histogram,
                            const struct scale *scale) {
    const char *comma = *labels ? "," : "", *open = *labels ? "{" : "", *close = *labels ? "}" : "";
    uint64_t total = 0;
    for (size_t i = 0; i < scale->count; i++) {
        total += load(&histogram->buckets[i]);
        fprintf(out, "alignd_%s_bucket{%s%sle=\"%g\"} %llu\n", name, labels, comma, (double)scale->bounds[i] * scale->unit,
                (unsigned long long)total);
    }
    total += load(&histogram->buckets[scale->count]);
    double sum = (double)atomic_load_explicit(&histogram->sum, memory_order_relaxed) * scale->unit;
    fprintf(out, "alignd_%s_bucket{%s%sle=\"+Inf\"} %llu\n", name, labels, comma, (unsigned long long)total);
    fprintf(out, "alignd_%s_sum%s%s%s %.6f\n", name, open, labels, close, sum);
    fprintf(out, "alignd_%s_count%s%s%s %llu\n", name, open, labels, close, (unsigned long long)total);
}

static void write_requests(FILE *out, const struct metrics *metrics) {
    write_head(out, "requests_total", "counter", "Requests answered; code 499: the client left first.");
    for (size_t i = 0; i < metrics->endpoint_count; i++) {
        for (size_t j = 0; j < STATUS_COUNT; j++) {
            uint64_t count = load(&metrics->endpoints[i].requests[j]);
            if (count > 0)
                fprintf(out, "alignd_requests_total{endpoint=\"%s\",code=\"%u\"} %llu\n", metrics->endpoint_names[i], statuses[j],
                        (unsigned long long)count);
        }
    }
    write_head(out, "request_duration_seconds", "histogram", "From the first byte of a request to the last of its reply.");
    for (size_t i = 0; i < metrics->endpoint_count; i++) {
        char label[64];
        snprintf(label, sizeof label, "endpoint=\"%s\"", metrics->endpoint_names[i]);
        write_histogram(out, "request_duration_seconds", label, &metrics->endpoints[i].durations, &request_scale);
    }
}

static void write_gauge(FILE *out, const char *name, const char *help, int64_t value) {
    write_head(out, name, "gauge", help);
    fprintf(out, "alignd_%s %lld\n", name, (long long)value);
}

static void write_decoding(FILE *out, const struct metrics *metrics, size_t queue_depth) {
    write_head(out, "queue_duration_seconds", "histogram", "Time a sentence waited to be admitted.");
    write_histogram(out, "queue_duration_seconds", "", &metrics->queue, &request_scale);
    write_head(out, "step_duration_seconds", "histogram", "One decoder step for all live rows of a worker.");
    write_histogram(out, "step_duration_seconds", "", &metrics->step, &step_scale);
    write_head(out, "step_rows", "histogram", "Rows in a decoder step.");
    write_histogram(out, "step_rows", "", &metrics->rows, &rows_scale);
    write_gauge(out, "queue_depth", "Sentences waiting.", (int64_t)queue_depth);
    write_gauge(out, "requests_in_flight", "Requests not yet answered.",
                atomic_load_explicit(&metrics->requests_in_flight, memory_order_relaxed));
    write_gauge(out, "rows_live", "Rows being decoded.", atomic_load_explicit(&metrics->rows_live, memory_order_relaxed));
}

static void write_reasons(FILE *out, const struct metrics *metrics) {
    static const char *const cancelled[CANCELLED_COUNT] = {"client", "deadline", "shutdown"};
    static const char *const rejected[REJECTED_COUNT] = {"queue_full", "loading", "draining"};
    write_head(out, "cancelled_total", "counter", "Accepted requests that were not decoded to the end.");
    for (size_t i = 0; i < CANCELLED_COUNT; i++)
        fprintf(out, "alignd_cancelled_total{reason=\"%s\"} %llu\n", cancelled[i],
                (unsigned long long)load(&metrics->cancelled[i]));
    write_head(out, "rejected_total", "counter", "Requests that were not accepted.");
    for (size_t i = 0; i < REJECTED_COUNT; i++)
        fprintf(out, "alignd_rejected_total{reason=\"%s\"} %llu\n", rejected[i], (unsigned long long)load(&metrics->rejected[i]));
}

static bool loaded(const struct model_metrics *model) {
    return atomic_load_explicit(&model->loaded, memory_order_acquire);
}

static void write_tokens(FILE *out, const struct metrics *metrics, const char *name, const char *help, size_t offset) {
    write_head(out, name, "counter", help);
    for (size_t i = 0; i < metrics->model_count; i++) {
        const struct model_metrics *model = &metrics->models[i];
        if (!loaded(model))
            continue;
        const atomic_uint_fast64_t *counter = (const void *)((const char *)model + offset);
        fprintf(out, "alignd_%s{model=\"%s\"} %llu\n", name, model->name, (unsigned long long)load(counter));
    }
}

static void write_models(FILE *out, const struct metrics *metrics) {
    write_tokens(out, metrics, "source_tokens_total", "Source tokens decoded.", offsetof(struct model_metrics, source_tokens));
    write_tokens(out, metrics, "target_tokens_total", "Target tokens given out.", offsetof(struct model_metrics, target_tokens));
    write_tokens(out, metrics, "unknown_tokens_total", "Source tokens outside the vocabulary.",
                 offsetof(struct model_metrics, unknown_tokens));
    write_head(out, "model_load_duration_seconds", "gauge", "Time it took to load a model and warm it up.");
    for (size_t i = 0; i < metrics->model_count; i++) {
        if (loaded(&metrics->models[i]))
            fprintf(out, "alignd_model_load_duration_seconds{model=\"%s\"} %.6f\n", metrics->models[i].name,
                    (double)metrics->models[i].load_us * 1e-6);
    }
    write_head(out, "model_info", "gauge", "The loaded models.");
    for (size_t i = 0; i < metrics->model_count; i++) {
        if (loaded(&metrics->models[i]))
            fprintf(out, "alignd_model_info{%s} 1\n", metrics->models[i].labels);
    }
}

int metrics_write(const struct metrics *metrics, size_t queue_depth, char **text, size_t *length, struct error *err) {
    char *buffer = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&buffer, &size);
    if (!out)
        return error_memory(err);
    write_requests(out, metrics);
    write_decoding(out, metrics, queue_depth);
    write_reasons(out, metrics);
    write_models(out, metrics);
    write_head(out, "build_info", "gauge", "The running version.");
    fprintf(out, "alignd_build_info{version=\"%s\"} 1\n", ALIGND_VERSION);
    process_write_metrics(out);
    bool written = !ferror(out);
    if (fclose(out) != 0 || !written || !buffer) {
        free(buffer);
        return error_memory(err);
    }
    *text = buffer;
    *length = size;
    return 0;
}
