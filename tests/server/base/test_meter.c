/* server/base/metrics: the meter, with times made up. */
#include "server/base/metrics.h"
#include "tests/suites.h"
#include <math.h>

enum { SECOND = 1000000 };

/* Seconds that 100 take. */
static double of_a_hundred(const struct meter *meter) {
    return meter_seconds(meter, 100);
}

START_TEST(nothing_measured) {
    struct meter meter = {0};
    ck_assert(of_a_hundred(&meter) <= 0);
    meter_observe(&meter, 50, 1, SECOND); /* the first does not count */
    ck_assert(of_a_hundred(&meter) <= 0);
}
END_TEST

START_TEST(a_steady_pace) {
    struct meter meter = {0};
    for (int i = 1; i <= 30; i++)
        meter_observe(&meter, 5, 1, i * SECOND / 2);
    ck_assert_double_eq_tol(of_a_hundred(&meter), 10, 1e-9);
    ck_assert_double_eq_tol(meter_seconds(&meter, 1), 0.1, 1e-9);
}
END_TEST

START_TEST(time_without_work_does_not_count) {
    struct meter meter = {0};
    meter_observe(&meter, 5, 1, SECOND);
    meter_observe(&meter, 5, 0, 2 * SECOND); /* nothing is left */
    meter_observe(&meter, 7, 1, 99 * SECOND);
    meter_observe(&meter, 5, 1, 100 * SECOND);
    ck_assert_double_eq_tol(of_a_hundred(&meter), 20, 1e-9);
}
END_TEST

/* Observations that are ten seconds old count 1/e. */
START_TEST(the_latest_counts_most) {
    struct meter meter = {0};
    meter_observe(&meter, 0, 1, SECOND);
    meter_observe(&meter, 10, 1, 11 * SECOND); /* one a second */
    meter_observe(&meter, 40, 1, 21 * SECOND); /* four */
    ck_assert_double_eq_tol(of_a_hundred(&meter), 100 * (10 / M_E + 10) / (10 / M_E + 40), 1e-9);
}
END_TEST

Suite *meter_suite(void) {
    Suite *suite = suite_create("meter");
    TCase *tests = tcase_create("meter");
    tcase_add_test(tests, nothing_measured);
    tcase_add_test(tests, a_steady_pace);
    tcase_add_test(tests, time_without_work_does_not_count);
    tcase_add_test(tests, the_latest_counts_most);
    suite_add_tcase(suite, tests);
    return suite;
}
