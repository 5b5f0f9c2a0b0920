/* What stays of a decoded sentence: its translation as text, the words and links that place elements in it, and what warnings say
 * of it. A lean request keeps nothing else of its sentences, so a long document takes little more memory than its text. */
#ifndef ALIGND_OUTCOME_H
#define ALIGND_OUTCOME_H

#include "server/decode/render.h"

/* What the warnings of a text need to know of a sentence (server/api/warnings.c). */
struct judgement {
    bool untranslated;
    size_t unknown, tokens; /* of the text's own tokens */
    struct omission omission;
    bool doubtful; /* only if the request wants warnings that cost time */
    double estimate;
    const char **source, **target; /* [source_count], [target_count] the amounts that have no equal on the other side */
    size_t source_count, target_count;
};

/* A place, in half of the memory of a span. */
struct outcome_place {
    uint32_t begin, end;
};
struct outcome_link {
    struct outcome_place source, target; /* in the request's text, and in the outcome's */
};

struct outcome {
    const char *text; /* [length] NUL-terminated */
    size_t length;
    double score, log_prob;
    enum finish finish;
    const struct outcome_place *words; /* [word_count] of the text */
    const struct outcome_link *links;  /* [link_count] */
    size_t word_count, link_count;
    struct judgement judgement; /* of a lean request */
};

/* Judges a decoded sentence. first: what the first of two models made, or NULL. The results are in the arena, or the sentences'.
 * Returns -1 with ERROR_MEMORY. */
int judgement_make(const struct request *request, const struct text *text, const struct sentence *sentence,
                   const struct sentence *first, struct arena *arena, struct judgement *out);

/* The outcome of a decoded sentence, in one block to be freed. placed: with words and links. judgement: copied; NULL: none. Returns
 * NULL if memory is out. */
struct outcome *outcome_make(const struct sentence *sentence, bool placed, const struct judgement *judgement,
                             struct arena *scratch);

/* ---- lean requests ---- */

/* Called when a sentence of a job was decoded, and nothing else is to be decoded in its place by the same model. Returns true if
 * the second of two models is to decode the translation: that is the job's sentence now. */
bool outcome_goes_on(struct job *job);
/* Called when the job is about to end: makes its outcome and frees its sentences. */
void outcome_take(struct job *job);

#endif
