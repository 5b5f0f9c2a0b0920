/* The weights with which a model attended, computed when a search has ended: the rows of its alignment head
 * (model/network/attention.h) and the weights of a transformer's heads. A sentence that asks for neither keeps and computes
 * nothing.
 *
 * For the alignment head the batch keeps the output of the decoder's top layer in each step until the sentence leaves; rows are
 * made of the finished hypotheses alone. For the heads nothing is kept: the best hypothesis goes through the network again.
 * Rows do not influence each other, so these are, to the bit, the weights with which it was found. */
#ifndef ALIGND_MODEL_ALIGNMENT_H
#define ALIGND_MODEL_ALIGNMENT_H

#include "model/sentence.h"

/* ---- the alignment head ---- */

/* Makes the head's keys from annotations [T, D] of an encoded sentence; they are kept while it is in a batch. Releases scratch.
 * Returns -1 with ERROR_MEMORY. */
int soft_alignment_begin(struct sentence *sentence, const float *annotations, struct arena *scratch, struct error *err);

/* Keeps the top layer's output [H] in the step with this attention row: there, or after what the step added to its row's past. Does
 * nothing if the sentence does not need it. */
void soft_alignment_keep(const struct sentence *sentence, float *attention, const float *top);

/* Sets the alignment of each hypothesis, in the sentence's arena, before the sentence leaves its batch. As soft_alignment_begin. */
int soft_alignment_end(struct sentence *sentence, struct arena *scratch, struct error *err);

/* The row [T] of a token that was just decided, in the arena, while the sentence is in a batch. attention is the row of the step
 * that decided it, and is itself the result if nothing is kept. NULL with ERROR_MEMORY. */
const float *soft_alignment_row(const struct sentence *sentence, int token, const float *attention, struct arena *arena,
                                struct error *err);

/* ---- the heads of a transformer ---- */

enum looks_part { LOOKS_ENCODER, LOOKS_DECODER, LOOKS_CROSS, LOOKS_PARTS };

/* The numbers of layers and of heads in each; 0, 0 if the network has no heads. weights: as looks_row reads them. */
struct look_set {
    size_t layers, heads;
    float *weights;
};

struct looks {
    size_t source, target; /* T; n, with </s> if the hypothesis ended */
    struct look_set parts[LOOKS_PARTS];
};

/* The weights of one head for row i, and their number: for a source token i all T; for the step of target token i all T source
 * tokens (cross), or the i + 1 that had been read by then (decoder): the start, and the i tokens before it. Each row sums to 1. */
const float *looks_row(const struct looks *looks, enum looks_part part, size_t layer, size_t head, size_t i, size_t *count);

/* True if the translator's network has such heads. */
bool looks_there(const struct translator *translator);

/* Sets sentence->looks, in its arena, if the sentence wants them, before it leaves its batch. Releases scratch. Returns -1 with
 * ERROR_MEMORY. */
int looks_end(struct sentence *sentence, struct arena *scratch, struct error *err);

#endif
