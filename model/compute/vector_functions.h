/* exp, tanh and sigmoid of vectors; their errors: model/compute/kernels.h. Included only by files that are compiled once per
 * instruction set. */
#ifndef ALIGND_VECTOR_FUNCTIONS_H
#define ALIGND_VECTOR_FUNCTIONS_H

#include "model/compute/vector.h"

#include <float.h>

/* exp for |x| <= 87: x = n ln2 + r, |r| <= ln2 / 2, and a polynomial of degree 6 in r. Its coefficients from r^2 on minimise the
 * greatest relative error over that range (Remez's exchange; 1 and r are kept so that exp(0) is 1): 4e-9 once they are rounded. */
INLINE vec exp_within(vec x) {
    const float magic = 12582912.0f; /* 1.5 x 2^23: adding it rounds to an integer, kept in the low bits */
    vec shifted = x * 1.44269504f + magic;
    vec whole = shifted - magic;
    vec r = x - whole * 0.693359375f; /* ln2 in two parts, the first exact in few bits */
    r = r - whole * -2.12194440e-4f;
    vec p = splat(1.38146128e-3f);
    p = p * r + 8.36871006e-3f;
    p = p * r + 4.16683890e-2f;
    p = p * r + 1.66665211e-1f;
    p = p * r + 0.49999994f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return (vec)((ivec)p + ((ivec)shifted << 23)); /* what stands above n in `shifted` falls off */
}

/* x, but not outside -limit to limit; NaN stays. */
INLINE vec clamp(vec x, float limit) {
    return smaller(splat(limit), larger(splat(-limit), x));
}

/* tanh x = 1 - 2 / (exp(2x) + 1); beyond 10 it is 1 in float32. */
INLINE vec tanh_vec(vec x) {
    return 1.0f - 2.0f * reciprocal(exp_within(2.0f * clamp(x, 10)) + 1.0f);
}

INLINE vec sigmoid_vec(vec x) {
    return reciprocal(1.0f + exp_within(-clamp(x, 87)));
}

/* Not counting NaN; at least -FLT_MAX. */
INLINE float max_of(const float *x, size_t n) {
    vec even = splat(-FLT_MAX), odd = even;
    size_t i = 0;
    for (; i + 2 * VL <= n; i += 2 * VL) {
        even = larger(load(x + i), even);
        odd = larger(load(x + i + VL), odd);
    }
    for (; i + VL <= n; i += VL)
        even = larger(load(x + i), even);
    if (i < n)
        odd = larger(load_part(x + i, n - i, -FLT_MAX), odd);
    return max_lanes(larger(even, odd));
}

/* x - top for x <= top, not below exp's range: what far lower terms add is below every rounding. */
INLINE vec below(vec x, float top) {
    return larger(splat(-87), x - top);
}

/* In place. */
INLINE void softmax_floats(float *x, size_t n) {
    if (n == 0)
        return;
    float top = max_of(x, n);
    vec total = splat(0);
    size_t i = 0;
    for (; i + VL <= n; i += VL) {
        vec e = exp_within(below(load(x + i), top));
        store(x + i, e);
        total += e;
    }
    vec last = splat(0);
    if (i < n) {
        last = exp_within(below(load_part(x + i, n - i, top), top));
        total += first_lanes(last, n - i);
    }
    float scale = 1.0f / sum_lanes(total);
    for (i = 0; i + VL <= n; i += VL)
        store(x + i, load(x + i) * scale);
    if (i < n)
        store_part(x + i, last * scale, n - i);
}

#endif
