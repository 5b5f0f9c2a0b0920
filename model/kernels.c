/* One file, several instruction sets: the Makefile compiles it with -DKERNELS=generic|v3|v4 and the matching -march.
 * GCC's vector extension (also clang's) stands in for intrinsics: a `vec` holds VL floats and lowers to whatever the target has. */
#include "model/kernels.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
enum { VL = 16, PANEL = 3, BLOCK = 8 }; /* 24 of 32 registers hold sums */
#elif defined(__AVX2__)
enum { VL = 8, PANEL = 2, BLOCK = 6 }; /* 12 of 16 */
#else
enum { VL = 4, PANEL = 2, BLOCK = 4 };
#endif
enum { WIDTH = VL * PANEL }; /* output columns of one packed panel */

typedef float vec __attribute__((vector_size(VL * 4)));
typedef int32_t ivec __attribute__((vector_size(VL * 4)));

#define INLINE static inline __attribute__((always_inline))

INLINE vec load(const float *p) {
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE void store(float *p, vec v) {
    memcpy(p, &v, sizeof v);
}

INLINE vec splat(float x) {
    return x - (vec){0};
}

/* The first n < VL lanes; the others hold `fill`. */
INLINE vec load_part(const float *p, size_t n, float fill) {
    vec v = splat(fill);
    memcpy(&v, p, n * sizeof *p);
    return v;
}

INLINE vec choose(ivec mask, vec yes, vec no) {
    return (vec)((mask & (ivec)yes) | (~mask & (ivec)no));
}

INLINE float sum_lanes(vec v) {
    float s = 0;
    for (int i = 0; i < VL; i++)
        s += v[i];
    return s;
}

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

/* ---- products against packed weights ----
 * Panel p holds output columns p * WIDTH .. + WIDTH - 1, for each k the WIDTH weights side by side; missing columns are zero. A
 * block of rows walks k once with one sum per row and column, always in rising k, so a row's sums are the same whatever block it is
 * in. */

static size_t panels_of(size_t out) {
    return (out + WIDTH - 1) / WIDTH;
}

static size_t pack_floats(size_t out, size_t in) {
    return panels_of(out) * WIDTH * in;
}

static void pack(const float *weight, size_t out, size_t in, float *packed) {
    for (size_t p = 0; p < panels_of(out); p++)
        for (size_t k = 0; k < in; k++)
            for (size_t j = 0; j < WIDTH; j++) {
                size_t column = p * WIDTH + j;
                *packed++ = column < out ? weight[column * in + k] : 0.0f;
            }
}

/* Writes one panel's sums of one row; the last panel may be narrower. */
INLINE void store_panel(const vec *sums, const float *bias, size_t columns, float *y) {
    float wide[WIDTH];
    bool whole = columns >= WIDTH;
    float *to = whole ? y : wide;
    for (size_t v = 0; v < PANEL; v++) {
        store(to + v * VL, sums[v]);
    }
    if (!whole)
        memcpy(y, wide, columns * sizeof *y);
    if (bias)
        for (size_t j = 0; j < (whole ? WIDTH : columns); j++)
            y[j] += bias[j];
}

/* One product; x, y: its first row. */
struct product {
    const float *packed, *bias; /* bias: NULL for none */
    size_t out, in;
    const float *x;
    size_t ldx;
    float *y;
    size_t ldy;
};

/* `rows` rows from `row` on, against `panels` panels from `panel` on; both counts are compile-time constants after inlining. ahead:
 * where each k finds the line to fetch for what comes next (in x WIDTH floats apart by k). */
INLINE void multiply_block(const struct product *q, size_t row, size_t rows, size_t panel, size_t panels, const float *ahead) {
    const float *packed = q->packed + panel * WIDTH * q->in, *x = q->x + row * q->ldx;
    size_t in = q->in, ldx = q->ldx;
    vec sums[BLOCK][4][PANEL];
    for (size_t r = 0; r < rows; r++)
        for (size_t p = 0; p < panels; p++)
            for (size_t v = 0; v < PANEL; v++)
                sums[r][p][v] = splat(0);
    for (size_t k = 0; k < in; k++) {
        __builtin_prefetch(ahead + k * WIDTH, 0, 2);
        for (size_t p = 0; p < panels; p++)
            for (size_t v = 0; v < PANEL; v++) {
                vec w = load(packed + (p * in + k) * WIDTH + v * VL);
                for (size_t r = 0; r < rows; r++)
                    sums[r][p][v] += w * x[r * ldx + k];
            }
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t p = 0; p < panels; p++) {
            size_t column = (panel + p) * WIDTH;
            store_panel(sums[r][p], q->bias ? q->bias + column : NULL, q->out - column, q->y + (row + r) * q->ldy + column);
        }
}

/* A few rows: several panels together keep the multipliers busy, and the weights stream past. */
INLINE void multiply_few(const struct product *q, size_t rows, size_t together) {
    size_t total = panels_of(q->out), panel = 0;
    for (; panel + together <= total; panel += together)
        multiply_block(q, 0, rows, panel, together,
                       q->packed + (panel + together < total ? panel + together : panel) * WIDTH * q->in);
    for (; panel < total; panel++)
        multiply_block(q, 0, rows, panel, 1, q->packed + panel * WIDTH * q->in);
}

/* One panel against one block of 1 to BLOCK rows. */
static void multiply_panel(const struct product *q, size_t row, size_t rows, size_t panel, const float *ahead) {
    switch (rows) {
    case 1:
        multiply_block(q, row, 1, panel, 1, ahead);
        break;
    case 2:
        multiply_block(q, row, 2, panel, 1, ahead);
        break;
    case 3:
        multiply_block(q, row, 3, panel, 1, ahead);
        break;
    case 4:
        multiply_block(q, row, 4, panel, 1, ahead);
        break;
#if defined(__AVX2__)
    case 5:
        multiply_block(q, row, 5, panel, 1, ahead);
        break;
    case 6:
        multiply_block(q, row, 6, panel, 1, ahead);
        break;
#endif
#if defined(__AVX512F__)
    case 7:
        multiply_block(q, row, 7, panel, 1, ahead);
        break;
    case 8:
        multiply_block(q, row, 8, panel, 1, ahead);
        break;
#endif
    }
}

/* Each panel meets all rows while it is in the cache, in blocks of about equal height: a last one of one row would idle the
 * multipliers. The first blocks fetch the next panel meanwhile, one line of each k apiece. */
static void multiply_many(const struct product *q, size_t rows) {
    size_t blocks = (rows + BLOCK - 1) / BLOCK, total = panels_of(q->out);
    for (size_t panel = 0; panel < total; panel++) {
        const float *next = q->packed + (panel + 1 < total ? panel + 1 : panel) * WIDTH * q->in;
        for (size_t b = 0; b < blocks; b++) {
            size_t begin = b * rows / blocks, end = (b + 1) * rows / blocks;
            multiply_panel(q, begin, end - begin, panel, next + (b < PANEL ? b * VL : 0));
        }
    }
}

static void multiply(const float *packed, const float *bias, size_t out, size_t in, const float *x, size_t ldx, size_t rows,
                     float *y, size_t ldy) {
    struct product product = {.packed = packed, .bias = bias, .out = out, .in = in, .x = x, .ldx = ldx, .y = y, .ldy = ldy};
    switch (rows) {
    case 0:
        break;
    case 1:
        multiply_few(&product, 1, 4);
        break;
    case 2:
        multiply_few(&product, 2, 2);
        break;
    case 3:
        multiply_few(&product, 3, 2);
        break;
    default:
        multiply_many(&product, rows);
    }
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

#define JOIN_(a, b) a##_##b
#define JOIN(a, b)  JOIN_(a, b)
#define TEXT_(a)    #a
#define TEXT(a)     TEXT_(a)

const struct kernels JOIN(kernels, KERNELS) = {
    .name = TEXT(KERNELS),
    .pack_floats = pack_floats,
    .pack = pack,
    .multiply = multiply,
    .tanh = tanh_floats,
    .softmax = softmax,
    .sums = sums,
    .gru = gru,
    .lstm = lstm,
    .dot = dot,
    .additive = additive,
    .weighted_sum = weighted_sum,
};
