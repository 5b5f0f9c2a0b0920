/* Black-box tests of the program over HTTP. Run from the top folder: build/tests/http/run
 * build/alignd; CK_RUN_SUITE=drain picks one suite. Each test starts a daemon of its own on a free
 * port of the loopback interface, with the tiny models of tests/golden.
 */
#include "tests/http/daemon.h"
#include "tests/http/suites.h"
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static Suite *(*const suites[])(void) = {translate_suite,
                                         attention_suite,
                                         errors_suite,
                                         operations_suite,
                                         hostile_suite,
                                         load_suite,
                                         steady_suite,
                                         drain_suite,
                                         command_suite,
                                         batch_mode_suite,
                                         strategies_suite,
                                         libre_suite,
                                         forms_suite,
                                         stream_suite,
                                         openapi_suite,
                                         glossary_suite,
                                         page_suite,
                                         access_suite,
                                         tls_suite,
                                         listeners_suite,
                                         fairness_suite,
                                         request_bodies_suite,
                                         reach_suite,
                                         slow_suite,
                                         reload_suite,
                                         log_suite,
                                         cache_suite,
                                         memory_suite,
                                         environment_suite,
                                         large_suite,
                                         replies_suite,
                                         warnings_suite,
                                         amounts_suite,
                                         quality_suite,
                                         alignment_suite,
                                         align_suite,
                                         mcp_suite,
                                         heads_suite,
                                         variant_suite,
                                         many_languages_suite,
                                         dialects_suite,
                                         many_models_suite,
                                         glossaries_suite,
                                         dialect_clients_suite,
                                         dialect_fields_suite,
                                         dialect_servers_suite,
                                         dictionary_suite,
                                         documents_suite,
                                         shipped_suite,
                                         bulk_suite,
                                         protect_suite,
                                         routing_suite};

/* Variables that the user has set for another daemon must not reach those under test. */
static void clear_settings(void) {
    char name[256];
    for (char **entry = environ; *entry;) {
        if (strncmp(*entry, "ALIGND_", 7) == 0) {
            snprintf(name, sizeof name, "%.*s", (int)strcspn(*entry, "="), *entry);
            unsetenv(name);
            entry = environ; /* the list has changed */
        } else {
            entry++;
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s ALIGND\n", argv[0]);
        return 2;
    }
    program = argv[1];
    clear_settings();
    curl_global_init(CURL_GLOBAL_DEFAULT);
    SRunner *runner = srunner_create(NULL);
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
        srunner_add_suite(runner, suites[i]());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner), run = srunner_ntests_run(runner);
    srunner_free(runner);
    curl_global_cleanup();
    return failed == 0 && run > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
