/* The encoder: token ids -> annotations, many sentences at once, ragged. Types are a table: a new one is one file with an
 * encoder_kind, one row in encoder.c and one in weights/model.py. */
#ifndef ALIGND_ENCODER_H
#define ALIGND_ENCODER_H

#include "model/base/arena.h"
#include "model/network/cell.h"
#include "model/weights/config.h"

struct encoder_kind;

/* So many layers, in which a row looks at others with so many heads; zeros: none do. */
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
    void *own;                         /* what its kind loaded */
};

struct encoded {
    float *annotations;               /* [sum T, D], in the order of the ids */
    float *finals[CONFIG_MAX_LAYERS]; /* recurrent, a layer each: [n, states, its size, D in the top one], state h first,
                                       * [forward; backward] */
    const float *top;                 /* the last layer's final h of each sentence, top_ld floats apart; NULL: there is none */
    size_t top_ld;
};

/* Sentences end to end. */
struct sequences {
    size_t n, tokens;      /* their number; all of their tokens */
    const size_t *lengths; /* [n], each >= 1 */
    float *looks;          /* [layers, T, heads, T] written: the weights of the one sentence that there is; NULL: not wanted */
};

/* init loads the parameters into encoder->own; -1: encoder_done frees what was loaded. done frees own. run: x [tokens, E],
 * embedded, may be written to; out and scratch come from the arena; -1: out of memory.
 * begin and advance (NULL: it has none) are run in parts: begin makes what the parts work on, in the arena, or NULL; advance does
 * `work` multiplications or somewhat more, some rows of some layers, and says whether those were the last. The sequences stay. */
struct encoder_kind {
    const char *name;
    int (*init)(struct encoder *encoder, const struct model_config *config, struct weights *weights, struct error *err);
    void (*done)(void *own);
    int (*run)(const struct encoder *encoder, float *x, const struct sequences *sequences, struct arena *arena,
               struct encoded *out);
    void *(*begin)(const struct encoder *encoder, float *x, const struct sequences *sequences, struct arena *arena,
                   struct encoded *out);
    bool (*advance)(const struct encoder *encoder, void *parts, size_t work);
};
extern const struct encoder_kind encoder_recurrent, encoder_convolutional, encoder_transformer;

int encoder_init(struct encoder *encoder, const struct model_config *config, size_t vocabulary, struct weights *weights,
                 const struct kernels *kernels, struct error *err);
void encoder_done(struct encoder *encoder);

/* Encodes n sentences. ids: all tokens end to end; lengths [n], each >= 1. out and all scratch are allocated in the arena.
 * Thread-safe: the encoder is immutable. Returns 0, or -1 with ERROR_MEMORY. Ids must be inside the vocabulary. */
int encoder_run(const struct encoder *encoder, const int *ids, const size_t *lengths, size_t n, struct arena *arena,
                struct encoded *out, struct error *err);

/* What one sentence's tokens look at, of an encoder whose tokens do: weights [layers, T, heads, T]. Scratch in the arena. -1 with
 * ERROR_MEMORY. */
int encoder_look(const struct encoder *encoder, const int *ids, size_t length, struct arena *arena, float *weights,
                 struct error *err);

/* The same as encoder_run in parts, of an encoder that has them: out is valid once encoder_advance, with what encoder_begin has
 * made (NULL with ERROR_MEMORY), says that it is done. lengths and the arena must stay until then. A part: `work` multiplications
 * or somewhat more, whatever the length of the sentences. */
bool encoder_divides(const struct encoder *encoder);
void *encoder_begin(const struct encoder *encoder, const int *ids, const size_t *lengths, size_t n, struct arena *arena,
                    struct encoded *out, struct error *err);
bool encoder_advance(const struct encoder *encoder, void *parts, size_t work);
/* Of the rows that are left, as many as this work has, with `each` multiplications of one; but some at least, since products of
 * fewer read the weights for too little. */
size_t encoder_part_rows(size_t work, size_t each, size_t left);

#endif
