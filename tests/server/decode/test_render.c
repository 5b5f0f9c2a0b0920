/* Which words an alignment pairs. The rest of server/decode/render.c is under test where it is used: tests/http. */
#include "server/decode/render.h"
#include "tests/suites.h"

START_TEST(the_most_attention_aligns) {
    float weights[] = {0.1f, 0.6f, 0.2f, 0.3f, 0.3f, 0.1f, 0, 0, 0};
    struct word_attention words = {.source_count = 3, .target_count = 3, .weights = weights};
    size_t j;
    ck_assert(render_aligned(&words, 0, &j) && j == 1);
    ck_assert(render_aligned(&words, 1, &j) && j == 0); /* of equals the first */
    ck_assert(!render_aligned(&words, 2, &j));          /* </s> got all of it */
    ck_assert(!render_aligned(&(struct word_attention){.target_count = 1, .weights = weights}, 0, &j));
}
END_TEST

Suite *render_suite(void) {
    Suite *suite = suite_create("render");
    TCase *tests = tcase_create("alignment");
    tcase_add_test(tests, the_most_attention_aligns);
    suite_add_tcase(suite, tests);
    return suite;
}
