/* What a model can read: which pieces of its source vocabulary it met often enough in training to know what to do with them.
 *
 * Bytes and <unk> are unreadable. So are symbols that the folder does not list as copied, and letters and marks that the vocabulary
 * has only as a piece of one character although the language does not write with them: such a piece was put there by the list of
 * characters and hardly trained.
 *
 * In the place of a run that it cannot read a model reads a piece that it copies well. FOLDER/opaque.json, which weights/opaque.py
 * measures, may say more: {"copied": "+%", "word": "X", "sign": "*"}, the symbols that it copies, and the pieces that stand for
 * words and for symbols. Without it these are X and *; where a vocabulary lacks one, or it is "", <unk>. */
#ifndef ALIGND_READABLE_H
#define ALIGND_READABLE_H

#include "model/text/opaque.h"
#include "model/text/tokenizer.h"

/* Immutable once it is made: any threads may use it. */
struct readable {
    bool *unreadable; /* [V] by piece; NULL: all can be read */
    struct respelling respelling;
    struct stand_ins stand_ins;
};

/* language: of the source, BCP-47, whose letters count as read wherever the vocabulary has them. path: of opaque.json, which need
 * not be there. -1 with ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY; readable_done is due in any case. */
int readable_init(struct readable *readable, const struct tokenizer *source, const struct tokenizer *target, const char *language,
                  const char *path, struct error *err);
void readable_done(struct readable *readable);

/* The runs that tokens [count] of this text cannot be read in, and that are not held already, are added to what is held; *found:
 * how many. In the arena. -1 with ERROR_MEMORY. Time is proportional to the length of the text. */
int readable_hold(const struct readable *readable, const char *text, size_t length, const struct token *tokens, size_t count,
                  struct opaque_runs *held, size_t *found, struct arena *arena, struct error *err);

#endif
