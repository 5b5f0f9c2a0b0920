/* Numbers of 16 bits: IEEE binary16, and bfloat16, which is the upper half of a float32. Included as vector.h is. */
#ifndef ALIGND_HALF_H
#define ALIGND_HALF_H

#include "model/compute/vector.h"
#include <math.h>

/* VL unsigned 16-bit integers. */
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

/* binary16, finite. */
INLINE vec load_half(const void *p) {
#if defined(__AVX512F__)
    return (vec)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
#elif defined(__F16C__)
    return (vec)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
#else
    ivec h = widen(p);
    vec magnitude = (vec)((h & 0x7fff) << 13) * 0x1p112f; /* the exponent's bias differs by 112; subnormals come out right, too */
    return (vec)((ivec)magnitude | (h & 0x8000) << 16);
#endif
}

INLINE uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The upper bits from `shift` on, rounded to nearest, ties to even. */
INLINE uint16_t upper_bits(uint32_t bits, int shift) {
    return (uint16_t)((bits + (1U << (shift - 1)) - 1 + (bits >> shift & 1)) >> shift);
}

#define LARGEST_HALF 65504.0f

/* binary16, rounded to nearest; what is too large for it becomes its largest. */
INLINE uint16_t half_of(float x) {
    uint32_t sign = bits_of(x) >> 16 & 0x8000;
    /* float32 with its exponent's bias lowered to binary16's: subnormal where the half is */
    return (uint16_t)(sign | upper_bits(bits_of(fminf(fabsf(x), LARGEST_HALF) * 0x1p-112f), 13));
}

/* The same of VL numbers. */
INLINE void store_half(uint16_t *p, vec v) {
    v = smaller(larger(v, splat(-LARGEST_HALF)), splat(LARGEST_HALF));
#if defined(__AVX512F__)
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__)
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT));
#else
    for (int i = 0; i < VL; i++)
        p[i] = half_of(v[i]);
#endif
}

#endif
