/* Source words as target tokens: what a model that copies can produce besides its vocabulary.
 *
 * A source token's id as a target is that of its word in the target vocabulary; words that it lacks get temporary ids V, V + 1, ...
 * in the order of their first appearance in the sentence. The source's </s> is the target's: where it is copied, the target ends.
 * As a decoder's input a temporary id is <unk>. The same rules as weights/copies.py. */
#ifndef ALIGND_COPIES_H
#define ALIGND_COPIES_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include "model/text/tokenizer.h"
#include <stdbool.h>
#include <stddef.h>

/* One sentence. Everything lives in its arena. */
struct copies {
    const struct tokenizer *target;
    const int *words;                 /* [length] of each source token */
    size_t length;                    /* T */
    const struct token *const *extra; /* [count] the source token where each temporary id first appears */
    size_t count;                     /* X */
    const int *inputs;                /* [count] what the decoder reads for each of them; NULL: <unk> */
    const float *keys, *gates; /* [T, K], [T, 1 or 0] what output_keys makes of the source tokens; set when they are encoded */
};

/* The two sides' vocabularies. */
struct copies_between {
    const struct tokenizer *source, *target;
};

/* tokens [length], which must outlive the result; with </s> where the encoder reads it. NULL with ERROR_MEMORY. */
struct copies *copies_find(const struct copies_between *vocabularies, const struct token *tokens, size_t length,
                           struct arena *arena, struct error *err);

/* The id of a target token: where its vocabulary does not have it, a temporary one if the source has it. */
int copies_id(const struct copies *copies, const struct token *token);
/* True if one of the source tokens is this target id. */
bool copies_have(const struct copies *copies, int id);
/* The source token of a temporary id 0..V+X-1; NULL: it is an id of the vocabulary. */
const struct token *copies_token(const struct copies *copies, int id);
/* Returns the id that the decoder reads for a target id: for a temporary one its stand-in, or <unk>. */
int copies_input(const struct copies *copies, int id);

#endif
