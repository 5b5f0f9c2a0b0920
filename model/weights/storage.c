#include "model/weights/storage.h"
#include <stdint.h>
#include <string.h>

/* The container is little-endian and float32 is used where it is mapped. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a big-endian machine would have to swap bytes here");

static float float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits. */
static float float_of_half(uint32_t half) {
    uint32_t sign = (half & 0x8000) << 16, exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
    if (exponent == 0) { /* zero and subnormals: fraction x 2^-24, exact in float32 */
        float magnitude = (float)fraction * 0x1p-24f;
        return sign != 0 ? -magnitude : magnitude;
    }
    if (exponent == 0x1f) /* infinity and NaN */
        return float_of_bits(sign | 0x7f800000 | fraction << 13);
    return float_of_bits(sign | (exponent - 15 + 127) << 23 | fraction << 13);
}

static uint32_t read_u16(const unsigned char *data) {
    return (uint32_t)data[0] | (uint32_t)data[1] << 8;
}

static void expand_f32(const unsigned char *data, size_t count, float *values) {
    memcpy(values, data, count * sizeof *values);
}

static void expand_f16(const unsigned char *data, size_t count, float *values) {
    for (size_t i = 0; i < count; i++)
        values[i] = float_of_half(read_u16(data + 2 * i));
}

/* bfloat16: the upper half of a float32. */
static void expand_bf16(const unsigned char *data, size_t count, float *values) {
    for (size_t i = 0; i < count; i++)
        values[i] = float_of_bits(read_u16(data + 2 * i) << 16);
}

static void expand_i8(const unsigned char *data, size_t count, float *values) {
    for (size_t i = 0; i < count; i++)
        values[i] = data[i] < 128 ? data[i] : (float)(data[i] - 256);
}

/* Infinity and NaN have all bits of the exponent, which lies in the upper two of a number's bytes. */
static inline size_t count_finite(const unsigned char *data, size_t count, size_t bytes, uint32_t exponent) {
    size_t i = 0;
    while (i < count && (read_u16(data + (i + 1) * bytes - 2) & exponent) != exponent)
        i++;
    return i;
}

static size_t finite_f32(const unsigned char *data, size_t count) {
    return count_finite(data, count, 4, 0x7f80);
}

static size_t finite_f16(const unsigned char *data, size_t count) {
    return count_finite(data, count, 2, 0x7c00);
}

static size_t finite_bf16(const unsigned char *data, size_t count) {
    return count_finite(data, count, 2, 0x7f80);
}

static size_t finite_i8(const unsigned char *data, size_t count) {
    (void)data;
    return count;
}

static const struct storage storages[] = {
    [DTYPE_F32] = {"float32", STORED_FLOAT32, 4, expand_f32, finite_f32},
    [DTYPE_F16] = {"float16", STORED_FLOAT16, 2, expand_f16, finite_f16},
    [DTYPE_BF16] = {"bfloat16", STORED_BFLOAT16, 2, expand_bf16, finite_bf16},
    [DTYPE_I8] = {"int8", STORED_INT8, 1, expand_i8, finite_i8},
};

const struct storage *storage_of(enum dtype dtype) {
    return &storages[dtype];
}
