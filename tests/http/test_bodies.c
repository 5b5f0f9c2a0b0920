/* Bodies of requests: what is answered without reading them, and the memory that they share. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LONG = 300000 };
#define FIRST   "127.0.0.1"
#define SECOND  "127.0.0.2"
#define WAITING "alignd_bodies_waiting"
#define BYTES   "alignd_body_bytes"

/* Sends a head that announces a long body, and no body. Returns the reply, after which the daemon
 * must close the connection. */
static char *announce(const struct daemon *daemon, const char *line, const char *headers) {
    char head[1000];
    int length = snprintf(head, sizeof head,
                          "%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n%s\r\n", line,
                          LONG, headers);
    return raw_send(daemon, head, (size_t)length, false);
}

static void refuse(const struct daemon *daemon, const char *line, const char *headers,
                   const char *status) {
    char expected[100], *reply = announce(daemon, line, headers);
    snprintf(expected, sizeof expected, "HTTP/1.1 %s ", status);
    ck_assert_msg(strncmp(reply, expected, strlen(expected)) == 0, "%s: %s", line, reply);
    ck_assert_msg(strstr(reply, "\r\nConnection: close\r\n"), "%s: %s", line, reply);
    free(reply);
}

START_TEST(the_head_suffices) {
    static const char *const chunked =
        "POST /nope HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
    struct daemon daemon;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--rate", "0.01", "--burst", "1"));
    refuse(&daemon, "POST /nope", "", "404");
    refuse(&daemon, "PUT /translate", "", "405");
    refuse(&daemon, "POST /translate", "Content-Encoding: gzip\r\n", "415");
    char *reply = raw_send(&daemon, chunked, strlen(chunked), false);
    ck_assert_msg(strncmp(reply, "HTTP/1.1 404 ", 13) == 0, "%s", reply);
    free(reply);

    struct reply first;
    client_post(&daemon, "/translate", "{'text': 'A boy plays.'}", 200, &first);
    reply_done(&first);
    refuse(&daemon, "POST /translate", "", "429");
    daemon_stop(&daemon);

    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--max-body-bytes", "299999",
                                    "--document-bytes", "299999"));
    refuse(&daemon, "POST /translate", "", "413");
    refuse(&daemon, "POST /documents", "", "413");
    daemon_stop(&daemon);
}
END_TEST

/* A key in a header is checked at once, and so is that none is there, unless the body may have it;
 * then the body counts. */
START_TEST(a_key_is_in_the_head) {
    static const char *const unkeyed[] = {
        "POST /mcp",  "POST /attention", "POST /align",        "POST /translate/batch",
        "POST /kiss", "POST /deeplx",    "POST /breaksentence"};
    char file[] = "/tmp/alignd-keys-XXXXXX";
    struct outcome outcome;
    program_run(ARGUMENTS("key", "--name", "alice"), NULL, &outcome);
    int fd = mkstemp(file);
    ck_assert_int_eq(write(fd, outcome.out, strlen(outcome.out)), (ssize_t)strlen(outcome.out));
    close(fd);
    outcome_done(&outcome);

    struct daemon daemon;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--api-keys", file));
    refuse(&daemon, "POST /translate", "Authorization: Bearer wrong\r\n", "403");
    refuse(&daemon, "POST /translate?api_key=wrong", "", "403");
    refuse(&daemon, "POST /v2/translate", "Authorization: DeepL-Auth-Key wrong\r\n", "403");
    for (size_t i = 0; i < sizeof unkeyed / sizeof *unkeyed; i++) {
        refuse(&daemon, unkeyed[i], "Content-Type: application/json\r\n", "401");
        refuse(&daemon, unkeyed[i], "Content-Type: application/x-www-form-urlencoded\r\n", "401");
    }
    refuse(&daemon, "POST /v2/document", "Authorization: DeepL-Auth-Key wrong\r\n", "403");
    struct reply reply;
    client_post(&daemon, "/translate",
                "{'q': 'x', 'source': 'en', 'target': 'fr', 'api_key': 'wrong'}", 403, &reply);
    reply_done(&reply);
    daemon_stop(&daemon);
    unlink(file);
}
END_TEST

/* A short body is read, so that the connection stays. */
START_TEST(a_short_rest_keeps_the_connection) {
    static const char requests[] =
        "POST /nope HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nabcd"
        "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    struct daemon daemon;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL));
    char *replies = raw_send(&daemon, requests, sizeof requests - 1, false);
    ck_assert_msg(strncmp(replies, "HTTP/1.1 404 ", 13) == 0 && strstr(replies, "HTTP/1.1 200 "),
                  "%s", replies);
    free(replies);
    daemon_stop(&daemon);
}
END_TEST

/* ---- memory ---- */

static int begin(const struct daemon *daemon, const char *from, const char *text, size_t padding) {
    char head[200], *body = malloc(padding + 100);
    int start = sprintf(body, "{\"text\":\"%s\"", text);
    memset(body + start, ' ', padding);
    size_t length = (size_t)start + padding + 1;
    body[length - 1] = '}';
    int connection = raw_open_from(daemon, from);
    int bytes = snprintf(head, sizeof head,
                         "POST /translate HTTP/1.1\r\nHost: localhost\r\nConnection: "
                         "close\r\nContent-Type: application/json\r\n"
                         "Content-Length: %zu\r\n\r\n",
                         length);
    raw_write(connection, head, (size_t)bytes);
    raw_write(connection, body, length - 1);
    free(body);
    return connection;
}

static void finish(int connection) {
    char reply[13] = "";
    raw_write(connection, "}", 1);
    ck_assert_int_eq(recv(connection, reply, 12, MSG_WAITALL), 12);
    ck_assert_str_eq(reply, "HTTP/1.1 200");
    close(connection);
}

/* The second body of a client waits, unread, until the first is answered; another client does not.
 */
START_TEST(a_client_waits_for_its_share) {
    struct daemon daemon;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--body-memory", "262144"));
    int first = begin(&daemon, FIRST, "A boy plays.", 40000);
    metric_await(&daemon, BYTES, 65536, NULL);
    int second = begin(&daemon, FIRST, "A girl plays.", 40000);
    metric_await(&daemon, WAITING, 1, NULL);
    int other = begin(&daemon, SECOND, "A dog runs.", 40000);
    finish(other);
    ck_assert_double_eq(metric(&daemon, WAITING), 1);
    finish(first);
    metric_await(&daemon, WAITING, 0, NULL);
    finish(second);
    metric_await(&daemon, BYTES, 0, NULL);
    daemon_stop(&daemon);
}
END_TEST

/* A client that leaves while it waits is noticed, and one that waits too long is cut off. */
START_TEST(waits_end) {
    struct daemon daemon;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--body-memory", "262144",
                                    "--read-timeout-ms", "1000"));
    int first = begin(&daemon, FIRST, "A boy plays.", 40000),
        leaver = begin(&daemon, FIRST, "A girl plays.", 40000);
    metric_await(&daemon, WAITING, 1, NULL);
    close(leaver);
    metric_await(&daemon, WAITING, 0, NULL);
    ck_assert(raw_closed(first));
    close(first);

    first = begin(&daemon, FIRST, "A boy plays.", 40000);
    int second = begin(&daemon, FIRST, "A girl plays.", 40000);
    metric_await(&daemon, WAITING, 1, NULL);
    ck_assert(raw_closed(first) && raw_closed(second));
    close(first);
    close(second);
    metric_await(&daemon, BYTES, 0, NULL);
    metric_await(&daemon, "alignd_requests_in_flight", 1, NULL); /* the one that asks */
    daemon_stop(&daemon);
}
END_TEST

/* Clients that have left before their body begins to wait are noticed, too. */
START_TEST(who_has_left_does_not_wait) {
    enum { LEAVERS = 300 };
    struct daemon daemon;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--body-memory", "262144"));
    int first = begin(&daemon, FIRST, "A boy plays.", 40000);
    metric_await(&daemon, BYTES, 65536, NULL);
    for (size_t i = 0; i < LEAVERS; i++)
        close(begin(&daemon, FIRST, "A girl plays.", 40000));
    metric_await(&daemon, "alignd_requests_total{endpoint=\"/translate\",code=\"499\"}", LEAVERS,
                 NULL);
    ck_assert_double_eq(metric(&daemon, WAITING), 0);
    finish(first);
    daemon_stop(&daemon);
}
END_TEST

/* A daemon stops while bodies wait. */
START_TEST(stopping_ends_waits) {
    struct daemon daemon;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--body-memory", "262144"));
    int first = begin(&daemon, FIRST, "A boy plays.", 40000),
        second = begin(&daemon, FIRST, "A girl plays.", 40000);
    metric_await(&daemon, WAITING, 1, NULL);
    daemon_stop(&daemon);
    close(first);
    close(second);
}
END_TEST

Suite *request_bodies_suite(void) {
    Suite *suite = suite_create("request_bodies");
    TCase *tests = tcase_create("request_bodies");
    tcase_set_timeout(tests, TEST_TIMEOUT_S);
    tcase_add_test(tests, the_head_suffices);
    tcase_add_test(tests, a_key_is_in_the_head);
    tcase_add_test(tests, a_short_rest_keeps_the_connection);
    tcase_add_test(tests, a_client_waits_for_its_share);
    tcase_add_test(tests, waits_end);
    tcase_add_test(tests, who_has_left_does_not_wait);
    tcase_add_test(tests, stopping_ends_waits);
    suite_add_tcase(suite, tests);
    return suite;
}
