/* This file hides how the operations besides the products are computed in vectors. The Makefile
 * compiles it once per instruction set of sets.def, with the set's flags and -DKERNELS=NAME; the
 * symbols end in that name. */
#include "model/compute/kernels.h"
#include "model/compute/vector.h"
#include <float.h>
#include <math.h>
#include <stdbool.h>

/* ---- element by element ---- */

IN_PLACE(tanh_floats, tanh_vec(v))
/* exp(2x): see `additive`. */
IN_PLACE(exp_twice, exp_within(clamp(2.0f * v, 87)))

static void add_vector(const float *x, size_t n, float *y) {
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        store(y + i, load(y + i) + load(x + i));
    for (; i < n; i++)
        y[i] += x[i];
}

/* The additions of a row's sum wait for each other. Four rows side by side take about half as long
 * as one after the other. */
enum { NORMALIZED = 4 };

/* Adds numbers to a sum, or the squares of their distances from the mean. */
INLINE vec add_moment(vec total, vec x, const float *mean) {
    return mean ? multiply_add(x - *mean, x - *mean, total) : total + x;
}

/* Returns the sum of each of `rows` rows (a compile-time constant) of n numbers, or of (x - mean)^2
 * if there are means. */
INLINE quad sums_of(const float *x, size_t ld, size_t rows, size_t n, const float *means) {
    vec totals[NORMALIZED];
    size_t i = 0;
    UNROLL
    for (size_t r = 0; r < NORMALIZED; r++)
        totals[r] = splat(0);
    for (; i + VL <= n; i += VL) {
        UNROLL
        for (size_t r = 0; r < rows; r++)
            totals[r] = add_moment(totals[r], load(x + r * ld + i), means ? means + r : NULL);
    }
    if (i < n) {
        UNROLL
        for (size_t r = 0; r < rows; r++)
            totals[r] =
                add_moment(totals[r], load_part(x + r * ld + i, n - i, means ? means[r] : 0),
                           means ? means + r : NULL);
    }
    return sum_four(totals);
}

INLINE void normalize_some(float *x, size_t ld, size_t rows, const float *gain, const float *shift,
                           size_t n, float epsilon) {
    float means[NORMALIZED], scales[NORMALIZED];
    quad mean = {0};
    if (shift)
        mean = sums_of(x, ld, rows, n, NULL) / (float)n;
    memcpy(means, &mean, sizeof means);
    quad variance = sums_of(x, ld, rows, n, means) / (float)n;
    UNROLL
    for (size_t r = 0; r < rows; r++)
        scales[r] = 1.0f / sqrtf(variance[r] + epsilon);
    size_t i = 0;
    for (; i + VL <= n; i += VL) {
        vec g = load(gain + i), s = shift ? load(shift + i) : splat(0);
        UNROLL
        for (size_t r = 0; r < rows; r++)
            store(x + r * ld + i,
                  multiply_add((load(x + r * ld + i) - means[r]) * scales[r], g, s));
    }
    for (size_t r = 0; i < n && r < rows; r++) {
        vec last = (load_part(x + r * ld + i, n - i, 0) - means[r]) * scales[r];
        vec s = shift ? load_part(shift + i, n - i, 0) : splat(0);
        store_part(x + r * ld + i, multiply_add(last, load_part(gain + i, n - i, 0), s), n - i);
    }
}

static void normalize(float *x, size_t ld, size_t rows, const float *gain, const float *shift,
                      size_t n, float epsilon) {
    size_t r = 0;
    for (; r + NORMALIZED <= rows; r += NORMALIZED)
        normalize_some(x + r * ld, ld, NORMALIZED, gain, shift, n, epsilon);
    for (; r < rows; r++)
        normalize_some(x + r * ld, ld, 1, gain, shift, n, epsilon);
}

static void maxima(const float *x, size_t n, float *y) {
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        store(y + i, larger(load(y + i), load(x + i)));
    for (; i < n; i++)
        y[i] = y[i] > x[i] ? y[i] : x[i];
}

/* ---- statistics of a softmax ---- */

_Static_assert((int)VL <= (int)MOST_LANES, "row_sums has room for a vector");

/* Raises top by -d: exp(x - top) shrinks by exp(d), and each d exp(d) moves with it. */
INLINE void raise(struct row_sums *sums, float top) {
    vec d = below(splat(sums->top), top), scale = exp_within(d), total = load(sums->total);
    store(sums->weighted, scale * (load(sums->weighted) + d * total));
    store(sums->total, scale * total);
    sums->top = top;
}

INLINE void add_piece(struct row_sums *sums, const float *x, size_t n) {
    vec total = load(sums->total), weighted = load(sums->weighted);
    size_t i = 0;
    for (; i + VL <= n; i += VL) {
        vec d = below(load(x + i), sums->top), e = exp_within(d);
        total += e;
        weighted += e * d;
    }
    if (i < n) {
        vec d = below(load_part(x + i, n - i, sums->top), sums->top),
            e = first_lanes(exp_within(d), n - i);
        total += e;
        weighted += e * d;
    }
    store(sums->total, total);
    store(sums->weighted, weighted);
}

static void list_insert(struct row_sums *list, int token, float logit) {
    size_t place = list->count < list->k ? list->count++ : list->k - 1;
    for (; place > 0 && list->best[place - 1].logit < logit; place--)
        list->best[place] = list->best[place - 1];
    list->best[place] = (struct ranked){.token = token, .logit = logit};
    if (list->count == list->k)
        list->least = list->best[list->k - 1].logit;
}

/* Lists the best of a piece, whose first token is `first`. */
static void list_piece(struct row_sums *list, const float *logits, size_t n, size_t first) {
    for (size_t i = 0; i < n; i += VL) {
        vec v = n - i < VL ? load_part(logits + i, n - i, -INFINITY) : load(logits + i);
        for (unsigned above = lanes_above(v, list->least); above; above &= above - 1) {
            size_t at = i + (size_t)__builtin_ctz(above);
            if (logits[at] > list->least) /* `least` rises with every logit that enters */
                list_insert(list, (int)(first + at), logits[at]);
        }
    }
}

/* For each piece, which stays in the first cache, one pass finds the greatest logit, one adds the
 * sums, and a few insert. */
static void sum_row(struct row_sums *sums, const float *logits, size_t n) {
    for (size_t i = 0; i < n; i += SUMMED_TOGETHER) {
        size_t length = n - i < SUMMED_TOGETHER ? n - i : SUMMED_TOGETHER;
        float top = max_of(logits + i, length);
        if (top > sums->top)
            raise(sums, top);
        add_piece(sums, logits + i, length);
        if (top > sums->least && sums->k > 0)
            list_piece(sums, logits + i, length, sums->seen + i);
    }
    sums->seen += n;
}

/* With Z = sum exp(d): log sum exp = top + log Z, entropy = log Z - sum(d exp(d)) / Z. */
static struct row_summary summary(const struct row_sums *sums) {
    float z = sum_lanes(load(sums->total)), log_z = logf(z);
    return (struct row_summary){.log_sum = sums->top + log_z,
                                .entropy = log_z - sum_lanes(load(sums->weighted)) / z,
                                .count = sums->count};
}

/* ---- gates ---- */

INLINE vec gru_gate(vec xr, vec ur, vec xz, vec uz, vec xn, vec un, vec h) {
    vec r = sigmoid_vec(xr + ur), z = sigmoid_vec(xz + uz);
    vec candidate = tanh_vec(xn + r * un);
    return candidate + z * (h - candidate);
}

static void gru(const float *x, const float *u, float *h, size_t n) {
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        store(h + i, gru_gate(load(x + i), load(u + i), load(x + n + i), load(u + n + i),
                              load(x + 2 * n + i), load(u + 2 * n + i), load(h + i)));
    if (i < n) {
        size_t m = n - i;
        vec out =
            gru_gate(load_part(x + i, m, 0), load_part(u + i, m, 0), load_part(x + n + i, m, 0),
                     load_part(u + n + i, m, 0), load_part(x + 2 * n + i, m, 0),
                     load_part(u + 2 * n + i, m, 0), load_part(h + i, m, 0));
        store_part(h + i, out, m);
    }
}

INLINE vec lstm_gate(vec i, vec f, vec g, vec o, vec *c) {
    *c = sigmoid_vec(f) * *c + sigmoid_vec(i) * tanh_vec(g);
    return sigmoid_vec(o) * tanh_vec(*c);
}

static void lstm(const float *x, const float *u, float *h, float *c, size_t n) {
    size_t i = 0;
    for (; i + VL <= n; i += VL) {
        vec cell = load(c + i);
        store(h + i, lstm_gate(load(x + i) + load(u + i), load(x + n + i) + load(u + n + i),
                               load(x + 2 * n + i) + load(u + 2 * n + i),
                               load(x + 3 * n + i) + load(u + 3 * n + i), &cell));
        store(c + i, cell);
    }
    if (i < n) {
        size_t m = n - i;
        vec gates[4], cell = load_part(c + i, m, 0);
        for (size_t g = 0; g < 4; g++)
            gates[g] = load_part(x + g * n + i, m, 0) + load_part(u + g * n + i, m, 0);
        vec out = lstm_gate(gates[0], gates[1], gates[2], gates[3], &cell);
        store_part(h + i, out, m);
        store_part(c + i, cell, m);
    }
}

INLINE vec gated_unit(vec a, vec g, vec h) {
    return 0.707106781f * (a * sigmoid_vec(g) + h);
}

static void gated(const float *x, size_t n, float *h) {
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        store(h + i, gated_unit(load(x + i), load(x + n + i), load(h + i)));
    if (i < n) {
        size_t m = n - i;
        vec out =
            gated_unit(load_part(x + i, m, 0), load_part(x + n + i, m, 0), load_part(h + i, m, 0));
        store_part(h + i, out, m);
    }
}

/* ---- attention by one head ---- */

enum { KEYS = 4 }; /* scored together */

/* Scores `keys` keys together (a compile-time constant after inlining): q is read once, and no sum
 * waits for another. */
INLINE void dot_some(const float *q, const float *k, size_t keys, size_t n, float *e) {
    vec sums[KEYS];
    for (size_t t = 0; t < keys; t++)
        sums[t] = splat(0);
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        for (size_t t = 0; t < keys; t++)
            sums[t] += load(q + i) * load(k + t * n + i);
    if (i < n)
        for (size_t t = 0; t < keys; t++)
            sums[t] += load_part(q + i, n - i, 0) * load_part(k + t * n + i, n - i, 0);
    for (size_t t = 0; t < keys; t++)
        e[t] = sum_lanes(sums[t]);
}

static void dot(const float *q, const float *k, size_t count, size_t n, float *e) {
    size_t t = 0;
    for (; t + KEYS <= count; t += KEYS)
        dot_some(q, k + t * n, KEYS, n, e + t);
    for (; t < count; t++)
        dot_some(q, k + t * n, 1, n, e + t);
}

/* 1 / (exp(2q) exp(2k) + 1). The bound keeps infinite products away from reciprocal; from 1e8 on
 * the result is negligible. */
INLINE vec falloff(vec q, vec k) {
    return reciprocal(smaller(splat(1e30f), q * k + 1.0f));
}

/* Turns a query's exp(2q) into exp(2 (q + w c)). */
INLINE vec covered(vec q, vec w, float c) {
    return q * exp_within(clamp(2.0f * c * w, 87));
}

/* covers: w and c hold the coverage; a compile-time constant, as `keys`. */
INLINE void additive_some(const float *v, const float *q, const float *k, bool covers,
                          const float *w, const float *c, size_t keys, size_t n, float *e) {
    vec sums[KEYS], sum_v = splat(0);
    for (size_t t = 0; t < keys; t++)
        sums[t] = splat(0);
    size_t i = 0;
    for (; i + VL <= n; i += VL) {
        vec query = load(q + i), weight = covers ? load(w + i) : query;
        sum_v += load(v + i);
        UNROLL
        for (size_t t = 0; t < keys; t++)
            sums[t] += load(v + i) *
                       falloff(covers ? covered(query, weight, c[t]) : query, load(k + t * n + i));
    }
    if (i < n) {
        vec last = load_part(v + i, n - i, 0), query = load_part(q + i, n - i, 0);
        vec weight = covers ? load_part(w + i, n - i, 0) : query;
        sum_v += last;
        for (size_t t = 0; t < keys; t++)
            sums[t] += last * falloff(covers ? covered(query, weight, c[t]) : query,
                                      load_part(k + t * n + i, n - i, 0));
    }
    for (size_t t = 0; t < keys; t++)
        e[t] = sum_lanes(sum_v - 2.0f * sums[t]);
}

/* tanh(q + k) = 1 - 2 / (exp(2q) exp(2k) + 1), so no exponential remains to be computed here. */
static void additive(const float *v, const float *q, const float *k, size_t count, size_t n,
                     float *e) {
    size_t t = 0;
    for (; t + KEYS <= count; t += KEYS)
        additive_some(v, q, k + t * n, false, NULL, NULL, KEYS, n, e + t);
    for (; t < count; t++)
        additive_some(v, q, k + t * n, false, NULL, NULL, 1, n, e + t);
}

static void additive_covered(const float *v, const float *q, const float *k,
                             const struct coverage *coverage, size_t count, size_t n, float *e) {
    const float *w = coverage->weight, *c = coverage->sums;
    size_t t = 0;
    for (; t + KEYS <= count; t += KEYS)
        additive_some(v, q, k + t * n, true, w, c + t, KEYS, n, e + t);
    for (; t < count; t++)
        additive_some(v, q, k + t * n, true, w, c + t, 1, n, e + t);
}

static void weighted_sum(const float *a, const float *h, size_t count, size_t n, float *out) {
    size_t i = 0;
    for (; i + 4 * VL <= n; i += 4 * VL) {
        vec sum[4] = {splat(0), splat(0), splat(0), splat(0)};
        for (size_t t = 0; t < count; t++)
            for (size_t v = 0; v < 4; v++)
                sum[v] += a[t] * load(h + t * n + i + v * VL);
        for (size_t v = 0; v < 4; v++)
            store(out + i + v * VL, sum[v]);
    }
    for (; i < n; i++) {
        float sum = 0;
        for (size_t t = 0; t < count; t++)
            sum += a[t] * h[t * n + i];
        out[i] = sum;
    }
}

/* ---- attention by many heads ---- */

INLINE size_t number_bytes(bool narrow) {
    return narrow ? sizeof(int16_t) : sizeof(float);
}

INLINE const char *vector_at(const struct looked_at *all, size_t t) {
    return (const char *)(all->path ? all->path[t] + all->offset : all->first + t * all->distance);
}

/* Returns the unit of a narrow vector of d numbers. */
INLINE float unit_of(const char *vector, size_t d) {
    float unit;
    memcpy(&unit, vector + (d + 1) / 2 * sizeof unit, sizeof unit);
    return unit;
}

/* Loads VL numbers of a vector, from i on, narrow ones in their unit. */
INLINE vec load_at(bool narrow, const char *vector, size_t i) {
    const char *p = vector + i * number_bytes(narrow);
    vec v;
    if (narrow)
        return load_int16(p);
    memcpy(&v, p, sizeof v);
    return v;
}

/* Loads n < VL numbers and clears the other lanes. */
INLINE vec load_some(bool narrow, const char *vector, size_t i, size_t n) {
    char p[VL * sizeof(float)] = {0};
    memcpy(p, vector + i * number_bytes(narrow), n * number_bytes(narrow));
    return load_at(narrow, p, 0);
}

/* sums[t] = q . k[t] lane by lane, for one head. */
INLINE void multiply(bool narrow, const float *q, const char *const *k, size_t size,
                     vec sums[KEYS]) {
    UNROLL
    for (size_t t = 0; t < KEYS; t++)
        sums[t] = splat(0);
    size_t i = 0;
    for (; i + VL <= size; i += VL) {
        vec query = load(q + i);
        UNROLL
        for (size_t t = 0; t < KEYS; t++)
            sums[t] = multiply_add(query, load_at(narrow, k[t], i), sums[t]);
    }
    if (i < size) {
        vec query = load_part(q + i, size - i, 0);
        UNROLL
        for (size_t t = 0; t < KEYS; t++)
            sums[t] = multiply_add(query, load_some(narrow, k[t], i, size - i), sums[t]);
    }
}

/* Scores the first `count` of KEYS keys. Missing keys repeat the last one, and their scores are
 * dropped. */
INLINE void score_some(bool narrow, const struct heads_shape *heads, const float *q,
                       const char *const *keys, size_t count, size_t n, float *e) {
    quad units = {0};
    for (int t = 0; narrow && t < KEYS; t++)
        units[t] = unit_of(keys[t], heads->count * heads->size);
    for (size_t h = 0; h < heads->count; h++) {
        const char *k[KEYS];
        vec sums[KEYS];
        UNROLL
        for (size_t t = 0; t < KEYS; t++)
            k[t] = keys[t] + h * heads->size * number_bytes(narrow);
        multiply(narrow, q + h * heads->size, k, heads->size, sums);
        quad four = sum_four(sums);
        if (narrow)
            four *= units;
        memcpy(e + h * n, &four, count * sizeof *e);
    }
}

INLINE void score_all(bool narrow, const struct heads_shape *heads, const float *q,
                      const struct looked_at *keys, size_t n, float *e) {
    for (size_t t = 0; t < n; t += KEYS) {
        const char *k[KEYS];
        for (size_t i = 0; i < KEYS; i++)
            k[i] = vector_at(keys, t + i < n ? t + i : n - 1);
        if (t + KEYS <= n)
            score_some(narrow, heads, q, k, KEYS, n, e + t);
        else
            score_some(narrow, heads, q, k, n - t, n, e + t);
    }
}

static void scores(const struct heads_shape *heads, const float *q, const struct looked_at *keys,
                   size_t n, float *e) {
    if (keys->narrow)
        score_all(true, heads, q, keys, n, e);
    else
        score_all(false, heads, q, keys, n, e);
}

/* Vectors that are summed together, of one head or several: as many as registers hold, or half. */
enum { COLUMNS = VL == 16 ? 16 : 8 };

/* The weights of narrow values are multiplied by the values' units first, so many at a time. */
enum { SCALED = 64 };

/* Scales the weights a [heads, n] of the values from `from` on. */
INLINE void scale_weights(const struct heads_shape *heads, const float *a, size_t n, size_t count,
                          const struct looked_at *values, size_t from, size_t these,
                          float scaled[COLUMNS][SCALED]) {
    float units[SCALED];
    for (size_t t = 0; t < these; t++)
        units[t] = unit_of(vector_at(values, from + t), heads->count * heads->size);
    for (size_t h = 0; h < count; h++)
        for (size_t t = 0; t < these; t++)
            scaled[h][t] = a[h * n + from + t] * units[t];
}

/* Sums `vectors` whole vectors from column `first` on, each of which belongs to one head. */
INLINE void sum_whole(bool narrow, const struct heads_shape *heads, const float *a,
                      const struct looked_at *values, size_t n, size_t first, size_t vectors,
                      float *out) {
    size_t head = first / heads->size, last = (first + vectors * VL - 1) / heads->size;
    float scaled[COLUMNS][SCALED];
    vec sums[COLUMNS];
    UNROLL
    for (size_t v = 0; v < vectors; v++)
        sums[v] = splat(0);
    for (size_t from = 0, these; from < n; from += these) {
        const float *weights[COLUMNS];
        these = narrow && n - from > SCALED ? SCALED : n - from;
        if (narrow)
            scale_weights(heads, a + head * n, n, last - head + 1, values, from, these, scaled);
        UNROLL
        for (size_t v = 0; v < vectors; v++) {
            size_t of = (first + v * VL) / heads->size;
            weights[v] = narrow ? scaled[of - head] : a + of * n;
        }
        for (size_t t = 0; t < these; t++) {
            const char *value = vector_at(values, from + t);
            UNROLL
            for (size_t v = 0; v < vectors; v++)
                sums[v] = multiply_add(splat(weights[v][t]), load_at(narrow, value, first + v * VL),
                                       sums[v]);
        }
    }
    UNROLL
    for (size_t v = 0; v < vectors; v++)
        store(out + first + v * VL, sums[v]);
}

/* Sums `lanes` columns of a head from `at` on: VL, or fewer. */
INLINE void sum_lanes_of(bool narrow, const struct heads_shape *heads, const float *a,
                         const struct looked_at *values, size_t n, size_t at, size_t lanes,
                         float *out) {
    vec sum = splat(0);
    for (size_t t = 0; t < n; t++) {
        const char *value = vector_at(values, t);
        float weight = narrow ? a[t] * unit_of(value, heads->count * heads->size) : a[t];
        sum = multiply_add(
            splat(weight),
            lanes == VL ? load_at(narrow, value, at) : load_some(narrow, value, at, lanes), sum);
    }
    memcpy(out + at, &sum, lanes * sizeof *out);
}

INLINE void sum_head(bool narrow, const struct heads_shape *heads, const float *a,
                     const struct looked_at *values, size_t n, size_t head, float *out) {
    size_t at = head * heads->size, end = at + heads->size;
    for (; at + VL <= end; at += VL)
        sum_lanes_of(narrow, heads, a + head * n, values, n, at, VL, out);
    if (at < end)
        sum_lanes_of(narrow, heads, a + head * n, values, n, at, end - at, out);
}

INLINE void sum_all(bool narrow, const struct heads_shape *heads, const float *a,
                    const struct looked_at *values, size_t n, float *out) {
    size_t size = heads->count * heads->size, at = 0;
    if (heads->size % VL != 0) {
        for (size_t h = 0; h < heads->count; h++)
            sum_head(narrow, heads, a, values, n, h, out);
        return;
    }
    for (; at + COLUMNS * VL <= size; at += COLUMNS * VL)
        sum_whole(narrow, heads, a, values, n, at, COLUMNS, out);
    for (; at + COLUMNS / 2 * VL <= size; at += COLUMNS / 2 * VL)
        sum_whole(narrow, heads, a, values, n, at, COLUMNS / 2, out);
    for (; at < size; at += VL)
        sum_whole(narrow, heads, a, values, n, at, 1, out);
}

static void sums(const struct heads_shape *heads, const float *a, const struct looked_at *values,
                 size_t n, float *out) {
    if (values->narrow)
        sum_all(true, heads, a, values, n, out);
    else
        sum_all(false, heads, a, values, n, out);
}

/* A vector whose largest number is below FAINT is rounded to zeros: the reciprocal of its unit
 * could be infinite. */
#define FAINT 1e-30f

static void narrow(const float *x, size_t n, float *out) {
    int16_t *numbers = (int16_t *)(void *)out;
    vec tops = splat(0), wrong = splat(0); /* wrong: NaN if a number is not finite */
    for (size_t i = 0; i < n; i += VL) {
        vec v = load_part(x + i, n - i < VL ? n - i : VL, 0);
        tops = larger(larger(v, -v), tops);
        wrong += v * 0.0f;
    }
    float top = max_lanes(tops), unit = top / 32767.0f + sum_lanes(wrong),
          inverse = top > FAINT ? 32767.0f / top : 0;
    for (size_t i = 0; i < n; i += VL) {
        size_t lanes = n - i < VL ? n - i : VL;
        int16_t rounded[VL];
        vec v = load_part(x + i, lanes, 0) * inverse;
        HOLD(v);
        store_int16(rounded, round_vec(smaller(splat(32767), larger(v, splat(-32767)))));
        memcpy(numbers + i, rounded, lanes * sizeof *rounded);
    }
    memcpy(out + (n + 1) / 2, &unit, sizeof unit);
}

/* ---- attention of whole sentences ----
 * A block of rows is multiplied with the keys of one head, and the weights that result with its
 * values. The sums of a row are added in the same order in any block. */

/* A block has QUERIES rows and SIDE vectors of columns, as many as registers hold sums. */
enum { QUERIES = 8, SIDE = VL == 16 ? 2 : 1 };

/* The operands of a block: y[r][j] = scale * sum_k x[r][k] b[k][j] for `rows` rows. If there are
 * fewer than QUERIES, x repeats the last one. ldb, ldy: floats from row to row. */
struct block {
    const float *x[QUERIES], *b;
    size_t ldb, depth, rows;
    float scale, *y;
    size_t ldy;
};

/* Computes `vectors` vectors of columns (1 or SIDE, a compile-time constant) from `column` on; if
 * lanes is less than VL, only so many columns of one vector. */
INLINE void multiply_columns(const struct block *block, size_t column, size_t vectors,
                             size_t lanes) {
    vec sums[QUERIES][SIDE];
    const float *b = block->b + column;
    size_t ldb = block->ldb, depth = block->depth;
    UNROLL
    for (size_t r = 0; r < QUERIES; r++) {
        UNROLL
        for (size_t v = 0; v < SIDE; v++)
            sums[r][v] = splat(0);
    }
    for (size_t k = 0; k < depth; k++, b += ldb) {
        vec first = lanes < VL ? load_part(b, lanes, 0) : load(b),
            last = vectors > 1 ? load(b + VL) : first;
        UNROLL
        for (size_t r = 0; r < QUERIES; r++) {
            vec value = splat(block->x[r][k]);
            sums[r][0] = multiply_add(value, first, sums[r][0]);
            if (vectors > 1)
                sums[r][SIDE - 1] = multiply_add(value, last, sums[r][SIDE - 1]);
        }
    }
    float *y = block->y + column, scale = block->scale;
    size_t rows = block->rows, ldy = block->ldy;
    UNROLL
    for (size_t r = 0; r < QUERIES; r++) {
        if (r >= rows)
            break;
        UNROLL
        for (size_t v = 0; v < vectors; v++) {
            if (lanes < VL)
                store_part(y + r * ldy, sums[r][v] * scale, lanes);
            else
                store(y + r * ldy + v * VL, sums[r][v] * scale);
        }
    }
}

/* They are not inlined, so that the compiler has all registers for them. */
static __attribute__((noinline)) void multiply_side(const struct block *block, size_t column) {
    multiply_columns(block, column, SIDE, VL);
}

static __attribute__((noinline)) void multiply_vector(const struct block *block, size_t column) {
    multiply_columns(block, column, 1, VL);
}

static __attribute__((noinline)) void multiply_lanes(const struct block *block, size_t column,
                                                     size_t lanes) {
    multiply_columns(block, column, 1, lanes);
}

static void multiply_rows(const struct block *block, size_t columns) {
    size_t column = 0;
    for (; column + SIDE * VL <= columns; column += SIDE * VL)
        multiply_side(block, column);
    for (; column + VL <= columns; column += VL)
        multiply_vector(block, column);
    if (column < columns)
        multiply_lanes(block, column, columns - column);
}

INLINE void transpose_quad(const float *rows, size_t distance, size_t there, size_t width,
                           size_t padded, float *columns) {
    quad r[4];
    UNROLL
    for (size_t t = 0; t < 4; t++) {
        r[t] = (quad){0};
        memcpy(&r[t], rows + (t < there ? t : there - 1) * distance, width * sizeof *rows);
    }
    quad low = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5),
         high = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
    quad low2 = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5),
         high2 = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
    quad c[4] = {__builtin_shufflevector(low, low2, 0, 1, 4, 5),
                 __builtin_shufflevector(low, low2, 2, 3, 6, 7),
                 __builtin_shufflevector(high, high2, 0, 1, 4, 5),
                 __builtin_shufflevector(high, high2, 2, 3, 6, 7)};
    UNROLL
    for (size_t t = 0; t < 4; t++)
        memcpy(columns + t * padded, &c[t], sizeof c[t]);
}

/* Turns rows [n, size] into columns [size rounded up to 4, padded], four by four. The rest of a
 * column repeats number n - 1. */
INLINE void transpose(const float *rows, size_t distance, size_t n, size_t size, size_t padded,
                      float *columns) {
    size_t i = 0;
    for (; i + 4 <= size; i += 4)
        for (size_t j = 0; j < padded; j += 4)
            transpose_quad(rows + (j < n ? j : n - 1) * distance + i, distance, j < n ? n - j : 1,
                           4, padded, columns + i * padded + j);
    for (size_t j = 0; i < size && j < padded; j += 4)
        transpose_quad(rows + (j < n ? j : n - 1) * distance + i, distance, j < n ? n - j : 1,
                       size - i, padded, columns + i * padded + j);
}

enum { TOGETHER = 4, MOST_VECTORS = 4 };

/* Computes softmax(scale e) of TOGETHER rows side by side, because each is a chain of operations
 * that wait for each other. n is at most `vectors` vectors (a compile-time constant) and more than
 * one less. The results have the bits of softmax_floats. */
INLINE void softmax_together(size_t distance, size_t n, float scale, float *e, size_t vectors) {
    size_t begin = (vectors - 1) * VL, last = n - begin;
    vec x[TOGETHER][MOST_VECTORS], tops[TOGETHER], totals[TOGETHER];
    vec all = (vec)(splat(0) == splat(0)); /* NOLINT(misc-redundant-expression) */
    ivec present = (ivec)first_lanes(all, last);
    UNROLL
    for (size_t h = 0; h < TOGETHER; h++) {
        UNROLL
        for (size_t v = 0; v < vectors; v++) {
            x[h][v] = (v + 1 < vectors ? load(e + h * distance + v * VL)
                                       : load_part(e + h * distance + begin, last, 0)) *
                      scale;
            HOLD(x[h][v]);
        }
        tops[h] = larger(choose(present, x[h][vectors - 1], splat(-FLT_MAX)),
                         splat(-FLT_MAX)); /* NaN does not count */
        UNROLL
        for (size_t v = 0; v + 1 < vectors; v++)
            tops[h] = larger(x[h][v], tops[h]);
    }
    quad top = max_four(tops);
    UNROLL
    for (size_t h = 0; h < TOGETHER; h++) {
        totals[h] = splat(0);
        UNROLL
        for (size_t v = 0; v < vectors; v++) {
            x[h][v] = exp_within(below(x[h][v], top[h]));
            totals[h] += v + 1 < vectors ? x[h][v] : first_lanes(x[h][v], last);
        }
    }
    quad inverse = 1.0f / sum_four(totals);
    UNROLL
    for (size_t h = 0; h < TOGETHER; h++) {
        UNROLL
        for (size_t v = 0; v + 1 < vectors; v++)
            store(e + h * distance + v * VL, x[h][v] * inverse[h]);
        store_part(e + h * distance + begin, x[h][vectors - 1] * inverse[h], last);
    }
}

/* Replaces each row [n] of e, whose rows are `distance` floats apart, by softmax(scale e). */
static void softmax_rows(size_t rows, size_t distance, size_t n, float scale, float *e) {
    size_t r = 0, vectors = (n + VL - 1) / VL;
#define VECTORS(count)                                                                             \
    case count:                                                                                    \
        softmax_together(distance, n, scale, e, count);                                            \
        break
    for (; r + TOGETHER <= rows && vectors <= MOST_VECTORS; r += TOGETHER, e += TOGETHER * distance)
        switch (vectors) {
            VECTORS(1);
            VECTORS(2);
            VECTORS(3);
            VECTORS(4);
        }
#undef VECTORS
    for (; r < rows; r++, e += distance) {
        for (size_t i = 0; i < n; i++)
            e[i] *= scale;
        softmax_floats(e, n);
    }
}

/* Attends with one head from `rows` rows, from `first` on; keys: columns. */
static void attend_some(const struct heads_shape *heads, const struct mutual *m, size_t head,
                        size_t first, size_t rows, const float *keys, size_t padded,
                        float *weights) {
    size_t at = head * heads->size, size = heads->count * heads->size;
    struct block scores = {.b = keys,
                           .ldb = padded,
                           .depth = heads->size,
                           .rows = rows,
                           .scale = heads->scale,
                           .y = weights,
                           .ldy = padded},
                 sums = {.b = m->v + at,
                         .ldb = m->distance,
                         .depth = m->n,
                         .rows = rows,
                         .scale = 1,
                         .y = m->out + first * size + at,
                         .ldy = size};
    for (size_t i = 0; i < QUERIES; i++) {
        size_t r = i < rows ? i : rows - 1;
        scores.x[i] = m->q + (first + r) * m->distance + at;
        sums.x[i] = weights + r * padded;
    }
    multiply_rows(&scores, padded);
    for (size_t r = 0; m->lean && r < rows; r++) {
        const float *lean = m->lean + head * m->lean_distance - (first + r);
        for (size_t j = 0; j < m->n; j++)
            weights[r * padded + j] += lean[j];
    }
    softmax_rows(rows, padded, m->n, 1, weights);
    multiply_rows(&sums, heads->size);
    for (size_t r = 0; m->weights && r < rows; r++)
        memcpy(m->weights + ((first + r) * heads->count + head) * m->n, weights + r * padded,
               m->n * sizeof *m->weights);
}

static void attend(const struct heads_shape *heads, const struct mutual *m) {
    size_t padded = (m->n + VL - 1) / VL * VL, end = m->first + m->rows;
    float *keys = m->scratch, *weights = keys + (heads->size + 3) * padded;
    for (size_t head = 0; head < heads->count; head++) {
        transpose(m->k + head * heads->size, m->distance, m->n, heads->size, padded, keys);
        for (size_t first = m->first; first < end; first += QUERIES)
            attend_some(heads, m, head, first, end - first < QUERIES ? end - first : QUERIES, keys,
                        padded, weights);
    }
}

/* ---- other operations of transformers ---- */

static void weigh_heads(size_t heads, size_t n, float scale, float *e) {
    softmax_rows(heads, n, n, scale, e);
}

INLINE vec relu_vec(vec x) {
    return larger(x, splat(0));
}

/* x Phi(x). Abramowitz and Stegun, 7.1.26, for z = |x| / sqrt(2): erfc(z) = (a1 t + ... + a5 t^5)
 * exp(-z^2), t = 1 / (1 + p z). */
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
/* 0.5 (1 + tanh(z)) = sigmoid(2 z) */
IN_PLACE(gelu_tanh, v *sigmoid_vec(1.595769122f * (v + 0.044715f * v * v * v)))

static void ssru(const float *f, size_t n, float *c, float *z) {
    size_t i = 0;
    for (; i + VL <= n; i += VL) {
        vec candidate = load(z + i),
            cell = candidate + sigmoid_vec(load(f + i)) * (load(c + i) - candidate);
        store(c + i, cell);
        store(z + i, relu_vec(cell));
    }
    if (i < n) {
        size_t m = n - i;
        vec candidate = load_part(z + i, m, 0);
        vec cell = candidate +
                   sigmoid_vec(load_part(f + i, m, 0)) * (load_part(c + i, m, 0) - candidate),
            h = relu_vec(cell);
        store_part(c + i, cell, m);
        store_part(z + i, h, m);
    }
}

static void mix(const float *i, const float *x, const float *f, size_t n, float *y) {
    size_t at = 0;
    for (; at + VL <= n; at += VL)
        store(y + at,
              sigmoid_vec(load(i + at)) * load(x + at) + sigmoid_vec(load(f + at)) * load(y + at));
    if (at < n) {
        size_t m = n - at;
        vec last = sigmoid_vec(load_part(i + at, m, 0)) * load_part(x + at, m, 0) +
                   sigmoid_vec(load_part(f + at, m, 0)) * load_part(y + at, m, 0);
        store_part(y + at, last, m);
    }
}

static void multiply_floats(const float *x, size_t n, float *y) {
    size_t at = 0;
    for (; at + VL <= n; at += VL)
        store(y + at, load(x + at) * load(y + at));
    if (at < n)
        store_part(y + at, load_part(x + at, n - at, 0) * load_part(y + at, n - at, 0), n - at);
}

static const struct block_kernels block_kernels = {
    .scores = scores,
    .sums = sums,
    .weigh = weigh_heads,
    .attend = attend,
    .narrow = narrow,
    .relu = relu,
    .swish = swish,
    .gelu = gelu,
    .gelu_tanh = gelu_tanh,
    .ssru = ssru,
    .mix = mix,
    .multiply = multiply_floats,
};

/* The members that instruction sets with the same vectors share. */
#define OPERATIONS                                                                                 \
    .wants_blas = VL == 4, .processor = ARCHITECTURE "-" TEXT(KERNELS), .blocks = &block_kernels,  \
    .tanh = tanh_floats, .add = add_vector, .softmax = softmax_floats, .exp_twice = exp_twice,     \
    .sum_row = sum_row, .summary = summary, .gru = gru, .lstm = lstm, .gated = gated,              \
    .normalize = normalize, .maxima = maxima, .dot = dot, .additive = additive,                    \
    .additive_covered = additive_covered, .weighted_sum = weighted_sum

const struct kernels JOIN(kernels, KERNELS) = {
    .name = TEXT(KERNELS), .packings = &JOIN(packings, KERNELS), OPERATIONS};
#if defined(VARIANT_SET)
const struct kernels JOIN(kernels, VARIANT_SET) = {
    .name = TEXT(VARIANT_SET), .packings = &JOIN(packings, VARIANT_SET), OPERATIONS};
#endif
