/* The batch modes: lines in, lines out, in order, through the same scheduler and workers as the daemon. */
#ifndef ALIGND_OFFLINE_H
#define ALIGND_OFFLINE_H

#include "server/options.h"

/* A document, or lines (offline_modes.h): `alignd translate` and `alignd attention`: stdin to stdout until the end of the input.
 * skipped: lines that are longer than the model takes, told of on stderr; each is empty in the output. -1: what went wrong; lines
 * before it may have been written. */
int offline_run(const struct options *options, size_t *skipped, struct error *err);

#endif
