/* Words: the same notion for source and target. */
#ifndef ALIGND_WORDS_H
#define ALIGND_WORDS_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include "model/text/segmenter.h"
#include "model/text/tokenizer.h"
#include <stddef.h>

struct translator;

/* As segmenter_words cuts them; or what stands between white space, of text that was cut into words before. */
enum word_kind { WORDS_UNICODE, WORDS_SPACED };

/* The words of text[length], valid UTF-8: spans in order, in the arena. Thread-safe. -1 with ERROR_LENGTH or ERROR_MEMORY. */
int translator_words(const struct translator *translator, enum word_kind kind, const char *text, size_t length, struct arena *arena,
                     struct span **words, size_t *count, struct error *err);

/* Words first to end - 1. */
struct word_range {
    size_t first, end;
};

/* ranges [count]: the words that each token has characters of. One without any, such as a blank, belongs to the word that it stands
 * before; one behind the last word (</s>) to none: first == end. text: what tokens and words [word_count] are places of. */
void words_of_tokens(const char *text, const struct token *tokens, size_t count, const struct span *words, size_t word_count,
                     struct word_range *ranges);

#endif
