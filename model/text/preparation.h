/* What OPUS-MT does to text before SentencePiece cuts it (its preprocess.sh), in training and in translation:
 *
 *   full-width marks, digits and kinds of quotation marks become ASCII's, and U+FF11 (a slip of the script) a quotation mark
 *   an ideographic or full-width full stop becomes ". ", spaces behind it included
 *   U+2026 becomes "..."; characters of Unicode's category C, line feeds apart, become spaces
 *   of several spaces one is left, at the ends none
 *
 * weights/tokenizer.py does the same; tests/data/prepared.json holds both to it. */
#ifndef ALIGND_PREPARATION_H
#define ALIGND_PREPARATION_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include "model/text/token.h"
#include <stdbool.h>
#include <stdint.h>

struct prepared_text {
    const char *text; /* [length] */
    size_t length;
    const size_t *origins; /* [length + 1] the byte of the text as it was that each byte stands for, and where that ends; NULL: the
                              text is as it was */
};

/* Marks that a vocabulary lacks or has hardly met, and that have a plain spelling: typographic quotation marks, dashes, the
 * ellipsis, and characters that nobody sees (U+00AD, U+200B). Which of them are respelled is a matter of the vocabulary
 * (model/text/readable.h). */
enum { PREPARATION_MARKS = 37 };
struct respelling {
    bool any, marks[PREPARATION_MARKS]; /* [preparation_mark(i)] */
};
/* The i-th of these characters; -1 after the last. */
int32_t preparation_mark(size_t i);

/* The steps of preparing a text. */
struct preparation {
    bool opus;                           /* as above */
    const struct respelling *respelling; /* NULL: none */
    int32_t kept;                        /* a character that stays whatever its category; -1: none */
};

/* text: valid UTF-8. In the arena. -1 with ERROR_MEMORY. */
int preparation_make(const struct preparation *preparation, const char *text, size_t length, struct arena *arena,
                     struct prepared_text *out, struct error *err);

/* The tokens of the prepared text [count] -> those of the text as it was. */
void preparation_restore(const struct prepared_text *prepared, struct token *tokens, size_t count);

#endif
