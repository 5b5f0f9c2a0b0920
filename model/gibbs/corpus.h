/* Sentence pairs as numbers: what the sampler reads. */
#ifndef ALIGND_GIBBS_CORPUS_H
#define ALIGND_GIBBS_CORPUS_H

#include "model/base/error.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A sentence with more words is read as one without any: a link's place shall fit a byte, and such
 * pairs teach little. */
enum { CORPUS_LONGEST = 200, CORPUS_MAX_WORD = (1 << 24) - 1 };

struct side {
    uint32_t *words;     /* all sentences end to end, each word 1..CORPUS_MAX_WORD */
    size_t *starts;      /* [pairs + 1] */
    uint32_t vocabulary; /* largest word + 1 */
};

struct corpus {
    size_t pairs;
    struct side sides[2];
};

/* Reads lines `numbers TAB numbers`, the numbers separated by spaces, to the file's end. A pair
 * with an empty side, or one over CORPUS_LONGEST words, is kept with both sides empty. Returns 0,
 * or -1 with ERROR_FORMAT, which names the line, ERROR_FILE or ERROR_MEMORY. corpus_done releases
 * the contents. */
int corpus_read(FILE *file, struct corpus *corpus, struct error *err);
void corpus_done(struct corpus *corpus);

static inline size_t side_length(const struct side *side, size_t pair) {
    return side->starts[pair + 1] - side->starts[pair];
}

static inline const uint32_t *side_words(const struct side *side, size_t pair) {
    return side->words + side->starts[pair];
}

#endif
