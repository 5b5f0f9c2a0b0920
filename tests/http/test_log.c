/* The log: a line for each request, every line whole, and no user data except a valid request id.
 */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <stdlib.h>
#include <string.h>

#define SECRET "Zanzibar"

static const struct call calls[] = {
    {.path = "/translate", .json = "{'text': '" SECRET "'}"},
    {.path = "/translate", .json = "{'text': '" SECRET "', 'strategy': 'sample', 'stream': true}"},
    {.path = "/attention", .json = "{'text': '" SECRET "', 'target': '" SECRET "'}"},
    {.path = "/translate", .json = "{'text': '" SECRET "', 'beam_size': 'x'}"},
    {.path = "/translate", .json = "{'text': 'x', 'strategy': '" SECRET "'}"},
    {.path = "/translate", .json = "{'text': 'x', 'model': '" SECRET "'}"},
    {.path = "/translate", .json = "{'text': 'x', '" SECRET "': 1}"},
    {.path = "/translate",
     .json = "{'text': '" SECRET "', 'glossary': {'" SECRET "': '" SECRET "'}}"},
    {.path = "/translate", .json = "{" SECRET},
    {.path = "/translate", .json = SECRET},
    {.path = "/translate", .json = "{'q': '" SECRET "', 'source': 'auto', 'target': 'fr'}"},
    {.path = "/translate",
     .json = "{'q': 'x', 'source': '" SECRET "', 'target': 'fr', 'api_key': '" SECRET "'}"},
    {.path = "/translate", .body = "q=" SECRET "&source=en&target=fr"},
    {.path = "/translate?q=" SECRET "&source=en&target=" SECRET},
    {.path = "/detect", .json = "{'q': '" SECRET "'}"},
    {.path = "/" SECRET},
    {.path = "/page/" SECRET},
    {.path = "/health?" SECRET "=" SECRET},
    {.path = "/health", .method = SECRET},
    {.path = "/health",
     .headers = {"User-Agent: " SECRET, "Authorization: Bearer " SECRET, "Cookie: " SECRET}},
    {.path = "/translate",
     .json = "{}",
     .headers = {"Content-Type: " SECRET, "X-Deadline-Ms: " SECRET, "Origin: " SECRET}},
    {.path = "/health", .headers = {"X-Request-Id: " SECRET " with a space"}},
};
enum { CALLS = sizeof calls / sizeof *calls };

/* So many lines of requests. The caller frees it. */
static char *await_requests(const struct daemon *daemon, const char *what, size_t count) {
    for (struct patience patience = {0};;) {
        char *log = read_from_start(daemon->log);
        if (count_of(log, what) >= count)
            return log;
        free(log);
        patience_wait(&patience, "the log lines");
    }
}

static void send_all(const struct daemon *daemon) {
    for (size_t i = 0; i < CALLS; i++) {
        struct reply reply;
        client_send(daemon, &calls[i], &reply);
        ck_assert_msg(reply.status > 0, "%s", calls[i].path);
        reply_done(&reply);
    }
}

START_TEST(never_the_users_text) {
    static const char *const formats[] = {"text", "json"};
    struct daemon daemon;
    daemon_launch(&daemon,
                  ARGUMENTS("--model", MODEL, "--log-level", "debug", "--log-format", formats[_i]));
    daemon_await_ready(&daemon);
    send_all(&daemon);
    char *log = await_requests(&daemon, _i ? "\"event\":\"request\"" : "event=request ", CALLS + 1);
    ck_assert_msg(!strstr(log, SECRET), "%s", log);
    free(log);
    daemon_stop(&daemon);
}
END_TEST

START_TEST(lines_are_objects) {
    struct daemon daemon;
    struct reply reply;
    size_t requests = 0, with_id = 0;
    daemon_start(&daemon,
                 ARGUMENTS("--model", MODEL, "--log-level", "debug", "--log-format", "json"));
    send_all(&daemon);
    client_send(&daemon, &(struct call){.path = "/health", .headers = {"X-Request-Id: my\"id\\"}},
                &reply);
    reply_done(&reply);
    daemon_await_log(&daemon, "my\\\"id"); /* a line is written after its reply */
    char *log = await_requests(&daemon, "\"event\":\"request\"", CALLS + 2), *rest = log;
    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        json_t *root = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        ck_assert_msg(root, "%s", line);
        ck_assert(json_is_string(json_object_get(root, "time")) &&
                  json_is_string(json_object_get(root, "level")));
        const char *event = json_string_value(json_object_get(root, "event"));
        if (strcmp(event, "request") == 0) {
            requests++;
            with_id += strcmp(text_at(root, "id"), "my\"id\\") == 0;
            ck_assert_double_ge(number_at(root, "status"), 200);
            ck_assert_double_ge(number_at(root, "duration_ms"), 0);
        }
        json_decref(root);
    }
    ck_assert_uint_ge(requests, CALLS + 2);
    ck_assert_uint_eq(with_id, 1);
    free(log);
    daemon_stop(&daemon);
}
END_TEST

/* The resources of a request, and its trace. */
START_TEST(traces) {
    static const char *const bad[] = {
        "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
        "traceparent: 00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "traceparent: 00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"};
    struct daemon daemon;
    struct reply reply;
    char trace[HEADER_BYTES];
    daemon_start(&daemon, ARGUMENTS("--model", MODEL));
    client_send(
        &daemon,
        &(struct call){
            .path = "/translate",
            .json = "{'text': 'word', 'min_length': 5, 'max_length': 5}",
            .headers = {"traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}},
        &reply);
    ck_assert_int_eq(reply.status, 200);
    ck_assert(reply_header(&reply, "traceparent", trace));
    ck_assert_str_eq(trace, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    reply_done(&reply);
    daemon_await_log(&daemon, " trace=4bf92f3577b34da6a3ce929d0e0e4736 key=-\n");
    ck_assert(daemon_logged(&daemon, " model=luong-general-gru tokens=5 queue_ms="));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        client_send(&daemon, &(struct call){.path = "/health", .headers = {bad[i]}}, &reply);
        ck_assert(!reply_header(&reply, "traceparent", trace));
        reply_done(&reply);
    }
    daemon_await_log(&daemon, " model=- tokens=0 queue_ms=0.000 decode_ms=0.000 trace=- key=-\n");
    daemon_stop(&daemon);
}
END_TEST

START_TEST(levels) {
    struct daemon daemon;
    struct reply reply;
    daemon_launch(&daemon, ARGUMENTS("--model", MODEL, "--log-level", "info"));
    client_send(&daemon, &(struct call){.path = "/health", .headers = {"X-Request-Id: the-id"}},
                &reply);
    reply_done(&reply);
    free(await_requests(
        &daemon, "level=info event=request id=the-id method=GET endpoint=/health status=200", 1));
    daemon_stop(&daemon);
    struct outcome outcome;
    program_run(ARGUMENTS("--model", MODEL, "--log-level", "loud"), NULL, &outcome);
    ck_assert_int_eq(outcome.status, 2);
    outcome_done(&outcome);
    program_run(ARGUMENTS("--model", "/nowhere", "--log-level", "error", "--log-format", "json",
                          "--listen", "127.0.0.1:0"),
                NULL, &outcome);
    ck_assert_int_eq(outcome.status, 1);
    json_t *only = json_loads(outcome.err, 0, NULL);
    ck_assert_str_eq(text_at(only, "event"), "failed");
    ck_assert_ptr_nonnull(strstr(text_at(only, "message"), "/nowhere"));
    json_decref(only);
    outcome_done(&outcome);
}
END_TEST

Suite *log_suite(void) {
    Suite *suite = suite_create("log");
    TCase *tests = tcase_create("log");
    tcase_set_timeout(tests, TEST_TIMEOUT_S);
    tcase_add_loop_test(tests, never_the_users_text, 0, 2);
    tcase_add_test(tests, lines_are_objects);
    tcase_add_test(tests, traces);
    tcase_add_test(tests, levels);
    suite_add_tcase(suite, tests);
    return suite;
}
