/* Vectors of NEON, which the sets of arm64 share. Their operations are described in vector.h. */
#ifndef ALIGND_NEON_H
#define ALIGND_NEON_H

#include <arm_neon.h>

#define VL 4
#include "model/compute/lanes.h"

#define HOLD(v) __asm__("" : "+w"(v))

#define multiply_add multiply_add
INLINE vec multiply_add(vec a, vec b, vec sum) {
    return (vec)vfmaq_f32((float32x4_t)sum, (float32x4_t)a, (float32x4_t)b);
}

#endif
