/* The batch modes, `alignd translate` and `alignd attention`: lines or a document, through the same scheduler and workers as the
 * daemon. */
#ifndef ALIGND_OFFLINE_H
#define ALIGND_OFFLINE_H

#include "server/options.h"

/* Translates the document options->file, or else the lines of stdin, in order, until the end of the input. skipped: lines that are
 * longer than the model takes; they are reported on stderr, and empty in the output. -1: earlier lines may have been written; of a
 * document nothing has. */
int offline_run(const struct options *options, size_t *skipped, struct error *err);

#endif
