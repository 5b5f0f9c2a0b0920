/* What the alignment head (model/network/attention.h) says of a sentence's hypotheses. Of a sentence that asks for it, and of a
 * model that has a head, the batch keeps what the decoder's top layer puts out in each step until the sentence leaves; the rows are
 * made when the search has ended, of the finished hypotheses alone. Nobody asks: nothing is kept, and nothing is computed. */
#ifndef ALIGND_SOFT_ALIGNMENT_H
#define ALIGND_SOFT_ALIGNMENT_H

#include "model/sentence.h"

/* Once encoded: the head's keys, from annotations [T, D], kept while the sentence is in a batch. Scratch is released. -1 with
 * ERROR_MEMORY. */
int soft_alignment_begin(struct sentence *sentence, const float *annotations, struct arena *scratch, struct error *err);

/* Keeps what the top layer put out [H] in the step with this attention row: there, or behind what the step added to its row's past.
 * Does nothing where nobody asks. */
void soft_alignment_keep(const struct sentence *sentence, float *attention, const float *top);

/* Once there are hypotheses, before the sentence leaves: sets the alignment of each, in its arena. As above. */
int soft_alignment_end(struct sentence *sentence, struct arena *scratch, struct error *err);

/* The row [T] of one token that was just decided, in the arena, while the sentence is in a batch: attention is the row of the step
 * that decided it, and is itself the answer where nothing is kept. NULL with ERROR_MEMORY. */
const float *soft_alignment_row(const struct sentence *sentence, int token, const float *attention, struct arena *arena,
                                struct error *err);

#endif
