/* `alignd import`: makes a model folder of a foreign model (model/import/import.h). */
#ifndef ALIGND_SERVER_IMPORT_H
#define ALIGND_SERVER_IMPORT_H

#include "server/options.h"

/* Says on stdout what it has done. SIGINT, SIGTERM and SIGHUP end it with nothing left behind. Once in a process. */
int import_command(const struct options *options, struct error *err);

#endif
