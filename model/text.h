/* Between text and tokens: what neither the tokenizer nor the segmenter knows alone. */
#ifndef ALIGND_TEXT_H
#define ALIGND_TEXT_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include "model/text/opaque.h"
#include "model/text/segmenter.h"
#include "model/text/tokenizer.h"
#include <stdbool.h>
#include <stddef.h>

/* How a text is read, and what a piece of it may have. */
struct text_reading {
    const struct tokenizer *tokenizer;
    struct tokenizer_reading how; /* .held: of the text: each is one token */
    size_t max_tokens;
};

/* Cuts text[sentence] into pieces of at most max_tokens (>= 1) tokens each, counted as each piece is tokenized on its own. A
 * piece ends, by preference, after the last clause mark that fits, at the last white space that fits, or between any two tokens.
 * Spans are within text, in order, without the white space around them; no visible character is lost. A sentence that fits is one
 * piece, blank text none. Only a piece of one token, which cannot be cut, may be longer (one character can stand for many, such
 * as U+FDFA). What is longer than 4 kB is read piece by piece. Time: proportional to the length. -1 with ERROR_LENGTH, ERROR_INPUT
 * or ERROR_MEMORY. */
int text_wrap(const struct text_reading *reading, const char *text, struct span sentence, struct arena *arena, struct span **spans,
              size_t *count, struct error *err);

/* False: it is so long that it is to be wrapped in any case, without having been tokenized as a whole. held: of its bytes. */
bool text_is_short(const char *text, size_t length, const struct opaque_runs *held);

#endif
