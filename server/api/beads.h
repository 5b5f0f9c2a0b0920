/* Which sentences of a text and of its translation belong together. */
#ifndef ALIGND_BEADS_H
#define ALIGND_BEADS_H

#include "model/text/spans.h"

/* Sentences side by side that translate each other: at least one of each side. */
struct bead {
    size_t source, target;             /* the first of each side */
    size_t source_count, target_count; /* 1-1, 1-2 to 1-4, 2-1 to 4-1, or 2-2 */
};

struct beads {
    struct bead *all; /* [count] */
    size_t count;
};

/* Groups all sentences in order, by their lengths in bytes (Gale and Church 1993, "A Program for
 * Aligning Sentences in Bilingual Corpora"). A sentence that the other side lacks is added to its
 * neighbour's bead. sources, targets: at least one
 * each. *out is in the arena; if one side has more than four times as many sentences as the other,
 * one bead has them all. Takes time and memory O(sources * targets): the caller bounds both.
 * Returns -1 with ERROR_MEMORY. */
int beads_find(const struct spans *sources, const struct spans *targets, struct arena *arena,
               struct beads *out, struct error *err);

#endif
