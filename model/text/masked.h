/* A text of which what is held (model/text/opaque.h) is hidden from its tokenizer: each placeholder is one token of its own.
 */
#ifndef ALIGND_MASKED_H
#define ALIGND_MASKED_H

#include "model/base/arena.h"
#include "model/text/opaque.h"
#include "model/text/segmenter.h"
#include "model/text/token.h"

/* What hides a placeholder, U+E000. Of the private use area: in no vocabulary, and left alone by normalisation. A placeholder is
 * known by its place, so a text may have such characters of its own. */
#define MASKED_HIDDEN "\xee\x80\x80"
enum { MASKED_CHARACTER = 0xe000 };

struct masked {
    const char *text; /* with a character in place of each placeholder */
    size_t length;
    const struct opaque_run *runs; /* [count] in the text as it was */
    const size_t *places;          /* [count] of their characters */
    size_t count;
};

/* held: outlives it. In the arena. -1 with ERROR_MEMORY. */
int masked_make(const char *text, size_t length, const struct opaque_runs *held, struct arena *arena, struct masked *out,
                struct error *err);

/* The model reads these ids in the place of a run, and the decoder reads `target` after it has written the run. Their pieces are
 * such as the model copies well. */
struct stand_in {
    int marked, unmarked; /* source ids; marked: white space or nothing stands before the run */
    int target, target_unmarked;
};
struct stand_ins {
    struct stand_in word, sign; /* sign: of emoji and symbols */
};
const struct stand_in *stand_in_of(const struct stand_ins *stand_ins, enum opaque_kind kind);

/* The tokens of the masked text -> those of the text as it was: a run's has the id of its stand-in (NULL: unknown), and as its
 * piece the mark, where white space or nothing stands before it, and its text. -1 with ERROR_MEMORY, or with ERROR_INPUT if the
 * tokenizer took one away. */
int masked_restore(const struct masked *masked, const char *text, const struct stand_ins *stand_ins, int unknown, const char *mark,
                   struct arena *arena, struct token **tokens, size_t *count, struct error *err);

#endif
