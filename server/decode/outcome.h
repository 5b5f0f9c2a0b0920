/* This module turns decoded sentences into text, words, links between words, and omissions, for
 * JSON replies, documents and the batch modes. A second model may translate the output of the
 * first. A lean request keeps only the outcome of a sentence, in one block, so that a long document
 * takes little more memory than its text. All results are in the caller's arena. */
#ifndef ALIGND_OUTCOME_H
#define ALIGND_OUTCOME_H

#include "server/decode/request.h"
#include <stdio.h>

/* ---- text ---- */

/* The answer to one text: the best hypotheses of its sentences, with the white space of the source
 * between them. */
struct rendered {
    char *text; /* NUL-terminated */
    size_t length;
    struct rendering *sentences; /* [text.count] */
    size_t *begins;              /* [text.count] where each starts in text */
};

/* Every sentence must have hypotheses. */
int render_text(const struct text *text, struct arena *arena, struct rendered *out,
                struct error *err);

/* Returns the source bytes between the end of sentence i - 1 and the start of sentence i; i ==
 * count: those after the last. */
struct span render_gap(const struct text *text, size_t i);

/* ---- words ---- */

/* The words of one side, and which of them each token is part of. */
struct word_side {
    struct span *words; /* [count] bytes in the sentence's source text, or in its rendering */
    size_t count;
    struct word_range *tokens; /* [token_count] */
    size_t token_count;
};

struct word_sides {
    struct word_side source, target;
    bool source_end; /* the last source token is </s> */
};

/* Finds the words of a sentence and of a hypothesis. A long run of words within a token is one
 * word. */
int render_words(const struct sentence *sentence, enum word_kind kind,
                 const struct hypothesis *hypothesis, const struct rendering *rendering,
                 struct arena *arena, struct word_sides *out, struct error *err);

/* Weights between words. */
struct word_matrix {
    size_t source_count, target_count;
    float *weights; /* [target_count, source_count] */
    float *ends; /* [target_count] the weight of the source's </s>: with it, rows have the sums of
                    the tokens' rows */
    bool merged; /* of two models (links_merge) */
};

/* Merges the rows of a hypothesis (its attention or alignment): they are summed over the pieces of
 * a source word and averaged over those of a target word. Of a piece with several words each gets
 * its share; if the other side's piece has as many words, each gets its own. */
int render_merge(const struct word_sides *sides, const float *const *rows, struct arena *arena,
                 struct word_matrix *out, struct error *err);

/* Finds the source token (or word) that a target token is aligned with: of n source tokens without
 * </s>, the one with the most weight. Returns false if </s> has half of the weight or more (end),
 * or if no token has any: the target token is then unaligned, or the model's window
 * (attention.window, attention.source_depth) shows only </s>. */
bool render_aligned(const float *row, size_t n, float end, size_t *j);

/* ---- links between words ----
 *
 * The weights of an alignment head are an alignment. Attention is not; these kinds of links lower
 * its alignment error rate (weights/alignment/align.py measures it; weights/RESULTS.md, tables g1
 * and g2). */

struct links_kind;

#define LINKS_KINDS "best, mutual, balanced or several"

/* "best": the best source word of each target word. "mutual": those of them that are also the
 * source word's best. "balanced": the same after the columns and rows were brought to sum 1 in turn
 * (Sinkhorn), so that a source word that attracts every step loses its lead. "several": the best of
 * each target word if it has at least half of the weight, and the best of each source word if that
 * gives it at least a fifth, so that a compound can have a link with each word that it stands for;
 * of two models, the best of either side if it has at least 0.3 (weights/EXPERIMENTS.md has the
 * measurement). Returns NULL for any other name. */
const struct links_kind *links_kind_find(const char *name);

/* Finds the weights between the words of a sentence and its best hypothesis: those of the alignment
 * head, or else of attention, in which </s> has no meaning and counts as 0. */
int links_find(const struct sentence *sentence, const struct word_sides *sides, struct arena *arena,
               struct word_matrix *out, struct error *err);

/* Merges the weights of two models of opposite directions by their geometric mean. Except for
 * "several", each target word's weights, without </s>, are first normalised to sum 1 in both.
 * Returns false, and changes nothing, if the models split the texts into different words. */
bool links_merge(const struct links_kind *kind, struct word_matrix *words,
                 const struct word_matrix *reverse);

/* Changes the weights; called once, before links_make. diagonal: balanced links first prefer words
 * in similar places, which attention needs. */
void links_prepare(const struct links_kind *kind, struct word_matrix *words, bool diagonal);

struct link {
    size_t source, target;
};

struct links {
    struct link *all; /* [count], those of a target word side by side, in the order of the words */
    size_t count;
};

/* Finds the links, in the arena. Returns -1 with ERROR_MEMORY. */
int links_make(const struct links_kind *kind, const struct word_matrix *words, struct arena *arena,
               struct links *out, struct error *err);

/* A decoded pair of texts, and the arena to work in. */
struct links_direction {
    const struct sentence *sentence; /* with hypotheses */
    struct arena *arena;
};

/* Prints links in Pharaoh format, "source-target" separated by spaces, between words as white space
 * separates them. directions [1 or 2]: the second is the pair in a model of the opposite direction;
 * if that splits the texts into different words, only the first counts. */
int links_print(const struct links_kind *kind, const struct links_direction *directions,
                size_t count, FILE *out, struct error *err);

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

/* Sets letters [the sentence's own tokens] to the number of letters of each. A wide one, such as a
 * Chinese character, counts three times. Tokens of opaque runs are copied, so that they have none.
 */
void omission_letters(const struct sentence *sentence, size_t *letters);

/* Adds the tokens of an alignment: a row for each token of a translation [target], in which the
 * weights at source are those of the sentence's own tokens. letters [source.end - source.begin]:
 * see omission_letters. The arena is used for scratch memory only. Returns -1 with ERROR_MEMORY. */
int omission_add(const float *const *rows, size_t target, struct span source, const size_t *letters,
                 struct arena *arena, struct omission *sum, struct error *err);

/* ---- translation through a third language ----
 *
 * A text that names a second model is decoded twice: by its own model, then the translation of each
 * sentence by the second model. The result is composed as if one model had read the first language
 * and written the last: tokens and places are the source's, hypotheses are the second model's, and
 * attention and alignment lead from the one to the other:
 *
 *     p(source j | target t) = sum over the pivot's tokens of p(j | q) p(q | t)
 *
 * A token that the second model read corresponds to those that the first wrote as far as they share
 * bytes. The weight of its </s> is that of the source's.
 *
 * Texts that differ only in the second model are twins (request.h): the first model decodes them
 * once. */

/* Returns whether the jobs of the request have succeeded and some of its texts must be decoded
 * again. */
bool pivot_goes_on(const struct request *request);
/* Replaces the ended jobs by those of the second decoding. Returns -1 with ERROR_LENGTH (a
 * translation is longer than the second model takes), ERROR_INPUT or ERROR_MEMORY. */
int pivot_go_on(struct request *request, struct error *err);
/* Composes the results of both decodings, if there are two. Call it once their jobs have succeeded,
 * before the answer is written. Returns -1 with ERROR_MEMORY. */
int pivot_compose(struct request *request, struct error *err);

/* ---- judgements and outcomes ---- */

/* The facts about a sentence from which its text gets warnings (server/api/warnings.c). */
struct judgement {
    bool untranslated;
    size_t unknown, tokens; /* of the text's own tokens */
    struct omission omission;
    struct doubt doubt; /* its words are those of the sentence's translation; an outcome keeps none
                           of them */
    struct check_lists lists[CHECKS]; /* what each side has and the other lacks */
};

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
    uint32_t length, word_count, link_count;
    char text[]; /* [length] NUL-terminated; then the words, the links, and the lists as strings */
};

/* Returns the words [word_count] of the outcome's text. */
static inline const struct outcome_place *outcome_words(const struct outcome *outcome) {
    return (const void *)(outcome->text + (outcome->length / 4 + 1) * 4);
}
static inline const struct outcome_link *outcome_links(const struct outcome *outcome) {
    return (const void *)(outcome_words(outcome) + outcome->word_count);
}

/* Judges a decoded sentence. first: the sentence of the first of two models, or NULL. The results
 * are in the arena, or the sentences'. Returns -1 with ERROR_MEMORY. */
int judgement_make(const struct request *request, const struct text *text,
                   const struct sentence *sentence, const struct sentence *first,
                   struct arena *arena, struct judgement *out);

/* True if the translation of the text's sentence i lacks a number or a sign of its source. */
bool judgement_lacks(const struct text *text, size_t i);

/* Reads these facts from an outcome; the lists are in the arena. Returns -1 with ERROR_MEMORY. */
int outcome_judgement(const struct outcome *outcome, struct arena *arena, struct judgement *out);

/* Makes the outcome of a decoded sentence, in the arena. lock: held while the arena is used; NULL:
 * the caller alone uses it. placed: with words and links. judgement: copied; NULL: none. Returns
 * NULL if memory runs out. */
struct outcome *outcome_make(const struct sentence *sentence, bool placed,
                             const struct judgement *judgement, struct arena *arena,
                             pthread_mutex_t *lock, struct arena *scratch);

/* ---- lean requests ---- */

/* Called when a job's sentence was decoded and needs no second attempt by the same model. Returns
 * true if a second model must decode the translation, which is now the job's sentence. */
bool outcome_goes_on(struct job *job);
/* Called when the job is about to end: makes its outcome and frees its sentences. */
void outcome_take(struct job *job);

#endif
