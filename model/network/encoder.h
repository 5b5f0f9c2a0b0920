/* The encoder: token ids -> annotations, for many sentences of different lengths at once. */
#ifndef ALIGND_ENCODER_H
#define ALIGND_ENCODER_H

#include "model/base/arena.h"
#include "model/weights/config.h"
#include "model/weights/weights.h"

struct encoder_kind;

/* Layers whose rows look at others, and the heads with which they do; zeros: no rows do. */
struct lookers {
    size_t layers, heads;
};

struct encoder {
    const struct encoder_kind *kind;
    const struct kernels *kernels;
    size_t vocabulary, embedding_size; /* V, E */
    size_t annotation;                 /* D */
    struct weights_table embedding;    /* [V, E] */
    struct lookers self;               /* tokens that look at each other */
    void *own;                         /* what its kind has loaded */
};

struct encoded {
    float *annotations;               /* [sum T, D], in the order of the ids */
    float *finals[CONFIG_MAX_LAYERS]; /* recurrent, for each layer: [n, states, its size, D in the top one], state h first,
                                       * [forward; backward] */
    const float *top;                 /* the last layer's final h of each sentence, top_ld floats apart; NULL: there is none */
    size_t top_ld;
};

int encoder_init(struct encoder *encoder, const struct model_config *config, size_t vocabulary, struct weights *weights,
                 const struct kernels *kernels, struct error *err);
void encoder_done(struct encoder *encoder);

/* Encodes n sentences. ids: all tokens end to end, each inside the vocabulary; lengths [n], each >= 1. out and all scratch are
 * allocated in the arena. Thread-safe, because the encoder is immutable. Returns 0, or -1 with ERROR_MEMORY. */
int encoder_run(const struct encoder *encoder, const int *ids, const size_t *lengths, size_t n, struct arena *arena,
                struct encoded *out, struct error *err);

/* The weights [layers, T, heads, T] with which the tokens of one sentence look at each other, for an encoder whose tokens do.
 * Scratch in the arena. -1 with ERROR_MEMORY. */
int encoder_look(const struct encoder *encoder, const int *ids, size_t length, struct arena *arena, float *weights,
                 struct error *err);

/* encoder_run in parts, for an encoder that divides. Call encoder_advance with the result of encoder_begin (NULL with ERROR_MEMORY)
 * until it returns true; then out is valid. lengths and the arena must stay until then. A part takes `work` multiplications or
 * somewhat more, for sentences of any length. */
bool encoder_divides(const struct encoder *encoder);
void *encoder_begin(const struct encoder *encoder, const int *ids, const size_t *lengths, size_t n, struct arena *arena,
                    struct encoded *out, struct error *err);
bool encoder_advance(const struct encoder *encoder, void *parts, size_t work);
/* How many of the rows that are left a part takes: as many as do this work, with `each` multiplications a row, but not too few,
 * since a product of a few rows would read the weights for too little. */
size_t encoder_part_rows(size_t work, size_t each, size_t left);

#endif
