/* Kernels are the inner loops of all computation. They are compiled once per instruction set;
 * kernels_choose picks the best that the processor supports. The sections are products with weights
 * (products_float.c, products_int8.c), attention by heads and all other operations (kernels.c).
 * Every operation treats each row alone and in one fixed order, so a row's result does not depend
 * on the rows beside it. Errors against the C library are tested: relative error of exp below 3e-7,
 * absolute error of tanh below 3e-7. */
#ifndef ALIGND_KERNELS_H
#define ALIGND_KERNELS_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- products with weights ----
 * A matrix is packed once, at load, into panels that the processor reads from front to back; and
 * also row by row if products want only a few hundred of its thousands of outputs
 * (model/weights/weights.h). */

/* The matrix to be packed: weight [out, in], finite. Only int8 reads the scales. It may come in
 * several parts, so that a large matrix is never in memory as float32: then weight is rows first ..
 * first + rows - 1, each part but the last one has a multiple of PACKED_TOGETHER of them, and all
 * parts go into the same packed matrix. */
enum { PACKED_TOGETHER = 96 };
struct unpacked {
    const float *weight;
    size_t out, in;
    float scale; /* 0: each output channel has its own, max |w| / 127; otherwise one for all, and
                    every w / scale is an integer */
    float input_scale;  /* as in struct product */
    size_t first, rows; /* rows 0: all, in one part */
};

/* Takes the outputs of a product some columns at a time, so that they need not leave the cache. */
struct taker {
    size_t columns; /* at a time: a multiple of PACKED_TOGETHER; the last ones may be fewer */
    /* Called for rows row .. row + rows - 1 and columns column .. column + count - 1, which lie at
     * the beginning of these rows of y and may be overwritten afterwards. */
    void (*take)(const struct taker *taker, size_t row, size_t rows, size_t column, size_t count);
};

/* y [rows, out] = x [rows, in] W^T + bias (NULL: none); ldx, ldy: floats from row to row. */
struct product {
    const void *packed;
    const float *bias;
    size_t out, in;
    float input_scale; /* int8: the factor of x before it is rounded; 0: 127 / max |x| of the row */
    const float *x;
    size_t ldx, rows;
    float *y;
    size_t ldy;
    bool relu; /* y = max(y, 0), where NaN stays NaN */
    const struct taker *
        taker; /* NULL: none; otherwise y is [rows, taker->columns], and there is no next product */
    /* The product that is computed next, with this y as its x; it must have no next one itself.
     * Afterwards y is undefined, because int8 with given input scales stores rounded values there.
     * NULL: none. */
    const struct product *next;
};

/* Some outputs of each row: y [x_rows, count] = W[ids] x + bias[ids] (NULL: none). */
struct lookup {
    const void *rows;
    const float *bias;
    size_t out, in;
    float input_scale; /* as in struct product */
    const float *x;
    const int *ids; /* [count], each below out */
    size_t count;
    float *y;
    size_t x_rows, ldx, ldy; /* 0 rows: one; ldx, ldy: floats from row to row */
};

/* A format of packed weights, and the products with them. Packed memory is aligned to 64 bytes. */
struct packing {
    const char *name;
    size_t max_in;
    /* The size of a packed matrix [out, in]. */
    size_t (*bytes)(size_t out, size_t in);
    void (*pack)(const struct unpacked *from, void *packed);
    /* All products are of the same rows: x, ldx, rows and in are equal. int8 rounds them once for
     * equal input scales. */
    void (*multiply)(const struct product *products, size_t count);
    /* The same weights row by row, for lookups. int8: the results have the same bits as those of
     * the product. */
    size_t (*rows_bytes)(size_t out, size_t in);
    void (*pack_rows)(const struct unpacked *from, void *rows);
    void (*look_up)(const struct lookup *lookup);
    /* From this many rows on, the product of all outputs, whose bits are the same, is faster than
     * lookups of two fifths of them; 0: never. */
    size_t product_rows;
};

/* The packings of one instruction set.
 * float16 and bfloat16 weights are expanded when they are read, multiplied and added in float32:
 * products of one to eight rows are bound by the bytes they read, and these are half as many. The
 * result is that of float32 with the weights rounded. int8: weights have one scale per output
 * channel, max |w| / 127; each row of x is rounded with its own scale, max |x| / 127. Sums are
 * exact, in int32. A row of x with anything not finite gives NaN. If scales are given (Marian's
 * "alphas"), x is rounded to nearest, ties to even, and limited to 127; NaN becomes -127. */
struct packings {
    const struct packing *float32, *float16, *bfloat16, *int8;
};

/* ---- attention by heads, and other operations of transformers ---- */

/* `count` heads of `size` columns each, head h from column h * size on; together d columns. scale:
 * the factor of their scores, usually 1 / sqrt(size). */
struct heads_shape {
    size_t count, size;
    float scale;
};

/* The vectors of d numbers that a row attends to. Vector t is at first + t * distance, or at
 * path[t]
 * + offset if there is a path. narrow: its numbers are int16, two in a float, and its unit, the
 * float that each is multiplied by, stands after them. */
struct looked_at {
    const float *first;
    size_t distance;
    const float *const *path;
    size_t offset;
    bool narrow;
};

/* Returns the floats that a vector of d numbers takes. */
static inline size_t kept_room(size_t d, bool narrow) {
    return narrow ? (d + 1) / 2 + 1 : d;
}

/* A sentence whose n rows all attend to each other, `rows` of them now, from `first` on. The
 * vectors of q, k and v are `distance` floats apart. */
struct mutual {
    const float *q, *k, *v;
    size_t distance, n;
    size_t first, rows;
    const float *lean; /* what is added to the score of row i for row j: head h's is at h *
                          lean_distance + j - i; NULL: nothing */
    size_t lean_distance;
    float *scratch; /* [mutual_scratch] */
    float *weights; /* [n, heads, n], of which these rows are written; NULL: not wanted */
    float *out;     /* [n, d] side by side, of which these rows are written */
};

/* Floats for the keys of one head, column by column, and the weights of some rows. */
static inline size_t mutual_scratch(const struct heads_shape *heads, size_t n) {
    return (heads->size + 3 + 8) * ((n + 15) / 16 * 16);
}

struct block_kernels {
    /* e [heads, n]: e[h][t] = q_h . k_h[t], q [d]. */
    void (*scores)(const struct heads_shape *heads, const float *q, const struct looked_at *keys,
                   size_t n, float *e);
    /* out [d]: out_h = sum_t a[h][t] v_h[t], a [heads, n]. */
    void (*sums)(const struct heads_shape *heads, const float *a, const struct looked_at *values,
                 size_t n, float *out);

    /* In place: e [heads, n] -> softmax(scale e_h) of every head. */
    void (*weigh)(size_t heads, size_t n, float scale, float *e);

    /* Attention of rows to their whole sentence: softmax(scale q_h . k_h + lean) v_h of every head.
     */
    void (*attend)(const struct heads_shape *heads, const struct mutual *mutual);

    /* Writes x [n] as looked_at.narrow describes, in kept_room(n, true) floats: rounded to nearest,
     * with max |x| / 32767 as its unit. That is NaN if a number is not finite. */
    void (*narrow)(const float *x, size_t n, float *out);

    /* In place: max(x, 0); x sigmoid(x); x Phi(x), with an absolute error below 3e-7 |x|;
     * the approximation of x Phi(x) by 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). */
    void (*relu)(float *x, size_t n);
    void (*swish)(float *x, size_t n);
    void (*gelu)(float *x, size_t n);
    void (*gelu_tanh)(float *x, size_t n);

    /* Simpler simple recurrent unit, Kim et al. 2019: g = sigmoid(f), c' = g c + (1 - g) z, h =
     * max(c', 0); h overwrites z. */
    void (*ssru)(const float *f, size_t n, float *c, float *z);
    /* y' = sigmoid(i) x + sigmoid(f) y: the gate of average attention, Zhang et al. 2018. */
    void (*mix)(const float *i, const float *x, const float *f, size_t n, float *y);
    /* y *= x. */
    void (*multiply)(const float *x, size_t n, float *y);
};

/* ---- all other operations ---- */

/* One of the best tokens of a row. */
struct ranked {
    int token;
    float logit;
};

/* The sums over the logits of one row so far, which row_sums_begin begins. Logits are added
 * SUMMED_TOGETHER at a time. */
enum { MOST_LANES = 16, SUMMED_TOGETHER = 256 };
struct row_sums {
    float top; /* the greatest */
    float total[MOST_LANES],
        weighted[MOST_LANES]; /* exp(d) and d exp(d), d = logit - top, lane by lane */
    size_t seen;
    struct ranked *best; /* [k] best first, the lower token first of equals */
    size_t k, count;
    float least; /* higher logits enter the list */
};

/* Statistics of one row of logits. */
struct row_summary {
    float log_sum; /* log sum exp */
    float entropy; /* nats */
    size_t count;  /* number of the best tokens that were found */
};

/* Before the first logit. The best k tokens are wanted; those at -infinity or NaN are left out. */
static inline struct row_sums row_sums_begin(size_t k, struct ranked *best) {
    return (struct row_sums){.top = -FLT_MAX, .best = best, .k = k, .least = -INFINITY};
}

/* The attention of earlier steps: it adds weight [n] times sums[t] to key t. */
struct coverage {
    const float *weight, *sums;
};

struct kernels {
    const char *name; /* "generic", "v3" (AVX2, FMA), "v4" (AVX-512), "vnni" (int8 products), "amx"
                         (tiles), "dotprod" (vnni of arm64) */
    bool wants_blas;  /* OpenBLAS is faster in float32, because these vectors have only 16 bytes */
    const char *processor; /* the layout of packed weights: "x86-64-vnni", "arm64-generic" */
    const struct packings *packings;
    const struct block_kernels *blocks;

    void (*tanh)(float *x, size_t n);
    /* y += x. */
    void (*add)(const float *x, size_t n, float *y);
    /* x [n] -> softmax(x) in place. */
    void (*softmax)(float *x, size_t n);
    /* Adds the next n logits of a row: a multiple of SUMMED_TOGETHER, unless they are the last. The
     * parts in which a row comes do not change a bit. */
    void (*sum_row)(struct row_sums *sums, const float *logits, size_t n);
    struct row_summary (*summary)(const struct row_sums *sums);

    /* GRU gates of one row, in PyTorch's order r, z, n: x, u [3n] hold W x + b and U h + b; h [n]
     * is updated. r = s(x_r + u_r), z = s(x_z + u_z), n = tanh(x_n + r * u_n), h' = (1 - z) n + z
     * h. */
    void (*gru)(const float *x, const float *u, float *h, size_t n);
    /* LSTM gates i, f, g, o: c' = s(f) c + s(i) tanh(g), h' = s(o) tanh(c'). */
    void (*lstm)(const float *x, const float *u, float *h, float *c, size_t n);

    /* Gated linear units of one row with a residual connection: x [2n] holds a and g; h' =
     * sqrt(1/2) (a s(g) + h). */
    void (*gated)(const float *x, size_t n, float *h);
    /* Each row x [n], n >= 1 -> gain * (x - mean) / sqrt(variance + epsilon) + shift in place:
     * layer normalisation, Ba et al. 2016. shift NULL: gain * x / sqrt(mean(x^2) + epsilon),
     * normalisation by the root mean square, Zhang and Sennrich 2019. ld: floats from row to row.
     */
    void (*normalize)(float *x, size_t ld, size_t rows, const float *gain, const float *shift,
                      size_t n, float epsilon);
    /* y = max(x, y), element by element. */
    void (*maxima)(const float *x, size_t n, float *y);

    /* e[t] = q . k[t], k [count, n]. */
    void (*dot)(const float *q, const float *k, size_t count, size_t n, float *e);
    /* x -> exp(2x) in place; x is limited to -43.5 to 43.5. */
    void (*exp_twice)(float *x, size_t n);
    /* e[t] = v . tanh(q + k[t]), where q and k hold exp(2q) and exp(2k): one exponential for each
     * query and key, and none for each pair. Exact as long as q or k is within -33 to 33, or both
     * are within 43.5. */
    void (*additive)(const float *v, const float *q, const float *k, size_t count, size_t n,
                     float *e);
    /* The same with coverage: e[t] = v . tanh(q + k[t] + w c[t]), with one exponential for each
     * pair. */
    void (*additive_covered)(const float *v, const float *q, const float *k,
                             const struct coverage *coverage, size_t count, size_t n, float *e);
    /* out [n] = sum_t a[t] h[t], h [count, n]. */
    void (*weighted_sum)(const float *a, const float *h, size_t count, size_t n, float *out);
};

/* ---- the instruction sets ---- */

#define KERNELS_OF(set)                                                                            \
    extern const struct packing packing_int8_##set;                                                \
    extern const struct packings packings_##set;                                                   \
    extern const struct kernels kernels_##set
/* SETS_ARCHITECTURE(...) is the rows of sets.def that belong to this architecture. */
#define SETS_any(...) __VA_ARGS__
#if defined(__x86_64__)
#define SETS_x86_64(...) __VA_ARGS__
#else
#define SETS_x86_64(...)
#endif
#if defined(__aarch64__)
#define SETS_aarch64(...) __VA_ARGS__
#else
#define SETS_aarch64(...)
#endif
#define SET(architecture, name, flags, condition) SETS_##architecture(KERNELS_OF(name);)
#include "model/compute/sets.def"

/* Returns the best for this processor. */
const struct kernels *kernels_choose(void);

/* Softmax statistics of a row's logits [n], and its best k tokens. */
static inline struct row_summary summarize(const struct kernels *kernels, const float *logits,
                                           size_t n, size_t k, struct ranked *best) {
    struct row_sums sums = row_sums_begin(k, best);
    kernels->sum_row(&sums, logits, n);
    return kernels->summary(&sums);
}

#endif
