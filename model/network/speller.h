/* Spells the words that the target vocabulary does not have: an LSTM over characters, whose first h is the readout of the step that
 * chose <unk> and whose first c is zero (Luong and Manning 2016, section 3.4). Greedy. Immutable after loading: thread-safe. */
#ifndef ALIGND_SPELLER_H
#define ALIGND_SPELLER_H

#include "model/base/arena.h"
#include "model/network/cell.h"
#include "model/text/tokenizer.h"
#include "model/weights/config.h"
#include "model/weights/weights.h"

#define SPELLER_VOCABULARY "chars.vocab" /* in the model folder: the characters, as a vocabulary file */

enum { SPELLER_MAX_CHARACTERS = 40 };

/* Zeroed: a model that does not spell. */
struct speller {
    const struct tokenizer *characters; /* not owned */
    const struct kernels *kernels;
    size_t embedding_size;  /* E */
    const float *embedding; /* [C, E] */
    struct cell cell;       /* its H is O, the size of a readout */
    struct linear output;   /* [C, O] */
};

int speller_init(struct speller *speller, const struct model_config *config, const struct tokenizer *characters,
                 struct weights *weights, const struct kernels *kernels, struct error *err);
void speller_done(struct speller *speller);

/* readout [O] -> the word, in the arena; NULL if it has no characters. -1 with ERROR_MEMORY. */
int speller_run(const struct speller *speller, const float *readout, struct arena *arena, const char **word, struct error *err);

#endif
