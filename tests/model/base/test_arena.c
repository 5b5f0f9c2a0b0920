/* The modules that everything else is built on: arenas and errors. */
#include "model/base/arena.h"
#include "model/base/error.h"
#include "tests/suites.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;

static void setup(void) {
    arena_init(&arena, 1024);
}

static void teardown(void) {
    arena_done(&arena);
}

/* ---- what it may take ---- */

static bool go_on(void *owner) {
    int *left = owner;
    return --*left > 0;
}

START_TEST(bytes_are_bounded) {
    struct budget budget = {.most_bytes = 10000, .most_sentences = 2};
    ck_assert_ptr_nonnull(arena_alloc(&arena, 5000, 1)); /* before */
    arena_limit(&arena, &budget);
    for (size_t i = 0; i < 9; i++)
        ck_assert_ptr_nonnull(arena_alloc(&arena, 1024, 1));
    ck_assert_uint_eq(budget.bytes, 9 * 1024);
    arena_reset(&arena);
    arena_trim(&arena);
    ck_assert_uint_eq(budget.bytes, 0);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 9984, 1));
    arena_done(&arena);
    ck_assert_uint_eq(budget.bytes, 0);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 9984, 1));
    ck_assert_ptr_null(arena_alloc(&arena, 64, 1));
    ck_assert(arena_failed(&arena));
    ck_assert_int_eq(budget.spent, BUDGET_BYTES);
    ck_assert(!budget_step(&budget, 1) && !budget_take(&budget, 1));
    arena_limit(&arena, NULL);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 64, 1));
}
END_TEST

START_TEST(sentences_are_bounded) {
    struct budget budget = {.most_bytes = 10000, .most_sentences = 2};
    ck_assert(budget_add_sentence(&budget) && budget_add_sentence(&budget));
    ck_assert(!budget_add_sentence(&budget));
    ck_assert_int_eq(budget.spent, BUDGET_SENTENCES);
    ck_assert(budget_add_sentence(NULL) && budget_step(NULL, 1) && budget_take(NULL, 1));
    budget_give(NULL, 1);
}
END_TEST

START_TEST(time_is_asked_for_now_and_then) {
    int left = 3, steps = 0;
    struct budget budget = {.most_bytes = SIZE_MAX, .go_on = go_on, .owner = &left};
    arena_limit(&arena, &budget);
    while (arena_alloc(&arena, 1, 1))
        steps++;
    ck_assert_int_eq(left, 0);
    ck_assert_int_gt(steps, 3 * 8);
    ck_assert_int_eq(budget.spent, BUDGET_TIME);
    ck_assert_ptr_null(arena_alloc(&arena, 1, 1));
    ck_assert_int_eq(left, 0); /* it is not asked again */
    arena_limit(&arena, NULL); /* teardown must not touch a budget that is gone */
}
END_TEST

/* Long copies give others their turn. */
START_TEST(copies_count_steps) {
    static char from[2 << 20], to[2 << 20];
    int left = 4;
    struct budget budget = {.most_bytes = SIZE_MAX, .go_on = go_on, .owner = &left};
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (char)(i * 7 + i / 1000);
    ck_assert(budget_copy(&budget, to, from, 64 * 1024)); /* one piece */
    ck_assert_int_eq(left, 4);
    ck_assert(budget_copy(&budget, to, from, (1 << 20) + 1));
    ck_assert_mem_eq(to, from, (1 << 20) + 1);
    ck_assert_int_eq(left, 2);
    ck_assert(!budget_copy(&budget, to, from, sizeof from));
    ck_assert_int_eq(left, 0);
    ck_assert(budget_copy(NULL, to, from, sizeof from));
    ck_assert_mem_eq(to, from, sizeof from);
    ck_assert(budget_copy(NULL, NULL, NULL, 0));
}
END_TEST

/* An array that grows, and a copy, fail without a half of their bytes. */
START_TEST(copies_end_with_the_budget) {
    size_t room = 0;
    int left = 1;
    struct budget budget = {.most_bytes = SIZE_MAX, .go_on = go_on, .owner = &left};
    char *items = arena_grow(&arena, NULL, 0, &room, 4 << 20, 1);
    ck_assert_ptr_nonnull(items);
    memset(items, 'a', room);
    size_t before = room;
    arena_limit(&arena, &budget);
    ck_assert_ptr_null(arena_grow(&arena, items, before, &room, 1, 1));
    ck_assert_uint_eq(room, before);
    ck_assert(arena_failed(&arena));
    ck_assert_int_eq(budget.spent, BUDGET_TIME);
    arena_limit(&arena, NULL);
    arena_done(&arena);
    items = malloc(4 << 20);
    memset(items, 'a', 4 << 20);
    left = 1;
    budget = (struct budget){.most_bytes = SIZE_MAX, .go_on = go_on, .owner = &left};
    arena_limit(&arena, &budget);
    ck_assert_ptr_null(arena_copy(&arena, items, 4 << 20));
    ck_assert(arena_failed(&arena));
    arena_done(&arena);
    arena_limit(&arena, NULL);
    free(items);
}
END_TEST

START_TEST(first_error_wins) {
    struct error err = {0};
    ck_assert_int_eq(error_set(&err, ERROR_INPUT, "beam_size: %d", 99), -1);
    ck_assert_int_eq(error_set(&err, ERROR_FILE, "later"), -1);
    ck_assert_int_eq(error_memory(&err), -1);
    ck_assert_int_eq(err.code, ERROR_INPUT);
    ck_assert_str_eq(err.message, "beam_size: 99");
}
END_TEST

START_TEST(errors_may_go_nowhere) {
    ck_assert_int_eq(error_set(NULL, ERROR_INPUT, "%s", "lost"), -1);
    ck_assert_int_eq(error_memory(NULL), -1);
}
END_TEST

START_TEST(long_message_is_cut) {
    struct error err = {0};
    error_set(&err, ERROR_FORMAT, "%3000d", 1);
    ck_assert_uint_eq(strlen(err.message), sizeof err.message - 1);
}
END_TEST

START_TEST(out_of_memory_has_a_message) {
    struct error err = {0};
    error_memory(&err);
    ck_assert_int_eq(err.code, ERROR_MEMORY);
    ck_assert_str_eq(err.message, "out of memory");
}
END_TEST

/* Sizes from 1 byte to several blocks: aligned, apart from each other, and all bytes usable. */
START_TEST(objects_are_aligned_and_apart) {
    enum { COUNT = 60 };
    unsigned char *objects[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        objects[i] = arena_alloc(&arena, i * i + 1, 1);
        ck_assert_uint_eq((uintptr_t)objects[i] % 64, 0);
        memset(objects[i], (int)i, i * i + 1);
    }
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t byte = 0; byte < i * i + 1; byte++)
            ck_assert_uint_eq(objects[i][byte], i);
    }
}
END_TEST

START_TEST(starts_empty) {
    ck_assert_uint_eq(arena_bytes(&arena), 0);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 1, 1));
    ck_assert_uint_eq(arena_bytes(&arena), 1024);
}
END_TEST

START_TEST(nothing_is_a_valid_pointer) {
    ck_assert_ptr_nonnull(arena_alloc(&arena, 0, 8));
    ck_assert_ptr_nonnull(arena_alloc(&arena, 8, 0));
    ck_assert_ptr_nonnull(arena_alloc(&arena, SIZE_MAX, 0));
    ck_assert_ptr_nonnull(arena_zalloc(&arena, 0, SIZE_MAX));
}
END_TEST

START_TEST(overflow_is_no_memory) {
    ck_assert_ptr_null(arena_alloc(&arena, SIZE_MAX, 1));
    ck_assert_ptr_null(arena_alloc(&arena, SIZE_MAX - 64, 1));
    ck_assert_ptr_null(arena_alloc(&arena, SIZE_MAX / 2 + 1, 2));
    ck_assert_ptr_null(arena_alloc(&arena, SIZE_MAX / 8, 16));
    ck_assert_ptr_null(arena_zalloc(&arena, SIZE_MAX / 8, 16));
    ck_assert_ptr_null(arena_copy(&arena, "", SIZE_MAX));
    ck_assert_uint_eq(arena_bytes(&arena), 0);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 1, 1));
}
END_TEST

/* Later successes do not hide a failure. */
START_TEST(failure_is_remembered) {
    ck_assert(!arena_failed(&arena));
    arena_alloc(&arena, SIZE_MAX, 1);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 1, 1));
    ck_assert(arena_failed(&arena));
    arena_reset(&arena);
    ck_assert(!arena_failed(&arena));
    arena_copy(&arena, "", SIZE_MAX);
    ck_assert(arena_failed(&arena));
    arena_done(&arena);
    ck_assert(!arena_failed(&arena));
}
END_TEST

/* A mark that was made after a failure does not take it back. */
START_TEST(failure_is_released_to_where_it_was) {
    struct arena_mark before = arena_mark(&arena);
    arena_zalloc(&arena, SIZE_MAX / 8, 16);
    struct arena_mark after = arena_mark(&arena);
    arena_release(&arena, after);
    ck_assert(arena_failed(&arena));
    arena_release(&arena, before);
    ck_assert(!arena_failed(&arena));
}
END_TEST

START_TEST(zalloc_clears_reused_memory) {
    memset(arena_alloc(&arena, 100, 4), 0xff, 400);
    arena_reset(&arena);
    const unsigned char *cleared = arena_zalloc(&arena, 100, 4);
    for (size_t i = 0; i < 400; i++)
        ck_assert_uint_eq(cleared[i], 0);
}
END_TEST

START_TEST(copy_ends_with_nul) {
    memset(arena_alloc(&arena, 1, 64), 'x', 64);
    arena_reset(&arena);
    ck_assert_str_eq(arena_copy(&arena, "garçon", 5), "garç");
    ck_assert_str_eq(arena_copy(&arena, NULL, 0), "");
}
END_TEST

START_TEST(release_gives_back_what_came_after) {
    int *kept = arena_alloc(&arena, 10, sizeof *kept);
    kept[9] = 7;
    struct arena_mark mark = arena_mark(&arena);
    void *first = arena_alloc(&arena, 100, 1);
    for (size_t i = 0; i < 20; i++)
        ck_assert_ptr_nonnull(arena_alloc(&arena, 1000, 1));
    arena_release(&arena, mark);
    ck_assert_ptr_eq(arena_alloc(&arena, 100, 1), first);
    ck_assert_int_eq(kept[9], 7);
}
END_TEST

START_TEST(marks_nest) {
    struct arena_mark outer = arena_mark(&arena); /* of an empty arena */
    void *first = arena_alloc(&arena, 500, 1);
    struct arena_mark inner = arena_mark(&arena);
    void *second = arena_alloc(&arena, 1000, 1);
    arena_release(&arena, inner);
    ck_assert_ptr_eq(arena_alloc(&arena, 1000, 1), second);
    arena_release(&arena, inner);
    arena_release(&arena, outer);
    ck_assert_ptr_eq(arena_alloc(&arena, 500, 1), first);
}
END_TEST

/* The same work over and over takes no more memory than once. */
START_TEST(reuse_does_not_grow) {
    static const size_t sizes[] = {100, 5000, 300, 1000, 1, 900, 2000};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    size_t held = 0;
    for (size_t round = 0; round < 50; round++) {
        for (size_t i = 0; i < COUNT; i++)
            ck_assert_ptr_nonnull(arena_alloc(&arena, sizes[i], 1));
        if (round == 0)
            held = arena_bytes(&arena);
        ck_assert_uint_eq(arena_bytes(&arena), held);
        arena_reset(&arena);
    }
}
END_TEST

/* A spare block that is too small for one object is there for the next. */
START_TEST(small_spare_blocks_are_not_wasted) {
    arena_alloc(&arena, 1000, 1);
    arena_alloc(&arena, 3000, 1);
    size_t held = arena_bytes(&arena);
    arena_reset(&arena);
    arena_alloc(&arena, 3000, 1);
    arena_alloc(&arena, 1000, 1);
    ck_assert_uint_eq(arena_bytes(&arena), held);
}
END_TEST

START_TEST(trim_frees_what_was_given_back) {
    char *kept = arena_copy(&arena, "kept", 4);
    size_t before = arena_bytes(&arena);
    struct arena_mark mark = arena_mark(&arena);
    arena_alloc(&arena, 1, 100000);
    arena_trim(&arena);
    ck_assert_uint_ge(arena_bytes(&arena), before + 100000); /* in use */
    arena_release(&arena, mark);
    arena_trim(&arena);
    ck_assert_uint_eq(arena_bytes(&arena), before);
    ck_assert_str_eq(kept, "kept");
    memset(arena_alloc(&arena, 1, 5000), 1, 5000);
    arena_reset(&arena);
    arena_trim(&arena);
    ck_assert_uint_eq(arena_bytes(&arena), 0);
}
END_TEST

START_TEST(done_leaves_a_usable_arena) {
    arena_alloc(&arena, 5000, 1);
    arena_done(&arena);
    ck_assert_uint_eq(arena_bytes(&arena), 0);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 10, 1));
    arena_done(NULL);
}
END_TEST

Suite *arena_suite(void) {
    Suite *suite = suite_create("arena");
    TCase *cases = tcase_create("error");
    tcase_add_test(cases, first_error_wins);
    tcase_add_test(cases, errors_may_go_nowhere);
    tcase_add_test(cases, long_message_is_cut);
    tcase_add_test(cases, out_of_memory_has_a_message);
    suite_add_tcase(suite, cases);

    cases = tcase_create("arena");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, objects_are_aligned_and_apart);
    tcase_add_test(cases, starts_empty);
    tcase_add_test(cases, bytes_are_bounded);
    tcase_add_test(cases, sentences_are_bounded);
    tcase_add_test(cases, time_is_asked_for_now_and_then);
    tcase_add_test(cases, copies_count_steps);
    tcase_add_test(cases, copies_end_with_the_budget);

    tcase_add_test(cases, nothing_is_a_valid_pointer);
    tcase_add_test(cases, overflow_is_no_memory);
    tcase_add_test(cases, failure_is_remembered);
    tcase_add_test(cases, failure_is_released_to_where_it_was);
    tcase_add_test(cases, zalloc_clears_reused_memory);
    tcase_add_test(cases, copy_ends_with_nul);
    tcase_add_test(cases, release_gives_back_what_came_after);
    tcase_add_test(cases, trim_frees_what_was_given_back);
    tcase_add_test(cases, marks_nest);
    tcase_add_test(cases, reuse_does_not_grow);
    tcase_add_test(cases, small_spare_blocks_are_not_wasted);
    tcase_add_test(cases, done_leaves_a_usable_arena);
    suite_add_tcase(suite, cases);
    return suite;
}
