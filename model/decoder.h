/* The decoder: what it makes of a sentence just encoded, and steps of its rows (model/row.h). Kinds are a table: a new one is one
 * file with a decoder_kind, one row in decoder.c and one in weights/model.py; batch and search see no more than what stands here.
 *
 * A sentence is remembered by entries of keys and values (struct memory), which its rows' steps look at; a row has a state of fixed
 * size, and a past to which each step adds (model/row.h says how the two are kept). Their sizes are the decoder's shape. */
#ifndef ALIGND_DECODER_H
#define ALIGND_DECODER_H

#include "model/arena.h"
#include "model/config.h"
#include "model/encoder.h"
#include "model/row.h"
#include "model/weights.h"

enum { DECODER_FIRST = -1 }; /* the token before the first */

struct decoder_kind;

/* Floats. */
struct decoder_shape {
    size_t state;               /* S: what a row carries from step to step, copied with it */
    size_t past;                /* G: what each step adds to the row's past, kept once; 0: nothing */
    size_t key, value;          /* K, P: of one entry of the memory, all layers together */
    size_t input, top, readout; /* E, H, O: what a step shows to the output layer */
};

struct decoder {
    const struct decoder_kind *kind;
    const struct kernels *kernels;
    size_t vocabulary;      /* V */
    const float *embedding; /* [V, E] */
    int first;              /* the id of the first input, or DECODER_FIRST for a zero vector */
    bool attends;           /* false: one entry of memory stands for a whole sentence, and there is no attention to show */
    struct decoder_shape shape;
    void *own; /* what its kind loaded */
};

/* has: builds config.json's decoder.style. init loads the parameters into decoder->own, and says its shape and whether it attends;
 * -1: decoder_done frees what was loaded. done frees own. The others are the functions below of the same name. */
struct decoder_kind {
    bool (*has)(const char *style);
    int (*init)(struct decoder *decoder, const struct model_config *config, struct weights *weights, struct error *err);
    void (*done)(void *own);
    int (*start)(const struct decoder *decoder, const struct encoded *encoded, const size_t *lengths, size_t n, struct arena *arena,
                 float *states, struct error *err);
    int (*remember)(const struct decoder *decoder, const struct encoded *encoded, const size_t *lengths, size_t n,
                    struct arena *arena, float *keys, float *values, struct error *err);
    int (*step)(const struct decoder *decoder, const struct row *rows, size_t count, struct arena *arena, struct error *err);
};
extern const struct decoder_kind decoder_recurrent;

/* first: the id of <s>. */
int decoder_init(struct decoder *decoder, const struct model_config *config, size_t vocabulary, int first, struct weights *weights,
                 const struct kernels *kernels, struct error *err);
void decoder_done(struct decoder *decoder);

/* The first states [n, S] of n sentences just encoded: lengths [n]. Scratch in the arena. -1 with ERROR_MEMORY. */
int decoder_start(const struct decoder *decoder, const struct encoded *encoded, const size_t *lengths, size_t n,
                  struct arena *arena, float *states, struct error *err);

/* Entries of the memory of a sentence of T tokens: T; without attention 1. */
size_t decoder_slots(const struct decoder *decoder, size_t length);

/* What n sentences just encoded are remembered by: keys [slots, K] and values [slots, P], sentences end to end. Scratch in the
 * arena, released before returning. -1 with ERROR_MEMORY. */
int decoder_remember(const struct decoder *decoder, const struct encoded *encoded, const size_t *lengths, size_t n,
                     struct arena *arena, float *keys, float *values, struct error *err);

/* One step of R rows. Scratch in the arena, released before returning. -1 with ERROR_MEMORY, their states then undefined. */
int decoder_step(const struct decoder *decoder, const struct row *rows, size_t count, struct arena *arena, struct error *err);

/* For kinds: x [E] = the embedding of what a row reads. */
void decoder_embed(const struct decoder *decoder, int token, float *x);

#endif
