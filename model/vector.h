/* What the kernels are written in: GCC's vector extension (also clang's) stands in for intrinsics; a `vec` holds VL floats and
 * lowers to whatever the target has. Included only by files that are compiled once per instruction set. */
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

/* Before a loop whose count is known after inlining: the registers that hold its sums are then known, too. */
#if defined(__clang__)
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

#define JOIN_(a, b) a##_##b
#define JOIN(a, b)  JOIN_(a, b)
#define TEXT_(a)    #a
#define TEXT(a)     TEXT_(a)

#endif
