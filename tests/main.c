/* All unit tests. Run from the top folder, where tests/golden and tests/data are; CK_RUN_SUITE=search picks one suite. */
#include "tests/suites.h"

#include <stdlib.h>

#define ENTRY(name) name##_suite,
static Suite *(*const suites[])(void) = {SUITES(ENTRY)};

int main(void) {
    SRunner *runner = srunner_create(NULL);
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
        srunner_add_suite(runner, suites[i]());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner), run = srunner_ntests_run(runner);
    srunner_free(runner);
    return failed == 0 && run > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
