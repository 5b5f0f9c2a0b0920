/* arm64 with dot products of int8 (ARMv8.2). */
#include "model/compute/neon.h"

#define INT8_PANEL 3 /* blocks of 24 sums, of 32 registers */
#define INT8_BLOCK 8

#define add_products add_products
INLINE ivec add_products(ivec sums, ivec w, ivec x) {
    return (ivec)vdotq_s32((int32x4_t)sums, (int8x16_t)w, (int8x16_t)x);
}
