/* Weights between words -> links between words. Those of an alignment head are an alignment; attention is not: here are the ways
 * that lower its alignment error rate (weights/align.py measures them; weights/RESULTS.md, tables g1 and g2). */
#ifndef ALIGND_LINKS_H
#define ALIGND_LINKS_H

#include "server/decode/render.h"
#include <stdio.h>

struct links_kind;

/* "best": each target word's best source word. "mutual": of these the ones that are the source word's best, too. "balanced": the
 * same after the columns and rows were brought to sum 1 in turn (Sinkhorn), so that a source word that attracts every step loses
 * its lead. NULL: not one of these. */
const struct links_kind *links_kind_find(const char *name);

/* The weights between the words of a sentence and its best hypothesis: the alignment head's, or attention, whose weight on </s>
 * says nothing: it counts as 0. All in the arena. */
int links_find(const struct sentence *sentence, const struct word_sides *sides, struct arena *arena, struct word_matrix *out,
               struct error *err);

/* Of two models of opposite directions: words' weights become the geometric mean of both, each target word's taken to
 * sum 1 in either. False, and nothing done: the models see other words in the texts. */
bool links_merge(struct word_matrix *words, const struct word_matrix *reverse);

/* Once, before links_of: changes the weights. diagonal: balanced links prefer words of like places first, which attention needs. */
void links_prepare(const struct links_kind *kind, struct word_matrix *words, bool diagonal);
/* The source word that target word i is linked with, if any. */
bool links_of(const struct links_kind *kind, const struct word_matrix *words, size_t i, size_t *j);

/* A decoded pair of texts, and where to work. */
struct links_direction {
    const struct sentence *sentence; /* with hypotheses */
    struct arena *arena;
};

/* Links in Pharaoh format, "source-target" with a space between them, of words as white space cuts them. directions [1 or 2]: the
 * second is the pair seen by a model of the opposite direction; where it sees other words, the first counts alone. */
int links_print(const struct links_kind *kind, const struct links_direction *directions, size_t count, FILE *out,
                struct error *err);

#endif
