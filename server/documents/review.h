/* Reviews: an XLIFF 2.0 file with the texts of a document and their translations, in which a person
 * corrects with a translator's tool what a model wrote, and the way back into the document. They
 * are the same for every format: a review has the document's segments as units, in their order, and
 * what stands within a segment as inline elements, whose ids are the numbers of its pieces. */
#ifndef ALIGND_DOCUMENT_REVIEW_H
#define ALIGND_DOCUMENT_REVIEW_H

#include "server/documents/document.h"

/* Writes a review. markup: of the document; from and language must be set. texts [markup->count]:
 * the decoded texts, for notes on the quality of their words; NULL: no notes. Returns NULL with
 * ERROR_MEMORY. */
char *review_write(const struct markup *markup, const struct markup_translation *translations,
                   const struct text *texts, struct arena *arena, size_t *length,
                   struct error *err);

/* Reads the language of a review's targets, in the arena. Returns NULL with ERROR_INPUT or
 * ERROR_MEMORY. */
const char *review_language(struct bytes review, struct arena *arena, struct error *err);
/* Reads the targets of a review as translations [markup->count] of the document's segments. A unit
 * without a target, or whose target lacks an inline element that the document needs, has none; the
 * latter with a note. Returns -1 with ERROR_INPUT if the review is not of this document, or with
 * ERROR_MEMORY. */
int review_read(struct bytes review, const struct document *document, const struct markup *markup,
                struct arena *arena, struct markup_translation *translations, struct error *err);

#endif
