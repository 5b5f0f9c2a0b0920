/* From attention to links, on matrices small enough to follow. */
#include "server/decode/links.h"
#include "tests/suites.h"
#include <stdlib.h>
#include <string.h>

/* The links as links_print writes them. */
static void check_links(const char *kind_name, struct word_attention words, const char *expected) {
    const struct links_kind *kind = links_kind_find(kind_name);
    ck_assert_ptr_nonnull(kind);
    char found[64] = "";
    links_prepare(kind, &words);
    for (size_t i = 0, j, at = 0; i < words.target_count; i++) {
        if (links_of(kind, &words, i, &j))
            at += (size_t)snprintf(found + at, sizeof found - at, "%zu-%zu ", j, i);
    }
    ck_assert_msg(strcmp(found, expected) == 0, "%s: %s rather than %s", kind_name, found, expected);
}

/* The first source word attracts both steps, the first of them more. */
START_TEST(each_kind_in_its_way) {
    float weights[] = {0.7f, 0.2f, 0.5f, 0.4f};
    struct word_attention words = {.source_count = 2, .target_count = 2, .weights = weights};
    check_links("best", words, "0-0 0-1 ");
    check_links("mutual", words, "0-0 ");
    check_links("balanced", words, "0-0 1-1 ");
}
END_TEST

/* Of two words that are alike the balanced links take the near one; the last word got nothing at all. */
START_TEST(near_words_are_preferred) {
    float weights[] = {0.5f, 0, 0.5f, 0, 1, 0, 0.5f, 0, 0.5f};
    check_links("balanced", (struct word_attention){.source_count = 3, .target_count = 3, .weights = weights}, "0-0 1-1 2-2 ");
    float none[] = {1, 0};
    check_links("best", (struct word_attention){.source_count = 1, .target_count = 2, .weights = none}, "0-0 ");
}
END_TEST

START_TEST(both_directions_are_merged) {
    float forward[] = {0.4f, 0.4f, 0.2f, 0.2f, 0.1f, 0.1f}; /* 2 target words, 3 source words; </s> got the rest of the second */
    float backward[] = {0.9f, 0.1f, 0.5f, 0, 0, 0};         /* the third sees nothing */
    struct word_attention words = {.source_count = 3, .target_count = 2, .weights = forward};
    struct word_attention reverse = {.source_count = 2, .target_count = 3, .weights = backward};
    ck_assert(links_merge(&words, &reverse));
    static const float expected[] = {0.6f, 0.6324555f, 0, 0.2236068f, 0, 0};
    for (size_t i = 0; i < 6; i++)
        ck_assert_float_eq_tol(forward[i], expected[i], 1e-6f);
    reverse.target_count = 2;
    ck_assert(!links_merge(&words, &reverse));
    ck_assert_float_eq_tol(forward[0], expected[0], 1e-6f);
}
END_TEST

START_TEST(unknown_kinds_and_empty_pairs) {
    ck_assert_ptr_null(links_kind_find("worst"));
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"best", "mutual", "balanced"};
        check_links(names[i], (struct word_attention){.source_count = 2}, "");
        check_links(names[i], (struct word_attention){.target_count = 2}, "");
    }
}
END_TEST

Suite *links_suite(void) {
    Suite *suite = suite_create("links");
    TCase *tests = tcase_create("links");
    tcase_add_test(tests, each_kind_in_its_way);
    tcase_add_test(tests, near_words_are_preferred);
    tcase_add_test(tests, both_directions_are_merged);
    tcase_add_test(tests, unknown_kinds_and_empty_pairs);
    suite_add_tcase(suite, tests);
    return suite;
}
