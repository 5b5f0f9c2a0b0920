/* Compute types: how products with weights are done. The one place here that knows how a linear of
 * each is made. */
#ifndef ALIGND_BENCH_COMPUTE_H
#define ALIGND_BENCH_COMPUTE_H

#include "model/compute/matrix.h"

/* All that there are, NULL last. */
extern const char *const compute_types[];

/* -1 with ERROR_INPUT if the type is unknown; other errors as linear_init's. */
int compute_linear(const char *compute, const float *weight, size_t out, size_t in,
                   struct linear *linear, struct error *err);

#endif
