/* From attention to links, on matrices small enough to follow. */
#include "server/decode/links.h"
#include "tests/suites.h"
#include <stdlib.h>
#include <string.h>

/* The links as links_print writes them. */
static void check_links_of(const char *kind_name, struct word_matrix words, bool diagonal,
                           const char *expected) {
    const struct links_kind *kind = links_kind_find(kind_name);
    ck_assert_ptr_nonnull(kind);
    struct arena arena = {0};
    struct links links;
    char found[64] = "";
    links_prepare(kind, &words, diagonal);
    ck_assert_int_eq(links_make(kind, &words, &arena, &links, NULL), 0);
    for (size_t i = 0, at = 0; i < links.count; i++)
        at += (size_t)snprintf(found + at, sizeof found - at, "%zu-%zu ", links.all[i].source,
                               links.all[i].target);
    arena_done(&arena);
    ck_assert_msg(strcmp(found, expected) == 0, "%s: %s rather than %s", kind_name, found,
                  expected);
}

static void check_links(const char *kind_name, struct word_matrix words, const char *expected) {
    check_links_of(kind_name, words, true, expected);
}

/* The first source word attracts both steps, the first of them more. */
START_TEST(each_kind_in_its_way) {
    float weights[] = {0.7f, 0.2f, 0.5f, 0.4f}, ends[2] = {0};
    struct word_matrix words = {
        .source_count = 2, .target_count = 2, .weights = weights, .ends = ends};
    check_links("best", words, "0-0 0-1 ");
    check_links("mutual", words, "0-0 ");
    check_links("balanced", words, "0-0 1-1 ");
}
END_TEST

/* Of two words that are alike the balanced links take the near one; the last word got nothing at
 * all. */
START_TEST(near_words_are_preferred) {
    float weights[] = {0.5f, 0, 0.5f, 0, 1, 0, 0.5f, 0, 0.5f}, ends[3] = {0};
    check_links("balanced",
                (struct word_matrix){
                    .source_count = 3, .target_count = 3, .weights = weights, .ends = ends},
                "0-0 1-1 2-2 ");
    float none[] = {1, 0};
    check_links(
        "best",
        (struct word_matrix){.source_count = 1, .target_count = 2, .weights = none, .ends = ends},
        "0-0 ");
}
END_TEST

/* A word that </s> has half of has no link; balancing changes no such share, and prefers no place
 * where it need not. */
START_TEST(words_of_the_end_have_no_link) {
    float weights[] = {0.1f, 0.4f, 0.6f, 0.1f}, ends[] = {0.5f, 0.3f};
    struct word_matrix words = {
        .source_count = 2, .target_count = 2, .weights = weights, .ends = ends};
    check_links("best", words, "0-1 ");
    check_links_of("balanced", words, false, "0-1 "); /* the diagonal would have it at 1 */
}
END_TEST

/* The first target word is a compound: two source words have their most weight there, though less
 * than half of its own. The best word of the second has more weight at the third. */
START_TEST(several_links_of_a_word) {
    float weights[] = {0.4f, 0.21f, 0.2f, 0, 0, 0.1f, 0.1f, 0.3f, 0.1f, 0.5f, 0.05f, 0.35f},
          ends[3] = {0.1f, 0.45f, 0};
    struct word_matrix words = {
        .source_count = 4, .target_count = 3, .weights = weights, .ends = ends};
    check_links("best", words, "0-0 3-1 1-2 ");
    check_links("mutual", words, "0-0 1-2 ");
    check_links("several", words, "0-0 2-0 1-2 3-2 ");
    words.merged = true;
    check_links("several", words, "0-0 3-1 1-2 3-2 "); /* two models at least 0.3, on either side */
}
END_TEST

START_TEST(both_directions_are_merged) {
    float forward[] = {
        0.4f, 0.4f, 0.2f,
        0.2f, 0.1f, 0.1f}; /* 2 target words, 3 source words; </s> got the rest of the second */
    float backward[] = {0.9f, 0.1f, 0.5f, 0, 0, 0}; /* the third sees nothing */
    float ends[] = {0, 0.6f};
    struct word_matrix words = {
        .source_count = 3, .target_count = 2, .weights = forward, .ends = ends};
    struct word_matrix reverse = {.source_count = 2, .target_count = 3, .weights = backward};
    ck_assert(links_merge(links_kind_find("best"), &words, &reverse));
    ck_assert(words.merged);
    ck_assert_float_eq(ends[1], 0); /* two directions decide without it */
    static const float expected[] = {0.6f, 0.6324555f, 0, 0.2236068f, 0, 0};
    for (size_t i = 0; i < 6; i++)
        ck_assert_float_eq_tol(forward[i], expected[i], 1e-6f);
    reverse.target_count = 2;
    ck_assert(!links_merge(links_kind_find("best"), &words, &reverse));
    ck_assert_float_eq_tol(forward[0], expected[0], 1e-6f);
}
END_TEST

/* The weight of </s> takes part, in either direction. */
START_TEST(several_links_of_two_directions) {
    float forward[] = {0.4f, 0.1f, 0.1f, 0.4f}, backward[] = {0.9f, 0, 0.1f, 0.4f},
          ends[] = {0.5f, 0.5f};
    struct word_matrix words = {
        .source_count = 2, .target_count = 2, .weights = forward, .ends = ends};
    const struct word_matrix reverse = {.source_count = 2, .target_count = 2, .weights = backward};
    ck_assert(links_merge(links_kind_find("several"), &words, &reverse));
    static const float expected[] = {0.6f, 0.1f, 0, 0.4f};
    for (size_t i = 0; i < 4; i++)
        ck_assert_float_eq_tol(forward[i], expected[i], 1e-6f);
    check_links("several", words, "0-0 1-1 ");
}
END_TEST

START_TEST(unknown_kinds_and_empty_pairs) {
    ck_assert_ptr_null(links_kind_find("worst"));
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = {"best", "mutual", "balanced", "several"};
        check_links(names[i], (struct word_matrix){.source_count = 2}, "");
        check_links(names[i], (struct word_matrix){.target_count = 2, .ends = (float[2]){0}}, "");
    }
}
END_TEST

Suite *links_suite(void) {
    Suite *suite = suite_create("links");
    TCase *tests = tcase_create("links");
    tcase_add_test(tests, each_kind_in_its_way);
    tcase_add_test(tests, near_words_are_preferred);
    tcase_add_test(tests, words_of_the_end_have_no_link);
    tcase_add_test(tests, several_links_of_a_word);
    tcase_add_test(tests, both_directions_are_merged);
    tcase_add_test(tests, several_links_of_two_directions);
    tcase_add_test(tests, unknown_kinds_and_empty_pairs);
    suite_add_tcase(suite, tests);
    return suite;
}
