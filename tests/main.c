/* All unit tests. Run from the top folder, where tests/golden and tests/data are; CK_RUN_SUITE=search picks one suite. */
#include "tests/suites.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY(name) {#name, name##_suite},
static const struct {
    const char *name;
    Suite *(*make)(void);
} suites[] = {SUITES(ENTRY)};

/* The golden suite shares one process: with a sanitizer, a process for each of its thousand tests takes ten times as long as the
 * tests. */
static bool shares_process(const char *name) {
    return strcmp(name, "golden") == 0;
}

/* Runs the suites of either kind that CK_RUN_SUITE allows. Adds up the tests and the failures. */
static void run_suites(bool shared, int *run, int *failed) {
    const char *wanted = getenv("CK_RUN_SUITE");
    SRunner *runner = srunner_create(NULL);
    bool any = false;
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
        if (shares_process(suites[i].name) == shared) {
            srunner_add_suite(runner, suites[i].make());
            any = any || !wanted || strcmp(wanted, suites[i].name) == 0;
        }
    if (shared)
        srunner_set_fork_status(runner, CK_NOFORK);
    if (any)
        srunner_run_all(runner, CK_NORMAL);
    *failed += srunner_ntests_failed(runner);
    *run += srunner_ntests_run(runner);
    srunner_free(runner);
}

int main(void) {
    int run = 0, failed = 0;
    run_suites(false, &run, &failed);
    run_suites(true, &run, &failed); /* last: a process that is forked later would look for leaks in all that its models had */
    return failed == 0 && run > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
