/* This module downloads models: for `alignd get` and `alignd import`, and while the daemon serves,
 * on demand or on an administrator's order. */
#ifndef ALIGND_GET_H
#define ALIGND_GET_H

#include "model/base/error.h"
#include "server/models/folders.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The result of getting a model. */
enum get_status {
    GET_DONE,
    GET_PRESENT,    /* the model was already installed */
    GET_FAILED,     /* any other failure: a file cannot be written, or memory runs out */
    GET_UNKNOWN,    /* the source has no such model or file */
    GET_NETWORK,    /* no server answered, or it answered with an error */
    GET_REFUSED,    /* the download differs from the list, or is not allowed */
    GET_SPACE,      /* the disk has too little space */
    GET_UNREADABLE, /* the model cannot be imported */
    GET_STOPPED     /* `stop` was set */
};

/* Prepares the library that downloads. Must be called once, before another thread starts or after
 * all have ended, because libcurl does not promise that this is thread-safe. Returns -1 with
 * ERROR_MEMORY. */
int download_begin(struct error *err);
void download_end(void);

/* ---- one model ----
 *
 * Gets one model: downloads its files into a hidden folder, verifies them, imports them, and gives
 * the model folder its name when it is complete. If two processes get the same model, the second
 * waits for the first. */

struct import_options;

enum get_event_kind {
    GET_WAITS,     /* another process is getting the same model */
    GET_BEGINS,    /* text: the source, version, licence and author; for an import: the first URL */
    GET_DOWNLOADS, /* `bytes` have been downloaded */
    GET_RETRIES,   /* text: the reason; the retry follows after wait_ms */
    GET_IMPORTS,   /* all files have been downloaded and verified */
    GET_SAYS       /* text: a line from the import */
};

struct get_event {
    enum get_event_kind kind;
    const char *name; /* the model folder's name */
    const char *text;
    uint64_t bytes, total; /* total 0: not known */
    size_t files, wait_ms;
};

struct get_options {
    const char *into;    /* the parent of the model folders, which is created if it is missing */
    const char *mirror;  /* NULL: none */
    const char *records; /* a file with Mozilla's list; NULL: it is downloaded */
    bool offline,
        preview; /* use only lists and models that are already there; include unreleased models */
    bool update; /* replace another version of the model; otherwise that version stays */
    const char *name;      /* the model folder's name; NULL: its languages, or the source's name */
    const char *from, *to; /* languages; NULL: those that the source states */
    size_t retries, stall_s; /* as in struct download_manner; stall_s 0: 30 */
    uint64_t most_bytes;     /* limit for all files; 0: 8 GiB for files of unknown size */
    bool on_demand; /* the model may be deleted to make room for another; otherwise it stays, even
                       if it was installed before */
    const atomic_bool *stop;                                  /* NULL: never */
    void (*tell)(void *owner, const struct get_event *event); /* NULL: not called */
    /* Called once the model is complete, before it gets this name: makes room for its bytes in the
     * folder. Unless this returns GET_DONE, the model does not get the name, and its files are kept
     * for the next try. NULL: there is room. */
    enum get_status (*make_room)(void *owner, const char *name, uint64_t bytes, struct error *err);
    void *owner;
};

/* The model that was downloaded or was already installed. Unknown strings are "". */
struct got {
    char folder[4096];
    char source[32], target[32];
    struct model_origin origin;
    char newer[64];    /* GET_PRESENT: the version that --update would get; "": none */
    uint64_t unpacked; /* bytes of the model folder */
};

/* asked is en-fr, mozilla:en-fr, opus:en-fr, hf:ORGANISATION/NAME, argos:en-fr, quickmt:en-fr,
 * hplt:fr-en or a URL. Returns
 * GET_DONE, GET_PRESENT, or another status with an error. After a failure of the network or the
 * disk, downloaded files are kept for the next try. */
enum get_status get_model(const struct get_options *options, const char *asked, struct got *got,
                          struct error *err);

/* The choice among the sources that have a pair. */
struct get_choice {
    char asked[96]; /* for get_model: "opus:en-fr" */
    char why[320];  /* one line */
};
/* Chooses the source whose model for a pair, such as en-fr, has the highest published quality, and
 * of those without one the first. Returns GET_DONE, or the status of the first source with an error
 * if no source has the pair. */
enum get_status get_best(const struct get_options *options, const char *pair,
                         struct get_choice *choice, struct error *err);

/* True if a path of an import is an HTTP or HTTPS URL. */
bool get_is_url(const char *path);

/* Like import_run, for paths that may be URLs: downloads the URLs, as get_model does, into a hidden
 * folder in `into`, imports the files together with the other paths, and removes the downloads.
 * Uses only these options: `into`, which must be the import's, the limits, `stop` and `tell`. An
 * existing model folder is an error. If the network fails, the disk is full or `stop` is set,
 * downloaded files are kept for the next try. */
enum get_status get_import(const struct get_options *options, const struct import_options *import,
                           char **said, struct error *err);

/* Prints a line for each model of a source. what is "", "mozilla:", "argos:" or "hplt:", optionally
 * followed by the beginning of a pair "en-", its end "-en", or a pair. */
enum get_status get_list(const struct get_options *options, const char *what, FILE *out,
                         struct error *err);

/* Lists the pairs of languages in Mozilla's list; the caller frees *pairs. */
struct get_pair {
    char source[32], target[32];
    char version[16], architecture[32];
    const char *licence; /* constant */
    uint64_t bytes;      /* to download */
};
enum get_status get_pairs(const struct get_options *options, struct get_pair **pairs, size_t *count,
                          struct error *err);

/* Returns the exit status of `alignd get`, and of `alignd import` of URLs: 0 done or already
 * installed; 3 unknown; 4 network; 5 refused; 6 no space; 7 cannot be imported; 130 interrupted; 1
 * any other failure. */
int get_exit_status(enum get_status status);
/* Returns the status as a word: "done", "present", "failed", "unknown", "network", "refused",
 * "space", "unreadable", "stopped". */
const char *get_status_name(enum get_status status);

/* ---- models for a daemon that serves ----
 *
 * The daemon downloads models while it serves, because a request needs a pair of languages for
 * which there is no model (--fetch), or because an administrator orders a model.
 *
 * Under a limit on the bytes of the folder, models that were fetched on demand are evicted for
 * those that are fetched later.
 *
 * One thread downloads one model after the other, at a low priority; another thread ends the waits
 * that are past their deadline or cancelled, and a third one reads Mozilla's list for those who
 * want to see it. On demand, a pair that no source has, or whose download failed, is not tried
 * again for a while. All functions are thread-safe, and none waits for the network on the caller's
 * thread. */

struct catalog;
struct fetcher;
struct metrics;

enum {
    FETCH_ASKED_BYTES = 160,
    FETCH_MOST_VIEWS = 64,
    FETCH_MOST_SOURCES = 2,
    FETCH_MOST_PAIRS = 2000
};
#define FETCH_BYTES_AUTO UINT64_MAX

struct fetcher_options {
    const char *into;    /* parent of the model folders */
    const char *sources; /* on demand: "mozilla", "opus" or both, separated by ','; NULL: nothing is
                            fetched on demand */
    const char
        *pairs; /* globs of the pairs that are fetched on demand, separated by ','; NULL: all */
    uint64_t
        most_bytes; /* limit for all models in the folder; 0: no limit; FETCH_BYTES_AUTO: what those
                       that stay take, and a quarter of the space that is free or taken by others,
                       at most 10 GB, when the first download begins. The least recently used models
                       that were fetched on demand are evicted for another model; others stay */
    const char *mirror, *records;
    size_t retries, stall_s;
    bool offline;
    struct metrics *metrics;
    struct catalog *catalog; /* puts the models into service */
};

/* Checks a list of sources. Returns -1 with ERROR_INPUT if it is invalid. */
int fetcher_check_sources(const char *sources, struct error *err);

/* The options' strings must outlive the fetcher, which starts its threads when they are first
 * needed. NULL: memory runs out. */
struct fetcher *fetcher_create(const struct fetcher_options *options);
/* Ends the running download and all waits. Only fetcher_free may be called afterwards. Accepts
 * NULL. */
void fetcher_stop(struct fetcher *fetcher);
void fetcher_free(struct fetcher *fetcher);

enum fetch_answer {
    FETCH_NONE,    /* not fetched: no source has the pair, it is not allowed, failed recently, or is
                      already there */
    FETCH_RUNNING, /* the pair is being downloaded, or is queued */
    FETCH_BUSY     /* the queue is full, or the fetcher is stopped */
};

/* Requests a model for a pair of languages that has none; the download is queued if it is allowed.
 * Sets *progress, from 0 to 1. Accepts a NULL fetcher. */
enum fetch_answer fetcher_ask(struct fetcher *fetcher, const char *source, const char *target,
                              double *progress);
/* True if models are fetched on demand. Accepts NULL. */
bool fetcher_is_on(const struct fetcher *fetcher);
/* True if the pair may be fetched on demand, and its last download, if any, has not failed. */
bool fetcher_could(struct fetcher *fetcher, const char *source, const char *target);
/* True if the last download of the pair on demand has failed, although a source may have it.
 * *retry_s: until it is tried again, at least 1. */
bool fetcher_failed(struct fetcher *fetcher, const char *source, const char *target,
                    unsigned *retry_s);
/* Lists at most `most` languages from which the target can be fetched, if Mozilla's list has been
 * read. Returns their number. */
size_t fetcher_sources(struct fetcher *fetcher, const char *target, char (*codes)[32], size_t most);
enum fetch_list {
    FETCH_LIST_UNKNOWN, /* not read yet, and the caller may not have it read */
    FETCH_LIST_READING,
    FETCH_LIST_READY,
    FETCH_LIST_FAILED
};
/* Lists the pairs in Mozilla's list, at most FETCH_MOST_PAIRS, as it was last read: by this process
 * or, until then, by another one that kept it in the folder. The caller frees *pairs. asks: have it
 * read anew on a thread of its own if it is older than some hours, or the last attempt failed more
 * than a minute ago. reason: of FETCH_LIST_FAILED. Returns FETCH_LIST_FAILED if memory runs out. */
enum fetch_list fetcher_available(struct fetcher *fetcher, bool asks, struct get_pair **pairs,
                                  size_t *count, char reason[256]);
/* Queues a download that an administrator orders. asked: as for get_model, but not a URL. Another
 * version replaces the installed one. Returns -1 with ERROR_INPUT if this is not the name of a
 * model, or if its source has no such model according to what it said in the last ten minutes; or
 * with ERROR_MEMORY if the queue is full. */
int fetcher_order(struct fetcher *fetcher, const char *asked, struct error *err);

/* A wait for a download. Its owner allocates it, and may free it as soon as finish is called. */
struct fetch_wait {
    char pair[FETCH_ASKED_BYTES];
    int64_t deadline_us;          /* a time of clock_us */
    const atomic_bool *cancelled; /* NULL: it cannot be cancelled */
    void (*finish)(struct fetch_wait *wait);
    void *owner;
    struct fetch_wait *next;
};
/* Waits until the pair is in service, has failed, or the wait is cancelled or past its deadline.
 * finish is called once, on a thread of the fetcher, in fetcher_stop, or before this returns.
 * Returns false, without calling finish, if too many requests wait or the fetcher is stopped. */
bool fetcher_await(struct fetcher *fetcher, struct fetch_wait *wait);

/* A download that is queued, is running, or has failed. */
struct fetch_view {
    char asked[FETCH_ASKED_BYTES]; /* "en-fr", "opus:en-fr" */
    bool failed;
    double progress;
    uint64_t bytes, total; /* total 0: not known */
    char reason[256];      /* why it failed; for administrators */
};
size_t fetcher_list(struct fetcher *fetcher, struct fetch_view views[FETCH_MOST_VIEWS]);

#endif
