/* Converts decoded sentences to text, words and the links between them, and finds omissions: everything that JSON replies,
 * documents and the batch modes have in common. All results are in the caller's arena. */
#ifndef ALIGND_RENDER_H
#define ALIGND_RENDER_H

#include "server/decode/request.h"
#include <stdio.h>

/* ---- text ---- */

/* The answer to one text: the best hypotheses of its sentences, with the white space of the source between them. */
struct rendered {
    char *text; /* NUL-terminated */
    size_t length;
    struct rendering *sentences; /* [text.count] */
    size_t *begins;              /* [text.count] where each starts in text */
};

/* Every sentence must have hypotheses. */
int render_text(const struct text *text, struct arena *arena, struct rendered *out, struct error *err);

/* Returns the source bytes between the end of sentence i - 1 and the start of sentence i; i == count: those after the last. */
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

/* Finds the words of a sentence and of a hypothesis. A long run of words within a token is one word. */
int render_words(const struct sentence *sentence, enum word_kind kind, const struct hypothesis *hypothesis,
                 const struct rendering *rendering, struct arena *arena, struct word_sides *out, struct error *err);

/* Weights between words. */
struct word_matrix {
    size_t source_count, target_count;
    float *weights; /* [target_count, source_count] */
    float *ends;    /* [target_count] the weight of the source's </s>: with it, rows have the sums of the tokens' rows */
    bool merged;    /* of two models (links_merge) */
};

/* Merges the rows of a hypothesis (its attention or alignment): they are summed over the pieces of a source word and averaged over
 * those of a target word. Of a piece with several words each gets its share; if the other side's piece has as many words, each gets
 * its own. */
int render_merge(const struct word_sides *sides, const float *const *rows, struct arena *arena, struct word_matrix *out,
                 struct error *err);

/* Finds the source token (or word) that a target token is aligned with: of n source tokens without </s>, the one with the most
 * weight. Returns false if </s> has half of the weight or more (end), or if no token has any: the target token is then unaligned,
 * or the model's window (attention.window, attention.source_depth) shows only </s>. */
bool render_aligned(const float *row, size_t n, float end, size_t *j);

/* ---- links between words ----
 *
 * The weights of an alignment head are an alignment. Attention is not; these kinds of links lower its alignment error rate
 * (weights/alignment/align.py measures it; weights/RESULTS.md, tables g1 and g2). */

struct links_kind;

#define LINKS_KINDS "best, mutual, balanced or several"

/* "best": the best source word of each target word. "mutual": those of them that are also the source word's best. "balanced": the
 * same after the columns and rows were brought to sum 1 in turn (Sinkhorn), so that a source word that attracts every step loses
 * its lead. "several": the best of each target word if it has at least half of the weight, and the best of each source word if that
 * gives it at least a fifth, so that a compound can have a link with each word that it stands for; of two models, the best of
 * either side if it has at least 0.3 (weights/EXPERIMENTS.md has the measurement). Returns NULL for any other name. */
const struct links_kind *links_kind_find(const char *name);

/* Finds the weights between the words of a sentence and its best hypothesis: the alignment head's, or those of attention, in which
 * </s> has no meaning and counts as 0. */
int links_find(const struct sentence *sentence, const struct word_sides *sides, struct arena *arena, struct word_matrix *out,
               struct error *err);

/* Merges two models of opposite directions: weights become the geometric mean of both; except for "several", with each target
 * word's at sum 1 in either, </s> left out. Returns false, with nothing changed, if the models see other words in the texts. */
bool links_merge(const struct links_kind *kind, struct word_matrix *words, const struct word_matrix *reverse);

/* Changes the weights; called once, before links_make. diagonal: balanced links prefer words of like places first, which attention
 * needs. */
void links_prepare(const struct links_kind *kind, struct word_matrix *words, bool diagonal);

struct link {
    size_t source, target;
};

struct links {
    struct link *all; /* [count], those of a target word side by side, in the order of the words */
    size_t count;
};

/* Finds the links, in the arena. Returns -1 with ERROR_MEMORY. */
int links_make(const struct links_kind *kind, const struct word_matrix *words, struct arena *arena, struct links *out,
               struct error *err);

/* A decoded pair of texts, and the arena to work in. */
struct links_direction {
    const struct sentence *sentence; /* with hypotheses */
    struct arena *arena;
};

/* Prints links in Pharaoh format, "source-target" separated by spaces, between words as white space separates them. directions [1
 * or 2]: the second is the pair seen by a model of the opposite direction; if that sees other words, the first counts alone. */
int links_print(const struct links_kind *kind, const struct links_direction *directions, size_t count, FILE *out,
                struct error *err);

/* ---- omissions ---- */

/* The source tokens without </s>, and those of them that are left out: all target tokens together give them less than a fifth of
 * one alignment weight. The weight that a target token gives </s> is not counted; its other weights are scaled to sum 1. */
struct omission {
    size_t tokens, left;
};

/* Adds the tokens of an alignment: a row for each token of a translation [target], in which the weights at source are those of the
 * sentence's own tokens. held [source.end - source.begin]: tokens that are copied unchanged and therefore not left out; NULL: none.
 * The arena is used for scratch memory only. Returns -1 with ERROR_MEMORY. */
int omission_add(const float *const *rows, size_t target, struct span source, const bool *held, struct arena *arena,
                 struct omission *sum, struct error *err);

/* Returns whether much was left out: more than three eighths of eight tokens or more. weights/EXPERIMENTS.md says how often this is
 * true of whole translations and of halves (measured by python3 -m weights.evaluation.warnings). */
bool omission_is_much(const struct omission *sum);

#endif
