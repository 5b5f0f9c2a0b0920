/* Counters, gauges and histograms, written as Prometheus text. Counting is a few relaxed atomic additions: thread-safe and
 * cheap. */
#ifndef ALIGND_METRICS_H
#define ALIGND_METRICS_H

#include "model/base/error.h"
#include "server/base/priority.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct metrics;
struct model_metrics; /* of one name: they stay as long as the metrics */

/* Labels of cancelled_total and rejected_total. */
enum metrics_cancelled { CANCELLED_CLIENT, CANCELLED_DEADLINE, CANCELLED_SHUTDOWN, CANCELLED_COUNT };
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
    REJECTED_DRAINING,
    REJECTED_COUNT
};
/* Of connections_cut_total: what took too long. */
enum metrics_slow { SLOW_REQUEST, SLOW_READER, SLOW_IDLE, SLOW_SILENT, SLOW_COUNT };

/* Of chore_duration_seconds (server/decode/chores.h). */
enum metrics_chore { CHORE_PREPARATION, CHORE_RENDERING, CHORE_KINDS };

/* endpoints [endpoint_count]: labels, which outlive the metrics. */
struct metrics *metrics_create(const char *const *endpoints, size_t endpoint_count, struct error *err);
void metrics_free(struct metrics *metrics);

void metrics_request_began(struct metrics *metrics);
/* endpoint: index in the labels; model: whose it was, NULL: none's; status: 0 where the client left without a reply (code "499").
 */
void metrics_request_ended(struct metrics *metrics, size_t endpoint, struct model_metrics *model, unsigned status,
                           int64_t duration_us);
void metrics_cancelled(struct metrics *metrics, enum metrics_cancelled reason);
void metrics_rejected(struct metrics *metrics, enum metrics_rejected reason);
void metrics_slow(struct metrics *metrics, enum metrics_slow reason);

/* From submitted to admitted, one sentence. */
void metrics_queued(struct metrics *metrics, struct model_metrics *model, enum priority priority, int64_t duration_us);
void metrics_step(struct metrics *metrics, size_t rows, int64_t duration_us);
void metrics_rows_changed(struct metrics *metrics, int64_t difference);
void metrics_decoding_changed(struct metrics *metrics, int64_t bytes);     /* that live sentences may need */
void metrics_chores_changed(struct metrics *metrics, int64_t difference);  /* waiting */
void metrics_replies_changed(struct metrics *metrics, int64_t difference); /* bytes of answers that are not read yet */
void metrics_chore(struct metrics *metrics, enum metrics_chore kind, int64_t duration_us);

/* The counters of the models of this name, one after the other: made by the first call, they stay. NULL with ERROR_MEMORY. */
struct model_metrics *metrics_model(struct metrics *metrics, const char *name, struct error *err);
void metrics_tokens(struct model_metrics *model, size_t source, size_t target, size_t unknown);
/* A load that has ended, one way or the other, and an unload. */
void metrics_model_loaded(struct metrics *metrics, bool success);
void metrics_model_unloaded(struct metrics *metrics);
/* Sets of models in memory, and reloads that have ended. */
void metrics_model_sets_changed(struct metrics *metrics, int64_t difference);
void metrics_reloaded(struct metrics *metrics, bool success);

/* The answer cache was asked. */
void metrics_cache_asked(struct metrics *metrics, struct model_metrics *model, bool hit);

/* A model in service; strings are its owner's. architecture and compute NULL: it is not in memory. */
struct metrics_served {
    const char *name, *source, *target, *architecture, *compute, *storage;
    int64_t load_us;
    const struct model_metrics *counters;
};
/* What others know of the moment. */
struct metrics_state {
    const struct metrics_served *models;                        /* [model_count] in service */
    size_t model_count, model_bytes, model_memory, cache_bytes; /* of those in memory; that they may take, 0: any */
    size_t queue_depth[PRIORITIES];
};
/* Writes everything. text is the caller's to free. */
int metrics_write(const struct metrics *metrics, const struct metrics_state *state, char **text, size_t *length, struct error *err);

#endif
