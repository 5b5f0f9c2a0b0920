/* The result of a decoded sentence: its translation as text, the words and links that place elements in it, and the data of its
 * warnings. A lean request keeps nothing else of its sentences, so a long document takes little more memory than its text. */
#ifndef ALIGND_OUTCOME_H
#define ALIGND_OUTCOME_H

#include "server/decode/render.h"

/* The facts about a sentence that decide the warnings of its text (server/api/warnings.c). */
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

/* One block, since a document has thousands. */
struct outcome {
    double score, log_prob, estimate; /* estimate: as the following, of struct judgement */
    uint32_t unknown, tokens, omission_tokens, omission_left, source_count, target_count;
    bool untranslated, doubtful;
    uint8_t finish; /* enum finish */
    uint32_t length, word_count, link_count;
    char text[]; /* [length] NUL-terminated; then the words, the links, and the amounts of both sides as strings */
};

/* [word_count] the words of its text. */
static inline const struct outcome_place *outcome_words(const struct outcome *outcome) {
    return (const void *)(outcome->text + (outcome->length / 4 + 1) * 4);
}
static inline const struct outcome_link *outcome_links(const struct outcome *outcome) {
    return (const void *)(outcome_words(outcome) + outcome->word_count);
}

/* Judges a decoded sentence. first: what the first of two models made, or NULL. The results are in the arena, or the sentences'.
 * Returns -1 with ERROR_MEMORY. */
int judgement_make(const struct request *request, const struct text *text, const struct sentence *sentence,
                   const struct sentence *first, struct arena *arena, struct judgement *out);

/* Reads these facts from an outcome; the lists of amounts are in the arena. Returns -1 with ERROR_MEMORY. */
int outcome_judgement(const struct outcome *outcome, struct arena *arena, struct judgement *out);

/* The outcome of a decoded sentence, in the arena; lock: held while that is used; NULL: nobody else uses it. placed: with words and
 * links. judgement: copied; NULL: none. Returns NULL if memory is out. */
struct outcome *outcome_make(const struct sentence *sentence, bool placed, const struct judgement *judgement, struct arena *arena,
                             pthread_mutex_t *lock, struct arena *scratch);

/* ---- lean requests ---- */

/* Called when a sentence of a job was decoded, and nothing else is to be decoded in its place by the same model. Returns true if
 * the second of two models is to decode the translation: that is the job's sentence now. */
bool outcome_goes_on(struct job *job);
/* Called when the job is about to end: makes its outcome and frees its sentences. */
void outcome_take(struct job *job);

/* ---- translation through a third language ----
 *
 * A text that names a second model is decoded twice: by its own model, then the translation of each sentence by the second model.
 * The result is composed as if one model had read the first language and written the last: tokens and places are the source's,
 * hypotheses are the second model's, and attention and alignment lead from the one to the other:
 *
 *     p(source j | target t) = sum over the pivot's tokens of p(j | q) p(q | t)
 *
 * A token that the second model read corresponds to those that the first wrote as far as they share bytes. The weight of its </s>
 * is that of the source's.
 *
 * Texts that differ only in the second model are twins (request.h): the first model decodes them once. */

/* Returns whether the jobs of the request have succeeded and some of its texts must be decoded again. */
bool pivot_goes_on(const struct request *request);
/* Replaces the ended jobs by those of the second decoding. Returns -1 with ERROR_LENGTH (a translation is longer than the second
 * model takes), ERROR_INPUT or ERROR_MEMORY. */
int pivot_go_on(struct request *request, struct error *err);
/* Call this once these have succeeded, before the answer is written. Does nothing if there is nothing to compose. Returns -1 with
 * ERROR_MEMORY. */
int pivot_compose(struct request *request, struct error *err);

#endif
