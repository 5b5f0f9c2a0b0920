/* What the kernels are written in: GCC's vector extension (also clang's) stands in for intrinsics; a `vec` holds VL floats and
 * lowers to whatever the target has. Intrinsics only where compilers do not find the instruction. Included only by files that are
 * compiled once per instruction set. */
#ifndef ALIGND_VECTOR_H
#define ALIGND_VECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { VL = 16 };
#elif defined(__AVX2__)
enum { VL = 8 };
#else
enum { VL = 4 };
#endif

typedef float vec __attribute__((vector_size(VL * 4)));
typedef int32_t ivec __attribute__((vector_size(VL * 4)));
typedef float quad __attribute__((vector_size(16)));
typedef int32_t iquad __attribute__((vector_size(16)));

/* Before a loop whose count is known after inlining: the registers that hold its sums are then known, too. Not under the
 * sanitizers, where nothing stays in a register and compiling would take minutes. */
#if defined(SANITIZED)
#define UNROLL
#elif defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

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

INLINE vec choose(ivec mask, vec yes, vec no) {
    return (vec)((mask & (ivec)yes) | (~mask & (ivec)no));
}

/* The first n < VL lanes; the others hold `fill`. And only those lanes stored. Not by memcpy where there is an instruction: it
 * would be a call, and what is stored by bytes is slow to load as a vector. */
#if defined(__AVX512F__)
INLINE vec load_part(const float *p, size_t n, float fill) {
    return (vec)_mm512_mask_loadu_ps((__m512)splat(fill), (__mmask16)((1U << n) - 1), p);
}
INLINE void store_part(float *p, vec v, size_t n) {
    _mm512_mask_storeu_ps(p, (__mmask16)((1U << n) - 1), (__m512)v);
}
#elif defined(__AVX2__)
INLINE ivec lanes_before(size_t n) {
    const ivec lane = {0, 1, 2, 3, 4, 5, 6, 7};
    return lane < (int)n;
}
INLINE vec load_part(const float *p, size_t n, float fill) {
    ivec mask = lanes_before(n);
    return choose(mask, (vec)_mm256_maskload_ps(p, (__m256i)mask), splat(fill));
}
INLINE void store_part(float *p, vec v, size_t n) {
    _mm256_maskstore_ps(p, (__m256i)lanes_before(n), (__m256)v);
}
#else
INLINE vec load_part(const float *p, size_t n, float fill) {
    vec v = splat(fill);
    memcpy(&v, p, n * sizeof *p);
    return v;
}
INLINE void store_part(float *p, vec v, size_t n) {
    memcpy(p, &v, n * sizeof *p);
}
#endif

/* Lane by lane a > b ? a : b, and a < b ? a : b: b where either is NaN. One instruction, which compilers do not see in `choose`. */
#if defined(__AVX512F__)
INLINE vec larger(vec a, vec b) {
    return (vec)_mm512_max_ps((__m512)a, (__m512)b);
}
INLINE vec smaller(vec a, vec b) {
    return (vec)_mm512_min_ps((__m512)a, (__m512)b);
}
#elif defined(__AVX2__)
INLINE vec larger(vec a, vec b) {
    return (vec)_mm256_max_ps((__m256)a, (__m256)b);
}
INLINE vec smaller(vec a, vec b) {
    return (vec)_mm256_min_ps((__m256)a, (__m256)b);
}
#else
INLINE vec larger(vec a, vec b) {
    return choose(a > b, a, b);
}
INLINE vec smaller(vec a, vec b) {
    return choose(a < b, a, b);
}
#endif

INLINE ivec larger_integer(ivec a, ivec b) {
#if defined(__AVX512F__)
    return (ivec)_mm512_max_epi32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (ivec)_mm256_max_epi32((__m256i)a, (__m256i)b);
#else
    return (ivec)choose(a > b, (vec)a, (vec)b);
#endif
}

/* Bit i: lane i is above the threshold. */
INLINE unsigned lanes_above(vec v, float threshold) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask((__m512)v, (__m512)splat(threshold), _CMP_GT_OQ);
#elif defined(__AVX2__)
    return (unsigned)_mm256_movemask_ps((__m256)(v > threshold));
#else
    unsigned bits = 0;
    for (int i = 0; i < VL; i++)
        bits |= (unsigned)(v[i] > threshold) << i;
    return bits;
#endif
}

/* The first n < VL lanes; zero in the others. */
INLINE vec first_lanes(vec v, size_t n) {
    ivec lane;
    for (int i = 0; i < VL; i++)
        lane[i] = i;
    return choose(lane < (int)n, v, splat(0));
}

/* Over the lanes, by halves: always in the same order. */
INLINE float sum_lanes(vec v) {
    quad q[VL / 4];
    memcpy(q, &v, sizeof q);
    for (size_t n = VL / 8; n > 0; n /= 2)
        for (size_t i = 0; i < n; i++)
            q[i] += q[i + n];
    return (q[0][0] + q[0][2]) + (q[0][1] + q[0][3]);
}

/* The sum over the lanes, and the greatest of them. */
INLINE int32_t sum_lanes_integer(ivec v) {
    iquad q[VL / 4];
    memcpy(q, &v, sizeof q);
    UNROLL
    for (size_t i = 1; i < VL / 4; i++)
        q[0] += q[i];
    iquad pairs = q[0] + __builtin_shufflevector(q[0], q[0], 2, 3, 0, 1);
    return pairs[0] + pairs[1];
}

INLINE iquad larger_quad(iquad a, iquad b) {
    iquad mask = a > b;
    return (a & mask) | (b & ~mask);
}

INLINE int32_t max_lanes_integer(ivec v) {
    iquad q[VL / 4];
    memcpy(q, &v, sizeof q);
    UNROLL
    for (size_t i = 1; i < VL / 4; i++)
        q[0] = larger_quad(q[0], q[i]);
    iquad pairs = larger_quad(q[0], __builtin_shufflevector(q[0], q[0], 2, 3, 0, 1));
    return pairs[0] > pairs[1] ? pairs[0] : pairs[1];
}

/* Four such sums at once: sum_lanes of each, which for integers is plain addition. */
#define SUM_FOUR(name, wide, narrow)                                                                                               \
    INLINE narrow name(const wide *v) {                                                                                            \
        narrow q[4];                                                                                                               \
        UNROLL                                                                                                                     \
        for (size_t j = 0; j < 4; j++) {                                                                                           \
            narrow parts[VL / 4];                                                                                                  \
            memcpy(parts, &v[j], sizeof parts);                                                                                    \
            UNROLL                                                                                                                 \
            for (size_t n = VL / 8; n > 0; n /= 2) {                                                                               \
                UNROLL                                                                                                             \
                for (size_t i = 0; i < n; i++)                                                                                     \
                    parts[i] += parts[i + n];                                                                                      \
            }                                                                                                                      \
            q[j] = parts[0];                                                                                                       \
        }                                                                                                                          \
        narrow a = __builtin_shufflevector(q[0], q[1], 0, 4, 1, 5) + __builtin_shufflevector(q[0], q[1], 2, 6, 3, 7);              \
        narrow b = __builtin_shufflevector(q[2], q[3], 0, 4, 1, 5) + __builtin_shufflevector(q[2], q[3], 2, 6, 3, 7);              \
        return __builtin_shufflevector(a, b, 0, 1, 4, 5) + __builtin_shufflevector(a, b, 2, 3, 6, 7);                              \
    }

SUM_FOUR(sum_four, vec, quad)
SUM_FOUR(sum_four_integers, ivec, iquad)

/* None may be NaN. */
INLINE float max_lanes(vec v) {
    quad q[VL / 4];
    memcpy(q, &v, sizeof q);
    for (size_t n = VL / 8; n > 0; n /= 2)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < 4; j++)
                q[i][j] = q[i][j] > q[i + n][j] ? q[i][j] : q[i + n][j];
    float a = q[0][0] > q[0][2] ? q[0][0] : q[0][2], b = q[0][1] > q[0][3] ? q[0][1] : q[0][3];
    return a > b ? a : b;
}

/* 1 / x for x from 1 to 2^126, relative error below 1.3e-7. AVX-512 divides sixteen floats in 16 cycles; its estimate (relative
 * error below 2^-14) takes 2, and Newton's step r (2 - x r) squares that error: 2^-28, less than the roundings. */
INLINE vec reciprocal(vec x) {
#if defined(__AVX512F__)
    vec r = (vec)_mm512_rcp14_ps((__m512)x);
    return r * (2.0f - x * r);
#else
    return 1.0f / x;
#endif
}

/* value + bias -> y [at .. at + VL), as far as there are columns; bias NULL: none. */
INLINE void store_columns(float *y, const float *bias, size_t at, size_t columns, vec value) {
    if (at + VL <= columns) {
        store(y + at, bias ? value + load(bias + at) : value);
    } else if (at < columns) {
        value = bias ? value + load_part(bias + at, columns - at, 0) : value;
        store_part(y + at, value, columns - at);
    }
}

#if defined(__x86_64__)
#define ARCHITECTURE "x86-64"
#elif defined(__aarch64__)
#define ARCHITECTURE "arm64"
#else
#define ARCHITECTURE "other"
#endif
#define JOIN_(a, b) a##_##b
#define JOIN(a, b)  JOIN_(a, b)
#define TEXT_(a)    #a
#define TEXT(a)     TEXT_(a)

#endif
