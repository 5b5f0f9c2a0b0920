/* This module downloads models: for `alignd get` and `alignd import`, and while the daemon serves, on demand or on an
 * administrator's order. */
#ifndef ALIGND_GET_H
#define ALIGND_GET_H

#include "model/base/error.h"
#include "server/models/folders.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* How getting a model ends. */
enum get_status {
    GET_DONE,
    GET_PRESENT,    /* it was there already */
    GET_FAILED,     /* a file cannot be written, or memory is out */
    GET_UNKNOWN,    /* the source has no such model or file */
    GET_NETWORK,    /* no server answered, or it answered with an error */
    GET_REFUSED,    /* the download is not the one that the list states, or is not allowed */
    GET_SPACE,      /* the disk has too little space */
    GET_UNREADABLE, /* the model cannot be imported */
    GET_STOPPED     /* `stop` was set */
};

/* Prepares the library that downloads. Called once, before another thread starts or after all have ended, because the library does
 * not promise that this is thread-safe. -1 with ERROR_MEMORY. */
int downloads_begin(struct error *err);
void downloads_end(void);

/* ---- one model ----
 *
 * Gets one model: downloads its files into a hidden folder, verifies them, imports them, and gives the model folder its name when
 * it is complete. If two processes get the same model, the second waits for the first. */

struct import_options;

enum get_event_kind {
    GET_WAITS,     /* for another process that gets the same model */
    GET_BEGINS,    /* text: the source, the licence and the author */
    GET_DOWNLOADS, /* so many bytes are there */
    GET_RETRIES,   /* text: why; after wait_ms */
    GET_IMPORTS,   /* everything is there and verified */
    GET_SAYS       /* text: a line from the import */
};

struct get_event {
    enum get_event_kind kind;
    const char *name; /* of the model folder */
    const char *text;
    uint64_t bytes, total; /* total 0: not known */
    size_t files, wait_ms;
};

struct get_options {
    const char *into;        /* the folder of the model folders, which is created if it is missing */
    const char *mirror;      /* NULL: none */
    const char *records;     /* a file with Mozilla's list; NULL: it is downloaded */
    bool offline, preview;   /* use only lists and models that are already there; include unreleased models */
    bool update;             /* replace another version of it; otherwise that stays */
    const char *name;        /* of the model folder; NULL: its languages, or the source's name */
    const char *from, *to;   /* languages; NULL: as the source says */
    size_t retries, stall_s; /* as in struct download_manner */
    uint64_t most_bytes;     /* of all files; 0: no limit */
    bool on_demand; /* it may be deleted later to make room for another; otherwise it is kept, even if it was already there */
    const atomic_bool *stop;                                  /* NULL: never */
    void (*tell)(void *owner, const struct get_event *event); /* NULL: not called */
    /* Called once the model is complete, before it gets this name: makes room for its bytes in the folder. Unless it returns
     * GET_DONE, the model does not get the name, and is kept for the next try. NULL: there is room. */
    enum get_status (*make_room)(void *owner, const char *name, uint64_t bytes, struct error *err);
    void *owner;
};

/* The model that was downloaded or was already there. Unknown strings are "". */
struct got {
    char folder[4096];
    char source[32], target[32];
    struct model_origin origin;
    char newer[64];    /* GET_PRESENT: the version that --update would get; "": none */
    uint64_t unpacked; /* bytes of the model folder */
};

/* asked: en-fr, opus:en-fr, hf:ORGANISATION/NAME, argos:en-fr or a URL. Returns GET_DONE, GET_PRESENT, or another status with an
 * error. After a failure of the network or the disk, downloaded files are kept for the next try. */
enum get_status get_model(const struct get_options *options, const char *asked, struct got *got, struct error *err);

/* True if a path of an import is an HTTP or HTTPS URL. */
bool get_is_url(const char *path);

/* Like import_run, for paths that may be URLs: downloads these, as get_model does, into a hidden folder in `into`, imports them
 * together with the other paths, and removes the downloads. Of the options, only `into`, which must be the import's, the limits and
 * the callbacks are used. An existing model folder is an error. After a failure of the network, downloaded files are kept for the
 * next try. */
enum get_status get_import(const struct get_options *options, const struct import_options *import, char **said, struct error *err);

/* Prints a line for each model that a source has (what: "", "mozilla:" or "argos:" and perhaps the beginning of a pair "en-", its
 * end "-en", or a pair). */
enum get_status get_list(const struct get_options *options, const char *what, FILE *out, struct error *err);

/* The pairs of languages that a source has. The caller frees both. */
struct get_pair {
    char source[32], target[32];
};
enum get_status get_pairs(const struct get_options *options, struct get_pair **pairs, size_t *count, struct error *err);

/* The exit status of `alignd get`, and of `alignd import` of URLs: 0 done or already there; 3 unknown; 4 network; 5 refused; 6 no
 * space; 7 cannot be imported; 130 interrupted; 1 any other failure. */
int get_exit_status(enum get_status status);
/* A word for logs and metrics: "done", "present", "failed", "unknown", "network", "refused", "space", "unreadable", "stopped". */
const char *get_status_name(enum get_status status);

/* ---- models for a daemon that serves ----
 *
 * Models that the daemon downloads while it serves, because a request needs a pair of languages for which there is no model
 * (--fetch), or because an administrator orders it.
 *
 * Under a limit on the bytes of the folder, models that were fetched on demand are evicted for those that are fetched later.
 *
 * One thread downloads one model after the other, at a low priority; another ends waits at their deadline. A pair that the sources
 * do not have, or whose download failed, is not tried again for a while. Thread-safe; nothing here waits for the network on the
 * caller's thread. */

struct catalog;
struct fetcher;
struct metrics;

enum { FETCH_ASKED_BYTES = 160, FETCH_MOST_VIEWS = 64, FETCH_MOST_SOURCES = 2 };

struct fetcher_options {
    const char *into;    /* folder of the model folders */
    const char *sources; /* on demand: "mozilla", "opus" or both, separated by ','; NULL: nothing is fetched on demand */
    const char *pairs;   /* globs of the pairs that are fetched on demand, separated by ','; NULL: all */
    uint64_t most_bytes; /* limit for all models in the folder; 0: no limit. Of those that were fetched on demand, the least
                            recently used are evicted for another; others stay */
    const char *mirror, *records;
    size_t retries, stall_s;
    bool offline;
    struct metrics *metrics;
    struct catalog *catalog; /* puts them into service */
};

/* True if the list of sources is right. -1 with ERROR_INPUT. */
int fetch_check_sources(const char *sources, struct error *err);

/* Its strings must outlive it. Starts its threads when they are first needed. NULL when memory is out. */
struct fetcher *fetcher_create(const struct fetcher_options *options);
/* Ends the running download and all waits. Only fetcher_free may be called afterwards. Accepts NULL. */
void fetcher_stop(struct fetcher *fetcher);
void fetcher_free(struct fetcher *fetcher);

enum fetch_answer {
    FETCH_NONE,    /* not fetched: no source has it, it is not allowed, it failed recently, or it is already there */
    FETCH_RUNNING, /* being downloaded, or queued */
    FETCH_BUSY     /* the queue is full */
};

/* Requests a model for a pair of languages that has none; the download is queued if it is allowed. *progress: 0 to 1. Accepts a
 * NULL fetcher. */
enum fetch_answer fetcher_ask(struct fetcher *fetcher, const char *source, const char *target, double *progress);
/* True if models are fetched on demand. Accepts NULL. */
bool fetcher_is_on(const struct fetcher *fetcher);
/* True if a download for this pair may begin, is running, or has ended well. */
bool fetcher_could(struct fetcher *fetcher, const char *source, const char *target);
/* The languages from which the target can be fetched, as far as Mozilla's list is known: at most `most`. */
size_t fetcher_sources(struct fetcher *fetcher, const char *target, char (*codes)[32], size_t most);
/* Queues a download that an administrator orders. asked: as for get_model, but not a URL. update: a newer version replaces the
 * installed one. -1 with ERROR_INPUT. */
int fetcher_order(struct fetcher *fetcher, const char *asked, struct error *err);

/* A wait for a download; in its owner's memory, which may be freed as soon as finish is called. */
struct fetch_wait {
    char pair[FETCH_ASKED_BYTES];
    int64_t deadline_us;          /* of clock_us */
    const atomic_bool *cancelled; /* NULL: it cannot be cancelled */
    void (*finish)(struct fetch_wait *wait);
    void *owner;
    struct fetch_wait *next;
};
/* Waits until the pair is in service, has failed, or the deadline passes. finish is called once, on a thread of the fetcher, or on
 * the caller's before this returns. False: too many requests wait, or the fetcher is stopped; finish is not called. */
bool fetcher_await(struct fetcher *fetcher, struct fetch_wait *wait);

/* A download that is running, or that failed recently. */
struct fetch_view {
    char asked[FETCH_ASKED_BYTES]; /* "en-fr", "opus:en-fr" */
    bool failed;
    double progress;
    uint64_t bytes, total; /* total 0: not known */
    char reason[256];      /* of a failure; for administrators */
};
size_t fetcher_list(struct fetcher *fetcher, struct fetch_view views[FETCH_MOST_VIEWS]);

#endif
