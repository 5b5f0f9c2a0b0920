/* server/base/strings: decimal numbers against printf, in the shape that jansson gives; each with
 * every number of digits. */
#include "server/base/strings.h"
#include "tests/suites.h"
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 0x5a };

/* Between guards: no byte beyond DECIMAL_BYTES may change. */
static const char *written(double value, int digits) {
    static char buffer[DECIMAL_BYTES(DECIMAL_MOST) + 2];
    memset(buffer, GUARD, sizeof buffer);
    char *end = decimal_write(buffer, value, digits);
    if (end <= buffer || end > buffer + DECIMAL_BYTES(digits) || *end != GUARD)
        ck_abort_msg("%.17g has %td bytes", value, end - buffer);
    *end = '\0';
    return buffer;
}

static const char *expected(double value, int digits) {
    static char buffer[64];
    json_t *real = json_real(value);
    size_t flags = JSON_ENCODE_ANY | JSON_REAL_PRECISION((size_t)digits);
    buffer[json_dumpb(real, buffer, sizeof buffer - 1, flags)] = '\0';
    json_decref(real);
    return buffer;
}

/* Of very many values: an assertion of Check's takes longer than what it asserts. */
static void check(double value, int digits) {
    const char *text = written(value, digits), *wanted = expected(value, digits);
    if (strcmp(text, wanted) != 0)
        ck_abort_msg("%s instead of %s", text, wanted);
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
        ck_assert_str_eq(written(cases[i].value, DECIMAL_DIGITS), cases[i].text);
}
END_TEST

/* Every exponent, subnormal ones too, with mantissas from end to end, both signs. */
START_TEST(every_exponent_is_as_jansson_writes_it) {
    for (uint32_t exponent = 0; exponent < 255; exponent++) {
        for (uint32_t i = 0; i < 100; i++) {
            uint32_t mantissa = i < 8 ? i : i < 16 ? 0x7fffff - (i - 8) : (i * 2654435761u) >> 9;
            float value = of_bits((i % 3 == 0 ? 1u << 31 : 0) | exponent << 23 | mantissa);
            check(value, _i);
        }
    }
}
END_TEST

/* Nine digits: read again it is the same float. */
START_TEST(most_digits_tell_floats_apart) {
    for (uint32_t i = 0; i < 10000; i++) {
        float value = of_bits((i * 2654435761u) % 0x7f800000);
        ck_assert(strtof(written(value, DECIMAL_MOST), NULL) == value);
    }
}
END_TEST

/* Values such as those of attention, and the neighbours of every power of ten. */
START_TEST(shares_and_powers_are_as_jansson_writes_them) {
    for (uint32_t i = 0; i <= 10000; i++)
        check((float)i / 10000, _i);
    for (int exponent = -44; exponent <= 38; exponent++) {
        float value = (float)pow(10, exponent);
        for (int i = 0; i < 40; i++)
            value = nextafterf(value, 0);
        for (int i = 0; i < 80; i++, value = nextafterf(value, INFINITY))
            check(value, _i);
    }
}
END_TEST

/* A half cut off is a tie; printf's goes to the even digit where it is exact, and otherwise where
 * all digits of the double say. */
START_TEST(ties_are_as_jansson_writes_them) {
    static const double ties[] = {
        1000000.5,   1000001.5,     1000015.0,    1000025.0, 0.0009765625, 0.00048828125,
        2097152.5,   999999.5,      99999.95,     1234.565,  0.1234565,    1.0000005,
        9.999995e-5, 2.0000025e-30, 7.2345645e30, 1e-45,     1.4999995e9};
    for (size_t i = 0; i < sizeof ties / sizeof ties[0]; i++) {
        check(ties[i], _i);
        check(nextafter(ties[i], 0), _i);
        check(nextafter(ties[i], INFINITY), _i);
    }
    for (int i = 100000; i < 200000; i += 7) /* times: microseconds as milliseconds */
        check((10 * i + 5) / 1e3, _i);
}
END_TEST

/* Every exponent, subnormal ones too. */
START_TEST(doubles_are_as_jansson_writes_them) {
    for (uint64_t exponent = 0; exponent < 2047; exponent++) {
        for (uint64_t i = 0; i < 30; i++) {
            uint64_t bits =
                i % 3 << 63 | exponent << 52 | (i < 4 ? i : i * 0x9e3779b97f4a7c15) >> 12;
            double value;
            memcpy(&value, &bits, sizeof value);
            check(value, _i);
        }
    }
}
END_TEST

Suite *decimal_suite(void) {
    Suite *suite = suite_create("decimal");
    TCase *tests = tcase_create("decimal");
    tcase_add_test(tests, known_values);
    tcase_add_loop_test(tests, every_exponent_is_as_jansson_writes_it, 1, DECIMAL_MOST + 1);
    tcase_add_test(tests, most_digits_tell_floats_apart);
    tcase_add_loop_test(tests, shares_and_powers_are_as_jansson_writes_them, 1, DECIMAL_MOST + 1);
    tcase_add_loop_test(tests, ties_are_as_jansson_writes_them, 1, DECIMAL_MOST + 1);
    tcase_add_loop_test(tests, doubles_are_as_jansson_writes_them, 1, DECIMAL_MOST + 1);
    suite_add_tcase(suite, tests);
    return suite;
}
