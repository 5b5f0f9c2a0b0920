/* A translation of markup that needs no model. */
#ifndef ALIGND_TESTS_FUZZ_REVERSED_H
#define ALIGND_TESTS_FUZZ_REVERSED_H

#include "server/markup/markup.h"

/* Its words in reverse order; of eight, one after the other, those whose bit is set in `linked` are
 * linked with what they came from. strange: a number that chooses words to be replaced by notation
 * of some format, which a model may write, too; 0: none. */
struct markup_translation fuzz_reverse(const struct markup_segment *segment, unsigned linked,
                                       uint32_t strange, struct arena *arena);

/* Returns such a number for a segment of a document, so that the same bytes always have the same
 * translation; for all segments of a quarter of all documents it is 0. */
uint32_t fuzz_strange(const char *bytes, size_t length, size_t segment);

#endif
