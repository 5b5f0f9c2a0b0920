/* The daemon's addresses: several at once, Unix sockets, and sockets and notifications exchanged
 * with systemd. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include "tests/http/work.h"
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char folder[] = "/tmp/alignd-listeners-XXXXXX", path[64], address[80]; /* of a Unix socket */

static void setup(void) {
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/socket", folder);
    snprintf(address, sizeof address, "unix:%s", path);
}

static void teardown(void) {
    unlink(path);
    rmdir(folder);
}

static long health(const struct daemon *daemon) {
    struct reply reply;
    client_send(daemon, &(struct call){.path = "/health"}, &reply);
    long status = reply.status;
    reply_done(&reply);
    return status;
}

START_TEST(several_at_once) {
    struct daemon daemon;
    struct stat file;
    struct reply replies[3];
    daemon_start(&daemon, ARGUMENTS("--listen", address, "--listen", "127.0.0.2:0", "--model",
                                    MODEL, "--socket-mode", "0600"));
    struct daemon local = daemon_at(&daemon, address), third = daemon_at(&daemon, "");
    char *log = read_from_start(daemon.log), *found = strstr(log, "address=127.0.0.2:");
    ck_assert_ptr_nonnull(found);
    sscanf(found, "address=%127s", third.address);
    free(log);
    ck_assert_int_eq(lstat(path, &file), 0);
    ck_assert_int_eq(file.st_mode & 0777, 0600);
    client_post(&daemon, "/translate", "{'text': 'A boy plays.'}", 200, &replies[0]);
    client_post(&local, "/translate", "{'text': 'A boy plays.'}", 200, &replies[1]);
    client_post(&third, "/translate", "{'text': 'A boy plays.'}", 200, &replies[2]);
    for (size_t i = 0; i < 3; i++)
        ck_assert_str_eq(replies[i].body, replies[0].body);
    for (size_t i = 0; i < 3; i++)
        reply_done(&replies[i]);
    daemon_stop(&daemon);
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

/* Each socket has a thread of its own; what they share must bear that. */
START_TEST(load_on_every_socket) {
    enum { CLIENTS = 20 };
    struct daemon daemon;
    struct reply replies[2][CLIENTS];
    daemon_start(&daemon, ARGUMENTS("--listen", address, "--model", MODEL, "--workers", "2"));
    struct daemon local = daemon_at(&daemon, address);
    struct flight *flights[] = {flight_open(&daemon), flight_open(&local)};
    const struct call call = {
        .path = "/translate",
        .json = "{'text': ['A boy plays. The dog runs.', 'x'], 'include': ['attention']}"};
    for (size_t i = 0; i < 2 * CLIENTS; i++)
        flight_send(flights[i % 2], &call, &replies[i % 2][i / 2]);
    while (flight_move(flights[0]) + flight_move(flights[1]) >
           0) { /* bounded by the clients' patience */
    }
    for (size_t i = 0; i < 2 * CLIENTS; i++) {
        ck_assert_int_eq(replies[i % 2][i / 2].status, 200);
        ck_assert_str_eq(replies[i % 2][i / 2].body, replies[0][0].body);
    }
    for (size_t i = 0; i < 2 * CLIENTS; i++)
        reply_done(&replies[i % 2][i / 2]);
    flight_close(flights[0]);
    flight_close(flights[1]);
    daemon_stop(&daemon);
}
END_TEST

static bool begins_with(const char *line, const void *name) {
    return strncmp(line, name, strlen(name)) == 0;
}

/* The connections of an address are divided among its threads; administrators have one thread. */
START_TEST(threads_of_an_address) {
    enum { CONNECTIONS = 16 };
    struct daemon daemon;
    CURL *connections[CONNECTIONS];
    struct reply reply;
    daemon_start(&daemon,
                 ARGUMENTS("--model", MODEL, "--http-threads", "4", "--admin-listen", address,
                           "--connections", "20", "--connections-per-address", "20"));
    ck_assert_uint_eq(daemon_threads(&daemon, "comm", begins_with, "MHD-worker"), 4);
    ck_assert_uint_eq(daemon_threads(&daemon, "comm", begins_with, "MHD-single"), 1);
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < CONNECTIONS; i++) {
            if (round == 0)
                connections[i] = connection_open();
            client_send(&daemon, &(struct call){.path = "/ready", .connection = connections[i]},
                        &reply);
            ck_assert_int_eq(reply.status, 200);
            reply_done(&reply);
        }
    }
    for (size_t i = 0; i < CONNECTIONS; i++)
        curl_easy_cleanup(connections[i]);
    daemon_stop(&daemon);
}
END_TEST

START_TEST(ipv6) {
    struct daemon daemon;
    int probe = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 loopback = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    bool available =
        probe >= 0 && bind(probe, (const struct sockaddr *)&loopback, sizeof loopback) == 0;
    close(probe);
    if (!available)
        return;
    daemon_start(&daemon, ARGUMENTS("--listen", "[::1]:0", "--model", MODEL));
    struct daemon six = daemon_at(&daemon, "");
    char *log = read_from_start(daemon.log), *found = strstr(log, "address=[::1]:");
    ck_assert_ptr_nonnull(found);
    sscanf(found, "address=%127s", six.address);
    free(log);
    ck_assert_int_eq(health(&six), 200);
    daemon_stop(&daemon);
}
END_TEST

/* Requests on each socket are answered, and a client that leaves a Unix socket is noticed. */
START_TEST(drains_every_socket) {
    enum { TEXTS = 32 };
    struct daemon daemon;
    struct reply gone, replies[2];
    char *body = work_body(TEXTS, 8, 600), *endless = work_endless(64, 32);
    daemon_start(&daemon, ARGUMENTS("--listen", address, "--model", MODEL, "--workers", "1",
                                    "--rows", "64", "--step-ms", "0", WORK_ENDLESS, "--deadline-ms",
                                    "600000", "--grace-ms", "600000"));
    struct daemon local = daemon_at(&daemon, address);
    struct flight *leaving = flight_open(&local),
                  *flights[] = {flight_open(&daemon), flight_open(&local)};
    flight_send(leaving, &(struct call){.path = "/translate", .json = endless}, &gone);
    metric_await(&daemon, "alignd_rows_live", 64, leaving);
    flight_close(leaving);
    metric_await(&daemon, "alignd_cancelled_total{reason=\"client\"}", 1, NULL);
    for (size_t i = 0; i < 2; i++) { /* more wait than one of them has: both were accepted */
        flight_send(flights[i], &(struct call){.path = "/translate", .json = body}, &replies[i]);
        metric_await_least(&daemon, "alignd_queue_depth", (double)i * TEXTS + 1, flights[i]);
    }
    ck_assert_int_eq(kill(daemon.pid, SIGTERM), 0);
    for (size_t i = 0; i < 2; i++) {
        flight_land(flights[i]);
        ck_assert_int_eq(replies[i].status, 200);
        flight_close(flights[i]);
        reply_done(&replies[i]);
    }
    reply_done(&gone);
    free(body);
    free(endless);
    daemon_end(&daemon);
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

/* ---- for administrators ---- */

static long status_of(const struct daemon *daemon, const char *method, const char *target) {
    struct reply reply;
    client_send(daemon, &(struct call){.path = target, .method = method}, &reply);
    long status = reply.status;
    reply_done(&reply);
    return status;
}

static struct daemon at_logged(const struct daemon *daemon, const char *before) {
    struct daemon other = daemon_at(daemon, "");
    char *log = read_from_start(daemon->log), *found = strstr(log, before);
    ck_assert_ptr_nonnull(found);
    sscanf(found + strlen(before), "%127s", other.address);
    free(log);
    return other;
}

/* Clients that hold all other places do not block it, and it serves nothing else. */
START_TEST(administrators) {
    enum { MOST = 16 };
    struct daemon daemon;
    int held[MOST];
    daemon_start(&daemon,
                 ARGUMENTS("--model", MODEL, "--admin-listen", "127.0.0.2:0", "--admin-listen",
                           address, "--connections", "16", "--connections-per-address", "16",
                           "--read-timeout-ms", "1000000000"));
    struct daemon local = daemon_at(&daemon, address),
                  remote = at_logged(&daemon, "listening_for_administrators address=");
    for (size_t i = 0; i < MOST; i++) {
        held[i] = raw_open(&daemon);
        raw_write(held[i],
                  i % 2 ? "GET / HTTP/1.1\r\nX"
                        : "PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
                  i % 2 ? 17 : 46);
    }
    const struct daemon *doors[] = {&remote, &local};
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(status_of(doors[i], "GET", "/health"), 200);
        ck_assert_int_eq(status_of(doors[i], "GET", "/ready"), 200);
        ck_assert_int_eq(status_of(doors[i], "GET", "/metrics"), 200);
        ck_assert_int_eq(status_of(doors[i], "GET", "/models"), 200);
        ck_assert_int_eq(status_of(doors[i], "GET", "/"), 404);
        ck_assert_int_eq(status_of(doors[i], "POST", "/translate"), 404);
    }
    ck_assert_int_eq(status_of(&remote, "POST", "/models/reload"), 403);
    ck_assert_int_eq(status_of(&local, "POST", "/models/reload"),
                     200); /* the file's permissions say who may */
    for (size_t i = 0; i < MOST; i++)
        close(held[i]);
    ck_assert_int_eq(status_of(&daemon, "GET", "/health"), 200); /* there as ever */
    ck_assert_int_eq(status_of(&daemon, "POST", "/models/reload"), 403);
    daemon_stop(&daemon);
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

/* Peers at its own door that are silent, or send no complete head, make room there, too. */
START_TEST(silence_at_the_administrators_door) {
    enum { MORE = 40 };
    struct daemon daemon;
    int held[MORE];
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--admin-listen", "127.0.0.1:0",
                                    "--read-timeout-ms", "1000000000"));
    struct daemon admin = at_logged(&daemon, "listening_for_administrators address=");
    for (size_t i = 0; i < MORE; i++) {
        held[i] = raw_open(&admin);
        raw_write(held[i], "GET /health HTTP/1.1\r\nX", (i % 2) * 23);
    }
    ck_assert_int_eq(status_of(&admin, "GET", "/health"), 200);
    for (size_t i = 0; i < MORE; i++)
        close(held[i]);
    daemon_stop(&daemon);
}
END_TEST

/* `alignd health` asks there. */
START_TEST(health_of_administrators) {
    struct daemon daemon;
    struct outcome outcome;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--admin-listen", address));
    program_run(ARGUMENTS("health", "--listen", "127.0.0.1:1", "--admin-listen", address), NULL,
                &outcome);
    ck_assert_msg(outcome.status == 0, "%s", outcome.err);
    outcome_done(&outcome);
    daemon_stop(&daemon);
}
END_TEST

/* A killed daemon leaves its socket: the next one takes the place, but not that of one that lives.
 */
START_TEST(socket_left_behind) {
    struct daemon killed, daemon;
    struct outcome outcome;
    daemon_start(&killed, ARGUMENTS("--listen", address, "--model", MODEL));
    ck_assert_int_eq(kill(killed.pid, SIGKILL), 0);
    program_wait(killed.pid);
    ck_assert_int_eq(access(path, F_OK), 0);
    daemon_start(&daemon, ARGUMENTS("--listen", address, "--model", MODEL));
    program_run(ARGUMENTS("--listen", address, "--model", MODEL), NULL, &outcome);
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_ptr_nonnull(strstr(outcome.err, ": Address already in use\n"));
    outcome_done(&outcome);
    struct daemon local = daemon_at(&daemon, address);
    ck_assert_int_eq(health(&local), 200);
    daemon_stop(&daemon);
}
END_TEST

/* Also where the start fails after the socket was made. */
START_TEST(failed_start_leaves_no_socket) {
    struct outcome outcome;
    program_run(ARGUMENTS("--listen", address, "--model", "/nonexistent"), NULL, &outcome);
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_int_ne(access(path, F_OK), 0);
    outcome_done(&outcome);
}
END_TEST

/* ---- systemd ---- */

enum { HANDED_OVER = 9 }; /* what the shell below makes descriptor 3 of */

/* As systemd would start it: LISTEN_PID is the program's own. */
static void activate(struct daemon *daemon, int fd) {
    char script[256];
    const char *alignd = program;
    snprintf(script, sizeof script, "LISTEN_PID=$$ LISTEN_FDS=1 exec %s \"$@\" 3<&9 9<&-", alignd);
    ck_assert_int_eq(dup2(fd, HANDED_OVER), HANDED_OVER);
    program = "/bin/sh";
    daemon->log = memory_file("");
    daemon->certificate = NULL;
    daemon->pid = program_start(ARGUMENTS("-c", script, "alignd", "--model", MODEL), daemon->log,
                                daemon->log, daemon->log);
    program = alignd;
    close(HANDED_OVER);
}

/* The daemon serves the socket that it is given, alone and whoever connected before it was there,
 * and leaves its file to systemd.
 */
START_TEST(socket_activation) {
    struct daemon daemon;
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    strcpy(where.sun_path, path);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&where, sizeof where), 0);
    ck_assert_int_eq(listen(fd, 16), 0);
    int early = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(early, (const struct sockaddr *)&where, sizeof where), 0);
    raw_write(early, "GET /health HTTP/1.0\r\n\r\n", 24);
    activate(&daemon, fd);
    daemon_await_log(&daemon, "event=ready");
    char answer[16];
    ck_assert_int_eq(recv(early, answer, 12, MSG_WAITALL), 12);
    ck_assert_int_eq(memcmp(answer, "HTTP/1.", 7) | memcmp(answer + 8, " 200", 4), 0);
    struct daemon local = daemon_at(&daemon, address);
    ck_assert_int_eq(health(&local), 200);
    ck_assert(daemon_logged(&daemon, address));
    ck_assert(!daemon_logged(&daemon, "127.0.0.1")); /* not the default as well */
    daemon_stop(&daemon);
    ck_assert_int_eq(access(path, F_OK), 0);
    close(early);
    close(fd);
}
END_TEST

START_TEST(unusable_activation) {
    struct daemon daemon;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    activate(&daemon, fd);
    ck_assert_int_eq(daemon_wait(&daemon), 1);
    ck_assert(daemon_logged(&daemon,
                            "descriptor 3, passed by systemd, is not a listening stream socket"));
    close(fd);
}
END_TEST

static void check_note(int fd, const char *beginning) {
    char note[256] = "";
    ck_assert_int_gt(recv(fd, note, sizeof note - 1, 0), 0);
    ck_assert_msg(strncmp(note, beginning, strlen(beginning)) == 0, "wanted %s, got %s", beginning,
                  note);
}

START_TEST(notes_to_systemd) {
    struct daemon daemon;
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = 50};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    strcpy(where.sun_path, path);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&where, sizeof where), 0);
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    setenv("NOTIFY_SOCKET", path, 1);
    daemon_launch(&daemon, ARGUMENTS("--model", MODEL));
    check_note(fd, "READY=1");
    ck_assert_int_eq(kill(daemon.pid, SIGHUP), 0);
    check_note(fd, "RELOADING=1\nMONOTONIC_USEC=");
    check_note(fd, "READY=1"); /* when the models are there */
    daemon_await_log(&daemon, "what=models generation=2");
    daemon_stop(&daemon);
    check_note(fd, "STOPPING=1");
    close(fd);
}
END_TEST

Suite *listeners_suite(void) {
    Suite *suite = suite_create("listeners");
    TCase *tcase = tcase_create("listeners");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, TEST_TIMEOUT_S);
    tcase_add_test(tcase, several_at_once);
    tcase_add_test(tcase, load_on_every_socket);
    tcase_add_test(tcase, threads_of_an_address);
    tcase_add_test(tcase, ipv6);
    tcase_add_test(tcase, drains_every_socket);
    tcase_add_test(tcase, administrators);
    tcase_add_test(tcase, silence_at_the_administrators_door);
    tcase_add_test(tcase, health_of_administrators);
    tcase_add_test(tcase, socket_left_behind);
    tcase_add_test(tcase, failed_start_leaves_no_socket);
    tcase_add_test(tcase, socket_activation);
    tcase_add_test(tcase, unusable_activation);
    tcase_add_test(tcase, notes_to_systemd);
    suite_add_tcase(suite, tcase);
    return suite;
}
