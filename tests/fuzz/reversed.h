/* A translation of markup that needs no model. */
#ifndef ALIGND_TESTS_FUZZ_REVERSED_H
#define ALIGND_TESTS_FUZZ_REVERSED_H

#include "server/markup/markup.h"

/* Its words in reverse order; of eight, one after the other, those whose bit is set in `linked` are linked with what they came
 * from. */
struct markup_translation fuzz_reverse(const struct markup_segment *segment, unsigned linked, struct arena *arena);

#endif
