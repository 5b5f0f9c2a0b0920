/* This module multiplies rows, which lie `ld` floats apart, with fixed weights. Every product of a
 * model with its parameters goes through a struct linear; matrix.c alone decides how the weights
 * are kept and multiplied. They are packed once, at load (see struct packing). On processors
 * without AVX2, OpenBLAS multiplies them as they are, if it is installed, except in compute types
 * that it does not have. */
#ifndef ALIGND_MATRIX_H
#define ALIGND_MATRIX_H

#include "model/base/error.h"
#include "model/compute/kernels.h"
#include <stdbool.h>
#include <stddef.h>

/* How products with weights are computed: in float32 throughout; with weights rounded to bfloat16,
 * values and sums in float32; or with weights and values rounded to int8, and exact sums.
 * Everything else is always float32. */
enum compute { COMPUTE_FLOAT32, COMPUTE_BFLOAT16, COMPUTE_INT8, COMPUTE_TYPES };

/* The type in which the weights are stored. Packing them in the same type loses nothing. */
enum stored { STORED_FLOAT32, STORED_FLOAT16, STORED_BFLOAT16, STORED_INT8 };

/* Returns "float32", "bfloat16" or "int8". */
const char *compute_name(enum compute compute);

/* ---- backends ---- */

/* Memory for weights: matrices side by side in large blocks, in huge pages if the system has them.
 * With pages of 4 KiB, a model of more than about 16 MB exceeds the processor's TLB, and products
 * would wait for page walks. Zeroed: empty. Used by one thread at a time. */
struct pages {
    struct pages_block *last; /* the block that is being filled; it links to those before it */
};

/* Returns memory aligned to 64 and not cleared, which stays until pages_done. NULL: out of memory.
 */
void *pages_alloc(struct pages *pages, size_t bytes);
/* Frees all of it; the pages are empty again. */
void pages_done(struct pages *pages);

/* OpenBLAS multiplies float32 on processors without AVX2; nothing else needs it. It is loaded by
 * name at start, because a linked OpenBLAS starts a thread for each core before main(). Each thread
 * takes address space and, if none is left, retries forever, so that the process cannot even exit.
 * Loaded with OPENBLAS_NUM_THREADS=1 it starts no threads, whichever of its variants is installed.
 */
struct blas;

/* Called before any thread starts, since it sets an environment variable; may be called again.
 * Loads nothing if the library is not installed or address space is limited (RLIMIT_AS,
 * RLIMIT_DATA), because a product might then retry forever to get its buffer. */
void blas_load(void);
/* Returns NULL if it is not loaded. */
const struct blas *blas_get(void);

/* A model computes with one backend, which is chosen when it is loaded. */
struct backend {
    const struct kernels *kernels;
    enum compute compute;
    const struct blas *blas; /* NULL: the kernels multiply */
    struct pages *pages;     /* memory for packed weights; NULL: each matrix has its own */
    bool half_past; /* a transformer's decoder keeps keys and values as int16; false: as float32 */
};

/* Returns the best for this processor, in float32. */
struct backend backend_choose(void);

/* ---- linears ---- */

/* R vectors, `distance` floats apart. */
struct vectors {
    const float *x;
    size_t distance;
};

/* y = W x + b. Immutable after linear_init: thread-safe. */
struct linear {
    size_t out, in;
    const float
        *weight; /* [out, in] as loaded, for OpenBLAS; owned by the caller; NULL once packed */
    const float *bias;       /* [out] or NULL; owned by the caller */
    const void *packed;      /* NULL with OpenBLAS */
    const struct blas *blas; /* NULL once packed */
    const void *rows;        /* NULL without lookups */
    void *owned[2];    /* packed and rows, unless the source or the backend's pages own them */
    float input_scale; /* as in struct unpacked */
    const struct packing *packing;
};

/* A linear is made from weight [out, in] and bias [out] or NULL. A weight that is packed may come
 * in parts instead: weight NULL, and read writes `count` rows from `first` on, [count, in], which
 * are finite. */
struct linear_source {
    const float *weight, *bias;
    void (*read)(const void *context, size_t first, size_t count, float *rows);
    const void *context;
    size_t out, in;
    enum stored stored;
    float scale, input_scale; /* as in struct unpacked; 0 if the weights have none */
    bool lookups;             /* keep the weights for linear_look_up, too */
    /* The same weight as linear_packing packed it before, with the rows if there are lookups; they
     * outlive the linear, and weight is not read and may be NULL. NULL: linear_init packs the
     * weight. */
    const void *packed, *rows;
};

/* Returns how linear_init will pack the source; only in and stored are read. NULL: it will leave
 * the weight to OpenBLAS. */
const struct packing *linear_packing(const struct linear_source *source,
                                     const struct backend *backend);

/* The bias and the backend's pages must outlive the linear; so must the weight, unless
 * linear->packed is set afterwards. Without weight, read and packed weights (a failed weights_get)
 * it only returns -1. Returns 0, or -1 with ERROR_MEMORY. */
int linear_init(struct linear *linear, const struct linear_source *source,
                const struct backend *backend, struct error *err);
/* Accepts a zeroed linear. */
void linear_done(struct linear *linear);
/* Returns the bytes of its packed weights. */
size_t linear_bytes(const struct linear *linear);

/* Finds the compute type that takes the least time for a product of one row and one of 32 rows with
 * a matrix of this shape and storage (weight, bias: not read), measured with the backend's kernels
 * in some milliseconds. Returns 0, or -1 with ERROR_MEMORY.
 */
int compute_fastest(const struct backend *backend, const struct linear_source *shape,
                    enum compute *fastest, struct error *err);

/* One of several linears of the same rows: y [rows, out] = x [rows, in] W^T + b, ldy floats from
 * row to row. */
struct linear_output {
    const struct linear *linear;
    float *y;
    size_t ldy;
    bool relu;                 /* y = max(y, 0), where NaN stays NaN */
    const struct taker *taker; /* NULL: y keeps all outputs. Needs linear->packed */
};

/* All have the same `in`, and there are at most LINEAR_OUTPUTS. int8 rounds x once for those of
 * equal input scales. ldx: floats from row to row. */
enum { LINEAR_OUTPUTS = 3 };
void linear_apply_all(const struct linear_output *outputs, size_t count, const float *x, size_t ldx,
                      size_t rows);

static inline void linear_apply(const struct linear *linear, const float *x, size_t ldx,
                                size_t rows, float *y, size_t ldy) {
    linear_apply_all(&(struct linear_output){.linear = linear, .y = y, .ldy = ldy}, 1, x, ldx,
                     rows);
}

/* y [rows, outer->out] = outer(max(inner(x), 0)), x [rows, inner->in], which y may be if it is as
 * wide; scratch: wide [rows, inner->out]. */
void linear_apply_twice(const struct linear *inner, const struct linear *outer, const float *x,
                        size_t rows, float *wide, float *y);

/* Rows that lie ldx floats apart, and their outputs, ldy apart. */
struct linear_rows {
    const float *x;
    size_t ldx, count;
    float *y;
    size_t ldy;
};
/* Computes some outputs of each row: y [count] = (W x + b)[ids], each id below out. The weights are
 * read once for all rows. The linear was made with lookups. With int8 the results have the same
 * bits as those of linear_apply_all. */
void linear_look_up_rows(const struct linear *linear, const struct linear_rows *rows,
                         const int *ids, size_t count);

static inline void linear_look_up(const struct linear *linear, const float *x, const int *ids,
                                  size_t count, float *y) {
    linear_look_up_rows(
        linear, &(struct linear_rows){.x = x, .ldx = linear->in, .count = 1, .y = y, .ldy = count},
        ids, count);
}

/* Returns true if linear_apply_all gives the same bits as lookups of `count` outputs of this many
 * rows, in less time. */
bool linear_outruns_lookups(const struct linear *linear, size_t rows, size_t count);

#endif
