/* This module keeps counters, gauges and histograms, and writes them as Prometheus text. Counting
 * takes a few relaxed atomic additions: it is thread-safe and cheap. */
#ifndef ALIGND_METRICS_H
#define ALIGND_METRICS_H

#include "model/base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct metrics;
struct model_metrics; /* for the models of one name; lives as long as the metrics */

/* While interactive sentences wait, batch sentences get a tenth of the work
 * (server/decode/scheduler.h). */
enum priority { PRIORITY_INTERACTIVE, PRIORITY_BATCH, PRIORITIES };
extern const char *const priority_names[PRIORITIES];
/* Returns -1 if no priority has this name. */
int metrics_find_priority(const char *name, enum priority *priority);

/* Labels of cancelled_total and rejected_total. */
enum metrics_cancelled {
    CANCELLED_CLIENT,
    CANCELLED_DEADLINE,
    CANCELLED_SHUTDOWN,
    CANCELLED_COUNT
};
enum metrics_rejected {
    REJECTED_QUEUE_FULL,
    REJECTED_QUEUE_WORK,
    REJECTED_RATE,
    REJECTED_QUOTA,
    REJECTED_PREPARATION,
    REJECTED_REQUEST_MEMORY,
    REJECTED_REPLY_LENGTH,
    REJECTED_REPLY_MEMORY,
    REJECTED_LOADING,
    REJECTED_MODEL,
    REJECTED_FETCHING,
    REJECTED_DRAINING,
    REJECTED_COUNT
};
/* Events that are counted. Those of one family follow each other, in the order of its labels. */
enum metrics_counter {
    SLOW_REQUEST, /* connections that were cut, by the stage that took too long */
    SLOW_READER,
    SLOW_IDLE,
    SLOW_SILENT,
    RELOAD_FAILED, /* reloads, loads and downloads that have ended */
    RELOAD_DONE,
    LOAD_FAILED,
    LOAD_DONE,
    DOWNLOAD_FAILED,
    DOWNLOAD_DONE,
    MODEL_UNLOADED,
    MODEL_EVICTED,
    METRICS_COUNTERS
};
/* Labels of chore_duration_seconds (server/decode/chores.h). */
enum metrics_chore { CHORE_PREPARATION, CHORE_RENDERING, CHORE_KINDS };

/* endpoints [endpoint_count]: labels, which must outlive the metrics. Returns NULL with
 * ERROR_MEMORY. */
struct metrics *metrics_create(const char *const *endpoints, size_t endpoint_count,
                               struct error *err);
void metrics_free(struct metrics *metrics);
const char *metrics_endpoint(const struct metrics *metrics, size_t index); /* its label */

/* Values that rise and fall. */
enum metrics_gauge {
    GAUGE_REQUESTS_IN_FLIGHT, /* metrics_request_ended subtracts one */
    GAUGE_ROWS_LIVE,
    GAUGE_DECODING_BYTES, /* memory that live sentences may need */
    GAUGE_CHORES_WAITING,
    GAUGE_BODY_BYTES,     /* memory of bodies that are not read yet */
    GAUGE_BODIES_WAITING, /* for room */
    GAUGE_REPLY_BYTES,    /* memory of replies that clients have not read */
    GAUGE_MODEL_SETS,
    GAUGES
};
void metrics_add(struct metrics *metrics, enum metrics_gauge which, int64_t difference);

/* endpoint: index of its label; model: the model that answered, or NULL; status: 0 if the client
 * left without a reply (code "499"). */
void metrics_request_ended(struct metrics *metrics, size_t endpoint, struct model_metrics *model,
                           unsigned status, int64_t duration_us);
void metrics_cancelled(struct metrics *metrics, enum metrics_cancelled reason);
void metrics_rejected(struct metrics *metrics, enum metrics_rejected reason);
void metrics_count(struct metrics *metrics, enum metrics_counter which);

/* Counts an admitted sentence and the time that it waited. */
void metrics_queued(struct metrics *metrics, struct model_metrics *model, enum priority priority,
                    int64_t duration_us);
void metrics_step(struct metrics *metrics, size_t rows, int64_t duration_us);
void metrics_chore(struct metrics *metrics, enum metrics_chore kind, int64_t duration_us);

/* Returns the counters that all models of this name share over time, and makes them in the first
 * call. Returns NULL with ERROR_MEMORY. */
struct model_metrics *metrics_model(struct metrics *metrics, const char *name, struct error *err);
void metrics_tokens(struct model_metrics *model, size_t source, size_t target, size_t unknown);
/* Counts a lookup in the answer cache. */
void metrics_cache_asked(struct metrics *metrics, struct model_metrics *model, bool hit);

/* A model in service; its owner keeps the strings. architecture and compute are NULL if it is not
 * in memory. */
struct metrics_served {
    const char *name, *source, *target, *architecture, *compute, *storage;
    int64_t load_us;
    const struct model_metrics *counters;
};
/* The current values that other modules know. */
struct metrics_state {
    const struct metrics_served *models; /* [model_count] models in service */
    size_t model_count, model_bytes, model_memory,
        cache_bytes; /* model_memory: the limit of model_bytes; 0: no limit */
    size_t queue_depth[PRIORITIES];
    size_t fetching; /* models that are downloaded, or wait for their turn */
};
/* Writes everything. The caller frees text. */
int metrics_write(const struct metrics *metrics, const struct metrics_state *state, char **text,
                  size_t *length, struct error *err);

/* The rate at which work is done while there is work, averaged over the last seconds. It starts
 * zeroed and is not thread-safe. */
struct meter {
    double amount, us;   /* work done, and the time it took; older work has a smaller weight */
    int64_t observed_us; /* 0: there has been no work since the last observation */
};

/* amount: work done since the last observation. more: nonzero if work is left. The first amount
 * after a pause is not counted, because it may have gone to idle threads. */
void meter_observe(struct meter *meter, double amount, size_t more, int64_t now_us);
/* Returns the seconds that this amount takes, or 0 if nothing has been measured. */
double meter_seconds(const struct meter *meter, double amount);

#endif
