/* Checks whether the values and signs of a sentence's amounts are in its translation and, if not, makes a second attempt in which
 * each amount is held and written as in the target language.
 *
 *   batch_step hands a sentence back -> amounts_try_again -> the second is decoded like any other -> amounts_choose
 *
 * This concerns sentences with digits, in searches that can hold something (beam and greedy), for models whose languages' numbers
 * ICU knows. A sentence has at most one second attempt. */
#ifndef ALIGND_AMOUNTS_H
#define ALIGND_AMOUNTS_H

#include "model/glossary.h"
#include "model/sentence.h"

/* Compares the amounts of a sentence that has been decoded. Returns NULL if they agree or cannot be corrected. Otherwise the result
 * is a second sentence in the first one's arena, to be decoded for the same owner and then given to amounts_choose. lexicon: of the
 * client's glossary, or NULL; it outlives the sentences. */
struct sentence *amounts_try_again(struct sentence *sentence, const struct lexicon *lexicon);

/* Puts the better of the two into *sentence and ends the other one. The second attempt need not have been decoded. */
void amounts_choose(struct sentence *sentence, struct sentence *second);

#endif
