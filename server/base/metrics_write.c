#include "server/base/log.h"
#include "server/base/metrics_kept.h"
#include "server/base/process.h"
#include <stdio.h>
#include <stdlib.h>

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
static void write_histogram(FILE *out, const char *name, const char *labels, const struct histogram *histogram) {
    const struct scale *scale = histogram->scale;
    const char *comma = *labels ? "," : "", *open = *labels ? "{" : "", *close = *labels ? "}" : "";
    uint64_t total = 0;
    for (size_t i = 0; i < scale->count; i++) {
        total += counter_load(&histogram->buckets[i]);
        fprintf(out, "alignd_%s_bucket{%s%sle=\"%g\"} %llu\n", name, labels, comma, (double)scale->bounds[i] * scale->unit,
                (unsigned long long)total);
    }
    total += counter_load(&histogram->buckets[scale->count]);
    double sum = (double)gauge_load(&histogram->sum) * scale->unit;
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
        write_histogram(out, "request_duration_seconds", label, &metrics->endpoints[i].durations);
    }
}

static void write_counter(FILE *out, const char *name, const char *help, uint64_t value) {
    write_head(out, name, "counter", help);
    fprintf(out, "alignd_%s %llu\n", name, (unsigned long long)value);
}

/* One counter for each of `count` values of the label `key`. */
static void write_counted(FILE *out, const char *name, const char *help, const char *key, const char *const *values, size_t count,
                          const atomic_uint_fast64_t *counters) {
    write_head(out, name, "counter", help);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "alignd_%s{%s=\"%s\"} %llu\n", name, key, values[i], (unsigned long long)counter_load(&counters[i]));
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
    write_counted(out, "sentences_admitted_total", "Sentences taken from the queue to be decoded, by priority.", "priority",
                  priority_names, PRIORITIES, metrics->admitted);
}

static void write_decoding(FILE *out, const struct metrics *metrics) {
    write_head(out, "queue_duration_seconds", "histogram", "Time that a sentence waited in the queue.");
    write_histogram(out, "queue_duration_seconds", "", &metrics->queue);
    write_head(out, "step_duration_seconds", "histogram", "One decoder step for all live rows of a worker.");
    write_histogram(out, "step_duration_seconds", "", &metrics->step);
    write_head(out, "step_rows", "histogram", "Rows in a decoder step.");
    write_histogram(out, "step_rows", "", &metrics->rows);
    write_gauge(out, "requests_in_flight", "Requests not yet answered.", gauge_load(&metrics->requests_in_flight));
    write_gauge(out, "rows_live", "Rows being decoded.", gauge_load(&metrics->rows_live));
    write_gauge(out, "decoding_bytes", "Memory that the sentences being decoded may need until they are done.",
                gauge_load(&metrics->decoding_bytes));
}

static void write_chores(FILE *out, const struct metrics *metrics) {
    static const char *const kinds[CHORE_KINDS] = {"preparation", "rendering"};
    write_gauge(out, "chores_waiting", "Large requests waiting to be read and large replies waiting to be written.",
                gauge_load(&metrics->chores_waiting));
    write_gauge(out, "reply_bytes", "Memory of replies that clients have not read yet.", gauge_load(&metrics->reply_bytes));
    write_head(out, "chore_duration_seconds", "histogram", "Time to read one large request or to write one large reply.");
    for (size_t i = 0; i < CHORE_KINDS; i++) {
        char label[32];
        snprintf(label, sizeof label, "kind=\"%s\"", kinds[i]);
        write_histogram(out, "chore_duration_seconds", label, &metrics->chores[i]);
    }
}

static void write_reasons(FILE *out, const struct metrics *metrics) {
    static const char *const cancelled[CANCELLED_COUNT] = {"client", "deadline", "shutdown"};
    static const char *const rejected[REJECTED_COUNT] = {"queue_full",       "queue_work",     "rate",         "quota",
                                                         "preparation_full", "request_memory", "reply_length", "reply_memory",
                                                         "loading",          "model",          "draining"};
    static const char *const slow[SLOW_COUNT] = {"request", "reader", "idle", "silent"};
    write_counted(out, "cancelled_total", "Accepted requests that were not decoded to the end.", "reason", cancelled,
                  CANCELLED_COUNT, metrics->cancelled);
    write_counted(out, "rejected_total", "Requests that were not accepted.", "reason", rejected, REJECTED_COUNT, metrics->rejected);
    write_counted(out, "connections_cut_total", "Connections closed because their peer took too long.", "reason", slow, SLOW_COUNT,
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
        if (fclose(text) == 0 && label)
            write_histogram(out, name, label, histogram);
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
                gauge_load(&metrics->model_sets));
    write_counted(out, "models_reloads_total", "Completed reloads of the models.", "result", results, 2, metrics->reloads);
    write_counted(out, "model_loads_total", "Models loaded because they were asked for.", "result", results, 2, metrics->loads);
    write_counter(out, "model_unloads_total", "Models unloaded because nobody asked for them or room was needed.",
                  counter_load(&metrics->unloads));
}

static void write_cache(FILE *out, const struct metrics *metrics, size_t bytes) {
    write_counter(out, "cache_hits_total", "Requests answered from the answer cache.", counter_load(&metrics->cache[true]));
    write_counter(out, "cache_misses_total", "Requests that could be cached, but were not found in the answer cache.",
                  counter_load(&metrics->cache[false]));
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
    write_counter(out, "log_lines_dropped_total", "Log lines dropped because stderr was not read in time.", log_lines_dropped());
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
