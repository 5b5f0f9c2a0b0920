/* Compute types: how products with weights are done. The one place here that knows how a translator or a linear of each is made. */
#ifndef ALIGND_BENCH_COMPUTE_H
#define ALIGND_BENCH_COMPUTE_H

#include "model/matrix.h"
#include "model/translator.h"

/* All that there are, NULL last. */
extern const char *const compute_types[];

/* NULL, or -1, with ERROR_INPUT if there is no such type; other errors as translator_open's and linear_init's. */
struct translator *compute_open(const char *compute, const char *folder, struct error *err);
int compute_linear(const char *compute, const float *weight, size_t out, size_t in, struct linear *linear, struct error *err);

#endif
