/* --cache-bytes: the same request gets the same answer, without decoding; requests whose answers
 * may differ are decoded each time. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <signal.h>
#include <string.h>
#include <strings.h>

#define HITS   "alignd_cache_hits_total"
#define MISSES "alignd_cache_misses_total"
#define TOKENS "alignd_target_tokens_total{model=\"luong-general-gru\"}"
#define STEPS  "alignd_step_rows_count"

static struct daemon served;

static void setup(void) {
    daemon_start(&served,
                 ARGUMENTS("--model", MODEL, "--workers", "1", "--cache-bytes", "1000000"));
}

static void teardown(void) {
    daemon_stop(&served);
}

/* The headers but for those that each reply has of its own. */
static void copy_headers(const struct reply *reply, char *out, size_t room) {
    char *end = out;
    for (const char *line = reply->headers, *next; *line; line = next) {
        next = strstr(line, "\r\n");
        next = next ? next + 2 : line + strlen(line);
        bool own =
            strncasecmp(line, "X-Request-Id:", 13) == 0 || strncasecmp(line, "Date:", 5) == 0;
        ck_assert_uint_lt((size_t)(end - out) + (size_t)(next - line), room);
        end = own ? end : mempcpy(end, line, (size_t)(next - line));
    }
    *end = '\0';
}

static void assert_same_reply(const struct reply *first, const struct reply *second) {
    char headers[2][4096], ids[2][HEADER_BYTES];
    ck_assert_int_eq(first->status, 200);
    ck_assert_int_eq(second->status, 200);
    ck_assert_str_eq(first->body, second->body);
    copy_headers(first, headers[0], sizeof headers[0]);
    copy_headers(second, headers[1], sizeof headers[1]);
    ck_assert_str_eq(headers[0], headers[1]);
    ck_assert(reply_header(first, "X-Request-Id", ids[0]) &&
              reply_header(second, "X-Request-Id", ids[1]));
    ck_assert_str_ne(ids[0], ids[1]);
}

/* ---- what is answered from the cache ---- */

static const struct {
    struct call first, second;
} same[] = {
    {{.path = "/translate", .json = "{'text': 'A boy plays.'}"},
     {.path = "/translate", .json = "{'text': 'A boy plays.'}"}},
    {{.path = "/translate", .json = "{'text': ['a', 'b'], 'n_best': 2, 'beam_size': 3}"},
     {.path = "/translate", .json = " {'beam_size':3,\n'n_best':2 , 'text':['\\u0061','b']}"}},
    {{.path = "/attention", .json = "{'text': 'A boy plays.'}"},
     {.path = "/attention", .json = "{'text': 'A boy plays.'}"}},
    {{.path = "/translate", .json = "{'text': 'A boy.', 'strategy': 'sample', 'seed': 7}"},
     {.path = "/translate", .json = "{'text': 'A boy.', 'seed': 7, 'strategy': 'sample'}"}},
    {{.path = "/translate",
      .json = "{'q': 'A boy.', 'source': 'en', 'target': 'fr', 'api_key': 'one'}"},
     {.path = "/translate",
      .json = "{'q': 'A boy.', 'source': 'en', 'target': 'fr', 'api_key': 'two'}"}},
    {{.path = "/translate",
      .json = "{'q': 'A boy.', 'source': 'auto', 'target': 'fr', 'alternatives': 2}"},
     {.path = "/translate",
      .json = "{'q': 'A boy.', 'source': 'auto', 'target': 'fr', 'alternatives': 2}"}},
    {{.path = "/translate", .body = "q=A+boy.&source=en&target=fr&format=html"},
     {.path = "/translate?target=fr&source=en", .body = "format=html&q=A%20boy."}},
    {{.path = "/translate",
      .json = "{'text': 'A boy.', 'length_penalty': 1, 'coverage_penalty': 0, 'beam_size': 2}"},
     {.path = "/translate",
      .json =
          "{'text': 'A boy.', 'length_penalty': 1.0, 'coverage_penalty': -0e3, 'beam_size': 2}"}},
    {{.path = "/attention",
      .json = "{'text': '.', 'force_attention': [{'step': 0, 'weights': [1, 2, 3]}]}"},
     {.path = "/attention",
      .json = "{'text': '.', 'force_attention': [{'weights': [1e0, 20e-1, 3.0], 'step': 0}]}"}},
    {{.path = "/translate", .json = "{'text': '  '}"},
     {.path = "/translate", .json = "{'text': '  '}"}},
};

START_TEST(the_same_request) {
    struct reply first, second;
    client_send(&served, &same[_i].first, &first);
    ck_assert_double_eq(metric(&served, MISSES), 1);
    double steps = metric(&served, STEPS), tokens = metric(&served, TOKENS);
    client_send(&served, &same[_i].second, &second);
    assert_same_reply(&first, &second);
    ck_assert_double_eq(metric(&served, HITS), 1);
    ck_assert_double_eq(metric(&served, MISSES), 1);
    ck_assert_double_eq(metric(&served, STEPS), steps);
    ck_assert_double_eq(metric(&served, TOKENS), tokens);
    ck_assert_double_gt(metric(&served, "alignd_cache_bytes"), 0);
    char requests[100];
    snprintf(requests, sizeof requests, "alignd_requests_total{endpoint=\"%.10s\",code=\"200\"}",
             same[_i].first.path);
    metric_await(&served, requests, 2, NULL);
    reply_done(&first);
    reply_done(&second);
}
END_TEST

/* ---- what is not ---- */

static const struct call different[] = {
    {.path = "/translate", .json = "{'text': 'A boy plays.'}"},
    {.path = "/translate", .json = "{'text': ['A boy plays.']}"},
    {.path = "/translate", .json = "{'text': 'A boy plays. '}"},
    {.path = "/attention", .json = "{'text': 'A boy plays.'}"},
    {.path = "/translate", .json = "{'text': 'A boy plays.', 'beam_size': 4}"},
    {.path = "/translate", .json = "{'text': 'A boy plays.', 'length_penalty': 1}"},
    {.path = "/translate", .json = "{'text': 'A boy plays.', 'length_penalty': 1.25}"},
    {.path = "/translate", .json = "{'text': 'A boy plays.', 'prefix': 'x'}"},
    {.path = "/translate", .json = "{'text': 'A boy plays.', 'include': []}"},
    {.path = "/translate", .json = "{'text': 'A boy plays.', 'strategy': 'sample', 'seed': 1}"},
    {.path = "/translate", .json = "{'text': 'A boy plays.', 'strategy': 'sample', 'seed': 2}"},
    {.path = "/translate", .json = "{'q': 'A boy plays.', 'source': 'en', 'target': 'fr'}"},
    {.path = "/translate",
     .json = "{'q': 'A boy plays.', 'source': 'en', 'target': 'fr', 'format': 'html'}"},
};
enum { DIFFERENT = sizeof different / sizeof *different };

START_TEST(other_requests) {
    for (size_t i = 0; i < DIFFERENT; i++) {
        struct reply reply;
        client_send(&served, &different[i], &reply);
        ck_assert_int_eq(reply.status, 200);
        reply_done(&reply);
    }
    ck_assert_double_eq(metric(&served, HITS), 0);
    ck_assert_double_eq(metric(&served, MISSES), DIFFERENT);
}
END_TEST

static const struct {
    const char *json;
    long status;
} never[] = {
    {"{'text': 'A boy plays.', 'strategy': 'sample'}", 200},
    {"{'text': 'A boy plays.', 'include': ['timing']}", 200},
    {"{'text': 'A boy plays.', 'stream': true}", 200},
    {"{'text': 'A boy plays.', 'beam_size': 0}", 400},
    {"{'text': 'A boy plays.', 'model': 'zz'}", 400},
    {"{'q': 'A boy.', 'source': 'en', 'target': 'zz'}", 400},
    {"{'q': 'A boy.', 'source': 'en', 'target': 'en'}", 200}, /* as it is */
};

START_TEST(never_kept) {
    for (int times = 0; times < 2; times++) {
        struct reply reply;
        client_send(&served, &(struct call){.path = "/translate", .json = never[_i].json}, &reply);
        ck_assert_int_eq(reply.status, never[_i].status);
        reply_done(&reply);
    }
    ck_assert_double_eq(metric(&served, HITS) + metric(&served, MISSES), 0);
    ck_assert_double_eq(metric(&served, "alignd_cache_bytes"), 0);
}
END_TEST

/* A request that failed while it was decoded. */
START_TEST(failures_are_not_kept) {
    static const char json[] =
        "{'text': 'A boy plays.', 'min_length': 1000, 'max_length': 1000, 'beam_size': 32}";
    struct reply reply;
    client_send(&served,
                &(struct call){.path = "/translate", .json = json, .headers = {"X-Deadline-Ms: 1"}},
                &reply);
    ck_assert_int_eq(reply.status, 504);
    reply_done(&reply);
    client_post(&served, "/translate", json, 200, &reply);
    reply_done(&reply);
    ck_assert_double_eq(metric(&served, HITS), 0);
}
END_TEST

/* ---- when it ends ---- */

START_TEST(reloading_forgets) {
    struct reply first, second;
    static const char json[] = "{'text': 'A boy plays.'}";
    client_post(&served, "/translate", json, 200, &first);
    ck_assert_int_eq(kill(served.pid, SIGHUP), 0);
    metric_await(&served, "alignd_models_reloads_total{result=\"success\"}", 1, NULL);
    client_post(&served, "/translate", json, 200, &second);
    assert_same_reply(&first, &second);
    ck_assert_double_eq(metric(&served, HITS), 0);
    ck_assert_double_eq(metric(&served, MISSES), 2);
    reply_done(&first);
    reply_done(&second);
}
END_TEST

static void ask_many(const struct daemon *daemon, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char json[64];
        struct reply reply;
        snprintf(json, sizeof json, "{'text': 'Number %zu.'}", i);
        client_post(daemon, "/translate", json, 200, &reply);
        reply_done(&reply);
    }
}

START_TEST(bounded) {
    struct daemon daemon;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--cache-bytes", "5000"));
    ask_many(&daemon, 100);
    ck_assert_double_le(metric(&daemon, "alignd_cache_bytes"), 5000);
    ck_assert_double_gt(metric(&daemon, "alignd_cache_bytes"), 2000);
    daemon_stop(&daemon);
}
END_TEST

START_TEST(off_by_default) {
    struct daemon daemon;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL));
    ask_many(&daemon, 2);
    ask_many(&daemon, 2);
    ck_assert_double_eq(
        metric(&daemon, HITS) + metric(&daemon, MISSES) + metric(&daemon, "alignd_cache_bytes"), 0);
    daemon_stop(&daemon);
}
END_TEST

Suite *cache_suite(void) {
    Suite *suite = suite_create("cache");
    TCase *tests = tcase_create("cache"), *other = tcase_create("other options");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, TEST_TIMEOUT_S);
    tcase_add_loop_test(tests, the_same_request, 0, sizeof same / sizeof *same);
    tcase_add_test(tests, other_requests);
    tcase_add_loop_test(tests, never_kept, 0, sizeof never / sizeof *never);
    tcase_add_test(tests, failures_are_not_kept);
    tcase_add_test(tests, reloading_forgets);
    suite_add_tcase(suite, tests);
    tcase_set_timeout(other, TEST_TIMEOUT_S);
    tcase_add_test(other, bounded);
    tcase_add_test(other, off_by_default);
    suite_add_tcase(suite, other);
    return suite;
}
