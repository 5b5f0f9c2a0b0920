/* `stream`: the events and their order, and streams whose reader is slow or leaves, whose deadline
 * passes, or whose daemon stops. */
#include "tests/http/client.h"
#include "tests/http/sse.h"
#include "tests/http/suites.h"
#include "tests/http/work.h"
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENT_GONE "alignd_cancelled_total{reason=\"client\"}"
#define DEADLINE    "alignd_cancelled_total{reason=\"deadline\"}"
#define ROWS        "alignd_rows_live"

static struct daemon served;

static void setup(void) {
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--workers", "2", WORK_ENDLESS,
                                    "--deadline-ms", "600000"));
}

static void teardown(void) {
    daemon_stop(&served);
}

static struct sse stream(const char *path, const char *json) {
    struct reply reply;
    client_send(&served, &(struct call){.path = path, .json = json}, &reply);
    ck_assert_msg(reply.status == 200, "%ld %s", reply.status, reply.body ? reply.body : "");
    struct sse sse = sse_read(reply.body);
    reply_done(&reply);
    return sse;
}

/* The result of a stream is the reply without it. */
static void check_like_plain(const char *path, const char *json, const char *array, bool tokens) {
    char streamed[1000];
    struct reply plain;
    snprintf(streamed, sizeof streamed, "{'stream': true, %s", json + 1);
    struct sse sse = stream(path, streamed);
    sse_check(&sse, array);
    ck_assert_int_eq(sse_count(&sse, "token") > 0, tokens);
    client_post(&served, path, json, 200, &plain);
    ck_assert_msg(json_equal(sse_last(&sse, "result"), plain.json), "%s", json);
    reply_done(&plain);
    sse_done(&sse);
}

/* ---- events ---- */

START_TEST(headers) {
    struct reply reply;
    char value[HEADER_BYTES];
    struct call call = {.path = "/translate",
                        .json = "{'text': 'A boy.', 'strategy': 'greedy', 'stream': true}",
                        .headers = {"X-Request-Id: mine"}};
    client_send(&served, &call, &reply);
    ck_assert(reply_header(&reply, "Content-Type", value));
    ck_assert_str_eq(value, "text/event-stream");
    ck_assert(reply_header(&reply, "Cache-Control", value));
    ck_assert_str_eq(value, "no-cache");
    ck_assert(reply_header(&reply, "X-Accel-Buffering", value));
    ck_assert_str_eq(value, "no");
    ck_assert(reply_header(&reply, "X-Request-Id", value));
    ck_assert_str_eq(value, "mine");
    ck_assert(reply_header(&reply, "Access-Control-Allow-Origin", value));
    ck_assert_str_eq(value, "*");
    ck_assert(!reply_header(&reply, "Content-Length", value));
    reply_done(&reply);
}
END_TEST

START_TEST(every_strategy) {
    static const struct {
        const char *json;
        bool tokens;
    } cases[] = {
        {"{'text': 'A boy plays. It snows.', 'strategy': 'greedy'}", true},
        {"{'text': 'A boy plays. It snows.', 'strategy': 'sample', 'seed': 7}", true},
        {"{'text': 'A boy plays. It snows.', 'strategy': 'sample', 'seed': 7, 'n_best': 3}", false},
        {"{'text': 'A boy plays. It snows.', 'strategy': 'beam', 'n_best': 2}", false},
        {"{'text': 'A boy plays. It snows.', 'strategy': 'exact', 'max_length': 4}", false},
        {"{'text': 'A boy plays. It snows.'}", false},
        {"{'text': ['A boy.', '', 'It snows. A dog. A cat.', ' '], 'strategy': 'greedy'}", true},
        {"{'text': 'A boy.', 'strategy': 'greedy', 'prefix': 'un  gar'}", true},
        {"{'text': 'A boy.', 'strategy': 'greedy', 'min_length': 500, 'max_length': 500}", true},
        {"{'text': 'A boy.', 'strategy': 'greedy', 'max_length': 1}", true},
        {"{'text': 'A boy.', 'strategy': 'greedy', 'no_repeat_ngram': 2, 'repetition_penalty': 2, "
         "'include': ['tokens', 'eos']}",
         true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_like_plain("/translate", cases[i].json, "translations", cases[i].tokens);
}
END_TEST

START_TEST(every_output) {
    static const char all[] = "'include': ['tokens', 'log_probs', 'attention', 'soft_alignment', "
                              "'alignment', 'words', 'offsets', "
                              "'entropy', 'top_k', 'beam', "
                              "'eos']}";
    static const char *const cases[][2] = {
        {"/translate", "{'text': [' A boy plays.  It \xC3\xA9t\xC3\xA9 \xF0\x9F\x98\x80. End. ', "
                       "'x'], 'strategy': 'greedy', "},
        {"/translate", "{'text': [' A boy plays.  It snows. '], 'strategy': 'beam', 'n_best': 2, "},
        {"/attention", "{'text': ['A boy plays.  It snows.'], 'strategy': 'greedy', "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[600];
        snprintf(json, sizeof json, "%s%s", cases[i][1], all);
        check_like_plain(cases[i][0], json, i < 2 ? "translations" : "results", i != 1);
    }
    check_like_plain("/attention", "{'text': ['a', 'b'], 'translation': ['c d', 'e']}", "results",
                     false);
    check_like_plain("/translate", "{'text': [' ', '']}", "translations", false);
}
END_TEST

START_TEST(log_probs_add_up) {
    struct sse sse =
        stream("/attention",
               "{'text': 'A boy.', 'strategy': 'greedy', 'include': ['eos'], 'stream': true}");
    double sum = 0;
    for (size_t i = 0; strcmp(sse.events[i].name, "token") == 0; i++)
        sum += number_at(sse.events[i].data, "log_prob");
    ck_assert_double_eq_tol(
        sum, number_at(sse_last(&sse, "result"), "results.0.sentences.0.log_prob"), 1e-3);
    sse_done(&sse);
}
END_TEST

/* Pieces, words, characters; words that are copied, replaced and spelt: the text is put together in
 * each of them. */
START_TEST(every_vocabulary) {
    static const char *const models[] = {
        "tests/golden/tokenizer-words",   "tests/golden/tokenizer-characters",
        "tests/golden/copy-words",        "tests/golden/copy",
        "tests/golden/output-characters", "tests/golden/pointer-generator"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char config[200];
        snprintf(config, sizeof config, "%s/config.json", models[i]);
        ck_assert_msg(access(config, R_OK) == 0, "no %s", config);
        daemon_start(&served, ARGUMENTS("--model", models[i]));
        for (int seed = 0; seed < 20; seed++) {
            char json[200];
            snprintf(json, sizeof json,
                     "{'text': 'A boy plays in the snow, zyx.', 'strategy': 'sample', "
                     "'temperature': 3, 'min_length': 12, 'max_length': "
                     "30, 'seed': %d}",
                     seed);
            check_like_plain("/translate", json, "translations", true);
        }
        daemon_stop(&served);
    }
}
END_TEST

START_TEST(connection_is_kept) {
    CURL *connection = connection_open();
    for (int i = 0; i < 3; i++) {
        struct reply reply;
        struct call call = {.path = "/translate",
                            .json = "{'text': 'A boy.', 'strategy': 'greedy', 'stream': true}",
                            .connection = connection};
        long connects = -1;
        client_send(&served, &call, &reply);
        struct sse sse = sse_read(reply.body);
        sse_check(&sse, "translations");
        curl_easy_getinfo(connection, CURLINFO_NUM_CONNECTS, &connects);
        ck_assert_int_eq(connects, i == 0);
        sse_done(&sse);
        reply_done(&reply);
    }
    curl_easy_cleanup(connection);
}
END_TEST

/* ---- readers ---- */

#define A4  "\"A\",\"B\",\"C\",\"D\""
#define A16 A4 "," A4 "," A4 "," A4
/* Texts of eight sentences. */
#define B1  "\"A boy! A dog! A boy! A dog! A boy! A dog! A boy! A dog!\""
#define B8  B1 "," B1 "," B1 "," B1 "," B1 "," B1 "," B1 "," B1
#define B64 B8 "," B8 "," B8 "," B8 "," B8 "," B8 "," B8 "," B8
#define GREEDY(texts, more)                                                                        \
    "{\"text\": [" texts "], \"strategy\": \"greedy\", \"min_length\": 1000, \"max_length\": "     \
    "1000, \"stream\": true" more "}"

/* Events come for long enough for the tests to come in between; nothing comes for as long as the
 * client stays. */
static const char many_events[] = GREEDY(B64, "");
static const char endless[] = "{\"text\": \"A boy.\", \"strategy\": \"exact\", \"beam_size\": 32, "
                              "\"max_length\": 1000, \"stream\": true}";

/* HTTP 1.0 streams without the lengths of chunks in between. */
static int begin_raw(const char *json, int receive_bytes) {
    char head[200];
    int fd = raw_open(&served);
    if (receive_bytes > 0)
        ck_assert_int_eq(
            setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes), 0);
    int length = snprintf(head, sizeof head,
                          "POST /translate HTTP/1.0\r\nContent-Length: %zu\r\n\r\n", strlen(json));
    raw_write(fd, head, (size_t)length);
    raw_write(fd, json, strlen(json));
    return fd;
}

/* Reads until this was seen. */
static void await_bytes(int fd, const char *bytes) {
    char buffer[65536];
    size_t length = 0;
    do {
        ssize_t count = recv(fd, buffer + length, sizeof buffer - 1 - length, 0);
        ck_assert_int_gt(count, 0);
        length += (size_t)count;
        buffer[length] = '\0';
    } while (!strstr(buffer, bytes) && length < sizeof buffer - 1);
    ck_assert_ptr_nonnull(strstr(buffer, bytes));
}

START_TEST(tokens_come_as_they_are_decided) {
    int fd = begin_raw(many_events, 0);
    await_bytes(fd, "event: token");
    ck_assert_double_gt(metric(&served, ROWS), 0);
    close(fd);
    metric_await(&served, CLIENT_GONE, 1, NULL);
}
END_TEST

/* Both while the connection waits for events and while it sends; others go on. */
static void leave(const char *json, const char *after, double rows) {
    struct reply before, beside;
    struct call call = {.path = "/translate", .json = "{'text': 'A boy. A dog.', 'stream': true}"};
    client_send(&served, &call, &before);
    int fd = begin_raw(json, 0);
    if (after)
        await_bytes(fd, after);
    else
        metric_await(&served, ROWS, rows, NULL);
    close(fd);
    client_send(&served, &call, &beside);
    ck_assert_str_eq(before.body, beside.body);
    metric_await(&served, CLIENT_GONE, 1, NULL);
    metric_await(&served, ROWS, 0, NULL);
    metric_await(&served, "alignd_requests_in_flight", 1, NULL);
    metric_await(&served, "alignd_requests_total{endpoint=\"/translate\",code=\"499\"}", 1, NULL);
    reply_done(&before);
    reply_done(&beside);
}

START_TEST(reader_leaves_while_events_come) {
    leave(many_events, "event: token", 0);
}
END_TEST

START_TEST(reader_leaves_while_nothing_comes) {
    leave(endless, NULL, 32);
}
END_TEST

/* All that comes until the connection is closed. */
static char *read_rest(int fd) {
    char *text = NULL, buffer[16384];
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    ck_assert_ptr_nonnull(out);
    for (ssize_t count; (count = recv(fd, buffer, sizeof buffer, 0)) > 0;)
        fwrite(buffer, 1, (size_t)count, out);
    ck_assert_int_eq(fclose(out), 0);
    return text;
}

START_TEST(slow_reader) {
    enum { TEXTS = 16, WANTED = 1000 };
    int fd = begin_raw(GREEDY(A16, ", \"include\": [\"tokens\", \"log_probs\", \"top_k\"]"), 65536);
    /* decoded to the end while nobody reads */
    metric_await(&served, "alignd_target_tokens_total{model=\"luong-general-gru\"}", TEXTS * WANTED,
                 NULL);
    metric_await(&served, ROWS, 0, NULL);
    metric_await(&served, "alignd_requests_in_flight", 2, NULL);
    check_like_plain("/translate", "{'text': 'Others go on.', 'strategy': 'greedy'}",
                     "translations", true);
    char *reply = read_rest(fd);
    struct sse sse = sse_read(strstr(reply, "\r\n\r\n") + 4);
    sse_check(&sse, "translations");
    ck_assert_uint_eq(sse_count(&sse, "token"), TEXTS * WANTED);
    sse_done(&sse);
    free(reply);
    close(fd);
    metric_await(&served, "alignd_requests_in_flight", 1, NULL);
    ck_assert_double_eq(metric(&served, CLIENT_GONE), 0);
}
END_TEST

START_TEST(heartbeat) {
    daemon_start(&served, ARGUMENTS("--model", MODEL, WORK_ENDLESS, "--heartbeat-ms", "20",
                                    "--deadline-ms", "1500"));
    struct sse sse = stream("/translate", endless);
    ck_assert_uint_gt(sse.comments, 1); /* it goes on */
    ck_assert_uint_lt(sse.comments, 100);
    sse_done(&sse);
    daemon_stop(&served);
}
END_TEST

START_TEST(many_streams) {
    enum { STREAMS = 64 };
    struct reply plain[STREAMS], replies[STREAMS];
    struct flight *flight = flight_open(&served);
    char json[2][STREAMS][200];
    for (size_t i = 0; i < STREAMS; i++) {
        for (size_t s = 0; s < 2; s++)
            snprintf(json[s][i], sizeof json[s][i],
                     "{'text': ['Text number %zu. It snows.', 'x'], 'strategy': '%s'%s}", i,
                     i % 3 == 0 ? "beam" : "greedy", s ? ", 'stream': true" : "");
        client_post(&served, "/translate", json[0][i], 200, &plain[i]);
        flight_send(flight, &(struct call){.path = "/translate", .json = json[1][i]}, &replies[i]);
    }
    flight_land(flight);
    for (size_t i = 0; i < STREAMS; i++) {
        struct sse sse = sse_read(replies[i].body);
        sse_check(&sse, "translations");
        ck_assert(json_equal(sse_last(&sse, "result"), plain[i].json));
        sse_done(&sse);
        reply_done(&plain[i]);
        reply_done(&replies[i]);
    }
    flight_close(flight);
}
END_TEST

/* ---- what goes wrong ---- */

START_TEST(deadline) {
    struct reply reply;
    struct call call = {.path = "/translate", .body = endless, .headers = {"X-Deadline-Ms: 500"}};
    client_send(&served, &call, &reply);
    ck_assert_int_eq(reply.status, 200); /* what was sent before */
    struct sse sse = sse_read(reply.body);
    ck_assert_str_eq(text_at(sse_last(&sse, "error"), "code"), "deadline_exceeded");
    ck_assert_uint_eq(sse_count(&sse, "result"), 0);
    ck_assert_double_eq(metric(&served, DEADLINE), 1);
    metric_await(&served, "alignd_requests_total{endpoint=\"/translate\",code=\"504\"}", 1, NULL);
    sse_done(&sse);
    reply_done(&reply);
}
END_TEST

static void check_error(const char *method, const char *json, long status, const char *message) {
    struct reply reply;
    client_send(&served, &(struct call){.method = method, .path = "/translate", .json = json},
                &reply);
    ck_assert_int_eq(reply.status, status);
    if (message)
        ck_assert_str_eq(text_at(reply.json, "error"), message);
    reply_done(&reply);
}

START_TEST(errors_before_the_stream) {
    check_error(NULL, "{'text': 'a', 'stream': 'yes'}", 400,
                "stream must be true or false, got a string");
    check_error(NULL, "{'text': 'a', 'stream': null}", 400,
                "stream must be true or false, got null");
    check_error(NULL, "{'text': 'a', 'stream': true, 'steam': 1}", 400, "unknown field \"steam\"");
    check_error(NULL, "{'text': 'a', 'stream': true, 'beam_size': 99}", 400,
                "beam_size must be between 1 and 32, got 99");
    check_error(NULL, "{'text': 'One. Two.', 'prefix': 'a', 'max_length': 0, 'stream': true}", 400,
                NULL);
    check_error("HEAD", NULL, 400, NULL); /* there is no text */
    check_error("OPTIONS", NULL, 204, NULL);
}
END_TEST

START_TEST(full_queue) {
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--workers", "1", "--rows", "32", "--queue",
                                    "1", WORK_ENDLESS, "--deadline-ms", "600000"));
    int live = begin_raw(endless, 0);
    metric_await(&served, ROWS, 32, NULL);
    int waiting = begin_raw(endless, 0);
    metric_await(&served, "alignd_queue_depth", 1, NULL);
    check_error(NULL, "{'text': 'a', 'stream': true}", 429, "the queue is full");
    close(waiting);
    close(live);
    metric_await(&served, CLIENT_GONE, 2, NULL);
    check_like_plain("/translate", "{'text': 'A boy.', 'strategy': 'greedy'}", "translations",
                     true);
    daemon_stop(&served);
}
END_TEST

START_TEST(terminated_while_streaming) {
    enum { STREAMS = 8 };
    static const char greedy[] =
        "{'text': 'A', 'strategy': 'greedy', 'min_length': 300, 'max_length': 300, 'stream': true}",
                      beam[] = "{'text': 'A', 'beam_size': 32, 'min_length': 300, 'max_length': "
                               "300, 'stream': true}";
    struct reply live, replies[STREAMS];
    daemon_start(&served,
                 ARGUMENTS("--model", MODEL, "--workers", "1", "--rows", "32", WORK_ENDLESS,
                           "--deadline-ms", "600000", "--grace-ms", "600000"));
    struct flight *leaving = flight_open(&served), *flight = flight_open(&served);
    flight_send(leaving, &(struct call){.path = "/translate", .body = endless}, &live);
    metric_await(&served, ROWS, 32, leaving); /* all: the others wait */
    for (size_t i = 0; i < STREAMS; i++)
        flight_send(flight,
                    &(struct call){.path = "/translate", .json = i % 4 == 0 ? beam : greedy},
                    &replies[i]);
    metric_await(&served, "alignd_queue_depth", STREAMS, flight);
    ck_assert_int_eq(kill(served.pid, SIGTERM), 0);
    daemon_await_log(&served, "event=draining");
    flight_close(leaving);
    reply_done(&live);
    flight_land(flight);
    for (size_t i = 0; i < STREAMS; i++) {
        struct sse sse = sse_read(replies[i].body);
        sse_check(&sse, "translations");
        sse_done(&sse);
        reply_done(&replies[i]);
    }
    flight_close(flight);
    daemon_end(&served);
}
END_TEST

/* Cut off after the grace time: the stream says so. */
START_TEST(killed_while_streaming) {
    struct reply reply;
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--workers", "1", "--rows", "32",
                                    WORK_ENDLESS, "--deadline-ms", "600000", "--grace-ms", "1"));
    struct flight *flight = flight_open(&served);
    flight_send(flight, &(struct call){.path = "/translate", .body = endless}, &reply);
    metric_await(&served, ROWS, 32, flight);
    ck_assert_int_eq(kill(served.pid, SIGTERM), 0);
    flight_land(flight);
    struct sse sse = sse_read(reply.body);
    ck_assert_str_eq(text_at(sse_last(&sse, "error"), "code"), "unavailable");
    sse_done(&sse);
    reply_done(&reply);
    flight_close(flight);
    ck_assert_int_eq(daemon_wait(&served), EXIT_FAILURE);
}
END_TEST

Suite *stream_suite(void) {
    Suite *suite = suite_create("stream");
    TCase *common = tcase_create("common"), *own = tcase_create("own daemon");
    tcase_add_checked_fixture(common, setup, teardown);
    tcase_set_timeout(common, TEST_TIMEOUT_S);
    tcase_set_timeout(own, TEST_TIMEOUT_S);
    tcase_add_test(common, headers);
    tcase_add_test(common, every_strategy);
    tcase_add_test(common, every_output);
    tcase_add_test(common, log_probs_add_up);
    tcase_add_test(own, every_vocabulary);
    tcase_add_test(common, connection_is_kept);
    tcase_add_test(common, tokens_come_as_they_are_decided);
    tcase_add_test(common, reader_leaves_while_events_come);
    tcase_add_test(common, reader_leaves_while_nothing_comes);
    tcase_add_test(common, slow_reader);
    tcase_add_test(own, heartbeat);
    tcase_add_test(common, many_streams);
    tcase_add_test(common, deadline);
    tcase_add_test(common, errors_before_the_stream);
    tcase_add_test(own, full_queue);
    tcase_add_test(own, terminated_while_streaming);
    tcase_add_test(own, killed_while_streaming);
    suite_add_tcase(suite, common);
    suite_add_tcase(suite, own);
    return suite;
}
