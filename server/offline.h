/* The batch modes, `alignd translate` and `alignd attention`: they process lines or a document with the same scheduler and workers
 * as the daemon. */
#ifndef ALIGND_OFFLINE_H
#define ALIGND_OFFLINE_H

#include "server/options.h"

/* Translates the document options->file, or else the lines of stdin, in order, until the end of the input. skipped: the number of
 * lines that are longer than the model accepts; they are reported on stderr and are empty in the output. Returns -1 if the run
 * fails; earlier lines may then have been written, but no part of a document. */
int offline_run(const struct options *options, size_t *skipped, struct error *err);

#endif
