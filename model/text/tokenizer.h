/* Text <-> ids, with byte offsets. One table of kinds (tokenizer.c); SentencePiece is reached through model/text/sentencepiece.cc,
 * words and characters are model/text/plain.c.
 * A tokenizer is immutable after opening: thread-safe. */
#ifndef ALIGND_TOKENIZER_H
#define ALIGND_TOKENIZER_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include "model/text/masked.h"
#include "model/text/opaque.h"
#include "model/text/preparation.h"
#include "model/text/token.h"
#include <stdbool.h>
#include <stddef.h>

struct tokenizer;

/* kind: config's tokenizer.type. options: NULL for none. NULL with ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY; the message names the
 * file. */
struct tokenizer *tokenizer_open(const char *kind, const char *path, const struct tokenizer_options *options, struct error *err);
/* The same vocabulary with other options, of which prepared and lowers count. Its tokenizer must outlive it. NULL with
 * ERROR_MEMORY. */
struct tokenizer *tokenizer_share(const struct tokenizer *tokenizer, const struct tokenizer_options *options, struct error *err);
void tokenizer_free(struct tokenizer *tokenizer);

/* V, and the ids of the special pieces (-1: there is none). */
size_t tokenizer_size(const struct tokenizer *tokenizer);
int tokenizer_unknown(const struct tokenizer *tokenizer);
int tokenizer_begin(const struct tokenizer *tokenizer); /* <s> */
int tokenizer_end(const struct tokenizer *tokenizer);   /* </s> */
/* The piece of an id 0..V-1; owned by the tokenizer. */
const char *tokenizer_piece(const struct tokenizer *tokenizer, int id);
/* The id that text becomes as this piece, or -1: the vocabulary does not have it. <unk>, <s> and </s> are no text. */
int tokenizer_find(const struct tokenizer *tokenizer, const char *piece);

/* The byte that a piece stands for, written <0x41>; -1: it stands for text, or for nothing. */
int tokenizer_byte(const struct tokenizer *tokenizer, int id);

/* What a piece begins with that has white space before it; "": nothing tells. */
const char *tokenizer_mark(const struct tokenizer *tokenizer);

/* text: valid UTF-8, length bytes. Tokens (no </s>) go to the arena; offsets lie on character boundaries. Blank text gives none,
 * and neither do characters that normalisation takes away (U+200B). lowered: NULL, and letters are read as they are; or set to
 * whether the text is in capitals and was read in small letters (model/text/capitals.h), which a tokenizer with that option does.
 * Returns 0, or -1 with ERROR_LENGTH (over INT_MAX bytes), ERROR_INPUT or ERROR_MEMORY. */
int tokenizer_encode(const struct tokenizer *tokenizer, const char *text, size_t length, bool *lowered, struct arena *arena,
                     struct token **tokens, size_t *count, struct error *err);
/* How a source text is read. */
struct tokenizer_reading {
    struct opaque_runs held;             /* each is one token, whose piece is its text as it stands */
    const struct stand_ins *stand_ins;   /* whose ids these tokens have; NULL: they are unknown */
    const struct respelling *respelling; /* NULL: marks are read as they are */
};
/* The same, reading in this way. */
int tokenizer_encode_around(const struct tokenizer *tokenizer, const char *text, size_t length, const struct tokenizer_reading *how,
                            bool *lowered, struct arena *arena, struct token **tokens, size_t *count, struct error *err);

/* Tokens -> text (NUL-terminated, in the arena). tokens [count], without </s>: id 0..V-1 and piece NULL; or, with any id, a piece
 * that the vocabulary need not have, as encoding writes it. Sets begin and end to their bytes within the text, and piece where it
 * was NULL. <unk> becomes U+2047, between spaces unless tokens are characters. Returns 0, or -1 with ERROR_MEMORY or ERROR_INPUT.
 */
int tokenizer_decode(const struct tokenizer *tokenizer, struct token *tokens, size_t count, struct arena *arena, char **text,
                     struct error *err);

#endif
