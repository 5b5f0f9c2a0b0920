/* A model in memory, with all that decoding with it needs: immutable but for the workers' batches, and counted. Whoever works with
 * it holds a reference, a request from when its model is chosen until it is freed; the last one frees it. Thread-safe. */
#ifndef ALIGND_LOADED_MODEL_H
#define ALIGND_LOADED_MODEL_H

#include "model/translator.h"
#include "server/base/metrics.h"
#include "server/decode/admission.h"
#include "server/decode/integrity.h"
#include <stdatomic.h>

/* What one worker decodes with one model in: touched by that worker's thread alone. */
struct worker_batch {
    const struct loaded_model *model;
    struct batch *batch;
    struct admission_load load; /* owner: this */
    size_t encoding_tokens;     /* admitted and not all encoded yet, */
    int64_t encoding_us;        /* and what that has taken so far */
};

struct loaded_model {
    struct translator *translator;
    struct translator_info info;
    struct worker_batch *batches;  /* [workers] */
    struct model_metrics *metrics; /* of its name */
    size_t workers, bytes;         /* bytes: of memory */
    int64_t load_us;               /* time that it took to load and warm up */
    struct integrity_found files;  /* what was known of them when it was loaded */
    atomic_size_t *taken;
    atomic_size_t references;
    struct loaded_model *next; /* of whoever unloads it */
};

/* How models are loaded, and for how many. */
struct loading {
    const char *compute; /* as in struct translator_options */
    bool shortlist, half_past;
    size_t workers, rows;         /* rows: of each batch */
    struct metrics *metrics;      /* outlive the models */
    atomic_size_t *taken;         /* bytes of all that are in memory, together: counted here; it outlives them, too */
    struct integrity *integrity;  /* outlives them, too; NULL: files are not checked */
    enum integrity_extent extent; /* how much of them is checked before a model is used */
};

/* Loads the folder and decodes a few words, so that the first request finds it warm. compute: NULL: the loading's. The caller has a
 * reference. NULL: why, without the folder's name. */
struct loaded_model *loaded_model_open(const char *folder, const char *compute, const struct loading *loading, struct error *err);
/* About the bytes of a model of this card. */
size_t loaded_model_estimate(const struct translator_card *card, const struct loading *loading);

struct loaded_model *loaded_model_acquire(struct loaded_model *model);
/* NULL allowed. */
void loaded_model_release(struct loaded_model *model);
/* Somebody beside one holder has a reference. */
bool loaded_model_used(const struct loaded_model *model);

#endif
