/* SentencePiece behind C functions: the row "sentencepiece" of the table in tokenizer.c. Implemented in sentencepiece.cc, the
 * only C++ of this program; no exception leaves it. A model is immutable after opening: thread-safe. */
#ifndef ALIGND_SENTENCEPIECE_H
#define ALIGND_SENTENCEPIECE_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include "model/text/token.h"
#include <stddef.h>

/* Reads and checks the file. It says itself how it normalises: options are ignored. NULL with ERROR_FILE, ERROR_FORMAT or
 * ERROR_MEMORY. */
void *sentencepiece_open(const char *path, const struct tokenizer_options *options, struct error *err);
void sentencepiece_free(void *model);

size_t sentencepiece_size(const void *model);
int sentencepiece_unknown(const void *model); /* -1: there is none; so for the next two */
int sentencepiece_begin(const void *model);
int sentencepiece_end(const void *model);
const char *sentencepiece_piece(const void *model, int id); /* id: 0..size-1 */

int sentencepiece_find(const void *model, const char *piece);

/* As in tokenizer.h, but the offsets are the library's: a token has the white space before it as well. length: at most INT_MAX.
 * A word of over 4 KiB may come as several words. */
int sentencepiece_encode(const void *model, const char *text, size_t length, struct arena *arena, struct token **tokens,
                         size_t *count, struct error *err);
int sentencepiece_decode(const void *model, struct token *tokens, size_t count, struct arena *arena, char **text,
                         struct error *err);

#endif
