/* server/base/print: whatever a text has, a terminal shows it, and it stays within its line. */
#include "server/base/print.h"
#include "tests/suites.h"
#include <stdlib.h>
#include <string.h>

static char *text;
static size_t length;
static FILE *out;

static void setup(void) {
    text = NULL;
    out = open_memstream(&text, &length);
    ck_assert_ptr_nonnull(out);
}

static void teardown(void) {
    fclose(out);
    free(text);
}

static const char *printed(void) {
    ck_assert_int_eq(fflush(out), 0);
    return text;
}

START_TEST(what_a_terminal_obeys_is_escaped) {
    static const char *const rows[][2] = {
        {"MIT", "MIT"},
        {"\x1b[31mred", "\\u001b[31mred"},
        {"a\tb\r\n\x7f", "a\\u0009b\\u000d\\u000a\\u007f"},
        {"\xc2\x9b"
         "31m",
         "\\u009b31m"},
        {"\xe2\x80\xaegnp", "\\u202egnp"},
        {"\xe2\x81\xa6 \xd8\x9c \xe2\x80\xa8", "\\u2066 \\u061c \\u2028"},
        {"\x9b"
         "31m \xff \xc3",
         "?31m ? ?"},
        {"Fran\xc3\xa7"
         "ais \xf0\x9f\x98\x80 \xd7\xa2 \xe2\x80\x8c C:\\x",
         "Fran\xc3\xa7"
         "ais \xf0\x9f\x98\x80 \xd7\xa2 \xe2\x80\x8c C:\\x"},
    };
    print_line(out, "%s: %d", rows[_i][0], 5);
    char expected[100];
    snprintf(expected, sizeof expected, "%s: 5\n", rows[_i][1]);
    ck_assert_str_eq(printed(), expected);
}
END_TEST

START_TEST(lines_and_parts) {
    print_text(out, "one\ntwo\x1b\r\n");
    print_over(out, "%s", "50 %\n");
    print_part(out, "a\nb");
    ck_assert_str_eq(printed(), "one\ntwo\\u001b\\u000d\n\r\033[K50 %\\u000aa\\u000ab");
}
END_TEST

/* Escapes at every offset of the buffer's end. */
START_TEST(a_long_line_is_whole) {
    enum { LONG = 5000 };
    char wide[LONG + 1];
    memset(wide, '\a', LONG);
    memset(wide, 'x', (size_t)_i);
    wide[LONG] = '\0';
    print_line(out, "%s", wide);
    ck_assert_uint_eq(strspn(printed(), "x"), (size_t)_i);
    ck_assert_uint_eq(length, (size_t)(_i + (LONG - _i) * 6 + 1));
    for (size_t at = (size_t)_i; at + 1 < length; at += 6)
        ck_assert_int_eq(strncmp(text + at, "\\u0007", 6), 0);
}
END_TEST

Suite *print_suite(void) {
    Suite *suite = suite_create("print");
    TCase *tests = tcase_create("print");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, what_a_terminal_obeys_is_escaped, 0, 8);
    tcase_add_test(tests, lines_and_parts);
    tcase_add_loop_test(tests, a_long_line_is_whole, 0, 6);
    suite_add_tcase(suite, tests);
    return suite;
}
