/* `alignd import`: converts another toolkit's model to a model folder (model/import/import.h). */
#ifndef ALIGND_SERVER_IMPORT_H
#define ALIGND_SERVER_IMPORT_H

#include "server/options.h"

/* Reports the result on stdout. SIGINT, SIGTERM and SIGHUP end it without leaving files. Call it at most once per process. */
int import_command(const struct options *options, struct error *err);

#endif
