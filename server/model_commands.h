/* The commands that bring models and keep them: `alignd get`, `alignd models`, `alignd remove`, `alignd import` and `alignd pack`.
 * SIGINT, SIGTERM and SIGHUP end get and import without leaving incomplete models. Call at most one of them, once per process. */
#ifndef ALIGND_MODEL_COMMANDS_H
#define ALIGND_MODEL_COMMANDS_H

#include "model/base/error.h"
#include "server/options.h"

/* Each returns 0, or -1 with an error. status: the exit status, also of a failure. */
int get_command(const struct options *options, int *status, struct error *err);
int models_command(const struct options *options, int *status, struct error *err);
int remove_command(const struct options *options, int *status, struct error *err);
/* Converts another toolkit's model, of paths or URLs, to a model folder (model/import/import.h), and reports the result on stdout.
 */
int import_command(const struct options *options, int *status, struct error *err);

/* Packs the weights of model folders into files there, which loading maps (model/weights/panels.h), and prints their names. A
 * folder whose files do not match its manifest is not packed. Returns -1 with a message that names the folder; those before it are
 * packed. */
int pack_command(const struct options *options, struct error *err);

#endif
