/* server/offline: the progress line of a run over time. */
#include "server/commands.h"
#include "tests/suites.h"

static const struct {
    struct headway headway;
    const char *line;
} rows[] = {
    {{0, 0, 0, 0}, "0 lines"},
    {{12, 0.5, 10, 1000}, "12 lines, 1%"}, /* too early to tell more */
    {{999, 2, 0, 0}, "999 lines, 500 per second"},
    {{1000, 4, 0, 1000}, "1,000 lines, 250 per second, 0%"},
    {{1234567, 100, 250, 1000}, "1,234,567 lines, 12346 per second, 25%, 5:00 left"},
    {{1000, 10, 1, 1000}, "1,000 lines, 100 per second, 0%, 2:46:30 left"},
    {{1000, 10, 1000, 1000}, "1,000 lines, 100 per second, 100%, 0:00 left"},
    {{1000, 10, 1500, 1000}, "1,000 lines, 100 per second, 100%, 0:00 left"}, /* the input grew */
};

START_TEST(lines) {
    char line[HEADWAY_BYTES];
    headway_say(&rows[_i].headway, line);
    ck_assert_str_eq(line, rows[_i].line);
}
END_TEST

Suite *headway_suite(void) {
    Suite *suite = suite_create("headway");
    TCase *tests = tcase_create("headway");
    tcase_add_loop_test(tests, lines, 0, sizeof rows / sizeof *rows);
    suite_add_tcase(suite, tests);
    return suite;
}
