/* The answers of alignd's own dialect. */
#ifndef ALIGND_ANSWER_H
#define ALIGND_ANSWER_H

#include "server/api/api.h"
#include "server/api/value.h"

struct bytes;
struct plan_item;

/* Writes one text's answer, {"text","sentences":[...]} and any "warnings", as the README describes
 * it. It stops early if the writer has ended or the request is over. markup: replaces "text" if the
 * text was cut at its tags; its sentences then have no offsets in the whole. NULL: "text" is made
 * of the sentences. source: the text of the markup, unless it is a document with tags. */
void answer_put_text(struct request *request, const struct text *text, const struct bytes *source,
                     const struct bytes *markup, struct writer *out);
/* Writes the members of the object of the text's sentence i, which begins at *at, and moves *at to
 * its end. */
void answer_put_sentence(struct request *request, const struct text *text, size_t i,
                         struct value_places *at, struct writer *out);
/* Writes the language of a text if it was detected, and its models if they are not those of the
 * request's first text. */
void answer_put_models(const struct request *request, const struct text *text, struct writer *out);
/* Writes "pivot", the names of a text's two models. */
void answer_put_pivot(const struct text *text, struct writer *out);
/* The same as answer_put_text for an item of request->plan. */
void answer_put_item(struct request *request, const struct plan_item *item, struct writer *out);

/* ---- the length of an answer ---- */

/* Returns true if the answer of a decoded request is large, so that a thread that others wait for
 * must not write it. For a stream this applies to each part. */
bool answer_is_large(struct request *request);

/* Returns the minimum length of the answer to a prepared request. */
size_t answer_least_bytes(struct request *request);
/* Makes a prepared request end, as reply_fail_length does, when the sentences that have been
 * decoded make its answer too long. */
void answer_bound(const struct service *service, struct request *request);
/* Return the writer of a decoding request's answer, limited to --max-reply-bytes, and set the
 * reply, which is 413 if the answer is too long. */
struct writer answer_begin(const struct service *service);
void answer_reply(const struct service *service, struct reply *reply, struct writer *w);

#endif
