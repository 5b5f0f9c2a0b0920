/* The tokenizers "words" and "characters": text is cut by rule, ids come from a vocabulary file (model/text/vocabulary.h). Rows of
 * the table in tokenizer.c; weights/tokenizer.py does the same, and tests/data/plain_tokens.json holds both to it.
 *
 * words: what stands between white space, as it stands. With `punctuation`, every character of Unicode's categories P and S is a
 * token of its own, with a mark, U+FFED, on each side where it touches its neighbour: Don't! is Don, ￭'￭, t, ￭!. Between two such
 * characters the second has the mark. Decoding puts a space between tokens unless a mark forbids it: it gives the text back, but
 * for the amount of white space. characters: one token a character; U+2581 stands for white space between them. With `lowercase`,
 * pieces are lower case, character by character (Unicode's simple mapping). <unk> is decoded as U+2047, <s> and </s> as nothing. */
#ifndef ALIGND_PLAIN_H
#define ALIGND_PLAIN_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include "model/text/token.h"
#include <stddef.h>

void *plain_open_words(const char *path, const struct tokenizer_options *options, struct error *err);
void *plain_open_characters(const char *path, const struct tokenizer_options *options, struct error *err);
void plain_free(void *model);

size_t plain_size(const void *model);
int plain_unknown(const void *model);
int plain_begin(const void *model);
int plain_end(const void *model);
const char *plain_piece(const void *model, int id);
int plain_find(const void *model, const char *piece);

/* As in tokenizer.h. */
int plain_encode(const void *model, const char *text, size_t length, struct arena *arena, struct token **tokens, size_t *count,
                 struct error *err);
int plain_decode(const void *model, struct token *tokens, size_t count, struct arena *arena, char **text, struct error *err);

#endif
