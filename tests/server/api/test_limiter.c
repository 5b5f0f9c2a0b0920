/* server/api/keys and the meter: rates of clients and of work, with made-up times. */
#include "server/api/keys.h"
#include "server/base/metrics.h"
#include "tests/suites.h"
#include <math.h>

enum { BURST = 10 };
static const int64_t SECOND = 1000000;

static struct limiter *limiter;
static struct limit limit;

static void setup(void) {
    limiter = limiter_create();
    limit = (struct limit){2, BURST, 0};
}

static void teardown(void) {
    limiter_free(limiter);
}

static struct charge charge_of(uint64_t client, size_t sentences, int64_t now_us) {
    return (struct charge){.client = client, .name = "", .sentences = sentences, .now_us = now_us};
}

/* Returns the seconds to wait; 0: the sentences are taken. */
static double take(uint64_t client, const struct limit *allowed, size_t sentences, int64_t now_us) {
    const struct charge charge = charge_of(client, sentences, now_us);
    double wait_s = 0;
    enum limiter_verdict verdict = limiter_take(limiter, &charge, allowed, &wait_s);
    ck_assert_int_eq(verdict, wait_s > 0 ? LIMITER_RATE : LIMITER_TAKEN);
    return wait_s;
}

static void give_back(uint64_t client, size_t sentences) {
    const struct charge charge = charge_of(client, sentences, SECOND);
    limiter_return(limiter, &charge);
}

static void check_wait(double wait_s, double expected_s) {
    ck_assert_msg(fabs(wait_s - expected_s) < 1e-6, "wanted %g, got %g", expected_s, wait_s);
}

START_TEST(a_burst_and_then_the_rate) {
    for (int i = 0; i < BURST; i++)
        check_wait(take(1, &limit, 1, SECOND), 0);
    check_wait(take(1, &limit, 1, SECOND), 0.5);
    check_wait(take(1, &limit, 3, SECOND), 1.5);
    check_wait(take(1, &limit, 1, SECOND + 499999), 0.000001);
    check_wait(take(1, &limit, 1, SECOND + 500000), 0);
    check_wait(take(1, &limit, 1, SECOND + 500000), 0.5);
    check_wait(take(1, &limit, BURST, 100 * SECOND), 0); /* never more than a burst */
    check_wait(take(1, &limit, 1, 100 * SECOND), 0.5);
}
END_TEST

START_TEST(clients_do_not_share) {
    check_wait(take(1, &limit, BURST, SECOND), 0);
    check_wait(take(2, &limit, BURST, SECOND), 0);
    check_wait(take(2, &limit, 1, SECOND), 0.5);
}
END_TEST

/* More than a burst: once the bucket is full, and then there is debt. */
START_TEST(large_requests) {
    check_wait(take(1, &limit, 1, SECOND), 0);
    check_wait(take(1, &limit, 30, SECOND), 0.5);
    check_wait(take(1, &limit, 30, 2 * SECOND), 0);
    check_wait(take(1, &limit, 1, 2 * SECOND), 10.5);
    check_wait(take(1, &limit, 1, 2 * SECOND + 10500000), 0);
}
END_TEST

START_TEST(returned_tokens) {
    check_wait(take(1, &limit, BURST, SECOND), 0);
    give_back(1, 4);
    check_wait(take(1, &limit, 4, SECOND), 0);
    check_wait(take(1, &limit, 1, SECOND), 0.5);
    give_back(1, 100);
    check_wait(take(1, &limit, BURST + 1, SECOND), 0);
    give_back(99, 1); /* never seen */
}
END_TEST

START_TEST(no_rate_no_limit) {
    limit = (struct limit){0, 1, 0};
    for (int i = 0; i < 1000; i++)
        check_wait(take(1, &limit, 1000, SECOND), 0);
}
END_TEST

/* Each has the limit that it comes with, and one that changes counts at once. */
START_TEST(limits_of_their_own) {
    const struct limit more = {4, 20, 0};
    check_wait(take(1, &limit, BURST, SECOND), 0);
    check_wait(take(2, &more, 20, SECOND), 0);
    check_wait(take(1, &limit, 1, SECOND), 0.5);
    check_wait(take(2, &more, 1, SECOND), 0.25);
    check_wait(take(1, &more, BURST, SECOND), 0);
    check_wait(take(1, &more, 1, SECOND), 0.25);
}
END_TEST

/* A crowd of new clients does not make the one in debt be forgotten. */
START_TEST(debtors_are_remembered) {
    check_wait(take(1, &limit, 1000, SECOND), 0);
    for (uint64_t i = 2; i < 100000; i++)
        check_wait(take(i, &limit, 1, SECOND + (int64_t)i), 0);
    ck_assert(take(1, &limit, 1, 2 * SECOND) > 400);
}
END_TEST

/* The refund of a client that has no bucket drops no other, even if all buckets are in debt. */
START_TEST(refunds_displace_nobody) {
    enum { CLIENTS = 1024 * 8, STRANGERS = 1024 };
    for (uint64_t i = 0; i < CLIENTS; i++)
        check_wait(take(i, &limit, 1000, SECOND), 0);
    for (uint64_t i = 0; i < STRANGERS; i++)
        give_back(CLIENTS + i, 1);
    for (uint64_t i = 0; i < CLIENTS; i++)
        ck_assert(take(i, &limit, 1, 2 * SECOND) > 400);
}
END_TEST

/* ---- the meter ---- */

START_TEST(pace_of_the_last_seconds) {
    struct meter meter = {0};
    check_wait(meter_seconds(&meter, 100), 0);
    meter_observe(&meter, 5000, 1, SECOND); /* the first heap */
    check_wait(meter_seconds(&meter, 100), 0);
    for (int64_t i = 1; i <= 100; i++)
        meter_observe(&meter, 20, 1, SECOND + i * SECOND / 10); /* 200 a second */
    check_wait(meter_seconds(&meter, 1000), 5);
    for (int64_t i = 1; i <= 1000; i++)
        meter_observe(&meter, 5, 1, 11 * SECOND + i * SECOND / 10); /* then 50 */
    ck_assert(fabs(meter_seconds(&meter, 1000) - 20) < 0.1);
}
END_TEST

START_TEST(idle_time_does_not_count) {
    struct meter meter = {0};
    meter_observe(&meter, 1, 1, SECOND);
    meter_observe(&meter, 100, 0, 2 * SECOND);
    meter_observe(&meter, 7, 1, 900 * SECOND);
    check_wait(meter_seconds(&meter, 100), 1);
    meter_observe(&meter, 100, 0, 901 * SECOND);
    check_wait(meter_seconds(&meter, 100), 1);
}
END_TEST

Suite *limiter_suite(void) {
    Suite *suite = suite_create("limiter");
    TCase *tcase = tcase_create("limiter");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_burst_and_then_the_rate);
    tcase_add_test(tcase, clients_do_not_share);
    tcase_add_test(tcase, large_requests);
    tcase_add_test(tcase, returned_tokens);
    tcase_add_test(tcase, no_rate_no_limit);
    tcase_add_test(tcase, limits_of_their_own);
    tcase_add_test(tcase, debtors_are_remembered);
    tcase_add_test(tcase, refunds_displace_nobody);
    tcase_add_test(tcase, pace_of_the_last_seconds);
    tcase_add_test(tcase, idle_time_does_not_count);
    suite_add_tcase(suite, tcase);
    return suite;
}
