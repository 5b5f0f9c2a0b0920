/* The daemon under load: started on a free port, measured from outside, ended. Where that fails the
 * program ends. */
#ifndef ALIGND_TESTS_LOAD_SERVER_H
#define ALIGND_TESTS_LOAD_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct server {
    pid_t pid;
    int port;
    int log; /* memory file */
};

/* arguments: further ones, up to a NULL. port 0: any. Waits until it is ready. */
void server_start(struct server *server, const char *program, const char *const *arguments,
                  int port);
/* The same by a command, up to a NULL, whose last word is the program that its process becomes. */
void server_start_within(struct server *server, const char *const *command,
                         const char *const *arguments);
/* The same with a log that nobody can read: it tells neither its port nor when it is ready, so a
 * free port is chosen, and asked. */
void server_start_logging_to(struct server *server, const char *program,
                             const char *const *arguments, const char *path);
/* Sends the signal (0: none) and waits: the exit status, or 128 + signal. -1: it has not ended
 * after so many seconds, and is killed. */
int server_end(struct server *server, int signal, double patience_s);
/* The value of a key in its log's beginning, up to a blank; "" if it is not there. */
void server_logged(const struct server *server, const char *key, char *value, size_t room);
/* Its last words. */
void server_print_log(const struct server *server);

struct server_state {
    double rss_mib;
    long fds;
    double rows, queued,
        in_flight; /* of /metrics; this very request is not counted. -1: it does not answer */
};
struct server_state server_state(const struct server *server);
/* -1: it has ended. */
double server_resident_mib(const struct server *server);
/* Seconds of all its threads, since they began: on a processor, and ready while others had it. */
struct server_time {
    double run_s, waited_s;
};
struct server_time server_time(const struct server *server);
/* Seconds on a processor of those that read requests and write answers (server/decode/chores.h). */
double server_chores_s(const struct server *server);
/* The most memory that was resident since it was started, or since server_forget_peak. */
double server_peak_mib(const struct server *server);
void server_forget_peak(const struct server *server);
/* The state once nothing is under way, or after so many seconds. */
struct server_state server_calm(const struct server *server, double patience_s);
/* The same, waiting until there are no more descriptors and there is no more resident memory than
 * this, too. A reload that is under way holds both. */
struct server_state server_settled(const struct server *server, long fds, double rss_mib,
                                   double patience_s);

/* Sends bytes on a connection of its own and reads to its end, at most so many seconds. Returns the
 * status; 0: none came. reply: NULL, or [room] for the beginning of what came, NUL-terminated.
 * half_close: tells that no more bytes follow. */
int server_ask(const struct server *server, const char *bytes, size_t length, int half_close,
               double patience_s, char *reply, size_t room);
/* Connected, or -1. at_once: perhaps not yet connected. */
int server_connect(const struct server *server, bool at_once);

#endif
