#include "model/weights/weights.h"
#include "tests/files.h"
#include "tests/suites.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct error err;

static struct weights *open_container(const char *header, const void *data, size_t length) {
    err = (struct error){0};
    char *path = container_write(header, data, length);
    struct weights *weights = weights_open(path, &err);
    file_remove(path);
    return weights;
}

#define ENTRY(name, dtype, shape, offsets)                                                         \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

/* float32: a vector b [2] and a matrix w [2, 3]. */
static const float PLAIN_VALUES[] = {1, -2, 3, 4, 5, 6, 7, 8.5f};
static const char PLAIN_HEADER[] =
    "{" ENTRY("b", "F32", "[2]", "[0,8]") "," ENTRY("w", "F32", "[2,3]", "[8,32]") "}";

static struct weights *open_plain(void) {
    struct weights *weights = open_container(PLAIN_HEADER, PLAIN_VALUES, sizeof PLAIN_VALUES);
    ck_assert_msg(weights != NULL, "%s", err.message);
    return weights;
}

/* One int8 matrix q [2, 3] and its scales [2]. */
static const char QUANTIZED_HEADER[] =
    "{" ENTRY("q.scale", "F32", "[2]", "[0,8]") "," ENTRY("q", "I8", "[2,3]", "[8,14]") "}";

static struct weights *open_quantized(float first_scale) {
    const float scales[] = {first_scale, 2};
    static const signed char integers[] = {127, -127, 0, 1, -128, -1};
    unsigned char data[sizeof scales + sizeof integers];
    memcpy(data, scales, sizeof scales);
    memcpy(data + sizeof scales, integers, sizeof integers);
    struct weights *weights = open_container(QUANTIZED_HEADER, data, sizeof data);
    ck_assert_msg(weights != NULL, "%s", err.message);
    return weights;
}

START_TEST(float32_is_read) {
    struct weights *weights = open_plain();
    const float *vector = weights_get(weights, "b", 2, 1, &err),
                *matrix = weights_get(weights, "w", 2, 3, &err);
    ck_assert_msg(err.code == ERROR_NONE, "%s", err.message);
    ck_assert_mem_eq(vector, PLAIN_VALUES, 2 * sizeof(float));
    ck_assert_mem_eq(matrix, PLAIN_VALUES + 2, 6 * sizeof(float));
    ck_assert_ptr_eq(weights_get(weights, "w", 2, 3, NULL), matrix);
    ck_assert_int_eq(weights_all_used(weights, &err), 0);
    ck_assert_uint_eq(weights_parameters(weights), 8);
    ck_assert_str_eq(weights_storage(weights), "float32");
    weights_free(weights);
}
END_TEST

/* Two parameters that lie end to end in the file do so in memory if, and only if, they are used
 * where they are mapped. */
START_TEST(aligned_float32_is_not_copied) {
    char header[sizeof PLAIN_HEADER + 4];
    for (size_t spaces = 0; spaces < 4; spaces++) {
        memcpy(header, PLAIN_HEADER, sizeof PLAIN_HEADER - 1);
        memset(header + sizeof PLAIN_HEADER - 1, ' ', spaces);
        header[sizeof PLAIN_HEADER - 1 + spaces] = '\0';
        struct weights *weights = open_container(header, PLAIN_VALUES, sizeof PLAIN_VALUES);
        const float *vector = weights_get(weights, "b", 2, 1, &err),
                    *matrix = weights_get(weights, "w", 2, 3, &err);
        ck_assert_msg(err.code == ERROR_NONE, "%s", err.message);
        ck_assert_uint_eq((uintptr_t)matrix % sizeof(float), 0);
        ck_assert_mem_eq(matrix, PLAIN_VALUES + 2, 6 * sizeof(float));
        ck_assert_int_eq(matrix == vector + 2, strlen(header) % sizeof(float) == 0);
        weights_free(weights);
    }
}
END_TEST

/* The value of an IEEE half, by its definition. */
static double half_value(unsigned half) {
    int exponent = (int)(half >> 10 & 31), fraction = (int)(half & 1023);
    double magnitude = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

START_TEST(float16_special_values) {
    static const uint16_t halves[] = {0x0000, 0x8000, 0x3c00, 0xc000, 0x7bff, 0xfbff,
                                      0x0400, 0x0001, 0x8001, 0x03ff, 0x3555};
    static const float values[] = {0,        -0.0f,    1,         -2,         65504,      -65504,
                                   0x1p-14f, 0x1p-24f, -0x1p-24f, 0x3ffp-24f, 0x1.554p-2f};
    struct weights *weights =
        open_container("{" ENTRY("h", "F16", "[11]", "[0,22]") "}", halves, sizeof halves);
    const float *expanded = weights_get(weights, "h", 11, 1, &err);
    ck_assert_msg(expanded != NULL, "%s", err.message);
    ck_assert_mem_eq(expanded, values, sizeof values);
    ck_assert_str_eq(weights_storage(weights), "float16");
    weights_free(weights);
}
END_TEST

/* All of them but infinities and NaNs. */
START_TEST(float16_every_finite_value) {
    enum { COUNT = 2 * 31 * 1024 };
    uint16_t *halves = calloc(COUNT, sizeof *halves);
    for (unsigned half = 0, i = 0; half <= UINT16_MAX; half++) {
        if ((half >> 10 & 31) != 31)
            halves[i++] = (uint16_t)half;
    }
    struct weights *weights = open_container("{" ENTRY("h", "F16", "[63488]", "[0,126976]") "}",
                                             halves, COUNT * sizeof *halves);
    const float *values = weights_get(weights, "h", COUNT, 1, &err);
    ck_assert_msg(values != NULL, "%s", err.message);
    for (size_t i = 0; i < COUNT; i++) {
        float expected = (float)half_value(halves[i]);
        ck_assert_mem_eq(&values[i], &expected, sizeof expected);
    }
    weights_free(weights);
    free(halves);
}
END_TEST

START_TEST(bfloat16_is_the_upper_half) {
    static const uint16_t patterns[] = {0x0000, 0x8000, 0x3f80, 0xc040, 0x7f7f, 0x0001};
    static const float values[] = {0, -0.0f, 1, -3, 0x1.fep127f, 0x1p-133f};
    struct weights *weights =
        open_container("{" ENTRY("h", "BF16", "[3,2]", "[0,12]") "}", patterns, sizeof patterns);
    const float *expanded = weights_get(weights, "h", 3, 2, &err);
    ck_assert_msg(expanded != NULL, "%s", err.message);
    ck_assert_mem_eq(expanded, values, sizeof values);
    ck_assert_str_eq(weights_storage(weights), "bfloat16");
    weights_free(weights);
}
END_TEST

/* The matrix is expanded, packed and let go; asked for again, it is expanded again. */
START_TEST(a_linear_is_made_of_stored_matrices) {
    static const uint16_t values[] = {0x3c00, 0xc000, 0x4200,
                                      0x0000, 0x3800, 0x3c00}; /* 1 -2 3; 0 0.5 1 */
    static const float x[] = {1, 2, 4}, expected[] = {1 - 4 + 12, 1 + 4},
                       second_row[] = {0, 0.5f, 1};
    struct weights *weights =
        open_container("{" ENTRY("w", "F16", "[2,3]", "[0,12]") "}", values, sizeof values);
    struct linear linear;
    float y[2];
    ck_assert_int_eq(weights_linear(weights, &(struct linear_names){.weight = "w", .lookups = true},
                                    2, 3, &linear, &err),
                     0);
    ck_assert_int_eq(weights_all_used(weights, &err), 0);
    linear_apply(&linear, x, 3, 1, y, 2);
    ck_assert_mem_eq(y, expected, sizeof y);
    ck_assert_mem_eq(weights_get(weights, "w", 2, 3, &err) + 3, second_row, sizeof second_row);
    linear_apply(&linear, x, 3, 1, y, 2);
    ck_assert_mem_eq(y, expected, sizeof y);
    linear_look_up(&linear, x, (const int[]){1, 0}, 2, y);
    ck_assert_float_eq(y[0], expected[1]);
    ck_assert_float_eq(y[1], expected[0]);
    linear_done(&linear);
    /* a missing bias is an error also where nobody asks which */
    ck_assert_int_eq(weights_linear(weights, &(struct linear_names){.weight = "w", .bias = "b"}, 2,
                                    3, &linear, NULL),
                     -1);
    weights_free(weights);
}
END_TEST

START_TEST(int8_takes_the_scale_of_its_row) {
    static const float expected[] = {63.5f, -63.5f, 0, 2, -256, -2};
    struct weights *weights = open_quantized(0.5f);
    const float *values = weights_get(weights, "q", 2, 3, &err);
    ck_assert_msg(values != NULL, "%s", err.message);
    ck_assert_mem_eq(values, expected, sizeof expected);
    ck_assert_ptr_eq(weights_get(weights, "q", 2, 3, &err), values);
    ck_assert_int_eq(weights_all_used(weights, &err), 0); /* the scale is used with its tensor */
    ck_assert_uint_eq(weights_parameters(weights), 6);
    ck_assert_str_eq(weights_storage(weights), "int8");
    weights_free(weights);
}
END_TEST

/* Quantized by row, values come back within half a step of the row's scale. */
START_TEST(int8_round_trip) {
    enum { ROWS = 5, COLS = 7 };
    float values[ROWS][COLS];
    struct {
        float scales[ROWS];
        signed char integers[ROWS][COLS];
    } data;
    for (size_t row = 0; row < ROWS; row++) {
        data.scales[row] = (float)(row + 1) / 127;
        for (size_t col = 0; col < COLS; col++) {
            values[row][col] = (float)(row + 1) * sinf((float)(row * COLS + col));
            data.integers[row][col] = (signed char)lrintf(values[row][col] / data.scales[row]);
        }
    }
    static const char header[] =
        "{" ENTRY("q.scale", "F32", "[5]", "[0,20]") "," ENTRY("q", "I8", "[5,7]", "[20,55]") "}";
    struct weights *weights = open_container(header, &data, 55);
    const float *expanded = weights_get(weights, "q", ROWS, COLS, &err);
    ck_assert_msg(expanded != NULL, "%s", err.message);
    for (size_t i = 0; i < (size_t)ROWS * COLS; i++)
        ck_assert_float_eq_tol(expanded[i], values[i / COLS][i % COLS],
                               data.scales[i / COLS] * 0.5001f);
    weights_free(weights);
}
END_TEST

/* The values that weights_get gives, as float32 where they are mapped, and expanded for nobody
 * else. */
static void check_table(struct weights *weights, const char *name) {
    struct weights_table table;
    float rows[6];
    ck_assert_int_eq(weights_table(weights, name, 2, 3, &table, &err), 0);
    ck_assert_int_eq(weights_all_used(weights, NULL), 0);
    weights_row(&table, 1, rows + 3);
    weights_row(&table, 0, rows);
    ck_assert_mem_eq(weights_get(weights, name, 2, 3, &err), rows, sizeof rows);
    ck_assert_int_eq(weights_table(weights, name, 2, 3, &table, &err),
                     0); /* of values that are there by now */
    weights_row(&table, 1, rows);
    ck_assert_mem_eq(rows, rows + 3, 3 * sizeof *rows);
    ck_assert_int_eq(weights_table(weights, name, 3, 2, &table, &err), -1);
    ck_assert(weights_failed(weights));
    weights_free(weights);
}

START_TEST(rows_are_read_as_they_are_stored) {
    static const uint16_t halves[] = {0x3c00, 0xc000, 0x4200, 0x0000, 0x3800, 0x8001};
    static const float floats[] = {1, -2, 3, 4, 5, 6};
    check_table(open_quantized(0.25f), "q");
    check_table(open_container("{" ENTRY("w", "F16", "[2,3]", "[0,12]") "}", halves, sizeof halves),
                "w");
    check_table(
        open_container("{" ENTRY("w", "BF16", "[2,3]", "[0,12]") "}", halves, sizeof halves), "w");
    check_table(open_container("{" ENTRY("w", "F32", "[2,3]", "[0,24]") "}", floats, sizeof floats),
                "w");
}
END_TEST

/* q [2, 3] with one scale, 0.5, and what multiplies its input, 10, if there is one. */
static struct weights *open_given(bool with_input_scale) {
    static const char with[] = "{" ENTRY("q.scale", "F32", "[1]", "[0,4]") "," ENTRY(
        "q.input_scale", "F32", "[1]", "[4,8]") "," ENTRY("q", "I8", "[2,3]", "[8,14]") "}";
    static const char without[] =
        "{" ENTRY("q.scale", "F32", "[1]", "[0,4]") "," ENTRY("q", "I8", "[2,3]", "[4,10]") "}";
    static const signed char integers[] = {100, -7, 0, 1, 2, -3};
    unsigned char data[14];
    size_t scales = with_input_scale ? 8 : 4;
    memcpy(data, (const float[]){0.5f, 10}, scales);
    memcpy(data + scales, integers, sizeof integers);
    struct weights *weights =
        open_container(with_input_scale ? with : without, data, scales + sizeof integers);
    ck_assert_msg(weights != NULL, "%s", err.message);
    return weights;
}

/* Neither matrix row has 127, so that a scale made anew would round other integers; the first value
 * is rounded to even, 12.5 to 12, the last is cut off at 127. */
START_TEST(int8_as_given) {
    static const float expected[] = {50, -3.5f, 0, 0.5f, 1, -1.5f}, x[] = {1.25f, 2, 1000};
    static const struct {
        bool given;
        float y[2];
    } products[] = {{true, {(1200 - 140) / 20.0f, (12 + 40 - 381) / 20.0f}},
                    {false, {0, -1.5f * 1000}}};
    struct backend backend = backend_choose();
    backend.compute = COMPUTE_INT8;
    for (size_t i = 0; i < 2; i++) {
        struct weights *weights = open_given(products[i].given);
        struct linear linear;
        float y[2];
        const float *values = weights_get(weights, "q", 2, 3, &err);
        ck_assert_msg(values != NULL, "%s", err.message);
        ck_assert_mem_eq(values, expected, sizeof expected);
        weights_use(weights, &backend);
        ck_assert_int_eq(weights_linear(weights,
                                        &(struct linear_names){.weight = "q", .lookups = true}, 2,
                                        3, &linear, &err),
                         0);
        linear_apply(&linear, x, 3, 1, y, 2);
        ck_assert_float_eq_tol(y[0], products[i].y[0], 1e-5f);
        ck_assert_float_eq_tol(y[1], products[i].y[1], 1e-5f * 1500);
        linear_look_up(&linear, x, (const int[]){1}, 1, y);
        ck_assert_float_eq_tol(y[0], products[i].y[1], 1e-5f * 1500);
        ck_assert_int_eq(weights_all_used(weights, &err), 0);
        ck_assert_uint_eq(weights_parameters(weights), 6);
        linear_done(&linear);
        weights_free(weights);
    }
}
END_TEST

/* The same, written once for each channel: a scale of the second row's own would make 1 42 of 127.
 */
START_TEST(int8_as_given_by_all_channels) {
    static const signed char integers[] = {100, -7, 0, 1, 2, -3};
    static const float scales[] = {0.5f, 0.5f}, x[] = {1, 0, 0};
    unsigned char data[sizeof scales + sizeof integers];
    struct backend backend = backend_choose();
    struct linear linear;
    float y[2];
    memcpy(data, scales, sizeof scales);
    memcpy(data + sizeof scales, integers, sizeof integers);
    struct weights *weights = open_container(QUANTIZED_HEADER, data, sizeof data);
    ck_assert_msg(weights != NULL, "%s", err.message);
    backend.compute = COMPUTE_INT8;
    weights_use(weights, &backend);
    ck_assert_int_eq(
        weights_linear(weights, &(struct linear_names){.weight = "q"}, 2, 3, &linear, &err), 0);
    linear_apply(&linear, x, 3, 1, y, 2);
    ck_assert_float_eq_tol(y[0], 50, 1e-5f);
    ck_assert_float_eq_tol(y[1], 0.5f, 1e-5f);
    linear_done(&linear);
    weights_free(weights);
}
END_TEST

/* A tensor name, the shape asked for and the message. */
START_TEST(wrong_questions_are_refused) {
    static const struct {
        const char *name;
        size_t rows, cols;
        const char *message;
    } wrong[] = {
        {"v", 2, 1, "tensor v: missing"},
        {"b", 3, 1, "tensor b: shape [2], but the model needs [3]"},
        {"b", 1, 2, "tensor b: shape [2], but the model needs [1, 2]"},
        {"w", 3, 2, "tensor w: shape [2, 3], but the model needs [3, 2]"},
        {"w", 6, 1, "tensor w: shape [2, 3], but the model needs [6]"},
        {"w", 2, 1, "tensor w: shape [2, 3], but the model needs [2]"},
    };
    struct weights *weights = open_plain();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        err = (struct error){0};
        ck_assert_ptr_null(weights_get(weights, wrong[i].name, wrong[i].rows, wrong[i].cols, &err));
        ck_assert_int_eq(err.code, ERROR_FORMAT);
        ck_assert_str_eq(err.message, wrong[i].message);
    }
    weights_free(weights);
}
END_TEST

START_TEST(scalars_have_no_shape) {
    static const float value = 1;
    struct weights *weights =
        open_container("{" ENTRY("s", "F32", "[]", "[0,4]") "}", &value, sizeof value);
    ck_assert_ptr_null(weights_get(weights, "s", 1, 1, &err));
    ck_assert_str_eq(err.message, "tensor s: shape [], but the model needs [1]");
    weights_free(weights);
}
END_TEST

START_TEST(first_error_stays) {
    struct weights *weights = open_plain();
    ck_assert_ptr_null(weights_get(weights, "first", 1, 1, &err));
    ck_assert_ptr_null(weights_get(weights, "second", 1, 1, &err));
    ck_assert_ptr_null(weights_get(weights, "b", 2, 1, &err));
    ck_assert_str_eq(err.message, "tensor first: missing");
    ck_assert_ptr_null(weights_get(weights, "first", 1, 1, NULL));
    weights_free(weights);
}
END_TEST

/* Also without a struct error, and whatever is found afterwards. */
START_TEST(failure_is_remembered) {
    struct linear linear = {0};
    struct weights *weights = open_plain();
    ck_assert_ptr_nonnull(weights_get(weights, "b", 2, 1, NULL));
    ck_assert(!weights_failed(weights) && !weights_failed(NULL));
    ck_assert_ptr_null(weights_get(weights, "first", 1, 1, NULL));
    ck_assert_ptr_nonnull(weights_get(weights, "b", 2, 1, NULL));
    ck_assert(weights_failed(weights));
    weights_free(weights);
    weights = open_plain();
    ck_assert_int_eq(weights_linear(weights, &(struct linear_names){.weight = "none", .bias = "b"},
                                    2, 3, &linear, NULL),
                     -1);
    ck_assert(weights_failed(weights));
    linear_done(&linear);
    weights_free(weights);
}
END_TEST

START_TEST(unused_tensor_is_named) {
    struct weights *weights = open_plain();
    ck_assert_ptr_nonnull(weights_get(weights, "b", 2, 1, &err));
    ck_assert_int_eq(weights_all_used(weights, &err), -1);
    ck_assert_int_eq(err.code, ERROR_FORMAT);
    ck_assert_str_eq(err.message, "tensor w: the model has no such parameter");
    weights_free(weights);
}
END_TEST

/* NaN or infinity, as each storage can hold it, in each place of [2, 300]. */
START_TEST(values_must_be_finite) {
    enum { VALUES = 600 };
    static const struct {
        const char *header;
        size_t bytes;
        uint32_t bits;
    } cases[] = {
        {"{" ENTRY("x", "F32", "[2,300]", "[0,2400]") "}", 4, 0x7fc00000},
        {"{" ENTRY("x", "F32", "[2,300]", "[0,2400]") "}", 4, 0xff800000},
        {"{" ENTRY("x", "F16", "[2,300]", "[0,1200]") "}", 2, 0x7c00},
        {"{" ENTRY("x", "F16", "[2,300]", "[0,1200]") "}", 2, 0xfe00},
        {"{" ENTRY("x", "BF16", "[2,300]", "[0,1200]") "}", 2, 0x7f80},
        {"{" ENTRY("x", "BF16", "[2,300]", "[0,1200]") "}", 2, 0xffc0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t place = 0; place < VALUES; place++) {
            unsigned char data[VALUES * sizeof(float)] = {0};
            char message[64];
            memcpy(data + place * cases[i].bytes, &cases[i].bits, cases[i].bytes);
            snprintf(message, sizeof message, "tensor x: value %zu is not finite", place);
            struct weights *weights =
                open_container(cases[i].header, data, VALUES * cases[i].bytes);
            ck_assert_ptr_null(weights_get(weights, "x", 2, VALUES / 2, &err));
            ck_assert_int_eq(err.code, ERROR_FORMAT);
            ck_assert_str_eq(err.message, message);
            struct weights_table table;
            err = (struct error){0};
            ck_assert_int_eq(weights_table(weights, "x", 2, VALUES / 2, &table, &err), -1);
            ck_assert_str_eq(err.message, message);
            weights_free(weights);
        }
    }
}
END_TEST

START_TEST(scales_must_be_finite) {
    static const float scales[] = {NAN, INFINITY, 3e38f /* x 127 */};
    for (size_t i = 0; i < 3; i++) {
        struct weights *weights = open_quantized(scales[i]);
        ck_assert_ptr_null(weights_get(weights, "q", 2, 3, &err));
        ck_assert_str_eq(err.message, "tensor q: value 0 is not finite");
        weights_free(weights);
    }
}
END_TEST

static const struct {
    const char *header, *message;
    size_t length;
} wrong_scales[] = {
    {"{" ENTRY("q", "I8", "[2,3]", "[0,6]") "}", "tensor q: int8 without q.scale", 6},
    {"{" ENTRY("q.scale", "F32", "[2]", "[0,8]") "}",
     "tensor q.scale: the int8 tensor q is missing", 8},
    {"{" ENTRY("q.scale", "F32", "[2]", "[0,8]") "," ENTRY("q", "F32", "[2]", "[8,16]") "}",
     "tensor q.scale: the int8 tensor q is missing", 16},
    {"{" ENTRY("q.scale", "F32", "[3]", "[0,12]") "," ENTRY("q", "I8", "[2,3]", "[12,18]") "}",
     "tensor q.scale: must be float32 [2] or [1]", 18},
    {"{" ENTRY("q.scale", "F32", "[2,1]", "[0,8]") "," ENTRY("q", "I8", "[2,3]", "[8,14]") "}",
     "tensor q.scale: must be float32 [2] or [1]", 14},
    {"{" ENTRY("q.scale", "F16", "[2]", "[0,4]") "," ENTRY("q", "I8", "[2,3]", "[4,10]") "}",
     "tensor q.scale: must be float32 [2] or [1]", 10},
    {"{" ENTRY("q.scale", "F32", "[1]", "[0,4]") "," ENTRY("q", "I8", "[]", "[4,5]") "}",
     "tensor q: an int8 scalar has no output channels to scale", 5},
    {"{" ENTRY("q.input_scale", "F32", "[1]", "[0,4]") "}",
     "tensor q.input_scale: the int8 tensor q is missing", 4},
    {"{" ENTRY("q.scale", "F32", "[2]", "[0,8]") "," ENTRY(
         "q.input_scale", "F32", "[2]", "[8,16]") "," ENTRY("q", "I8", "[2,3]", "[16,22]") "}",
     "tensor q.input_scale: must be float32 [1]", 22},
    {"{" ENTRY("q.scale", "F32", "[2]", "[0,8]") "," ENTRY(
         "q.input_scale", "F32", "[1]", "[8,12]") "," ENTRY("q", "I8", "[2,3]", "[12,18]") "}",
     "tensor q.input_scale: must be finite and above 0", 18},
};

START_TEST(scales_and_int8_belong_together) {
    static const unsigned char data[32];
    ck_assert_ptr_null(open_container(wrong_scales[_i].header, data, wrong_scales[_i].length));
    ck_assert_int_eq(err.code, ERROR_FORMAT);
    ck_assert_str_eq(err.message, wrong_scales[_i].message);
}
END_TEST

START_TEST(storage_is_that_of_the_largest) {
    static const unsigned char data[32];
    struct weights *weights = open_container(
        "{" ENTRY("b", "F32", "[4]", "[0,16]") "," ENTRY("w", "F16", "[2,3]", "[16,28]") "}", data,
        28);
    ck_assert_str_eq(weights_storage(weights), "float16");
    ck_assert_uint_eq(weights_parameters(weights), 10);
    weights_free(weights);
}
END_TEST

START_TEST(bad_container_is_refused) {
    ck_assert_ptr_null(open_container("{", "", 0));
    ck_assert_int_eq(err.code, ERROR_FORMAT);
    err = (struct error){0};
    ck_assert_ptr_null(weights_open("/nowhere/model.safetensors", &err));
    ck_assert_int_eq(err.code, ERROR_FILE);
    ck_assert_ptr_null(open_container("{" ENTRY("w", "I32", "[1]", "[0,4]") "}", "\0\0\0", 4));
    ck_assert_str_eq(err.message, "tensor w: parameters cannot be stored as I32");
    weights_free(NULL);
}
END_TEST

Suite *weights_suite(void) {
    Suite *suite = suite_create("weights");
    TCase *cases = tcase_create("storage");
    tcase_add_test(cases, float32_is_read);
    tcase_add_test(cases, aligned_float32_is_not_copied);
    tcase_add_test(cases, float16_special_values);
    tcase_add_test(cases, float16_every_finite_value);
    tcase_add_test(cases, bfloat16_is_the_upper_half);
    tcase_add_test(cases, int8_takes_the_scale_of_its_row);
    tcase_add_test(cases, rows_are_read_as_they_are_stored);
    tcase_add_test(cases, int8_as_given);
    tcase_add_test(cases, int8_as_given_by_all_channels);
    tcase_add_test(cases, int8_round_trip);
    tcase_add_test(cases, storage_is_that_of_the_largest);
    tcase_add_test(cases, a_linear_is_made_of_stored_matrices);
    suite_add_tcase(suite, cases);

    cases = tcase_create("refused");
    tcase_add_test(cases, wrong_questions_are_refused);
    tcase_add_test(cases, scalars_have_no_shape);
    tcase_add_test(cases, first_error_stays);
    tcase_add_test(cases, failure_is_remembered);
    tcase_add_test(cases, unused_tensor_is_named);
    tcase_add_test(cases, values_must_be_finite);
    tcase_add_test(cases, scales_must_be_finite);
    tcase_add_loop_test(cases, scales_and_int8_belong_together, 0,
                        (int)(sizeof wrong_scales / sizeof *wrong_scales));
    tcase_add_test(cases, bad_container_is_refused);
    suite_add_tcase(suite, cases);
    return suite;
}
