/* The decoder: what it makes of a sentence just encoded, and steps of its rows (model/network/row.h). Kinds are a table: a new one
 * is one file with a decoder_kind, one row in decoder.c and one in weights/model.py; batch and search see no more than what stands
 * here.
 *
 * A sentence is remembered by entries of keys and values (struct memory), which its rows' steps look at; a row has a state of fixed
 * size, and a past to which each step adds (model/network/row.h says how the two are kept). Their sizes are the decoder's shape. */
#ifndef ALIGND_DECODER_H
#define ALIGND_DECODER_H

#include "model/network/decoder_kind.h"

/* first: the id of <s>. */
int decoder_init(struct decoder *decoder, const struct model_config *config, size_t vocabulary, int first, struct weights *weights,
                 const struct kernels *kernels, struct error *err);
void decoder_done(struct decoder *decoder);

/* The first states [n, S] of n sentences just encoded: lengths [n]. Scratch in the arena. -1 with ERROR_MEMORY. */
int decoder_start(const struct decoder *decoder, const struct encoded *encoded, const size_t *lengths, size_t n,
                  struct arena *arena, float *states, struct error *err);

/* Entries of the memory of a sentence of T tokens: T; without attention 1. */
size_t decoder_slots(const struct decoder *decoder, size_t length);

/* What sentences just encoded are remembered by, end to end: `count` entries from `first` on, keys [count, K] and values [count,
 * P]. Scratch in the arena, released before returning. -1 with ERROR_MEMORY. */
int decoder_remember(const struct decoder *decoder, const struct encoded *encoded, size_t first, size_t count, struct arena *arena,
                     float *keys, float *values, struct error *err);

/* One step of R rows. Where the shape has no state, a row may continue those before it: it finds in its past what they add. Scratch
 * in the arena, released before returning. -1 with ERROR_MEMORY, their states then undefined. */
int decoder_step(const struct decoder *decoder, const struct row *rows, size_t count, struct arena *arena, struct error *err);

#endif
