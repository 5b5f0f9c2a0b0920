#include "server/base/metrics.h"
#include "server/base/log.h"
#include "server/base/process.h"
#include <assert.h>
#include <pthread.h>
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

static uint64_t counter_load(const atomic_uint_fast64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void observe(struct histogram *histogram, const struct scale *scale, int64_t value) {
    size_t bucket = 0;
    while (bucket < scale->count && value > scale->bounds[bucket])
        bucket++;
    counter_add(&histogram->buckets[bucket], 1);
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

void metrics_request_ended(struct metrics *metrics, size_t endpoint, struct model_metrics *model, unsigned status,
                           int64_t duration_us) {
    assert(endpoint < metrics->endpoint_count);
    atomic_fetch_sub_explicit(&metrics->requests_in_flight, 1, memory_order_relaxed);
    counter_add(&metrics->endpoints[endpoint].requests[status_index(status == 0 ? 499 : status)], 1);
    observe(&metrics->endpoints[endpoint].durations, &request_scale, duration_us);
    if (model)
        observe(&model->durations, &request_scale, duration_us);
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
    observe(&metrics->queue, &request_scale, duration_us);
    observe(&model->queue, &request_scale, duration_us);
}

void metrics_step(struct metrics *metrics, size_t rows, int64_t duration_us) {
    observe(&metrics->step, &step_scale, duration_us);
    observe(&metrics->rows, &rows_scale, (int64_t)rows);
}

void metrics_rows_changed(struct metrics *metrics, int64_t difference) {
    atomic_fetch_add_explicit(&metrics->rows_live, difference, memory_order_relaxed);
}

void metrics_decoding_changed(struct metrics *metrics, int64_t bytes) {
    atomic_fetch_add_explicit(&metrics->decoding_bytes, bytes, memory_order_relaxed);
}

void metrics_chores_changed(struct metrics *metrics, int64_t difference) {
    atomic_fetch_add_explicit(&metrics->chores_waiting, difference, memory_order_relaxed);
}

void metrics_replies_changed(struct metrics *metrics, int64_t difference) {
    atomic_fetch_add_explicit(&metrics->reply_bytes, difference, memory_order_relaxed);
}

void metrics_chore(struct metrics *metrics, enum metrics_chore kind, int64_t duration_us) {
    observe(&metrics->chores[kind], &request_scale, duration_us);
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
    atomic_fetch_add_explicit(&metrics->model_sets, difference, memory_order_relaxed);
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

static bool is_empty(const struct histogram *histogram) {
    for (size_t i = 0; i <= MAX_BUCKETS; i++)
        if (counter_load(&histogram->buckets[i]) > 0)
            return false;
    return true;
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
        total += counter_load(&histogram->buckets[i]);
        fprintf(out, "alignd_%s_bucket{%s%sle=\"%g\"} %llu\n", name, labels, comma, (double)scale->bounds[i] * scale->unit,
                (unsigned long long)total);
    }
    total += counter_load(&histogram->buckets[scale->count]);
    double sum = (double)atomic_load_explicit(&histogram->sum, memory_order_relaxed) * scale->unit;
    fprintf(out, "alignd_%s_bucket{%s%sle=\"+Inf\"} %llu\n", name, labels, comma, (unsigned long long)total);
    fprintf(out, "alignd_%s_sum%s%s%s %.6f\n", name, open, labels, close, sum);
    fprintf(out, "alignd_%s_count%s%s%s %llu\n", name, open, labels, close, (unsigned long long)total);
}

static void write_requests(FILE *out, const struct metrics *metrics) {
    write_head(out, "requests_total", "counter", "Requests answered; code 499: the client left first.");
    for (size_t i = 0; i < metrics->endpoint_count; i++) {
        for (size_t j = 0; j < STATUS_COUNT; j++) {
            uint64_t count = counter_load(&metrics->endpoints[i].requests[j]);
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

/* depth [PRIORITIES] */
static void write_queue(FILE *out, const struct metrics *metrics, const size_t *depth) {
    size_t all = 0;
    for (size_t i = 0; i < PRIORITIES; i++)
        all += depth[i];
    write_gauge(out, "queue_depth", "Sentences waiting.", (int64_t)all);
    write_head(out, "queue_priority_depth", "gauge", "Sentences waiting, by priority.");
    for (size_t i = 0; i < PRIORITIES; i++)
        fprintf(out, "alignd_queue_priority_depth{priority=\"%s\"} %zu\n", priority_names[i], depth[i]);
    write_head(out, "sentences_admitted_total", "counter", "Sentences taken from the queue to be decoded, by priority.");
    for (size_t i = 0; i < PRIORITIES; i++)
        fprintf(out, "alignd_sentences_admitted_total{priority=\"%s\"} %llu\n", priority_names[i],
                (unsigned long long)counter_load(&metrics->admitted[i]));
}

static void write_decoding(FILE *out, const struct metrics *metrics) {
    write_head(out, "queue_duration_seconds", "histogram", "Time that a sentence waited in the queue.");
    write_histogram(out, "queue_duration_seconds", "", &metrics->queue, &request_scale);
    write_head(out, "step_duration_seconds", "histogram", "One decoder step for all live rows of a worker.");
    write_histogram(out, "step_duration_seconds", "", &metrics->step, &step_scale);
    write_head(out, "step_rows", "histogram", "Rows in a decoder step.");
    write_histogram(out, "step_rows", "", &metrics->rows, &rows_scale);
    write_gauge(out, "requests_in_flight", "Requests not yet answered.",
                atomic_load_explicit(&metrics->requests_in_flight, memory_order_relaxed));
    write_gauge(out, "rows_live", "Rows being decoded.", atomic_load_explicit(&metrics->rows_live, memory_order_relaxed));
    write_gauge(out, "decoding_bytes", "Memory that the sentences being decoded may need until they are done.",
                atomic_load_explicit(&metrics->decoding_bytes, memory_order_relaxed));
}

static void write_chores(FILE *out, const struct metrics *metrics) {
    static const char *const kinds[CHORE_KINDS] = {"preparation", "rendering"};
    write_gauge(out, "chores_waiting", "Large requests waiting to be read and large replies waiting to be written.",
                atomic_load_explicit(&metrics->chores_waiting, memory_order_relaxed));
    write_gauge(out, "reply_bytes", "Memory of replies that clients have not read yet.",
                atomic_load_explicit(&metrics->reply_bytes, memory_order_relaxed));
    write_head(out, "chore_duration_seconds", "histogram", "Time to read one large request or to write one large reply.");
    for (size_t i = 0; i < CHORE_KINDS; i++) {
        char label[32];
        snprintf(label, sizeof label, "kind=\"%s\"", kinds[i]);
        write_histogram(out, "chore_duration_seconds", label, &metrics->chores[i], &request_scale);
    }
}

static void write_reasons_of(FILE *out, const char *name, const char *help, const char *const *reasons, size_t count,
                             const atomic_uint_fast64_t *counters) {
    write_head(out, name, "counter", help);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "alignd_%s{reason=\"%s\"} %llu\n", name, reasons[i], (unsigned long long)counter_load(&counters[i]));
}

static void write_reasons(FILE *out, const struct metrics *metrics) {
    static const char *const cancelled[CANCELLED_COUNT] = {"client", "deadline", "shutdown"};
    static const char *const rejected[REJECTED_COUNT] = {"queue_full",       "queue_work",     "rate",         "quota",
                                                         "preparation_full", "request_memory", "reply_length", "reply_memory",
                                                         "loading",          "model",          "draining"};
    static const char *const slow[SLOW_COUNT] = {"request", "reader", "idle", "silent"};
    write_reasons_of(out, "cancelled_total", "Accepted requests that were not decoded to the end.", cancelled, CANCELLED_COUNT,
                     metrics->cancelled);
    write_reasons_of(out, "rejected_total", "Requests that were not accepted.", rejected, REJECTED_COUNT, metrics->rejected);
    write_reasons_of(out, "connections_cut_total", "Connections closed because their peer took too long.", slow, SLOW_COUNT,
                     metrics->slow);
}

/* `key="value"`, escaped as Prometheus asks. */
static void write_label(FILE *out, const char *key, const char *value) {
    fprintf(out, "%s=\"", key);
    for (; *value; value++) {
        if (*value == '\n')
            fputs("\\n", out);
        else
            fprintf(out, "%s%c", *value == '"' || *value == '\\' ? "\\" : "", *value);
    }
    fputc('"', out);
}

/* The beginning of a sample: `alignd_NAME{model="..."`. */
static void write_model(FILE *out, const char *name, const struct metrics_served *model) {
    fprintf(out, "alignd_%s{", name);
    write_label(out, "model", model->name);
}

static void write_counters(FILE *out, const struct metrics_state *state, const char *name, const char *help, size_t offset) {
    write_head(out, name, "counter", help);
    for (size_t i = 0; i < state->model_count; i++) {
        const atomic_uint_fast64_t *counter = (const void *)((const char *)state->models[i].counters + offset);
        write_model(out, name, &state->models[i]);
        fprintf(out, "} %llu\n", (unsigned long long)counter_load(counter));
    }
}

/* Of models that were asked for: there may be many more. offset: of the histogram in struct model_metrics. */
static void write_durations(FILE *out, const struct metrics_state *state, const char *name, const char *help, size_t offset) {
    write_head(out, name, "histogram", help);
    for (size_t i = 0; i < state->model_count; i++) {
        const struct metrics_served *model = &state->models[i];
        const struct histogram *histogram = (const void *)((const char *)model->counters + offset);
        if (is_empty(histogram))
            continue;
        char *label = NULL;
        size_t length = 0;
        FILE *text = open_memstream(&label, &length);
        if (!text)
            continue;
        write_label(text, "model", model->name);
        if (fclose(text) == 0)
            write_histogram(out, name, label, histogram, &request_scale);
        free(label);
    }
}

static void write_model_info(FILE *out, const struct metrics_served *model) {
    const struct {
        const char *key, *value;
    } labels[] = {{"source", model->source},
                  {"target", model->target},
                  {"architecture", model->architecture},
                  {"compute", model->compute},
                  {"storage", model->storage}};
    write_model(out, "model_info", model);
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        fputc(',', out);
        write_label(out, labels[i].key, labels[i].value);
    }
    fputs("} 1\n", out);
}

static void write_models(FILE *out, const struct metrics_state *state) {
    write_counters(out, state, "source_tokens_total", "Source tokens decoded.", offsetof(struct model_metrics, source_tokens));
    write_counters(out, state, "target_tokens_total", "Target tokens returned.", offsetof(struct model_metrics, target_tokens));
    write_counters(out, state, "unknown_tokens_total", "Source tokens outside the vocabulary.",
                   offsetof(struct model_metrics, unknown_tokens));
    write_counters(out, state, "model_cache_hits_total", "Requests answered from the answer cache.",
                   offsetof(struct model_metrics, hits));
    write_counters(out, state, "model_cache_misses_total", "Requests that could be cached, but were not found in the answer cache.",
                   offsetof(struct model_metrics, misses));
    write_durations(out, state, "model_request_duration_seconds",
                    "From the first byte of a request for the model to the last of its reply.",
                    offsetof(struct model_metrics, durations));
    write_durations(out, state, "model_queue_duration_seconds", "Time that a sentence for the model waited in the queue.",
                    offsetof(struct model_metrics, queue));
    write_head(out, "model_load_duration_seconds", "gauge", "Time it took to load a model and warm it up.");
    for (size_t i = 0; i < state->model_count; i++) {
        if (!state->models[i].architecture)
            continue;
        write_model(out, "model_load_duration_seconds", &state->models[i]);
        fprintf(out, "} %.6f\n", (double)state->models[i].load_us * 1e-6);
    }
    write_head(out, "model_info", "gauge", "The models in memory.");
    for (size_t i = 0; i < state->model_count; i++) {
        if (state->models[i].architecture)
            write_model_info(out, &state->models[i]);
    }
    write_head(out, "model_loaded", "gauge", "1: the model is in memory; 0: it is loaded when it is asked for.");
    for (size_t i = 0; i < state->model_count; i++) {
        write_model(out, "model_loaded", &state->models[i]);
        fprintf(out, "} %d\n", state->models[i].architecture != NULL);
    }
    write_gauge(out, "models_bytes", "Memory of the models.", (int64_t)state->model_bytes);
    write_gauge(out, "model_memory_bytes", "What they may take together; 0: no limit.", (int64_t)state->model_memory);
}

static void write_reloads(FILE *out, const struct metrics *metrics) {
    static const char *const results[] = {"failure", "success"};
    write_gauge(out, "model_sets", "Sets of models in memory: in service, being loaded, or still used by older requests.",
                atomic_load_explicit(&metrics->model_sets, memory_order_relaxed));
    write_head(out, "models_reloads_total", "counter", "Completed reloads of the models.");
    for (size_t i = 0; i < 2; i++)
        fprintf(out, "alignd_models_reloads_total{result=\"%s\"} %llu\n", results[i],
                (unsigned long long)counter_load(&metrics->reloads[i]));
    write_head(out, "model_loads_total", "counter", "Models loaded because they were asked for.");
    for (size_t i = 0; i < 2; i++)
        fprintf(out, "alignd_model_loads_total{result=\"%s\"} %llu\n", results[i],
                (unsigned long long)counter_load(&metrics->loads[i]));
    write_head(out, "model_unloads_total", "counter", "Models unloaded because nobody asked for them or room was needed.");
    fprintf(out, "alignd_model_unloads_total %llu\n", (unsigned long long)counter_load(&metrics->unloads));
}

static void write_cache(FILE *out, const struct metrics *metrics, size_t bytes) {
    write_head(out, "cache_hits_total", "counter", "Requests answered from the answer cache.");
    fprintf(out, "alignd_cache_hits_total %llu\n", (unsigned long long)counter_load(&metrics->cache[true]));
    write_head(out, "cache_misses_total", "counter", "Requests that could be cached, but were not found in the answer cache.");
    fprintf(out, "alignd_cache_misses_total %llu\n", (unsigned long long)counter_load(&metrics->cache[false]));
    write_gauge(out, "cache_bytes", "Memory of the answer cache.", (int64_t)bytes);
}

int metrics_write(const struct metrics *metrics, const struct metrics_state *state, char **text, size_t *length,
                  struct error *err) {
    char *buffer = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&buffer, &size);
    if (!out)
        return error_memory(err);
    write_requests(out, metrics);
    write_queue(out, metrics, state->queue_depth);
    write_decoding(out, metrics);
    write_chores(out, metrics);
    write_reasons(out, metrics);
    write_models(out, state);
    write_reloads(out, metrics);
    write_cache(out, metrics, state->cache_bytes);
    write_head(out, "log_lines_dropped_total", "counter", "Log lines dropped because stderr was not read in time.");
    fprintf(out, "alignd_log_lines_dropped_total %llu\n", (unsigned long long)log_lines_dropped());
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
