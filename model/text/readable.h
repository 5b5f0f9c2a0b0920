/* Which pieces of its source vocabulary a model can read, because it met them often enough in training.
 *
 * Bytes and <unk> are unreadable. So are symbols that the folder does not list as copied, and letters and marks that the vocabulary
 * has only as a piece of one character although the language does not write with them: such a piece was put there by the list of
 * characters and hardly trained.
 *
 * In the place of a run that it cannot read a model reads a piece that it copies well. FOLDER/opaque.json, which
 * weights/evaluation/opaque.py measures, may name them: {"copied": "+%", "word": "X", "sign": "*"} are the symbols that the model
 * copies and the pieces that stand for words and for symbols. Without the file these pieces are X and *; if a vocabulary lacks one,
 * or it is "", <unk> is used. */
#ifndef ALIGND_READABLE_H
#define ALIGND_READABLE_H

#include "model/text/opaque.h"
#include "model/text/tokenizer.h"

/* Immutable after readable_init and therefore thread-safe. */
struct readable {
    bool *unreadable; /* [V] by piece; NULL: all can be read */
    struct respelling respelling;
    struct stand_ins stand_ins;
};

/* language: the source language, BCP-47, whose letters count as read wherever the vocabulary has them. path: of opaque.json, which
 * need not exist. Returns -1 with ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY; call readable_done in any case. */
int readable_init(struct readable *readable, const struct tokenizer *source, const struct tokenizer *target, const char *language,
                  const char *path, struct error *err);
void readable_done(struct readable *readable);

/* The run that the characters text[begin, end), which a model cannot read, belong to: the whole word, the amount of a currency
 * sign, or the neighbouring symbols. It contains [begin, end). */
struct opaque_run readable_around(const char *text, size_t length, size_t begin, size_t end);

/* Adds the runs that make tokens [count] of this text unreadable to those that are held, in the arena; *found: how many. Returns -1
 * with ERROR_MEMORY. Time is proportional to the length of the text. */
int readable_hold(const struct readable *readable, const char *text, size_t length, const struct token *tokens, size_t count,
                  struct opaque_runs *held, size_t *found, struct arena *arena, struct error *err);

#endif
