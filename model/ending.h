/* Corrects the mark that ends a sentence, so that a question stays a question and an exclamation stays an exclamation.
 *
 * Models sometimes end the translation of "Watch out!" with a full stop or with nothing. Such a translation gets the mark of its
 * source as its language writes it, instead of its own mark. This happens after the search and costs nothing if the
 * marks agree. The new token takes over the attention and the log-probability of the token in its place, so that all sums stay the
 * same; it has 0 if there was none. Translations that are forced, given, verbatim or looked into (a tree, heads) stay as they are,
 * and so do marks that are copied unchanged. An opening mark, as in Spanish, is not added. */
#ifndef ALIGND_ENDING_H
#define ALIGND_ENDING_H

#include "model/sentence.h"

/* True if the source ends with such a mark and ending_mend may change the end of the translation. */
bool ending_is_asked(const struct sentence *sentence);
/* True if a token of the translation consists only of marks, so that it may be replaced. */
bool ending_may_replace(const struct sentence *sentence, int token);
/* Corrects the hypotheses of a decoded sentence and removes those that become equal to a better one. They stay as they were if
 * memory is out. */
void ending_mend(struct sentence *sentence);

#endif
