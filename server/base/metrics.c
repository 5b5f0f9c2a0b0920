/* This file hides how values are kept, and Prometheus's text format. The table `families` has a row
 * for each metric, in the order in which they are written. */
#include "server/base/metrics.h"
#include "server/base/log.h"
#include <assert.h>
#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MAX_BUCKETS = 16 };

/* The unit and bounds of a histogram: whole microseconds, written as seconds, or whole rows. */
struct scale {
    int64_t bounds[MAX_BUCKETS]; /* ascending, inclusive */
    size_t count;
    double unit;
};

static const struct scale request_scale = {{1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000,
                                            500000, 1000000, 2500000, 5000000, 10000000, 30000000},
                                           14,
                                           1e-6};
static const struct scale step_scale = {
    {100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000}, 11, 1e-6};
static const struct scale rows_scale = {{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}, 10, 1};

typedef atomic_uint_fast64_t counter;
typedef atomic_int_fast64_t gauge;

struct histogram {
    const struct scale *scale;
    counter buckets[MAX_BUCKETS + 1]; /* buckets[scale->count] counts values above all bounds */
    gauge sum;
};

static const unsigned statuses[] = {200, 201, 202, 204, 302, 304, 400, 401, 403, 404, 405,
                                    409, 413, 415, 421, 429, 456, 499, 500, 503, 504};
enum { STATUS_COUNT = sizeof statuses / sizeof statuses[0] };

struct endpoint_metrics {
    counter requests[STATUS_COUNT];
    struct histogram durations;
};

struct model_metrics {
    struct model_metrics *next;
    counter source_tokens, target_tokens, unknown_tokens, misses, hits;
    struct histogram durations, queue; /* durations of requests; times that sentences waited */
    char name[];                       /* NUL-terminated */
};

struct metrics {
    const char *const *endpoint_names;
    size_t endpoint_count;
    struct endpoint_metrics *endpoints;
    struct histogram queue, step, rows, chores[CHORE_KINDS];
    gauge gauges[GAUGES];
    counter admitted[PRIORITIES], cancelled[CANCELLED_COUNT], rejected[REJECTED_COUNT],
        counts[METRICS_COUNTERS];
    counter cache_misses, cache_hits;

    pthread_mutex_t lock; /* guards the list */
    struct model_metrics *models;
};

const char *const priority_names[PRIORITIES] = {
    [PRIORITY_INTERACTIVE] = "interactive", [PRIORITY_BATCH] = "batch"};

int metrics_find_priority(const char *name, enum priority *priority) {
    for (int i = 0; i < PRIORITIES; i++)
        if (strcmp(priority_names[i], name) == 0) {
            *priority = (enum priority)i;
            return 0;
        }
    return -1;
}

struct metrics *metrics_create(const char *const *endpoints, size_t endpoint_count,
                               struct error *err) {
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

const char *metrics_endpoint(const struct metrics *metrics, size_t index) {
    return metrics->endpoint_names[index];
}

/* ---- counting ---- */

static void counter_add(counter *to, uint64_t amount) {
    atomic_fetch_add_explicit(to, amount, memory_order_relaxed);
}

static void gauge_add(gauge *to, int64_t difference) {
    atomic_fetch_add_explicit(to, difference, memory_order_relaxed);
}

static void observe(struct histogram *histogram, int64_t value) {
    const struct scale *scale = histogram->scale;
    size_t bucket = 0;
    while (bucket < scale->count && value > scale->bounds[bucket])
        bucket++;
    counter_add(&histogram->buckets[bucket], 1);
    gauge_add(&histogram->sum, value);
}

void metrics_add(struct metrics *metrics, enum metrics_gauge which, int64_t difference) {
    gauge_add(&metrics->gauges[which], difference);
}

void metrics_request_ended(struct metrics *metrics, size_t endpoint, struct model_metrics *model,
                           unsigned status, int64_t duration_us) {
    assert(endpoint < metrics->endpoint_count);
    unsigned code = status == 0 ? 499 : status;
    size_t i = 0;
    while (i < STATUS_COUNT - 1 && statuses[i] != code)
        i++;
    assert(statuses[i] == code);
    metrics_add(metrics, GAUGE_REQUESTS_IN_FLIGHT, -1);
    counter_add(&metrics->endpoints[endpoint].requests[i], 1);
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

void metrics_queued(struct metrics *metrics, struct model_metrics *model, enum priority priority,
                    int64_t duration_us) {
    counter_add(&metrics->admitted[priority], 1);
    observe(&metrics->queue, duration_us);
    observe(&model->queue, duration_us);
}

void metrics_step(struct metrics *metrics, size_t rows, int64_t duration_us) {
    observe(&metrics->step, duration_us);
    observe(&metrics->rows, (int64_t)rows);
}

void metrics_chore(struct metrics *metrics, enum metrics_chore kind, int64_t duration_us) {
    observe(&metrics->chores[kind], duration_us);
}

struct model_metrics *metrics_model(struct metrics *metrics, const char *name, struct error *err) {
    pthread_mutex_lock(&metrics->lock);
    struct model_metrics *model = metrics->models;
    while (model && strcmp(model->name, name) != 0)
        model = model->next;
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

void metrics_count(struct metrics *metrics, enum metrics_counter which) {
    counter_add(&metrics->counts[which], 1);
}

void metrics_cache_asked(struct metrics *metrics, struct model_metrics *model, bool hit) {
    counter_add(hit ? &metrics->cache_hits : &metrics->cache_misses, 1);
    counter_add(hit ? &model->hits : &model->misses, 1);
}

/* ---- samples ---- */

struct label {
    const char *key, *value; /* key NULL: no label */
};

static unsigned long long counter_load(const counter *from) {
    return atomic_load_explicit(from, memory_order_relaxed);
}

static long long gauge_load(const gauge *from) {
    return atomic_load_explicit(from, memory_order_relaxed);
}

static void put_label(FILE *out, struct label label) {
    fprintf(out, "%s=\"", label.key);
    for (const char *c = label.value; *c; c++) {
        if (*c == '\n')
            fputs("\\n", out);
        else
            fprintf(out, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
    }
    putc('"', out);
}

/* Puts the sample's name with its label and, for a bucket, its bound. */
static void put_name(FILE *out, const char *name, const char *suffix, struct label label,
                     const char *bound) {
    fprintf(out, "alignd_%s%s%s", name, suffix, label.key || bound ? "{" : "");
    if (label.key)
        put_label(out, label);
    if (bound)
        fprintf(out, "%sle=\"%s\"", label.key ? "," : "", bound);
    fputs(label.key || bound ? "} " : " ", out);
}

static void put_histogram(FILE *out, const char *name, struct label label,
                          const struct histogram *histogram) {
    const struct scale *scale = histogram->scale;
    unsigned long long total = 0;
    for (size_t i = 0; i <= scale->count; i++) {
        char bound[32] = "+Inf";
        if (i < scale->count)
            snprintf(bound, sizeof bound, "%g", (double)scale->bounds[i] * scale->unit);
        total += counter_load(&histogram->buckets[i]);
        put_name(out, name, "_bucket", label, bound);
        fprintf(out, "%llu\n", total);
    }
    put_name(out, name, "_sum", label, NULL);
    fprintf(out, "%.6f\n", (double)gauge_load(&histogram->sum) * scale->unit);
    put_name(out, name, "_count", label, NULL);
    fprintf(out, "%llu\n", total);
}

static bool is_empty(const struct histogram *histogram) {
    for (size_t i = 0; i <= MAX_BUCKETS; i++)
        if (counter_load(&histogram->buckets[i]) > 0)
            return false;
    return true;
}

/* ---- families ---- */

enum type { COUNTER, GAUGE, HISTOGRAM };

/* Where a family's values are stored. */
enum place {
    IN_METRICS, /* [count] at the offset in struct metrics, one for each label value */
    IN_NOW,     /* [count] size_t at the offset in struct now */
    IN_MODELS,  /* in struct model_metrics, for each model in service; histograms only for models
                   that have been used */
    /* values that are not stored as they are written */
    REQUESTS,
    DURATIONS,
    LOAD_DURATIONS,
    INFO,
    LOADED,
    BUILD
};

/* The current values. */
struct now {
    struct metrics_state state;
    size_t queue_depth, lines_dropped;
};

struct family {
    const char *name;
    enum type type;
    const char *help;
    enum place place;
    size_t offset, count; /* count 0: one value without a label */
    const char *key;      /* label */
    const char *const *values;
};

/* Writes a property of a model in service. All properties except LOADED require that the model is
 * in memory. */
static void write_served(FILE *out, const struct family *family,
                         const struct metrics_served *model) {
    struct label name = {"model", model->name};
    if (!model->architecture && family->place != LOADED)
        return;
    if (family->place == INFO) {
        const struct label labels[] = {name,
                                       {"source", model->source},
                                       {"target", model->target},
                                       {"architecture", model->architecture},
                                       {"compute", model->compute},
                                       {"storage", model->storage}};
        fprintf(out, "alignd_%s", family->name);
        for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
            putc(i == 0 ? '{' : ',', out);
            put_label(out, labels[i]);
        }
        fputs("} 1\n", out);
        return;
    }
    put_name(out, family->name, "", name, NULL);
    if (family->place == LOADED)
        fprintf(out, "%d\n", model->architecture != NULL);
    else
        fprintf(out, "%.6f\n", (double)model->load_us * 1e-6);
}

static const char *const chore_kinds[CHORE_KINDS] = {"preparation", "rendering"};
static const char *const cancel_reasons[CANCELLED_COUNT] = {"client", "deadline", "shutdown"};
static const char *const reject_reasons[REJECTED_COUNT] = {
    "queue_full",   "queue_work",   "rate",    "quota", "preparation_full", "request_memory",
    "reply_length", "reply_memory", "loading", "model", "fetching",         "draining"};
static const char *const slow_reasons[] = {"request", "reader", "idle", "silent"};
static const char *const results[] = {"failure", "success"};

#define ONE(member) IN_METRICS, offsetof(struct metrics, member), 0, NULL, NULL
#define EACH(member, key, values)                                                                  \
    IN_METRICS, offsetof(struct metrics, member), sizeof(values) / sizeof *(values), key, values
#define NOW(member) IN_NOW, offsetof(struct now, member), 0, NULL, NULL
#define EACH_NOW(member, key, values)                                                              \
    IN_NOW, offsetof(struct now, member), sizeof(values) / sizeof *(values), key, values
#define MODELS(member) IN_MODELS, offsetof(struct model_metrics, member), 0, NULL, NULL
#define AS(place)      place, 0, 0, NULL, NULL

static const struct family families[] = {
    {"requests_total", COUNTER, "Requests answered; code 499: the client left first.",
     AS(REQUESTS)},
    {"request_duration_seconds", HISTOGRAM,
     "From the first byte of a request to the last of its reply.", AS(DURATIONS)},
    {"queue_depth", GAUGE, "Sentences waiting.", NOW(queue_depth)},
    {"queue_priority_depth", GAUGE, "Sentences waiting, by priority.",
     EACH_NOW(state.queue_depth, "priority", priority_names)},
    {"sentences_admitted_total", COUNTER,
     "Sentences taken from the queue to be decoded, by priority.",
     EACH(admitted, "priority", priority_names)},
    {"queue_duration_seconds", HISTOGRAM, "Time that a sentence waited in the queue.", ONE(queue)},
    {"step_duration_seconds", HISTOGRAM, "One decoder step for all live rows of a worker.",
     ONE(step)},
    {"step_rows", HISTOGRAM, "Rows in a decoder step.", ONE(rows)},
    {"requests_in_flight", GAUGE, "Requests not yet answered.",
     ONE(gauges[GAUGE_REQUESTS_IN_FLIGHT])},
    {"rows_live", GAUGE, "Rows being decoded.", ONE(gauges[GAUGE_ROWS_LIVE])},
    {"decoding_bytes", GAUGE,
     "Memory that the sentences being decoded may need until they are done.",
     ONE(gauges[GAUGE_DECODING_BYTES])},
    {"chores_waiting", GAUGE,
     "Large requests waiting to be read and large replies waiting to be written.",
     ONE(gauges[GAUGE_CHORES_WAITING])},
    {"body_bytes", GAUGE, "Memory of request bodies that are arriving or wait to be read.",
     ONE(gauges[GAUGE_BODY_BYTES])},
    {"bodies_waiting", GAUGE, "Request bodies that wait for memory.",
     ONE(gauges[GAUGE_BODIES_WAITING])},
    {"reply_bytes", GAUGE, "Memory of replies that clients have not read yet.",
     ONE(gauges[GAUGE_REPLY_BYTES])},
    {"chore_duration_seconds", HISTOGRAM,
     "Time to read one large request or to write one large reply.",
     EACH(chores, "kind", chore_kinds)},
    {"cancelled_total", COUNTER, "Accepted requests that were not decoded to the end.",
     EACH(cancelled, "reason", cancel_reasons)},
    {"rejected_total", COUNTER, "Requests that were not accepted.",
     EACH(rejected, "reason", reject_reasons)},
    {"connections_cut_total", COUNTER, "Connections closed because their peer took too long.",
     EACH(counts[SLOW_REQUEST], "reason", slow_reasons)},
    {"source_tokens_total", COUNTER, "Source tokens decoded.", MODELS(source_tokens)},
    {"target_tokens_total", COUNTER, "Target tokens returned.", MODELS(target_tokens)},
    {"unknown_tokens_total", COUNTER, "Source tokens outside the vocabulary.",
     MODELS(unknown_tokens)},
    {"model_cache_hits_total", COUNTER, "Requests answered from the answer cache.", MODELS(hits)},
    {"model_cache_misses_total", COUNTER,
     "Requests that could be cached, but were not found in the answer cache.", MODELS(misses)},
    {"model_request_duration_seconds", HISTOGRAM,
     "From the first byte of a request for the model to the last of its reply.", MODELS(durations)},
    {"model_queue_duration_seconds", HISTOGRAM,
     "Time that a sentence for the model waited in the queue.", MODELS(queue)},
    {"model_load_duration_seconds", GAUGE, "Time it took to load a model and warm it up.",
     AS(LOAD_DURATIONS)},
    {"model_info", GAUGE, "The models in memory.", AS(INFO)},
    {"model_loaded", GAUGE, "1: the model is in memory; 0: it is loaded on demand.", AS(LOADED)},
    {"models_bytes", GAUGE, "Memory of the models.", NOW(state.model_bytes)},
    {"model_memory_bytes", GAUGE, "Limit on the memory of all models; 0: no limit.",
     NOW(state.model_memory)},
    {"model_sets", GAUGE,
     "Sets of models in memory: in service, being loaded, or still used by older requests.",
     ONE(gauges[GAUGE_MODEL_SETS])},
    {"models_reloads_total", COUNTER, "Completed reloads of the models.",
     EACH(counts[RELOAD_FAILED], "result", results)},
    {"model_loads_total", COUNTER, "Models loaded on demand.",
     EACH(counts[LOAD_FAILED], "result", results)},
    {"model_fetches_total", COUNTER, "Downloads of models that have ended.",
     EACH(counts[DOWNLOAD_FAILED], "result", results)},
    {"model_evictions_total", COUNTER,
     "Models fetched on demand that were deleted to make room for others.",
     ONE(counts[MODEL_EVICTED])},
    {"models_fetching", GAUGE, "Models being downloaded, or waiting for their turn.",
     NOW(state.fetching)},
    {"model_unloads_total", COUNTER, "Models unloaded because they were idle or room was needed.",
     ONE(counts[MODEL_UNLOADED])},
    {"cache_hits_total", COUNTER, "Requests answered from the answer cache.", ONE(cache_hits)},
    {"cache_misses_total", COUNTER,
     "Requests that could be cached, but were not found in the answer cache.", ONE(cache_misses)},
    {"cache_bytes", GAUGE, "Memory of the answer cache.", NOW(state.cache_bytes)},
    {"log_lines_dropped_total", COUNTER, "Log lines dropped because stderr was not read in time.",
     NOW(lines_dropped)},
    {"build_info", GAUGE, "The running version.", AS(BUILD)},
};

/* Writes the i-th value at `values`, read according to the family's type and place. */
static void put_value(FILE *out, const struct family *family, struct label label,
                      const void *values, size_t i) {
    if (family->type == HISTOGRAM) {
        put_histogram(out, family->name, label, (const struct histogram *)values + i);
        return;
    }
    put_name(out, family->name, "", label, NULL);
    if (family->place == IN_NOW)
        fprintf(out, "%zu\n", ((const size_t *)values)[i]);
    else if (family->type == COUNTER)
        fprintf(out, "%llu\n", counter_load((const counter *)values + i));
    else
        fprintf(out, "%lld\n", gauge_load((const gauge *)values + i));
}

static void write_family(FILE *out, const struct family *family, const struct metrics *metrics,
                         const struct now *now) {
    static const char *const types[] = {"counter", "gauge", "histogram"};
    const struct metrics_state *state = &now->state;
    fprintf(out, "# HELP alignd_%s %s\n# TYPE alignd_%s %s\n", family->name, family->help,
            family->name, types[family->type]);
    if (family->place == IN_METRICS || family->place == IN_NOW) {
        const void *values =
            (family->place == IN_NOW ? (const char *)now : (const char *)metrics) + family->offset;
        if (family->count == 0)
            put_value(out, family, (struct label){NULL, NULL}, values, 0);
        for (size_t i = 0; i < family->count; i++)
            put_value(out, family, (struct label){family->key, family->values[i]}, values, i);
    } else if (family->place == DURATIONS) {
        for (size_t i = 0; i < metrics->endpoint_count; i++)
            put_histogram(out, family->name, (struct label){"endpoint", metrics->endpoint_names[i]},
                          &metrics->endpoints[i].durations);
    } else if (family->place == REQUESTS) {
        for (size_t i = 0; i < metrics->endpoint_count * STATUS_COUNT; i++) {
            size_t endpoint = i / STATUS_COUNT, status = i % STATUS_COUNT;
            unsigned long long count = counter_load(&metrics->endpoints[endpoint].requests[status]);
            if (count > 0)
                fprintf(out, "alignd_%s{endpoint=\"%s\",code=\"%u\"} %llu\n", family->name,
                        metrics->endpoint_names[endpoint], statuses[status], count);
        }
    } else if (family->place == BUILD) {
        fprintf(out, "alignd_%s{version=\"%s\"} 1\n", family->name, ALIGND_VERSION);
    } else {
        for (size_t i = 0; i < state->model_count; i++) {
            const void *value = (const char *)state->models[i].counters + family->offset;
            if (family->place != IN_MODELS)
                write_served(out, family, &state->models[i]);
            else if (family->type != HISTOGRAM || !is_empty(value))
                put_value(out, family, (struct label){"model", state->models[i].name}, value, 0);
        }
    }
}

/* ---- the process ---- */

static void write_of_process(FILE *out, const char *name, const char *type, const char *help,
                             double value) {
    fprintf(out, "# HELP process_%s %s\n# TYPE process_%s %s\nprocess_%s %.15g\n", name, help, name,
            type, name, value);
}

static double seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Writes Prometheus's standard process_* metrics, most of them from /proc. Values that cannot be
 * read are omitted. */
static void write_process(FILE *out) {
    write_of_process(out, "cpu_seconds_total", "counter", "User and system CPU time.",
                     seconds(CLOCK_PROCESS_CPUTIME_ID));
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long virtual_pages, resident_pages;
    if (file && fscanf(file, "%lu %lu", &virtual_pages, &resident_pages) == 2) {
        double page = (double)sysconf(_SC_PAGESIZE);
        write_of_process(out, "virtual_memory_bytes", "gauge", "Virtual memory size.",
                         (double)virtual_pages * page);
        write_of_process(out, "resident_memory_bytes", "gauge", "Resident memory size.",
                         (double)resident_pages * page);
    }
    if (file)
        fclose(file);
    DIR *folder = opendir("/proc/self/fd");
    if (folder) {
        double count = -1; /* the folder itself is open, too */
        for (struct dirent *entry; (entry = readdir(folder));)
            count += entry->d_name[0] != '.';
        closedir(folder);
        write_of_process(out, "open_fds", "gauge", "Open file descriptors.", count);
    }
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        write_of_process(out, "max_fds", "gauge", "Maximum number of open file descriptors.",
                         (double)limit.rlim_cur);

    /* Field 22 of /proc/self/stat is the time from boot to the start of this process, in ticks. The
     * second field is in parentheses and may contain spaces. */
    char line[1024];
    file = fopen("/proc/self/stat", "re");
    line[file ? fread(line, 1, sizeof line - 1, file) : 0] = '\0';
    if (file)
        fclose(file);
    const char *at = strrchr(line, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    unsigned long long ticks;
    if (at && sscanf(at, "%llu", &ticks) == 1)
        write_of_process(out, "start_time_seconds", "gauge",
                         "Start of the process since the Unix epoch.",
                         seconds(CLOCK_REALTIME) - seconds(CLOCK_BOOTTIME) +
                             (double)ticks / (double)sysconf(_SC_CLK_TCK));
}

int metrics_write(const struct metrics *metrics, const struct metrics_state *state, char **text,
                  size_t *length, struct error *err) {
    char *buffer = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&buffer, &size);
    if (!out)
        return error_memory(err);
    struct now now = {.state = *state, .lines_dropped = (size_t)log_lines_dropped()};
    for (size_t i = 0; i < PRIORITIES; i++)
        now.queue_depth += state->queue_depth[i];
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        write_family(out, &families[i], metrics, &now);
    write_process(out);
    bool written = !ferror(out);
    if (fclose(out) != 0 || !written || !buffer) {
        free(buffer);
        return error_memory(err);
    }
    *text = buffer;
    *length = size;
    return 0;
}

/* ---- meter ---- */

static const double MEMORY_US = 10e6; /* after this time an observation counts 1/e */

void meter_observe(struct meter *meter, double amount, size_t more, int64_t now_us) {
    if (meter->observed_us != 0) {
        double us = (double)(now_us - meter->observed_us), keep = exp(-us / MEMORY_US);
        meter->amount = keep * meter->amount + amount;
        meter->us = keep * meter->us + us;
    }
    meter->observed_us = more > 0 ? now_us : 0;
}

double meter_seconds(const struct meter *meter, double amount) {
    return meter->amount > 0 ? amount * meter->us / meter->amount * 1e-6 : 0;
}
