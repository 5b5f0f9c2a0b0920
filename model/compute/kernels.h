/* The inner loops, compiled once per instruction set from kernels.c; kernels_choose picks the best that the processor has.
 * Every operation treats each row alone and in one fixed order, so a row's result does not depend on the rows beside it.
 * exp and tanh: relative error below 3e-7 (exp) and absolute error below 3e-7 (tanh), tested against the C library. */
#ifndef ALIGND_KERNELS_H
#define ALIGND_KERNELS_H

#include "model/compute/kernels_blocks.h"
#include "model/compute/products.h"
#include "model/compute/ranked.h"
#include <stddef.h>

/* Of one row of logits. */
struct row_summary {
    float log_sum; /* log sum exp */
    float entropy; /* nats */
    size_t count;  /* of the best that were found */
};

/* What a score knows of the attention before: it adds weight [n] times sums[t] to key t. */
struct coverage {
    const float *weight, *sums;
};

struct kernels {
    const char *name;      /* "generic", "v3" (AVX2, FMA), "v4" (AVX-512), "vnni" (and its int8 products) */
    const char *processor; /* what packed weights are laid out for: "x86-64-vnni", "arm64-generic" */

    const struct packings *packings;    /* products with weights */
    const struct block_kernels *blocks; /* what a transformer has besides */

    void (*tanh)(float *x, size_t n);
    /* y += x. */
    void (*add)(const float *x, size_t n, float *y);
    /* x [n] -> softmax(x) in place. */
    void (*softmax)(float *x, size_t n);
    /* Softmax statistics and the best k tokens, at most n, best first, of equals the lower one first; no token at -infinity or NaN
     * is among them. */
    struct row_summary (*summarize)(const float *logits, size_t n, size_t k, struct ranked *best);

    /* GRU gates of one row, in PyTorch's order r, z, n: x, u [3n] hold W x + b and U h + b; h [n] is updated.
     * r = s(x_r + u_r), z = s(x_z + u_z), n = tanh(x_n + r * u_n), h' = (1 - z) n + z h. */
    void (*gru)(const float *x, const float *u, float *h, size_t n);
    /* LSTM gates i, f, g, o: c' = s(f) c + s(i) tanh(g), h' = s(o) tanh(c'). */
    void (*lstm)(const float *x, const float *u, float *h, float *c, size_t n);

    /* Gated linear units of one row with a residual connection: x [2n] holds a and g; h' = sqrt(1/2) (a s(g) + h). */
    void (*gated)(const float *x, size_t n, float *h);
    /* x [n], n >= 1 -> gain * (x - mean) / sqrt(variance + epsilon) + shift in place: layer normalisation, Ba et al. 2016. */
    void (*normalize)(float *x, const float *gain, const float *shift, size_t n, float epsilon);
    /* y = max(x, y), element by element. */
    void (*maxima)(const float *x, size_t n, float *y);

    /* e[t] = q . k[t], k [count, n]. */
    void (*dot)(const float *q, const float *k, size_t count, size_t n, float *e);
    /* x -> exp(2x) in place, x taken to be within -43.5 to 43.5. */
    void (*exp_twice)(float *x, size_t n);
    /* e[t] = v . tanh(q + k[t]), where q and k hold exp(2q) and exp(2k): one exponential for each query and key, none for each
     * pair. Exact as long as one of q and k is within -33 to 33, or both within 43.5. */
    void (*additive)(const float *v, const float *q, const float *k, size_t count, size_t n, float *e);
    /* The same with coverage: e[t] = v . tanh(q + k[t] + w c[t]). One exponential for each pair. */
    void (*additive_covered)(const float *v, const float *q, const float *k, const struct coverage *coverage, size_t count,
                             size_t n, float *e);
    /* out [n] = sum_t a[t] h[t], h [count, n]. */
    void (*weighted_sum)(const float *a, const float *h, size_t count, size_t n, float *out);
};

extern const struct kernels kernels_generic;
#if defined(__x86_64__)
extern const struct kernels kernels_v3, kernels_v4, kernels_vnni;
#endif

/* The best for this processor. */
const struct kernels *kernels_choose(void);

#endif
