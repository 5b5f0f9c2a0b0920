/* Lists of target ids in a model folder that already exists (model/weights/shortlist.h). */
#ifndef ALIGND_IMPORT_LISTS_H
#define ALIGND_IMPORT_LISTS_H

#include "model/base/error.h"
#include <stddef.h>
#include <stdint.h>

/* Gives a language of the model, by its code in config.json, a list of its own with these ids [count]: tensor list.CODE of
 * shortlist.safetensors, which is made if it is not there, and languages.CODE.list of config.json. A list of this name is replaced,
 * all others stay. Each file is replaced at once, shortlist.safetensors first, so that a reader finds the list that config.json
 * names; manifest.json is the caller's. One caller at a time for a folder. Returns -1 with ERROR_INPUT (the model has no such
 * language, or another one uses a list of this name), ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY. */
int lists_put(const char *folder, const char *code, const int32_t *ids, size_t count, struct error *err);

#endif
