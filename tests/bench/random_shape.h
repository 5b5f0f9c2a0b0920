/* The shapes of random models: recurrent ones (bidirectional GRU encoder, additive attention,
 * conditional GRU decoder that starts from the mean annotation, tanh readout), and transformers as
 * Bergamot's students and OPUS-MT's models are (one embedding for both sides and the output). */
#ifndef ALIGND_TESTS_BENCH_RANDOM_SHAPE_H
#define ALIGND_TESTS_BENCH_RANDOM_SHAPE_H

#include <stddef.h>
#include <stdio.h>

struct shape {
    const char *name;
    size_t embedding, hidden, attention, readout,
        vocabulary;                                /* E, H, A, O, V; of a transformer E and V */
    size_t filter, encoder_layers, decoder_layers; /* of a transformer; otherwise 0 */
    const char *mixer;
};

/* NULL: the name is unknown. */
const struct shape *shape_find(const char *name);

struct tensor {
    char name[64];
    size_t rows, cols;     /* cols 0: a vector */
    double centre, spread; /* values lie in centre - spread .. centre + spread */
};

struct tensors {
    struct tensor items[320];
    size_t count;
};

struct tensors shape_tensors(const struct shape *shape);
/* config.json */
void shape_write_config(const struct shape *shape, FILE *file);

#endif
