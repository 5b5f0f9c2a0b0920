/* x86-64-v4: AVX-512 without VNNI. */
#include "model/compute/avx512.h"

/* x is made unsigned and its sign moves to w; pairs of products stay within int16, as 2 x 127 x 127
 * does. */
#define add_products add_products
INLINE ivec add_products(ivec sums, ivec w, ivec x) {
    __m512i signed_w = _mm512_mask_sub_epi8((__m512i)w, _mm512_movepi8_mask((__m512i)x),
                                            _mm512_setzero_si512(), (__m512i)w);
    __m512i pairs = _mm512_maddubs_epi16(_mm512_abs_epi8((__m512i)x), signed_w);
    return sums + (ivec)_mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
}
