/* All unit tests. Run from the top folder, where tests/golden and tests/data are;
 * CK_RUN_SUITE=search picks one suite; SUITE_SECONDS=1 prints the processor seconds of each. */
#include "tests/suites.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* With SOME_SUITES, those that are not linked are left out. */
#if defined(SOME_SUITES)
#define WEAK(name) __attribute__((weak)) Suite *name##_suite(void);
SUITES(WEAK)
#endif

#define ENTRY(name) {#name, name##_suite},
static const struct {
    const char *name;
    Suite *(*make)(void);
} suites[] = {SUITES(ENTRY)};

static bool is_linked(Suite *(*make)(void)) {
    return make != NULL;
}

/* The last tests of matrix and log leave a process that is of no use to others: its memory is
 * limited, its standard error closed.
 */
static bool needs_processes(const char *suite) {
    return strcmp(suite, "matrix") == 0 || strcmp(suite, "log") == 0;
}

/* The golden suite shares one process, so that its tests share the models that they open.
 * CK_FORK=no decides for the rest. */
static enum fork_status fork_status_of(const char *suite) {
    if (strcmp(suite, "golden") == 0)
        return CK_NOFORK;
    return needs_processes(suite) ? CK_FORK : CK_FORK_GETENV;
}

struct counts {
    int run, failures, errors;
};

static void run_suite(Suite *suite, enum fork_status fork_status, struct counts *counts) {
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, fork_status);
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

/* Processor seconds, user's and system's, of this process or of its children that have ended. */
static double seconds_of(int who) {
    struct rusage used;
    getrusage(who, &used);
    return (double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static double seconds(void) {
    return seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN);
}

int main(void) {
    const char *wanted = getenv("CK_RUN_SUITE");
    bool timed = getenv("SUITE_SECONDS") != NULL;
    struct counts counts = {0};
    /* first those that fork: a sanitizer looks for leaks in each process, also in what its parent
     * has left */
    for (int shared = 0; shared < 2; shared++)
        for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
            if (is_linked(suites[i].make) && needs_processes(suites[i].name) != shared &&
                (!wanted || strcmp(wanted, suites[i].name) == 0)) {
                double before = seconds();
                run_suite(suites[i].make(), fork_status_of(suites[i].name), &counts);
                if (timed)
                    printf("%7.2f s  %s\n", seconds() - before, suites[i].name);
            }
    if (counts.run > 0)
        printf("%d%%: Checks: %d, Failures: %d, Errors: %d\n",
               100 * (counts.run - counts.failures) / counts.run, counts.run,
               counts.failures - counts.errors, counts.errors);
    return counts.failures == 0 && counts.run > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
