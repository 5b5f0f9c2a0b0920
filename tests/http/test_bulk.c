/* alignd translate over a corpus: in shares, each a file that is there as a whole or not at all,
 * and the progress on a terminal. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include "tests/http/terminal.h"
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINES = 300, PATH_BYTES = 64, COMMAND_BYTES = 256 };

static char folder[PATH_BYTES], output[2 * PATH_BYTES];
static char *source;

/* Lines of many lengths, the last without an end, some of them blank. */
static char *make_source(size_t lines) {
    static const char *const words[] = {"a", "boy", "plays", "in", "the", "snow", "dog", "two"};
    char *text = NULL;
    size_t length, state = 1;
    FILE *out = open_memstream(&text, &length);
    for (size_t i = 0; i < lines; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        for (size_t j = 0, count = state >> 33 & 7; j < count; j++)
            fprintf(out, "%s%s", j > 0 ? " " : "", words[(state >> 36 >> 3 * j) & 7]);
        fputs(i + 1 < lines ? "\n" : "", out);
    }
    fclose(out);
    return text;
}

static void setup(void) {
    strcpy(folder, "/tmp/alignd-bulk-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(output, sizeof output, "%s/output", folder);
    source = make_source(LINES);
}

static void teardown(void) {
    unlink(output);
    ck_assert_int_eq(rmdir(folder), 0); /* there are no other files */
    free(source);
}

static char *read_output(void) {
    int fd = open(output, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    char *text = read_from_start(fd);
    close(fd);
    return text;
}

#define TRANSLATE "translate", "--model", MODEL, "--workers", "2", "--rows", "8"

/* ---- shares ---- */

static char *translated(const char *const *arguments, const char *input) {
    struct outcome outcome;
    program_run(arguments, input, &outcome);
    ck_assert_msg(outcome.status == 0, "%s", outcome.err);
    free(outcome.err);
    return outcome.out;
}

/* Returns the index-th of count shares of the source, from 1, as coreutils cuts them. */
static char *share_of(size_t index, size_t count) {
    char path[2 * PATH_BYTES], command[COMMAND_BYTES];
    char *text = calloc(strlen(source) + 1, 1);
    snprintf(path, sizeof path, "%s/source", folder);
    snprintf(command, sizeof command, "split -n l/%zu/%zu %s", index, count, path);
    FILE *out = fopen(path, "w");
    fputs(source, out);
    fclose(out);
    FILE *in = popen(command, "r");
    ck_assert_ptr_nonnull(in);
    ck_assert_uint_le(fread(text, 1, strlen(source), in), strlen(source));
    ck_assert_int_eq(pclose(in), 0);
    unlink(path);
    return text;
}

/* The command of docker/slurm and docker/kubernetes/bulk. */
START_TEST(shares_are_the_whole) {
    static const size_t counts[] = {1, 3, 7};
    char *whole = translated(ARGUMENTS(TRANSLATE, "--strategy", "greedy"), source);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const char *rest = whole;
        for (size_t j = 1; j <= counts[i]; j++) {
            char *share = share_of(j, counts[i]),
                 *part = translated(ARGUMENTS(TRANSLATE, "--strategy", "greedy"), share);
            ck_assert_msg(strncmp(rest, part, strlen(part)) == 0, "share %zu of %zu", j, counts[i]);
            rest += strlen(part);
            free(share);
            free(part);
        }
        ck_assert_str_eq(rest, "");
    }
    free(whole);
}
END_TEST

/* ---- a run that is killed ---- */

/* The program has begun to write when the file without a name, or its temporary one, has so many
 * bytes: read by /proc. */
static size_t written_by(pid_t pid) {
    char path[PATH_BYTES], link[PATH_MAX];
    for (int fd = 3; fd < 16; fd++) {
        struct stat status;
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
        ssize_t length = readlink(path, link, sizeof link - 1);
        if (length > 0 && (link[length] = '\0', strncmp(link, folder, strlen(folder)) == 0) &&
            stat(path, &status) == 0)
            return (size_t)status.st_size;
    }
    return 0;
}

/* Ends the program as it writes, with its input still open. */
static void run_and_kill(void) {
    int ends[2], out = memory_file(""), err = memory_file(""), wait_status;
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = program_start(ARGUMENTS(TRANSLATE, "--strategy", "greedy", "--output", output),
                              ends[0], out, err);
    ck_assert_int_eq(write(ends[1], source, strlen(source)), (ssize_t)strlen(source));
    for (struct patience patience = {0}; written_by(pid) == 0;) {
        ck_assert_int_eq(waitpid(pid, &wait_status, WNOHANG), 0);
        patience_wait(&patience, "the file to grow");
    }
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, &wait_status, 0), pid);
    ck_assert(WIFSIGNALED(wait_status));
    close(ends[0]);
    close(ends[1]);
    close(out);
    close(err);
}

static void add_garbage(void) {
    FILE *out = fopen(output, "a");
    ck_assert_ptr_nonnull(out);
    fputs("half a li", out);
    fclose(out);
}

/* As a task that Kubernetes or Slurm starts again. */
START_TEST(a_killed_run_leaves_no_output) {
    char *whole = translated(ARGUMENTS(TRANSLATE, "--strategy", "greedy"), source);
    run_and_kill();
    ck_assert_int_ne(access(output, F_OK), 0);
    free(translated(ARGUMENTS(TRANSLATE, "--strategy", "greedy", "--output", output), source));
    char *text = read_output();
    ck_assert_str_eq(text, whole);
    free(text);
    run_and_kill();
    text = read_output();
    ck_assert_str_eq(text, whole); /* what was there stays */
    free(text);
    free(whole);
}
END_TEST

static void check_refused(const char *const *arguments, const char *input, const char *message) {
    struct outcome outcome;
    program_run(arguments, input, &outcome);
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_msg(strstr(outcome.err, message) != NULL, "wanted %s, got %s", message, outcome.err);
    outcome_done(&outcome);
}

/* An output is as > has it: what was there before is gone. */
START_TEST(output_alone) {
    struct outcome outcome;
    add_garbage();
    program_run(ARGUMENTS(TRANSLATE, "--strategy", "greedy", "--output", output), "a boy\n",
                &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_str_eq(outcome.out, "");
    char *text = read_output();
    ck_assert(strchr(text, '\n') == text + strlen(text) - 1 && strstr(text, "half") == NULL);
    free(text);
    outcome_done(&outcome);
    check_refused(ARGUMENTS(TRANSLATE, "--output", "/nonexistent/x"), "",
                  "cannot open /nonexistent/x: No such file or directory");
}
END_TEST

/* ---- what is lost where a run fails ---- */

static void check_unharmed(const char *const *arguments, const char *message) {
    add_garbage();
    check_refused(arguments, "a boy\n", message);
    char *text = read_output();
    ck_assert_str_eq(text, "half a li");
    free(text);
    ck_assert_int_eq(unlink(output), 0);
}

/* The file is the output's old content until the run has come to its end. */
START_TEST(failed_runs_leave_the_output) {
    check_unharmed(ARGUMENTS("translate", "--model", "/nonexistent", "--output", output),
                   "cannot load /nonexistent");
    check_unharmed(ARGUMENTS(TRANSLATE, "--output", output, "/nonexistent.txt"),
                   "cannot open /nonexistent.txt");
    check_unharmed(ARGUMENTS(TRANSLATE, "--output", output, "--protect-pattern", "("),
                   "--protect-pattern");
    add_garbage();
    struct outcome outcome;
    program_run(ARGUMENTS(TRANSLATE, "--output", output), "a boy\ncaf\xe9\n", &outcome);
    ck_assert_int_eq(outcome.status, 1);
    outcome_done(&outcome);
    char *text = read_output();
    ck_assert_str_eq(text, "half a li");
    free(text);
}
END_TEST

/* A document, and lines, that are put in their own place. */
START_TEST(onto_itself) {
    struct outcome outcome;
    FILE *out = fopen(output, "w");
    fputs("a boy\n\na dog\n", out);
    fclose(out);
    program_run(ARGUMENTS(TRANSLATE, "--format", "txt", "--output", output, output), "", &outcome);
    ck_assert_msg(outcome.status == 0, "%s", outcome.err);
    outcome_done(&outcome);
    char *text = read_output();
    ck_assert_uint_eq(count_of(text, "\n"), 3);
    free(text);
    int in = open(output, O_RDONLY | O_CLOEXEC), log = memory_file("");
    ck_assert_int_eq(
        program_wait(program_start(ARGUMENTS(TRANSLATE, "--output", output), in, log, log)), 0);
    close(in);
    text = read_output();
    ck_assert_uint_eq(count_of(text, "\n"), 3);
    free(text);
    close(log);
}
END_TEST

/* ---- progress ---- */

START_TEST(progress_on_a_terminal) {
    struct terminal terminal;
    int in = memory_file(source), out = memory_file("");
    terminal_open(&terminal);
    ck_assert_int_eq(program_wait(program_start(ARGUMENTS(TRANSLATE, "--strategy", "greedy"), in,
                                                out, terminal.writer)),
                     0);
    ck_assert(terminal_shows(&terminal, "\r\033[K300 lines"));
    ck_assert(terminal_shows(&terminal, "100%"));
    terminal_close(&terminal);
    terminal_open(&terminal); /* that shows the translations: nothing stands between them */
    close(in);
    in = memory_file("a boy\nplays\n");
    ck_assert_int_eq(program_wait(program_start(ARGUMENTS(TRANSLATE, "--strategy", "greedy"), in,
                                                terminal.writer, terminal.writer)),
                     0);
    ck_assert(!terminal_shows(&terminal, "2 lines"));
    terminal_close(&terminal);
    close(in);
    close(out);
}
END_TEST

Suite *bulk_suite(void) {
    Suite *suite = suite_create("bulk");
    TCase *tests = tcase_create("bulk");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, TEST_TIMEOUT_S);
    tcase_add_test(tests, shares_are_the_whole);
    tcase_add_test(tests, a_killed_run_leaves_no_output);
    tcase_add_test(tests, output_alone);
    tcase_add_test(tests, failed_runs_leave_the_output);
    tcase_add_test(tests, onto_itself);
    tcase_add_test(tests, progress_on_a_terminal);
    suite_add_tcase(suite, tests);
    return suite;
}
