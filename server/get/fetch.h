/* Models that the daemon downloads while it serves: because a request asks for a pair of languages that no model is for (--fetch),
 * or because an administrator orders it. This module hides when what is downloaded, and who waits for it.
 *
 * Under a limit on the bytes of the folder, models that were fetched on demand are evicted for those that are fetched later.
 *
 * One thread downloads one model after the other, at a low priority; another ends the waits of those whose time is over. A pair
 * that the sources do not have, or whose download failed, is not tried again for a while. Thread-safe; nothing here waits for the
 * network on the caller's thread. */
#ifndef ALIGND_FETCH_H
#define ALIGND_FETCH_H

#include "model/base/error.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fetcher;
struct metrics;

enum { FETCH_ASKED_BYTES = 160, FETCH_MOST_VIEWS = 64, FETCH_MOST_SOURCES = 2 };

struct fetcher_options {
    const char *into;    /* folder of the model folders */
    const char *sources; /* on demand: "mozilla", "opus" or both, separated by ','; NULL: nothing is fetched on demand */
    const char *pairs;   /* globs of the pairs that are fetched on demand, separated by ','; NULL: all */
    uint64_t most_bytes; /* that all models in the folder may take; 0: no limit. The least recently used ones of those that were
                          * fetched on demand are evicted for another; others stay */
    const char *mirror, *records;
    size_t retries, stall_s;
    bool offline;
    struct metrics *metrics;
    /* Called on the thread that downloads, with the new model folder: puts it into service. -1 with an error. */
    int (*add)(void *owner, const char *folder, struct error *err);
    /* As catalog_used_us and catalog_evict; called on the same thread. */
    int64_t (*used_us)(void *owner, const char *folder);
    int (*evict)(void *owner, const char *folder, struct error *err);
    void *owner;
};

/* True if the list of sources is right. -1 with ERROR_INPUT. */
int fetch_check_sources(const char *sources, struct error *err);

/* Its strings must outlive it. Starts its threads when they are first needed. NULL when memory is out. */
struct fetcher *fetcher_create(const struct fetcher_options *options);
/* The download that runs ends, and so do all waits. No call may follow but fetcher_free. NULL is allowed. */
void fetcher_stop(struct fetcher *fetcher);
void fetcher_free(struct fetcher *fetcher);

enum fetch_answer {
    FETCH_NONE,    /* it is not fetched: no source has it, it is not allowed, it failed a short while ago, or it is there */
    FETCH_RUNNING, /* it is being downloaded, or waits for its turn */
    FETCH_BUSY     /* too many wait for their turn */
};

/* Asks for a pair of languages that no model is for; the download begins if it may. *progress: 0 to 1. NULL for a fetcher is
 * allowed.
 */
enum fetch_answer fetcher_ask(struct fetcher *fetcher, const char *source, const char *target, double *progress);
/* True if anything is fetched on demand. NULL is allowed. */
bool fetcher_is_on(const struct fetcher *fetcher);
/* True if a download for this pair may begin, is running, or has ended well. */
bool fetcher_could(struct fetcher *fetcher, const char *source, const char *target);
/* The languages from which the target can be fetched, as far as Mozilla's list is known: at most `most`. */
size_t fetcher_sources(struct fetcher *fetcher, const char *target, char (*codes)[32], size_t most);
/* An administrator's order. asked: as of get_model, but no URL. update: a newer version replaces the one that is there. -1 with
 * ERROR_INPUT. */
int fetcher_order(struct fetcher *fetcher, const char *asked, struct error *err);

/* A wait for what is being fetched; in its owner's memory, which may be gone as soon as finish is called. */
struct fetch_wait {
    char pair[FETCH_ASKED_BYTES];
    int64_t deadline_us;          /* of clock_us */
    const atomic_bool *cancelled; /* NULL: it cannot be cancelled */
    void (*finish)(struct fetch_wait *wait);
    void *owner;
    struct fetch_wait *next;
};
/* Waits until the pair is in service, has failed, or the time is over; finish is called once, on a thread of the fetcher or on the
 * caller's before this returns. False: too many wait, or it has been stopped; finish is not called. */
bool fetcher_await(struct fetcher *fetcher, struct fetch_wait *wait);

/* A download that is running, or that failed lately. */
struct fetch_view {
    char asked[FETCH_ASKED_BYTES]; /* "en-fr", "opus:en-fr" */
    bool failed;
    double progress;
    uint64_t bytes, total; /* total 0: not known */
    char reason[256];      /* of a failure; for administrators */
};
size_t fetcher_list(struct fetcher *fetcher, struct fetch_view views[FETCH_MOST_VIEWS]);

#endif
