/* Int8 in vectors: products four by four, and rows of floats rounded to it. Included only by files that are compiled once per
 * instruction set. */
#ifndef ALIGND_VECTOR_INT8_H
#define ALIGND_VECTOR_INT8_H

#include "model/compute/vector.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

/* ---- four by four ----
 * add_products: sums[lane] += w[lane] . x, each of four int8 side by side. Weights are kept as w + OFFSET. */

#if defined(__AVX512VNNI__)
enum { OFFSET = 128 }; /* the instruction wants one side unsigned; OFFSET times the sum of x is taken off afterwards */

INLINE ivec add_products(ivec sums, ivec w, ivec x) {
    return (ivec)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)w, (__m512i)x);
}
#elif defined(__AVX512F__)
enum { OFFSET = 0 };

/* |x| unsigned, x's sign on w: pairs of products stay within int16, as 2 x 127 x 127 does. */
INLINE ivec add_products(ivec sums, ivec w, ivec x) {
    __m512i signed_w = _mm512_mask_sub_epi8((__m512i)w, _mm512_movepi8_mask((__m512i)x), _mm512_setzero_si512(), (__m512i)w);
    __m512i pairs = _mm512_maddubs_epi16(_mm512_abs_epi8((__m512i)x), signed_w);
    return sums + (ivec)_mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
}
#elif defined(__AVX2__)
enum { OFFSET = 0 };

INLINE ivec add_products(ivec sums, ivec w, ivec x) {
    __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8((__m256i)x), _mm256_sign_epi8((__m256i)w, (__m256i)x));
    return sums + (ivec)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}
#else
enum { OFFSET = 0 };

INLINE ivec add_products(ivec sums, ivec w, ivec x) {
    for (int shift = 24; shift >= 0; shift -= 8)
        sums += (w << shift >> 24) * (x << shift >> 24);
    return sums;
}
#endif

/* ---- rounding rows ---- */

/* Rows rounded to int8, each padded with zeros to `ld` bytes. x ~ q * scale; offset: OFFSET times the sum of
 * q. */
struct rounded {
    size_t ld;
    const char *q;
    const float *scales;
    const int32_t *offsets;
};

/* max |x|, or what is not finite: bits of floats without their sign rise with them, infinity and NaN on top. */
static float most_of(const float *x, size_t n) {
    ivec even = {0}, odd = {0};
    size_t i = 0;
    for (; i + 2 * VL <= n; i += 2 * VL) {
        even = larger_integer(even, (ivec)load(x + i) & 0x7fffffff);
        odd = larger_integer(odd, (ivec)load(x + i + VL) & 0x7fffffff);
    }
    if (i + VL <= n) {
        even = larger_integer(even, (ivec)load(x + i) & 0x7fffffff);
        i += VL;
    }
    if (i < n)
        odd = larger_integer(odd, (ivec)load_part(x + i, n - i, 0) & 0x7fffffff);
    int32_t top = max_lanes_integer(larger_integer(even, odd));
    float result;
    memcpy(&result, &top, sizeof result);
    return result;
}

/* To nearest, ties to even: adding 1.5 x 2^23 leaves the integer in the low bits. */
INLINE ivec round_vec(vec x) {
    const float magic = 12582912.0f;
    return (ivec)(x + magic) - (ivec)splat(magic);
}

typedef int8_t quarters __attribute__((vector_size(VL)));

INLINE void store_int8(char *q, ivec v, size_t count) {
    quarters narrow = __builtin_convertvector(v, quarters);
    memcpy(q, &narrow, count);
}

/* Four vectors end to end. Packing them two by two leaves their parts of 16 bytes in turn. */
INLINE void store_four(char *q, const ivec *v) {
#if defined(__AVX512F__)
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i halves = _mm512_packs_epi32((__m512i)v[0], (__m512i)v[1]), others = _mm512_packs_epi32((__m512i)v[2], (__m512i)v[3]);
    _mm512_storeu_si512(q, _mm512_permutexvar_epi32(order, _mm512_packs_epi16(halves, others)));
#elif defined(__AVX2__)
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i halves = _mm256_packs_epi32((__m256i)v[0], (__m256i)v[1]), others = _mm256_packs_epi32((__m256i)v[2], (__m256i)v[3]);
    _mm256_storeu_si256((__m256i *)(void *)q, _mm256_permutevar8x32_epi32(_mm256_packs_epi16(halves, others), order));
#else
    for (size_t i = 0; i < 4; i++)
        store_int8(q + i * VL, v[i], VL);
#endif
}

/* NaN is -127. */
INLINE vec limit(vec x) {
    return smaller(larger(x, splat(-127)), splat(127));
}

INLINE ivec round_scaled(vec x, float factor, bool limited) {
    vec scaled = x * factor;
    return round_vec(limited ? limit(scaled) : scaled);
}

/* The row [n] times `factor`, rounded into q [n]; returns the sum. limited (a compile-time constant): it may go beyond 127. */
INLINE int32_t round_values(const float *x, size_t n, float factor, bool limited, char *q) {
    ivec sum = {0};
    size_t i = 0;
    for (; i + 4 * VL <= n; i += 4 * VL) {
        ivec rounded[4];
        UNROLL
        for (size_t v = 0; v < 4; v++)
            sum += rounded[v] = round_scaled(load(x + i + v * VL), factor, limited);
        store_four(q + i, rounded);
    }
    for (; i + VL <= n; i += VL) {
        ivec rounded = round_scaled(load(x + i), factor, limited);
        store_int8(q + i, rounded, VL);
        sum += rounded;
    }
    if (i < n) {
        ivec rounded = round_scaled(load_part(x + i, n - i, 0), factor, limited);
        store_int8(q + i, rounded, n - i);
        sum += rounded;
    }
    return sum_lanes_integer(sum);
}

/* One row [n] -> q [ld]; returns the scale: NaN for a row that is not finite, 0 for one too small to be told from zero; 1 where
 * input_scale is given. */
static float round_row(const float *x, size_t n, float input_scale, char *q, size_t ld, int32_t *offset) {
    memset(q + n, 0, ld - n);
    if (input_scale > 0) {
        *offset = OFFSET * round_values(x, n, input_scale, true, q);
        return 1;
    }
    float most = most_of(x, n), inverse = 127 / most;
    if (!(most <= FLT_MAX) || !(inverse <= FLT_MAX)) {
        memset(q, 0, n);
        *offset = 0;
        return most <= 1 ? 0 : NAN;
    }
    *offset = OFFSET * round_values(x, n, inverse, false, q);
    return most / 127;
}

#endif
