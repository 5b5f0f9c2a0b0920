/* This module converts foreign models to model folders: Marian's and Nematus's, OPUS-MT's and
 * Firefox's packages, Hugging Face's folders of MarianMT, M2M-100 and NLLB-200, CTranslate2's
 * folders and the packages of Argos that contain one. Foreign files are never executed, and the
 * folder appears only when it is complete. */
#ifndef ALIGND_IMPORT_H
#define ALIGND_IMPORT_H

#include "model/base/error.h"
#include "model/import/source.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The folder that was made. */
struct import_made {
    char *folder; /* malloc'ed */
    uint64_t parameters;
};

struct import_options {
    const char *const *paths; /* [path_count] files, folders or archives of one model */
    size_t path_count;
    const char *into; /* the folder in which the model folder is made */
    const char *name; /* the model folder's name; NULL: from the languages or the first path */
    const char *from,
        *to; /* BCP-47 codes; NULL: from metadata.json or the names of the files, otherwise und */
    const char *storage;     /* number type of the matrices: float32, float16, bfloat16, int8; NULL:
                                int8 where the file is int8, else float32 */
    const char *preparation; /* none or opus; NULL: opus for models of OPUS-MT's kind */
    const char *alignment;   /* trained or untrained; NULL: as the files say */
    size_t max_source_tokens; /* 0: as the decoder's options state, otherwise 128 for models of
                                 Bergamot's kind, 512 for those of OPUS-MT's, Hugging Face's and
                                 CTranslate2's, 100 for others */
    double max_target_ratio;  /* 0: as the decoder's options state, otherwise 3 */
    const char *licence;      /* the model's licence if its files state none; NULL: not given */
    bool unknowns;            /* searches may choose <unk> */
    bool no_shortlist;        /* omit the shortlist */
    size_t shortlist_first, shortlist_best; /* for a shortlist of text: the number of first ids, and
                                               of targets of a word; 0: 100 */
    const struct import_origin *origin;     /* NULL: it was not downloaded */
    struct import_made *made; /* set after success and owned by the caller; NULL: not wanted */
    const atomic_bool *stop;  /* set by a signal handler to stop; NULL: never */
};

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

/* Refuses a path that does not exist (ERROR_FILE), and an address (ERROR_INPUT). */
int import_refuse(const char *path, struct error *err);

#endif
