/* A model in memory, with everything that decoding needs: immutable except for the workers' batches, and reference-counted. Every
 * user holds a reference, a request from when its model is chosen until it is freed; the last release frees the model.
 * Thread-safe. */
#ifndef ALIGND_LOADED_MODEL_H
#define ALIGND_LOADED_MODEL_H

#include "model/translator.h"
#include "server/base/metrics.h"
#include "server/models/manifest.h"
#include <stdatomic.h>

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
/* Returns roughly the bytes that a model of this card takes. */
size_t loaded_model_estimate(const struct translator_card *card, const struct loading *loading);

struct loaded_model *loaded_model_acquire(struct loaded_model *model);
/* Accepts NULL. */
void loaded_model_release(struct loaded_model *model);
/* Returns whether there is more than one reference. */
bool loaded_model_used(const struct loaded_model *model);

#endif
