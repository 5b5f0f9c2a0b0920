/* The operations around the products, element by element. One file, several instruction sets: the Makefile compiles it with
 * -DKERNELS=generic|v3|v4|vnni and the matching -march. */
#include "model/kernels.h"
#include "model/vector.h"

#include <float.h>
#include <math.h>

/* exp, by x = n ln2 + r, |r| <= ln2 / 2, and the Taylor polynomial of degree 7 in r (remainder below 6e-9 of the result). */
INLINE vec exp_vec(vec x) {
    x = choose(x < -87.0f, splat(-87.0f), x);
    x = choose(x > 88.0f, splat(88.0f), x);
    const float magic = 12582912.0f; /* 1.5 x 2^23: adding it rounds to an integer, kept in the low bits */
    vec shifted = x * 1.44269504f + magic;
    ivec n = (ivec)shifted - (ivec)splat(magic);
    vec whole = shifted - magic;
    vec r = x - whole * 0.693359375f; /* ln2 in two parts, the first exact in few bits */
    r = r - whole * -2.12194440e-4f;
    vec p = splat(1.98412698e-4f);
    p = p * r + 1.38888889e-3f;
    p = p * r + 8.33333333e-3f;
    p = p * r + 4.16666667e-2f;
    p = p * r + 1.66666667e-1f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return (vec)((ivec)p + (n << 23));
}

/* tanh x = 1 - 2 / (exp(2x) + 1); beyond 10 it is 1 in float32. */
INLINE vec tanh_vec(vec x) {
    x = choose(x < -10.0f, splat(-10.0f), x);
    x = choose(x > 10.0f, splat(10.0f), x);
    return 1.0f - 2.0f / (exp_vec(2.0f * x) + 1.0f);
}

INLINE vec sigmoid_vec(vec x) {
    return 1.0f / (1.0f + exp_vec(-x));
}

/* ---- element by element ---- */

static void tanh_floats(float *x, size_t n) {
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        store(x + i, tanh_vec(load(x + i)));
    if (i < n) {
        vec last = tanh_vec(load_part(x + i, n - i, 0));
        memcpy(x + i, &last, (n - i) * sizeof *x);
    }
}

INLINE float max_of(const float *x, size_t n) {
    vec best = splat(-FLT_MAX);
    size_t i = 0;
    for (; i + VL <= n; i += VL) {
        vec v = load(x + i);
        best = choose(v > best, v, best);
    }
    if (i < n) {
        vec v = load_part(x + i, n - i, -FLT_MAX);
        best = choose(v > best, v, best);
    }
    float top = best[0];
    for (int lane = 1; lane < VL; lane++)
        top = best[lane] > top ? best[lane] : top;
    return top;
}

static void softmax(float *x, size_t n) {
    if (n == 0)
        return;
    float top = max_of(x, n);
    vec total = splat(0);
    size_t i = 0;
    for (; i + VL <= n; i += VL) {
        vec e = exp_vec(load(x + i) - top);
        store(x + i, e);
        total += e;
    }
    float sum = 0;
    if (i < n) {
        vec e = exp_vec(load_part(x + i, n - i, 0) - top);
        memcpy(x + i, &e, (n - i) * sizeof *x);
        for (size_t lane = 0; lane < n - i; lane++)
            sum += e[lane];
    }
    float scale = 1.0f / (sum + sum_lanes(total));
    for (i = 0; i < n; i++)
        x[i] *= scale;
}

/* With d = x - max and Z = sum exp(d): log sum exp = max + log Z, entropy = log Z - sum(d exp(d)) / Z. */
static struct row_sums sums(const float *logits, size_t n) {
    float top = max_of(logits, n);
    vec total = splat(0), weighted = splat(0);
    size_t i = 0;
    for (; i + VL <= n; i += VL) {
        vec d = load(logits + i) - top, e = exp_vec(d);
        total += e;
        weighted += e * d;
    }
    float z = sum_lanes(total), w = sum_lanes(weighted);
    if (i < n) {
        vec d = load_part(logits + i, n - i, top) - top, e = exp_vec(d);
        for (size_t lane = 0; lane < n - i; lane++) {
            z += e[lane];
            w += e[lane] * d[lane];
        }
    }
    float log_z = logf(z);
    return (struct row_sums){.log_sum = top + log_z, .entropy = log_z - w / z};
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
        memcpy(h + i, &out, m * sizeof *h);
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
        memcpy(h + i, &out, m * sizeof *h);
        memcpy(c + i, &cell, m * sizeof *c);
    }
}

/* ---- attention ---- */

static void dot(const float *q, const float *k, size_t count, size_t n, float *e) {
    for (size_t t = 0; t < count; t++, k += n) {
        vec even = splat(0), odd = splat(0);
        size_t i = 0;
        for (; i + 2 * VL <= n; i += 2 * VL) {
            even += load(q + i) * load(k + i);
            odd += load(q + i + VL) * load(k + i + VL);
        }
        float s = sum_lanes(even + odd);
        for (; i < n; i++)
            s += q[i] * k[i];
        e[t] = s;
    }
}

static void additive(const float *v, const float *q, const float *k, size_t count, size_t n, float *e) {
    for (size_t t = 0; t < count; t++, k += n) {
        vec total = splat(0);
        size_t i = 0;
        for (; i + VL <= n; i += VL)
            total += load(v + i) * tanh_vec(load(q + i) + load(k + i));
        if (i < n)
            total += load_part(v + i, n - i, 0) * tanh_vec(load_part(q + i, n - i, 0) + load_part(k + i, n - i, 0));
        e[t] = sum_lanes(total);
    }
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
    .packings = &JOIN(packings, KERNELS),
    .tanh = tanh_floats,
    .softmax = softmax,
    .sums = sums,
    .gru = gru,
    .lstm = lstm,
    .dot = dot,
    .additive = additive,
    .weighted_sum = weighted_sum,
};
