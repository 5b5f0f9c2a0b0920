/* Between text and tokens: what neither the tokenizer nor the segmenter knows alone. */
#ifndef ALIGND_TEXT_H
#define ALIGND_TEXT_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include "model/text/opaque.h"
#include "model/text/readable.h"
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
 * as U+FDFA). A sentence of more than 4 kB is tokenized piece by piece. Time: proportional to the length. -1 with ERROR_LENGTH,
 * ERROR_INPUT or ERROR_MEMORY. */
int text_wrap(const struct text_reading *reading, const char *text, struct span sentence, struct arena *arena, struct span **spans,
              size_t *count, struct error *err);

/* False: the text is so long that it must be wrapped without being tokenized as a whole first. held: runs within it. */
bool text_is_short(const char *text, size_t length, const struct opaque_runs *held);

/* readable_hold of a text of any length: adds the runs of text[length] that cannot be read to those that `how` holds. The text is
 * tokenized 4 kB at a time, and a run that goes over the end of such a part is one run. In the arena. Time: proportional to the
 * length. Returns -1 as text_wrap does. */
int text_hold(const struct readable *readable, const struct tokenizer *tokenizer, const char *text, size_t length,
              struct tokenizer_reading *how, struct arena *arena, struct error *err);

#endif
