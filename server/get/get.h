/* Models that come from elsewhere: for `alignd get` and `alignd import` one after the other, and while the daemon serves, on demand
 * or on an administrator's order. */
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
    GET_REFUSED,    /* what came is not what the list promises, or it is not allowed */
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
 * it is complete. Two who get the same model at once do not collide: the second waits for the first. */

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
    const char *into;        /* the folder of the model folders, which is made if it is not there */
    const char *mirror;      /* NULL: none */
    const char *records;     /* a file with Mozilla's list; NULL: it is downloaded */
    bool offline, preview;   /* only lists and models that are there already; also unreleased ones */
    bool update;             /* another version of it is replaced; otherwise it stays */
    const char *name;        /* of the model folder; NULL: its languages, or the source's name */
    const char *from, *to;   /* languages; NULL: as the source says */
    size_t retries, stall_s; /* as in struct download_manner */
    uint64_t most_bytes;     /* of all files; 0: no limit */
    bool on_demand;          /* it may be deleted later to make room for another; otherwise it stays, also if it is there already */
    const atomic_bool *stop; /* NULL: never */
    void (*tell)(void *owner, const struct get_event *event); /* NULL: nobody is interested */
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
 * error. What was downloaded stays for the next try after a failure of the network or the disk. */
enum get_status get_model(const struct get_options *options, const char *asked, struct got *got, struct error *err);

/* True if a path of an import is an HTTP or HTTPS URL. */
bool get_is_url(const char *path);

/* As import_run, of paths among which there are URLs: downloads these, as get_model does, into a hidden folder in `into`, imports
 * them together with the other paths, and removes them. Of the options only `into`, which must be the import's, the limits and
 * the callbacks matter. A model folder that is there already is an error. What was downloaded stays for the next try after a
 * failure of the network. */
enum get_status get_import(const struct get_options *options, const struct import_options *import, char **said, struct error *err);

/* Prints a line for each model that a source has (what: "", "mozilla:" or "argos:" and perhaps the beginning of a pair "en-", its
 * end "-en", or a pair). */
enum get_status get_list(const struct get_options *options, const char *what, FILE *out, struct error *err);

/* The pairs of languages that a source has. The caller frees both. */
struct get_pair {
    char source[32], target[32];
};
enum get_status get_pairs(const struct get_options *options, struct get_pair **pairs, size_t *count, struct error *err);

/* For `alignd get`, and `alignd import` of URLs: 0 done or there; 3 unknown; 4 network; 5 refused; 6 no space; 7 it cannot be
 * imported; 130 interrupted; 1 else.
 */
int get_exit_status(enum get_status status);
/* A word for logs and metrics: "done", "present", "failed", "unknown", "network", "refused", "space", "unreadable", "stopped". */
const char *get_status_name(enum get_status status);

/* ---- models for a daemon that serves ----
 *
 * Models that the daemon downloads while it serves: because a request asks for a pair of languages that no model is for (--fetch),
 * or because an administrator orders it.
 *
 * Under a limit on the bytes of the folder, models that were fetched on demand are evicted for those that are fetched later.
 *
 * One thread downloads one model after the other, at a low priority; another ends the waits of those whose time is over. A pair
 * that the sources do not have, or whose download failed, is not tried again for a while. Thread-safe; nothing here waits for the
 * network on the caller's thread. */

struct catalog;
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
    struct catalog *catalog; /* into which they go into service */
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
