/* Many at once: the same answers, a short request among long ones, a full queue, deadlines, clients
 * that leave. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include "tests/http/work.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_error(const struct reply *reply, long status, const char *code,
                        const char *message) {
    ck_assert_msg(reply->status == status, "wanted %ld, got %ld %s", status, reply->status,
                  reply->body ? reply->body : "");
    ck_assert_str_eq(text_at(reply->json, "code"), code);
    ck_assert_str_eq(text_at(reply->json, "error"), message);
}

/* ---- the same answers ---- */

enum { MIXED = 64 };

/* Requests of all kinds: models, texts and options change with different periods. The caller frees
 * the body. */
static char *mixed_body(size_t i) {
    static const char *const models[] = {"luong-general-gru", "conditional-additive-lstm",
                                         "luong-feeding-lstm"};
    static const char *const texts[] = {
        "'Yes.'",
        "'A boy plays in the snow. Two dogs run after him, and nobody sees where they go.'",
        "['Ça va, naïve 😀 friend?', '', 'The train is late.']",
        "'Where is the train station? I do not know.'",
        "['x', 'y', 'z', 'An old man sleeps near the fire while his wife reads the news.']"};
    static const char *const options[] = {
        "",
        ", 'strategy': 'greedy'",
        ", 'beam_size': 12, 'n_best': 3",
        ", 'include': ['tokens', 'attention', 'words', 'offsets', 'entropy', 'log_probs', 'eos']",
        ", 'length_penalty': 0, 'beam_size': 2",
        ", 'min_length': 60, 'max_length': 60",
        ", 'beam_size': 32, 'split_sentences': true"};
    char *body = malloc(1024);
    ck_assert_ptr_nonnull(body);
    snprintf(body, 1024, "{'model': '%s', 'text': %s%s}", models[i % 3], texts[i % 5],
             options[i % 7]);
    return body;
}

static const char *mixed_path(size_t i) {
    return i % 4 == 1 ? "/attention" : "/translate";
}

/* Every eleventh scores a target instead. */
static struct call mixed_call(size_t i, char **body) {
    if (i % 11 == 5) {
        *body = strdup(
            "{'text': 'A boy plays in the snow.', 'translation': 'Un garçon joue dans la neige.'}");
        return (struct call){.path = "/attention", .json = *body};
    }
    *body = mixed_body(i);
    return (struct call){.path = mixed_path(i), .json = *body};
}

START_TEST(concurrent_answers_equal_lone_ones) {
    struct daemon daemon;
    struct call calls[MIXED];
    struct reply alone[MIXED], together[MIXED];
    char *bodies[MIXED];
    daemon_start(&daemon,
                 ARGUMENTS("--model", MODEL, "--model", "tests/golden/conditional-additive-lstm",
                           "--model", "tests/golden/luong-feeding-lstm", "--workers", "2",
                           "--deadline-ms", "600000"));
    for (size_t i = 0; i < MIXED; i++) {
        calls[i] = mixed_call(i, &bodies[i]);
        client_send(&daemon, &calls[i], &alone[i]);
        ck_assert_msg(alone[i].status == 200, "%s: %s", bodies[i], alone[i].body);
    }
    struct flight *flight = flight_open(&daemon);
    for (size_t i = 0; i < MIXED; i++)
        flight_send(flight, &calls[i], &together[i]);
    flight_land(flight);
    for (size_t i = 0; i < MIXED; i++) {
        ck_assert_int_eq(together[i].status, 200);
        ck_assert_str_eq(alone[i].body, together[i].body);
    }
    flight_close(flight);
    for (size_t i = 0; i < MIXED; i++) {
        reply_done(&alone[i]);
        reply_done(&together[i]);
        free(bodies[i]);
    }
    daemon_stop(&daemon);
}
END_TEST

/* ---- a short request among long ones ---- */

START_TEST(short_request_overtakes_long_ones) {
    enum { LONG = 64 };
    struct daemon daemon;
    struct reply replies[LONG], reply;
    char *body = work_endless(1, 8);
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--workers", "1", "--rows", "1024",
                                    "--step-ms", "0", WORK_ENDLESS, "--deadline-ms", "600000"));
    struct flight *flight = flight_open(&daemon);
    for (size_t i = 0; i < LONG; i++)
        flight_send(flight, &(struct call){.path = "/translate", .json = body}, &replies[i]);
    metric_await(&daemon, "alignd_rows_live", LONG * 8, flight);
    client_post(&daemon, "/translate", "{'text': 'A boy plays outside today.'}", 200, &reply);
    ck_assert_uint_eq(flight_move(flight), LONG);
    ck_assert_double_eq(metric(&daemon, "alignd_rows_live"),
                        LONG * 8); /* not one of them has ended */
    reply_done(&reply);
    flight_close(flight);
    for (size_t i = 0; i < LONG; i++)
        reply_done(&replies[i]);
    free(body);
    daemon_stop(&daemon);
}
END_TEST

/* Rows are free for all at once, but a step with them would take far longer than the target. */
START_TEST(step_target_bounds_the_rows) {
    enum { TEXTS = 64, BEAM = 8 };
    struct daemon daemon;
    struct reply reply;
    char *body = work_body(TEXTS, BEAM, 5);
    double most = 0;
    daemon_start(&daemon, ARGUMENTS("--model", "weights/en-fr", "--workers", "1", "--rows", "1024",
                                    "--step-ms", "1", "--deadline-ms", "600000"));
    struct flight *flight = flight_open(&daemon);
    flight_send(flight, &(struct call){.path = "/translate", .json = body}, &reply);
    while (flight_move(flight) > 0) {
        double rows = metric(&daemon, "alignd_rows_live");
        most = rows > most ? rows : most;
    }
    ck_assert_int_eq(reply.status, 200);
    ck_assert_double_ge(most, BEAM);
    ck_assert_double_lt(most, TEXTS * BEAM);
    flight_close(flight);
    reply_done(&reply);
    free(body);
    daemon_stop(&daemon);
}
END_TEST

/* ---- clients that leave ---- */

START_TEST(departed_client_frees_its_rows) {
    struct daemon daemon;
    struct reply reply;
    char *body = work_endless(64, 32);
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--workers", "1", "--rows", "64", "--step-ms",
                                    "0", WORK_ENDLESS, "--deadline-ms", "600000"));
    struct flight *flight = flight_open(&daemon);
    flight_send(flight, &(struct call){.path = "/translate", .json = body}, &reply);
    metric_await(&daemon, "alignd_rows_live", 64, flight); /* two sentences; the others wait */
    flight_close(flight);
    metric_await(&daemon, "alignd_rows_live", 0, NULL);
    metric_await(&daemon, "alignd_queue_depth", 0, NULL);
    metric_await(&daemon, "alignd_requests_in_flight", 1, NULL); /* the one that asks */
    metric_await(&daemon, "alignd_cancelled_total{reason=\"client\"}", 1, NULL);
    metric_await(&daemon, "alignd_requests_total{endpoint=\"/translate\",code=\"499\"}", 1, NULL);
    ck_assert_double_lt(metric(&daemon, "alignd_target_tokens_total{model=\"luong-general-gru\"}"),
                        64 * 1000);
    reply_done(&reply);
    free(body);
    daemon_stop(&daemon);
}
END_TEST

/* One leaves, the others are answered. */
START_TEST(departure_harms_nobody_else) {
    enum { CLIENTS = 24 };
    struct daemon daemon;
    struct reply staying[CLIENTS], leaving[CLIENTS];
    char *body = work_body(2, 4, 60), *long_body = work_endless(64, 32);
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--workers", "2", "--queue", "5000",
                                    WORK_ENDLESS, "--deadline-ms", "600000"));
    struct flight *stay = flight_open(&daemon), *leave = flight_open(&daemon);
    for (size_t i = 0; i < CLIENTS; i++) {
        flight_send(leave, &(struct call){.path = "/translate", .json = long_body}, &leaving[i]);
        flight_send(stay, &(struct call){.path = "/translate", .json = body}, &staying[i]);
    }
    for (struct patience patience = {0};
         metric(&daemon, "alignd_requests_in_flight") < 2 * CLIENTS + 1;) {
        flight_move(leave);
        flight_move(stay);
        patience_wait(&patience, "the requests to arrive");
    }
    flight_close(leave);
    flight_land(stay);
    for (size_t i = 0; i < CLIENTS; i++) {
        ck_assert_int_eq(staying[i].status, 200);
        ck_assert_str_eq(staying[i].body, staying[0].body);
    }
    for (size_t i = 0; i < CLIENTS; i++) {
        reply_done(&staying[i]);
        reply_done(&leaving[i]);
    }
    flight_close(stay);
    metric_await(&daemon, "alignd_cancelled_total{reason=\"client\"}", CLIENTS, NULL);
    free(body);
    free(long_body);
    daemon_stop(&daemon);
}
END_TEST

/* ---- overload ---- */

START_TEST(full_queue) {
    struct daemon daemon;
    struct reply first, second;
    char seconds[HEADER_BYTES], *body = work_endless(64, 32);
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--workers", "1", "--rows", "64", "--step-ms",
                                    "0", WORK_ENDLESS, "--queue", "64", "--deadline-ms", "600000"));
    struct flight *flight = flight_open(&daemon);
    flight_send(flight, &(struct call){.path = "/translate", .json = body}, &first);
    metric_await(&daemon, "alignd_rows_live", 64, flight);
    client_send(&daemon, &(struct call){.path = "/translate", .json = body},
                &second); /* 64 places, of which most are taken */
    check_error(&second, 429, "queue_full", "the queue is full");
    ck_assert(reply_header(&second, "Retry-After", seconds));
    ck_assert_int_ge(atoi(seconds), 1);
    ck_assert_double_eq(metric(&daemon, "alignd_rejected_total{reason=\"queue_full\"}"), 1);
    reply_done(&second);
    client_send(&daemon, &(struct call){.path = "/health"}, &second);
    ck_assert_int_eq(second.status, 200);
    reply_done(&second);
    flight_close(flight);
    reply_done(&first);
    free(body);
    daemon_stop(&daemon);
}
END_TEST

/* They wait one after the other. */
START_TEST(more_sentences_than_the_queue_holds) {
    struct daemon daemon;
    struct reply reply;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--queue", "2"));
    client_post(&daemon, "/translate", "{'text': ['x', 'y']}", 200, &reply);
    reply_done(&reply);
    client_post(&daemon, "/translate", "{'text': ['x', 'One. Two.', 'z']}", 200, &reply);
    reply_done(&reply);
    daemon_stop(&daemon);
}
END_TEST

/* ---- deadlines ---- */

#define PASSED "the request's deadline passed before it was answered"

START_TEST(deadline_of_a_request) {
    struct daemon daemon;
    struct reply reply;
    char *body = work_endless(64, 32);
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--workers", "1", "--rows", "64", "--step-ms",
                                    "0", WORK_ENDLESS, "--deadline-ms", "600000"));
    client_send(&daemon,
                &(struct call){.path = "/translate", .json = body, .headers = {"X-Deadline-Ms: 1"}},
                &reply);
    check_error(&reply, 504, "deadline_exceeded", PASSED);
    reply_done(&reply);
    metric_await(&daemon, "alignd_rows_live", 0, NULL);
    ck_assert_double_eq(metric(&daemon, "alignd_cancelled_total{reason=\"deadline\"}"), 1);
    free(body);
    daemon_stop(&daemon);
}
END_TEST

START_TEST(deadline_of_the_daemon) {
    struct daemon daemon;
    struct reply reply;
    char *body = work_endless(64, 32);
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--workers", "1", "--rows", "64", "--step-ms",
                                    "0", WORK_ENDLESS, "--deadline-ms", "50"));
    client_send(&daemon, &(struct call){.path = "/translate", .json = body}, &reply);
    check_error(&reply, 504, "deadline_exceeded", PASSED);
    reply_done(&reply);
    free(body);
    daemon_stop(&daemon);
}
END_TEST

/* A request that waits behind others need not be admitted to be over. */
START_TEST(deadline_in_the_queue) {
    struct daemon daemon;
    struct reply first, second;
    char *body = work_endless(64, 32);
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--workers", "1", "--rows", "64", "--step-ms",
                                    "0", WORK_ENDLESS, "--deadline-ms", "600000"));
    struct flight *flight = flight_open(&daemon);
    flight_send(flight, &(struct call){.path = "/translate", .json = body}, &first);
    metric_await(&daemon, "alignd_rows_live", 64, flight);
    client_send(&daemon,
                &(struct call){.path = "/translate",
                               .json = "{'text': 'x'}",
                               .headers = {"X-Deadline-Ms: 20"}},
                &second);
    check_error(&second, 504, "deadline_exceeded", PASSED);
    ck_assert_uint_eq(flight_move(flight), 1); /* the first goes on */
    reply_done(&second);
    flight_close(flight);
    reply_done(&first);
    free(body);
    daemon_stop(&daemon);
}
END_TEST

Suite *load_suite(void) {
    Suite *suite = suite_create("load");
    TCase *tcase = tcase_create("load");
    tcase_set_timeout(tcase, TEST_TIMEOUT_S);
    tcase_add_test(tcase, concurrent_answers_equal_lone_ones);
    tcase_add_test(tcase, short_request_overtakes_long_ones);
    tcase_add_test(tcase, step_target_bounds_the_rows);
    tcase_add_test(tcase, departed_client_frees_its_rows);
    tcase_add_test(tcase, departure_harms_nobody_else);
    tcase_add_test(tcase, full_queue);
    tcase_add_test(tcase, more_sentences_than_the_queue_holds);
    tcase_add_test(tcase, deadline_of_a_request);
    tcase_add_test(tcase, deadline_of_the_daemon);
    tcase_add_test(tcase, deadline_in_the_queue);
    suite_add_tcase(suite, tcase);
    return suite;
}
