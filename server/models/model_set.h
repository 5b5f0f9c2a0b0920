/* Models: in memory (loaded_model), in service, that is, a folder with its state (served_model), and the sets of those in service.
 * The catalog (catalog.h) changes the states and decides which set is in service. */
#ifndef ALIGND_MODEL_SET_H
#define ALIGND_MODEL_SET_H

#include "model/translator.h"
#include "server/base/metrics.h"
#include "server/models/folders.h"
#include <stdatomic.h>
#include <stdbool.h>

/* ---- a model in memory ----
 *
 * It has everything that decoding needs: immutable except for the workers' batches, and reference-counted. Every user holds a
 * reference, a request from when its model is chosen until it is freed; the last release frees the model. Thread-safe. */

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
    atomic_size_t references;
    struct loaded_model *next; /* for the module that unloads it */
};

/* How models are loaded, and for how many workers. */
struct loading {
    const char *compute; /* as in struct translator_options */
    enum translator_shortlist shortlist;
    bool half_past;
    size_t workers, rows;         /* rows: of each batch */
    size_t state_bytes;           /* bytes of each worker's state */
    struct metrics *metrics;      /* outlives the models */
    atomic_size_t *taken;         /* counts the bytes of all models in memory; outlives them, too */
    struct integrity *integrity;  /* outlives them, too; NULL: files are not checked */
    enum integrity_extent extent; /* which files are checked before a model is used */
};

/* Loads the folder and decodes a few words, so that the first request finds the model warm. compute: NULL: the loading's. The
 * caller gets a reference. Returns NULL with an error that does not name the folder. */
struct loaded_model *loaded_model_open(const char *folder, const char *compute, const struct loading *loading, struct error *err);

struct loaded_model *loaded_model_acquire(struct loaded_model *model);
/* Accepts NULL. */
void loaded_model_release(struct loaded_model *model);
/* Returns whether there is more than one reference. */
bool loaded_model_used(const struct loaded_model *model);

/* ---- a model in service ---- */

enum model_state { MODEL_COLD, MODEL_LOADING, MODEL_READY, MODEL_FAILED, MODEL_STATES };
/* "cold", "loading", "ready", "failed" */
const char *model_state_name(enum model_state state);

struct served_model {
    char *folder;                 /* without a trailing slash */
    char *moved;                  /* the folder's path after it was evicted, deleted with the model; NULL: it was not */
    struct translator_card *card; /* NULL: the folder cannot be read; the state is MODEL_FAILED for good */
    struct model_origin origin;   /* strings are "" where the folder does not say where it came from */
    struct translator_info info;  /* from the card; without a card there is only the name, and the other strings are "" */
    struct model_metrics *metrics;
    atomic_size_t references;

    /* protected by the catalog's lock once the model is in service */
    enum model_state state;
    struct loaded_model *loaded;           /* MODEL_READY: one reference */
    const char *compute;                   /* the number type that it was loaded with; NULL: not loaded yet */
    size_t bytes;                          /* bytes that it takes when loaded, or is expected to take */
    struct error error;                    /* MODEL_FAILED: the reason, without the folder's path */
    int64_t asked_us;                      /* when it was last used or loaded */
    int64_t changed_us;                    /* when it failed; MODEL_LOADING: when the load was ordered */
    bool left;                             /* it is no longer in service */
    bool unchecked;                        /* MODEL_READY: its larger files have not been compared with its manifest yet */
    struct served_model *next, *next_kept; /* in the catalog's lists */
};

/* Reads the folder without loading it. If broken is true, a folder that cannot be read is a model that has failed; otherwise NULL
 * is returned, and the error names the folder. */
struct served_model *served_model_read(const char *folder, bool broken, const struct loading *loading, struct metrics *metrics,
                                       struct error *err);
struct served_model *served_model_acquire(struct served_model *model);
/* Accepts NULL. */
void served_model_release(struct served_model *model);
/* Returns whether both models have the same task and languages. */
bool served_model_same(const struct served_model *a, const struct served_model *b);

/* Deletes the folder of an evicted model. path: .removed-XXXXXX/NAME, which goes with the folder that it is in; it is changed. */
void model_delete_moved(char *path);
/* Removes the folder's path from a message about a model, since only administrators may see it. */
void model_hide_folder(const char *folder, char *message);

/* ---- a set of models ----
 *
 * Lists models in the order in which they are chosen. Immutable and reference-counted: every user holds a reference, a request from
 * when it is read until it is freed. */

struct model_set {
    size_t generation; /* 1 for the first set of the process, then counted up */
    size_t count;
    struct served_model **all; /* [count] */

    /* private */
    struct metrics *metrics;
    atomic_size_t references;
};

/* Makes an empty set with a reference for the caller. metrics must outlive it; NULL: the set is not counted. Returns NULL if memory
 * is out. */
struct model_set *model_set_create(size_t generation, struct metrics *metrics);
/* Adds a model while nobody else knows the set, and takes over the reference to it, also on failure. Returns -1 with ERROR_INPUT
 * (another model has its name) or ERROR_MEMORY. */
int model_set_add(struct model_set *models, struct served_model *model, struct error *err);
/* Adds the models of another set, except this one (NULL: all of them), in the same way. */
int model_set_add_all(struct model_set *models, const struct model_set *from, const struct served_model *without,
                      struct error *err);
/* NULL: the set has no such model. */
struct served_model *model_set_find_name(const struct model_set *models, const char *name);
struct served_model *model_set_find_folder(const struct model_set *models, const char *folder);
/* models: NULL: false. */
bool model_set_has(const struct model_set *models, const struct served_model *model);
struct model_set *model_set_acquire(struct model_set *models);
/* The last release frees the set. Accepts NULL. */
void model_set_release(struct model_set *models);

#endif
