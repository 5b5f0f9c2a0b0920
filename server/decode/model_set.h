/* The loaded models, in the order of --model: a set that is immutable and counted. Whoever works with it holds a reference, a
 * request from when it is read until it is freed, so that another set can take its place (server/decode/catalog.h) while requests
 * are decoded with this one. */
#ifndef ALIGND_MODEL_SET_H
#define ALIGND_MODEL_SET_H

#include "model/translator.h"
#include "server/base/metrics.h"
#include "server/base/name_list.h"
#include "server/decode/admission.h"

enum { MODEL_SET_MAX = NAME_LIST_MAX };

/* What one worker decodes with one model in: touched by that worker's thread alone. */
struct worker_batch {
    const struct served_model *model;
    struct batch *batch;
    struct admission_load load; /* owner: this */
    size_t encoding_tokens;     /* admitted and not all encoded yet, */
    int64_t encoding_us;        /* and what that has taken so far */
};

/* A translator, and what the workers decode with. */
struct served_model {
    struct translator *translator;
    struct translator_info info;
    struct worker_batch *batches; /* [workers] */
    struct model_metrics *metrics;
    int64_t load_us; /* time that it took to load and warm up */
};

struct model_set {
    size_t generation; /* 1: the first set of the process, 2: the one after it */
    size_t count;
    struct served_model all[MODEL_SET_MAX];

    /* inside */
    size_t workers;
    struct metrics *metrics;
    atomic_size_t references;
};

/* What to load, and for how many. */
struct model_set_options {
    const struct name_list *folders;
    const char *compute; /* as in struct translator_options */
    bool shortlist, half_past;
    size_t workers, rows; /* rows: of each batch */
};

/* Loads every folder of the options and decodes a few words with each, so that the first request finds it warm; allocates all that
 * decoding with them needs. previous: the set that it is to follow, whose choices of --compute auto are kept; NULL: none. The
 * caller has a reference. metrics must outlive the set. NULL: the message names the folder. Thread-safe. */
struct model_set *model_set_load(const struct model_set_options *options, const struct model_set *previous, struct metrics *metrics,
                                 struct error *err);

/* One more reference; returns the set. Thread-safe, as is model_set_release. */
struct model_set *model_set_acquire(struct model_set *models);
/* One less: the last one frees the set. NULL allowed. */
void model_set_release(struct model_set *models);

/* The set as metrics_write takes it: served [MODEL_SET_MAX]. NULL: no models. Returns how many. */
size_t model_set_served(const struct model_set *models, struct metrics_served *served);

#endif
