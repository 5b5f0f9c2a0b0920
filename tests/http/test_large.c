/* The worst bodies that the limits allow, while they are prepared: other clients do not wait for that. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* PATIENCE_MS: within which /health answers. Where a body takes long, as it does under sanitizers, so may that: by SHARE of it. */
enum { MEBIBYTE = 1 << 20, ROOM = MEBIBYTE - 4096, ROUNDS = 3, PATIENCE_MS = 100, SHARE = 4 };

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* ---- bodies ---- */

/* head, unit again and again, tail: so many bytes of units at most. The caller frees it. */
static char *repeat(const char *head, const char *unit, const char *tail, size_t bytes) {
    size_t length = strlen(unit), count = bytes / length;
    char *body = malloc(strlen(head) + count * length + strlen(tail) + 1), *out = stpcpy(body, head);
    for (size_t i = 0; i < count; i++)
        out = stpcpy(out, unit);
    strcpy(out, tail);
    return body;
}

#define MARKUP_HEAD "{\"source\":\"en\",\"target\":\"fr\",\"format\":\"html\",\"q\":\""
#define LONG_PHRASE "\xef\xb7\xba\xef\xb7\xba\xef\xb7\xba\xef\xb7\xba\xef\xb7\xba\xef\xb7\xba\xef\xb7\xba\xef\xb7\xba"

/* Each of these becomes 18 characters. */
static char *ligatures(void) {
    return repeat("{\"text\":\"", "\xef\xb7\xba", "\"}", 30000);
}

static char *one_tag(void) {
    char *body = malloc(MEBIBYTE), *out = stpcpy(body, MARKUP_HEAD "<a");
    for (unsigned i = 0; out < body + ROOM; i++)
        out += sprintf(out, " %x", i);
    strcpy(out, ">x</a>\"}");
    return body;
}

static char *cells(void) {
    return repeat(MARKUP_HEAD, "<td>", "x\"}", ROOM);
}

static char *elements(void) {
    return repeat(MARKUP_HEAD, "<b a=c></b>", "x\"}", ROOM);
}

static char *texts(void) {
    return repeat("{\"text\":[", "\"" LONG_PHRASE LONG_PHRASE LONG_PHRASE "\",", "\"a\"]}", (size_t)63 * (3 * 24 + 3));
}

/* Fifty of the longest phrases; the text holds one at every word. */
static char *glossary(void) {
    char *phrase = repeat("", "\xef\xb7\xba", "\"", 198), *text = repeat("},\"text\":\"", "a ", "\"}", 9000);
    char *body = malloc(MEBIBYTE), *out = stpcpy(body, "{\"glossary\":{\"a\":\"");
    out = stpcpy(out, phrase);
    for (int i = 1; i < 50; i++)
        out += sprintf(out, ",\"b%d\":\"%s", i, phrase);
    strcpy(out, text);
    free(phrase);
    free(text);
    return body;
}

static char *members(void) {
    char *body = malloc(MEBIBYTE), *out = stpcpy(body, "{\"text\":\"a\"");
    for (unsigned i = 0; out < body + ROOM; i++)
        out += sprintf(out, ",\"%x\":0", i);
    strcpy(out, "}");
    return body;
}

static char *form(void) {
    return repeat("q=a&source=en&target=fr", "&a=b", "", ROOM);
}

static char *parts(void) {
    return repeat("--b\r\n", "a: b\r\n", "\r\n\r\n--b--\r\n", ROOM);
}

static const struct {
    char *(*make)(void);
    const char *type;
} bodies[] = {
    {ligatures, NULL},
    {one_tag, NULL},
    {cells, NULL},
    {elements, NULL},
    {texts, NULL},
    {glossary, NULL},
    {members, NULL},
    {form, "Content-Type: application/x-www-form-urlencoded"},
    {parts, "Content-Type: multipart/form-data; boundary=b"},
};

/* ---- */

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
    char *body = bodies[_i].make();
    ck_assert_uint_lt(strlen(body), MEBIBYTE);
    struct call call = {.path = "/translate", .body = body, .headers = {bodies[_i].type}};
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
    tcase_add_loop_test(tests, health_answers_meanwhile, 0, (int)(sizeof bodies / sizeof *bodies));
    suite_add_tcase(suite, tests);
    return suite;
}
