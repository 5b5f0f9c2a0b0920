/* The kernels are written in the vectors of this header. A `vec` holds VL floats in the vector
 * extension of GCC and clang, which compiles to the target's instructions; intrinsics are used only
 * where compilers do not find the instruction. The sections are lanes, 16-bit floats, and
 * functions. Included only by files that are compiled once per instruction set (see kernels.c). */
#ifndef ALIGND_VECTOR_H
#define ALIGND_VECTOR_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
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

/* Unrolls a loop whose count is known after inlining, so that the compiler can keep its sums in
 * registers. Under the sanitizers nothing stays in a register, and compiling would take minutes. */
#if defined(SANITIZED)
#define UNROLL
#elif defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

#define INLINE static inline __attribute__((always_inline))

/* Holds a vector in a register: compilers may load or expand it again wherever it is used. A
 * product that is held is rounded and not fused with a sum. */
#if defined(__AVX2__)
#define HOLD(v) __asm__("" : "+v"(v))
#elif defined(__aarch64__)
#define HOLD(v) __asm__("" : "+w"(v))
#else
#define HOLD(v)
#endif

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

/* ---- lanes ---- */

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

/* Load or store only the first n < VL lanes; load_part fills the others. memcpy would be a call,
 * and bytes that are stored one by one are slow to load as a vector. */
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

/* Lane by lane a > b ? a : b, and a < b ? a : b; b if either is NaN. It is one instruction, but
 * compilers do not find it for `choose`. */
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

/* Sets bit i if lane i is above the threshold. */
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

/* a * b + sum, rounded once where the target has such an instruction. Compilers may fuse a product
 * and a sum or not, and gcc 14 decides differently for two instances of one loop; results that must
 * be the same to the bit use this. */
INLINE vec multiply_add(vec a, vec b, vec sum) {
#if defined(__AVX512F__)
    return (vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)sum);
#elif defined(__FMA__)
    return (vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)sum);
#elif defined(__aarch64__)
    return (vec)vfmaq_f32((float32x4_t)sum, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + sum;
#endif
}

/* Keeps the first n < VL lanes and clears the others. */
INLINE vec first_lanes(vec v, size_t n) {
    ivec lane;
    for (int i = 0; i < VL; i++)
        lane[i] = i;
    return choose(lane < (int)n, v, splat(0));
}

/* Adds the lanes by halves, always in the same order. */
INLINE float sum_lanes(vec v) {
    quad q[VL / 4];
    memcpy(q, &v, sizeof q);
    for (size_t n = VL / 8; n > 0; n /= 2)
        for (size_t i = 0; i < n; i++)
            q[i] += q[i + n];
    return (q[0][0] + q[0][2]) + (q[0][1] + q[0][3]);
}

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

/* Four sums at once, each in the order of sum_lanes; the order does not matter for integers. */
#if defined(__AVX512F__)
/* Halves of two vectors are folded into one, and then quarters of two of these, so that one
 * addition serves all four. */
#define SUM_FOUR(name, wide, narrow)                                                               \
    INLINE wide name##_folded(const wide *v) {                                                     \
        wide halves[2];                                                                            \
        UNROLL                                                                                     \
        for (size_t i = 0; i < 2; i++)                                                             \
            halves[i] = __builtin_shufflevector(v[2 * i], v[2 * i + 1], 0, 1, 2, 3, 4, 5, 6, 7,    \
                                                16, 17, 18, 19, 20, 21, 22, 23) +                  \
                        __builtin_shufflevector(v[2 * i], v[2 * i + 1], 8, 9, 10, 11, 12, 13, 14,  \
                                                15, 24, 25, 26, 27, 28, 29, 30, 31);               \
        return __builtin_shufflevector(halves[0], halves[1], 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, \
                                       19, 24, 25, 26, 27) +                                       \
               __builtin_shufflevector(halves[0], halves[1], 4, 5, 6, 7, 12, 13, 14, 15, 20, 21,   \
                                       22, 23, 28, 29, 30, 31);                                    \
    }                                                                                              \
    INLINE narrow name(const wide *v) {                                                            \
        wide quads = name##_folded(v);                                                             \
        quads += __builtin_shufflevector(quads, quads, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14,   \
                                         15, 12, 13);                                              \
        quads += __builtin_shufflevector(quads, quads, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13,   \
                                         12, 15, 14);                                              \
        return __builtin_shufflevector(quads, quads, 0, 4, 8, 12);                                 \
    }
#else
#define SUM_FOUR(name, wide, narrow)                                                               \
    INLINE narrow name(const wide *v) {                                                            \
        narrow q[4];                                                                               \
        UNROLL                                                                                     \
        for (size_t j = 0; j < 4; j++) {                                                           \
            narrow parts[VL / 4];                                                                  \
            memcpy(parts, &v[j], sizeof parts);                                                    \
            UNROLL                                                                                 \
            for (size_t n = VL / 8; n > 0; n /= 2) {                                               \
                UNROLL                                                                             \
                for (size_t i = 0; i < n; i++)                                                     \
                    parts[i] += parts[i + n];                                                      \
            }                                                                                      \
            q[j] = parts[0];                                                                       \
        }                                                                                          \
        narrow a = __builtin_shufflevector(q[0], q[1], 0, 4, 1, 5) +                               \
                   __builtin_shufflevector(q[0], q[1], 2, 6, 3, 7);                                \
        narrow b = __builtin_shufflevector(q[2], q[3], 0, 4, 1, 5) +                               \
                   __builtin_shufflevector(q[2], q[3], 2, 6, 3, 7);                                \
        return __builtin_shufflevector(a, b, 0, 1, 4, 5) +                                         \
               __builtin_shufflevector(a, b, 2, 3, 6, 7);                                          \
    }

#endif

SUM_FOUR(sum_four, vec, quad)
SUM_FOUR(sum_four_integers, ivec, iquad)

INLINE quad larger_floats(quad a, quad b) {
#if defined(__AVX2__)
    return (quad)_mm_max_ps((__m128)a, (__m128)b);
#else
    iquad mask = a > b;
    return (quad)(((iquad)a & mask) | ((iquad)b & ~mask));
#endif
}

/* No lane may be NaN. */
INLINE float max_lanes(vec v) {
    quad q[VL / 4];
    memcpy(q, &v, sizeof q);
    UNROLL
    for (size_t n = VL / 8; n > 0; n /= 2) {
        UNROLL
        for (size_t i = 0; i < n; i++)
            q[i] = larger_floats(q[i], q[i + n]);
    }
    quad pairs = larger_floats(q[0], __builtin_shufflevector(q[0], q[0], 2, 3, 0, 1));
    return pairs[0] > pairs[1] ? pairs[0] : pairs[1];
}

/* The greatest lanes of four vectors. No lane may be NaN. */
INLINE quad max_four(const vec *v) {
    quad q[4];
    UNROLL
    for (size_t j = 0; j < 4; j++) {
        quad parts[VL / 4];
        memcpy(parts, &v[j], sizeof parts);
        UNROLL
        for (size_t i = 1; i < VL / 4; i++)
            parts[0] = larger_floats(parts[0], parts[i]);
        q[j] = parts[0];
    }
    quad a = larger_floats(__builtin_shufflevector(q[0], q[1], 0, 4, 1, 5),
                           __builtin_shufflevector(q[0], q[1], 2, 6, 3, 7));
    quad b = larger_floats(__builtin_shufflevector(q[2], q[3], 0, 4, 1, 5),
                           __builtin_shufflevector(q[2], q[3], 2, 6, 3, 7));
    return larger_floats(__builtin_shufflevector(a, b, 0, 1, 4, 5),
                         __builtin_shufflevector(a, b, 2, 3, 6, 7));
}

/* 1 / x for x from 1 to 2^126, with a relative error below 1.3e-7. AVX-512 divides sixteen floats
 * in 16 cycles; its estimate (relative error below 2^-14) takes 2, and Newton's step r (2 - x r)
 * squares that error: 2^-28 is less than the roundings. */
INLINE vec reciprocal(vec x) {
#if defined(__AVX512F__)
    vec r = (vec)_mm512_rcp14_ps((__m512)x);
    return r * (2.0f - x * r);
#else
    return 1.0f / x;
#endif
}

/* ---- 16-bit floats ----
 * IEEE binary16, and bfloat16, which is the upper half of a float32. */

/* Loads VL unsigned 16-bit integers. */
INLINE ivec widen(const void *p) {
#if defined(__AVX512F__)
    return (ivec)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
#elif defined(__AVX2__)
    return (ivec)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
#else
    typedef uint16_t halves __attribute__((vector_size(VL * 2)));
    halves h;
    memcpy(&h, p, sizeof h);
    return __builtin_convertvector(h, ivec);
#endif
}

/* Loads VL finite numbers in binary16. */
INLINE vec load_half(const void *p) {
#if defined(__AVX512F__)
    return (vec)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
#elif defined(__F16C__)
    return (vec)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
#else
    ivec h = widen(p);
    vec magnitude =
        (vec)((h & 0x7fff) << 13) *
        0x1p112f; /* the exponent's bias differs by 112; this is also right for subnormals */
    return (vec)((ivec)magnitude | (h & 0x8000) << 16);
#endif
}

INLINE uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Returns the bits from `shift` on, rounded to nearest, ties to even. */
INLINE uint16_t upper_bits(uint32_t bits, int shift) {
    return (uint16_t)((bits + (1U << (shift - 1)) - 1 + (bits >> shift & 1)) >> shift);
}

#define LARGEST_HALF 65504.0f

/* Rounds to the nearest binary16; larger numbers become the largest. */
INLINE uint16_t half_of(float x) {
    uint32_t sign = bits_of(x) >> 16 & 0x8000;
    /* lowering the exponent's bias to that of binary16 makes x subnormal where the half is */
    return (uint16_t)(sign | upper_bits(bits_of(fminf(fabsf(x), LARGEST_HALF) * 0x1p-112f), 13));
}

/* The same for VL numbers. */
INLINE void store_half(uint16_t *p, vec v) {
    v = smaller(larger(v, splat(-LARGEST_HALF)), splat(LARGEST_HALF));
#if defined(__AVX512F__)
    _mm256_storeu_si256((__m256i *)(void *)p,
                        _mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__)
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT));
#else
    for (int i = 0; i < VL; i++)
        p[i] = half_of(v[i]);
#endif
}

/* ---- functions ----
 * kernels.h states their errors. */

/* exp for |x| <= 87: x = n ln2 + r, |r| <= ln2 / 2, and a polynomial of degree 6 in r. Its
 * coefficients from r^2 on minimise the greatest relative error over that range by Remez's
 * exchange, 4e-9 after rounding; 1 and r are kept so that exp(0) is 1. */
INLINE vec exp_within(vec x) {
    const float magic =
        12582912.0f; /* 1.5 x 2^23: adding it rounds to an integer, kept in the low bits */
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
#if defined(__AVX512F__)
    return (vec)_mm512_scalef_ps((__m512)p, (__m512)whole);
#else
    return (vec)((ivec)p + ((ivec)shifted << 23)); /* the bits above n in `shifted` fall off */
#endif
}

/* Limits x to -limit to limit; NaN stays. */
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

/* Ignores NaN; returns at least -FLT_MAX. */
INLINE float max_of(const float *x, size_t n) {
    vec tops[4] = {splat(-FLT_MAX), splat(-FLT_MAX), splat(-FLT_MAX), splat(-FLT_MAX)};
    size_t i = 0;
    for (; i + 4 * VL <= n; i += 4 * VL) {
        UNROLL
        for (size_t v = 0; v < 4; v++)
            tops[v] = larger(load(x + i + v * VL), tops[v]);
    }
    for (; i + VL <= n; i += VL)
        tops[0] = larger(load(x + i), tops[0]);
    if (i < n)
        tops[1] = larger(load_part(x + i, n - i, -FLT_MAX), tops[1]);
    return max_lanes(larger(larger(tops[0], tops[1]), larger(tops[2], tops[3])));
}

/* x - top for x <= top, limited to the range of exp: lower terms add less than any rounding. */
INLINE vec below(vec x, float top) {
    return larger(splat(-87), x - top);
}

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

/* Defines a function that replaces each x by the value of the expression, in which v is a vector of
 * them. */
#define IN_PLACE(name, expression)                                                                 \
    static void name(float *x, size_t n) {                                                         \
        size_t i = 0;                                                                              \
        for (; i + VL <= n; i += VL) {                                                             \
            vec v = load(x + i);                                                                   \
            store(x + i, expression);                                                              \
        }                                                                                          \
        if (i < n) {                                                                               \
            vec v = load_part(x + i, n - i, 0);                                                    \
            store_part(x + i, expression, n - i);                                                  \
        }                                                                                          \
    }

#endif
