/* The mark that ends a sentence: a question stays a question, and an exclamation one.
 *
 * Models sometimes end the translation of "Watch out!" with a full stop, or with nothing. Such a translation gets the mark of its
 * source as its language writes it, in the place of the mark that it has. This happens after the search and costs nothing where the
 * marks agree. The new token stands where the model put the old one: it takes over its attention and its log-probability, so that
 * all sums stay what they are, and has 0 where there was none. What is forced, given, verbatim or looked into (a tree, heads) is
 * left alone, and so are marks that come through as they are. An opening mark, as in Spanish, is not added. */
#ifndef ALIGND_ENDING_H
#define ALIGND_ENDING_H

#include "model/sentence.h"

/* The source ends with such a mark, and the end of the translation may still change: ending_mend may be due. */
bool ending_is_asked(const struct sentence *sentence);
/* A token of its translation consists of nothing but marks, so that it may be replaced. */
bool ending_may_replace(const struct sentence *sentence, int token);
/* Corrects the hypotheses of a decoded sentence, and removes those that become equal to a better one. Without memory they stay as
 * they were. */
void ending_mend(struct sentence *sentence);

#endif
