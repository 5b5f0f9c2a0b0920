/* The model folder that is written: config.json with its defaults, the weights, the tokenizer's files, the card, the manifest. */
#ifndef ALIGND_IMPORT_FOLDER_H
#define ALIGND_IMPORT_FOLDER_H

#include "model/import/parts.h"
#include "model/import/shortlist_import.h"
#include "model/import/source.h"
#include "model/import/tensors.h"

/* A model about to be written. */
struct conversion {
    json_t *config; /* owned; its defaults are not filled in */
    struct container container;
    struct tensors tensors;
    struct tokenizer_files tokenizer;
    const char *from; /* what it was converted from, for its card */
    struct origin origin;
    const struct import_origin *downloaded; /* NULL: it was not */
    struct shortlist_import shortlist;
    float quality[QUALITY_WEIGHTS];
    struct ready *lists; /* [list_count] of languages, which are the shortlist where there is no other */
    size_t list_count;
    size_t vocabulary; /* of the target of a model of many languages */
    bool has_shortlist, has_quality;
    enum storage_kind storage;
};

/* Frees what it owns. Accepts NULL. */
void conversion_done(struct conversion *conversion);

/* Fills in the defaults of weights/config.def. -1 with ERROR_MEMORY. */
int config_fill(json_t *config, struct error *err);

/* The text of config.json, whose numbers have as few digits as they need: malloc'ed; NULL if memory is out. */
char *config_text(const json_t *config);

/* Writes the files into the folder, which exists and is empty, each to the disk. weights: bytes of model.safetensors. -1 with
 * ERROR_FILE, ERROR_FORMAT (the configuration cannot be built, or a tensor cannot be read) or ERROR_MEMORY. */
int folder_write(const char *folder, struct conversion *conversion, struct arena *arena, import_stop stop, uint64_t *weights,
                 struct error *err);
/* Renames the complete folder: everything in it is on the disk, and so is the name. Returns -1 with ERROR_FILE if the name already
 * exists. */
int folder_publish(const char *folder, const char *out, struct error *err);
/* Removes the folder with its content. */
void folder_remove(const char *folder);

#endif
