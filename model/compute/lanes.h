/* The types and the operations on vectors that every instruction set has by the vector extension of
 * GCC and clang. The file of an instruction set (set_NAME.h) defines VL, the floats of a vector,
 * and includes this header. */
#ifndef ALIGND_LANES_H
#define ALIGND_LANES_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef float vec __attribute__((vector_size(VL * 4)));
typedef int32_t ivec __attribute__((vector_size(VL * 4)));
typedef int8_t quarters __attribute__((vector_size(VL)));
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

#endif
