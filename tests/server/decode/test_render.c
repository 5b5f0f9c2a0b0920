/* Which words an alignment pairs, and how pieces become words. The rest of server/decode/outcome.c
 * is under test where it is used: tests/http. */
#include "server/decode/render.h"
#include "tests/suites.h"

START_TEST(the_most_weight_aligns) {
    static const float weights[] = {0.1F, 0.6F, 0.2F, 0.3F, 0.3F, 0.1F, 0, 0, 0};
    size_t j;
    ck_assert(render_aligned(weights, 3, 0.1F, &j) && j == 1);
    ck_assert(render_aligned(weights + 3, 3, 0.3F, &j) && j == 0); /* of equals the first */
    ck_assert(!render_aligned(weights + 6, 3, 0, &j));             /* outside the model's window */
    ck_assert(!render_aligned(weights, 3, 0.5F, &j));              /* </s> got half */
    ck_assert(render_aligned(weights, 3, 0.49F, &j) && j == 1);
    ck_assert(!render_aligned(weights, 0, 0, &j));
}
END_TEST

/* Two target words of two pieces and one; the second source piece is of two words; the last source
 * token is </s>. */
START_TEST(pieces_are_merged) {
    struct word_range source[] = {{0, 1}, {0, 2}, {2, 2}}, target[] = {{0, 1}, {0, 1}, {1, 2}};
    const float rows[3][3] = {{0.2F, 0.6F, 0.2F}, {0, 0.4F, 0.6F}, {0.9F, 0, 0.1F}},
                *const all[] = {rows[0], rows[1], rows[2]};
    struct word_sides sides = {{.count = 2, .tokens = source, .token_count = 3},
                               {.count = 2, .tokens = target, .token_count = 3},
                               true};
    static const float expected[] = {0.35F, 0.25F, 0.9F, 0}, ends[] = {0.4F, 0.1F};
    struct word_matrix merged;
    struct arena arena;
    arena_init(&arena, 1024);
    ck_assert_int_eq(render_merge(&sides, all, &arena, &merged, NULL), 0);
    ck_assert(merged.source_count == 2 && merged.target_count == 2);
    for (size_t i = 0; i < 4; i++)
        ck_assert_float_eq_tol(merged.weights[i], expected[i], 1e-6F);
    for (size_t i = 0; i < 2; i++)
        ck_assert_float_eq_tol(merged.ends[i], ends[i], 1e-6F);
    arena_done(&arena);
}
END_TEST

/* Pieces of two words each on both sides, and one of three: of as many words each is aligned with
 * its own. */
START_TEST(words_of_pieces_alike) {
    struct word_range source[] = {{0, 2}, {2, 4}}, target[] = {{0, 2}, {2, 5}};
    const float rows[2][2] = {{0.2F, 0.8F}, {0.6F, 0.4F}}, *const all[] = {rows[0], rows[1]};
    struct word_sides sides = {{.count = 4, .tokens = source, .token_count = 2},
                               {.count = 5, .tokens = target, .token_count = 2},
                               false};
    static const float expected[5][4] = {{0.2F, 0, 0.8F, 0},
                                         {0, 0.2F, 0, 0.8F},
                                         {0.3F, 0.3F, 0.2F, 0.2F},
                                         {0.3F, 0.3F, 0.2F, 0.2F},
                                         {0.3F, 0.3F, 0.2F, 0.2F}};
    struct word_matrix merged;
    struct arena arena;
    arena_init(&arena, 1024);
    ck_assert_int_eq(render_merge(&sides, all, &arena, &merged, NULL), 0);
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 4; j++)
            ck_assert_float_eq_tol(merged.weights[i * 4 + j], expected[i][j], 1e-6F);
    arena_done(&arena);
}
END_TEST

Suite *render_suite(void) {
    Suite *suite = suite_create("render");
    TCase *tests = tcase_create("alignment");
    tcase_add_test(tests, the_most_weight_aligns);
    tcase_add_test(tests, pieces_are_merged);
    tcase_add_test(tests, words_of_pieces_alike);
    suite_add_tcase(suite, tests);
    return suite;
}
