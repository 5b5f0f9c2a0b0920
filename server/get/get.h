/* Gets one model: downloads its files into a hidden folder, verifies them, imports them, and gives the model folder its name when
 * it is complete. Two who get the same model at once do not collide: the second waits for the first. */
#ifndef ALIGND_GET_H
#define ALIGND_GET_H

#include "server/get/download.h"

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
    bool offline, preview;   /* as in server/get/sources.h */
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
    char source[32], target[32], version[64], licence[128], attribution[256], asked[2048];
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

/* A line for each model that a source has (what: "", "mozilla:" or "argos:" and perhaps the beginning of a pair "en-", its end
 * "-en", or a pair), to a stream-like function. */
enum get_status get_list(const struct get_options *options, const char *what, void (*print)(void *owner, const char *line),
                         void *owner, struct error *err);

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

#endif
