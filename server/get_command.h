/* The commands that keep models: `alignd get`, `alignd models`, `alignd remove`. */
#ifndef ALIGND_GET_COMMAND_H
#define ALIGND_GET_COMMAND_H

#include "model/base/error.h"
#include "server/options.h"

/* Each returns 0, or -1 with an error. status: the exit status, also of a failure. */
int get_command(const struct options *options, int *status, struct error *err);
int models_command(const struct options *options, int *status, struct error *err);
int remove_command(const struct options *options, int *status, struct error *err);

#endif
