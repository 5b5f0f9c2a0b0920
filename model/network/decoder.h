/* The decoder: what it remembers of an encoded sentence, and steps of its rows (model/network/row.h). A new kind is one file with a
 * decoder_kind, one row in decoder.c and one in weights/model/network.py; batch and search see only what is declared here.
 *
 * A sentence is remembered by entries of keys and values (struct memory), at which its rows' steps look; a row has a state of fixed
 * size, and a past to which each step adds. Their sizes are the decoder's shape. */
#ifndef ALIGND_DECODER_H
#define ALIGND_DECODER_H

#include "model/base/arena.h"
#include "model/network/encoder.h"
#include "model/network/row.h"
#include "model/weights/config.h"
#include "model/weights/weights.h"

enum { DECODER_FIRST = -1 }; /* the token before the first */

struct decoder_kind;

/* Floats. */
struct decoder_shape {
    size_t state;               /* S: what a row carries from step to step; copied with it */
    size_t past;                /* G: what each step adds to the row's past; stored once; 0: nothing */
    size_t key, value;          /* K, P: of one entry of the memory, all layers together */
    size_t input, top, readout; /* E, H, O: what the output layer reads of a step */
};

struct decoder {
    const struct decoder_kind *kind;
    const struct kernels *kernels;
    size_t vocabulary;              /* V */
    struct weights_table embedding; /* [V, E] */
    int first;                      /* the id of the first input, or DECODER_FIRST for a zero vector */
    bool attends;                   /* false: one entry of memory stands for a whole sentence, and attention cannot be shown */
    struct decoder_shape shape;
    struct lookers self, cross; /* steps that look with several heads at those before, and at the memory (struct row_looks) */
    void *own;                  /* what its kind has loaded */
};

/* first: the id of <s> or </s>, as decoder.first_input of config.json says. */
int decoder_init(struct decoder *decoder, const struct model_config *config, size_t vocabulary, int first, struct weights *weights,
                 const struct kernels *kernels, struct error *err);
void decoder_done(struct decoder *decoder);

/* The first states [n, S] of n sentences just encoded: lengths [n]. Scratch in the arena. -1 with ERROR_MEMORY. */
int decoder_start(const struct decoder *decoder, const struct encoded *encoded, const size_t *lengths, size_t n,
                  struct arena *arena, float *states, struct error *err);

/* Entries of the memory of a sentence of T tokens: T, or 1 without attention. */
size_t decoder_slots(const struct decoder *decoder, size_t length);

/* The memory of sentences just encoded, end to end: `count` entries from `first` on, keys [count, K] and values [count, P]. Scratch
 * in the arena, released before returning. -1 with ERROR_MEMORY. */
int decoder_remember(const struct decoder *decoder, const struct encoded *encoded, size_t first, size_t count, struct arena *arena,
                     float *keys, float *values, struct error *err);

/* One step of R rows. If the shape has no state, a row may continue those before it: it finds in its past what they add. Scratch in
 * the arena, released before returning. -1 with ERROR_MEMORY; the states are undefined then. */
int decoder_step(const struct decoder *decoder, const struct row *rows, size_t count, struct arena *arena, struct error *err);

/* ---- for kinds of decoders ---- */

/* has: true if the kind implements this decoder.style of config.json. init loads the parameters into decoder->own, and sets the
 * shape and whether it attends; -1: decoder_done frees what was loaded. done frees own. The others implement the functions above.
 * */
struct decoder_kind {
    bool (*has)(const char *style);
    int (*init)(struct decoder *decoder, const struct model_config *config, struct weights *weights, struct error *err);
    void (*done)(void *own);
    int (*start)(const struct decoder *decoder, const struct encoded *encoded, const size_t *lengths, size_t n, struct arena *arena,
                 float *states, struct error *err);
    int (*remember)(const struct decoder *decoder, const struct encoded *encoded, size_t first, size_t count, struct arena *arena,
                    float *keys, float *values, struct error *err);
    int (*step)(const struct decoder *decoder, const struct row *rows, size_t count, struct arena *arena, struct error *err);
};
extern const struct decoder_kind decoder_recurrent;

/* x [E] = the embedding of a row's token; zeros for DECODER_FIRST if the first input is a zero vector. */
void decoder_embed(const struct decoder *decoder, int token, float *x);

#endif
