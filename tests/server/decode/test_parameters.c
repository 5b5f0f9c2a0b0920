/* The table of the searches' parameters: well formed, and the defaults of a search. */
#include "server/decode/parameters.h"
#include "tests/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

START_TEST(rows_are_whole) {
    size_t count = 0;
    for (const struct parameter *p; (p = parameters_nth(count)) != NULL; count++) {
        bool flag = (p->setters & (PARAMETER_LINES | PARAMETER_DAEMON)) != 0;
        ck_assert(p->setters != 0 && p->fallback);
        ck_assert_msg(!(p->setters & PARAMETER_REQUEST) || p->text, "%s", p->name);
        ck_assert_msg(!flag || (p->metavar && (p->help || p->text)), "%s", p->name);
        ck_assert_msg(p->type == PARAMETER_STRATEGY || p->minimum < p->maximum, "%s", p->name);
        ck_assert_msg(strspn(p->name, "abcdefghijklmnopqrstuvwxyz_") == strlen(p->name), "%s",
                      p->name);
        ck_assert_uint_lt(p->offset, sizeof(struct search_options));
        for (size_t i = 0; i < count; i++) {
            ck_assert_str_ne(parameters_nth(i)->name, p->name);
            ck_assert_uint_ne(parameters_nth(i)->offset, p->offset);
        }
    }
    ck_assert_uint_eq(count, 14);
}
END_TEST

START_TEST(defaults) {
    struct search_options options = parameters_default();
    ck_assert_ptr_eq(options.strategy, &search_beam);
    ck_assert_uint_eq(options.beam_size, 0);
    ck_assert_uint_eq(options.n_best, 1);
    ck_assert_double_eq(options.length_penalty, -1);
    ck_assert_double_eq(options.coverage_penalty, 0);
    ck_assert_double_eq(options.repetition_penalty, 1);
    ck_assert(options.min_length == 0 && options.max_length == 0 && options.no_repeat_ngram == 0);
    ck_assert_double_eq(options.sampling.temperature, 1);
    ck_assert_double_eq(options.sampling.top_p, 1);
    ck_assert(options.sampling.top_k == 0 && options.sampling.seed == 0);
    ck_assert_uint_eq(options.max_steps, 5000);
}
END_TEST

START_TEST(what_is_not_said_is_the_models) {
    static const struct translator_info info = {.beam_size = 6, .length_penalty = 0.5};
    struct search_options options = parameters_default();
    parameters_settle(&options, &info, 256);
    ck_assert_uint_eq(options.beam_size, 6);
    ck_assert_double_eq(options.length_penalty, 0.5);
    options = parameters_default();
    parameters_settle(&options, &info, 3); /* of a worker with so many rows */
    ck_assert_uint_eq(options.beam_size, 3);
    options.beam_size = 4; /* requested, as is a penalty of 0 */
    options.length_penalty = 0;
    parameters_settle(&options, &info, 3);
    ck_assert_uint_eq(options.beam_size, 4);
    ck_assert_double_eq(options.length_penalty, 0);
}
END_TEST

START_TEST(the_strategies_in_words) {
    char words[200] = "";
    for (size_t i = 0; search_nth(i); i++) {
        const char *between = i == 0 ? "" : search_nth(i + 1) ? ", " : " or ";
        snprintf(words + strlen(words), sizeof words - strlen(words), "%s%s", between,
                 search_name(search_nth(i)));
    }
    ck_assert_str_eq(words, PARAMETERS_STRATEGIES);
}
END_TEST

Suite *parameters_suite(void) {
    Suite *suite = suite_create("parameters");
    TCase *tests = tcase_create("parameters");
    tcase_add_test(tests, rows_are_whole);
    tcase_add_test(tests, defaults);
    tcase_add_test(tests, what_is_not_said_is_the_models);
    tcase_add_test(tests, the_strategies_in_words);
    suite_add_tcase(suite, tests);
    return suite;
}
