/* server/decode/pivot: composing the results of two models. Tokens, attention and renderings are
 * made up; the model only tells that sentences end with </s>. */
#include "server/decode/pivot.h"
#include "tests/models.h"
#include "tests/suites.h"
#include <math.h>

enum { SOURCE = 3, WRITTEN = 2, READ = 3, TARGET = 2 }; /* tokens, with </s> where it is read */

static struct translator *translator;
static struct sentence first, second, composed;
static struct hypothesis written, best;
static struct rendering rendering;
static struct arena arena;

/* "ab cd" is written as "xy zw", which is read in other tokens: "x", "y zw". */
static struct token source[SOURCE] = {{.begin = 0, .end = 2, .piece = "ab"},
                                      {.begin = 2, .end = 5, .piece = "cd"},
                                      {.piece = "</s>"}};
static struct token written_tokens[WRITTEN] = {{.begin = 0, .end = 2}, {.begin = 2, .end = 5}};
static struct token read_tokens[READ] = {
    {.begin = 0, .end = 1}, {.begin = 1, .end = 5}, {.piece = "</s>"}};
static char middle[] = "xy zw";

static const float first_rows[WRITTEN + 1][SOURCE] = {
    {0.8F, 0.1F, 0.1F}, {0.2F, 0.6F, 0.2F}, {0, 0, 1}};
static const float second_rows[TARGET + 1][READ] = {{1, 0, 0}, {0.2F, 0.6F, 0.2F}, {0, 0, 1}};
static const float *first_attention[WRITTEN + 1] = {first_rows[0], first_rows[1], first_rows[2]};
static const float *second_attention[TARGET + 1] = {second_rows[0], second_rows[1], second_rows[2]};

static void setup(void) {
    translator = model_open("tests/golden/luong-general-gru");
    ck_assert(translator_info(translator).source_end);
    written = (struct hypothesis){.length = WRITTEN,
                                  .ended = true,
                                  .attention = first_attention,
                                  .alignment = first_attention};
    best = (struct hypothesis){.length = TARGET,
                               .ended = true,
                               .attention = second_attention,
                               .alignment = second_attention};
    first = (struct sentence){.translator = translator,
                              .text = "ab cd",
                              .source = {0, 5},
                              .tokens = source,
                              .length = SOURCE,
                              .hypotheses = &written,
                              .count = 1,
                              .search = {.setting.source_length = SOURCE},
                              .reading.unknown = 1};
    second = (struct sentence){.translator = translator,
                               .text = middle,
                               .source = {0, 5},
                               .tokens = read_tokens,
                               .length = READ,
                               .hypotheses = &best,
                               .count = 1,
                               .search = {.setting.source_length = READ}};
    rendering = (struct rendering){middle, written_tokens};
    arena_init(&arena, 1 << 12);
}

static void teardown(void) {
    arena_done(&arena);
    translator_free(translator);
}

static void check_row(const float *row, const float *expected) {
    for (size_t j = 0; j < SOURCE; j++)
        ck_assert_msg(fabsf(row[j] - expected[j]) < 1e-6F, "%zu: %g, not %g", j, (double)row[j],
                      (double)expected[j]);
}

START_TEST(rows_are_composed) {
    /* "y zw" shares one byte with the first written token, three with the second */
    static const float expected[TARGET + 1][SOURCE] = {
        {0.8F, 0.1F, 0.1F},
        {0.2F * 0.8F + 0.6F * (0.25F * 0.8F + 0.75F * 0.2F),
         0.2F * 0.1F + 0.6F * (0.25F * 0.1F + 0.75F * 0.6F),
         0.2F * 0.1F + 0.6F * (0.25F * 0.1F + 0.75F * 0.2F) + 0.2F},
        {0, 0, 1}};
    ck_assert_int_eq(
        pivot_compose(&first, &first.hypotheses[0], &rendering, &second, &arena, &composed), 0);
    ck_assert_uint_eq(composed.length, SOURCE);
    ck_assert_str_eq(composed.tokens[1].piece, "cd");
    ck_assert_uint_eq(composed.tokens[SOURCE - 1].begin, 5);
    ck_assert_ptr_eq(composed.text, first.text);
    ck_assert_uint_eq(composed.reading.unknown, 1);
    for (size_t t = 0; t <= TARGET; t++) {
        check_row(composed.hypotheses[0].attention[t], expected[t]);
        check_row(composed.hypotheses[0].alignment[t], expected[t]);
    }
    ck_assert_ptr_eq(best.attention, second_attention); /* the parts stay as they are */
}
END_TEST

/* A token that is only a blank belongs to the following token. */
START_TEST(blanks_belong_to_what_follows) {
    static const float expected[SOURCE] = {0.2F, 0.6F, 0.2F};
    written_tokens[1].begin = 3;
    read_tokens[0] = (struct token){.begin = 2, .end = 3};
    ck_assert_int_eq(
        pivot_compose(&first, &first.hypotheses[0], &rendering, &second, &arena, &composed), 0);
    written_tokens[1].begin = 2;
    read_tokens[0] = (struct token){.begin = 0, .end = 1};
    check_row(composed.hypotheses[0].attention[0], expected);
}
END_TEST

START_TEST(without_attention_nothing_is_made_up) {
    first.search.setting.source_length = 0;
    ck_assert_int_eq(
        pivot_compose(&first, &first.hypotheses[0], &rendering, &second, &arena, &composed), 0);
    ck_assert_uint_eq(composed.search.setting.source_length, 0);
    ck_assert_ptr_eq(composed.hypotheses[0].attention, second_attention);
}
END_TEST

START_TEST(a_text_reads_the_hypothesis_of_its_rank) {
    struct hypothesis hypotheses[3] = {{.length = 1}, {.length = 2}, {.length = 3}};
    const struct sentence translated = {.hypotheses = hypotheses, .count = 3};
    ck_assert_ptr_eq(pivot_written(&translated, &(struct text){0}), &hypotheses[0]);
    ck_assert_ptr_eq(pivot_written(&translated, &(struct text){.rank = 1, .ranks = 4}),
                     &hypotheses[1]);
    ck_assert_ptr_eq(pivot_written(&translated, &(struct text){.rank = 3, .ranks = 4}),
                     &hypotheses[2]);
}
END_TEST

Suite *pivot_suite(void) {
    Suite *suite = suite_create("pivot");
    TCase *tcase = tcase_create("pivot");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, rows_are_composed);
    tcase_add_test(tcase, blanks_belong_to_what_follows);
    tcase_add_test(tcase, without_attention_nothing_is_made_up);
    tcase_add_test(tcase, a_text_reads_the_hypothesis_of_its_rank);
    suite_add_tcase(suite, tcase);
    return suite;
}
