/* What remains of a sentence's search when it leaves its batch: hypotheses, out of all that was looked at. */
#ifndef ALIGND_ANSWER_H
#define ALIGND_ANSWER_H

#include "model/sentence.h"

/* Copies the sentence's hypotheses, and the rows of what they are made of, from the arena of its search into its own: rows that
 * several of them begin with once. The tree and what alignment made are there already. -1 with ERROR_MEMORY, the hypotheses as they
 * were. */
int answer_keep(struct sentence *sentence, struct error *err);

#endif
