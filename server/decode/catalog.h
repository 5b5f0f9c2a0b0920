/* The models in service: a set (server/decode/model_set.h) that is replaced as a whole, and the thread that loads the next one
 * beside it.
 *
 * A load reads every --model folder again. When all of them have loaded and decoded a few words, the new set takes the place of the
 * old one at once: requests that come in from then on get it, those on their way keep theirs, and the last of them frees it. When
 * one does not load, nothing changes. Thread-safe. */
#ifndef ALIGND_CATALOG_H
#define ALIGND_CATALOG_H

#include "server/decode/model_set.h"

struct catalog;

/* Without models yet. The folders and strings of the options, and the metrics, must outlive it. NULL when memory is out. */
struct catalog *catalog_create(const struct model_set_options *options, struct metrics *metrics);
/* Loads the first set, and starts the thread that reloads. Once. */
int catalog_open(struct catalog *catalog, struct error *err);
/* The set in service, with a reference for the caller. NULL: none is loaded yet. */
struct model_set *catalog_acquire(struct catalog *catalog);

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

/* Waits for the load that runs, if one does; who waits for another is told. */
void catalog_close(struct catalog *catalog);
/* Closes, and gives its set back. NULL allowed. */
void catalog_free(struct catalog *catalog);

#endif
