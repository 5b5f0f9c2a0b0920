/* The readout: what the output layer reads of a decoder step, made of y (the embedding of the token before), s (what the decoder's
 * top layer puts out) and the context c. One table: a new readout is one row here and one in weights/model.py. */
#ifndef ALIGND_READOUT_H
#define ALIGND_READOUT_H

#include "model/compute/matrix.h"
#include "model/network/norm.h"
#include "model/weights/config.h"
#include "model/weights/weights.h"

struct readout_kind;

/* What is multiplied in one product: W [of some of what the readout reads, side by side]. */
struct readout_part {
    const char *sources; /* `count` of y, s, c */
    size_t count;
    struct linear layer;
    struct norm norm; /* of the product */
};

/* Its layer is the sum of its parts: one of the context, one of all else, or, where they are normalised, one of each source. */
struct readout {
    const struct readout_kind *kind;
    const struct kernels *kernels;
    size_t size;                       /* O */
    size_t embedding, hidden, context; /* E, H, C */
    size_t part_count;                 /* 0: it has no layer */
    struct readout_part parts[2], context_part;
};

/* norm: of the parts. */
int readout_init(struct readout *readout, const struct model_config *config, const struct norm_kind *norm, struct weights *weights,
                 const struct kernels *kernels, struct error *err);
void readout_done(struct readout *readout);

/* Floats that the readout wants of each vector that contexts are made of, and so of the context: the product with its own matrix
 * (not normalised), or the vector itself. readout_values writes those of x [n, C], `distance` floats apart. */
size_t readout_value(const struct readout *readout);
void readout_values(const struct readout *readout, struct vectors x, size_t n, float *values, size_t distance);

/* Of R rows. contexts: sums of readout_values. */
struct readout_inputs {
    struct vectors embeddings, states, contexts;
};

/* out [rows, O]. scratch [rows, readout_scratch]. */
size_t readout_scratch(const struct readout *readout);
void readout_run(const struct readout *readout, const struct readout_inputs *inputs, size_t rows, float *scratch, float *out);

#endif
