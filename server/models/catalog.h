/* This header declares models in memory (loaded_model); models in service, each a folder with its
 * state (served_model); sets of models in service; and the catalog, which changes the states and
 * decides which set is in service.
 *
 * A set lists the models in service. It is replaced as a whole: a reload reads every folder again,
 * those of --model and those in
 * --models, and loads the models that are in memory. When all of them have decoded a few words, the
 * new set replaces the old one atomically: later requests use it, and earlier ones keep the old
 * set, which the last of them frees. A reload does not begin while requests use models of an
 * earlier set, so that no model is in memory more than twice. If a model does not load, nothing
 * changes. Adding or removing a model makes a new set at once, which shares the others with the old
 * one.
 *
 * The state of a model:
 *
 *            asked for                    loaded
 *   cold ----------------> loading ----------------> ready ---- not asked for, or room is needed
 * ----> cold ^                       | |   asked for, later    v  does not load
 *     +------------------- failed
 *
 * Ownership. A served_model (a folder) belongs to the sets that list it, and to the catalog while
 * that loads or keeps it. A loaded_model (what is in memory) belongs to its served_model while that
 * is ready and in service, and to each request that decodes with it: a model in use is never
 * unloaded, and after it is unloaded its last user frees it. A request waits in its own model_wait,
 * which returns a reference to the model, so that it cannot be unloaded in between.
 *
 * Room. Under a limit on memory the least recently used models are unloaded first. If a model does
 * not fit beside those in use, the requests for it wait until these are released; those whose time
 * is over get an error. After a second models in use give way to such a load: later requests for
 * them wait in turn until they are loaded again. A model that could never fit fails at once.
 * Thread-safe. */
#ifndef ALIGND_CATALOG_H
#define ALIGND_CATALOG_H

#include "model/translator.h"
#include "server/base/metrics.h"
#include "server/base/strings.h"
#include "server/models/folders.h"
#include <stdatomic.h>
#include <stdbool.h>

/* ---- a model in memory ----
 *
 * It has everything that decoding needs: immutable except for the workers' batches, and
 * reference-counted. Every user holds a reference, a request from when its model is chosen until it
 * is freed; the last release frees the model. Thread-safe. */

/* The batch in which one worker decodes one model. Only that worker's thread uses it. */
struct worker_batch {
    struct batch *batch;
    void *state; /* [loading.state_bytes] the worker's own, zeroed at first */
};

struct loaded_model {
    struct translator *translator;
    struct translator_info info;
    struct integrity_found files;
    struct worker_batch *batches;  /* [workers] */
    struct model_metrics *metrics; /* counters of its name */
    size_t workers, bytes;         /* bytes: of memory */
    int64_t load_us;               /* the time that loading and warming up took */

    /* private */
    atomic_size_t *taken;
    atomic_size_t *retired; /* NULL: it is in service, or does not belong to a catalog */
    atomic_size_t references;
    struct loaded_model *next; /* for the catalog, which frees it */
};

/* How models are loaded, and for how many workers. */
struct loading {
    const char *compute; /* as in struct translator_options */
    enum translator_switch shortlist;
    enum translator_switch half_past;
    size_t workers, rows;         /* rows: of each batch */
    size_t state_bytes;           /* bytes of each worker's state */
    struct metrics *metrics;      /* outlives the models */
    atomic_size_t *taken;         /* counts the bytes of all models in memory; outlives them, too */
    struct integrity *integrity;  /* outlives them, too; NULL: files are not checked */
    enum integrity_extent extent; /* which files are checked before a model is used */
};

/* Loads the folder and decodes a few words, so that the first request finds the model warm.
 * compute: NULL: the loading's. The caller gets a reference. Returns NULL with an error that does
 * not name the folder. */
struct loaded_model *loaded_model_open(const char *folder, const char *compute,
                                       const struct loading *loading, struct error *err);

struct loaded_model *loaded_model_acquire(struct loaded_model *model);
/* Accepts NULL. */
void loaded_model_release(struct loaded_model *model);
/* Notes that the model is out of service: retired counts it until it is freed. The caller has a
 * reference and is the only one that calls this for the model. */
void loaded_model_retire(struct loaded_model *model, atomic_size_t *retired);
/* Returns whether there is more than one reference. */
bool loaded_model_used(const struct loaded_model *model);

/* ---- a model in service ---- */

enum model_state { MODEL_COLD, MODEL_LOADING, MODEL_READY, MODEL_FAILED, MODEL_STATES };
/* "cold", "loading", "ready", "failed" */
const char *model_set_state_name(enum model_state state);

struct served_model {
    char *folder; /* without a trailing slash */
    char *moved; /* the folder's path after it was evicted, deleted with the model; NULL: it was not
                  */
    struct translator_card
        *card; /* NULL: the folder cannot be read; the state is MODEL_FAILED for good */
    struct model_origin
        origin; /* strings are "" where the folder does not say where it came from */
    struct translator_info info; /* from the card; without a card there is only the name, and the
                                    other strings are "" */
    struct model_metrics *metrics;
    atomic_size_t references;

    /* protected by the catalog's lock once the model is in service */
    enum model_state state;
    struct loaded_model *loaded; /* MODEL_READY: one reference */
    const char *compute;         /* the number type that it was loaded with; NULL: not loaded yet */
    size_t bytes;                /* bytes that it takes when loaded, or is expected to take */
    struct error error;          /* MODEL_FAILED: the reason, without the folder's path */
    int64_t asked_us;            /* when it was last used or loaded */
    int64_t used_us;             /* when a request last asked for it; 0: never */
    int64_t changed_us;          /* when it failed; MODEL_LOADING: when the load was ordered */
    bool left;                   /* it is no longer in service */
    bool unchecked; /* MODEL_READY: its larger files have not been compared with its manifest yet */
    struct served_model *next, *next_kept; /* in the catalog's lists */
};

/* Reads the folder without loading it. If broken is true, a folder that cannot be read is a model
 * that has failed; otherwise NULL is returned, and the error names the folder. */
struct served_model *served_model_read(const char *folder, bool broken,
                                       const struct loading *loading, struct metrics *metrics,
                                       struct error *err);
struct served_model *served_model_acquire(struct served_model *model);
/* Accepts NULL. */
void served_model_release(struct served_model *model);
/* Returns whether both models have the same task and languages. */
bool served_model_same(const struct served_model *a, const struct served_model *b);

/* Deletes the folder of an evicted model. path: .removed-XXXXXX/NAME, which goes with the folder
 * that it is in; it is changed. */
void model_set_delete_moved(char *path);
/* Removes the folder's path from a message about a model, since only administrators may see it. */
void model_set_hide_folder(const char *folder, char *message);

/* ---- a set of models ----
 *
 * Lists models in the order in which they are chosen. Immutable and reference-counted: every user
 * holds a reference, a request from when it is read until it is freed. */

struct model_set {
    size_t generation; /* 1 for the first set of the process, then counted up */
    size_t count;
    struct served_model **all; /* [count] */

    /* private */
    struct metrics *metrics;
    atomic_size_t references;
};

/* Makes an empty set with a reference for the caller. metrics must outlive it; NULL: the set is not
 * counted. Returns NULL if memory runs out. */
struct model_set *model_set_create(size_t generation, struct metrics *metrics);
/* Adds a model while no other thread knows the set, and takes over the reference to it, also on
 * failure. Returns -1 with ERROR_INPUT (another model has its name) or ERROR_MEMORY. */
int model_set_add(struct model_set *models, struct served_model *model, struct error *err);
/* Adds the models of another set, except this one (NULL: all of them), in the same way. */
int model_set_add_all(struct model_set *models, const struct model_set *from,
                      const struct served_model *without, struct error *err);
/* Return NULL if the set has no such model. */
struct served_model *model_set_find_name(const struct model_set *models, const char *name);
struct served_model *model_set_find_folder(const struct model_set *models, const char *folder);
/* Returns whether the set has the model; models NULL: false. */
bool model_set_has(const struct model_set *models, const struct served_model *model);
struct model_set *model_set_acquire(struct model_set *models);
/* The last release frees the set. Accepts NULL. */
void model_set_release(struct model_set *models);

/* ---- the catalog ---- */

struct catalog;

struct catalog_options {
    const struct name_list *folders; /* loaded at the start if they fit */
    const char *directory;           /* its folders are loaded on demand; NULL: none */
    bool downloads; /* it holds downloaded models: it need not exist, and its models replace those
                       of `folders` with the same name or languages */
    bool resident; /* there are only `folders`, without a limit; they stay, and no thread is started
                    */
    const char *usual; /* name of a model that must exist at the start; NULL: none */
    struct loading
        loading; /* how models are loaded; the catalog sets metrics, taken, integrity and extent */
    size_t most_bytes;   /* limit on the memory of all loaded models; 0: no limit */
    size_t most_waiting; /* maximum number of requests that wait for models */
    int64_t idle_us;     /* a model that was not used for this time is unloaded; 0: never */
};

/* Makes a catalog without models. The folders and strings of the options, and the metrics, must
 * outlive it. Returns NULL if memory runs out. */
struct catalog *catalog_create(const struct catalog_options *options, struct metrics *metrics);
/* Makes the first set and starts the threads, if there are any. Called once. */
int catalog_open(struct catalog *catalog, struct error *err);
/* Returns the set in service with a reference, which the caller must release before the catalog is
 * freed. NULL: no set yet. */
struct model_set *catalog_acquire(struct catalog *catalog);
/* Waits for the running load, if any, and ends all waits for reloads and models; nothing is loaded
 * afterwards. */
void catalog_close(struct catalog *catalog);
/* Closes the catalog first. Accepts NULL. */
void catalog_free(struct catalog *catalog);

/* A wait for a reload; in its owner's memory, which may be freed as soon as finish is called. */
struct reload {
    void (*finish)(struct reload *reload); /* called once, on the thread that reloads */
    void *owner;
    size_t generation;  /* generation of the loaded set; 0: no set was loaded */
    struct error error; /* the reason; ERROR_NONE: the catalog was closed first */
    struct reload *next;
};
/* Orders a reload that begins after this call, and returns at once. While a reload runs, at most
 * one more follows, however often it is ordered. It waits until models that are out of service are
 * in no request's use any more. reload: its finish is called at the end; NULL: none is called.
 * Returns false if the catalog is closed; finish is then not called. */
bool catalog_reload(struct catalog *catalog, struct reload *reload);
/* Returns the state of the last reload: "none", "waiting", "running", "done" or "failed". */
const char *catalog_reloading(struct catalog *catalog);

enum catalog_verdict { CATALOG_DONE, CATALOG_BUSY, CATALOG_UNKNOWN, CATALOG_REFUSED };
/* Adds a folder, which survives reloads and is loaded when there is room. BUSY: a reload or another
 * change is in progress. REFUSED: err says why and names the folder. *added: with a reference for
 * the caller. */
enum catalog_verdict catalog_add(struct catalog *catalog, const char *folder,
                                 struct served_model **added, struct error *err);
/* Puts a downloaded model into service. It replaces the model with its name or, if the catalog's
 * directory holds downloads, the one of `folders` for its languages, and is loaded when a request
 * asks for it. Waits while a reload runs. Returns -1 with an error that names the folder. */
int catalog_take_in(struct catalog *catalog, const char *folder, struct error *err);
/* Takes a model out of service; requests that have it continue. A reload brings it back if its
 * folder comes from an option. UNKNOWN: no model has this name. */
enum catalog_verdict catalog_remove(struct catalog *catalog, const char *name, struct error *err);

/* Returns when the model of a folder was last used or loaded, of clock_us; 0: never, or it is not
 * in service. */
int64_t catalog_used_us(struct catalog *catalog, const char *folder);
/* Takes the model of a folder out of service if it is, and deletes the folder. Requests that have
 * it continue: until the last of them has ended, the folder has a hidden name, .removed-XXXXXX/NAME
 * beside it, by which they can still load it. Waits while a reload runs, or the model is being
 * loaded. Returns -1 if it is the default model or cannot be moved, or the catalog is closed. */
int catalog_evict(struct catalog *catalog, const char *folder, struct error *err);

/* A wait for a model; in its owner's memory, which may be freed as soon as finish is called. */
struct model_wait {
    struct served_model *model;
    int64_t deadline_us; /* time of the deadline, by clock_us */
    int64_t room_us; /* time, by clock_us, at which the wait ends with an error if there is no room
                        for the model */
    size_t held_bytes;            /* bytes of models that the owner has, and keeps while it waits */
    const atomic_bool *cancelled; /* NULL: it cannot be cancelled */
    void (*finish)(struct model_wait *wait);
    void *owner;
    struct loaded_model *loaded; /* with a reference; NULL: not loaded */
    struct error error; /* the reason; ERROR_NONE: it took too long, it was cancelled, or the
                           catalog was closed */
    struct model_wait *next;
};

enum catalog_readiness { CATALOG_READY, CATALOG_NOT_YET, CATALOG_FAILED };
/* READY: *loaded, with a reference. NOT_YET: catalog_await loads it. FAILED: err has the reason;
 * loading is tried again some seconds later. */
enum catalog_readiness catalog_take(struct catalog *catalog, struct served_model *model,
                                    struct loaded_model **loaded, struct error *err);
/* Has the model loaded; finish is called once, on one of the catalog's threads or on the caller's
 * before this returns. Returns false if too many requests wait or the catalog is closed; finish is
 * then not called. */
bool catalog_await(struct catalog *catalog, struct model_wait *wait);
/* Waits until no request waits for a model. Returns false after timeout_ms. */
bool catalog_wait(struct catalog *catalog, size_t timeout_ms);

/* Returns the bytes of all models in memory. */
size_t catalog_bytes(const struct catalog *catalog);

/* A model as it is now. */
struct model_view {
    enum model_state state;
    size_t bytes;        /* bytes that it takes, or is expected to take */
    bool unchecked;      /* as in struct served_model */
    const char *compute; /* the compute type that it has, or will have when it is loaded; NULL:
                            auto, not chosen yet */
    bool shortlist;      /* it uses a shortlist, or will when it is loaded */
    bool in_use;         /* requests have it; false while its files are compared, too */
    int64_t used_us;     /* when a request last asked for it, of clock_us; 0: never */
    struct loaded_model *loaded; /* with a reference; NULL: it is not in memory */
    struct error error;
};
struct model_view catalog_view(struct catalog *catalog, struct served_model *model);

#endif
