/* This file hides how the operations of recurrent networks and of the search are computed in vectors. The Makefile compiles it once
 * per instruction set, with -DKERNELS=generic|v3|v4|vnni and the matching -march; the symbols end in that name. */
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

static float mean_of(const float *x, size_t n) {
    vec total = splat(0);
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        total += load(x + i);
    if (i < n)
        total += load_part(x + i, n - i, 0);
    return sum_lanes(total) / (float)n;
}

/* The mean of (x - mean)^2. */
static float variance_of(const float *x, size_t n, float mean) {
    vec total = splat(0);
    size_t i = 0;
    for (; i + VL <= n; i += VL) {
        vec off = load(x + i) - mean;
        total += off * off;
    }
    if (i < n) {
        vec off = load_part(x + i, n - i, mean) - mean;
        total += off * off;
    }
    return sum_lanes(total) / (float)n;
}

static void normalize(float *x, const float *gain, const float *shift, size_t n, float epsilon) {
    float mean = mean_of(x, n), scale = 1.0f / sqrtf(variance_of(x, n, mean) + epsilon);
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        store(x + i, (load(x + i) - mean) * scale * load(gain + i) + load(shift + i));
    for (; i < n; i++)
        x[i] = (x[i] - mean) * scale * gain[i] + shift[i];
}

static void maxima(const float *x, size_t n, float *y) {
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        store(y + i, larger(load(y + i), load(x + i)));
    for (; i < n; i++)
        y[i] = y[i] > x[i] ? y[i] : x[i];
}

/* ---- statistics of a softmax ---- */

/* Sums over the logits so far, with d = x - top. */
struct sums {
    float top;
    vec total, weighted; /* exp(d), d exp(d) */
};

/* Raises top by -d: exp(x - top) shrinks by exp(d), and each d exp(d) moves with it. */
INLINE void raise(struct sums *sums, float top) {
    vec d = below(splat(sums->top), top), scale = exp_within(d);
    sums->weighted = scale * (sums->weighted + d * sums->total);
    sums->total = scale * sums->total;
    sums->top = top;
}

INLINE void add_piece(struct sums *sums, const float *x, size_t n) {
    size_t i = 0;
    for (; i + VL <= n; i += VL) {
        vec d = below(load(x + i), sums->top), e = exp_within(d);
        sums->total += e;
        sums->weighted += e * d;
    }
    if (i < n) {
        vec d = below(load_part(x + i, n - i, sums->top), sums->top), e = first_lanes(exp_within(d), n - i);
        sums->total += e;
        sums->weighted += e * d;
    }
}

/* The best k so far, best first; of equals, the earlier one first. */
struct list {
    struct ranked *best;
    size_t k, count;
    float least; /* higher logits enter */
};

static void list_insert(struct list *list, int token, float logit) {
    size_t place = list->count < list->k ? list->count++ : list->k - 1;
    for (; place > 0 && list->best[place - 1].logit < logit; place--)
        list->best[place] = list->best[place - 1];
    list->best[place] = (struct ranked){.token = token, .logit = logit};
    if (list->count == list->k)
        list->least = list->best[list->k - 1].logit;
}

static void insert_piece(struct list *list, const float *logits, size_t from, size_t to) {
    for (size_t i = from; i < to; i += VL) {
        vec v = to - i < VL ? load_part(logits + i, to - i, -INFINITY) : load(logits + i);
        for (unsigned above = lanes_above(v, list->least); above; above &= above - 1) {
            size_t token = i + (size_t)__builtin_ctz(above);
            if (logits[token] > list->least) /* `least` rises with every logit that enters */
                list_insert(list, (int)token, logits[token]);
        }
    }
}

/* Works in pieces that stay in the nearest cache: one walk finds the greatest logit, one adds the sums, and, if the greatest is
 * among the best k so far, one updates these. With Z = sum exp(d): log sum exp = top + log Z, entropy = log Z - sum(d exp(d)) / Z.
 */
static struct row_summary summarize(const float *logits, size_t n, size_t k, struct ranked *best) {
    enum { PIECE = 256 };
    struct sums sums = {-FLT_MAX, splat(0), splat(0)};
    struct list list = {.best = best, .k = k, .least = k > 0 ? -INFINITY : INFINITY};
    for (size_t i = 0; i < n; i += PIECE) {
        size_t end = n - i < PIECE ? n : i + PIECE;
        float top = max_of(logits + i, end - i);
        if (top > sums.top)
            raise(&sums, top);
        add_piece(&sums, logits + i, end - i);
        if (top > list.least)
            insert_piece(&list, logits, i, end);
    }
    float z = sum_lanes(sums.total), log_z = logf(z);
    return (struct row_summary){.log_sum = sums.top + log_z, .entropy = log_z - sum_lanes(sums.weighted) / z, .count = list.count};
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
        store(h + i, gru_gate(load(x + i), load(u + i), load(x + n + i), load(u + n + i), load(x + 2 * n + i), load(u + 2 * n + i),
                              load(h + i)));
    if (i < n) {
        size_t m = n - i;
        vec out = gru_gate(load_part(x + i, m, 0), load_part(u + i, m, 0), load_part(x + n + i, m, 0), load_part(u + n + i, m, 0),
                           load_part(x + 2 * n + i, m, 0), load_part(u + 2 * n + i, m, 0), load_part(h + i, m, 0));
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
                               load(x + 2 * n + i) + load(u + 2 * n + i), load(x + 3 * n + i) + load(u + 3 * n + i), &cell));
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
        vec out = gated_unit(load_part(x + i, m, 0), load_part(x + n + i, m, 0), load_part(h + i, m, 0));
        store_part(h + i, out, m);
    }
}

/* ---- attention ---- */

enum { KEYS = 4 }; /* scored together */

/* Scores `keys` keys together (a compile-time constant after inlining): q is read once, and no sum waits for another. */
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

/* 1 / (exp(2q) exp(2k) + 1). The bound keeps infinite products away from reciprocal; from 1e8 on the result is negligible. */
INLINE vec falloff(vec q, vec k) {
    return reciprocal(smaller(splat(1e30f), q * k + 1.0f));
}

/* Turns a query's exp(2q) into exp(2 (q + w c)). */
INLINE vec covered(vec q, vec w, float c) {
    return q * exp_within(clamp(2.0f * c * w, 87));
}

/* covers: w and c hold the coverage; a compile-time constant, as `keys`. */
INLINE void additive_some(const float *v, const float *q, const float *k, bool covers, const float *w, const float *c, size_t keys,
                          size_t n, float *e) {
    vec sums[KEYS], sum_v = splat(0);
    for (size_t t = 0; t < keys; t++)
        sums[t] = splat(0);
    size_t i = 0;
    for (; i + VL <= n; i += VL) {
        vec query = load(q + i), weight = covers ? load(w + i) : query;
        sum_v += load(v + i);
        UNROLL
        for (size_t t = 0; t < keys; t++)
            sums[t] += load(v + i) * falloff(covers ? covered(query, weight, c[t]) : query, load(k + t * n + i));
    }
    if (i < n) {
        vec last = load_part(v + i, n - i, 0), query = load_part(q + i, n - i, 0);
        vec weight = covers ? load_part(w + i, n - i, 0) : query;
        sum_v += last;
        for (size_t t = 0; t < keys; t++)
            sums[t] += last * falloff(covers ? covered(query, weight, c[t]) : query, load_part(k + t * n + i, n - i, 0));
    }
    for (size_t t = 0; t < keys; t++)
        e[t] = sum_lanes(sum_v - 2.0f * sums[t]);
}

/* tanh(q + k) = 1 - 2 / (exp(2q) exp(2k) + 1), so no exponential remains to be computed here. */
static void additive(const float *v, const float *q, const float *k, size_t count, size_t n, float *e) {
    size_t t = 0;
    for (; t + KEYS <= count; t += KEYS)
        additive_some(v, q, k + t * n, false, NULL, NULL, KEYS, n, e + t);
    for (; t < count; t++)
        additive_some(v, q, k + t * n, false, NULL, NULL, 1, n, e + t);
}

static void additive_covered(const float *v, const float *q, const float *k, const struct coverage *coverage, size_t count,
                             size_t n, float *e) {
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

const struct kernels JOIN(kernels, KERNELS) = {
    .name = TEXT(KERNELS),
    .processor = ARCHITECTURE "-" TEXT(KERNELS),
    .packings = &JOIN(packings, KERNELS),
    .blocks = &JOIN(block_kernels, KERNELS),
    .tanh = tanh_floats,
    .add = add_vector,
    .softmax = softmax_floats,
    .exp_twice = exp_twice,
    .summarize = summarize,
    .gru = gru,
    .lstm = lstm,
    .gated = gated,
    .normalize = normalize,
    .maxima = maxima,
    .dot = dot,
    .additive = additive,
    .additive_covered = additive_covered,
    .weighted_sum = weighted_sum,
};
