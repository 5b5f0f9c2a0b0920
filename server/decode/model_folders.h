/* The model folders in a directory. */
#ifndef ALIGND_MODEL_FOLDERS_H
#define ALIGND_MODEL_FOLDERS_H

#include "model/base/error.h"
#include "server/base/name_list.h"

/* Adds their paths, DIRECTORY/NAME, by name: of what is in it all that has a config.json, and is not hidden. -1 with ERROR_FILE (it
 * cannot be opened) or ERROR_MEMORY; some may have been added then. */
int model_folders_list(struct name_list *list, const char *directory, struct error *err);

#endif
