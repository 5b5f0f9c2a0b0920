/* The models in service: a set (server/decode/model_set.h) that is replaced as a whole, a residence that says which of them are in
 * memory (server/decode/residence.h), and the thread that makes the next set.
 *
 * A reload reads every folder again, those of --model and those in --models, and loads those whose models are in memory. When all
 * of them have decoded a few words, the new set takes the place of the old one at once: requests that come in from then on get it,
 * those on their way keep theirs, and the last of them frees it. When one does not load, nothing changes. One model more, or less,
 * makes a new set at once, which shares the others with the old one. Thread-safe. */
#ifndef ALIGND_CATALOG_H
#define ALIGND_CATALOG_H

#include "server/base/name_list.h"
#include "server/decode/model_set.h"
#include "server/decode/residence.h"

struct catalog;

struct catalog_options {
    const struct name_list *folders; /* loaded at the start, as far as they fit */
    const char *directory;           /* whose folders are loaded when they are asked for; NULL: none */
    const char *usual;               /* name of a model that must be there at the start; NULL: none */
    const char *compute;             /* the rest as in struct loading and struct residence_options */
    bool shortlist, half_past;
    size_t workers, rows;
    size_t most_bytes, most_waiting;
    int64_t idle_us;
};

/* Without models yet. The folders and strings of the options, and the metrics, must outlive it. NULL when memory is out. */
struct catalog *catalog_create(const struct catalog_options *options, struct metrics *metrics);
/* Makes the first set, and starts the threads. Once. */
int catalog_open(struct catalog *catalog, struct error *err);
/* The set in service, with a reference for the caller, to be given back before the catalog is freed. NULL: there is none yet. */
struct model_set *catalog_acquire(struct catalog *catalog);
/* Of the models in the sets. */
struct residence *catalog_residence(struct catalog *catalog);

/* One who waits for a reload; in its owner's memory, which may be gone as soon as finish is called. */
struct reload {
    void (*finish)(struct reload *reload); /* once, on the thread that loads */
    void *owner;
    size_t generation;  /* of the set that was loaded; 0: there is none */
    struct error error; /* why; ERROR_NONE: the catalog was closed first */
    struct reload *next;
};
/* Asks for a reload that begins after this call; returns at once. While a load runs there is at most one more to follow, however
 * often it is asked for. reload: to be told of the end; NULL: nobody is. False: the catalog is closed, nobody will be told. */
bool catalog_reload(struct catalog *catalog, struct reload *reload);

/* What became of the last reload: "none" yet, "running", "done" or "failed". */
const char *catalog_reloading(struct catalog *catalog);

enum catalog_verdict { CATALOG_DONE, CATALOG_BUSY, CATALOG_UNKNOWN, CATALOG_REFUSED };
/* One folder more, which stays over reloads and is loaded when there is room. BUSY: a reload runs. REFUSED: err tells why, and
 * names the folder. *added: with a reference for the caller. */
enum catalog_verdict catalog_add(struct catalog *catalog, const char *folder, struct served_model **added, struct error *err);
/* The model leaves service; requests that have it go on. A reload brings it back if its folder is an option's. UNKNOWN: no such
 * name. */
enum catalog_verdict catalog_remove(struct catalog *catalog, const char *name, struct error *err);

/* Waits for the load that runs, if one does; who waits for another is told. */
void catalog_close(struct catalog *catalog);
/* Closes, and gives its set back. NULL allowed. */
void catalog_free(struct catalog *catalog);

#endif
