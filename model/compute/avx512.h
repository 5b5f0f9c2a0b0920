/* Vectors of AVX-512, which the sets v4 and vnni share. Their operations are described in vector.h.
 */
#ifndef ALIGND_AVX512_H
#define ALIGND_AVX512_H

#include <immintrin.h>

#define VL 16
/* Blocks of 24 sums leave 8 of the 32 registers for weights and values. */
#define FLOAT_PANEL 3
#define FLOAT_BLOCK 8
#define INT8_PANEL  3
#define INT8_BLOCK  8
#include "model/compute/lanes.h"

#define HOLD(v) __asm__("" : "+v"(v))

#define load_part load_part
INLINE vec load_part(const float *p, size_t n, float fill) {
    return (vec)_mm512_mask_loadu_ps((__m512)splat(fill), (__mmask16)((1U << n) - 1), p);
}
INLINE void store_part(float *p, vec v, size_t n) {
    _mm512_mask_storeu_ps(p, (__mmask16)((1U << n) - 1), (__m512)v);
}

#define larger larger
INLINE vec larger(vec a, vec b) {
    return (vec)_mm512_max_ps((__m512)a, (__m512)b);
}
INLINE vec smaller(vec a, vec b) {
    return (vec)_mm512_min_ps((__m512)a, (__m512)b);
}

#define larger_integer larger_integer
INLINE ivec larger_integer(ivec a, ivec b) {
    return (ivec)_mm512_max_epi32((__m512i)a, (__m512i)b);
}

#define lanes_above lanes_above
INLINE unsigned lanes_above(vec v, float threshold) {
    return _mm512_cmp_ps_mask((__m512)v, (__m512)splat(threshold), _CMP_GT_OQ);
}

#define multiply_add multiply_add
INLINE vec multiply_add(vec a, vec b, vec sum) {
    return (vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)sum);
}

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

#define larger_floats larger_floats
INLINE quad larger_floats(quad a, quad b) {
    return (quad)_mm_max_ps((__m128)a, (__m128)b);
}

/* A division of sixteen floats takes 16 cycles. The estimate, whose relative error is below 2^-14,
 * takes 2, and Newton's step r (2 - x r) squares that error: 2^-28 is less than the roundings. */
#define reciprocal reciprocal
INLINE vec reciprocal(vec x) {
    vec r = (vec)_mm512_rcp14_ps((__m512)x);
    return r * (2.0f - x * r);
}

#define scale_by_power scale_by_power
INLINE vec scale_by_power(vec p, vec whole, vec shifted) {
    (void)shifted;
    return (vec)_mm512_scalef_ps((__m512)p, (__m512)whole);
}

#define widen widen
INLINE ivec widen(const void *p) {
    return (ivec)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
}

#define load_int16 load_int16
INLINE vec load_int16(const void *p) {
    return (vec)_mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)p)));
}

#define load_half load_half
INLINE vec load_half(const void *p) {
    return (vec)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}

#define round_vec round_vec
INLINE ivec round_vec(vec x) {
    return (ivec)_mm512_cvtps_epi32((__m512)x);
}

/* Packing two by two leaves parts of 16 bytes interleaved. */
#define pack_four pack_four
INLINE ivec pack_four(const ivec *v) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i halves = _mm512_packs_epi32((__m512i)v[0], (__m512i)v[1]),
            others = _mm512_packs_epi32((__m512i)v[2], (__m512i)v[3]);
    return (ivec)_mm512_permutexvar_epi32(order, _mm512_packs_epi16(halves, others));
}

#define store_bytes store_bytes
INLINE void store_bytes(char *q, ivec bytes, size_t count) {
    _mm512_mask_storeu_epi8(q, ~(__mmask64)0 >> (sizeof bytes - count), (__m512i)bytes);
}

#endif
