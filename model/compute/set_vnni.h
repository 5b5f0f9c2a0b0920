/* AVX-512 with VNNI, and its variant amx: the same packed weights, but int8 products of several
 * rows use the tiles of AMX. */
#include "model/compute/avx512.h"

/* The instruction needs one unsigned side. INT8_OFFSET times the sum of x is subtracted afterwards.
 */
#define INT8_OFFSET  128
#define add_products add_products
INLINE ivec add_products(ivec sums, ivec w, ivec x) {
    return (ivec)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)w, (__m512i)x);
}
#define INT8_PRODUCT_ROWS 6

#define VARIANT_SET amx
#define INT8_TILES  "model/compute/tiles_amx.h"
