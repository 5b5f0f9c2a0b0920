/* Translation by way of a third language. A text that names a second model is decoded twice: by its own model, then each of its
 * sentences' translations by the second. What comes of that is put together as if one model had read the first language and written
 * the last: tokens and places of the source, hypotheses of the second model, and attention and alignment from the one to the other:
 *
 *     p(source j | target t) = sum over the pivot's tokens of p(j | q) p(q | t)
 *
 * where a token that the second model read is so far one that the first wrote as they share bytes. The weight of its </s> is that
 * of the source's.
 *
 * Texts that differ only in the second model are twins (request.h): the first model decodes them once. */
#ifndef ALIGND_PIVOT_H
#define ALIGND_PIVOT_H

#include "server/decode/request.h"

/* True: its jobs have ended well, and some of its texts are to be decoded once more. */
bool pivot_goes_on(const struct request *request);
/* The jobs of that take the place of those that ended. -1 with ERROR_LENGTH: a translation is longer than the second model takes;
 * ERROR_INPUT, ERROR_MEMORY. */
int pivot_go_on(struct request *request, struct error *err);
/* Once these have ended well, before the answer is written. Does nothing where there is nothing to put together. -1 with
 * ERROR_MEMORY. */
int pivot_compose(struct request *request, struct error *err);

#endif
