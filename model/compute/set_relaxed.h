/* SIMD128 with Relaxed SIMD, in an engine of its own, where it takes the place of the set generic
 * (see server/library/javascript/wasm.mk). */
#undef KERNELS
#define KERNELS generic
#include "model/compute/wasm128.h"

/* The instruction is defined for values of 0 to 127, and pairs of products stay within int16.
 * Debian 12's compiler has no name for it (i16x8.relaxed_dot_i8x16_i7x16_s); binaryen knows the
 * bytes. V8 loads the values of all rows first, and there is no register for those of a fourth. */
#define INT8_NARROW 3
#define add_narrow  add_narrow
INLINE ivec add_narrow(ivec sums, ivec w, ivec x) {
    v128_t pairs;
    __asm__("local.get %1\n"
            "local.get %2\n"
            ".byte 0xfd, 0x92, 0x02\n"
            "local.set %0"
            : "=r"(pairs)
            : "r"(w), "r"(x));
    return sums + (ivec)wasm_i32x4_dot_i16x8(pairs, wasm_i16x8_splat(1));
}
