/* One suite per module, each in tests/test_<module>.c; tests/main.c runs them all. */
#ifndef ALIGND_TESTS_SUITES_H
#define ALIGND_TESTS_SUITES_H

#include <check.h>

Suite *arena_suite(void);
Suite *reserve_suite(void);
Suite *translator_suite(void);
Suite *batch_suite(void);
Suite *golden_suite(void);
Suite *config_suite(void);
Suite *safetensors_suite(void);
Suite *kernels_suite(void);
Suite *matrix_suite(void);
Suite *cell_suite(void);
Suite *attention_suite(void);
Suite *output_suite(void);
Suite *search_suite(void);
Suite *weights_suite(void);
Suite *options_suite(void);
Suite *request_suite(void);
Suite *scheduler_suite(void);
Suite *pace_suite(void);
Suite *metrics_suite(void);
Suite *decimal_suite(void);
Suite *api_splice_suite(void);
Suite *tokenizer_suite(void);
Suite *segmenter_suite(void);
Suite *shortlist_suite(void);
Suite *text_suite(void);
Suite *render_suite(void);
Suite *plain_suite(void);
Suite *copies_suite(void);
Suite *links_suite(void);
Suite *strategies_suite(void);
Suite *backpointers_suite(void);
Suite *html_suite(void);
Suite *language_suite(void);
Suite *events_suite(void);
Suite *phrases_suite(void);
Suite *placeholder_suite(void);
Suite *glossary_suite(void);
/* Parts of the kernels' suite: tests/test_products.c, tests/test_softmax.c. */
TCase *products_cases(void);
TCase *softmax_cases(void);

#endif
