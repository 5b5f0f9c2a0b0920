/* What the heads of a transformer looked at. Nothing is kept of it while a sentence is decoded: once its search has ended, the best
 * hypothesis goes through the network once more. Rows do not influence each other, so these are, to the bit, the weights with which
 * it was found; and a sentence that does not want them costs nothing. */
#ifndef ALIGND_LOOKS_H
#define ALIGND_LOOKS_H

#include "model/sentence.h"

enum looks_part { LOOKS_ENCODER, LOOKS_DECODER, LOOKS_CROSS, LOOKS_PARTS };

/* So many layers of so many heads; 0, 0 where the network has none. weights: as looks_row reads them. */
struct look_set {
    size_t layers, heads;
    float *weights;
};

struct looks {
    size_t source, target; /* T; n, with </s> if the hypothesis ended */
    struct look_set parts[LOOKS_PARTS];
};

/* The weights of one head for row i, and how many: of a source token i all T; of the step of target token i all T source tokens
 * (cross), or the i + 1 that had been read by then (decoder): the start, and the i tokens before it. Each row sums to 1. */
const float *looks_row(const struct looks *looks, enum looks_part part, size_t layer, size_t head, size_t i, size_t *count);

/* True if the translator has heads to look at. */
bool looks_there(const struct translator *translator);

/* Of a sentence that wants them, before it leaves its batch: sets sentence->looks, in its arena. Scratch is released. -1 with
 * ERROR_MEMORY. */
int looks_end(struct sentence *sentence, struct arena *scratch, struct error *err);

#endif
