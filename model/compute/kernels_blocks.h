/* The operations of a transformer's blocks around the products, compiled once per instruction set as model/compute/kernels.h says;
 * a member of struct kernels. */
#ifndef ALIGND_KERNELS_BLOCKS_H
#define ALIGND_KERNELS_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* d columns: `count` heads of `size` each, head h from column h * size on. */
struct heads_shape {
    size_t count, size;
};

/* Vectors that a row looks at. Vector t is at first + t * distance; or, where path is given, at path[t] + offset, counted in its
 * numbers. half: those are binary16. */
struct looked_at {
    const float *first;
    size_t distance;
    const float *const *path;
    size_t offset;
    bool half;
};

/* A sentence whose n rows all look at each other, and which of them do so now: `rows` from `first` on. Vectors of q, k and v are
 * `distance` floats apart. */
struct mutual {
    const float *q, *k, *v;
    size_t distance, n;
    size_t first, rows;
    const float *slopes; /* [heads] ALiBi: a score is lower by slope times the distance of the two; NULL: not */
    float *scratch;      /* [mutual_scratch] */
    float *weights;      /* [n, heads, n] likewise; NULL: not wanted */
    float *out;          /* [n, d] side by side, of these rows written */
};

/* Floats: one head's keys, column by column, and the weights of some rows. */
static inline size_t mutual_scratch(const struct heads_shape *heads, size_t n) {
    return (heads->size + 3 + 8) * ((n + 15) / 16 * 16);
}

struct block_kernels {
    /* e [heads, n]: e[h][t] = q_h . k_h[t], q [d]. */
    void (*scores)(const struct heads_shape *heads, const float *q, const struct looked_at *keys, size_t n, float *e);
    /* out [d]: out_h = sum_t a[h][t] v_h[t], a [heads, n]. */
    void (*sums)(const struct heads_shape *heads, const float *a, const struct looked_at *values, size_t n, float *out);

    /* Attention of rows to all of their sentence: softmax(q_h . k_h / sqrt(size)) v_h of every head. */
    void (*attend)(const struct heads_shape *heads, const struct mutual *mutual);

    /* x as binary16, rounded to nearest. */
    void (*halve)(const float *x, size_t n, uint16_t *out);

    /* In place: max(x, 0); x sigmoid(x); x Phi(x), absolute error below 3e-7 |x|. */
    void (*relu)(float *x, size_t n);
    void (*swish)(float *x, size_t n);
    void (*gelu)(float *x, size_t n);

    /* Simpler simple recurrent unit, Kim et al. 2019: g = sigmoid(f), c' = g c + (1 - g) z, h = max(c', 0); z is overwritten by h.
     */
    void (*ssru)(const float *f, size_t n, float *c, float *z);
    /* y' = sigmoid(i) x + sigmoid(f) y: the gate of average attention, Zhang et al. 2018. */
    void (*mix)(const float *i, const float *x, const float *f, size_t n, float *y);
};

extern const struct block_kernels block_kernels_generic;
#if defined(__x86_64__)
extern const struct block_kernels block_kernels_v3, block_kernels_v4, block_kernels_vnni;
#endif

#endif
