#include "server/http/bodies.h"
#include "tests/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256 * 1024, SHARE = MOST / BODIES_CLIENT_SHARE, PIECE = 16 * 1024 };

static char piece[MOST * 2];
static struct metrics *metrics;
static struct bodies *bodies;

static void setup(void) {
    static const char *const labels[] = {"/"};
    metrics = metrics_create(labels, 1, NULL);
    bodies = bodies_create(MOST, metrics);
    ck_assert(metrics && bodies);
}

static void teardown(void) {
    bodies_free(bodies);
    metrics_free(metrics);
}

static void check_gauges(size_t bytes, size_t waiting) {
    char *text, line[100];
    size_t length;
    ck_assert_int_eq(metrics_write(metrics, &(struct metrics_state){0}, &text, &length, NULL), 0);
    snprintf(line, sizeof line, "\nalignd_body_bytes %zu\n", bytes);
    ck_assert_msg(strstr(text, line), "%s in %s", line, text);
    snprintf(line, sizeof line, "\nalignd_bodies_waiting %zu\n", waiting);
    ck_assert_msg(strstr(text, line), "%s in %s", line, text);
    free(text);
}

static void note(void *owner) {
    ++*(int *)owner;
}

struct sender {
    struct body body;
    int woken;
};

static void begin(struct sender *sender) {
    *sender = (struct sender){.body = {.wake = note}};
    sender->body.owner = &sender->woken;
}

static enum body_verdict send(struct sender *sender, uint64_t client, size_t count) {
    return bodies_receive(bodies, &sender->body, client, piece, count);
}

START_TEST(pieces_are_joined) {
    struct body body = {.wake = note};
    ck_assert_int_eq(bodies_receive(bodies, &body, 1, "ab", 2), BODY_TAKEN);
    for (size_t i = 0; i < PIECE; i++)
        ck_assert_int_eq(bodies_receive(bodies, &body, 1, "cde", 3), BODY_TAKEN);
    ck_assert_uint_eq(body.length, 2 + 3 * PIECE);
    ck_assert(memcmp(body.bytes, "abcdecde", 8) == 0 &&
              memcmp(body.bytes + body.length - 4, "ecde", 4) == 0);
    check_gauges(body.capacity, 0);
    bodies_release(bodies, &body);
    bodies_release(bodies, &body);
    check_gauges(0, 0);
}
END_TEST

/* A client's second body waits beyond a quarter of the budget, and goes on when the first is
 * released. */
START_TEST(a_client_has_a_quarter) {
    struct sender first, second, other;
    begin(&first);
    begin(&second);
    begin(&other);
    ck_assert_int_eq(send(&first, 1, SHARE), BODY_TAKEN);
    ck_assert_int_eq(send(&second, 1, 1), BODY_FULL);
    bodies_wait(bodies, &second.body);
    check_gauges(SHARE, 1);
    ck_assert_int_eq(send(&other, 2, SHARE), BODY_TAKEN);
    ck_assert_int_eq(second.woken, 0);
    bodies_release(bodies, &first.body);
    ck_assert_int_eq(second.woken, 1);
    check_gauges(SHARE + 4096, 0);
    ck_assert_int_eq(send(&second, 1, 1), BODY_TAKEN);
    bodies_release(bodies, &second.body);
    bodies_release(bodies, &other.body);
}
END_TEST

/* Clients that send as much as they can leave room for another one, and a short body always has
 * room. */
START_TEST(a_newcomer_finds_room) {
    enum { ATTACKERS = 8, STEP = 4096 };
    struct sender attackers[ATTACKERS], newcomer;
    for (uint64_t i = 0; i < ATTACKERS; i++)
        begin(&attackers[i]);
    ck_assert_int_eq(send(&attackers[0], 0, SHARE), BODY_TAKEN);
    for (bool grows = true; grows;) {
        grows = false;
        for (uint64_t i = 1; i < ATTACKERS; i++)
            grows |= send(&attackers[i], i, STEP) == BODY_TAKEN;
    }
    size_t sum = 0;
    for (uint64_t i = 0; i < ATTACKERS; i++)
        sum += attackers[i].body.counted;
    ck_assert_uint_le(sum, MOST - STEP);
    begin(&newcomer);
    ck_assert_int_eq(send(&newcomer, ATTACKERS, STEP), BODY_TAKEN);
    ck_assert_int_eq(send(&newcomer, ATTACKERS, STEP), BODY_TAKEN);
    bodies_release(bodies, &newcomer.body);

    ck_assert_int_eq(send(&attackers[0], 0, MOST), BODY_TAKEN);
    begin(&newcomer);
    ck_assert_int_eq(send(&newcomer, ATTACKERS, STEP), BODY_TAKEN);
    ck_assert_int_eq(send(&newcomer, ATTACKERS, STEP), BODY_FULL);
    bodies_release(bodies, &newcomer.body);
    for (uint64_t i = 0; i < ATTACKERS; i++)
        bodies_release(bodies, &attackers[i].body);
}
END_TEST

/* The oldest body of a client may be larger than its share, and the oldest of all larger than the
 * budget: nobody waits for ever. */
START_TEST(the_oldest_goes_on) {
    enum { TAKEN = 3 /* the fourth would leave nothing to others */ };
    struct sender senders[6];
    for (uint64_t i = 0; i < 6; i++) {
        begin(&senders[i]);
        enum body_verdict verdict = send(&senders[i], i, SHARE);
        ck_assert_int_eq(verdict, i < TAKEN ? BODY_TAKEN : BODY_FULL);
        if (verdict == BODY_FULL)
            bodies_wait(bodies, &senders[i].body);
    }
    ck_assert_int_eq(send(&senders[1], 1, 1), BODY_FULL);
    bodies_wait(bodies, &senders[1].body);
    ck_assert_int_eq(send(&senders[0], 0, sizeof piece - SHARE), BODY_TAKEN);
    check_gauges(sizeof piece + 2 * SHARE, 4);
    bodies_release(bodies, &senders[0].body);
    ck_assert_int_eq(senders[1].woken,
                     1); /* the oldest now, although two others have waited longer */
    ck_assert_int_eq(senders[4].woken, 0);
    for (size_t i = 1; i < 6; i++) {
        ck_assert_int_eq(senders[i].woken, i == 1 || i >= TAKEN);
        bodies_release(bodies, &senders[i].body);
    }
    check_gauges(0, 0);
}
END_TEST

START_TEST(a_wait_can_end_without_room) {
    struct sender first, second, third;
    begin(&first);
    begin(&second);
    begin(&third);
    ck_assert_int_eq(send(&first, 1, SHARE), BODY_TAKEN);
    ck_assert_int_eq(send(&second, 1, 1), BODY_FULL);
    bodies_wait(bodies, &second.body);
    bodies_wake(bodies, &second.body);
    bodies_wake(bodies, &second.body);
    ck_assert_int_eq(second.woken, 1);
    bodies_release(bodies, &second.body);

    ck_assert_int_eq(send(&third, 1, 1), BODY_FULL);
    bodies_wait(bodies, &third.body);
    bodies_close(bodies);
    ck_assert_int_eq(third.woken, 1);
    ck_assert_int_eq(send(&third, 1, 1), BODY_FAILED);
    bodies_release(bodies, &third.body);
    bodies_release(bodies, &first.body);
}
END_TEST

/* Room that comes free between the refusal and the wait is not missed. */
START_TEST(a_wait_that_comes_late_ends_at_once) {
    struct sender first, second;
    begin(&first);
    begin(&second);
    ck_assert_int_eq(send(&first, 1, SHARE), BODY_TAKEN);
    ck_assert_int_eq(send(&second, 1, 1), BODY_FULL);
    bodies_release(bodies, &first.body);
    bodies_wait(bodies, &second.body);
    ck_assert_int_eq(second.woken, 1);
    bodies_release(bodies, &second.body);
}
END_TEST

Suite *bodies_suite(void) {
    Suite *suite = suite_create("bodies");
    TCase *tests = tcase_create("bodies");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, pieces_are_joined);
    tcase_add_test(tests, a_client_has_a_quarter);
    tcase_add_test(tests, a_newcomer_finds_room);
    tcase_add_test(tests, the_oldest_goes_on);
    tcase_add_test(tests, a_wait_can_end_without_room);
    tcase_add_test(tests, a_wait_that_comes_late_ends_at_once);
    suite_add_tcase(suite, tests);
    return suite;
}
