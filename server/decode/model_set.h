/* The models in service, in the order in which they are chosen: a list that is immutable and counted. Whoever chooses among them
 * holds a reference, a request from when it is read until it is freed, so that another set can take its place
 * (server/decode/catalog.h) while requests work with this one. Sets share models. */
#ifndef ALIGND_MODEL_SET_H
#define ALIGND_MODEL_SET_H

#include "server/decode/served_model.h"

struct model_set {
    size_t generation; /* 1: the first set of the process, 2: the one after it */
    size_t count;
    struct served_model **all; /* [count] */

    /* inside */
    struct metrics *metrics;
    atomic_size_t references;
};

/* An empty set; the caller has a reference. metrics must outlive it; NULL: it is not
 * counted. NULL when memory is out. */
struct model_set *model_set_create(size_t generation, struct metrics *metrics);
/* While nobody else knows the set: adds a model, whose reference it takes over whatever comes of it. -1 with ERROR_INPUT: another
 * has its name; or ERROR_MEMORY. */
int model_set_add(struct model_set *models, struct served_model *model, struct error *err);
/* All of another, but one (NULL: all). -1 with ERROR_MEMORY. */
int model_set_add_all(struct model_set *models, const struct model_set *from, const struct served_model *but, struct error *err);

/* NULL: there is none. */
struct served_model *model_set_find(const struct model_set *models, const char *name);

/* One more reference; returns the set. Thread-safe, as is model_set_release. */
struct model_set *model_set_acquire(struct model_set *models);
/* One less: the last one frees the set. NULL allowed. */
void model_set_release(struct model_set *models);

#endif
