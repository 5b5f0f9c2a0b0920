/* server/decimal against printf, in the shape that jansson gives. */
#include "server/base/decimal.h"
#include "tests/suites.h"
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 0x5a };

/* Between guards: no byte beyond DECIMAL_BYTES may change. */
static const char *written(float value) {
    static char buffer[DECIMAL_BYTES + 2];
    memset(buffer, GUARD, sizeof buffer);
    char *end = decimal_write(buffer, value);
    ck_assert(end > buffer && end <= buffer + DECIMAL_BYTES);
    ck_assert_int_eq(*end, GUARD);
    *end = '\0';
    return buffer;
}

static const char *expected(float value) {
    static char buffer[64];
    json_t *real = json_real((double)value);
    buffer[json_dumpb(real, buffer, sizeof buffer - 1, JSON_ENCODE_ANY | JSON_REAL_PRECISION(DECIMAL_DIGITS))] = '\0';
    json_decref(real);
    return buffer;
}

static float of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

START_TEST(known_values) {
    static const struct {
        float value;
        const char *text;
    } cases[] = {
        {0.0f, "0.0"},
        {-0.0f, "-0.0"},
        {1.0f, "1.0"},
        {-1.0f, "-1.0"},
        {10.0f, "10.0"},
        {0.5f, "0.5"},
        {0.0800003f, "0.0800003"},
        {8.67509e-5f, "8.67509e-5"},
        {-8.67509e-5f, "-8.67509e-5"},
        {0.0001f, "0.0001"},
        {-0.000123457f, "-0.000123457"},
        {0.99999951f, "1.0"},
        {0.99999946f, "0.999999"},
        {9.999996e-5f, "0.0001"},
        {9.999994e-5f, "9.99999e-5"},
        {123456.0f, "123456.0"},
        {999999.44f, "999999.0"},
        {999999.56f, "1e6"},
        {1234.5f, "1234.5"},
        {100000.0f, "100000.0"},
        {1e6f, "1e6"},
        {1e10f, "1e10"},
        {FLT_MIN, "1.17549e-38"},
        {-FLT_MIN, "-1.17549e-38"},
        {FLT_MAX, "3.40282e38"},
        {-FLT_MAX, "-3.40282e38"},
        {FLT_TRUE_MIN, "1.4013e-45"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_str_eq(written(cases[i].value), cases[i].text);
}
END_TEST

/* Every exponent, subnormal ones too, with mantissas from end to end, both signs. */
START_TEST(every_exponent_is_as_jansson_writes_it) {
    for (uint32_t exponent = 0; exponent < 255; exponent++) {
        for (uint32_t i = 0; i < 100; i++) {
            uint32_t mantissa = i < 8 ? i : i < 16 ? 0x7fffff - (i - 8) : (i * 2654435761u) >> 9;
            float value = of_bits((i % 3 == 0 ? 1u << 31 : 0) | exponent << 23 | mantissa);
            ck_assert_str_eq(written(value), expected(value));
        }
    }
}
END_TEST

/* What attention is made of, and the neighbours of every power of ten. */
START_TEST(shares_and_powers_are_as_jansson_writes_them) {
    for (uint32_t i = 0; i <= 10000; i++)
        ck_assert_str_eq(written((float)i / 10000), expected((float)i / 10000));
    for (int exponent = -44; exponent <= 38; exponent++) {
        float value = (float)pow(10, exponent);
        for (int i = 0; i < 40; i++)
            value = nextafterf(value, 0);
        for (int i = 0; i < 80; i++, value = nextafterf(value, INFINITY))
            ck_assert_str_eq(written(value), expected(value));
    }
}
END_TEST

/* A half cut off is a tie; printf's goes to the even digit. */
START_TEST(ties_are_within_half_a_digit) {
    static const float ties[] = {1000000.5f, 1000001.5f, 1000015.0f, 1000025.0f, 0.0009765625f, 0.00048828125f, 2097152.5f};
    for (size_t i = 0; i < sizeof ties / sizeof ties[0]; i++)
        ck_assert(fabs(strtod(written(ties[i]), NULL) - (double)ties[i]) <= 5.0001e-6 * (double)ties[i]);
}
END_TEST

Suite *decimal_suite(void) {
    Suite *suite = suite_create("decimal");
    TCase *tests = tcase_create("decimal");
    tcase_add_test(tests, known_values);
    tcase_add_test(tests, every_exponent_is_as_jansson_writes_it);
    tcase_add_test(tests, shares_and_powers_are_as_jansson_writes_them);
    tcase_add_test(tests, ties_are_within_half_a_digit);
    suite_add_tcase(suite, tests);
    return suite;
}
