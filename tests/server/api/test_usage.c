/* server/api/limits: the daily quota of each key, with made-up times. */
#include "server/api/limits.h"
#include "tests/suites.h"
#include <stdio.h>

enum { DAY = 86400, NOON = 5 * DAY + DAY / 2 };

static struct usage *usage;

static void setup(void) {
    usage = usage_create();
}

static void teardown(void) {
    usage_free(usage);
}

static void check(const char *name, int64_t now_s, uint64_t today, uint64_t total) {
    struct usage_count count = usage_find(usage, name, now_s);
    ck_assert_uint_eq(count.today, today);
    ck_assert_uint_eq(count.total, total);
}

START_TEST(a_quota_of_a_day) {
    check("alice", NOON, 0, 0);
    ck_assert_int_eq(usage_take(usage, "alice", 60, 100, NOON), USAGE_TAKEN);
    ck_assert_int_eq(usage_take(usage, "alice", 41, 100, NOON), USAGE_EXCEEDED);
    check("alice", NOON, 60, 60);
    ck_assert_int_eq(usage_take(usage, "alice", 40, 100, NOON), USAGE_TAKEN);
    ck_assert_int_eq(usage_take(usage, "alice", 1, 100, 6 * DAY - 1), USAGE_EXCEEDED);
    ck_assert_int_eq(usage_take(usage, "alice", 1, 100, 6 * DAY), USAGE_TAKEN);
    check("alice", 6 * DAY, 1, 101);
    ck_assert_int_eq(usage_take(usage, "alice", 1, 1, 6 * DAY), USAGE_EXCEEDED); /* its limit is lower now */
    ck_assert_int_eq(usage_take(usage, "alice", 1000, 0, 6 * DAY), USAGE_TAKEN); /* it has none */
}
END_TEST

START_TEST(names_do_not_share) {
    enum { NAMES = 3000 };
    char name[16];
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "k%d", i);
        ck_assert_int_eq(usage_take(usage, name, (uint64_t)i + 1, (uint64_t)i + 1, NOON), USAGE_TAKEN);
    }
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "k%d", i);
        check(name, NOON, (uint64_t)i + 1, (uint64_t)i + 1);
    }
    check("", NOON, 0, 0);
}
END_TEST

START_TEST(what_was_of_no_use) {
    usage_take(usage, "alice", 60, 0, NOON);
    usage_return(usage, "alice", 50, NOON);
    check("alice", NOON, 10, 10);
    usage_return(usage, "alice", 10, NOON + DAY); /* it was yesterday's */
    check("alice", NOON + DAY, 0, 0);
    usage_return(usage, "nobody", 10, NOON);
    ck_assert_uint_eq(usage_rest_s(NOON), DAY / 2);
    ck_assert_uint_eq(usage_rest_s(6 * DAY - 1), 1);
}
END_TEST

Suite *usage_suite(void) {
    Suite *suite = suite_create("usage");
    TCase *tcase = tcase_create("usage");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_quota_of_a_day);
    tcase_add_test(tcase, names_do_not_share);
    tcase_add_test(tcase, what_was_of_no_use);
    suite_add_tcase(suite, tcase);
    return suite;
}
