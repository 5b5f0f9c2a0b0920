/* The options of an import, and what it reports about the folder that it made. */
#ifndef ALIGND_IMPORT_OPTIONS_H
#define ALIGND_IMPORT_OPTIONS_H

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

#endif
