/* OpenBLAS, which multiplies float32 where the processor lacks AVX2; nothing else needs it. It is loaded by name at start, not
 * linked: linked, it would start a thread for each core before main(), each of which takes address space and, where there is none
 * left, looks for it for ever, so that the process cannot even end. Loaded with OPENBLAS_NUM_THREADS=1 it starts none, whichever of
 * its variants the system has. The only includer of cblas.h. */
#ifndef ALIGND_BLAS_H
#define ALIGND_BLAS_H

#include <stddef.h>

struct blas;

/* Call before any thread starts (it sets a variable of the environment), once or more often. Loads nothing where the library is not
 * installed, or where address space is limited (RLIMIT_AS, RLIMIT_DATA): a product then would look for its buffer for ever. */
void blas_load(void);
/* NULL: not loaded. */
const struct blas *blas_get(void);

/* W [out, in] and rows of x, each size at most INT_MAX. */
struct blas_product {
    const float *weight, *bias; /* bias [out] or NULL */
    size_t out, in, rows;
    const float *x; /* [rows, in], ldx floats from row to row */
    size_t ldx;
    float *y; /* [rows, out], ldy floats from row to row; of one row, ldy does not matter */
    size_t ldy;
};

/* y = x W^T + b, on the calling thread. */
void blas_multiply(const struct blas *blas, const struct blas_product *product);

#endif
