/* Phrase pairs of a sentence and its translation, from the links between their words.
 *
 * A pair of word ranges is consistent with the links if at least one link is inside both ranges,
 * and none leads from a word inside to a word outside (Och and Ney 2004, "The Alignment Template
 * Approach to Statistical Machine Translation", section 3.1). It is minimal if no other consistent
 * pair lies within it, so that words without a link are never at its edges. Minimal pairs do not
 * overlap on either side. Links that lead across another pair, as those of "ne ... pas" around a
 * verb, are in none. */
#ifndef ALIGND_PHRASE_PAIRS_H
#define ALIGND_PHRASE_PAIRS_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include <stddef.h>

/* Indexes of a source word and of a target word. */
struct link {
    size_t source, target;
};

struct word_span {
    size_t begin, end; /* words, end exclusive */
};

/* Links in any order between `sources` and `targets` words. */
struct word_links {
    const struct link *all; /* [count] */
    size_t count;
    size_t sources, targets;
};

struct phrase_pair {
    struct word_span source, target;
};

struct phrase_pairs {
    struct phrase_pair *all; /* [count] */
    size_t count;
};

/* Gives all minimal consistent pairs in the order of the target, in the arena. Takes time O(sources
 * * (sources + targets) + count) at most, and O(sources + targets + count) if the translation is
 * word for word; memory O(sources + targets). Returns -1 with ERROR_MEMORY. */
int phrase_pairs_find(const struct word_links *links, struct arena *arena, struct phrase_pairs *out,
                      struct error *err);

#endif
