/* Every processor of the architecture has these instructions: SSE2 on x86-64, for which compilers
 * find the instructions, NEON on arm64, and SIMD128 wherever WebAssembly runs. */
#if defined(__aarch64__)
#include "model/compute/neon.h"

#define add_products add_products
INLINE ivec add_products(ivec sums, ivec w, ivec x) {
    int16x8_t low = vmull_s8(vget_low_s8((int8x16_t)w), vget_low_s8((int8x16_t)x)),
              high = vmull_high_s8((int8x16_t)w, (int8x16_t)x);
    return sums + (ivec)vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high));
}
#elif defined(__wasm_simd128__)
#include "model/compute/wasm128.h"
#else
#define VL 4
#include "model/compute/lanes.h"
#endif
