/* What the alignment head (model/network/alignment.h) says of a sentence's hypotheses. Of a sentence that asks for it, and of a
 * model that has a head, the batch keeps behind each attention row what the decoder's top layer put out in that step; the rows are
 * made when the search has ended, of the finished hypotheses alone. Nobody asks: nothing is kept, and nothing is computed. */
#ifndef ALIGND_SOFT_ALIGNMENT_H
#define ALIGND_SOFT_ALIGNMENT_H

#include "model/sentence.h"

/* Floats to be kept of each step: H, or 0. */
size_t soft_alignment_kept(const struct sentence *sentence);

/* True if <unk> is replaced by the alignment, whatever else was asked for: of a source that has unknown words. Without one there is
 * almost never an <unk>; attention serves then, so that ordinary sentences keep nothing. */
bool soft_alignment_replaces(const struct sentence *sentence);

/* Once encoded: the head's keys, from annotations [T, D], kept in the sentence's arena. Scratch is released. -1 with ERROR_MEMORY.
 */
int soft_alignment_begin(struct sentence *sentence, const float *annotations, struct arena *scratch, struct error *err);

/* Once there are hypotheses: sets the alignment of each. As above. */
int soft_alignment_end(struct sentence *sentence, struct arena *scratch, struct error *err);

/* The row [T] of one token that was just decided, in the arena: attention is the row of the step that decided it, with what was
 * kept behind it, and is itself the answer where nothing is. NULL with ERROR_MEMORY. */
const float *soft_alignment_row(const struct sentence *sentence, int token, const float *attention, struct arena *arena,
                                struct error *err);

#endif
