/* All unit tests. Run from the top folder, where tests/golden and tests/data are; CK_RUN_SUITE=search picks one suite. */
#include "tests/suites.h"

#include <stdlib.h>

static Suite *(*const suites[])(void) = {
    arena_suite,      safetensors_suite,  weights_suite,    config_suite,    tokenizer_suite, segmenter_suite, text_suite,
    kernels_suite,    matrix_suite,       cell_suite,       attention_suite, output_suite,    search_suite,    golden_suite,
    shortlist_suite,  batch_suite,        translator_suite, options_suite,   request_suite,   scheduler_suite, pace_suite,
    metrics_suite,    decimal_suite,      api_splice_suite, plain_suite,     render_suite,    copies_suite,    links_suite,
    strategies_suite, backpointers_suite, html_suite,       language_suite,  events_suite,    phrases_suite,   placeholder_suite,
    glossary_suite,   reserve_suite,
};

int main(void) {
    SRunner *runner = srunner_create(NULL);
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
        srunner_add_suite(runner, suites[i]());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner), run = srunner_ntests_run(runner);
    srunner_free(runner);
    return failed == 0 && run > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
