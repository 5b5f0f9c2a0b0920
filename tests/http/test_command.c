/* The command line of the daemon: flags, ALIGND_* variables, exit statuses and hints. */
#include "tests/http/client.h"
#include "tests/http/folder.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Runs the program, which must end with this status and this one line on stderr. */
static void check_refused(const char *const *arguments, int status, const char *line) {
    char expected[512];
    struct outcome outcome;
    program_run(arguments, NULL, &outcome);
    snprintf(expected, sizeof expected, "alignd: %s\n", line);
    ck_assert_msg(outcome.status == status, "wanted %d, got %d: %s", status, outcome.status,
                  outcome.err);
    ck_assert_str_eq(outcome.err, expected);
    ck_assert_str_eq(outcome.out, "");
    outcome_done(&outcome);
}

#define HINT      " (see alignd --help)"
#define TRANSLATE " (see alignd translate --help)"
#define ATTENTION " (see alignd attention --help)"

START_TEST(wrong_flags) {
    static const struct {
        const char *arguments[4], *line;
    } rows[] = {
        {{"--modle", MODEL, NULL}, "unknown argument \"--modle\": did you mean --model?" HINT},
        {{"serve", NULL}, "unknown argument \"serve\"" HINT},
        {{"-m", NULL}, "unknown argument \"-m\"" HINT},
        {{"--model", NULL}, "--model needs a value" HINT},
        {{"--model=", NULL}, "--model needs a model folder, or the name of a model" HINT},
        {{"--workers", "0", NULL}, "--workers must be between 1 and 1024, got 0" HINT},
        {{"--workers", "1025", NULL}, "--workers must be between 1 and 1024, got 1025" HINT},
        {{"--workers", "two", NULL}, "--workers must be a whole number, got \"two\"" HINT},
        {{"--workers", "-1", NULL}, "--workers must be a whole number, got \"-1\"" HINT},
        {{"--workers", "", NULL}, "--workers must be a whole number, got \"\"" HINT},
        {{"--workers=2.5", NULL}, "--workers must be a whole number, got \"2.5\"" HINT},
        {{"--rows", "0", NULL}, "--rows must be between 1 and 4096, got 0" HINT},
        {{"--queue", "99999999999999999999999", NULL},
         "--queue must be between 1 and 1000000, got 99999999999999999999999" HINT},
        {{"--log-level", "loud", NULL},
         "--log-level must be error, warn, info or debug, got \"loud\"" HINT},
        {{"--strategy", "beam", NULL},
         "unknown argument \"--strategy\": it is an option of alignd translate" HINT}, /* of the
                                                                                          batch mode
                                                                                        */
        {{"translate", "--listen", "x", NULL},
         "unknown argument \"--listen\": it is an option of the daemon" TRANSLATE},
        {{"translate", NULL}, "--model MODEL is missing, or --from CODE and --to CODE" TRANSLATE},
        {{"attention", NULL}, "--model MODEL is missing, or --from CODE and --to CODE" ATTENTION},
        {{"translate", "--strategy", "best", NULL},
         "--strategy must be greedy, beam, sample or exact, got \"best\"" TRANSLATE},
        {{"translate", "--length-penalty", "3", NULL},
         "--length-penalty must be between 0 and 2, got 3" TRANSLATE},
        {{"translate", "--length-penalty", "nan", NULL},
         "--length-penalty must be a number, got \"nan\"" TRANSLATE},
        {{"attention", "--model", MODEL, NULL}, "--target FILE is missing" ATTENTION},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_refused(rows[i].arguments, 2, rows[i].line);
    check_refused(
        ARGUMENTS("translate", "--model", MODEL, "--min-length", "5", "--max-length", "4"), 2,
        "--min-length must be at most --max-length (4), got 5" TRANSLATE);
    check_refused(ARGUMENTS("translate", "--model", MODEL, "--model", MODEL), 2,
                  "--model must be given only once in this mode" TRANSLATE);
}
END_TEST

START_TEST(wrong_variables) {
    setenv("ALIGND_WORKERS", "none", 1);
    check_refused(ARGUMENTS("--model", MODEL), 2,
                  "ALIGND_WORKERS must be a whole number, got \"none\"" HINT);
    unsetenv("ALIGND_WORKERS");
    setenv("ALIGND_MAX_TEXT_CHARS", "0", 1);
    check_refused(ARGUMENTS("--model", MODEL), 2,
                  "ALIGND_MAX_TEXT_CHARS must be between 1 and 1000000000, got 0" HINT);
}
END_TEST

START_TEST(help_and_version) {
    static const char *const flags[] = {"model",
                                        "workers",
                                        "rows",
                                        "log-level",
                                        "listen",
                                        "queue",
                                        "max-body-bytes",
                                        "max-text-chars",
                                        "deadline-ms",
                                        "grace-ms",
                                        "cors",
                                        "stats",
                                        "strategy",
                                        "beam-size",
                                        "length-penalty",
                                        "min-length",
                                        "max-length",
                                        "target",
                                        "split-sentences",
                                        "keep-unknowns",
                                        "queue-work",
                                        "rate",
                                        "burst",
                                        "read-timeout-ms",
                                        "send-timeout-ms",
                                        "connections",
                                        "connections-per-address",
                                        "client-header",
                                        "api-keys",
                                        "tls-cert",
                                        "tls-key",
                                        "socket-mode",
                                        "role"};
    struct outcome outcome;
    program_run(ARGUMENTS("--workers", "wrong", "--help"), NULL, &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_str_eq(outcome.err, "");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        char flag[64];
        snprintf(flag, sizeof flag, "\n  --%s ", flags[i]);
        ck_assert_msg(strstr(outcome.out, flag) != NULL, "--help does not tell of %s", flags[i]);
    }
    ck_assert_ptr_nonnull(strstr(outcome.out, "[ALIGND_MAX_BODY_BYTES; default 1M]"));
    outcome_done(&outcome);
    program_run(ARGUMENTS("--version"), NULL, &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_int_eq(strncmp(outcome.out, "alignd ", 7), 0);
    outcome_done(&outcome);
}
END_TEST

/* ---- what fails after the flags are read ---- */

/* The program, on a free port, must end with status 1 and this as its last line. */
static void check_failed(const char *const *arguments, const char *beginning) {
    struct outcome outcome;
    char expected[512];
    program_run(arguments, NULL, &outcome);
    snprintf(expected, sizeof expected, "alignd: %s", beginning);
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_msg(strstr(outcome.err, expected) != NULL, "wanted %s, got %s", expected,
                  outcome.err);
    outcome_done(&outcome);
}

START_TEST(unusable_models) {
    char folder[] = FOLDER_TEMPLATE;
    check_failed(ARGUMENTS("--listen", "127.0.0.1:0", "--model", "/nonexistent"),
                 "cannot load /nonexistent: ");
    check_failed(ARGUMENTS("--listen", "127.0.0.1:0", "--model", MODEL, "--model", "tests/data"),
                 "cannot load tests/data: ");
    check_failed(ARGUMENTS("translate", "--model", "/nonexistent"), "cannot load /nonexistent: ");
    folder_make(folder, "luong-general-gru", "en", "de");
    check_failed(ARGUMENTS("--listen", "127.0.0.1:0", "--model", MODEL, "--model", folder),
                 "cannot load /tmp/alignd-http-");
    folder_remove(folder);
}
END_TEST

/* /dev/zero has no end. */
START_TEST(unusable_files) {
    static const char *const zero = "/dev/zero",
                             complaint[] = "cannot read /dev/zero: not a regular file";
    check_failed(ARGUMENTS("--listen", "127.0.0.1:0", "--model", MODEL, "--api-keys", zero),
                 complaint);
    check_failed(ARGUMENTS("--listen", "127.0.0.1:0", "--model", MODEL, "--tls-cert", zero,
                           "--tls-key", zero),
                 complaint);
}
END_TEST

START_TEST(unusable_addresses) {
    struct daemon daemon;
    char expected[192];
    daemon_start(&daemon, ARGUMENTS("--model", MODEL));
    snprintf(expected, sizeof expected, "cannot listen on %s: Address already in use",
             daemon.address);
    check_failed(ARGUMENTS("--model", MODEL, "--listen", daemon.address), expected);
    daemon_stop(&daemon);
    check_failed(ARGUMENTS("--model", MODEL, "--listen", "127.0.0.1"),
                 "\"127.0.0.1\" is not HOST:PORT");
    check_failed(ARGUMENTS("--model", MODEL, "--listen", "127.0.0.1:"),
                 "\"127.0.0.1:\" is not HOST:PORT");
    check_failed(ARGUMENTS("--model", MODEL, "--listen", "127.0.0.1:99999"),
                 "the port must be a number from 0 to 65535, got \"127.0.0.1:99999\"");
    check_failed(ARGUMENTS("--model", MODEL, "--listen", "127.0.0.1:http"),
                 "the port must be a number from 0 to 65535, got \"127.0.0.1:http\"");
}
END_TEST

/* ---- alignd health ---- */

START_TEST(health_of_a_daemon) {
    struct daemon daemon;
    struct outcome outcome;
    char wildcard[80];
    daemon_start(&daemon, ARGUMENTS("--model", MODEL));
    program_run(ARGUMENTS("health", "--listen", daemon.address), NULL, &outcome);
    ck_assert_msg(outcome.status == 0, "%s", outcome.err);
    ck_assert_str_eq(outcome.err, "");
    outcome_done(&outcome);
    snprintf(wildcard, sizeof wildcard, "0.0.0.0%s,127.0.0.1:1", strrchr(daemon.address, ':'));
    setenv("ALIGND_LISTEN", wildcard, 1); /* the daemon's own variable */
    program_run(ARGUMENTS("health", "--path", "/health"), NULL, &outcome);
    ck_assert_msg(outcome.status == 0, "%s", outcome.err);
    outcome_done(&outcome);
    check_failed(ARGUMENTS("health", "--path", "/nowhere"), "/nowhere answered with status 404\n");
    unsetenv("ALIGND_LISTEN");
    daemon_stop(&daemon);
    check_failed(ARGUMENTS("health", "--listen", daemon.address),
                 "cannot connect: Connection refused\n");
    check_failed(ARGUMENTS("health", "--listen", "8080"), "\"8080\" is not HOST:PORT\n");
}
END_TEST

/* ---- variables ---- */

START_TEST(variables_count) {
    struct daemon daemon;
    struct reply reply;
    setenv("ALIGND_MODEL", MODEL ":tests/golden/luong-dot-lstm", 1);
    setenv("ALIGND_MAX_TEXT_CHARS", "5", 1);
    setenv("ALIGND_CORS", "", 1);
    setenv("ALIGND_QUEUE", "", 1); /* empty: unset */
    daemon_start(&daemon, ARGUMENTS("--workers", "1"));
    client_post(&daemon, "/translate", "{'text': 'six ch'}", 413, &reply);
    reply_done(&reply);
    client_post(&daemon, "/translate", "{'text': 'five!', 'model': 'luong-dot-lstm'}", 200, &reply);
    char value[HEADER_BYTES];
    ck_assert(!reply_header(&reply, "Access-Control-Allow-Origin", value));
    reply_done(&reply);
    daemon_stop(&daemon);
}
END_TEST

START_TEST(flags_go_before_variables) {
    struct daemon daemon;
    struct reply reply;
    setenv("ALIGND_MODEL", "/nonexistent", 1);
    setenv("ALIGND_MAX_TEXT_CHARS", "5", 1);
    daemon_start(&daemon, ARGUMENTS("--model=" MODEL, "--max-text-chars=6"));
    client_post(&daemon, "/translate", "{'text': 'six ch'}", 200, &reply);
    reply_done(&reply);
    client_send(&daemon, &(struct call){.path = "/models"}, &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "models")), 1);
    reply_done(&reply);
    daemon_stop(&daemon);
}
END_TEST

/* A file of options; what is wrong in it is named with its line. */
START_TEST(a_file_of_options) {
    struct daemon daemon;
    struct reply reply;
    char path[] = "/tmp/alignd-config-XXXXXX", expected[256];
    int file = mkstemp(path);
    dprintf(file, "# limits\nmodel = %s\nmax-text-chars = 5   # few\nqueue = 64\n", MODEL);
    setenv("ALIGND_MAX_TEXT_CHARS", "6", 1);
    daemon_start(&daemon, ARGUMENTS("--config", path));
    client_post(&daemon, "/translate", "{'text': 'six ch'}", 200, &reply);
    reply_done(&reply);
    daemon_stop(&daemon);
    dprintf(file, "quee = 7\n");
    snprintf(expected, sizeof expected,
             "%s, line 5: unknown option \"quee\": did you mean queue?" HINT, path);
    check_refused(ARGUMENTS("--config", path), 2, expected);
    close(file);
    unlink(path);
}
END_TEST

START_TEST(help_of_a_command) {
    struct outcome outcome;
    program_run(ARGUMENTS("translate", "--help"), NULL, &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_int_eq(strncmp(outcome.out, "alignd translate: ", 18), 0);
    ck_assert(strstr(outcome.out, "--output FILE") && !strstr(outcome.out, "--admin-listen"));
    outcome_done(&outcome);
}
END_TEST

START_TEST(default_models) {
    struct daemon daemon;
    struct reply reply;
    check_failed(
        ARGUMENTS("--listen", "127.0.0.1:0", "--model", MODEL, "--default-model", "nobody"),
        "--default-model: model \"nobody\" is not among the served models");
    daemon_start(&daemon, ARGUMENTS("--models", "tests/golden", "--default-model", "luong-dot-lstm",
                                    "--workers", "1"));
    client_post(&daemon, "/translate", "{'text': 'x'}", 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "model"), "luong-dot-lstm");
    reply_done(&reply);
    daemon_stop(&daemon);
}
END_TEST

START_TEST(rows_bound_the_beam) {
    struct daemon daemon;
    struct reply reply;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--rows", "3"));
    client_post(&daemon, "/translate", "{'text': 'x'}", 200,
                &reply); /* the default beam is at most as wide as the rows */
    reply_done(&reply);
    client_post(&daemon, "/translate", "{'text': 'x', 'beam_size': 4}", 400, &reply);
    ck_assert_str_eq(text_at(reply.json, "error"), "beam_size must be between 1 and 3, got 4");
    reply_done(&reply);
    client_post(&daemon, "/translate", "{'text': 'x', 'beam_size': 4, 'strategy': 'greedy'}", 200,
                &reply);
    reply_done(&reply);
    daemon_stop(&daemon);
}
END_TEST

Suite *command_suite(void) {
    Suite *suite = suite_create("command");
    TCase *tcase = tcase_create("command");
    tcase_set_timeout(tcase, TEST_TIMEOUT_S);
    tcase_add_test(tcase, wrong_flags);
    tcase_add_test(tcase, wrong_variables);
    tcase_add_test(tcase, help_and_version);
    tcase_add_test(tcase, unusable_models);
    tcase_add_test(tcase, unusable_files);
    tcase_add_test(tcase, unusable_addresses);
    tcase_add_test(tcase, health_of_a_daemon);
    tcase_add_test(tcase, variables_count);
    tcase_add_test(tcase, flags_go_before_variables);
    tcase_add_test(tcase, a_file_of_options);
    tcase_add_test(tcase, help_of_a_command);
    tcase_add_test(tcase, default_models);
    tcase_add_test(tcase, rows_bound_the_beam);
    suite_add_tcase(suite, tcase);
    return suite;
}
