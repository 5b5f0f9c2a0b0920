/* An outcome is what a request keeps of a sentence that was decoded: its text, what warnings say,
 * for elements that must be placed, words and links, and what the answer shows of it
 * (request.show). So a long document or text takes little more memory than its answer. A request
 * that keeps sentences (request.keeps) has these as well. */
#ifndef ALIGND_OUTCOME_H
#define ALIGND_OUTCOME_H

#include "server/decode/judgement.h"

/* A place, in half of the memory of a span. */
struct outcome_place {
    uint32_t begin, end;
};
struct outcome_link {
    struct outcome_place source, target; /* in the sentence, and in the outcome's text */
};

/* The result of a sentence in one block, since a document has thousands. */
struct outcome {
    double score, log_prob, estimate; /* estimate: as the following, of struct judgement */
    uint32_t unknown, tokens, omission_tokens, omission_left;
    struct {
        uint32_t source_count, target_count;
    } lists[CHECKS];
    bool untranslated, doubtful;
    uint8_t finish; /* enum finish */
    uint32_t steps; /* steps of the decoder */
    uint32_t length, word_count, link_count, doubt_count;
    uint32_t shown, shown_length; /* where in text the bytes are that request.show wrote; 0: none */
    uint32_t first; /* where in text the translation of the first of two models is; 0: none */
    char text[];    /* [length] NUL-terminated; then the words, the links, the doubtful words, the
                       lists as strings, and the other two, which are NUL-terminated, too */
};

/* Return the words [word_count], the links and the doubtful words of the outcome's text. */
static inline const struct outcome_place *outcome_words(const struct outcome *outcome) {
    return (const void *)(outcome->text + (outcome->length / 4 + 1) * 4);
}
static inline const struct outcome_link *outcome_links(const struct outcome *outcome) {
    return (const void *)(outcome_words(outcome) + outcome->word_count);
}
static inline const struct outcome_place *outcome_doubts(const struct outcome *outcome) {
    return (const void *)(outcome_links(outcome) + outcome->link_count);
}

/* Returns what request.show wrote, [shown_length], or NULL. */
static inline const char *outcome_shown(const struct outcome *outcome) {
    return outcome->shown > 0 ? outcome->text + outcome->shown : NULL;
}

/* Called when the job is about to end: makes its outcome, and frees its sentences unless the
 * request keeps them; then they are in its text. */
void outcome_take(struct job *job);
/* Gives a twin the outcome of the original job. */
void outcome_share(struct job *twin);

/* Reads the facts of a judgement from an outcome; the lists are in the arena. Returns -1 with
 * ERROR_MEMORY. */
int outcome_judgement(const struct outcome *outcome, struct arena *arena, struct judgement *out);
/* Returns true if the translation lacks a number or a sign of its source. */
static inline bool outcome_lacks(const struct outcome *outcome) {
    return outcome->lists[CHECK_NUMBERS].source_count + outcome->lists[CHECK_SIGNS].source_count >
           0;
}

/* The answer to one text: the best hypotheses of its sentences, with the white space of the source
 * between them. */
struct rendered {
    char *text; /* NUL-terminated */
    size_t length;
    struct rendering
        *sentences; /* [text.count] without tokens, unless the request keeps sentences */
    size_t *begins; /* [text.count] where each starts in text */
};

/* Every sentence must have been decoded. */
int outcome_text(const struct text *text, struct arena *arena, struct rendered *out,
                 struct error *err);

/* Returns the source bytes between the end of sentence i - 1 and the start of sentence i; i ==
 * count: those after the last. */
struct span outcome_gap(const struct text *text, size_t i);

/* Joins the translations by the first of two models, of a text whose request keeps sentences or
 * what the answer shows of them. */
int outcome_first_text(const struct text *text, struct arena *arena, struct rendered *out);

#endif
