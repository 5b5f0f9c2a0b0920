/* This file hides how the operations of transformers besides the products are computed in vectors. It is compiled once per
 * instruction set, as kernels.c. */
#include "model/compute/kernels.h"
#include "model/compute/vector.h"
#include <math.h>

INLINE size_t number_bytes(bool half) {
    return half ? sizeof(uint16_t) : sizeof(float);
}

INLINE const char *vector_at(const struct looked_at *all, bool half, size_t t) {
    if (all->path)
        return (const char *)all->path[t] + all->offset * number_bytes(half);
    return (const char *)all->first + t * all->distance * number_bytes(half);
}

/* Loads the numbers i to i + VL of a vector. */
INLINE vec load_at(bool half, const char *vector, size_t i) {
    const char *p = vector + i * number_bytes(half);
    vec v;
    if (half)
        return load_half(p);
    memcpy(&v, p, sizeof v);
    return v;
}

/* Loads the first n < VL of them and clears the other lanes. */
INLINE vec load_some(bool half, const char *vector, size_t i, size_t n) {
    char p[VL * sizeof(float)] = {0};
    memcpy(p, vector + i * number_bytes(half), n * number_bytes(half));
    return load_at(half, p, 0);
}

/* ---- scores ---- */

enum { KEYS = 4 }; /* scored together */

/* sums[t] = q . k[t] lane by lane, for one head. */
INLINE void multiply(bool half, const float *q, const char *const *k, size_t size, vec sums[KEYS]) {
    UNROLL
    for (size_t t = 0; t < KEYS; t++)
        sums[t] = splat(0);
    size_t i = 0;
    for (; i + VL <= size; i += VL) {
        vec query = load(q + i);
        UNROLL
        for (size_t t = 0; t < KEYS; t++)
            sums[t] = multiply_add(query, load_at(half, k[t], i), sums[t]);
    }
    if (i < size) {
        vec query = load_part(q + i, size - i, 0);
        UNROLL
        for (size_t t = 0; t < KEYS; t++)
            sums[t] = multiply_add(query, load_some(half, k[t], i, size - i), sums[t]);
    }
}

/* Scores the first `count` of KEYS keys. Missing keys repeat the last one, and their scores are dropped. */
INLINE void score_some(bool half, const struct heads_shape *heads, const float *q, const char *const *keys, size_t count, size_t n,
                       float *e) {
    for (size_t h = 0; h < heads->count; h++) {
        const char *k[KEYS];
        vec sums[KEYS];
        UNROLL
        for (size_t t = 0; t < KEYS; t++)
            k[t] = keys[t] + h * heads->size * number_bytes(half);
        multiply(half, q + h * heads->size, k, heads->size, sums);
        quad four = sum_four(sums);
        memcpy(e + h * n, &four, count * sizeof *e);
    }
}

INLINE void score_all(bool half, const struct heads_shape *heads, const float *q, const struct looked_at *keys, size_t n,
                      float *e) {
    for (size_t t = 0; t < n; t += KEYS) {
        const char *k[KEYS];
        for (size_t i = 0; i < KEYS; i++)
            k[i] = vector_at(keys, half, t + i < n ? t + i : n - 1);
        if (t + KEYS <= n)
            score_some(half, heads, q, k, KEYS, n, e + t);
        else
            score_some(half, heads, q, k, n - t, n, e + t);
    }
}

static void scores(const struct heads_shape *heads, const float *q, const struct looked_at *keys, size_t n, float *e) {
    if (keys->half)
        score_all(true, heads, q, keys, n, e);
    else
        score_all(false, heads, q, keys, n, e);
}

/* ---- sums ---- */

enum { COLUMNS = 8 }; /* vectors that are summed together, of one head or several */

/* Sums `vectors` whole vectors from column `first` on, each of which belongs to one head. */
INLINE void sum_whole(bool half, const struct heads_shape *heads, const float *a, const struct looked_at *values, size_t n,
                      size_t first, size_t vectors, float *out) {
    const float *weights[COLUMNS];
    vec sums[COLUMNS];
    UNROLL
    for (size_t v = 0; v < vectors; v++) {
        weights[v] = a + (first + v * VL) / heads->size * n;
        sums[v] = splat(0);
    }
    for (size_t t = 0; t < n; t++) {
        const char *value = vector_at(values, half, t);
        UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[v] = multiply_add(splat(weights[v][t]), load_at(half, value, first + v * VL), sums[v]);
    }
    UNROLL
    for (size_t v = 0; v < vectors; v++)
        store(out + first + v * VL, sums[v]);
}

INLINE void sum_head(bool half, const struct heads_shape *heads, const float *a, const struct looked_at *values, size_t n,
                     size_t head, float *out) {
    size_t at = head * heads->size, end = at + heads->size;
    for (; at + VL <= end; at += VL) {
        vec sum = splat(0);
        for (size_t t = 0; t < n; t++)
            sum = multiply_add(splat(a[head * n + t]), load_at(half, vector_at(values, half, t), at), sum);
        store(out + at, sum);
    }
    if (at < end) { /* columns that fill only a part of a vector */
        vec sum = splat(0);
        for (size_t t = 0; t < n; t++)
            sum = multiply_add(splat(a[head * n + t]), load_some(half, vector_at(values, half, t), at, end - at), sum);
        memcpy(out + at, &sum, (end - at) * sizeof *out);
    }
}

INLINE void sum_all(bool half, const struct heads_shape *heads, const float *a, const struct looked_at *values, size_t n,
                    float *out) {
    size_t size = heads->count * heads->size, at = 0;
    if (heads->size % VL != 0) {
        for (size_t h = 0; h < heads->count; h++)
            sum_head(half, heads, a, values, n, h, out);
        return;
    }
    for (; at + COLUMNS * VL <= size; at += COLUMNS * VL)
        sum_whole(half, heads, a, values, n, at, COLUMNS, out);
    for (; at < size; at += VL)
        sum_whole(half, heads, a, values, n, at, 1, out);
}

static void sums(const struct heads_shape *heads, const float *a, const struct looked_at *values, size_t n, float *out) {
    if (values->half)
        sum_all(true, heads, a, values, n, out);
    else
        sum_all(false, heads, a, values, n, out);
}

/* ---- whole sentences ---- A block of rows is multiplied with the keys of one head, and the weights that result with its values.
 * The sums of a row are always in the same order, in any block. */

enum { QUERIES = 8 };

/* sums[r] = sum_k a[r][k] b[k], b [depth] of `lanes` columns, ldb floats apart. */
INLINE void multiply_columns(const float *const *a, const float *b, size_t ldb, size_t depth, size_t lanes, vec sums[QUERIES]) {
    UNROLL
    for (size_t r = 0; r < QUERIES; r++)
        sums[r] = splat(0);
    for (size_t k = 0; k < depth; k++, b += ldb) {
        vec column = lanes < VL ? load_part(b, lanes, 0) : load(b);
        UNROLL
        for (size_t r = 0; r < QUERIES; r++)
            sums[r] = multiply_add(splat(a[r][k]), column, sums[r]);
    }
}

INLINE void transpose_quad(const float *rows, size_t distance, size_t there, size_t width, size_t padded, float *columns) {
    quad r[4];
    UNROLL
    for (size_t t = 0; t < 4; t++) {
        r[t] = (quad){0};
        memcpy(&r[t], rows + (t < there ? t : there - 1) * distance, width * sizeof *rows);
    }
    quad low = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5), high = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
    quad low2 = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5), high2 = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
    quad c[4] = {__builtin_shufflevector(low, low2, 0, 1, 4, 5), __builtin_shufflevector(low, low2, 2, 3, 6, 7),
                 __builtin_shufflevector(high, high2, 0, 1, 4, 5), __builtin_shufflevector(high, high2, 2, 3, 6, 7)};
    UNROLL
    for (size_t t = 0; t < 4; t++)
        memcpy(columns + t * padded, &c[t], sizeof c[t]);
}

/* Turns rows [n, size] into columns [size rounded up to 4, padded], four by four. From n to padded there is anything finite. */
INLINE void transpose(const float *rows, size_t distance, size_t n, size_t size, size_t padded, float *columns) {
    size_t i = 0;
    for (; i + 4 <= size; i += 4)
        for (size_t j = 0; j < padded; j += 4)
            transpose_quad(rows + (j < n ? j : n - 1) * distance + i, distance, j < n ? n - j : 1, 4, padded,
                           columns + i * padded + j);
    for (size_t j = 0; i < size && j < padded; j += 4)
        transpose_quad(rows + (j < n ? j : n - 1) * distance + i, distance, j < n ? n - j : 1, size - i, padded,
                       columns + i * padded + j);
}

static void fall_off(float slope, size_t position, size_t n, float *e) {
    for (size_t j = 0; j < n; j++)
        e[j] -= slope * (float)(j > position ? j - position : position - j);
}

/* Computes weights [QUERIES, padded] of `rows` rows from `first` on; keys: columns. */
static void weigh(const struct heads_shape *heads, const struct mutual *m, size_t head, size_t first, size_t rows,
                  const float *keys, size_t padded, float *weights) {
    const float *q[QUERIES];
    float scale = 1 / sqrtf((float)heads->size);
    for (size_t r = 0; r < QUERIES; r++)
        q[r] = m->q + (first + (r < rows ? r : rows - 1)) * m->distance + head * heads->size;
    for (size_t at = 0; at < padded; at += VL) {
        vec sums[QUERIES];
        multiply_columns(q, keys + at, padded, heads->size, VL, sums);
        UNROLL
        for (size_t r = 0; r < QUERIES; r++)
            store(weights + r * padded + at, sums[r] * scale);
    }
    for (size_t r = 0; r < rows; r++) {
        if (m->slopes)
            fall_off(m->slopes[head], first + r, m->n, weights + r * padded);
        softmax_floats(weights + r * padded, m->n);
    }
}

/* Sums `lanes` columns of one head from column `at` of d on. */
INLINE void sum_columns(const struct heads_shape *heads, const struct mutual *m, const float *const *weights, size_t first,
                        size_t rows, size_t at, size_t lanes) {
    vec sums[QUERIES];
    multiply_columns(weights, m->v + at, m->distance, m->n, lanes, sums);
    for (size_t r = 0; r < rows; r++) {
        float *out = m->out + (first + r) * heads->count * heads->size + at;
        if (lanes < VL)
            store_part(out, sums[r], lanes);
        else
            store(out, sums[r]);
    }
}

static void attend_some(const struct heads_shape *heads, const struct mutual *m, size_t head, size_t first, size_t rows,
                        const float *keys, size_t padded, float *weights) {
    const float *w[QUERIES];
    size_t at = head * heads->size, end = at + heads->size;
    weigh(heads, m, head, first, rows, keys, padded, weights);
    for (size_t r = 0; r < QUERIES; r++)
        w[r] = weights + (r < rows ? r : rows - 1) * padded;
    for (; at + VL <= end; at += VL)
        sum_columns(heads, m, w, first, rows, at, VL);
    if (at < end)
        sum_columns(heads, m, w, first, rows, at, end - at);
    for (size_t r = 0; m->weights && r < rows; r++)
        memcpy(m->weights + ((first + r) * heads->count + head) * m->n, w[r], m->n * sizeof *m->weights);
}

static void attend(const struct heads_shape *heads, const struct mutual *m) {
    size_t padded = (m->n + VL - 1) / VL * VL, end = m->first + m->rows;
    float *keys = m->scratch, *weights = keys + (heads->size + 3) * padded;
    for (size_t head = 0; head < heads->count; head++) {
        transpose(m->k + head * heads->size, m->distance, m->n, heads->size, padded, keys);
        for (size_t first = m->first; first < end; first += QUERIES)
            attend_some(heads, m, head, first, end - first < QUERIES ? end - first : QUERIES, keys, padded, weights);
    }
}

/* ---- halves ---- */

static void halve(const float *x, size_t n, uint16_t *out) {
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        store_half(out + i, load(x + i));
    for (; i < n; i++)
        out[i] = half_of(x[i]);
}

/* ---- element by element ---- */

INLINE vec relu_vec(vec x) {
    return larger(x, splat(0));
}

/* x Phi(x). Abramowitz and Stegun, 7.1.26, for z = |x| / sqrt(2): erfc(z) = (a1 t + ... + a5 t^5) exp(-z^2), t = 1 / (1 + p z). */
INLINE vec gelu_vec(vec x) {
    vec z = larger(x, -x) * 0.707106781f;
    vec t = reciprocal(1.0f + 0.3275911f * z);
    vec p = splat(1.061405429f);
    p = p * t - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    vec tail = 0.5f * p * t * exp_within(clamp(-z * z, 87)); /* Phi(-|x|) */
    return x * choose(x > splat(0), 1.0f - tail, tail);
}

IN_PLACE(relu, relu_vec(v))
IN_PLACE(swish, v *sigmoid_vec(v))
IN_PLACE(gelu, gelu_vec(v))

static void ssru(const float *f, size_t n, float *c, float *z) {
    size_t i = 0;
    for (; i + VL <= n; i += VL) {
        vec candidate = load(z + i), cell = candidate + sigmoid_vec(load(f + i)) * (load(c + i) - candidate);
        store(c + i, cell);
        store(z + i, relu_vec(cell));
    }
    if (i < n) {
        size_t m = n - i;
        vec candidate = load_part(z + i, m, 0);
        vec cell = candidate + sigmoid_vec(load_part(f + i, m, 0)) * (load_part(c + i, m, 0) - candidate), h = relu_vec(cell);
        store_part(c + i, cell, m);
        store_part(z + i, h, m);
    }
}

static void mix(const float *i, const float *x, const float *f, size_t n, float *y) {
    size_t at = 0;
    for (; at + VL <= n; at += VL)
        store(y + at, sigmoid_vec(load(i + at)) * load(x + at) + sigmoid_vec(load(f + at)) * load(y + at));
    if (at < n) {
        size_t m = n - at;
        vec last = sigmoid_vec(load_part(i + at, m, 0)) * load_part(x + at, m, 0) +
                   sigmoid_vec(load_part(f + at, m, 0)) * load_part(y + at, m, 0);
        store_part(y + at, last, m);
    }
}

const struct block_kernels JOIN(block_kernels, KERNELS) = {
    .scores = scores,
    .sums = sums,
    .attend = attend,
    .halve = halve,
    .relu = relu,
    .swish = swish,
    .gelu = gelu,
    .ssru = ssru,
    .mix = mix,
};
