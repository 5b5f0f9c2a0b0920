/* server/chores: turns, limits, and chores that are over; no HTTP. One thread, held at a gate, so
 * that the order is known. */
#include "server/decode/chores.h"
#include "tests/suites.h"
#include <semaphore.h>
#include <string.h>

enum { MOST = 16, BYTES = 1600, MAX_DONE = 32 };

struct fake {
    struct request request;
    struct chore chore;
    char name;
};

static struct chores *chores;
static struct metrics *metrics;
static sem_t gate, entered;
static char done[MAX_DONE + 1]; /* names, in the order in which they were done: read once all are */
static size_t done_count;

static void note(void *owner) {
    const struct fake *fake = owner;
    done[done_count++] = fake->name;
}

static void hold(void *owner) {
    sem_post(&entered);
    sem_wait(&gate);
    note(owner);
}

static void fake_init(struct fake *fake, char name, uint64_t client, size_t bytes) {
    request_init(&fake->request);
    fake->request.account.client = client;
    fake->name = name;
    fake->chore = (struct chore){.request = &fake->request,
                                 .kind = CHORE_PREPARATION,
                                 .bytes = bytes,
                                 .run = note,
                                 .owner = fake};
}

static bool submit(struct fake *fake, char name, uint64_t client, size_t bytes) {
    fake_init(fake, name, client, bytes);
    return chores_submit(chores, &fake->chore);
}

static struct fake holder;

static void setup(void) {
    static const char *const labels[] = {"other"};
    struct error error = {0};
    memset(done, 0, sizeof done);
    done_count = 0;
    sem_init(&gate, 0, 0);
    sem_init(&entered, 0, 0);
    metrics = metrics_create(labels, 1, &error);
    chores = chores_start(&(struct chores_options){1, MOST, BYTES, metrics, 0}, &error);
    ck_assert_ptr_nonnull(chores);
    fake_init(&holder, '.', 0, 0);
    holder.chore.run = hold;
    ck_assert(chores_submit(chores, &holder.chore));
    sem_wait(&entered);
}

static void finish(void) {
    sem_post(&gate);
    ck_assert(chores_wait(chores, CHORE_PREPARATION, 60000));
    ck_assert(chores_wait(chores, CHORE_RENDERING, 60000));
}

static void teardown(void) {
    chores_free(chores);
    metrics_free(metrics);
    sem_destroy(&gate);
    sem_destroy(&entered);
}

START_TEST(clients_take_turns) {
    struct fake fakes[8];
    for (size_t i = 0; i < 5; i++)
        ck_assert(submit(&fakes[i], 'a', 1, 1));
    ck_assert(submit(&fakes[5], 'b', 2, 1));
    ck_assert(submit(&fakes[6], 'c', 3, 1));
    ck_assert(submit(&fakes[7], 'b', 2, 1));
    finish();
    ck_assert_str_eq(done, ".abcabaaa");
}
END_TEST

/* A later client does not wait for all earlier chores. */
START_TEST(turns_go_on) {
    struct fake fakes[4], late;
    for (size_t i = 0; i < 4; i++)
        ck_assert(submit(&fakes[i], 'a', 1, 1));
    fakes[1].chore.run = hold; /* it waits: nobody reads it yet */
    sem_post(&gate);
    sem_wait(&entered);
    ck_assert(submit(&late, 'b', 2, 1));
    finish();
    ck_assert_str_eq(done, ".aaaba");
}
END_TEST

START_TEST(what_may_wait_is_bounded) {
    struct fake fakes[MOST + 2], other, rendering;
    size_t share = MOST - MOST / 8;
    for (size_t i = 0; i < share; i++)
        ck_assert(submit(&fakes[i], 'a', 1, 1));
    ck_assert(!submit(&fakes[share], 'x', 1, 1));
    ck_assert(submit(&fakes[share + 1], 'b', 2, 1));
    ck_assert(!submit(&other, 'x', 2, BYTES));
    fake_init(&rendering, 'r', 1, BYTES);
    rendering.chore.kind = CHORE_RENDERING;
    ck_assert(chores_submit(chores, &rendering.chore));
    finish();
    ck_assert_uint_eq(done_count, 1 + share + 2);
    ck_assert_ptr_null(strchr(done, 'x'));
    ck_assert_double_ge(chores_wait_s(chores, &other.chore), 0);
}
END_TEST

/* Where nothing waits there is room for one of any size. */
START_TEST(one_of_any_size) {
    struct fake large, small;
    ck_assert(submit(&large, 'l', 1, 10 * BYTES));
    ck_assert(!submit(&small, 'x', 2, 1));
    finish();
    ck_assert_str_eq(done, ".l");
}
END_TEST

START_TEST(what_is_over_comes_first) {
    struct fake fakes[4];
    for (size_t i = 0; i < 4; i++)
        ck_assert(submit(&fakes[i], (char)('a' + i), 1, 1));
    request_cancel(&fakes[2].request, CANCEL_CLIENT);
    finish();
    ck_assert_str_eq(done, ".cabd");
    struct fake late;
    fake_init(&late, 'l', 1, 1);
    late.request.deadline_us = 1;
    ck_assert(request_is_over(&late.request));
    ck_assert_int_eq(request_reason(&late.request), CANCEL_DEADLINE);
}
END_TEST

START_TEST(abandoned) {
    struct fake before, after;
    ck_assert(submit(&before, 'a', 1, 1));
    ck_assert(!chores_wait(chores, CHORE_PREPARATION, 1));
    ck_assert(chores_wait(chores, CHORE_RENDERING, 1));
    chores_abandon(chores);
    ck_assert_int_eq(request_reason(&before.request), CANCEL_SHUTDOWN);
    ck_assert(submit(&after, 'b', 1, 1));
    ck_assert_int_eq(request_reason(&after.request), CANCEL_SHUTDOWN);
    ck_assert_int_eq(request_reason(&holder.request), CANCEL_NONE);
    finish();
    ck_assert_str_eq(done, ".ab");
}
END_TEST

/* ---- slices ---- */

static bool submit_large(struct fake *fake, char name, uint64_t client, void (*run)(void *)) {
    fake_init(fake, name, client, 1);
    fake->chore.large = true;
    fake->chore.run = run;
    return chores_submit(chores, &fake->chore);
}

/* It has had its slice. */
static void pause_now(struct fake *fake) {
    fake->chore.slice_us = 0;
    chores_pause(chores, &fake->chore);
}

/* Three slices; note tells each. */
static void work(void *owner) {
    note(owner);
    pause_now(owner);
    note(owner);
    pause_now(owner);
    note(owner);
}

START_TEST(small_ones_go_before_large_ones) {
    struct fake large, small[4];
    ck_assert(submit_large(&large, 'L', 1, note));
    for (size_t i = 0; i < 4; i++)
        ck_assert(submit(&small[i], 's', 2, 1));
    finish();
    ck_assert_str_eq(done, ".ssLss"); /* the holder was small, too */
}
END_TEST

START_TEST(slices_take_turns) {
    struct fake large[2];
    ck_assert(submit_large(&large[0], 'a', 1, work));
    ck_assert(submit_large(&large[1], 'b', 2, work));
    finish();
    ck_assert_str_eq(done, ".ababab");
}
END_TEST

/* A slice that is not over, or nobody to have the next one: it goes on at once. */
START_TEST(nobody_waits) {
    struct fake large;
    ck_assert(submit_large(&large, 'a', 1, work));
    finish();
    ck_assert_str_eq(done, ".aaa");
}
END_TEST

/* Held in the midst of its work while others come. */
static void work_and_hold(void *owner) {
    hold(owner);
    pause_now(owner);
    note(owner);
}

START_TEST(small_ones_come_between_slices) {
    struct fake large, small[2];
    ck_assert(submit_large(&large, 'L', 1, work_and_hold));
    sem_post(&gate); /* the holder's */
    sem_wait(&entered);
    ck_assert(submit(&small[0], 's', 2, 1));
    ck_assert(submit(&small[1], 't', 1, 1)); /* of its own client */
    finish();
    ck_assert_str_eq(done, ".LstL");
}
END_TEST

/* However many large ones wait and are in progress, of one client or of many. */
START_TEST(large_ones_leave_room) {
    struct fake large[8], small;
    for (size_t i = 0; i < 8; i++)
        ck_assert(submit_large(&large[i], (char)('a' + i), i / 2, work));
    ck_assert(submit(&small, 's', 9, 1));
    finish();
    ck_assert_uint_eq(done_count, 1 + 8 * 3 + 1);
    ck_assert_ptr_eq(strchr(done, 's'), done + 1);
    ck_assert(strchr(done, 'b') >
              strrchr(done, 'a')); /* the second of a client begins when the first has ended */
    ck_assert(strchr(done, 'g') > strchr(done, 'e'));
}
END_TEST

START_TEST(what_is_over_gets_the_next_slice) {
    struct fake large[2];
    ck_assert(submit_large(&large[0], 'a', 1, work));
    ck_assert(submit_large(&large[1], 'b', 2, work_and_hold));
    sem_post(&gate); /* a has had a slice when b holds */
    sem_wait(&entered);
    request_cancel(&large[0].request, CANCEL_CLIENT);
    finish();
    ck_assert_str_eq(done, ".abaab");
}
END_TEST

/* It goes on when another has opened the gate; a slice that is over meanwhile is nobody else's
 * turn. */
static void wait_away(void *owner) {
    struct fake *fake = owner;
    note(fake);
    chores_away(chores, &fake->chore, true);
    sem_post(&entered);
    sem_wait(&gate);
    pause_now(fake);
    chores_away(chores, &fake->chore, false);
    note(fake);
}

static void open_gate(void *owner) {
    note(owner);
    sem_post(&gate);
}

START_TEST(others_work_beside_one_that_is_away) {
    struct fake away, other;
    ck_assert(submit_large(&away, 'a', 1, wait_away));
    sem_post(&gate); /* the holder's */
    sem_wait(&entered);
    ck_assert(submit_large(&other, 'b', 2, open_gate));
    ck_assert(chores_wait(chores, CHORE_PREPARATION, 60000));
    ck_assert_str_eq(done, ".aba");
}
END_TEST

static void wait_here(void *owner) {
    struct fake *fake = owner;
    note(fake);
    sem_post(&entered);
    sem_wait(&gate);
    pause_now(fake);
    note(fake);
}

static void arrive(void *owner) {
    note(owner);
    sem_post(&entered);
}

/* Others pass by it, whether they come before it is overdue or later. */
START_TEST(others_work_beside_one_that_is_overdue) {
    struct error error = {0};
    struct fake overdue, early, late;
    finish();
    chores_free(chores);
    chores = chores_start(&(struct chores_options){1, MOST, BYTES, metrics, 30}, &error);
    ck_assert_ptr_nonnull(chores);
    ck_assert(submit_large(&overdue, 'a', 1, wait_here));
    sem_wait(&entered);
    ck_assert(submit_large(&early, 'b', 2, arrive));
    sem_wait(&entered);
    ck_assert(submit_large(&late, 'c', 3, open_gate));
    ck_assert(chores_wait(chores, CHORE_PREPARATION, 60000));
    ck_assert_str_eq(done, ".abca");
}
END_TEST

START_TEST(paused_ones_are_abandoned) {
    struct fake large[2];
    ck_assert(submit_large(&large[0], 'a', 1, work));
    ck_assert(submit_large(&large[1], 'b', 2, work_and_hold));
    sem_post(&gate);
    sem_wait(&entered);
    chores_abandon(chores);
    ck_assert_int_eq(request_reason(&large[0].request), CANCEL_SHUTDOWN);
    finish();
}
END_TEST

Suite *chores_suite(void) {
    Suite *suite = suite_create("chores");
    TCase *tests = tcase_create("chores");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, clients_take_turns);
    tcase_add_test(tests, turns_go_on);
    tcase_add_test(tests, what_may_wait_is_bounded);
    tcase_add_test(tests, one_of_any_size);
    tcase_add_test(tests, what_is_over_comes_first);
    tcase_add_test(tests, abandoned);
    tcase_add_test(tests, small_ones_go_before_large_ones);
    tcase_add_test(tests, slices_take_turns);
    tcase_add_test(tests, nobody_waits);
    tcase_add_test(tests, small_ones_come_between_slices);
    tcase_add_test(tests, large_ones_leave_room);
    tcase_add_test(tests, what_is_over_gets_the_next_slice);
    tcase_add_test(tests, others_work_beside_one_that_is_away);
    tcase_add_test(tests, others_work_beside_one_that_is_overdue);
    tcase_add_test(tests, paused_ones_are_abandoned);
    suite_add_tcase(suite, tests);
    return suite;
}
