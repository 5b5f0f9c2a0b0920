/* model/base/error.h: rows are found by their name. */
#include "model/base/error.h"
#include "tests/suites.h"

static const struct {
    const char *name;
    double value;
} rows[] = {{"one", 1}, {"two", 2}};

START_TEST(rows_are_found_by_name) {
    ck_assert_ptr_eq(TABLE_FIND(rows, "number", "one", NULL), &rows[0]);
    ck_assert_ptr_eq(TABLE_FIND(rows, "number", "two", NULL), &rows[1]);
}
END_TEST

START_TEST(others_are_told) {
    struct error err = {0};
    ck_assert_ptr_null(TABLE_FIND(rows, "number", "tw", &err));
    ck_assert_int_eq(err.code, ERROR_FORMAT);
    ck_assert_str_eq(err.message, "number: tw is not known");
    ck_assert_ptr_null(TABLE_FIND(rows, "number", "", NULL));
}
END_TEST

Suite *table_suite(void) {
    Suite *suite = suite_create("table");
    TCase *tests = tcase_create("table");
    tcase_add_test(tests, rows_are_found_by_name);
    tcase_add_test(tests, others_are_told);
    suite_add_tcase(suite, tests);
    return suite;
}
