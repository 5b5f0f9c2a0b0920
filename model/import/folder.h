/* The model folder that is written: config.json with its defaults, the weights, the tokenizer's files, the shortlist, the card, the
 * manifest. */
#ifndef ALIGND_IMPORT_FOLDER_H
#define ALIGND_IMPORT_FOLDER_H

#include "model/import/parts.h"
#include "model/import/vocabulary.h"

/* ---- what lies beside a model ----
 * Marian's lexical shortlists, which become shortlist.safetensors (model/weights/shortlist.h), and Bergamot's quality models, which
 * become quality.safetensors (model/weights/weights.h). */

struct shortlist_import {
    int32_t *always, *offsets, *targets; /* in the arena */
    size_t always_count, offset_count, target_count;
};

struct shortlist_options {
    const struct ids *source, *target;
    bool one_list;      /* source and target have one vocabulary: each word is on its own list */
    size_t first, best; /* for text: the number of first ids that are on every list, and of targets of each source word */
};

/* Binary (lex.50.50.s2t.bin) or text (lex.s2t), by the first bytes and the name. Returns -1 with ERROR_FILE or ERROR_FORMAT;
 * messages begin with the path. */
int shortlist_import(const char *path, const struct shortlist_options *options, struct arena *arena, struct shortlist_import *out,
                     struct error *err);

enum { QUALITY_WEIGHTS = 5 };
/* weights: of the mean and the least log-probability of a word's tokens, of how many there are, of the sentence's mean; and a
 * constant. */
int quality_import(const char *path, struct arena *arena, float weights[QUALITY_WEIGHTS], struct error *err);

/* ---- the folder ---- */

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
/* Adds the languages of a model of many, a section of config.json that becomes the conversion's, with lists of target ids for them.
 * -1 with ERROR_MEMORY. */
int conversion_add_languages(struct conversion *conversion, json_t *languages, const struct tokens *target, struct arena *arena,
                             struct error *err);

/* Writes the files into the folder, which exists and is empty, each to the disk. weights: bytes of model.safetensors. -1 with
 * ERROR_FILE, ERROR_FORMAT (the configuration cannot be built, or a tensor cannot be read) or ERROR_MEMORY. */
int folder_write(const char *folder, struct conversion *conversion, struct arena *arena, import_stop stop, uint64_t *weights,
                 struct error *err);
/* Renames the complete folder: everything in it is on the disk, and so is the name. Returns -1 with ERROR_FILE if the name already
 * exists. */
int folder_publish(const char *folder, const char *out, struct error *err);
/* Removes the folder with its content. */
void folder_remove(const char *folder);

/* Gives a language of the model, by its code in config.json, a list of its own with these ids [count]: tensor list.CODE of
 * shortlist.safetensors, which is made if it is not there, and languages.CODE.list of config.json. A list of this name is replaced,
 * all others stay. Each file is replaced at once, shortlist.safetensors first, so that a reader finds the list that config.json
 * names; manifest.json is the caller's. One caller at a time for a folder. Returns -1 with ERROR_INPUT (the model has no such
 * language, or another one uses a list of this name), ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY. */
int lists_put(const char *folder, const char *code, const int32_t *ids, size_t count, struct error *err);

#endif
