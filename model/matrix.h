/* Products with fixed weights, and the element-wise operations around them, for rows that lie `ld` floats apart.
 * Every product of a model with its parameters goes through a struct linear: how the weights are stored and multiplied is decided
 * here and nowhere else. On processors with AVX2 or AVX-512 they are packed once, at load (model/kernels.c; measured against
 * OpenBLAS in tests/bench); everywhere else OpenBLAS multiplies them as they are. The only includer of cblas.h. */
#ifndef ALIGND_MATRIX_H
#define ALIGND_MATRIX_H

#include "model/error.h"
#include "model/kernels.h"
#include <stddef.h>

/* y = W x + b. Immutable after linear_init: thread-safe. */
struct linear {
    size_t out, in;
    const float *weight; /* [out, in] as loaded, for OpenBLAS; owned by the caller; NULL once packed */
    const float *bias;   /* [out] or NULL; owned by the caller */
    void *packed;        /* owned; NULL with OpenBLAS */
    const struct kernels *kernels;
};

/* bias [out] must outlive the linear, weight [out, in] too unless linear->packed is set afterwards. kernels: from kernels_choose.
 * weight NULL (a failed weights_get): does nothing but return -1. Returns 0, or -1 with ERROR_MEMORY. */
int linear_init(struct linear *linear, const float *weight, const float *bias, size_t out, size_t in, const struct kernels *kernels,
                struct error *err);
/* A zeroed linear is allowed. */
void linear_done(struct linear *linear);

/* y [rows, out] = x [rows, in] W^T + b. ldx, ldy: floats from row to row. */
void linear_apply(const struct linear *linear, const float *x, size_t ldx, size_t rows, float *y, size_t ldy);

/* OpenBLAS computes on the calling thread alone: alignd's workers are the parallelism. Called once, before any thread starts. */
void matrix_single_threaded(void);

#endif
