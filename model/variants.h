/* Models of several target languages: the source vocabulary has a label for each variant, such as ">>fra<<", and the first token of
 * a sentence is that of the one to write (OPUS-MT). */
#ifndef ALIGND_VARIANTS_H
#define ALIGND_VARIANTS_H

#include "model/sentence.h"

/* Puts the label of one of the model's variants (translator_info) before the tokens of a prepared sentence, which nothing else has
 * been given yet. The default of max_length counts it. -1 with ERROR_INPUT (the model has no such variant) or ERROR_MEMORY. */
int translator_choose_variant(struct sentence *sentence, const char *variant, struct error *err);

#endif
