/* The program and its environment: little address space, a stderr that nobody reads, and how the
 * machine's memory is shared out. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHIPPED "weights/en-fr"

/* ---- address space ---- */

/* From too little for a model up to what a shell's `ulimit -v 204800` gives. */
static const rlim_t spaces[] = {70L << 20, 100L << 20, 150L << 20, 204800L << 10};

/* The program with so much address space. */
static pid_t start_within(rlim_t space, const char *const *arguments, int in, int out, int err) {
    struct rlimit own, limited;
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &own), 0);
    limited = own;
    limited.rlim_cur = space;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limited), 0);
    pid_t pid = program_start(arguments, in, out, err);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &own), 0);
    return pid;
}

static void run_within(rlim_t space, const char *const *arguments, const char *input,
                       struct outcome *outcome) {
    int in = memory_file(input), out = memory_file(""), err = memory_file("");
    outcome->status = program_wait(start_within(space, arguments, in, out, err));
    outcome->out = read_from_start(out);
    outcome->err = read_from_start(err);
    close(in);
    close(out);
    close(err);
}

/* It works, or says why not. */
static void check_batch(rlim_t space, const char *const *arguments, const char *expected) {
    struct outcome outcome;
    run_within(space, arguments, "I am hungry.\n", &outcome);
    bool works = outcome.status == 0 && strcmp(outcome.out, expected) == 0;
    ck_assert_msg(works || (outcome.status == 1 && strncmp(outcome.err, "alignd: ", 8) == 0),
                  "%lu bytes: status %d: %s%s", (unsigned long)space, outcome.status, outcome.out,
                  outcome.err);
    outcome_done(&outcome);
}

static bool has_ended(pid_t pid) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

static void check_daemon(rlim_t space) {
    struct daemon daemon = {.log = memory_file("")};
    int nothing = memory_file("");
    daemon.pid = start_within(space, ARGUMENTS("--listen", "127.0.0.1:0", "--model", SHIPPED),
                              nothing, nothing, daemon.log);
    for (struct patience patience = {0};
         !has_ended(daemon.pid) && !daemon_logged(&daemon, "event=ready");)
        patience_wait(&patience, "an end or a beginning");
    bool ready = daemon_logged(&daemon, "event=ready");
    kill(daemon.pid, SIGTERM);
    int status = program_wait(daemon.pid);
    char *log = read_from_start(daemon.log);
    ck_assert_msg(ready ? status == 0 : status == 1 && strstr(log, "alignd: "),
                  "%lu bytes: status %d: %s", (unsigned long)space, status, log);
    free(log);
    close(nothing);
    close(daemon.log);
}

START_TEST(little_address_space) {
    char target[] = "/tmp/alignd-environment-XXXXXX";
    int fd = mkstemp(target);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "J'ai faim.\n", 11), 11);
    close(fd);
    check_batch(spaces[_i], ARGUMENTS("translate", "--model", SHIPPED), "J'ai faim.\n");
    check_batch(spaces[_i], ARGUMENTS("attention", "--model", SHIPPED, "--target", target),
                "0-0 2-1\n");
    check_daemon(spaces[_i]);
    unlink(target);
}
END_TEST

/* ---- a stderr that nobody reads ---- */

enum { UNREAD_REQUESTS = 4000 };

/* The reading end of a new terminal or pipe; *other: the one that a program may have. */
static int open_terminal(int *other) {
    int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    ck_assert(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    *other = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
    ck_assert_int_ge(*other, 0);
    return terminal;
}

static int open_pipe(int *other) {
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    *other = ends[1];
    return ends[0];
}

static int (*const channels[])(int *other) = {open_pipe, open_terminal};

/* Reads until the daemon is ready, and no more. */
static void read_address(int stderr_end, struct daemon *daemon) {
    static char log[1 << 16];
    size_t length = 0;
    while (!strstr(log, "event=ready")) {
        ssize_t count = read(stderr_end, log + length, sizeof log - length - 1);
        ck_assert_int_gt(count, 0);
        log[length += (size_t)count] = '\0';
    }
    const char *address = strstr(log, "address=");
    ck_assert_ptr_nonnull(address);
    address += strlen("address=");
    snprintf(daemon->address, sizeof daemon->address, "%.*s", (int)strcspn(address, " \r\n"),
             address);
}

/* It answers, tells how much it could not tell, and ends when it is asked to. */
START_TEST(unread_stderr) {
    struct daemon daemon = {0};
    int err, stderr_end = channels[_i](&err), nothing = memory_file("");
    daemon.pid = program_start(ARGUMENTS("--listen", "127.0.0.1:0", "--model", MODEL), nothing,
                               nothing, err);
    close(err);
    read_address(stderr_end, &daemon);
    CURL *connection = connection_open();
    for (int i = 0; i < UNREAD_REQUESTS; i++) {
        struct reply reply;
        client_send(&daemon, &(struct call){.path = "/models", .connection = connection}, &reply);
        ck_assert_int_eq(reply.status, 200);
        reply_done(&reply);
    }
    curl_easy_cleanup(connection);
    ck_assert_double_gt(metric(&daemon, "alignd_log_lines_dropped_total"), 0);
    ck_assert_int_eq(kill(daemon.pid, SIGTERM), 0);
    ck_assert_int_eq(program_wait(daemon.pid), 0);
    close(stderr_end);
    close(nothing);
}
END_TEST

/* ---- memory ---- */

static double planned(const char *plan, const char *part) {
    char key[32];
    snprintf(key, sizeof key, " %s=", part);
    const char *found = strstr(plan, key);
    ck_assert_msg(found != NULL, "%s is not part of the plan", part);
    return atof(found + strlen(key));
}

/* What the defaults allow beside the models is at most half of the memory, and the log says so. */
START_TEST(memory_is_planned) {
    static const char *const beside[] = {"bodies", "requests", "replies",    "decoding",
                                         "files",  "cache",    "connections"};
    struct daemon daemon;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL));
    daemon_await_log(&daemon, "event=memory_plan");
    char *log = read_from_start(daemon.log);
    const char *plan = strstr(log, "event=memory_plan");
    double memory = planned(plan, "memory"), sum = 0, least = 16 << 20;
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        sum += planned(plan, beside[i]);
    ck_assert_double_le(sum, memory / 2);
    ck_assert_double_eq(planned(plan, "sum"), sum + planned(plan, "models"));
    ck_assert_double_le(planned(plan, "bodies"), memory / 16 > least ? memory / 16 : least);
    ck_assert_double_ge(planned(plan, "bodies"), least);
    free(log);
    daemon_stop(&daemon);
}
END_TEST

Suite *environment_suite(void) {
    Suite *suite = suite_create("environment");
    TCase *tcase = tcase_create("environment");
    tcase_set_timeout(tcase, TEST_TIMEOUT_S);
    if (!program_sanitized()) /* sanitizers reserve more than there is */
        tcase_add_loop_test(tcase, little_address_space, 0, sizeof spaces / sizeof *spaces);
    tcase_add_loop_test(tcase, unread_stderr, 0, sizeof channels / sizeof *channels);
    tcase_add_test(tcase, memory_is_planned);
    suite_add_tcase(suite, tcase);
    return suite;
}
