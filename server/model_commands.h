/* The commands that bring models and keep them: `alignd get`, `alignd models`, `alignd remove` and `alignd import`. SIGINT, SIGTERM
 * and SIGHUP end get and import without leaving incomplete models. Call at most one of them, once per process. */
#ifndef ALIGND_MODEL_COMMANDS_H
#define ALIGND_MODEL_COMMANDS_H

#include "model/base/error.h"
#include "server/options.h"

/* Each returns 0, or -1 with an error. status: the exit status, also of a failure. */
int get_command(const struct options *options, int *status, struct error *err);
int models_command(const struct options *options, int *status, struct error *err);
int remove_command(const struct options *options, int *status, struct error *err);
/* Converts another toolkit's model to a model folder (model/import/import.h), and reports the result on stdout. */
int import_command(const struct options *options, struct error *err);

#endif
