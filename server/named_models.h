/* Models that are named, by their own name or by their languages, instead of a folder. */
#ifndef ALIGND_NAMED_MODELS_H
#define ALIGND_NAMED_MODELS_H

#include "server/options.h"

/* Puts folders in the place of options->models: of each that is neither a model folder nor a path, that of the model of this name
 * in options->directory, otherwise among those that came with alignd; or, of "en-fr", that of the model which translates from en to
 * fr. Where options->from and options->to are set, the models must translate from one to the other; without any, the nearest that
 * does is found as the daemon does, and options->variant set if it writes several languages. -1 with ERROR_INPUT: there is none,
 * and the message tells which there are; or ERROR_FILE or ERROR_MEMORY. */
int named_models_find(struct options *options, struct error *err);

#endif
