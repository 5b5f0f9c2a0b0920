#include "tests/http/daemon.h"
#include "tests/check.h"
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ARGUMENTS = 32, PATIENCE_MS = 50000, POLL_MS = 1, MOST_POLL_MS = 50, POLL_SHARE = 8 };

const char *program;
size_t program_files;

bool program_sanitized(void) {
    return getenv("SANITIZED") != NULL;
}

int program_slowness(void) {
    return program_sanitized() ? 4 : 1;
}

/* ---- waiting ---- */

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits a little, and longer the longer it has waited: each look takes the daemon's time. False: it
 * is over. */
static bool patience_lasts(struct patience *patience) {
    int64_t now = now_ms(), most = PATIENCE_MS * program_slowness();
    if (patience->until_ms == 0)
        patience->until_ms = now + most;
    int64_t waited = most - (patience->until_ms - now), pause = POLL_MS + waited / POLL_SHARE;
    pause = pause < MOST_POLL_MS ? pause : MOST_POLL_MS;
    nanosleep(&(struct timespec){.tv_nsec = pause * 1000000}, NULL);
    return now_ms() < patience->until_ms;
}

void patience_wait(struct patience *patience, const char *what) {
    ck_assert_msg(patience_lasts(patience), "waited too long for %s", what);
}

char *read_from_start(int fd) {
    size_t length = 0, capacity = 4096;
    char *text = malloc(capacity);
    ck_assert_ptr_nonnull(text);
    for (ssize_t count;
         (count = pread(fd, text + length, capacity - length - 1, (off_t)length)) > 0;) {
        length += (size_t)count;
        if (length + 1 == capacity) {
            capacity *= 2;
            text = realloc(text, capacity);
            ck_assert_ptr_nonnull(text);
        }
    }
    text[length] = '\0';
    return text;
}

/* libcheck gives up at messages longer than 4 kB. */
enum { SHOWN = 3000 };

static const char *end_of(const char *log) {
    size_t length = strlen(log);
    return log + (length > SHOWN ? length - SHOWN : 0);
}

static void check_sanitizers(const char *log) {
    const char *report = strstr(log, "Sanitizer");
    ck_assert_msg(!report, "%.*s", SHOWN, report);
}

int memory_file(const char *text) {
    int fd = memfd_create("test", MFD_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    /* the kernel does not lock the position of a memory file: of two lines written at once one
     * would be lost */
    ck_assert_int_eq(fcntl(fd, F_SETFL, O_APPEND), 0);
    size_t length = strlen(text);
    ck_assert_int_eq(write(fd, text, length), (ssize_t)length);
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

/* ---- any run ---- */

/* In the child. */
static void become_program(pid_t parent, const char *const *arguments, const int descriptors[3]) {
    char *copies[MAX_ARGUMENTS + 2] = {strdup(program)};
    for (size_t i = 0; i < MAX_ARGUMENTS && arguments[i]; i++)
        copies[i + 1] = strdup(arguments[i]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127); /* it was gone before the line above */
    if (program_files > 0)
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){program_files, program_files});
    for (int i = 0; i < 3; i++)
        dup2(descriptors[i], i);
    execv(program, copies);
    perror(program);
    _exit(127);
}

pid_t program_start(const char *const *arguments, int in, int out, int err) {
    pid_t parent = getpid(), pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        become_program(parent, arguments, (int[]){in, out, err});
    return pid;
}

static int exit_status(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int program_wait(pid_t pid) {
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return exit_status(status);
}

void program_run(const char *const *arguments, const char *input, struct outcome *outcome) {
    int in = memory_file(input ? input : ""), out = memory_file(""), err = memory_file("");
    outcome->status = program_wait(program_start(arguments, in, out, err));
    outcome->out = read_from_start(out);
    outcome->err = read_from_start(err);
    check_sanitizers(outcome->err);
    close(in);
    close(out);
    close(err);
}

void outcome_done(struct outcome *outcome) {
    free(outcome->out);
    free(outcome->err);
}

/* ---- the daemon ---- */

bool daemon_logged(const struct daemon *daemon, const char *text) {
    char *log = read_from_start(daemon->log);
    bool found = strstr(log, text) != NULL;
    free(log);
    return found;
}

/* True for a child that has ended; it can still be waited for. */
static bool has_ended(pid_t pid) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

size_t daemon_threads(const struct daemon *daemon, const char *file,
                      bool (*fits)(const char *line, const void *about), const void *about) {
    char path[64], line[128];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)daemon->pid);
    DIR *tasks = opendir(path);
    ck_assert_ptr_nonnull(tasks);
    for (const struct dirent *task; (task = readdir(tasks)) != NULL;) {
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/%.10s", (int)daemon->pid, task->d_name,
                 file);
        FILE *lines = *task->d_name != '.' ? fopen(path, "r") : NULL;
        while (lines && fgets(line, sizeof line, lines))
            count += fits(line, about);
        if (lines)
            fclose(lines);
    }
    closedir(tasks);
    return count;
}

void daemon_await_log(const struct daemon *daemon, const char *text) {
    struct patience patience = {0};
    for (bool waiting = true; !daemon_logged(daemon, text);
         waiting = !has_ended(daemon->pid) && patience_lasts(&patience))
        if (!waiting) {
            char *log = read_from_start(daemon->log);
            ck_abort_msg("the log is without %s:\n%s", text, log);
        }
}

struct daemon daemon_at(const struct daemon *daemon, const char *address) {
    struct daemon other = *daemon;
    ck_assert_int_lt(snprintf(other.address, sizeof other.address, "%s", address),
                     (int)sizeof other.address);
    return other;
}

/* Reads the port from the line that tells it, once that line is whole. */
static bool read_address(struct daemon *daemon) {
    static const char *const keys[] = {"event=listening address=",
                                       "\"event\":\"listening\",\"address\":\""};
    char *log = read_from_start(daemon->log);
    bool whole = false;
    for (size_t i = 0; i < 2 && !whole; i++) {
        const char *found = strstr(log, keys[i]);
        whole = found && strchr(found, '\n');
        if (whole) {
            found += strlen(keys[i]);
            snprintf(daemon->address, sizeof daemon->address, "%.*s", (int)strcspn(found, " \"\n"),
                     found);
        }
    }
    free(log);
    return whole;
}

/* A daemon that has ended will never be what the test waits for. */
static void check_alive(const struct daemon *daemon) {
    int status;
    if (waitpid(daemon->pid, &status, WNOHANG) == 0)
        return;
    char *log = read_from_start(daemon->log);
    ck_abort_msg("the daemon ended:\n%s", log);
}

void daemon_launch(struct daemon *daemon, const char *const *arguments) {
    const char *all[MAX_ARGUMENTS + 1] = {"--listen", "127.0.0.1:0"};
    for (size_t i = 0; i < MAX_ARGUMENTS - 2 && arguments[i]; i++)
        all[i + 2] = arguments[i];
    int nothing = memory_file("");
    daemon->certificate = NULL;
    daemon->log = memory_file("");
    daemon->pid = program_start(all, nothing, nothing, daemon->log);
    close(nothing);
    for (struct patience patience = {0}; !read_address(daemon);) {
        check_alive(daemon);
        patience_wait(&patience, "the daemon to listen");
    }
}

void daemon_await_ready(const struct daemon *daemon) {
    for (struct patience patience = {0};;) {
        struct reply reply;
        client_send(daemon, &(struct call){.path = "/ready"}, &reply);
        long status = reply.status;
        reply_done(&reply);
        if (status == 200)
            return;
        check_alive(daemon);
        patience_wait(&patience, "the daemon to be ready");
    }
}

void daemon_start(struct daemon *daemon, const char *const *arguments) {
    daemon_launch(daemon, arguments);
    daemon_await_ready(daemon);
}

int daemon_wait(struct daemon *daemon) {
    int status = 0;
    pid_t ended;
    for (struct patience patience = {0};
         (ended = waitpid(daemon->pid, &status, WNOHANG)) == 0 && patience_lasts(&patience);) {
    }
    char *log = read_from_start(daemon->log);
    check_sanitizers(log);
    ck_assert_msg(ended == daemon->pid, "the daemon does not end:\n%s", end_of(log));
    free(log);
    return exit_status(status);
}

void daemon_end(struct daemon *daemon) {
    int status = daemon_wait(daemon);
    char *log = read_from_start(daemon->log);
    ck_assert_msg(status == 0, "exit status %d:\n%s", status, end_of(log));
    ck_assert(strstr(log, "event=stopped clean=true\n") ||
              strstr(log, "\"event\":\"stopped\",\"clean\":\"true\"}\n"));
    free(log);
    close(daemon->log);
}

void daemon_stop(struct daemon *daemon) {
    ck_assert_int_eq(kill(daemon->pid, SIGTERM), 0);
    daemon_end(daemon);
}
