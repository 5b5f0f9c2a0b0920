/* `alignd pack`: packs the weights of model folders into files there, which loading maps (model/weights/panels.h). */
#ifndef ALIGND_PACK_H
#define ALIGND_PACK_H

#include "server/options.h"

/* Says on stdout what it has written. A folder whose files are not its manifest's is not packed. -1: the message names the folder;
 * those before it are packed. */
int pack_run(const struct options *options, struct error *err);

#endif
