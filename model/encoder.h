/* The recurrent encoder: token ids -> annotations, many sentences at once, ragged. */
#ifndef ALIGND_ENCODER_H
#define ALIGND_ENCODER_H

#include "model/arena.h"
#include "model/cell.h"
#include "model/config.h"

struct encoder {
    size_t vocabulary, embedding_size, hidden, layers, directions;
    size_t annotation;                       /* D = directions * H */
    const float *embedding;                  /* [V, E] */
    struct cell cells[CONFIG_MAX_LAYERS][2]; /* [layer][forward, backward] */
    const struct kernels *kernels;
};

struct encoded {
    float *annotations;               /* [sum T, D]: h_j = [forward; backward], in the order of the ids */
    float *finals[CONFIG_MAX_LAYERS]; /* a layer each: [n, states, D], state h first, [forward; backward] */
    const float *top;                 /* the last layer's final h of each sentence, top_ld floats apart */
    size_t top_ld;
};

int encoder_init(struct encoder *encoder, const struct model_config *config, size_t vocabulary, struct weights *weights,
                 const struct kernels *kernels, struct error *err);
void encoder_done(struct encoder *encoder);

/* Encodes n sentences. ids: all tokens end to end; lengths [n], each >= 1. out and all scratch are allocated in the arena.
 * Thread-safe: the encoder is immutable. Returns 0, or -1 with ERROR_MEMORY. Ids must be inside the vocabulary. */
int encoder_run(const struct encoder *encoder, const int *ids, const size_t *lengths, size_t n, struct arena *arena,
                struct encoded *out, struct error *err);

#endif
