#include "model/matrix.h"

#include <assert.h>
#include <cblas.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static size_t round_up(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

int linear_init(struct linear *linear, const float *weight, const float *bias, size_t out, size_t in, const struct kernels *kernels,
                struct error *err) {
    if (!weight)
        return -1;
    void *packed = NULL;
    if (kernels != &kernels_generic) {
        const struct packing *packing = &kernels->packings->float32;
        packed = aligned_alloc(64, round_up(packing->bytes(out, in)));
        if (!packed)
            return error_memory(err);
        packing->pack(weight, out, in, packed);
    }
    *linear =
        (struct linear){.out = out, .in = in, .weight = packed ? NULL : weight, .bias = bias, .packed = packed, .kernels = kernels};
    return 0;
}

void linear_done(struct linear *linear) {
    free(linear->packed);
    *linear = (struct linear){0};
}

static void apply_blas(const struct linear *l, const float *x, size_t ldx, size_t rows, float *y, size_t ldy) {
    assert(l->in <= INT_MAX && l->out <= INT_MAX && rows <= INT_MAX && ldx <= INT_MAX && ldy <= INT_MAX);
    float beta = l->bias ? 1.0f : 0.0f;
    for (size_t r = 0; l->bias && r < rows; r++)
        memcpy(y + r * ldy, l->bias, l->out * sizeof *y);
    if (rows == 1)
        cblas_sgemv(CblasRowMajor, CblasNoTrans, (int)l->out, (int)l->in, 1.0f, l->weight, (int)l->in, x, 1, beta, y, 1);
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)l->out, (int)l->in, 1.0f, x, (int)ldx, l->weight,
                    (int)l->in, beta, y, (int)ldy);
}

void linear_apply(const struct linear *linear, const float *x, size_t ldx, size_t rows, float *y, size_t ldy) {
    if (rows == 0)
        return;
    if (linear->packed)
        linear->kernels->packings->float32.multiply(&(struct product){.packed = linear->packed,
                                                                      .bias = linear->bias,
                                                                      .out = linear->out,
                                                                      .in = linear->in,
                                                                      .x = x,
                                                                      .ldx = ldx,
                                                                      .rows = rows,
                                                                      .y = y,
                                                                      .ldy = ldy});
    else
        apply_blas(linear, x, ldx, rows, y, ldy);
}

void matrix_single_threaded(void) {
    openblas_set_num_threads(1);
}
