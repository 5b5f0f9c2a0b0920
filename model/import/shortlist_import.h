/* Files beside a model: Marian's lexical shortlists, which become shortlist.safetensors (model/weights/shortlist.h), and Bergamot's
 * quality models, which become quality.safetensors (model/weights/quality_weights.h). */
#ifndef ALIGND_IMPORT_SHORTLIST_IMPORT_H
#define ALIGND_IMPORT_SHORTLIST_IMPORT_H

#include "model/import/vocabulary.h"

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
int shortlist_import_write(const char *path, const struct shortlist_import *list, struct arena *arena, struct error *err);

enum { QUALITY_WEIGHTS = 5 };
/* weights: of the mean and the least log-probability of a word's tokens, of how many there are, of the sentence's mean; and a
 * constant. */
int quality_import(const char *path, struct arena *arena, float weights[QUALITY_WEIGHTS], struct error *err);
int quality_import_write(const char *path, const float weights[QUALITY_WEIGHTS], struct arena *arena, struct error *err);

#endif
