/* Ways to keep a matrix of weights for products of a few rows, and to multiply with it: packed once, at load, into panels that the
 * processor reads front to back. Compiled once per instruction set (model/products.c, model/products_int8.c); all rows of a product
 * are treated alike, each in one fixed order of operations, so a row's result does not depend on the rows beside it. */
#ifndef ALIGND_PRODUCTS_H
#define ALIGND_PRODUCTS_H

#include <stddef.h>

/* y [rows, out] = x [rows, in] W^T + bias (NULL: none); ldx, ldy: floats from row to row. */
struct product {
    const void *packed;
    const float *bias;
    size_t out, in;
    const float *x;
    size_t ldx, rows;
    float *y;
    size_t ldy;
};

/* How weights are kept. float16 and bfloat16 are expanded as they are read, and multiplied and summed in float32: half the bytes to
 * read, which is what bounds products of one to eight rows; a result differs from float32's only where a weight was rounded.
 * int8: one scale per output channel; each row of x is rounded to int8 with a scale of its own; sums are exact, in int32. */
struct packing {
    const char *name;
    /* Room that a [out, in] matrix takes packed, 64-byte-aligned. */
    size_t (*bytes)(size_t out, size_t in);
    void (*pack)(const float *weight, size_t out, size_t in, void *packed);
    void (*multiply)(const struct product *product);
};

/* Of one instruction set. */
struct packings {
    struct packing float32;
};

extern const struct packings packings_generic;
#if defined(__x86_64__)
extern const struct packings packings_v3, packings_v4;
#endif

#endif
