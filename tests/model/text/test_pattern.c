/* Regular expressions of clients: what they find, what is refused, and that they end. */
#include "model/text/spans.h"
#include "tests/suites.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct error err;

static struct pattern *open_pattern(const char *expression) {
    err = (struct error){0};
    struct pattern *pattern = pattern_open(expression, &err);
    ck_assert_msg(pattern != NULL, "%s: %s", expression, err.message);
    return pattern;
}

/* found: what is found, each in angle brackets. */
static const struct {
    const char *expression, *text, *found;
} texts[] = {
    {"[A-Z]{2}-\\d+", "AB-1 and XYZ-23, ab-4", "<AB-1><YZ-23>"},
    {"\\b[A-Z]{2}-\\d+", "AB-1 and XYZ-23", "<AB-1>"},
    {"x+", "", ""},
    {"x+", "axxbx", "<xx><x>"},
    {"x+?", "xx", "<x><x>"},
    {"^a", "a a", "<a>"},
    {"a$", "a a", "<a>"},
    {"(?i)ab|a", "AB a", "<AB><a>"},
    {"\\s+b\\s*", "a  b c", "<b>"},
    {"\\s", "a b", ""},
    {"\\b", "a b", ""},
    {"[^a]", "a\xc3\xa9\xe6\xbc\xa2", "<\xc3\xa9><\xe6\xbc\xa2>"},
    {"\\C", "a\xc3\xa9z", "<a><z>"}, /* a byte: no part of a character is held */
    {"\\pL+", "\xc3\xa9t\xc3\xa9 12", "<\xc3\xa9t\xc3\xa9>"},
    {"[^x]+", "a\nb", "<a><b>"}, /* within a line */
    {"\\Qa.b", "a.b axb", "<a.b>"},
};

START_TEST(matches_are_found) {
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char found[256] = "";
        struct pattern *pattern = open_pattern(texts[i].expression);
        struct span span;
        size_t at = 0, length = strlen(texts[i].text);
        while (pattern_next(pattern, (struct bytes){texts[i].text, length}, &at, &span, INT64_MAX,
                            &err) == 1) {
            size_t used = strlen(found);
            ck_assert_uint_eq(at, span.end);
            snprintf(found + used, sizeof found - used, "<%.*s>", (int)(span.end - span.begin),
                     texts[i].text + span.begin);
        }
        ck_assert_uint_eq(at, length);
        ck_assert_msg(strcmp(found, texts[i].found) == 0, "%s in %s: %s, not %s",
                      texts[i].expression, texts[i].text, found, texts[i].found);
        pattern_free(pattern);
    }
}
END_TEST

START_TEST(what_is_no_pattern) {
    static const char *const rows[][2] = {
        {"[a-", "missing ]: [a-"},
        {"(a", "missing ): (a"},
        {"a)", "unexpected ): a)"},
        {"a{3,1}", "invalid repetition size: {3,1}"},
        {"a{2000}", "invalid repetition size: {2000}"},
        {"(?<=a)b", "invalid perl operator: (?<"},
        {"(a)\\1", "invalid escape sequence: \\1"},
        {"((((a{100}){100}){100}){100})", "invalid repetition size"},
        {"(\\pL{1,100}){1,9}x", "pattern too large"},
        {"a*", "it matches an empty text"},
        {"(a*)*", "it matches an empty text"},
        {"^", "it matches an empty text"},
        {"", "it matches an empty text"},
        {"(?:)", "it matches an empty text"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        err = (struct error){0};
        ck_assert_ptr_null(pattern_open(rows[i][0], &err));
        ck_assert_int_eq(err.code, ERROR_INPUT);
        ck_assert_msg(strstr(err.message, rows[i][1]) != NULL, "%s: %s", rows[i][0], err.message);
    }
}
END_TEST

/* A text that is so long, of a single character. */
static char *make_text(char c, size_t length) {
    char *text = malloc(length + 1);
    ck_assert_ptr_nonnull(text);
    memset(text, c, length);
    text[length] = '\0';
    return text;
}

static size_t count_in(const char *expression, const char *text, size_t length) {
    struct pattern *pattern = open_pattern(expression);
    struct span span;
    size_t at = 0, count = 0;
    while (pattern_next(pattern, (struct bytes){text, length}, &at, &span, INT64_MAX, &err) == 1)
        count++;
    pattern_free(pattern);
    return count;
}

/* Expressions that take other libraries polynomial or exponential time. */
START_TEST(hostile_patterns_end) {
    enum { LENGTH = 20000 };
    static const struct {
        const char *expression;
        size_t found;
    } hostile[] = {
        {"(a*)*b", 0},          {"(a|a)*b", 0},          {"(a+)+b", 0},
        {"a[^b]*b|a", LENGTH},  {"(.*)(.*)(.*)b", 0},    {"[a-z]{1,50}b", 0},
        {"(x+x+)+y|a", LENGTH}, {"(a|b)*a(a|b){9}x", 0}, {"(a?){50}a{50}", LENGTH / 100}};
    char *text = make_text('a', LENGTH);
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++)
        ck_assert_uint_eq(count_in(hostile[i].expression, text, LENGTH), hostile[i].found);
    free(text);
}
END_TEST

START_TEST(time_is_bounded) {
    char *text = make_text('a', 5000);
    struct pattern *pattern = open_pattern("b");
    struct span span;
    size_t at = 0;
    ck_assert_int_eq(
        pattern_next(pattern, (struct bytes){text, 5000}, &at, &span, pattern_clock_ns(), &err),
        -1);
    ck_assert_int_eq(err.code, ERROR_LENGTH);
    ck_assert_int_eq(pattern_next(pattern, (struct bytes){text, 5000}, &at, &span, INT64_MAX, NULL),
                     0);
    pattern_free(pattern);
    free(text);
}
END_TEST

/* A match has so many bytes at most, wherever in a long text it begins; what stands around it
 * counts. */
START_TEST(long_matches) {
    enum { LENGTH = 5000 };
    struct pattern *pattern = open_pattern("\\bx+\\b");
    for (size_t begin = 0; begin < LENGTH - PATTERN_MATCH_BYTES; begin += 37) {
        char *text = make_text(' ', LENGTH);
        struct span span;
        size_t at = 0;
        memset(text + begin, 'x', PATTERN_MATCH_BYTES);
        ck_assert_int_eq(
            pattern_next(pattern, (struct bytes){text, LENGTH}, &at, &span, INT64_MAX, &err), 1);
        ck_assert_uint_eq(span.begin, begin);
        ck_assert_uint_eq(span.end, begin + PATTERN_MATCH_BYTES);
        at = 0;
        text[begin + PATTERN_MATCH_BYTES] = 'x';
        ck_assert_int_eq(
            pattern_next(pattern, (struct bytes){text, LENGTH}, &at, &span, INT64_MAX, &err), 0);
        free(text);
    }
    pattern_free(pattern);
}
END_TEST

Suite *pattern_suite(void) {
    Suite *suite = suite_create("pattern");
    TCase *cases = tcase_create("all");
    tcase_add_test(cases, matches_are_found);
    tcase_add_test(cases, what_is_no_pattern);
    tcase_add_test(cases, hostile_patterns_end);
    tcase_add_test(cases, time_is_bounded);
    tcase_add_test(cases, long_matches);
    suite_add_tcase(suite, cases);
    return suite;
}
