/* The worst bodies that the limits allow, while they are prepared: other clients do not wait for
 * them. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include "tests/load/worst.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* PATIENCE_MS: within which /health answers; where a body takes long, so may that: by SHARE of it.
 */
enum { MEBIBYTE = 1 << 20, ROUNDS = 3, PATIENCE_MS = 100, SHARE = 4 };

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Sends it and waits for its reply: how long that took. health: asked meanwhile, again and again;
 * *slowest: its slowest answer. */
static double ask(const struct daemon *daemon, const struct call *call, CURL *health,
                  double *slowest) {
    struct flight *flight = flight_open(daemon);
    struct reply reply, alive;
    double began_ms = now_ms();
    *slowest = 0;
    flight_send(flight, call, &reply);
    while (flight_move(flight) > 0) {
        if (!health)
            continue;
        double asked_ms = now_ms();
        client_send(daemon, &(struct call){.path = "/health", .connection = health}, &alive);
        double took_ms = now_ms() - asked_ms;
        ck_assert_int_eq(alive.status, 200);
        reply_done(&alive);
        *slowest = took_ms > *slowest ? took_ms : *slowest;
    }
    double took_ms = now_ms() - began_ms;
    ck_assert_msg(reply.status >= 200 && reply.status < 500 && reply.status != 429, "%ld",
                  reply.status);
    reply_done(&reply);
    flight_close(flight);
    return took_ms;
}

/* With a queue that has no work to spare all is refused once it is prepared: no time is spent on
 * decoding. */
START_TEST(health_answers_meanwhile) {
    struct daemon daemon;
    daemon_start(&daemon, ARGUMENTS("--model", "weights/en-fr", "--queue-work", "1", "--workers",
                                    "1", "--deadline-ms", "600000"));
    char *body = worst_body((size_t)_i), type[64];
    sprintf(type, "Content-Type: %s", worst_type((size_t)_i));
    ck_assert_uint_lt(strlen(body), MEBIBYTE);
    struct call call = {.path = "/translate", .body = body, .headers = {type}};
    CURL *health = connection_open();
    double slowest_ms;
    if (program_sanitized()) { /* looks for errors, not for time: a body takes most of a minute */
        ask(&daemon, &call, health, &slowest_ms);
    } else {
        double best_ms = 1e9, needed_ms = ask(&daemon, &call, NULL, &slowest_ms),
               most_ms = needed_ms / SHARE > PATIENCE_MS ? needed_ms / SHARE : PATIENCE_MS;
        for (int round = 0; round < ROUNDS && best_ms > most_ms; round++) {
            ask(&daemon, &call, health, &slowest_ms);
            best_ms = slowest_ms < best_ms ? slowest_ms : best_ms;
        }
        ck_assert_msg(best_ms <= most_ms, "/health took %.0f ms, the body %.0f ms", best_ms,
                      needed_ms);
    }
    curl_easy_cleanup(health);
    free(body);
    daemon_stop(&daemon);
}
END_TEST

/* A text of so many words, and what else is asked. */
static char *words(size_t count, const char *fields) {
    char *body = malloc(2 * count + strlen(fields) + 32), *out = stpcpy(body, "{\"text\":\"");
    for (size_t i = 0; i < count; i++)
        out = stpcpy(out, "a ");
    sprintf(out, "\"%s}", fields);
    return body;
}

/* The memory of sentences that are being decoded is bounded: if two do not fit together, one waits,
 * and one that would not fit alone is refused. A sentence of this model has 65,536 bytes whatever
 * it is, and some dozens for each token. */
START_TEST(memory_of_what_is_decoded) {
    enum { LIMIT = 66500 };
    struct daemon daemon;
    struct reply slow, small, large;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--workers", "1", "--decode-memory", "66500",
                                    "--deadline-ms", "100000"));
    client_send(&daemon, &(struct call){.path = "/translate", .json = "{'text':'a b'}"}, &small);
    ck_assert_int_eq(small.status, 200);
    struct flight *flight = flight_open(&daemon);
    flight_send(
        flight,
        &(struct call){
            .path = "/translate",
            .json =
                "{'text':['a','b','c','d'],'beam_size':32,'max_length':1000,'min_length':1000}"},
        &slow);
    metric_await_least(&daemon, "alignd_rows_live", 1, flight);
    ck_assert_double_le(metric(&daemon, "alignd_decoding_bytes"), LIMIT);
    ck_assert_double_le(metric(&daemon, "alignd_rows_live"), 32);
    flight_close(flight);
    metric_await(&daemon, "alignd_rows_live", 0, NULL);
    ck_assert(metric(&daemon, "alignd_decoding_bytes") == 0);
    char *text = words(30, ",\"split_sentences\":false");
    client_send(&daemon, &(struct call){.path = "/translate", .body = text}, &large);
    ck_assert_int_eq(large.status, 413);
    ck_assert_str_eq(text_at(large.json, "field"), "text");
    ck_assert_ptr_nonnull(strstr(text_at(large.json, "error"), "and at most 66500 are allowed"));
    free(text);
    reply_done(&slow);
    reply_done(&small);
    reply_done(&large);
    daemon_stop(&daemon);
}
END_TEST

/* The memory of requests that were read but not answered is bounded: large ones are accepted as far
 * as they fit, but always one, and small ones always. Streams keep their sentences. */
START_TEST(memory_of_what_is_read) {
    enum { WORDS = 50000 };
    struct daemon daemon;
    struct reply first, second, third, small;
    char *slow = words(WORDS,
                       ",\"beam_size\":32,\"max_length\":500,\"min_length\":500,\"stream\":true"),
         *quick = words(WORDS, ",\"max_length\":1,\"stream\":true"), seconds[HEADER_BYTES];
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--request-memory", "100000",
                                    "--max-text-chars", "1000000", "--queue", "100000",
                                    "--queue-work", "1000000000", "--deadline-ms", "100000"));
    struct flight *flight = flight_open(&daemon);
    flight_send(flight, &(struct call){.path = "/translate", .body = slow}, &first);
    metric_await_least(&daemon, "alignd_rows_live", 1, flight);
    client_send(&daemon, &(struct call){.path = "/translate", .body = quick}, &second);
    ck_assert_int_eq(second.status, 429);
    ck_assert_str_eq(text_at(second.json, "code"), "queue_full");
    ck_assert_str_eq(text_at(second.json, "error"), "the queue has no room for so large a request");
    ck_assert(reply_header(&second, "Retry-After", seconds));
    ck_assert(metric(&daemon, "alignd_rejected_total{reason=\"request_memory\"}") == 1);
    client_send(
        &daemon,
        &(struct call){.path = "/translate", .json = "{'text':'a b c'}", .from = "127.0.0.2"},
        &small);
    ck_assert_int_eq(small.status, 200);
    flight_close(flight);
    metric_await(&daemon, "alignd_requests_in_flight", 1, NULL);
    client_send(&daemon, &(struct call){.path = "/translate", .body = quick}, &third);
    ck_assert_int_eq(third.status, 200);
    reply_done(&first);
    reply_done(&second);
    reply_done(&third);
    reply_done(&small);
    free(slow);
    free(quick);
    daemon_stop(&daemon);
}
END_TEST

/* A text of sentences that differ, in the order of their numbers, with tags or without. */
static json_t *numbered(size_t begin, size_t end, bool tags) {
    char *text = malloc(40 * (end - begin) + 1), *out = text;
    for (size_t i = begin; i < end; i++)
        out +=
            sprintf(out, tags ? "The \xC3\xA9 <b>%zu</b> runs.\n" : "The \xC3\xA9 %zu runs.\n", i);
    json_t *body = json_pack("{s:s,s:s}", "text", text, "strategy", "greedy");
    free(text);
    return body;
}

static json_t *translated(const struct daemon *daemon, json_t *body, json_t *more) {
    struct reply reply;
    json_object_update(body, more);
    char *text = json_dumps(body, 0);
    client_send(daemon, &(struct call){.path = "/translate", .body = text}, &reply);
    ck_assert_msg(reply.status == 200, "%s", reply.body);
    json_t *result = json_incref(json_array_get(json_object_get(reply.json, "translations"), 0));
    reply_done(&reply);
    free(text);
    json_decref(body);
    return result;
}

/* A text of more than 200 sentences is decoded as a document is: its sentences wait one after the
 * other, so that it may have more than the queue, and only what the reply shows of them is kept.
 * That is what it shows of each in a short text, and their places go on. */
START_TEST(long_texts_are_the_same) {
    enum { SHORT = 150, LONG = 300 };
    struct daemon daemon;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--queue", "200"));
    json_t *more = json_pack("{s:s,s:i,s:i,s:[s,s,s,s,s],s:s}", "strategy", "beam", "beam_size", 2,
                             "n_best", 2, "include", "offsets", "words", "beam", "top_k", "eos",
                             "format", _i == 0 ? "text" : "html");
    json_t *whole = translated(&daemon, numbered(0, LONG, _i), more),
           *first = translated(&daemon, numbered(0, SHORT, _i), more),
           *second = translated(&daemon, numbered(SHORT, LONG, _i), more);
    char *joined;
    ck_assert_int_ge(asprintf(&joined, "%s%s", text_at(first, "text"), text_at(second, "text")), 0);
    if (_i == 0)
        ck_assert_str_eq(text_at(whole, "text"), joined);
    json_t *sentences = json_object_get(whole, "sentences");
    ck_assert_uint_eq(json_array_size(sentences), LONG);
    size_t end = 0, units = 0;
    for (size_t i = 0; i < LONG; i++) {
        json_t *own = json_array_get(sentences, i),
               *apart = json_array_get(json_object_get(i < SHORT ? first : second, "sentences"),
                                       i % SHORT);
        json_t *span = json_object_get(json_object_get(own, "offsets"), "span");
        ck_assert_int_eq(span != NULL, _i == 0);
        if (span) {
            size_t begin = (size_t)json_integer_value(json_at(span, "target.start"));
            ck_assert_uint_eq(begin, end + (i > 0));
            ck_assert_int_eq(json_integer_value(json_at(span, "target.start_utf16")),
                             (json_int_t)(units + (i > 0)));
            end = (size_t)json_integer_value(json_at(span, "target.end"));
            units = (size_t)json_integer_value(json_at(span, "target.end_utf16"));
            ck_assert(strncmp(joined + begin, text_at(own, "text"), end - begin) == 0);
        }
        json_t *const both[] = {own, apart, json_at(own, "hypotheses.0"),
                                json_at(apart, "hypotheses.0")};
        for (size_t k = 0; k < 4; k++)
            json_object_del(json_object_get(both[k], "offsets"), "span");
        ck_assert_msg(json_equal(own, apart), "sentence %zu", i);
    }
    free(joined);
    json_decref(more);
    json_decref(whole);
    json_decref(first);
    json_decref(second);
    daemon_stop(&daemon);
}
END_TEST

/* A stream of such a text has all of its sentences, which keep what its events need. */
START_TEST(long_streams_are_whole) {
    struct daemon daemon;
    struct reply reply;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL));
    json_t *body = numbered(0, 600, false);
    json_object_set_new(body, "stream", json_true());
    char *text = json_dumps(body, 0);
    ck_assert_uint_gt(strlen(text), 10000);
    client_send(&daemon, &(struct call){.path = "/translate", .body = text}, &reply);
    ck_assert_int_eq(reply.status, 200);
    size_t sentences = 0;
    for (const char *at = reply.body; (at = strstr(at, "event: sentence\n")); at++)
        sentences++;
    ck_assert_uint_eq(sentences, 600);
    ck_assert_ptr_nonnull(strstr(reply.body, "event: result\n"));
    free(text);
    json_decref(body);
    reply_done(&reply);
    daemon_stop(&daemon);
}
END_TEST

/* What such a text shows counts against the limit of a reply before all of it is decoded. */
START_TEST(long_replies_end_early) {
    struct daemon daemon;
    struct reply reply;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--max-reply-bytes", "300000"));
    json_t *body = numbered(0, 300, false);
    json_object_set_new(body, "include", json_string("all"));
    char *text = json_dumps(body, 0);
    client_send(&daemon, &(struct call){.path = "/translate", .body = text}, &reply);
    ck_assert_int_eq(reply.status, 413);
    ck_assert_str_eq(text_at(reply.json, "error"),
                     "the reply must have at most 300000 bytes, but would have more");
    ck_assert(metric(&daemon, "alignd_sentences_admitted_total{priority=\"interactive\"}") < 300);
    free(text);
    json_decref(body);
    reply_done(&reply);
    daemon_stop(&daemon);
}
END_TEST

Suite *large_suite(void) {
    Suite *suite = suite_create("large");
    TCase *tests = tcase_create("large");
    tcase_set_timeout(tests, TEST_TIMEOUT_S);
    tcase_add_loop_test(tests, health_answers_meanwhile, 0, WORST_BODIES);
    tcase_add_loop_test(tests, long_texts_are_the_same, 0, 2);
    tcase_add_test(tests, long_streams_are_whole);
    tcase_add_test(tests, long_replies_end_early);
    tcase_add_test(tests, memory_of_what_is_read);
    tcase_add_test(tests, memory_of_what_is_decoded);
    suite_add_tcase(suite, tests);
    return suite;
}
