/* server/http/connection: which connection is cut when the places of a crowd are taken. Cutting by
 * time is tested over HTTP (tests/http/test_slow.c). */
#include "server/base/clock.h"
#include "server/http/cutoff.h"
#include "tests/suites.h"
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 4, CONNECTIONS = CONNECTIONS_FEW + 5 };

static struct metrics *metrics;
static struct cutoff *cutoff;
static struct crowd crowd, other;
static struct timed timed[CONNECTIONS];
static int pairs[CONNECTIONS][2];

static void setup(void) {
    static const char *const labels[] = {"/"};
    metrics = metrics_create(labels, 1, NULL);
    cutoff = cutoff_start(metrics, NULL);
    ck_assert(metrics && cutoff);
    crowd = other = (struct crowd){.most = MOST};
    for (size_t i = 0; i < CONNECTIONS; i++)
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]), 0);
}

static void teardown(void) {
    for (size_t i = 0; i < CONNECTIONS; i++) {
        close(pairs[i][0]);
        close(pairs[i][1]);
    }
    cutoff_free(cutoff);
    metrics_free(metrics);
}

static void add_of(size_t i, struct crowd *to, uint64_t client) {
    timed[i] = (struct timed){
        .fd = pairs[i][0], .crowd = to, .client = client, .timeout_us = INT64_MAX - 1};
    cutoff_add(cutoff, &timed[i]);
}

static void add(size_t i, struct crowd *to) {
    add_of(i, to, i + 1);
}

static bool is_cut(size_t i) {
    char byte;
    return recv(pairs[i][1], &byte, 1, MSG_DONTWAIT) == 0;
}

START_TEST(oldest_silent_makes_room) {
    for (size_t i = 0; i < MOST - 1; i++)
        add(i, &crowd);
    for (size_t i = 0; i < MOST - 1; i++)
        ck_assert(!is_cut(i));
    cutoff_listen(cutoff, &timed[0], false); /* its head has come */
    add(MOST - 1, &crowd);
    ck_assert(!is_cut(0) && is_cut(1) && !is_cut(2) && !is_cut(3)); /* a place stays free */
    cutoff_remove(cutoff, &timed[1]);
    add(MOST, &crowd);
    ck_assert(!is_cut(0) && is_cut(2) && !is_cut(3) && !is_cut(4));
    add(MOST + 1, &crowd); /* before it was removed */
    ck_assert(is_cut(3) && !is_cut(4) && !is_cut(5));
    for (size_t i = 0; i <= MOST + 1; i++) {
        if (i != 1)
            cutoff_remove(cutoff, &timed[i]);
    }
    ck_assert_uint_eq(crowd.count, 0);
}
END_TEST

/* The newest may be about to speak, and what has begun is not disturbed. */
START_TEST(nobody_is_silent) {
    for (size_t i = 0; i < MOST; i++) {
        add(i, &crowd);
        cutoff_set(cutoff, &timed[i], i % 2 ? SLOW_IDLE : SLOW_REQUEST, INT64_MAX - 1);
        cutoff_listen(cutoff, &timed[i], false);
    }
    add(MOST, &crowd);
    for (size_t i = 0; i <= MOST; i++) {
        ck_assert(!is_cut(i));
        cutoff_remove(cutoff, &timed[i]);
    }
}
END_TEST

/* One whose next request has begun is silent again; of those the longest counts, not the oldest
 * connection. */
START_TEST(a_second_head_is_awaited_as_the_first) {
    for (size_t i = 0; i < MOST - 1; i++)
        add(i, &crowd);
    cutoff_listen(cutoff, &timed[2], false);
    for (int64_t now_us = clock_us(); clock_us() == now_us;) /* what comes next is later */
        ;
    cutoff_set(cutoff, &timed[0], SLOW_REQUEST, INT64_MAX - 1);
    add(MOST - 1, &crowd);
    ck_assert(!is_cut(0) && is_cut(1) && !is_cut(2) && !is_cut(3));
    add(MOST, &crowd);
    ck_assert(is_cut(0) && !is_cut(2) && !is_cut(3) && !is_cut(4));
    for (size_t i = 0; i <= MOST; i++)
        cutoff_remove(cutoff, &timed[i]);
}
END_TEST

/* What has arrived, and waits to be read, is not silence. */
START_TEST(unread_bytes_are_not_silent) {
    for (size_t i = 0; i < MOST - 1; i++)
        add(i, &crowd);
    ck_assert_int_eq(write(pairs[0][1], "G", 1), 1);
    add(MOST - 1, &crowd);
    ck_assert(!is_cut(0) && is_cut(1) && !is_cut(2) && !is_cut(3));
    for (size_t i = 0; i < MOST; i++)
        cutoff_remove(cutoff, &timed[i]);
}
END_TEST

/* The client with the most connections loses the newest of those whose body arrives; who has few
 * loses none, and so do proxies. */
START_TEST(a_body_makes_room) {
    static const struct {
        uint64_t client;
        bool loses;
    } rows[] = {{0, false}, {7, true}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        size_t count = CONNECTIONS, last = count - 1;
        crowd.most = count;
        for (size_t i = 0; i < last; i++) {
            add_of(i, &crowd, i < 2 ? 1 : rows[r].client);
            cutoff_listen(cutoff, &timed[i], false);
        }
        cutoff_set(cutoff, &timed[last - 1], SLOW_IDLE, INT64_MAX - 1); /* its body has arrived */
        add_of(last, &crowd, 2);
        for (size_t i = 0; i < count; i++)
            ck_assert_msg(is_cut(i) == (rows[r].loses && i == last - 2), "%zu", i);
        for (size_t i = 0; i < count; i++)
            cutoff_remove(cutoff, &timed[i]);
        ck_assert_ptr_null(crowd.holders);
    }
}
END_TEST

/* A silent connection of a client that has more than a few goes first, then a body of such a
 * client, and a silent one of another client only if there is neither. */
START_TEST(who_has_few_stays) {
    enum { SILENT = 3, LAST = CONNECTIONS - 1 };
    static const struct {
        bool silent, idle;
        size_t cut;
    } rows[] = {{true, false, SILENT}, {false, false, LAST - 1}, {false, true, 0}};
    crowd.most = CONNECTIONS;
    add(0, &crowd);
    for (size_t i = 1; i < LAST; i++) {
        add_of(i, &crowd, LAST);
        if (rows[_i].idle)
            cutoff_set(cutoff, &timed[i], SLOW_IDLE, INT64_MAX - 1);
        cutoff_listen(cutoff, &timed[i], rows[_i].silent && i == SILENT);
    }
    add(LAST, &crowd);
    for (size_t i = 0; i < CONNECTIONS; i++) {
        ck_assert_msg(is_cut(i) == (i == rows[_i].cut), "%zu", i);
        cutoff_remove(cutoff, &timed[i]);
    }
}
END_TEST

/* Clients with more than a few requests that have not arrived do not get the last place, unless
 * there is one such client. */
START_TEST(who_has_many_is_refused) {
    enum { MANY = 1, BUSY, FEW, NEW, PART = CONNECTIONS_FEW + 1, ALL = 2 * PART + 1 };
    static struct timed all[ALL];
    crowd.most = ALL + 1;
    for (size_t i = 0; i < ALL; i++) {
        ck_assert(cutoff_admits(cutoff, &crowd, MANY) && cutoff_admits(cutoff, &crowd, BUSY));
        all[i] = (struct timed){.fd = -1,
                                .crowd = &crowd,
                                .client = i < PART       ? MANY
                                          : i < 2 * PART ? BUSY
                                                         : FEW,
                                .timeout_us = INT64_MAX - 1};
        cutoff_add(cutoff, &all[i]);
    }
    ck_assert(!cutoff_admits(cutoff, &crowd, MANY) && !cutoff_admits(cutoff, &crowd, BUSY));
    ck_assert(cutoff_admits(cutoff, &crowd, FEW) && cutoff_admits(cutoff, &crowd, NEW));
    ck_assert(cutoff_admits(cutoff, &crowd, 0));
    cutoff_listen(cutoff, &all[PART], false); /* one of its requests has arrived */
    cutoff_set(cutoff, &all[PART], SLOW_REQUEST, INT64_MAX);
    ck_assert(cutoff_admits(cutoff, &crowd, MANY) && cutoff_admits(cutoff, &crowd, BUSY));
    for (size_t i = 0; i < ALL; i++)
        cutoff_remove(cutoff, &all[i]);
}
END_TEST

START_TEST(crowds_are_apart) {
    for (size_t i = 0; i < CONNECTIONS; i++)
        add(i, i < MOST - 1 ? &other : &crowd);
    for (size_t i = 0; i < CONNECTIONS; i++) {
        ck_assert_msg(is_cut(i) == (i >= MOST - 1 && i < CONNECTIONS - MOST + 1), "%zu", i);
        cutoff_remove(cutoff, &timed[i]);
    }
}
END_TEST

Suite *cutoff_suite(void) {
    Suite *suite = suite_create("cutoff");
    TCase *tcase = tcase_create("cutoff");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, oldest_silent_makes_room);
    tcase_add_test(tcase, nobody_is_silent);
    tcase_add_test(tcase, a_second_head_is_awaited_as_the_first);
    tcase_add_test(tcase, unread_bytes_are_not_silent);
    tcase_add_test(tcase, a_body_makes_room);
    tcase_add_loop_test(tcase, who_has_few_stays, 0, 3);
    tcase_add_test(tcase, who_has_many_is_refused);
    tcase_add_test(tcase, crowds_are_apart);
    suite_add_tcase(suite, tcase);
    return suite;
}
