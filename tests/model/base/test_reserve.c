/* model/base/arena.h: the reserve exists until an allocation needs it. */
#include "model/base/arena.h"
#include "tests/suites.h"
#include <stdint.h>
#include <stdlib.h>

START_TEST(given_once) {
    ck_assert_int_eq(reserve_fill(NULL), 0);
    ck_assert_int_eq(reserve_fill(NULL), 0); /* there is one already */
    ck_assert(reserve_release());
    ck_assert(!reserve_release());
    ck_assert_int_eq(reserve_fill(NULL), 0);
    ck_assert(reserve_release());
}
END_TEST

/* An allocation that fails even with the block returns NULL. */
START_TEST(allocations_fall_back_on_it) {
    ck_assert_int_eq(reserve_fill(NULL), 0);
    char *block = reserve_alloc(8);
    ck_assert_ptr_nonnull(block);
    block = reserve_realloc(block, 16);
    ck_assert_ptr_nonnull(block);
    ck_assert_ptr_null(reserve_realloc(block, (size_t)PTRDIFF_MAX));
    ck_assert(!reserve_release());
    ck_assert_ptr_null(reserve_alloc((size_t)PTRDIFF_MAX));
    free(block);
}
END_TEST

Suite *reserve_suite(void) {
    Suite *suite = suite_create("reserve");
    TCase *tests = tcase_create("reserve");
    tcase_add_test(tests, given_once);
    tcase_add_test(tests, allocations_fall_back_on_it);
    suite_add_tcase(suite, tests);
    return suite;
}
