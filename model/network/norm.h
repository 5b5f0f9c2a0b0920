/* Layer normalisation of the products that a model makes (Ba et al. 2016): y = gain * (x - mean) / sqrt(variance + epsilon) +
 * shift, element by element, mean and variance over the vector. One table of kinds; weights/norm.py has the same. */
#ifndef ALIGND_NORM_H
#define ALIGND_NORM_H

#include "model/compute/kernels.h"
#include "model/weights/weights.h"
#include <stdbool.h>

/* apart: what a vector has of two kinds (a GRU's gates and its candidate) is normalised each for itself. */
struct norm_kind {
    const char *name;
    bool apart;
    float epsilon;
};

/* The row of this name; NULL as table_find. "none" is a row, whose epsilon is 0. */
const struct norm_kind *norm_kind_find(const char *key, const char *name, struct error *err);

/* Zeroed: no normalisation. */
struct norm {
    size_t size, first; /* of the vector; of the first of its two kinds, or size where all are one */
    float epsilon;
    const float *gain, *shift; /* [size]; NULL: there is none. Owned by the weights */
};

/* The vector, and what its parameters are called. */
struct norm_names {
    const char *gain, *shift;
    size_t size;
    size_t first; /* 0: all elements are of one kind */
};

/* Nothing is loaded for "none". Failures as weights_get's, for weights_failed. */
void norm_init(struct norm *norm, const struct norm_kind *kind, const struct norm_names *names, struct weights *weights,
               struct error *err);

static inline bool norm_is_set(const struct norm *norm) {
    return norm->gain != NULL;
}

/* Row r at x + r * ld, in place; nothing without a gain. */
void norm_apply(const struct norm *norm, const struct kernels *kernels, size_t rows, float *x, size_t ld);

#endif
