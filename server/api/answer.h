/* The answers of alignd's own dialect. */
#ifndef ALIGND_ANSWER_H
#define ALIGND_ANSWER_H

#include "server/api/json.h"
#include "server/api/plan.h"

/* Writes one text's answer, {"text","sentences":[...]} and any "warnings", as the README describes
 * it. It stops early if the writer has ended or the request is over. markup: replaces "text" if the
 * text was cut at its tags; its sentences then have no offsets in the whole. NULL: "text" is made
 * of the sentences. source: the text of the markup, unless it is a document with tags. */
void api_render_text(struct request *request, const struct text *text, const struct bytes *source,
                     const struct bytes *markup, struct writer *out);
/* Writes the members of the object of the text's sentence i, which begins at *at, and moves *at to
 * its end. */
void api_put_sentence(struct request *request, const struct text *text, size_t i,
                      struct api_places *at, struct writer *out);
/* Writes "pivot", the names of a text's two models. */
void api_put_pivot(const struct text *text, struct writer *out);
/* The same as api_render_text for an item of request->plan. */
void api_render_item(struct request *request, const struct plan_item *item, struct writer *out);

#endif
