/* Translation through a third language.
 *
 * A text that names a second model is decoded twice, sentence by sentence: by its own model, then
 * the translation by the second model. The result is composed as if one model had read the first
 * language and written the last: tokens and places are the source's, hypotheses are the second
 * model's, and attention and alignment lead from the one to the other:
 *
 *     p(source j | target t) = sum over the pivot's tokens of p(j | q) p(q | t)
 *
 * A token that the second model read corresponds to those that the first wrote as far as they share
 * bytes. The weight of its </s> is that of the source's. */
#ifndef ALIGND_PIVOT_H
#define ALIGND_PIVOT_H

#include "server/decode/request.h"

/* Returns the hypothesis of the first model that the text's second model reads: that of its rank
 * or, if there are fewer, the last. */
const struct hypothesis *pivot_written(const struct sentence *first, const struct text *text);
/* Makes the second model's sentence from a decoded sentence of the first model, in its arena.
 * If the text has a target, the second model scores that; the first has translated freely. Returns
 * -1 with ERROR_LENGTH (the translation is longer than the second model takes), ERROR_INPUT or
 * ERROR_MEMORY. */
int pivot_prepare(struct request *request, const struct text *text, struct sentence *first,
                  struct sentence **second, struct error *err);
/* Composes the results of both, in the arena. written: the first one's hypothesis that the second
 * has read; rendering: its text. out is read only, and valid only as long as the two sentences
 * exist. Returns -1 if memory runs out. */
int pivot_compose(const struct sentence *first, const struct hypothesis *written,
                  const struct rendering *rendering, const struct sentence *second,
                  struct arena *arena, struct sentence *out);

#endif
