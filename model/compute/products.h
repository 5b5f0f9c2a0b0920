/* Ways to keep a matrix of weights for products of a few rows, and to multiply with it: packed once, at load, into panels that the
 * processor reads front to back; and row by row, where a few hundred outputs of thousands are wanted (model/weights/shortlist.h).
 * Compiled once per instruction set. Each row of a product goes through one fixed order of operations, so its result does not
 * depend on the rows beside it. */
#ifndef ALIGND_PRODUCTS_H
#define ALIGND_PRODUCTS_H

#include <stddef.h>

/* What is packed: weight [out, in], finite. int8 alone reads the scales. */
struct unpacked {
    const float *weight;
    size_t out, in;
    float scale;       /* 0: each output channel has its own, max |w| / 127; otherwise that of all: w / scale is whole already */
    float input_scale; /* as the product's */
};

/* y [rows, out] = x [rows, in] W^T + bias (NULL: none); ldx, ldy: floats from row to row. */
struct product {
    const void *packed;
    const float *bias;
    size_t out, in;
    float input_scale; /* int8: what x is multiplied with before it is rounded; 0: 127 / max |x| of the row */
    const float *x;
    size_t ldx, rows;
    float *y;
    size_t ldy;
};

/* Some outputs of one row: y [count] = W[ids] x + bias[ids] (NULL: none). */
struct lookup {
    const void *rows;
    const float *bias;
    size_t out, in;
    float input_scale; /* as a product's */
    const float *x;
    const int *ids; /* [count], each below out */
    size_t count;
    float *y;
};

struct packing {
    const char *name;
    size_t max_in;
    /* Room that a [out, in] matrix takes packed; 64-byte-aligned memory. */
    size_t (*bytes)(size_t out, size_t in);
    void (*pack)(const struct unpacked *from, void *packed);
    void (*multiply)(const struct product *product);
    /* The same weights row by row, for lookups; 64-byte-aligned memory. int8: what comes out has the same bits as the product's. */
    size_t (*rows_bytes)(size_t out, size_t in);
    void (*pack_rows)(const struct unpacked *from, void *rows);
    void (*look_up)(const struct lookup *lookup);
};

/* Those of one instruction set.
 * float16 and bfloat16 weights are expanded as they are read, multiplied and summed in float32: half the bytes to read, which is
 * what bounds products of one to eight rows. The result is that of float32 with the weights rounded. int8: weights with one scale
 * per output channel, max |w| / 127; each row of x is rounded with a scale of its own, max |x| / 127. Sums are exact, in int32. A
 * row of x that holds anything not finite gives NaN. Where scales are given (Marian's "alphas"), x is rounded to nearest, ties to
 * even, beyond 127 to 127; what is no number to -127. */
struct packings {
    const struct packing *float32, *float16, *bfloat16, *int8;
};

extern const struct packings packings_generic;
extern const struct packing packing_int8_generic;
#if defined(__x86_64__)
extern const struct packings packings_v3, packings_v4, packings_vnni;
extern const struct packing packing_int8_v3, packing_int8_v4, packing_int8_vnni;
#endif

#endif
