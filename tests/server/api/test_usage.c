/* server/api/keys: the daily quota of each key, with made-up times. */
#include "server/api/keys.h"
#include "tests/suites.h"
#include <stdio.h>

enum { DAY = 86400, NOON = 5 * DAY + DAY / 2 };

static struct limiter *limiter;
static double wait_s;

static void setup(void) {
    limiter = limiter_create();
}

static void teardown(void) {
    limiter_free(limiter);
}

static struct charge charge_of(const char *name, uint64_t characters, int64_t now_s) {
    return (struct charge){.name = name, .sentences = 1, .characters = characters, .now_s = now_s};
}

static enum limiter_verdict take(const char *name, uint64_t characters, uint64_t daily,
                                 int64_t now_s) {
    const struct charge charge = charge_of(name, characters, now_s);
    return limiter_take(limiter, &charge, &(struct limit){.daily = daily}, &wait_s);
}

static void give_back(const char *name, uint64_t characters, int64_t now_s) {
    const struct charge charge = charge_of(name, characters, now_s);
    limiter_return(limiter, &charge);
}

static void check(const char *name, int64_t now_s, uint64_t today, uint64_t total) {
    struct usage_count count = limiter_usage(limiter, name, now_s);
    ck_assert_uint_eq(count.today, today);
    ck_assert_uint_eq(count.total, total);
}

START_TEST(a_quota_of_a_day) {
    check("alice", NOON, 0, 0);
    ck_assert_int_eq(take("alice", 60, 100, NOON), LIMITER_TAKEN);
    ck_assert_int_eq(take("alice", 41, 100, NOON), LIMITER_DAILY);
    ck_assert_double_eq(wait_s, DAY / 2);
    check("alice", NOON, 60, 60);
    ck_assert_int_eq(take("alice", 40, 100, NOON), LIMITER_TAKEN);
    ck_assert_int_eq(take("alice", 1, 100, 6 * DAY - 1), LIMITER_DAILY);
    ck_assert_double_eq(wait_s, 1);
    ck_assert_int_eq(take("alice", 1, 100, 6 * DAY), LIMITER_TAKEN);
    check("alice", 6 * DAY, 1, 101);
    ck_assert_int_eq(take("alice", 1, 1, 6 * DAY), LIMITER_DAILY);    /* its limit is lower now */
    ck_assert_int_eq(take("alice", 1000, 0, 6 * DAY), LIMITER_TAKEN); /* it has none */
}
END_TEST

START_TEST(names_do_not_share) {
    enum { NAMES = 3000 };
    char name[16];
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "k%d", i);
        ck_assert_int_eq(take(name, (uint64_t)i + 1, (uint64_t)i + 1, NOON), LIMITER_TAKEN);
    }
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "k%d", i);
        check(name, NOON, (uint64_t)i + 1, (uint64_t)i + 1);
    }
    check("", NOON, 0, 0);
}
END_TEST

START_TEST(what_was_of_no_use) {
    take("alice", 60, 0, NOON);
    give_back("alice", 50, NOON);
    check("alice", NOON, 10, 10);
    give_back("alice", 10, NOON + DAY); /* it was yesterday's */
    check("alice", NOON + DAY, 0, 0);
    give_back("nobody", 10, NOON);
    check("nobody", NOON, 0, 0);
}
END_TEST

/* Neither the sentences nor the characters of a request that is refused are taken. */
START_TEST(all_or_nothing) {
    const struct limit limit = {1, 2, 10};
    struct charge charge = {
        .client = 1, .name = "alice", .sentences = 2, .characters = 11, .now_us = 1, .now_s = NOON};
    ck_assert_int_eq(limiter_take(limiter, &charge, &limit, &wait_s), LIMITER_DAILY);
    charge.characters = 6;
    ck_assert_int_eq(limiter_take(limiter, &charge, &limit, &wait_s), LIMITER_TAKEN);
    ck_assert_int_eq(limiter_take(limiter, &charge, &limit, &wait_s), LIMITER_RATE);
    check("alice", NOON, 6, 6);
    limiter_return(limiter, &charge);
    check("alice", NOON, 0, 0);
    ck_assert_int_eq(limiter_take(limiter, &charge, &limit, &wait_s), LIMITER_TAKEN);
}
END_TEST

Suite *usage_suite(void) {
    Suite *suite = suite_create("usage");
    TCase *tcase = tcase_create("usage");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_quota_of_a_day);
    tcase_add_test(tcase, names_do_not_share);
    tcase_add_test(tcase, what_was_of_no_use);
    tcase_add_test(tcase, all_or_nothing);
    suite_add_tcase(suite, tcase);
    return suite;
}
