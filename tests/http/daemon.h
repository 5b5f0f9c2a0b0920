/* Starts, watches and stops the program under test. Its output goes to memory files, so that it
 * never waits for a reader; it dies with the test that started it. If something goes wrong, these
 * functions fail the test. */
#ifndef ALIGND_TESTS_HTTP_DAEMON_H
#define ALIGND_TESTS_HTTP_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MODEL "tests/golden/luong-general-gru"

/* Arguments of the program, at least one. */
#define ARGUMENTS(...) ((const char *const[]){__VA_ARGS__, NULL})

extern const char *program;  /* path of alignd, set by main */
extern size_t program_files; /* how many files it may open; 0: as many as the test */
/* A sanitizer watches the program, as the variable SANITIZED says: it is slower, and has allocation
 * functions of its own, which take memory. */
bool program_sanitized(void);
/* How many times as much patience the program needs. */
int program_slowness(void);

/* ---- any run ---- */

/* Starts the program. in, out, err: descriptors that become its stdin, stdout and stderr. */
pid_t program_start(const char *const *arguments, int in, int out, int err);
/* Waits for the end: the exit status, or 128 + signal. */
int program_wait(pid_t pid);

struct outcome {
    int status;      /* as of program_wait */
    char *out, *err; /* NUL-terminated */
};
/* Runs the program from start to end. input: its stdin; NULL: empty. End the outcome with
 * outcome_done. */
void program_run(const char *const *arguments, const char *input, struct outcome *outcome);
void outcome_done(struct outcome *outcome);

/* ---- the daemon ---- */

struct daemon {
    pid_t pid;
    int log;                 /* memory file: its stderr */
    char address[128];       /* "127.0.0.1:PORT", or for clients "unix:PATH" */
    const char *certificate; /* file that the client trusts: it speaks HTTPS then; NULL: HTTP */
};

/* Starts a daemon on a free port and waits until it is ready. daemon_launch only waits until it
 * listens: of one that speaks HTTPS, the caller sets the certificate then. */
void daemon_start(struct daemon *daemon, const char *const *arguments);
void daemon_launch(struct daemon *daemon, const char *const *arguments);
void daemon_await_ready(const struct daemon *daemon);
/* SIGTERM, then daemon_end. */
void daemon_stop(struct daemon *daemon);
/* Waits for the end, which must be a clean one: all answered, exit status 0, no word from a
 * sanitizer. */
void daemon_end(struct daemon *daemon);
/* Waits for the end: the exit status as of program_wait. No word from a sanitizer, either. */
int daemon_wait(struct daemon *daemon);
/* Counts the daemon's threads of which a line in this file of /proc/PID/task/TID fits. */
size_t daemon_threads(const struct daemon *daemon, const char *file,
                      bool (*fits)(const char *line, const void *about), const void *about);
/* True if the log holds this text. */
bool daemon_logged(const struct daemon *daemon, const char *text);
void daemon_await_log(const struct daemon *daemon, const char *text);
/* The same daemon at another of its addresses. */
struct daemon daemon_at(const struct daemon *daemon, const char *address);

/* ---- waiting ---- */

/* Polling, bounded: for (struct patience patience = {0}; !happened();) patience_wait(&patience,
 * "what"); */
struct patience {
    int64_t until_ms; /* 0: not begun */
};
void patience_wait(struct patience *patience, const char *what);

/* A descriptor's content from its beginning, NUL-terminated; the caller frees it. */
char *read_from_start(int fd);
/* A new memory file that holds this text, to be read from its beginning. The caller closes it. */
int memory_file(const char *text);

#endif
