/* Finding source tokens that a translation omits. */
#include "server/decode/judgement.h"
#include "tests/suites.h"

enum { SOURCE = 9, END = SOURCE }; /* with </s> after them */

static struct omission with(const float rows[][SOURCE + 1], size_t target, const size_t *letters) {
    struct omission sum = {0};
    const float *pointers[16];
    struct arena arena;
    arena_init(&arena, 1024);
    for (size_t i = 0; i < target; i++)
        pointers[i] = rows[i];
    ck_assert_int_eq(omission_add(&(struct omission_rows){pointers, target, {0, SOURCE}, letters},
                                  &arena, &sum, NULL),
                     0);
    arena_done(&arena);
    return sum;
}

/* Of tokens of five letters, three are a clause. */
static struct omission of(const float rows[][SOURCE + 1], size_t target) {
    static const size_t letters[SOURCE] = {5, 5, 5, 5, 5, 5, 5, 5, 5};
    return with(rows, target, letters);
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
}
END_TEST

/* Nobody looks at the last tokens, which are a clause from three on. */
START_TEST(the_end_is_left_out) {
    for (size_t said = 0; said <= SOURCE; said++) {
        float rows[SOURCE][SOURCE + 1] = {{0}};
        for (size_t i = 0; i < said; i++)
            rows[i][i] = 1;
        struct omission sum = of((const float(*)[SOURCE + 1]) rows, said);
        ck_assert_uint_eq(sum.left, SOURCE - said >= 3 ? SOURCE - said : 0);
    }
}
END_TEST

/* Marks and copied text have no letters, so that they are not omitted, however little attention
 * they get. */
START_TEST(only_letters_count) {
    static const size_t letters[SOURCE] = {9, 0, 7, 0, 7, 0, 0, 0, 0};
    static const float rows[][SOURCE + 1] = {{[0] = 1}};
    struct omission sum = with(rows, 1, letters);
    ck_assert_uint_eq(sum.tokens, SOURCE);
    ck_assert_uint_eq(sum.left, 2);
}
END_TEST

/* A token that gets a tenth of one step's attention is not omitted. A step that attends only to
 * </s> does not count; one that gives it most of its weight counts like any other. */
START_TEST(rows_are_scaled) {
    static const float rows[][SOURCE + 1] = {{[0] = 0.01f, [1] = 0.01f, [END] = 0.98f},
                                             {[END] = 1},
                                             {[2] = 0.91f, [3] = 0.09f},
                                             {[4] = 0.92f, [5] = 0.08f},
                                             {[4] = 1}};
    struct omission sum = of(rows, 5);
    ck_assert_uint_eq(sum.left, 5); /* 3 and 5, and 6 to 8, which nobody looks at */
}
END_TEST

/* Words that are left out alone are the small ones of another language's grammar, and so are
 * several with few letters. */
START_TEST(small_words_are_not_missed) {
    float rows[SOURCE][SOURCE + 1] = {{0}};
    for (size_t i = 0; i < SOURCE / 3; i++)
        rows[i][3 * i] = rows[i][3 * i + 1] =
            0.5f; /* each third one is left out, with two between */
    ck_assert_uint_eq(of((const float(*)[SOURCE + 1]) rows, SOURCE / 3).left, 0);
    static const float first[][SOURCE + 1] = {{[0] = 1}};
    static const size_t letters[2][SOURCE] = {{5, 2, 1, 3, 3, 1, 3}, {5, 2, 1, 3, 3, 1, 4}};
    ck_assert_uint_eq(with(first, 1, letters[0]).left, 0);
    ck_assert_uint_eq(with(first, 1, letters[1]).left, 6);
}
END_TEST

Suite *omission_suite(void) {
    Suite *suite = suite_create("omission");
    TCase *tests = tcase_create("omission");
    tcase_add_test(tests, all_is_translated);
    tcase_add_test(tests, the_end_is_left_out);
    tcase_add_test(tests, only_letters_count);
    tcase_add_test(tests, rows_are_scaled);
    tcase_add_test(tests, small_words_are_not_missed);
    suite_add_tcase(suite, tests);
    return suite;
}
