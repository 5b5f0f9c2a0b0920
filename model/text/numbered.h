/* SentencePiece cuts, a list numbers: the ids of pieces are those of a vocabulary file (model/text/vocabulary.h), which may lack
 * some of the pieces that the SentencePiece file has, and have others (OPUS-MT's models have one list for two SentencePiece files).
 * A row of the table in tokenizer.c. Immutable after opening: thread-safe. */
#ifndef ALIGND_NUMBERED_H
#define ALIGND_NUMBERED_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include "model/text/token.h"
#include <stddef.h>

/* path: the SentencePiece file; options->pieces: the list. NULL with ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY. */
void *numbered_open(const char *path, const struct tokenizer_options *options, struct error *err);
void numbered_free(void *model);

size_t numbered_size(const void *model);
int numbered_unknown(const void *model);
int numbered_begin(const void *model);
int numbered_end(const void *model);
const char *numbered_piece(const void *model, int id);
int numbered_find(const void *model, const char *piece);

/* As in tokenizer.h. A piece that the list lacks is unknown; one that only the list has is printed as it stands. */
int numbered_encode(const void *model, const char *text, size_t length, struct arena *arena, struct token **tokens, size_t *count,
                    struct error *err);
int numbered_decode(const void *model, struct token *tokens, size_t count, struct arena *arena, char **text, struct error *err);

#endif
