/* Quality estimation: how likely a word, and a sentence, of a translation is right, from what the decoder knew of it. Two logistic
 * regressions (model/weights/weights.h), p = 1 / (1 + exp(-(w . features + c))), of
 *
 *   log-probability  of a word: the sum over its tokens; of a sentence: over all steps, </s> too
 *   entropy          the mean over the same, nats
 *   gap              the least over the same of a token's log-probability less that of the best other token
 *   coverage         of a word: how much all rows of the soft alignment together give the source token that a token of its is
 * aligned with, the mean over its tokens; of a sentence: the mean over the source tokens of the same, at most 1 sharpness the
 * largest weight in a token's row of the soft alignment, the mean over the tokens
 *
 * or, of a model with Bergamot's regression, of the mean and the least of the log-probabilities
 * of a word's tokens, how many they are, and the mean over all tokens but </s>; a word is there what stands between white space,
 * and each of ours gets the number of that which it is in. A sentence's is the geometric mean of those, 0 where there is none.
 *
 * </s> of the source counts nowhere; where there is no attention the last two are 0. Log-probabilities and gaps below -50 count as
 * -50, gaps above 10 as 10. weights/quality.py has the same arithmetic; a golden case holds both to the same numbers. */
#ifndef ALIGND_QUALITY_H
#define ALIGND_QUALITY_H

#include "model/sentence.h"
#include "model/words.h"

/* Estimates, 0 to 1. words [count], in the arena. */
struct quality {
    float sentence, *words;
    size_t count;
};

/* Of a hypothesis whose alternatives were asked for, of a model that estimates (translator_info.quality). words: how many its text
 * has; tokens [hypothesis->length]: the words that each has a part of. Thread-safe. -1 with ERROR_MEMORY. */
int translator_quality(const struct sentence *sentence, const struct hypothesis *hypothesis, const struct word_range *tokens,
                       size_t words, struct arena *arena, struct quality *out, struct error *err);

/* True if the model's cheap estimate, which becomes *estimate, is below the one at which its folder calls a sentence doubtful. It
 * is made of the sum of the tokens' log-probabilities, their mean entropy and the logarithm of their number, </s> counted; tokens
 * of no vocabulary (opaque runs, glossary phrases) do not count. Needs nothing that a search does not keep anyway. Thread-safe. */
bool translator_doubts(const struct sentence *sentence, const struct hypothesis *hypothesis, double *estimate);

#endif
