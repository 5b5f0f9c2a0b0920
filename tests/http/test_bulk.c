/* alignd translate over a corpus: in shares, with a checkpoint from which it continues, and its progress on a terminal. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include "tests/http/terminal.h"
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINES = 300, PATH_BYTES = 64, SHARE_BYTES = 48 };

static char folder[PATH_BYTES], output[2 * PATH_BYTES], point[2 * PATH_BYTES];
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
    snprintf(point, sizeof point, "%s/point", folder);
    source = make_source(LINES);
}

/* Each run that was killed between naming its new checkpoint and renaming it leaves one such file. */
static void teardown(void) {
    char pattern[3 * PATH_BYTES];
    glob_t left;
    snprintf(pattern, sizeof pattern, "%s.*-*.new", point);
    if (glob(pattern, 0, NULL, &left) == 0) {
        for (size_t i = 0; i < left.gl_pathc; i++)
            unlink(left.gl_pathv[i]);
        globfree(&left);
    }
    unlink(output);
    unlink(point);
    ck_assert_int_eq(rmdir(folder), 0);
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

static char *translated(const char *const *arguments) {
    struct outcome outcome;
    program_run(arguments, source, &outcome);
    ck_assert_msg(outcome.status == 0, "%s", outcome.err);
    free(outcome.err);
    return outcome.out;
}

static void check_shares(size_t count, const char *strategy) {
    char *whole = translated(ARGUMENTS(TRANSLATE, "--strategy", strategy));
    const char *rest = whole;
    for (size_t i = 0; i < count; i++) {
        char share[SHARE_BYTES];
        snprintf(share, sizeof share, "%zu/%zu", i, count);
        char *part = translated(ARGUMENTS(TRANSLATE, "--strategy", strategy, "--shard", share));
        ck_assert_msg(strncmp(rest, part, strlen(part)) == 0, "share %s", share);
        rest += strlen(part);
        free(part);
    }
    ck_assert_str_eq(rest, "");
    free(whole);
}

/* A sample depends on the number of the line. */
START_TEST(shares_are_the_whole) {
    check_shares(1, "greedy");
    check_shares(3, "sample");
    check_shares(7, "greedy");
}
END_TEST

/* ---- going on ---- */

#define CHECKPOINTED TRANSLATE, "--strategy", "greedy", "--output", output, "--checkpoint", point, "--checkpoint-s", "0"

/* Ends the program as soon as the file at path has so many bytes. True: it came to its end before. */
static bool run_and_kill(const char *path, size_t bytes) {
    struct stat status;
    int in = memory_file(source), out = memory_file(""), err = memory_file(""), wait_status;
    pid_t pid = program_start(ARGUMENTS(CHECKPOINTED), in, out, err);
    bool ended = false;
    for (struct patience patience = {0}; !(ended = waitpid(pid, &wait_status, WNOHANG) == pid);) {
        if (stat(path, &status) == 0 && (size_t)status.st_size >= bytes)
            break;
        patience_wait(&patience, "the file to grow");
    }
    if (!ended) {
        kill(pid, SIGKILL);
        ck_assert_int_eq(waitpid(pid, &wait_status, 0), pid);
    }
    close(in);
    close(out);
    close(err);
    return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
}

/* As if more had been written than the last checkpoint tells of. */
static void add_garbage(void) {
    FILE *out = fopen(output, "a");
    ck_assert_ptr_nonnull(out);
    fputs("half a li", out);
    fclose(out);
}

static size_t output_size(void) {
    struct stat status;
    return stat(output, &status) == 0 ? (size_t)status.st_size : 0;
}

START_TEST(nothing_is_lost_nothing_repeated) {
    char *whole = translated(ARGUMENTS(TRANSLATE, "--strategy", "greedy"));
    size_t length = strlen(whole), kills = 0;
    for (size_t target = 1; !run_and_kill(output, target); target = output_size() + length / 17) {
        add_garbage();
        kills++;
    }
    char *resumed = read_output();
    ck_assert_str_eq(resumed, whole);
    ck_assert_uint_ge(kills, 3);
    free(resumed);
    ck_assert(run_and_kill(output, SIZE_MAX)); /* all is done: nothing more is */
    resumed = read_output();
    ck_assert_str_eq(resumed, whole);
    free(resumed);
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

START_TEST(what_another_run_left) {
    run_and_kill(point, 1);
    char *before = read_output();
    check_refused(ARGUMENTS(CHECKPOINTED, "--length-penalty", "0.5"), source,
                  "point is from another run: length_penalty was 1, now 0.5");
    check_refused(ARGUMENTS(CHECKPOINTED, "--shard", "0/2"), source, "point is from another run: shard was 0/1, now 0/2");
    char *other = strdup(source);
    *other = 'x';
    check_refused(ARGUMENTS(CHECKPOINTED), other, "the input has changed: its first ");
    free(other);
    int held = open(output, O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(flock(held, LOCK_EX), 0);
    check_refused(ARGUMENTS(CHECKPOINTED), source, "output: another run is writing it\n");
    close(held);
    char *after = read_output();
    ck_assert_str_eq(after, before); /* nobody has touched it */
    ck_assert_int_eq(truncate(output, 0), 0);
    check_refused(ARGUMENTS(CHECKPOINTED), source, "output has 0 bytes, but had ");
    free(before);
    free(after);
}
END_TEST

/* An output without a checkpoint is as > has it: what was there before is gone. */
START_TEST(output_alone) {
    struct outcome outcome;
    add_garbage();
    program_run(ARGUMENTS(TRANSLATE, "--strategy", "greedy", "--output", output), "a boy\n", &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_str_eq(outcome.out, "");
    char *text = read_output();
    ck_assert(strchr(text, '\n') == text + strlen(text) - 1 && strstr(text, "half") == NULL);
    free(text);
    outcome_done(&outcome);
    check_refused(ARGUMENTS(TRANSLATE, "--output", "/nonexistent/x"), "", "cannot open /nonexistent/x: No such file or directory");
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
    check_unharmed(ARGUMENTS("translate", "--model", "/nonexistent", "--output", output), "cannot load /nonexistent");
    check_unharmed(ARGUMENTS(TRANSLATE, "--output", output, "/nonexistent.txt"), "cannot open /nonexistent.txt");
    check_unharmed(ARGUMENTS(TRANSLATE, "--output", output, "--protect-pattern", "("), "--protect-pattern");
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
    ck_assert_int_eq(program_wait(program_start(ARGUMENTS(TRANSLATE, "--output", output), in, log, log)), 0);
    close(in);
    text = read_output();
    ck_assert_uint_eq(count_of(text, "\n"), 3);
    in = open(output, O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(program_wait(program_start(ARGUMENTS(CHECKPOINTED), in, log, log)), 1);
    char *err = read_from_start(log), *same = read_output();
    ck_assert_ptr_nonnull(strstr(err, "is also the input"));
    ck_assert_str_eq(same, text);
    free(text);
    free(same);
    free(err);
    close(in);
    close(log);
}
END_TEST

/* Neither is waited for. */
START_TEST(a_checkpoint_is_a_file) {
    ck_assert_int_eq(mkfifo(point, 0600), 0);
    check_refused(ARGUMENTS(CHECKPOINTED), source, "point: not a regular file");
    check_refused(ARGUMENTS(TRANSLATE, "--output", output, "--checkpoint", "/dev/null"), source, "/dev/null: not a regular file");
    check_refused(ARGUMENTS(TRANSLATE, "--output", output, "--checkpoint", output), source, "is also the checkpoint");
}
END_TEST

START_TEST(a_pipe_cannot_be_cut) {
    int ends[2], out = memory_file(""), err = memory_file("");
    ck_assert_int_eq(pipe(ends), 0);
    close(ends[1]);
    ck_assert_int_eq(program_wait(program_start(ARGUMENTS(TRANSLATE, "--shard", "0/2"), ends[0], out, err)), 1);
    char *text = read_from_start(err);
    ck_assert_ptr_nonnull(strstr(text, "alignd: the input must be a file (< FILE), not a pipe"));
    free(text);
    close(ends[0]);
    close(out);
    close(err);
}
END_TEST

/* ---- progress ---- */

START_TEST(progress_on_a_terminal) {
    struct terminal terminal;
    int in = memory_file(source), out = memory_file("");
    terminal_open(&terminal);
    ck_assert_int_eq(program_wait(program_start(ARGUMENTS(TRANSLATE, "--strategy", "greedy"), in, out, terminal.writer)), 0);
    ck_assert(terminal_shows(&terminal, "\r300 lines"));
    ck_assert(terminal_shows(&terminal, "100%"));
    terminal_close(&terminal);
    terminal_open(&terminal); /* that shows the translations: nothing stands between them */
    close(in);
    in = memory_file("a boy\nplays\n");
    ck_assert_int_eq(
        program_wait(program_start(ARGUMENTS(TRANSLATE, "--strategy", "greedy"), in, terminal.writer, terminal.writer)), 0);
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
    tcase_add_test(tests, nothing_is_lost_nothing_repeated);
    tcase_add_test(tests, what_another_run_left);
    tcase_add_test(tests, output_alone);
    tcase_add_test(tests, failed_runs_leave_the_output);
    tcase_add_test(tests, onto_itself);
    tcase_add_test(tests, a_checkpoint_is_a_file);
    tcase_add_test(tests, a_pipe_cannot_be_cut);
    tcase_add_test(tests, progress_on_a_terminal);
    suite_add_tcase(suite, tests);
    return suite;
}
