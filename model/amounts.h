/* The amounts of a sentence in its translation: whether their values and signs have come through, and a second attempt if they have
 * not, in which each is held and written as the target language writes it.
 *
 *   batch_step hands a sentence back -> amounts_try_again -> the second is decoded like any other -> amounts_choose
 *
 * Only sentences with digits are looked at, of searches that can hold something (beam and greedy), of models whose languages ICU
 * knows the numbers of. A sentence has one second attempt at most. */
#ifndef ALIGND_AMOUNTS_H
#define ALIGND_AMOUNTS_H

#include "model/lexicon.h"
#include "model/sentence.h"

/* Compares the amounts of a sentence that has been decoded. NULL: they agree, or there is nothing more to do about it. Otherwise a
 * second sentence, to be decoded for the same owner and then given to amounts_choose: it lives in the first one's arena.
 * lexicon: of the client's glossary; NULL: there is none; it outlives the sentences. */
struct sentence *amounts_try_again(struct sentence *sentence, const struct lexicon *lexicon);

/* The second has been decoded, or not: the better of the two is in *sentence now, and the other one has ended. */
void amounts_choose(struct sentence *sentence, struct sentence *second);

#endif
