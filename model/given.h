/* What a sentence is given of its translation: the whole (translator_force) or the beginning (translator_begin_with). */
#ifndef ALIGND_GIVEN_H
#define ALIGND_GIVEN_H

#include "model/translator.h"

/* Prints the given text in place of that of its tokens, the first of `length` in this rendering. In the arena. -1 with
 * ERROR_MEMORY. */
int given_render(const struct sentence *sentence, size_t length, struct arena *arena, struct rendering *out, struct error *err);

#endif
