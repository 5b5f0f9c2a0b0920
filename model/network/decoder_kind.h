/* What a decoder is, and what a kind of decoder is made of (model/network/decoder.h says what each function is for). */
#ifndef ALIGND_DECODER_KIND_H
#define ALIGND_DECODER_KIND_H

#include "model/base/arena.h"
#include "model/network/encoder.h"
#include "model/network/row.h"
#include "model/weights/config.h"
#include "model/weights/weights.h"

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
    size_t vocabulary;              /* V */
    struct weights_table embedding; /* [V, E] */
    int first;                      /* the id of the first input, or DECODER_FIRST for a zero vector */
    bool attends;                   /* false: one entry of memory stands for a whole sentence, and there is no attention to show */
    struct decoder_shape shape;
    struct lookers self, cross; /* steps that look at those before, and at the memory, with several heads (struct row_looks) */
    void *own;                  /* what its kind loaded */
};

/* has: builds config.json's decoder.style. init loads the parameters into decoder->own, and says its shape and whether it attends;
 * -1: decoder_done frees what was loaded. done frees own. The others are the functions of the same name in model/network/decoder.h.
 */
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
extern const struct decoder_kind decoder_recurrent, decoder_transformer;

/* For kinds: x [E] = the embedding of what a row reads. */
void decoder_embed(const struct decoder *decoder, int token, float *x);

#endif
