/* What a sentence is given of its translation: the whole, the beginning, or the attention of a step. */
#ifndef ALIGND_GIVEN_H
#define ALIGND_GIVEN_H

#include "model/sentence.h"

/* Makes a prepared sentence score this target text instead (search_forced). target: valid UTF-8. -1 with ERROR_LENGTH
 * if it has more than TRANSLATOR_MAX_TARGET tokens, ERROR_INPUT if the model only copies and the source has not all of them. */
int translator_force(struct sentence *sentence, const char *target, size_t length, struct error *err);

/* Makes a prepared sentence's translation begin with this text. prefix: valid UTF-8, not empty. The default of max_length becomes
 * what has room for it. -1 with ERROR_LENGTH if it has more than TRANSLATOR_MAX_TARGET tokens, ERROR_INPUT if it has more than
 * max_length or if the model only copies and the source has not all of them. */
int translator_begin_with(struct sentence *sentence, const char *prefix, size_t length, struct error *err);

/* Makes the step take these weights [count] as its attention, divided by their sum; they are finite, not negative and not all 0.
 * -1 with ERROR_INPUT if they are not as many as the source tokens. */
int translator_attend(struct sentence *sentence, size_t step, const double *weights, size_t count, struct error *err);

/* Prints the given text in place of that of its tokens, the first of `length` in this rendering. In the arena. -1 with
 * ERROR_MEMORY. */
int given_render(const struct sentence *sentence, size_t length, struct arena *arena, struct rendering *out, struct error *err);

#endif
