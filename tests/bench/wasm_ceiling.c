/* The most that int8 products can reach in WebAssembly with SIMD128, by a loop that does nothing
 * but multiply 16-bit integers from a few cache lines, eight at a time, and add up the sums:
 * wasm_ceiling.mjs compiles and runs it. */
#include <wasm_simd128.h>

enum { SUMS = 8, WEIGHTS = 4, VALUES = 4, LINES = 64 };

static v128_t values[LINES * VALUES];

/* Makes WEIGHTS * VALUES * 8 multiply-adds `times` times, at most 2^30. */
__attribute__((export_name("multiply"))) int multiply(int times) {
    v128_t sums[SUMS], w[WEIGHTS];
    for (int i = 0; i < SUMS; i++)
        sums[i] = wasm_i32x4_splat(i);
    for (int i = 0; i < WEIGHTS; i++)
        w[i] = wasm_i16x8_splat((short)(times + i));
    for (int i = 0; i < LINES * VALUES; i++)
        values[i] = wasm_i16x8_splat((short)(times - i));
    for (int n = 0; n < times; n++) {
        const v128_t *x = values + n % LINES * VALUES;
#pragma unroll
        for (int i = 0; i < WEIGHTS * VALUES; i++)
            sums[i % SUMS] = wasm_i32x4_add(sums[i % SUMS],
                                            wasm_i32x4_dot_i16x8(w[i % WEIGHTS], x[i / WEIGHTS]));
    }
    for (int i = 1; i < SUMS; i++)
        sums[0] = wasm_i32x4_add(sums[0], sums[i]);
    return wasm_i32x4_extract_lane(sums[0], 0) + wasm_i32x4_extract_lane(sums[0], 3);
}
