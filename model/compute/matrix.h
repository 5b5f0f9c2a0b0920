/* Products with fixed weights for rows that lie `ld` floats apart.
 * Every product of a model with its parameters goes through a struct linear: how the weights are kept and multiplied is decided
 * here and nowhere else. They are packed once, at load (model/compute/products.h); where the processor lacks AVX2, OpenBLAS
 * multiplies them as they are if it is there, but for the compute types that it does not have. */
#ifndef ALIGND_MATRIX_H
#define ALIGND_MATRIX_H

#include "model/base/error.h"
#include "model/compute/blas.h"
#include "model/compute/kernels.h"
#include "model/compute/pages.h"
#include <stdbool.h>
#include <stddef.h>

/* How products with weights are computed: in float32 throughout; with weights rounded to bfloat16, values and sums in float32; or
 * with weights and values rounded to int8, sums exact. Everything else is float32 always. */
enum compute { COMPUTE_FLOAT32, COMPUTE_BFLOAT16, COMPUTE_INT8, COMPUTE_TYPES };

/* What the weights were before they were expanded to float32: packed as that again, they lose nothing. */
enum stored { STORED_FLOAT32, STORED_FLOAT16, STORED_BFLOAT16, STORED_INT8 };

/* What a model computes with, chosen once, when it is loaded. */
struct backend {
    const struct kernels *kernels;
    enum compute compute;
    const struct blas *blas; /* NULL: the kernels multiply */
    struct pages *pages;     /* where packed weights go; NULL: each matrix by itself */
    bool half_past;          /* what decoder steps keep for later ones is binary16; false: float32 */
};

/* The best for this processor, in float32. */
struct backend backend_choose(void);

/* R vectors, `distance` floats apart. */
struct vectors {
    const float *x;
    size_t distance;
};

/* y = W x + b. Immutable after linear_init: thread-safe. */
struct linear {
    size_t out, in;
    const float *weight;     /* [out, in] as loaded, for OpenBLAS; owned by the caller; NULL once packed */
    const float *bias;       /* [out] or NULL; owned by the caller */
    const void *packed;      /* NULL with OpenBLAS */
    const struct blas *blas; /* NULL once packed */
    const void *rows;        /* NULL without lookups */
    void *owned[2];          /* both, but for what is the source's or the backend's pages' */
    float input_scale;       /* struct unpacked's */
    const struct packing *packing;
};

/* "float32", "bfloat16", "int8". */
const char *compute_name(enum compute compute);

/* What a linear is made of: weight [out, in], bias [out] or NULL. */
struct linear_source {
    const float *weight, *bias;
    size_t out, in;
    enum stored stored;
    float scale, input_scale; /* struct unpacked's; 0 where the weights came without */
    bool lookups;             /* keep the weights for linear_look_up, too */
    /* What linear_packing's functions made of the same weight before, the rows if there are lookups; they outlive the linear.
     * NULL: made now. The weight is not read then, and may be NULL. */
    const void *packed, *rows;
};

/* How linear_init will pack it; only in and stored are read. NULL: it will leave it to OpenBLAS. */
const struct packing *linear_packing(const struct linear_source *source, const struct backend *backend);

/* The bias and the backend's pages must outlive the linear, the weight too unless linear->packed is set afterwards.
 * weight NULL (a failed weights_get), and nothing packed: does nothing but return -1. Returns 0, or -1 with ERROR_MEMORY. */
int linear_init(struct linear *linear, const struct linear_source *source, const struct backend *backend, struct error *err);
/* A zeroed linear is allowed. */
void linear_done(struct linear *linear);
/* Memory that it owns. */
size_t linear_bytes(const struct linear *linear);

/* The compute type that takes the least time for a product of one row and one of 32 rows with a matrix of this shape and storage
 * (weight, bias: not read), with the backend's kernels, measured now: some milliseconds. Returns 0, or -1 with ERROR_MEMORY. */
int compute_fastest(const struct backend *backend, const struct linear_source *shape, enum compute *fastest, struct error *err);

/* y [rows, out] = x [rows, in] W^T + b. ldx, ldy: floats from row to row. */
void linear_apply(const struct linear *linear, const float *x, size_t ldx, size_t rows, float *y, size_t ldy);

/* Some outputs of one row: y [count] = (W x + b)[ids]. The linear was made with lookups. ids: each below out. With int8 they have
 * the same bits as linear_apply's. */
void linear_look_up(const struct linear *linear, const float *x, const int *ids, size_t count, float *y);

#endif
