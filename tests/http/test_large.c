/* The worst bodies that the limits allow, while they are prepared: other clients do not wait for that. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include "tests/load/worst.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* PATIENCE_MS: within which /health answers. Where a body takes long, as it does under sanitizers, so may that: by SHARE of it. */
enum { MEBIBYTE = 1 << 20, ROUNDS = 3, PATIENCE_MS = 100, SHARE = 4 };

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Sends it and waits for its reply: how long that took. health: asked meanwhile, again and again; *slowest: its slowest answer. */
static double ask(const struct daemon *daemon, const struct call *call, CURL *health, double *slowest) {
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
    ck_assert_msg(reply.status >= 200 && reply.status < 500 && reply.status != 429, "%ld", reply.status);
    reply_done(&reply);
    flight_close(flight);
    return took_ms;
}

/* With a queue that has no work to spare all is refused once it is prepared: no time is spent on decoding. */
START_TEST(health_answers_meanwhile) {
    struct daemon daemon;
    daemon_start(&daemon, ARGUMENTS("--model", "weights/en-fr", "--queue-work", "1", "--workers", "1", "--deadline-ms", "60000"));
    char *body = worst_body((size_t)_i), type[64];
    sprintf(type, "Content-Type: %s", worst_type((size_t)_i));
    ck_assert_uint_lt(strlen(body), MEBIBYTE);
    struct call call = {.path = "/translate", .body = body, .headers = {type}};
    CURL *health = connection_open();
    double best_ms = 1e9, ignored, needed_ms = ask(&daemon, &call, NULL, &ignored);
    for (int round = 0; round < ROUNDS && best_ms > PATIENCE_MS; round++) {
        double slowest_ms;
        ask(&daemon, &call, health, &slowest_ms);
        best_ms = slowest_ms < best_ms ? slowest_ms : best_ms;
    }
    double most_ms = needed_ms / SHARE > PATIENCE_MS ? needed_ms / SHARE : PATIENCE_MS;
    ck_assert_msg(best_ms <= most_ms, "/health took %.0f ms, the body %.0f ms", best_ms, needed_ms);
    curl_easy_cleanup(health);
    free(body);
    daemon_stop(&daemon);
}
END_TEST

Suite *large_suite(void) {
    Suite *suite = suite_create("large");
    TCase *tests = tcase_create("large");
    tcase_set_timeout(tests, TEST_TIMEOUT_S);
    tcase_add_loop_test(tests, health_answers_meanwhile, 0, WORST_BODIES);
    suite_add_tcase(suite, tests);
    return suite;
}
