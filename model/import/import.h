/* This module converts foreign models to model folders: Marian's and Nematus's, OPUS-MT's and
 * Firefox's packages, Hugging Face's folders of MarianMT, M2M-100 and NLLB-200, CTranslate2's
 * folders and the packages of Argos that contain one. Foreign files are never executed, and the
 * folder appears only when it is complete. */
#ifndef ALIGND_IMPORT_H
#define ALIGND_IMPORT_H

#include "model/base/error.h"
#include "model/import/import_options.h"
#include <stddef.h>
#include <stdint.h>

/* Makes the folder INTO/NAME. said: malloc'ed lines that report the result, owned by the caller.
 * Returns -1 with ERROR_INPUT, ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY; all that was written is
 * then removed again, and the message begins with a path. */
int import_run(const struct import_options *options, char **said, struct error *err);

/* Gives a language of the model folder, by its code in config.json, a list of its own with these
 * ids [count]: tensor list.CODE of shortlist.safetensors, which is made if it is missing, and
 * languages.CODE.list of config.json. A list of this name is replaced, and all others stay. Each
 * file is replaced at once, shortlist.safetensors first, so that a reader finds the list that
 * config.json names. The caller updates manifest.json. Only one caller may change a folder at a
 * time. Returns -1 with ERROR_INPUT (the model has no such language, or another one uses a list of
 * this name), ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY. The function is in folder.c. */
int import_put_lists(const char *folder, const char *code, const int32_t *ids, size_t count,
                     struct error *err);

/* The tensors of an alignment head (struct alignment in model/model.h). */
struct import_head {
    size_t size, query_in, key_in;
    const float *query, *bias, *key; /* [size, query_in], [size], [size, key_in] */
};

/* Gives the model folder this alignment head: float32 tensors in model.safetensors and
 * alignment.size of config.json. A head that is there is replaced; all other tensors keep their
 * bytes. Each file is replaced at once, model.safetensors first. The caller updates manifest.json.
 * Only one caller may change a folder at a time. Returns -1 with ERROR_FILE, ERROR_FORMAT or
 * ERROR_MEMORY; before the first file is replaced, nothing has changed. The function is in
 * folder.c. */
int import_put_head(const char *folder, const struct import_head *head, struct error *err);

#endif
