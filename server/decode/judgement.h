/* Judgements of translated sentences, from which warnings follow (server/api/warnings.c). */
#ifndef ALIGND_JUDGEMENT_H
#define ALIGND_JUDGEMENT_H

#include "server/decode/request.h"

/* ---- omissions ---- */

/* Counts the source tokens without </s>, and those that are left out with their whole clause: all
 * target tokens together give each of them less than a tenth of one alignment weight, at most one
 * other token stands between two, and together they have at least 14 letters. A clause or a phrase
 * is missing where there is one. The weight that a target token gives </s> is not counted; its
 * other weights are scaled to sum 1. weights/EXPERIMENTS.md says how often this is true of whole
 * translations and of shortened ones. */
struct omission {
    size_t tokens, left;
};

/* The alignment of a translation with its source. */
struct omission_rows {
    const float *const *rows; /* [target] for each token of the translation */
    size_t target;
    struct span source;    /* the sentence's own tokens in a row */
    const size_t *letters; /* [source.end - source.begin] how many letters each has; those of
                              opaque runs, which are copied, have none */
};

/* Adds the tokens of an alignment. The arena is used for scratch memory only. Returns -1 with
 * ERROR_MEMORY. */
int omission_add(const struct omission_rows *alignment, struct arena *arena, struct omission *sum,
                 struct error *err);

/* The facts about a sentence from which its text gets warnings (server/api/warnings.c). */
struct judgement {
    bool untranslated;
    size_t unknown, tokens; /* numbers of the text's own tokens: the unknown ones, and all */
    struct omission omission;
    struct doubt doubt; /* its words are those of the sentence's translation; an outcome keeps none
                           of them */
    struct check_lists lists[CHECKS]; /* what each side has and the other lacks */
};

/* Judges a decoded sentence. first: the sentence of the first of two models, or NULL. The results
 * are in the arena, or the sentences'. Returns -1 with ERROR_MEMORY. */
int judgement_make(const struct request *request, const struct text *text,
                   const struct sentence *sentence, const struct sentence *first,
                   struct arena *arena, struct judgement *out);

#endif
