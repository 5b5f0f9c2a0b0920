/* Translation through a third language. A text that names a second model is decoded twice: by its own model, then the translation
 * of each sentence by the second model. The result is composed as if one model had read the first language and written the last:
 * tokens and places are the source's, hypotheses are the second model's, and attention and alignment lead from the one to the
 * other:
 *
 *     p(source j | target t) = sum over the pivot's tokens of p(j | q) p(q | t)
 *
 * A token that the second model read corresponds to those that the first wrote as far as they share bytes. The weight of its </s>
 * is that of the source's.
 *
 * Texts that differ only in the second model are twins (request.h): the first model decodes them once. */
#ifndef ALIGND_PIVOT_H
#define ALIGND_PIVOT_H

#include "server/decode/request.h"

/* Returns whether the jobs of the request have succeeded and some of its texts must be decoded again. */
bool pivot_goes_on(const struct request *request);
/* Replaces the ended jobs by those of the second decoding. Returns -1 with ERROR_LENGTH (a translation is longer than the second
 * model takes), ERROR_INPUT or ERROR_MEMORY. */
int pivot_go_on(struct request *request, struct error *err);
/* Call this once these have succeeded, before the answer is written. Does nothing if there is nothing to compose. Returns -1 with
 * ERROR_MEMORY. */
int pivot_compose(struct request *request, struct error *err);

/* ---- one sentence of a lean request ---- */

/* Makes a sentence of what the first model wrote, for the second; in the first one's arena, whose end it does not outlive. Fails
 * like pivot_go_on. */
int pivot_prepare(struct request *request, const struct text *text, struct sentence *first, struct sentence **second,
                  struct error *err);
/* Composes one of both once they are decoded. out is only read, and valid as long as they and the arena. Returns -1 with
 * ERROR_MEMORY. */
int pivot_join(const struct sentence *first, const struct sentence *second, struct arena *arena, struct sentence *out);

#endif
