/* SIGTERM: accepted requests are answered, later ones are refused, and the exit status says whether
 * that succeeded. */
#include "tests/http/client.h"
#include "tests/http/folder.h"
#include "tests/http/suites.h"
#include "tests/http/work.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* One whose rows two sentences of endless work take. */
static void start_full(struct daemon *daemon, const char *grace_ms) {
    daemon_start(daemon,
                 ARGUMENTS("--model", MODEL, "--workers", "1", "--rows", "64", "--step-ms", "0",
                           WORK_ENDLESS, "--deadline-ms", "600000", "--grace-ms", grace_ms));
}

/* When the signal arrives, one request is being decoded for as long as its client stays and holds
 * all rows, and another waits after it. */
static void signal_under_load(int signal_number) {
    enum { CLIENTS = 40, TEXTS = 4 };
    struct daemon daemon;
    struct reply live, replies[CLIENTS];
    char *endless = work_endless(2, 32), *body = work_body(TEXTS, 8, 200);
    start_full(&daemon, "600000");
    struct flight *leaving = flight_open(&daemon), *flight = flight_open(&daemon);
    flight_send(leaving, &(struct call){.path = "/translate", .json = endless}, &live);
    metric_await(&daemon, "alignd_rows_live", 64, leaving);
    for (size_t i = 0; i < CLIENTS; i++)
        flight_send(flight, &(struct call){.path = "/translate", .json = body}, &replies[i]);
    metric_await(&daemon, "alignd_queue_depth", CLIENTS * TEXTS, flight);
    ck_assert_int_eq(kill(daemon.pid, signal_number), 0);
    daemon_await_log(&daemon, "event=draining");
    flight_close(leaving);
    flight_land(flight);
    for (size_t i = 0; i < CLIENTS; i++) {
        ck_assert_int_eq(replies[i].status, 200);
        ck_assert_uint_eq(json_array_size(json_at(replies[i].json, "translations")), TEXTS);
        reply_done(&replies[i]);
    }
    flight_close(flight);
    reply_done(&live);
    free(endless);
    free(body);
    daemon_end(&daemon);
}

START_TEST(terminated_under_load) {
    signal_under_load(SIGTERM);
}
END_TEST

START_TEST(interrupted_under_load) {
    signal_under_load(SIGINT);
}
END_TEST

/* A page of markup with so many tags. */
static char *page(size_t tags) {
    static const char head[] =
        "{\"source\":\"en\",\"target\":\"fr\",\"format\":\"html\",\"q\":\"A boy plays.",
                      tag[] = "<b a=c></b>";
    char *body = malloc(sizeof head + tags * sizeof tag + 2), *out = stpcpy(body, head);
    for (size_t i = 0; i < tags; i++)
        out = stpcpy(out, tag);
    strcpy(out, "\"}");
    return body;
}

/* Of a connection's reply the status; the rest is read, too, until the connection is closed. */
static int status_of(int connection) {
    char head[13] = "";
    ck_assert_int_eq(recv(connection, head, sizeof head - 1, MSG_WAITALL), sizeof head - 1);
    ck_assert(raw_closed(connection));
    close(connection);
    return atoi(head + strlen("HTTP/1.0 "));
}

/* So many large requests, at least, have been read or wait to be: they are accepted. */
static size_t accepted(const struct daemon *daemon) {
    double done = metric(daemon, "alignd_chore_duration_seconds_count{kind=\"preparation\"}");
    return (size_t)(done + metric(daemon, "alignd_chores_waiting"));
}

/* A connection on which a page has been sent but for its last byte. */
static int begin_page(const struct daemon *daemon, const char *body) {
    char head[100];
    int connection = raw_open(daemon);
    snprintf(head, sizeof head, "POST /translate HTTP/1.0\r\nContent-Length: %zu\r\n\r\n",
             strlen(body));
    raw_write(connection, head, strlen(head));
    raw_write(connection, body, strlen(body) - 1);
    return connection;
}

/* The signal arrives while the first of several large requests, which is many times as large, is
 * read and the others wait for their turn. The last may not have arrived; it is refused then. */
START_TEST(terminated_while_large_ones_wait) {
    enum { CLIENTS = 4, TAGS = 2000 };
    struct daemon daemon;
    int connections[CLIENTS];
    char *first = page(30 * TAGS), *body = page(TAGS);
    size_t waiting, answered = 0;
    daemon_start(&daemon,
                 ARGUMENTS("--model", "weights/en-fr", "--workers", "1", "--deadline-ms", "600000",
                           "--grace-ms", "600000", "--max-body-bytes", "100000000"));
    for (size_t i = 0; i < CLIENTS; i++)
        connections[i] = begin_page(&daemon, i == 0 ? first : body);
    for (size_t i = 0; i < CLIENTS; i++)
        raw_write(connections[i], "}", 1);
    for (struct patience patience = {0}; (waiting = accepted(&daemon)) < CLIENTS - 1;)
        patience_wait(&patience, "large requests to be accepted");
    ck_assert_int_eq(kill(daemon.pid, SIGTERM), 0);
    for (size_t i = 0; i < CLIENTS; i++) {
        int status = status_of(connections[i]);
        ck_assert(status == 200 || status == 503);
        answered += status == 200;
    }
    ck_assert_uint_ge(answered, waiting);
    free(first);
    free(body);
    daemon_end(&daemon);
}
END_TEST

/* When the signal arrives, the kernel has accepted many more connections than there are places. */
START_TEST(terminated_when_crowded) {
    enum { CLIENTS = 800, RUNS = 4 };
    int connections[CLIENTS], stopped;
    for (size_t run = 0; run < RUNS; run++) {
        struct daemon daemon;
        daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--connections", "20",
                                        "--connections-per-address", "1000"));
        ck_assert_int_eq(kill(daemon.pid, SIGSTOP), 0);
        ck_assert_int_eq(waitpid(daemon.pid, &stopped, WUNTRACED), daemon.pid);
        for (size_t i = 0; i < CLIENTS; i++)
            connections[i] = raw_open(&daemon);
        ck_assert_int_eq(kill(daemon.pid, SIGTERM), 0);
        ck_assert_int_eq(kill(daemon.pid, SIGCONT), 0);
        daemon_end(&daemon);
        for (size_t i = 0; i < CLIENTS; i++)
            close(connections[i]);
    }
}
END_TEST

START_TEST(terminated_when_idle) {
    struct daemon daemon;
    struct reply reply;
    CURL *connection = connection_open(); /* open, with nothing on its way */
    daemon_start(&daemon, ARGUMENTS("--model", MODEL));
    client_send(&daemon, &(struct call){.path = "/health", .connection = connection}, &reply);
    ck_assert_int_eq(reply.status, 200);
    reply_done(&reply);
    daemon_stop(&daemon);
    client_send(&daemon, &(struct call){.path = "/health"}, &reply);
    ck_assert_int_eq(reply.status, 0);
    reply_done(&reply);
    curl_easy_cleanup(connection);
}
END_TEST

/* Connections that are open stay so while draining: each gets one more reply and is then closed. */
START_TEST(refused_while_draining) {
    static const struct call calls[] = {{.path = "/ready"},
                                        {.path = "/translate", .json = "{'text': 'x'}"},
                                        {.path = "/attention", .json = "{'text': 'x'}"},
                                        {.path = "/health"}};
    enum { CALLS = sizeof calls / sizeof *calls };
    CURL *connections[CALLS];
    struct daemon daemon;
    struct reply slow, reply;
    char *body = work_endless(64, 32);
    start_full(&daemon, "600000");
    struct flight *flight = flight_open(&daemon);
    flight_send(flight, &(struct call){.path = "/translate", .json = body}, &slow);
    metric_await(&daemon, "alignd_rows_live", 64, flight);
    for (size_t i = 0; i < CALLS; i++) {
        connections[i] = connection_open();
        client_send(&daemon, &(struct call){.path = "/ready", .connection = connections[i]},
                    &reply);
        ck_assert_int_eq(reply.status, 200);
        reply_done(&reply);
    }
    ck_assert_int_eq(kill(daemon.pid, SIGTERM), 0);
    /* the listening socket closes after the state has changed */
    for (struct patience patience = {0};;) {
        client_send(&daemon, &(struct call){.path = "/ready"}, &reply);
        long status = reply.status;
        reply_done(&reply);
        if (status == 0)
            break;
        patience_wait(&patience, "connections to be refused");
    }
    for (size_t i = 0; i < CALLS; i++) {
        char value[HEADER_BYTES];
        struct call call = calls[i];
        bool health = strcmp(call.path, "/health") == 0;
        call.connection = connections[i];
        client_send(&daemon, &call, &reply);
        ck_assert_int_eq(reply.status, health ? 200 : 503);
        ck_assert(reply_header(&reply, "Connection", value));
        ck_assert_str_eq(value, "close");
        if (!health) {
            ck_assert_str_eq(text_at(reply.json, "error"), "the server is shutting down");
            ck_assert_str_eq(text_at(reply.json, "code"), "unavailable");
            ck_assert(reply_header(&reply, "Retry-After", value));
            ck_assert_int_ge(atoi(value), 1);
        }
        reply_done(&reply);
        curl_easy_cleanup(connections[i]);
    }
    flight_close(
        flight); /* the client of the slow one leaves, so that nothing is left to be done */
    reply_done(&slow);
    free(body);
    daemon_end(&daemon);
}
END_TEST

START_TEST(second_signal_quits_at_once) {
    struct daemon daemon;
    struct reply reply;
    char *body = work_endless(64, 32);
    start_full(&daemon, "600000");
    struct flight *flight = flight_open(&daemon);
    flight_send(flight, &(struct call){.path = "/translate", .json = body}, &reply);
    metric_await(&daemon, "alignd_rows_live", 64, flight);
    ck_assert_int_eq(kill(daemon.pid, SIGTERM), 0);
    daemon_await_log(&daemon, "event=draining");
    ck_assert_int_eq(kill(daemon.pid, SIGTERM), 0);
    ck_assert_int_eq(daemon_wait(&daemon), 1);
    ck_assert(!daemon_logged(&daemon, "event=stopped"));
    flight_land(flight);
    ck_assert_int_eq(reply.status, 0); /* cut off: nobody waited for it */
    flight_close(flight);
    reply_done(&reply);
    free(body);
}
END_TEST

/* A request that takes longer than the grace time is refused instead of cut off; the exit status
 * says so. */
START_TEST(grace_time_ends) {
    struct daemon daemon;
    struct reply reply;
    char *body = work_endless(64, 32);
    start_full(&daemon, "50");
    struct flight *flight = flight_open(&daemon);
    flight_send(flight, &(struct call){.path = "/translate", .json = body}, &reply);
    metric_await(&daemon, "alignd_rows_live", 64, flight);
    ck_assert_int_eq(kill(daemon.pid, SIGTERM), 0);
    flight_land(flight);
    ck_assert_int_eq(reply.status, 503);
    ck_assert_str_eq(text_at(reply.json, "code"), "unavailable");
    ck_assert_int_eq(daemon_wait(&daemon), 1);
    ck_assert(daemon_logged(&daemon, "event=stopped clean=false"));
    flight_close(flight);
    reply_done(&reply);
    free(body);
}
END_TEST

/* A request that has not come in whole is refused, in the manner of its service, and holds nothing
 * up. */
START_TEST(half_a_request) {
    static const struct {
        const char *sent, *error;
    } rows[] = {
        {"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"text\":",
         "\"code\":\"unavailable\""},
        {"POST /translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
         "chunked\r\n\r\n8\r\n{\"text\":\r\n",
         "\"code\":\"unavailable\""},
        {"POST /v2/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
         "1000000\r\n\r\n{\"text\":",
         "\"message\":"},
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    struct daemon daemon;
    int connections[ROWS];
    daemon_start(&daemon, ARGUMENTS("--model", MODEL));
    for (size_t i = 0; i < ROWS; i++) {
        connections[i] = raw_open(&daemon);
        raw_write(connections[i], rows[i].sent, strlen(rows[i].sent));
    }
    metric_await(&daemon, "alignd_requests_in_flight", ROWS + 1, NULL);
    ck_assert_int_eq(kill(daemon.pid, SIGTERM), 0);
    ck_assert_int_eq(daemon_wait(&daemon), 0);
    for (size_t i = 0; i < ROWS; i++) {
        char reply[4096];
        ssize_t length =
            recv(connections[i], reply, sizeof reply - 1, MSG_WAITALL); /* up to its end */
        ck_assert_int_gt(length, 0);
        reply[length] = '\0';
        ck_assert_msg(strncmp(reply, "HTTP/1.1 503 ", strlen("HTTP/1.1 503 ")) == 0, "%s", reply);
        ck_assert_ptr_nonnull(strstr(reply, "\r\nConnection: close\r\n"));
        ck_assert_ptr_nonnull(strstr(reply, "\r\nRetry-After: "));
        ck_assert_ptr_nonnull(strstr(reply, "the server is shutting down"));
        ck_assert_msg(strstr(reply, rows[i].error) != NULL, "%s", reply);
        close(connections[i]);
    }
    ck_assert(daemon_logged(&daemon, "status=503"));
}
END_TEST

/* The daemon waits for its model's folder. */
static void terminate_loading(struct daemon *daemon, char *folder) {
    folder_make_waiting(folder);
    daemon_launch(daemon, ARGUMENTS("--model", folder));
    ck_assert_int_eq(kill(daemon->pid, SIGTERM), 0);
}

/* The signal is not lost. */
START_TEST(terminated_while_loading) {
    char folder[] = FOLDER_TEMPLATE;
    struct daemon daemon;
    terminate_loading(&daemon, folder);
    folder_release(folder);
    daemon_end(&daemon);
    folder_remove(folder);
}
END_TEST

/* A second one waits for no model. */
START_TEST(second_signal_while_loading) {
    char folder[] = FOLDER_TEMPLATE;
    struct daemon daemon;
    terminate_loading(&daemon, folder);
    ck_assert_int_eq(kill(daemon.pid, SIGINT), 0);
    ck_assert_int_eq(daemon_wait(&daemon), 1);
    ck_assert(!daemon_logged(&daemon, "event=model_loaded"));
    folder_remove(folder);
}
END_TEST

/* True if not all of these signals, a mask as /proc has it, are blocked. */
static bool leaves_open(const char *line, const void *signals) {
    unsigned long long blocked, all = *(const unsigned long long *)signals;
    return sscanf(line, "SigBlk: %llx", &blocked) == 1 && (blocked & all) != all;
}

/* To none that has something else to do. Some mean nothing. */
START_TEST(signals_come_to_one_thread) {
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};
    unsigned long long signals = 0;
    struct daemon daemon;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        signals |= 1ULL << (numbers[i] - 1);
    daemon_start(&daemon, ARGUMENTS("--model", MODEL));
    for (struct patience patience = {0};
         daemon_threads(&daemon, "status", leaves_open, &signals) != 1;)
        patience_wait(&patience, "one thread to wait for signals");
    ck_assert_int_eq(kill(daemon.pid, SIGUSR1), 0);
    ck_assert_int_eq(kill(daemon.pid, SIGUSR2), 0);
    daemon_stop(&daemon);
}
END_TEST

Suite *drain_suite(void) {
    Suite *suite = suite_create("drain");
    TCase *tcase = tcase_create("drain");
    tcase_set_timeout(tcase, TEST_TIMEOUT_S);
    tcase_add_test(tcase, terminated_under_load);
    tcase_add_test(tcase, interrupted_under_load);
    tcase_add_test(tcase, terminated_while_large_ones_wait);
    tcase_add_test(tcase, terminated_when_crowded);
    tcase_add_test(tcase, terminated_when_idle);
    tcase_add_test(tcase, refused_while_draining);
    tcase_add_test(tcase, second_signal_quits_at_once);
    tcase_add_test(tcase, grace_time_ends);
    tcase_add_test(tcase, half_a_request);
    tcase_add_test(tcase, terminated_while_loading);
    tcase_add_test(tcase, second_signal_while_loading);
    tcase_add_test(tcase, signals_come_to_one_thread);
    suite_add_tcase(suite, tcase);
    return suite;
}
