/* One decoder step for R rows. A row's recurrent state has a fixed size whatever its sentence, so rows of different sentences
 * share every matrix product. Styles (where the attention stands in the step) are a table.
 *
 * A context c = sum_j a_j V h_j (V the identity, unless values are learned) is read through matrices only: by a cell of the first
 * layer, by the readout. W c + b = sum_j a_j (W V h_j + b), since the weights sum to 1: so these products are made once per
 * sentence, for all its tokens at once, and not for each row in each step. The values of the attention's memory hold them side by
 * side; where something reads c itself, V h_j. Without attention c is the encoder's final state, and the memory has one entry, the
 * products with it. Where products are normalised, the norm is of their weighted sum, W c + b, and so no part of the values. */
#ifndef ALIGND_DECODER_H
#define ALIGND_DECODER_H

#include "model/arena.h"
#include "model/attention.h"
#include "model/cell.h"
#include "model/config.h"
#include "model/encoder.h"
#include "model/norm.h"
#include "model/readout.h"

enum { DECODER_FIRST = -1 }; /* the token before the first */

struct decoder_kind;

struct decoder {
    const struct decoder_kind *kind;
    const struct kernels *kernels;
    size_t vocabulary, embedding_size, hidden, layers, readout_size; /* V, E, H, -, O */
    size_t annotation, context;                                      /* D, C */
    size_t state_size; /* S: layers * states * H; with coverage a sum of attention for each token; with input feeding h~ [O] */
    size_t layer_size; /* states * H */
    size_t feed;       /* O with input feeding, else 0 */
    int first;         /* the id of the first input, or DECODER_FIRST for a zero vector */
    enum initial_state initial_state;
    bool projected, residual;
    bool initial_cell;                     /* an LSTM's c starts as its h does, not at zero */
    const struct norm_kind *norm;          /* of the products with its matrices */
    size_t transitions, upper_transitions; /* cells that follow the last one of layer 0, and of each layer above it */
    bool attends;                          /* false: style fixed */
    const float *embedding;                /* [V, E] */
    struct cell cells[CONFIG_MAX_LAYERS];
    struct cell conditional;     /* style conditional: the second cell of layer 0, which reads the context */
    struct linear input_context; /* styles bahdanau and fixed: what the cell of layer 0 reads of the context */
    struct linear initial[CONFIG_MAX_LAYERS];
    struct norm initial_norms[CONFIG_MAX_LAYERS];
    struct attention attention; /* no kind and no keys where there is none; always the size P of values */
    struct readout readout;
};

/* R rows side by side. */
struct decoder_rows {
    size_t rows;
    const int *tokens;                    /* [R], DECODER_FIRST before the first token */
    const size_t *steps;                  /* [R] target tokens before this one */
    const struct memory *const *memories; /* [R] */
    float *states;                        /* [R, S], updated */
    float *const *attention;              /* [R] rows of [T_r], written if there is attention */
    float *readouts;                      /* [R, O], written */
    float *inputs;                        /* [R, E], written: the embeddings of the tokens; NULL: not wanted */
    float *tops;                          /* [R, H], written: what the top layer puts out; NULL: not wanted */
    const float *const *forced;           /* [R] attention rows to take instead of the model's own, or NULL; see attention_rows */
};

/* first: the id of <s>. */
int decoder_init(struct decoder *decoder, const struct model_config *config, size_t vocabulary, int first, struct weights *weights,
                 const struct kernels *kernels, struct error *err);
void decoder_done(struct decoder *decoder);

/* The first states [n, S] of n sentences just encoded: lengths [n]. Scratch in the arena. -1 with ERROR_MEMORY. */
int decoder_start(const struct decoder *decoder, const struct encoded *encoded, const size_t *lengths, size_t n,
                  struct arena *arena, float *states, struct error *err);

/* Entries of the memory of a sentence of T tokens: T; without attention 1. */
size_t decoder_slots(const struct decoder *decoder, size_t length);

/* What n sentences just encoded are remembered by: keys [slots, A] and values [slots, P], P = decoder->attention.value, sentences
 * end to end. Scratch in the arena, released before returning. -1 with ERROR_MEMORY. */
int decoder_remember(const struct decoder *decoder, const struct encoded *encoded, const size_t *lengths, size_t n,
                     struct arena *arena, float *keys, float *values, struct error *err);

/* One step. Scratch in the arena, released before returning. -1 with ERROR_MEMORY, rows then undefined. */
int decoder_step(const struct decoder *decoder, const struct decoder_rows *rows, struct arena *arena, struct error *err);

#endif
