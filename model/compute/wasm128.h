/* Vectors of WebAssembly's SIMD128, which compilers find by the vector extension, except for
 * products of 16-bit integers. The operations are described in vector.h. */
#ifndef ALIGND_WASM128_H
#define ALIGND_WASM128_H

#include <wasm_simd128.h>

#define VL         4
#define INT8_PANEL 2 /* blocks of 8 sums, of the 16 registers that x86-64 has */
#define INT8_BLOCK 4
#include "model/compute/lanes.h"

/* Even and odd bytes are multiplied apart, each as 16-bit integers, so that the sums of two
 * products stay in their lane. A row and weights that are used again are taken apart once. */
#define add_products add_products
INLINE ivec add_products(ivec sums, ivec w, ivec x) {
    v128_t even = wasm_i32x4_dot_i16x8(wasm_i16x8_shr(wasm_i16x8_shl((v128_t)w, 8), 8),
                                       wasm_i16x8_shr(wasm_i16x8_shl((v128_t)x, 8), 8)),
           odd = wasm_i32x4_dot_i16x8(wasm_i16x8_shr((v128_t)w, 8), wasm_i16x8_shr((v128_t)x, 8));
    return sums + (ivec)even + (ivec)odd;
}

#define larger larger
INLINE vec larger(vec a, vec b) {
    return (vec)wasm_f32x4_pmax((v128_t)b, (v128_t)a);
}
INLINE vec smaller(vec a, vec b) {
    return (vec)wasm_f32x4_pmin((v128_t)b, (v128_t)a);
}

#define larger_integer larger_integer
INLINE ivec larger_integer(ivec a, ivec b) {
    return (ivec)wasm_i32x4_max((v128_t)a, (v128_t)b);
}

#define lanes_above lanes_above
INLINE unsigned lanes_above(vec v, float threshold) {
    return wasm_i32x4_bitmask((v128_t)(v > threshold));
}

#define larger_floats larger_floats
INLINE quad larger_floats(quad a, quad b) {
    return (quad)wasm_f32x4_pmax((v128_t)b, (v128_t)a);
}

/* Values of int8 pass unchanged. */
#define pack_four pack_four
INLINE ivec pack_four(const ivec *v) {
    return (ivec)wasm_i8x16_narrow_i16x8(wasm_i16x8_narrow_i32x4((v128_t)v[0], (v128_t)v[1]),
                                         wasm_i16x8_narrow_i32x4((v128_t)v[2], (v128_t)v[3]));
}

#endif
