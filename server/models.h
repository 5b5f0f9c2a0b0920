/* The loaded models, in the order of --model. Immutable once loaded. */
#ifndef ALIGND_MODELS_H
#define ALIGND_MODELS_H

#include "model/translator.h"
#include "server/metrics.h"
#include "server/options.h"

struct models {
    size_t count;
    struct translator *translators[OPTIONS_MAX_MODELS];
    struct translator_info infos[OPTIONS_MAX_MODELS];
};

/* Loads every folder of the options and decodes a few words with each, so that the first request finds it warm. metrics may be
 * NULL. -1: the message names the folder; models holds what was loaded. */
int models_load(struct models *models, const struct options *options, struct metrics *metrics, struct error *err);
void models_free(struct models *models);

#endif
