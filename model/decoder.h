/* One decoder step for R rows. A row's recurrent state has a fixed size whatever its sentence, so rows of different sentences
 * share every matrix product. Styles (where the attention stands in the step) and readouts are tables.
 *
 * A context c = sum_j a_j h_j is read through matrices only: by the second cell of a conditional decoder, by the readout. W c + b =
 * sum_j a_j (W h_j + b), since the weights sum to 1: so these products are made once per sentence, for all its tokens at once, and
 * not for each row in each step. The values of the attention's memory hold them side by side; where something reads c itself, the
 * annotations. */
#ifndef ALIGND_DECODER_H
#define ALIGND_DECODER_H

#include "model/arena.h"
#include "model/attention.h"
#include "model/cell.h"
#include "model/config.h"
#include "model/encoder.h"

enum { DECODER_FIRST = -1 }; /* the token before the first */

struct decoder_kind;
struct readout_kind;

struct decoder {
    const struct decoder_kind *kind;
    const struct kernels *kernels;
    size_t vocabulary, embedding_size, hidden, layers, readout_size; /* V, E, H, -, O */
    size_t annotation;                                               /* D */
    size_t state_size;                                               /* S: layers * states * H, then h~ [O] with input feeding */
    size_t layer_size;                                               /* states * H */
    size_t feed;                                                     /* O with input feeding, else 0 */
    int first; /* the id of the first input, or DECODER_FIRST for a zero vector */
    enum initial_state initial_state;
    bool projected;
    const float *embedding; /* [V, E] */
    struct cell cells[CONFIG_MAX_LAYERS];
    struct cell conditional; /* style conditional: the second cell of layer 0, which reads the context */
    struct linear initial[CONFIG_MAX_LAYERS];
    struct attention attention;
    const struct readout_kind *reads;
    struct linear readout, readout_context; /* of what the readout reads besides the context, and of that; out 0: no layer */
};

/* R rows side by side. */
struct decoder_rows {
    size_t rows;
    const int *tokens;                    /* [R], DECODER_FIRST before the first token */
    const struct memory *const *memories; /* [R] */
    float *states;                        /* [R, S], updated */
    float *const *attention;              /* [R] rows of [T_r], written */
    float *readouts;                      /* [R, O], written */
    float *inputs;                        /* [R, E], written: the embeddings of the tokens; NULL: not wanted */
};

/* first: the id of <s>. */
int decoder_init(struct decoder *decoder, const struct model_config *config, size_t vocabulary, int first, struct weights *weights,
                 const struct kernels *kernels, struct error *err);
void decoder_done(struct decoder *decoder);

/* The first states [n, S] of n sentences just encoded: lengths [n]. Scratch in the arena. -1 with ERROR_MEMORY. */
int decoder_start(const struct decoder *decoder, const struct encoded *encoded, const size_t *lengths, size_t n,
                  struct arena *arena, float *states, struct error *err);

/* values [tokens, P], P = decoder->attention.value, of annotations [tokens, D], sentences end to end. */
void decoder_values(const struct decoder *decoder, const float *annotations, size_t tokens, float *values);

/* Row 0's h of the top layer, within states [R, S]; the next row's is S floats on. */
const float *decoder_top(const struct decoder *decoder, const float *states);

/* One step. Scratch in the arena, released before returning. -1 with ERROR_MEMORY, rows then undefined. */
int decoder_step(const struct decoder *decoder, const struct decoder_rows *rows, struct arena *arena, struct error *err);

#endif
