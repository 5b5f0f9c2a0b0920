/* Links between the words of a sentence and of its translation. All results are in the caller's
 * arena.
 *
 * The weights of an alignment head are an alignment. Attention is not; these kinds of links lower
 * its alignment error rate (weights/alignment/align.py measures it; weights/RESULTS.md, tables g1
 * and g2). */

#ifndef ALIGND_LINKS_H
#define ALIGND_LINKS_H

#include "model/phrase_pairs.h"
#include "server/decode/render.h"
#include <stdio.h>

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

#endif
