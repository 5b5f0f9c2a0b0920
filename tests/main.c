/* All unit tests. Run from the top folder, where tests/golden and tests/data are; CK_RUN_SUITE=search picks one suite. */
#include "tests/suites.h"

#include <stdbool.h>
#include <stdio.h>
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

struct counts {
    int run, failures, errors;
};

/* Each suite has a runner of its own: with a sanitizer, the process of each test looks for leaks in all that its parent has. */
static void run_suite(Suite *suite, bool shared, struct counts *counts) {
    SRunner *runner = srunner_create(suite);
    if (shared)
        srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    if (failed > 0)
        srunner_print(runner, CK_NORMAL);
    TestResult **results = srunner_failures(runner);
    for (int i = 0; i < failed; i++)
        counts->errors += tr_rtype(results[i]) == CK_ERROR;
    counts->failures += failed;
    counts->run += srunner_ntests_run(runner);
    free(results);
    srunner_free(runner);
}

int main(void) {
    const char *wanted = getenv("CK_RUN_SUITE");
    struct counts counts = {0};
    for (int shared = 0; shared < 2; shared++) /* those that share a process come last, for the same reason */
        for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
            if (shares_process(suites[i].name) == shared && (!wanted || strcmp(wanted, suites[i].name) == 0))
                run_suite(suites[i].make(), shared, &counts);
    if (counts.run > 0)
        printf("%d%%: Checks: %d, Failures: %d, Errors: %d\n", 100 * (counts.run - counts.failures) / counts.run, counts.run,
               counts.failures - counts.errors, counts.errors);
    return counts.failures == 0 && counts.run > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
