/* Finding source tokens that a translation omits. */
#include "server/decode/outcome.h"
#include "tests/suites.h"

enum { SOURCE = 9, END = SOURCE }; /* with </s> after them */

static struct omission of(const float rows[][SOURCE + 1], size_t target) {
    struct omission sum = {0};
    const float *pointers[16];
    struct arena arena;
    arena_init(&arena, 1024);
    for (size_t i = 0; i < target; i++)
        pointers[i] = rows[i];
    ck_assert_int_eq(omission_add(pointers, target, (struct span){0, SOURCE}, NULL, &arena, &sum, NULL), 0);
    arena_done(&arena);
    return sum;
}

/* Each token looks at its own; the rest is spread over the others. */
START_TEST(all_is_translated) {
    float rows[SOURCE][SOURCE + 1] = {{0}};
    for (size_t i = 0; i < SOURCE; i++) {
        rows[i][i] = 0.6f;
        rows[i][END] = 0.4f;
    }
    struct omission sum = of((const float(*)[SOURCE + 1]) rows, SOURCE);
    ck_assert_uint_eq(sum.tokens, SOURCE);
    ck_assert_uint_eq(sum.left, 0);
    ck_assert(!omission_is_much(&sum));
}
END_TEST

/* Nobody looks at the last tokens: much, from three on. */
START_TEST(the_end_is_left_out) {
    for (size_t said = 0; said <= SOURCE; said++) {
        float rows[SOURCE][SOURCE + 1] = {{0}};
        for (size_t i = 0; i < said; i++)
            rows[i][i] = 1;
        struct omission sum = of((const float(*)[SOURCE + 1]) rows, said);
        ck_assert_uint_eq(sum.left, SOURCE - said >= 3 ? SOURCE - said : 0);
        ck_assert_int_eq(omission_is_much(&sum), SOURCE - said >= 3);
    }
}
END_TEST

/* Copied text is not omitted, however little attention it gets. */
START_TEST(held_tokens_are_there) {
    static const bool held[SOURCE] = {[3] = true, [8] = true};
    static const float row[SOURCE + 1] = {[0] = 1};
    const float *rows[] = {row};
    struct omission sum = {0};
    struct arena arena;
    arena_init(&arena, 1024);
    ck_assert_int_eq(omission_add(rows, 1, (struct span){0, SOURCE}, held, &arena, &sum, NULL), 0);
    ck_assert_uint_eq(sum.tokens, SOURCE);
    ck_assert_uint_eq(sum.left, SOURCE - 3);
    arena_done(&arena);
}
END_TEST

/* A token that gets a fifth of one step's attention is not omitted. A step that attends only to </s> does not count; one that gives
 * it most of its weight counts like any other. */
START_TEST(rows_are_scaled) {
    static const float rows[][SOURCE + 1] = {
        {[0] = 0.01f, [1] = 0.01f, [END] = 0.98f}, {[END] = 1}, {[2] = 0.81f, [3] = 0.19f}, {[4] = 0.88f, [5] = 0.12f}, {[4] = 1}};
    struct omission sum = of(rows, 5);
    ck_assert_uint_eq(sum.left, 5); /* 3 and 5, and 6 to 8, which nobody looks at */
}
END_TEST

/* Words that are left out alone are the small ones of another language's grammar, and so are those of a translation as long as its
 * source. */
START_TEST(small_words_are_not_missed) {
    float rows[SOURCE][SOURCE + 1] = {{0}};
    for (size_t i = 0; i < SOURCE / 3; i++)
        rows[i][3 * i] = rows[i][3 * i + 1] = 0.5f; /* each third one is left out */
    ck_assert_uint_eq(of((const float(*)[SOURCE + 1]) rows, SOURCE / 3).left, 0);
    float idiom[SOURCE][SOURCE + 1] = {{0}};
    for (size_t i = 0; i < SOURCE; i++)
        idiom[i][i % 4] = 1;
    ck_assert_uint_eq(of((const float(*)[SOURCE + 1]) idiom, SOURCE - 1).left, 0);
}
END_TEST

/* A short text can be said otherwise in one word; sentences of a text are counted together. */
START_TEST(enough_must_be_left_out) {
    ck_assert(!omission_is_much(&(struct omission){.tokens = 7, .left = 7}));
    ck_assert(omission_is_much(&(struct omission){.tokens = 8, .left = 4}));
    ck_assert(!omission_is_much(&(struct omission){.tokens = 8, .left = 2}));
    ck_assert(!omission_is_much(&(struct omission){0}));
}
END_TEST

Suite *omission_suite(void) {
    Suite *suite = suite_create("omission");
    TCase *tests = tcase_create("omission");
    tcase_add_test(tests, all_is_translated);
    tcase_add_test(tests, the_end_is_left_out);
    tcase_add_test(tests, held_tokens_are_there);
    tcase_add_test(tests, rows_are_scaled);
    tcase_add_test(tests, small_words_are_not_missed);
    tcase_add_test(tests, enough_must_be_left_out);
    suite_add_tcase(suite, tests);
    return suite;
}
