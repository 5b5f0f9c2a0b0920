/* The kernels are written in the vectors of this header. A `vec` holds VL floats in the vector
 * extension of GCC and clang, which compiles to the target's instructions; intrinsics are used only
 * where compilers do not find the instruction. Included only by files that are compiled once per
 * instruction set (see kernels.c).
 *
 * The file of an instruction set, set_NAME.h, defines VL and those of the operations below for
 * which it has better instructions, each with a macro of its name; the others get the definition
 * that stands here, which is right everywhere. The sections are lanes, 16-bit floats, int16, int8,
 * and functions.
 */
#ifndef ALIGND_VECTOR_H
#define ALIGND_VECTOR_H

#define JOIN_(a, b) a##_##b
#define JOIN(a, b)  JOIN_(a, b)
#define TEXT_(a)    #a
#define TEXT(a)     TEXT_(a)

#define SET_FILE_(set) TEXT_(set_##set.h)
#define SET_FILE(set)  SET_FILE_(set)
#include SET_FILE(KERNELS)

#if defined(__x86_64__)
#define ARCHITECTURE "x86-64"
#elif defined(__aarch64__)
#define ARCHITECTURE "arm64"
#else
#define ARCHITECTURE "other"
#endif

/* Rows and columns that products hold in registers: BLOCK rows with PANEL vectors of columns. */
#ifndef FLOAT_PANEL
#define FLOAT_PANEL 2
#define FLOAT_BLOCK 4
#endif
#ifndef INT8_PANEL
#define INT8_PANEL 1
#define INT8_BLOCK 4
#endif

/* Holds a vector in a register: compilers may load or expand it again wherever it is used. A
 * product that is held is rounded and not fused with a sum. */
#ifndef HOLD
#define HOLD(v)
#endif

/* ---- lanes ---- */

/* Load or store only the first n < VL lanes; load_part fills the others. Where there are masks,
 * memcpy would be a call, and bytes that are stored one by one are slow to load as a vector. */
#ifndef load_part
INLINE vec load_part(const float *p, size_t n, float fill) {
    vec v = splat(fill);
    memcpy(&v, p, n * sizeof *p);
    return v;
}
INLINE void store_part(float *p, vec v, size_t n) {
    memcpy(p, &v, n * sizeof *p);
}
#endif

/* Lane by lane a > b ? a : b, and a < b ? a : b; b if either is NaN. It is one instruction, but
 * compilers do not find it for `choose`. */
#ifndef larger
INLINE vec larger(vec a, vec b) {
    return choose(a > b, a, b);
}
INLINE vec smaller(vec a, vec b) {
    return choose(a < b, a, b);
}
#endif

#ifndef larger_integer
INLINE ivec larger_integer(ivec a, ivec b) {
    return (ivec)choose(a > b, (vec)a, (vec)b);
}
#endif

/* Sets bit i if lane i is above the threshold. */
#ifndef lanes_above
INLINE unsigned lanes_above(vec v, float threshold) {
    unsigned bits = 0;
    for (int i = 0; i < VL; i++)
        bits |= (unsigned)(v[i] > threshold) << i;
    return bits;
}
#endif

/* a * b + sum, rounded once where the target has such an instruction. Compilers may fuse a product
 * and a sum or not, and gcc 14 decides differently for two instances of one loop; results that must
 * be the same to the bit use this. */
#ifndef multiply_add
INLINE vec multiply_add(vec a, vec b, vec sum) {
    return a * b + sum;
}
#endif

/* Keeps the first n < VL lanes and clears the others. */
INLINE vec first_lanes(vec v, size_t n) {
    ivec lane;
    for (int i = 0; i < VL; i++)
        lane[i] = i;
    return choose(lane < (int)n, v, splat(0));
}

/* Adds the lanes by halves, always in the same order. */
INLINE float sum_lanes(vec v) {
    quad q[VL / 4];
    memcpy(q, &v, sizeof q);
    for (size_t n = VL / 8; n > 0; n /= 2)
        for (size_t i = 0; i < n; i++)
            q[i] += q[i + n];
    return (q[0][0] + q[0][2]) + (q[0][1] + q[0][3]);
}

INLINE int32_t sum_lanes_integer(ivec v) {
    iquad q[VL / 4];
    memcpy(q, &v, sizeof q);
    UNROLL
    for (size_t i = 1; i < VL / 4; i++)
        q[0] += q[i];
    iquad pairs = q[0] + __builtin_shufflevector(q[0], q[0], 2, 3, 0, 1);
    return pairs[0] + pairs[1];
}

INLINE iquad larger_quad(iquad a, iquad b) {
    iquad mask = a > b;
    return (a & mask) | (b & ~mask);
}

INLINE int32_t max_lanes_integer(ivec v) {
    iquad q[VL / 4];
    memcpy(q, &v, sizeof q);
    UNROLL
    for (size_t i = 1; i < VL / 4; i++)
        q[0] = larger_quad(q[0], q[i]);
    iquad pairs = larger_quad(q[0], __builtin_shufflevector(q[0], q[0], 2, 3, 0, 1));
    return pairs[0] > pairs[1] ? pairs[0] : pairs[1];
}

/* Four sums at once, each in the order of sum_lanes; the order does not matter for integers. */
#ifndef SUM_FOUR
#define SUM_FOUR(name, wide, narrow)                                                               \
    INLINE narrow name(const wide *v) {                                                            \
        narrow q[4];                                                                               \
        UNROLL                                                                                     \
        for (size_t j = 0; j < 4; j++) {                                                           \
            narrow parts[VL / 4];                                                                  \
            memcpy(parts, &v[j], sizeof parts);                                                    \
            UNROLL                                                                                 \
            for (size_t n = VL / 8; n > 0; n /= 2) {                                               \
                UNROLL                                                                             \
                for (size_t i = 0; i < n; i++)                                                     \
                    parts[i] += parts[i + n];                                                      \
            }                                                                                      \
            q[j] = parts[0];                                                                       \
        }                                                                                          \
        narrow a = __builtin_shufflevector(q[0], q[1], 0, 4, 1, 5) +                               \
                   __builtin_shufflevector(q[0], q[1], 2, 6, 3, 7);                                \
        narrow b = __builtin_shufflevector(q[2], q[3], 0, 4, 1, 5) +                               \
                   __builtin_shufflevector(q[2], q[3], 2, 6, 3, 7);                                \
        return __builtin_shufflevector(a, b, 0, 1, 4, 5) +                                         \
               __builtin_shufflevector(a, b, 2, 3, 6, 7);                                          \
    }
#endif

SUM_FOUR(sum_four, vec, quad)
SUM_FOUR(sum_four_integers, ivec, iquad)

#ifndef larger_floats
INLINE quad larger_floats(quad a, quad b) {
    iquad mask = a > b;
    return (quad)(((iquad)a & mask) | ((iquad)b & ~mask));
}
#endif

/* No lane may be NaN. */
INLINE float max_lanes(vec v) {
    quad q[VL / 4];
    memcpy(q, &v, sizeof q);
    UNROLL
    for (size_t n = VL / 8; n > 0; n /= 2) {
        UNROLL
        for (size_t i = 0; i < n; i++)
            q[i] = larger_floats(q[i], q[i + n]);
    }
    quad pairs = larger_floats(q[0], __builtin_shufflevector(q[0], q[0], 2, 3, 0, 1));
    return pairs[0] > pairs[1] ? pairs[0] : pairs[1];
}

/* The greatest lanes of four vectors. No lane may be NaN. */
INLINE quad max_four(const vec *v) {
    quad q[4];
    UNROLL
    for (size_t j = 0; j < 4; j++) {
        quad parts[VL / 4];
        memcpy(parts, &v[j], sizeof parts);
        UNROLL
        for (size_t i = 1; i < VL / 4; i++)
            parts[0] = larger_floats(parts[0], parts[i]);
        q[j] = parts[0];
    }
    quad a = larger_floats(__builtin_shufflevector(q[0], q[1], 0, 4, 1, 5),
                           __builtin_shufflevector(q[0], q[1], 2, 6, 3, 7));
    quad b = larger_floats(__builtin_shufflevector(q[2], q[3], 0, 4, 1, 5),
                           __builtin_shufflevector(q[2], q[3], 2, 6, 3, 7));
    return larger_floats(__builtin_shufflevector(a, b, 0, 1, 4, 5),
                         __builtin_shufflevector(a, b, 2, 3, 6, 7));
}

/* 1 / x for x from 1 to 2^126, with a relative error below 1.3e-7. */
#ifndef reciprocal
INLINE vec reciprocal(vec x) {
    return 1.0f / x;
}
#endif

/* ---- 16-bit floats ----
 * IEEE binary16, and bfloat16, which is the upper half of a float32. */

/* Loads VL unsigned 16-bit integers. */
#ifndef widen
INLINE ivec widen(const void *p) {
    typedef uint16_t halves __attribute__((vector_size(VL * 2)));
    halves h;
    memcpy(&h, p, sizeof h);
    return __builtin_convertvector(h, ivec);
}
#endif

/* Loads VL numbers in binary16, of which none is infinite. */
#ifndef load_half
INLINE vec load_half(const void *p) {
    ivec h = widen(p);
    vec magnitude =
        (vec)((h & 0x7fff) << 13) *
        0x1p112f; /* the exponent's bias differs by 112; this is also right for subnormals */
    magnitude = choose(magnitude > 65504.0f, splat(NAN), magnitude);
    return (vec)((ivec)magnitude | (h & 0x8000) << 16);
}
#endif

INLINE uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Returns the bits from `shift` on, rounded to nearest, ties to even. */
INLINE uint16_t upper_bits(uint32_t bits, int shift) {
    return (uint16_t)((bits + (1U << (shift - 1)) - 1 + (bits >> shift & 1)) >> shift);
}

#define LARGEST_HALF 65504.0f

/* Rounds to the nearest binary16; larger numbers become the largest, and NaN stays. */
INLINE uint16_t half_of(float x) {
    if (isnan(x))
        return 0x7e00;
    uint32_t sign = bits_of(x) >> 16 & 0x8000;
    /* lowering the exponent's bias to that of binary16 makes x subnormal where the half is */
    return (uint16_t)(sign | upper_bits(bits_of(fminf(fabsf(x), LARGEST_HALF) * 0x1p-112f), 13));
}

/* ---- int16 ---- */

typedef int16_t shorts __attribute__((vector_size(VL * 2)));

/* Loads VL integers as floats. */
#ifndef load_int16
INLINE vec load_int16(const void *p) {
    shorts s;
    memcpy(&s, p, sizeof s);
    return __builtin_convertvector(__builtin_convertvector(s, ivec), vec);
}
#endif

/* Stores VL integers that are within its range. */
INLINE void store_int16(int16_t *p, ivec v) {
    shorts s = __builtin_convertvector(v, shorts);
    memcpy(p, &s, sizeof s);
}

/* ---- int8 ---- */

/* sums[lane] += w[lane] . x, each of four int8 side by side. Weights are stored as w + INT8_OFFSET.
 */
#ifndef add_products
INLINE ivec add_products(ivec sums, ivec w, ivec x) {
    for (int shift = 24; shift >= 0; shift -= 8)
        sums += (w << shift >> 24) * (x << shift >> 24);
    return sums;
}
#endif
#ifndef INT8_OFFSET
#define INT8_OFFSET 0
#endif

/* The same for values of 0 to 127. A set for which that takes fewer instructions multiplies blocks
 * of INT8_NARROW rows by it; INT8_OFFSET is 0 there. */
#ifndef INT8_NARROW
#define INT8_NARROW 0
#endif
#ifndef add_narrow
#define add_narrow add_products
#endif

/* packing.product_rows of kernels.h. */
#ifndef INT8_PRODUCT_ROWS
#define INT8_PRODUCT_ROWS 0
#endif

/* Rounds to nearest, ties to even. Without an instruction for it, adding 1.5 x 2^23 leaves the
 * integer in the low bits. */
#ifndef round_vec
INLINE ivec round_vec(vec x) {
    const float magic = 12582912.0f;
    return (ivec)(x + magic) - (ivec)splat(magic);
}
#endif

/* Returns four vectors as bytes, end to end. */
#ifndef pack_four
INLINE ivec pack_four(const ivec *v) {
    quarters narrow[4];
    for (size_t i = 0; i < 4; i++)
        narrow[i] = __builtin_convertvector(v[i], quarters);
    ivec packed;
    memcpy(&packed, narrow, sizeof packed);
    return packed;
}
#endif

/* Stores the first `count` bytes. */
#ifndef store_bytes
INLINE void store_bytes(char *q, ivec bytes, size_t count) {
    memcpy(q, &bytes, count);
}
#endif

/* ---- functions ----
 * kernels.h states their errors. */

/* p 2^whole, where shifted is whole + 1.5 x 2^23: the bits above `whole` in it fall off. */
#ifndef scale_by_power
INLINE vec scale_by_power(vec p, vec whole, vec shifted) {
    (void)whole;
    return (vec)((ivec)p + ((ivec)shifted << 23));
}
#endif

/* exp for |x| <= 87: x = n ln2 + r, |r| <= ln2 / 2, and a polynomial of degree 6 in r. Its
 * coefficients from r^2 on minimise the greatest relative error over that range by Remez's
 * exchange, 4e-9 after rounding; 1 and r are kept so that exp(0) is 1. */
INLINE vec exp_within(vec x) {
    const float magic =
        12582912.0f; /* 1.5 x 2^23: adding it rounds to an integer, kept in the low bits */
    vec shifted = x * 1.44269504f + magic;
    vec whole = shifted - magic;
    vec r = x - whole * 0.693359375f; /* ln2 in two parts, the first exact in few bits */
    r = r - whole * -2.12194440e-4f;
    vec p = splat(1.38146128e-3f);
    p = p * r + 8.36871006e-3f;
    p = p * r + 4.16683890e-2f;
    p = p * r + 1.66665211e-1f;
    p = p * r + 0.49999994f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return scale_by_power(p, whole, shifted);
}

/* Limits x to -limit to limit; NaN stays. */
INLINE vec clamp(vec x, float limit) {
    return smaller(splat(limit), larger(splat(-limit), x));
}

/* tanh x = 1 - 2 / (exp(2x) + 1); beyond 10 it is 1 in float32. */
INLINE vec tanh_vec(vec x) {
    return 1.0f - 2.0f * reciprocal(exp_within(2.0f * clamp(x, 10)) + 1.0f);
}

INLINE vec sigmoid_vec(vec x) {
    return reciprocal(1.0f + exp_within(-clamp(x, 87)));
}

/* Ignores NaN; returns at least -FLT_MAX. */
INLINE float max_of(const float *x, size_t n) {
    vec tops[4] = {splat(-FLT_MAX), splat(-FLT_MAX), splat(-FLT_MAX), splat(-FLT_MAX)};
    size_t i = 0;
    for (; i + 4 * VL <= n; i += 4 * VL) {
        UNROLL
        for (size_t v = 0; v < 4; v++)
            tops[v] = larger(load(x + i + v * VL), tops[v]);
    }
    for (; i + VL <= n; i += VL)
        tops[0] = larger(load(x + i), tops[0]);
    if (i < n)
        tops[1] = larger(load_part(x + i, n - i, -FLT_MAX), tops[1]);
    return max_lanes(larger(larger(tops[0], tops[1]), larger(tops[2], tops[3])));
}

/* x - top for x <= top, limited to the range of exp: lower terms add less than any rounding. */
INLINE vec below(vec x, float top) {
    return larger(splat(-87), x - top);
}

INLINE void softmax_floats(float *x, size_t n) {
    if (n == 0)
        return;
    float top = max_of(x, n);
    vec total = splat(0);
    size_t i = 0;
    for (; i + VL <= n; i += VL) {
        vec e = exp_within(below(load(x + i), top));
        store(x + i, e);
        total += e;
    }
    vec last = splat(0);
    if (i < n) {
        last = exp_within(below(load_part(x + i, n - i, top), top));
        total += first_lanes(last, n - i);
    }
    float scale = 1.0f / sum_lanes(total);
    for (i = 0; i + VL <= n; i += VL)
        store(x + i, load(x + i) * scale);
    if (i < n)
        store_part(x + i, last * scale, n - i);
}

/* Defines a function that replaces each x by the value of the expression, in which v is a vector of
 * them. */
#define IN_PLACE(name, expression)                                                                 \
    static void name(float *x, size_t n) {                                                         \
        size_t i = 0;                                                                              \
        for (; i + VL <= n; i += VL) {                                                             \
            vec v = load(x + i);                                                                   \
            store(x + i, expression);                                                              \
        }                                                                                          \
        if (i < n) {                                                                               \
            vec v = load_part(x + i, n - i, 0);                                                    \
            store_part(x + i, expression, n - i);                                                  \
        }                                                                                          \
    }

#endif
