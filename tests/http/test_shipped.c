/* alignd without arguments: a copy of the program, with models beside it or without. */
#include "tests/http/client.h"
#include "tests/http/folder.h"
#include "tests/http/suites.h"
#include "tests/http/terminal.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 128 };

static char top[PATH_BYTES], root[PATH_BYTES],
    copy[PATH_BYTES]; /* top: nobody else's folder is looked into */

static void in_tree(const char *name, char path[PATH_BYTES]) {
    ck_assert_int_lt(snprintf(path, PATH_BYTES, "%s/%s", root, name), PATH_BYTES);
}

static void make_folder(const char *name) {
    char path[PATH_BYTES];
    in_tree(name, path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
}

/* The tests' program becomes build/alignd of a tree of its own. */
static void setup(void) {
    struct stat status;
    strcpy(top, "/tmp/alignd-tree-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(top));
    snprintf(root, sizeof root, "%.32s/tree", top);
    ck_assert_int_eq(mkdir(root, 0700), 0);
    make_folder("build");
    in_tree("build/alignd", copy);
    int from = open(program, O_RDONLY | O_CLOEXEC),
        to = open(copy, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    ck_assert(from >= 0 && to >= 0 && fstat(from, &status) == 0);
    for (off_t left = status.st_size; left > 0;) {
        ssize_t sent = sendfile(to, from, NULL, (size_t)left);
        ck_assert_int_gt(sent, 0);
        left -= sent;
    }
    close(from);
    close(to);
    program = copy;
    setenv("HOME", top, 1);
}

static void teardown(void) {
    char command[PATH_BYTES + 16];
    snprintf(command, sizeof command, "rm -r '%s'", top);
    ck_assert_int_eq(system(command), 0);
}

static void add_model(const char *name, const char *source, const char *target) {
    char folder[] = FOLDER_TEMPLATE, path[PATH_BYTES], under[64];
    folder_make(folder, name, source, target);
    snprintf(under, sizeof under, "weights/%s", name);
    in_tree(under, path);
    ck_assert_int_eq(rename(folder, path), 0);
}

static void add_models(void) {
    make_folder("weights");
    add_model("de-en", "de", "en");
    add_model("en-fr", "en", "fr");
}

START_TEST(what_lies_beside_it) {
    struct daemon served;
    struct reply reply;
    char logged[2 * PATH_BYTES];
    add_models();
    daemon_start(&served, ARGUMENTS("--workers", "1"));
    snprintf(logged, sizeof logged, "event=models_found directory=%s/weights models=2\n", root);
    ck_assert(daemon_logged(&served, logged));
    client_send(&served, &(struct call){.path = "/models"}, &reply);
    ck_assert_str_eq(text_at(reply.json, "models.0.name"), "en-fr");
    ck_assert_str_eq(text_at(reply.json, "models.0.state"), "ready");
    ck_assert_str_eq(text_at(reply.json, "models.1.name"), "de-en");
    reply_done(&reply);
    ck_assert(!daemon_logged(&served, "Ctrl+C")); /* nobody is there to be greeted */
    daemon_stop(&served);
}
END_TEST

START_TEST(nothing_beside_it) {
    struct outcome outcome;
    char expected[5 * PATH_BYTES];
    program_run(ARGUMENTS("--listen", "127.0.0.1:0"), NULL, &outcome);
    snprintf(expected, sizeof expected,
             "alignd: found no models in %s/share/alignd, %s/weights or %s/weights: `alignd get "
             "en-fr` downloads one; or give "
             "--model DIR or "
             "--models DIR\n",
             root, root, top);
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_str_eq(outcome.err, expected);
    outcome_done(&outcome);
}
END_TEST

static void check_translates(const char *const *arguments) {
    struct outcome outcome;
    program_run(arguments, "a boy\n", &outcome);
    ck_assert_msg(outcome.status == 0, "%s", outcome.err);
    ck_assert_uint_gt(strlen(outcome.out), 1);
    outcome_done(&outcome);
}

static void check_unknown(const char *const *arguments, const char *message) {
    struct outcome outcome;
    program_run(arguments, "a boy\n", &outcome);
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_msg(strstr(outcome.err, message), "wanted %s, got %s", message, outcome.err);
    outcome_done(&outcome);
}

/* By name, by languages, and as the daemon takes their codes. */
START_TEST(found_by_name_or_languages) {
    add_models();
    check_translates(ARGUMENTS("translate", "--workers", "1", "--model", "en-fr"));
    check_translates(ARGUMENTS("translate", "--workers", "1", "--model", "en-fr-CA"));
    check_translates(ARGUMENTS("translate", "--workers", "1", "--from", "de-AT", "--to", "en"));
    check_translates(
        ARGUMENTS("translate", "--workers", "1", "--model", "de-en", "--from", "de", "--to", "en"));
    check_translates(ARGUMENTS("translate", "--workers", "1", "--models", "tests/golden", "--model",
                               "luong-general-gru"));
    check_unknown(ARGUMENTS("translate", "--model", "fr-de"), "--model: no model \"fr-de\" in ");
    check_unknown(ARGUMENTS("translate", "--from", "en", "--to", "de"),
                  "no model translates from en to de in ");
    check_unknown(ARGUMENTS("translate", "--from", "en", "--to", "de"),
                  ", which has en-fr, de-en; `alignd get PAIR` downloads others\n");
    check_unknown(ARGUMENTS("translate", "--model", "en-fr", "--from", "fr", "--to", "en"),
                  "does not translate from fr to en");
    check_unknown(ARGUMENTS("attention", "--model", "nobody", "--target", "/dev/null"),
                  "--model: no model \"nobody\" in ");
    check_unknown(ARGUMENTS("pack", "--model", "nobody"), "--model: no model \"nobody\" in ");
}
END_TEST

/* ---- on a terminal ---- */

/* Runs until the terminal shows that text. */
static void run_on_terminal(const char *const *arguments, struct terminal *terminal,
                            const char *until) {
    int nothing = memory_file(""), out = memory_file("");
    terminal_open(terminal);
    pid_t pid = program_start(arguments, nothing, out, terminal->writer);
    for (struct patience patience = {0}; !terminal_shows(terminal, until);)
        patience_wait(&patience, until);
    ck_assert_int_eq(kill(pid, SIGTERM), 0);
    ck_assert_int_eq(program_wait(pid), 0);
    terminal_shows(terminal, "");
    char *printed = read_from_start(out);
    ck_assert_str_eq(printed, "");
    free(printed);
    close(nothing);
    close(out);
}

START_TEST(greeting_on_a_terminal) {
    struct terminal terminal;
    char models[2 * PATH_BYTES];
    add_models();
    run_on_terminal(ARGUMENTS("--listen", "127.0.0.1:0", "--workers", "1"), &terminal,
                    "station%3F'\r\n");
    ck_assert_ptr_nonnull(strstr(terminal.text, "\nalignd serves http://127.0.0.1:"));
    snprintf(models, sizeof models, "\nModels: en-fr, de-en, in %s/weights\r\n", root);
    ck_assert_ptr_nonnull(strstr(terminal.text, models));
    ck_assert_ptr_nonnull(
        strstr(terminal.text, "\nDefault: en-fr, for requests without model and languages"));
    terminal_close(&terminal);
    run_on_terminal(ARGUMENTS("--listen", "127.0.0.1:0", "--workers", "1", "--log-format", "json"),
                    &terminal, "\"ready\"");
    ck_assert_ptr_null(strstr(terminal.text, "Ctrl+C")); /* those lines are for programs */
    terminal_close(&terminal);
}
END_TEST

Suite *shipped_suite(void) {
    Suite *suite = suite_create("shipped");
    TCase *tests = tcase_create("shipped");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, TEST_TIMEOUT_S);
    tcase_add_test(tests, what_lies_beside_it);
    tcase_add_test(tests, nothing_beside_it);
    tcase_add_test(tests, found_by_name_or_languages);
    tcase_add_test(tests, greeting_on_a_terminal);
    suite_add_tcase(suite, tests);
    return suite;
}
