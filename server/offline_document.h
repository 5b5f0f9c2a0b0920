/* `alignd translate --format FORMAT FILE`: a document in, the translated
 * document out. */
#ifndef ALIGND_OFFLINE_DOCUMENT_H
#define ALIGND_OFFLINE_DOCUMENT_H

#include "server/decode/scheduler.h"
#include "server/options.h"

/* Reads options->file (NULL: stdin) as options->format (NULL: as its name
 * tells), has it decoded by the scheduler's workers and writes it to stdout.
 * variant: of the model's; NULL: none. -1: what went wrong; nothing has been
 * written. */
int offline_document(const struct options *options, struct loaded_model *model, const char *variant, struct scheduler *scheduler,
                     struct error *err);

#endif
