/* The element-wise operations of training, for one thread: everything around the products that
 * PyTorch computes for whole steps, and attention.
 *
 * weights/training/kernels.py compiles this file where training runs (never for a shipped binary),
 * with REAL16 where the processor multiplies bfloat16: activations are then 16 bits wide, and sums,
 * states that are carried, and gradients that add up are float32 all the same. All matrices are
 * row-major and dense. Letters: B sentences, H hidden, T source tokens, A keys, C values, N tokens,
 * V vocabulary. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef REAL16
typedef uint16_t real;

static inline float load(real x) {
    uint32_t bits = (uint32_t)x << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* To the nearest, halves to even. */
static inline real store(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (real)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
#else
typedef float real;

static inline float load(real x) {
    return x;
}

static inline real store(float x) {
    return x;
}
#endif

/* e^x within 2 ulp for -87 < x < 88, clamped outside: 2^n times a polynomial of the rest, |rest| <=
 * ln(2) / 2. No branches, so that loops over it are vectorised. */
static inline float exponential(float x) {
    x = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
    float n = x * 1.44269504f + 12582912.0f; /* 1.5 * 2^23: the sum has no fraction left */
    uint32_t bits;
    memcpy(&bits, &n, sizeof bits);
    n -= 12582912.0f;
    float r = x - n * 0.693359375f + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    uint32_t power = (bits + 127) << 23;
    float scale;
    memcpy(&scale, &power, sizeof scale);
    return p * scale;
}

static inline float sigmoid(float x) {
    return 1.0f / (1.0f + exponential(-x));
}

static inline float tangent(float x) {
    return 2.0f / (1.0f + exponential(-2.0f * x)) - 1.0f;
}

/* One step of a GRU (PyTorch's: gates r, z, n, the reset gate after the product).
 * x, u [B, 3H]: W x and U h without biases; bx, bu [3H]; h [B, H] the old state, replaced by the
 * new one, which out [B, H] gets, too. */
void gru_forward(long rows, long hidden, const real *x, const real *u, const float *bx,
                 const float *bu, float *h, real *out) {
    for (long b = 0; b < rows; b++, x += 3 * hidden, u += 3 * hidden, h += hidden, out += hidden)
#pragma omp simd
        for (long i = 0; i < hidden; i++) {
            long j = hidden + i, k = 2 * hidden + i;
            float r = sigmoid(load(x[i]) + bx[i] + load(u[i]) + bu[i]);
            float z = sigmoid(load(x[j]) + bx[j] + load(u[j]) + bu[j]);
            float n = tangent(load(x[k]) + bx[k] + r * (load(u[k]) + bu[k]));
            float next = n + z * (h[i] - n);
            h[i] = next;
            out[i] = store(next);
        }
}

/* The gradient of that step. x, u, bx, bu as above; h [B, H]: the old state; more, last [B, H] or
 * NULL: what is added to the gradient of the new state, carry [B, H]; carry becomes the old
 * state's, but for what comes through U. dx, du [B, 3H]: those of x and u. */
void gru_backward(long rows, long hidden, const real *x, const real *u, const float *bx,
                  const float *bu, const real *h, const real *more, const real *last, float *carry,
                  real *dx, real *du) {
    for (long b = 0; b < rows; b++) {
        const real *xs = x + b * 3 * hidden, *us = u + b * 3 * hidden, *hs = h + b * hidden;
        const real *ms = more ? more + b * hidden : hs, *ls = last ? last + b * hidden : hs;
        const float some = more ? 1.0f : 0.0f, same = last ? 1.0f : 0.0f;
        float *gradient = carry + b * hidden;
        real *dxs = dx + b * 3 * hidden, *dus = du + b * 3 * hidden;
#pragma omp simd
        for (long i = 0; i < hidden; i++) {
            long j = hidden + i, k = 2 * hidden + i;
            float r = sigmoid(load(xs[i]) + bx[i] + load(us[i]) + bu[i]);
            float z = sigmoid(load(xs[j]) + bx[j] + load(us[j]) + bu[j]);
            float un = load(us[k]) + bu[k];
            float n = tangent(load(xs[k]) + bx[k] + r * un);
            float g = gradient[i] + some * load(ms[i]) + same * load(ls[i]);
            float dn = g * (1.0f - z) * (1.0f - n * n);
            float dz = g * (load(hs[i]) - n) * z * (1.0f - z);
            float dr = dn * un * r * (1.0f - r);
            dxs[i] = dus[i] = store(dr);
            dxs[j] = dus[j] = store(dz);
            dxs[k] = store(dn);
            dus[k] = store(dn * r);
            gradient[i] = g * z;
        }
    }
}

static float dot(long size, const float *a, const real *b) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (long i = 0; i < size; i++)
        sum += a[i] * load(b[i]);
    return sum;
}

static void add_scaled(long size, float *sum, float factor, const real *b) {
#pragma omp simd
    for (long i = 0; i < size; i++)
        sum[i] += factor * load(b[i]);
}

/* One step's attention: a_j = softmax of q . k_j over the sentence's own tokens, c = sum of a_j
 * v_j. q [B, A] (float32); keys [B, T, A], values [B, T, C]; lengths [B]; a [B, T], zero past the
 * end; c [B, C]; room [C]. */
void attend_forward(long rows, long tokens, long keys_size, long values_size, const float *q,
                    const real *keys, const real *values, const int64_t *lengths, float *a, real *c,
                    float *room) {
    for (long b = 0; b < rows; b++, a += tokens) {
        const real *key = keys + b * tokens * keys_size, *value = values + b * tokens * values_size;
        float largest = -INFINITY, sum = 0;
        for (long j = 0; j < lengths[b]; j++) {
            a[j] = dot(keys_size, q + b * keys_size, key + j * keys_size);
            largest = a[j] > largest ? a[j] : largest;
        }
        for (long j = 0; j < lengths[b]; j++)
            sum += a[j] = exponential(a[j] - largest);
        memset(room, 0, (size_t)values_size * sizeof *room);
        for (long j = 0; j < lengths[b]; j++)
            add_scaled(values_size, room, a[j] /= sum, value + j * values_size);
        for (long j = lengths[b]; j < tokens; j++)
            a[j] = 0;
        for (long i = 0; i < values_size; i++)
            c[b * values_size + i] = store(room[i]);
    }
}

/* Its gradient. dc, more [B, C]: their sum is c's gradient, which dc becomes; da [B, T]: a's from
 * elsewhere; de [B, T]: the scores', zero past the end; dq [B, A]: q's is added to it; room [C],
 * through [T]. Keys' and values' are products over all steps, made at the end. */
void attend_backward(long rows, long tokens, long keys_size, long values_size, const real *keys,
                     const real *values, const int64_t *lengths, const float *a, real *dc,
                     const real *more, const float *da, real *de, float *dq, float *room,
                     float *through) {
    for (long b = 0; b < rows; b++, a += tokens, da += tokens, de += tokens) {
        const real *key = keys + b * tokens * keys_size, *value = values + b * tokens * values_size;
        float sum = 0;
        for (long i = 0; i < values_size; i++) {
            room[i] = load(dc[b * values_size + i]) + load(more[b * values_size + i]);
            dc[b * values_size + i] = store(room[i]);
        }
        for (long j = 0; j < lengths[b]; j++) {
            through[j] = da[j] + dot(values_size, room, value + j * values_size);
            sum += a[j] * through[j];
        }
        for (long j = 0; j < lengths[b]; j++) {
            float e = a[j] * (through[j] - sum);
            de[j] = store(e);
            add_scaled(keys_size, dq + b * keys_size, e, key + j * keys_size);
        }
        for (long j = lengths[b]; j < tokens; j++)
            de[j] = store(0);
    }
}

#ifndef REAL16
/* One step seen by one head: where its query and its context begin, and its sentence's keys and
 * values; how many tokens it sees. */
struct look {
    long at, first, seen;
};

/* row: of [B, heads, S]; n: a head's size. */
static struct look look_of(long row, long steps, long tokens, long heads, long n,
                           const int64_t *seen) {
    const long b = row / (heads * steps), h = row / steps % heads, s = row % steps;
    return (struct look){.at = ((b * steps + s) * heads + h) * n,
                         .first = (b * tokens * heads + h) * n,
                         .seen = seen[b * steps + s]};
}

/* Attention of all steps by all heads, of size n each: a = softmax of q . k_j / sqrt(n) + lean_j
 * over the tokens that the step sees, c = sum of a_j v_j. q, c [B, S, heads, n]; keys, values [B,
 * T, heads, n]; seen [B, S]: how many tokens, from the first; lean [heads, S, T] or NULL; a [B,
 * heads, S, T], zero for what is not seen. */
void heads_forward(long sentences, long steps, long tokens, long heads, long n, const float *q,
                   const float *keys, const float *values, const int64_t *seen, const float *lean,
                   float *a, float *c) {
    const long stride = heads * n;
    const float scale = 1 / sqrtf((float)n);
    memset(c, 0, (size_t)(sentences * steps * stride) * sizeof *c);
    for (long row = 0; row < sentences * heads * steps; row++, a += tokens) {
        const struct look look = look_of(row, steps, tokens, heads, n, seen);
        const float *leans = lean ? lean + row % (heads * steps) * tokens : NULL;
        float largest = -INFINITY, sum = 0;
        memset(a, 0, (size_t)tokens * sizeof *a);
        for (long j = 0; j < look.seen; j++) {
            a[j] = scale * dot(n, q + look.at, keys + look.first + j * stride) +
                   (leans ? leans[j] : 0);
            largest = a[j] > largest ? a[j] : largest;
        }
        for (long j = 0; j < look.seen; j++)
            sum += a[j] = exponential(a[j] - largest);
        for (long j = 0; j < look.seen; j++)
            add_scaled(n, c + look.at, a[j] /= sum, values + look.first + j * stride);
    }
}

/* Its gradient. dc [B, S, heads, n]: c's; da [B, heads, S, T] or NULL: a's from elsewhere; dq, dk,
 * dv, of q's, the keys' and the values' shapes: theirs are added; room [T]. */
void heads_backward(long sentences, long steps, long tokens, long heads, long n, const float *q,
                    const float *keys, const float *values, const int64_t *seen, const float *a,
                    const float *dc, const float *da, float *dq, float *dk, float *dv,
                    float *room) {
    const long stride = heads * n;
    const float scale = 1 / sqrtf((float)n);
    for (long row = 0; row < sentences * heads * steps; row++, a += tokens) {
        const struct look look = look_of(row, steps, tokens, heads, n, seen);
        float sum = 0;
        for (long j = 0; j < look.seen; j++) {
            room[j] = dot(n, dc + look.at, values + look.first + j * stride) +
                      (da ? da[row * tokens + j] : 0);
            sum += a[j] * room[j];
        }
        for (long j = 0; j < look.seen; j++) {
            const long to = look.first + j * stride;
            const float e = scale * a[j] * (room[j] - sum);
            add_scaled(n, dq + look.at, e, keys + to);
            add_scaled(n, dk + to, e, q + look.at);
            add_scaled(n, dv + to, a[j], dc + look.at);
        }
    }
}
#endif

/* Label-smoothed cross-entropy of N rows. logits [N, V] without the bias [V], wanted [N]; logits
 * become their gradient. -> the sum over rows of (1 - smoothing) -log p(wanted) + smoothing mean_v
 * -log p(v), and in *plain that of -log p(wanted). room [V]. */
double cross_entropy(long rows, long size, real *logits, const float *bias, const int64_t *wanted,
                     float smoothing, float *room, double *plain) {
    double loss = 0;
    *plain = 0;
    for (long n = 0; n < rows; n++, logits += size) {
        float largest = -INFINITY, sum = 0, mean = 0;
#pragma omp simd reduction(max : largest) reduction(+ : mean)
        for (long v = 0; v < size; v++) {
            room[v] = load(logits[v]) + bias[v];
            mean += room[v];
            largest = room[v] > largest ? room[v] : largest;
        }
        float right = room[wanted[n]];
#pragma omp simd reduction(+ : sum)
        for (long v = 0; v < size; v++)
            sum += room[v] = exponential(room[v] - largest);
        float total = largest + logf(sum), share = 1.0f / sum, least = smoothing / (float)size;
        *plain += total - right;
        loss += (1 - smoothing) * (total - right) + smoothing * (total - mean / (float)size);
#pragma omp simd
        for (long v = 0; v < size; v++)
            logits[v] = store(room[v] * share - least);
        logits[wanted[n]] = store(room[wanted[n]] * share - least - (1 - smoothing));
    }
    return loss;
}

/* sum [size] += the columns' sums of x [N, size]. */
void add_columns(long rows, long size, const real *x, float *sum) {
    for (long n = 0; n < rows; n++, x += size)
        add_scaled(size, sum, 1.0f, x);
}

/* One step of Adam (Kingma and Ba 2015) and of the moving average of the weights. rate holds the
 * corrections for the moments' beginning; gradients are multiplied by factor first; average may be
 * NULL. */
void adam(long size, float *weight, float *gradient, float *first, float *second, float *average,
          float rate, float correction, float beta1, float beta2, float epsilon, float factor,
          float share) {
#pragma omp simd
    for (long i = 0; i < size; i++) {
        float g = gradient[i] * factor;
        first[i] += (1 - beta1) * (g - first[i]);
        second[i] += (1 - beta2) * (g * g - second[i]);
        weight[i] -= rate * first[i] / (sqrtf(second[i]) * correction + epsilon);
    }
    if (average)
#pragma omp simd
        for (long i = 0; i < size; i++)
            average[i] += share * (weight[i] - average[i]);
}

/* out [size] = x with each element zero with probability p (of 2^32 parts) and the rest times
 * scale. What is dropped follows from seed alone: a hash of the element's number (the finaliser of
 * Appleby's MurmurHash3), into which the seed comes between two rounds, so that no seed's elements
 * are another's, shifted. */
void drop(long size, const real *x, real *out, long p, float scale, long seed) {
    const uint32_t mixed = (uint32_t)seed * 0x9e3779b9u, least = (uint32_t)p;
#pragma omp simd
    for (long i = 0; i < size; i++) {
        uint32_t hash = (uint32_t)i;
        hash = (hash ^ (hash >> 16)) * 0x85ebca6bu + mixed;
        hash = (hash ^ (hash >> 13)) * 0xc2b2ae35u;
        hash ^= hash >> 16;
        out[i] = store(hash < least ? 0.0f : load(x[i]) * scale);
    }
}
