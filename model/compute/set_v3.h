/* x86-64-v3: AVX2, FMA and F16C. The operations are described in vector.h. */
#include <immintrin.h>

#define VL          8
#define FLOAT_PANEL 2 /* blocks of 12 sums, of 16 registers */
#define FLOAT_BLOCK 6
#define INT8_PANEL  2
#define INT8_BLOCK  4
#include "model/compute/lanes.h"

#define HOLD(v) __asm__("" : "+v"(v))

#define load_part load_part
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

#define larger larger
INLINE vec larger(vec a, vec b) {
    return (vec)_mm256_max_ps((__m256)a, (__m256)b);
}
INLINE vec smaller(vec a, vec b) {
    return (vec)_mm256_min_ps((__m256)a, (__m256)b);
}

#define larger_integer larger_integer
INLINE ivec larger_integer(ivec a, ivec b) {
    return (ivec)_mm256_max_epi32((__m256i)a, (__m256i)b);
}

#define lanes_above lanes_above
INLINE unsigned lanes_above(vec v, float threshold) {
    return (unsigned)_mm256_movemask_ps((__m256)(v > threshold));
}

#define multiply_add multiply_add
INLINE vec multiply_add(vec a, vec b, vec sum) {
    return (vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)sum);
}

#define larger_floats larger_floats
INLINE quad larger_floats(quad a, quad b) {
    return (quad)_mm_max_ps((__m128)a, (__m128)b);
}

#define widen widen
INLINE ivec widen(const void *p) {
    return (ivec)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
}

#define load_int16 load_int16
INLINE vec load_int16(const void *p) {
    return (vec)_mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)p)));
}

#define load_half load_half
INLINE vec load_half(const void *p) {
    return (vec)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}

/* x is made unsigned and its sign moves to w; pairs of products stay within int16. */
#define add_products add_products
INLINE ivec add_products(ivec sums, ivec w, ivec x) {
    __m256i pairs =
        _mm256_maddubs_epi16(_mm256_abs_epi8((__m256i)x), _mm256_sign_epi8((__m256i)w, (__m256i)x));
    return sums + (ivec)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

#define round_vec round_vec
INLINE ivec round_vec(vec x) {
    return (ivec)_mm256_cvtps_epi32((__m256)x);
}

/* Packing two by two leaves parts of 16 bytes interleaved. */
#define pack_four pack_four
INLINE ivec pack_four(const ivec *v) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i halves = _mm256_packs_epi32((__m256i)v[0], (__m256i)v[1]),
            others = _mm256_packs_epi32((__m256i)v[2], (__m256i)v[3]);
    return (ivec)_mm256_permutevar8x32_epi32(_mm256_packs_epi16(halves, others), order);
}
