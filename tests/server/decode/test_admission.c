/* server/decode/admission: admissions by a worker, with made-up durations. */
#include "server/decode/admission.h"
#include "tests/suites.h"
#include <math.h>
#include <string.h>

enum { ROWS = 100, TARGET_US = 10000 };

static struct admission *admission;
static struct admission_load loads[2];

static void setup(void) {
    memset(loads, 0, sizeof loads);
    admission = admission_create(ROWS, TARGET_US);
}

static void teardown(void) {
    admission_free(admission);
}

/* A model whose step takes 1000 us and 100 more for each row, and whose encoding takes 20 for each
 * token. */
static void measure(size_t model) {
    for (size_t i = 0; i < 100; i++) {
        size_t rows = 1 + i % 20;
        admission_observe_step(&loads[model].step, rows, 0, (int64_t)(1000 + 100 * rows));
        admission_observe(&loads[model].encode, rows, (int64_t)(20 * rows));
    }
}

/* Sentences of one row that are let in together. */
static size_t claims(size_t model, size_t tokens) {
    size_t count = 0;
    for (admission_round(admission);
         count < ROWS && admission_claim(admission, &loads[model], 1, tokens, ADMISSION_ALL);)
        count++;
    return count;
}

/* ---- the cost ---- */

START_TEST(nothing_costs_nothing) {
    struct admission_cost cost = {0};
    ck_assert(admission_predict(&cost, 5) == 0);
    admission_observe(&cost, 0, 1000);
    ck_assert(admission_predict(&cost, 5) == 0);
    admission_observe(&cost, 5, 1000);
    ck_assert(admission_predict(&cost, 0) == 0);
}
END_TEST

START_TEST(a_line_is_found) {
    struct admission_cost cost = {0};
    for (size_t i = 0; i < 100; i++)
        admission_observe(&cost, 1 + i % 50, (int64_t)(500 + 30 * (1 + i % 50)));
    ck_assert(fabs(admission_predict(&cost, 50) - 2000) < 100);
    ck_assert(fabs(admission_predict(&cost, 100) - 3500) < 300);
}
END_TEST

/* One amount seen: the line goes through the origin. */
START_TEST(a_single_amount_is_scaled) {
    struct admission_cost cost = {0};
    for (size_t i = 0; i < 3; i++)
        admission_observe(&cost, 4, 800);
    ck_assert(fabs(admission_predict(&cost, 4) - 800) < 1e-6);
    ck_assert(fabs(admission_predict(&cost, 40) - 8000) < 1e-6);
}
END_TEST

/* Larger amounts that took less, as noise may have it: neither a falling line nor a negative
 * duration. */
START_TEST(noise_is_no_negative_cost) {
    struct admission_cost falling = {0}, steep = {0};
    admission_observe(&falling, 10, 9000);
    admission_observe(&falling, 20, 100);
    ck_assert(admission_predict(&falling, 1000) >
              50 * admission_predict(&falling, 10)); /* nor is more had for nothing */
    admission_observe(&steep, 10, 10);
    admission_observe(&steep, 20, 9000);
    ck_assert(admission_predict(&steep, 1) > 0);
}
END_TEST

START_TEST(old_observations_fade) {
    struct admission_cost cost = {0};
    admission_observe(&cost, 1, 5000000); /* the machine stood still */
    for (size_t i = 0; i < 200; i++)
        admission_observe(&cost, 1 + i % 4, 1000);
    ck_assert(admission_predict(&cost, 1) < 2000);
}
END_TEST

/* ---- steps that look back ---- */

/* A step of 1000 us, 100 more for each row, and 10 for each step that its rows look back on. */
static void measure_growing(struct admission_step *step) {
    for (size_t i = 0; i < 100; i++) {
        size_t rows = 1 + i % 20, past = rows * (i * 7 % 50);
        admission_observe_step(step, rows, past, (int64_t)(1000 + 100 * rows + 10 * past));
    }
}

START_TEST(the_past_costs) {
    struct admission_step step = {0};
    ck_assert(admission_predict_step(&step, 5, 5) == 0);
    measure_growing(&step);
    ck_assert(fabs(admission_predict_step(&step, 10, 0) - 2000) < 100);
    ck_assert(fabs(admission_predict_step(&step, 10, 1000) - 12000) < 300);
    ck_assert(admission_predict_step(&step, 0, 0) == 0);
}
END_TEST

/* Rows with no past, or with one in proportion: as if there were none to know of. */
START_TEST(a_past_that_tells_nothing) {
    struct admission_step none = {0}, same = {0};
    for (size_t i = 0; i < 100; i++) {
        size_t rows = 1 + i % 20;
        admission_observe_step(&none, rows, 0, (int64_t)(1000 + 100 * rows));
        admission_observe_step(&same, rows, 30 * rows, (int64_t)(1000 + 100 * rows));
    }
    ck_assert(admission_predict_step(&none, 20, 500) == admission_predict(&none.by_rows, 20));
    ck_assert(admission_predict_step(&same, 20, 0) == admission_predict(&same.by_rows, 20));
}
END_TEST

/* ---- what is let in ---- */

/* Of a model whose rows look back, fewer sentences the longer they are; of another as many. */
START_TEST(long_sentences_grow) {
    measure_growing(&loads[0].step);
    measure_growing(&loads[1].step);
    loads[0].grows = true;
    admission_enter(admission, &loads[0], 1, 40, false);
    admission_enter(admission, &loads[1], 1, 40, false);
    size_t longer = claims(0, 40), shorter = claims(0, 4), constant = claims(1, 40);
    ck_assert_uint_ge(longer, 5);
    ck_assert_uint_gt(shorter, 2 * longer);
    ck_assert_uint_ge(constant, shorter);
    admission_leave(admission, &loads[0], 1, 40, false);
    ck_assert_uint_eq(loads[0].main.past, 0);
}
END_TEST

START_TEST(rows_are_a_limit) {
    admission_free(admission);
    admission = admission_create(ROWS, 0);
    admission_enter(admission, &loads[1], 60, 0, false);
    admission_round(admission);
    ck_assert(admission_claim(admission, &loads[0], 30, 1000000, ADMISSION_ALL));
    ck_assert(!admission_claim(admission, &loads[0], 11, 1, ADMISSION_ALL));
    ck_assert(admission_claim(admission, &loads[1], 10, 1, ADMISSION_ALL));
    ck_assert(!admission_claim(admission, &loads[0], 1, 1, ADMISSION_ALL));
}
END_TEST

/* An eighth is for those who have nothing live. */
START_TEST(rows_are_spared) {
    admission_free(admission);
    admission = admission_create(256, 0);
    admission_enter(admission, &loads[0], 200, 0, false);
    admission_round(admission);
    ck_assert(admission_claim(admission, &loads[0], 24, 1, ADMISSION_UNRESERVED));
    ck_assert(!admission_claim(admission, &loads[0], 1, 1, ADMISSION_UNRESERVED));
    ck_assert(admission_claim(admission, &loads[0], 31, 1, ADMISSION_ALL));
    ck_assert(!admission_claim(admission, &loads[1], 1, 1, ADMISSION_UNRESERVED));
    ck_assert(admission_claim(admission, &loads[1], 1, 1, ADMISSION_ALL));
    ck_assert(!admission_claim(admission, &loads[1], 1, 1, ADMISSION_ALL));
}
END_TEST

/* An idle worker has them all for any job. */
START_TEST(few_rows_are_not_spared) {
    admission_free(admission);
    admission = admission_create(256, 0);
    admission_round(admission);
    ck_assert(admission_claim(admission, &loads[0], 256, 1, ADMISSION_UNRESERVED));
    admission_free(admission);
    admission = admission_create(64, 0);
    admission_enter(admission, &loads[0], 32, 0, false);
    admission_round(admission);
    ck_assert(admission_claim(admission, &loads[0], 32, 1, ADMISSION_UNRESERVED));
}
END_TEST

/* 1000 + 77 * 100 us are 7/8 of the target, 1000 + 90 * 100 all of it. */
START_TEST(time_is_spared) {
    measure(0);
    admission_enter(admission, &loads[0], 83, 0, false);
    admission_round(admission);
    ck_assert(!admission_claim(admission, &loads[0], 1, 1, ADMISSION_UNRESERVED));
    ck_assert(admission_claim(admission, &loads[0], 1, 1, ADMISSION_ALL));
}
END_TEST

/* Others use twice the target, and have for as long as they live: 12 rows of 100 us in each round,
 * an eighth of the target. */
START_TEST(newcomers_do_not_wait_for_others) {
    measure(0);
    admission_free(admission);
    admission = admission_create(2 * ROWS + 90, TARGET_US);
    admission_enter(admission, &loads[0], 2 * ROWS, 0, false);
    for (size_t round = 0, live = 0; round < 3; round++) {
        size_t count = 0;
        admission_round(admission);
        ck_assert(!admission_claim(admission, &loads[0], 1, 1, ADMISSION_ALL));
        while (admission_claim(admission, &loads[0], 1, 1, ADMISSION_NEWCOMER))
            count++;
        ck_assert_uint_ge(count, 10);
        ck_assert_uint_le(count, 14);
        ck_assert(!admission_claim(admission, &loads[0], 1, 1, ADMISSION_ALL));
        admission_enter(admission, &loads[0], count, 0, false);
        live += count;
        ck_assert_uint_le(live, 90);
    }
}
END_TEST

START_TEST(a_model_not_measured_gets_one_sentence) {
    admission_round(admission);
    ck_assert(admission_claim(admission, &loads[0], 5, 10, ADMISSION_ALL));
    ck_assert(!admission_claim(admission, &loads[0], 5, 10, ADMISSION_ALL));
    ck_assert(admission_claim(admission, &loads[1], 5, 10, ADMISSION_ALL));
    ck_assert(!admission_claim(admission, &loads[1], 5, 10, ADMISSION_ALL));
    admission_enter(admission, &loads[0], 5, 0, false);
    admission_round(admission);
    ck_assert(!admission_claim(admission, &loads[0], 5, 10,
                               ADMISSION_ALL)); /* one that is live counts, too */
}
END_TEST

/* 1000 + 90 * 100 us. */
START_TEST(rows_stop_at_the_target) {
    measure(0);
    admission_enter(admission, &loads[0], 80, 0, false);
    size_t count = 0;
    for (admission_round(admission); admission_claim(admission, &loads[0], 1, 1, ADMISSION_ALL);
         admission_round(admission), count++)
        admission_enter(admission, &loads[0], 1, 0, false);
    ck_assert_uint_ge(count, 6);
    ck_assert_uint_le(count, 10);
    admission_leave(admission, &loads[0], 50, 0, false);
    admission_round(admission);
    ck_assert(admission_claim(admission, &loads[0], 1, 1, ADMISSION_ALL));
}
END_TEST

START_TEST(all_models_share_the_round) {
    measure(0);
    measure(1);
    admission_enter(admission, &loads[0], 40, 0, false);
    size_t alone = claims(0, 1);
    admission_enter(admission, &loads[1], 20, 0, false); /* 3000 us */
    size_t beside = claims(0, 1);
    ck_assert_uint_gt(alone, beside + 15);
    ck_assert_uint_gt(beside, 5);
}
END_TEST

/* 10 rows: 2000 us, which leaves 8000 for the encoding of 400 tokens and the rows of their
 * sentences. */
START_TEST(encoding_is_cut_into_rounds) {
    measure(0);
    admission_enter(admission, &loads[0], 10, 0, false);
    size_t count = claims(0, 40);
    ck_assert_uint_ge(count, 6);
    ck_assert_uint_le(count, 10);
    ck_assert_uint_eq(claims(0, 40), count); /* and as many in the next one */
}
END_TEST

START_TEST(a_sentence_too_long_goes_in_alone) {
    measure(0);
    admission_enter(admission, &loads[0], 10, 0, false);
    admission_round(admission);
    ck_assert(admission_claim(admission, &loads[0], 1, 10000, ADMISSION_ALL)); /* 200 ms */
    ck_assert(!admission_claim(admission, &loads[0], 1, 1, ADMISSION_ALL));
    admission_round(admission);
    ck_assert(admission_claim(admission, &loads[0], 1, 1, ADMISSION_ALL));
    ck_assert(!admission_claim(admission, &loads[0], 1, 10000, ADMISSION_ALL));
}
END_TEST

/* 10 rows take 2000 us of the target of 10000, so 8000 are left for parts. */
START_TEST(a_round_has_time_for_several_parts) {
    measure(0);
    admission_round(admission);
    ck_assert(admission_claim(admission, &loads[0], 10, 10000, ADMISSION_ALL));
    admission_enter(admission, &loads[0], 10, 0, false); /* the claim is not counted twice */
    size_t parts = 1;
    while (admission_encoded(admission, 1500))
        parts++;
    ck_assert_uint_eq(parts, 5);
    admission_round(admission);
    ck_assert(admission_encoded(admission, 3000));
    ck_assert(!admission_encoded(admission, 3000));
    admission_round(admission);
    ck_assert(!admission_encoded(admission, 5000)); /* one that was so long is followed by none */
}
END_TEST

/* In all models' steps and those of the lane; nobody's token is late without a target. */
START_TEST(parts_leave_time_for_all_steps) {
    measure(0);
    measure(1);
    admission_enter(admission, &loads[0], 40, 0, false);
    admission_enter(admission, &loads[1], 20, 0, true); /* 5000 + 3000 us */
    admission_round(admission);
    ck_assert(admission_encoded(admission, 800));
    ck_assert(!admission_encoded(admission, 800));
    admission_leave(admission, &loads[0], 40, 0, false);
    admission_leave(admission, &loads[1], 20, 0, true);
    admission_free(admission);
    admission = admission_create(ROWS, 0);
    admission_enter(admission, &loads[0], ROWS, 0, false);
    ck_assert(admission_encoded(admission, 1000 * TARGET_US));
}
END_TEST

START_TEST(an_idle_worker_takes_any_job) {
    admission_observe_step(&loads[0].step, 1, 0, 100 * TARGET_US);
    admission_round(admission);
    ck_assert(admission_claim(admission, &loads[0], ROWS, 10000, ADMISSION_ALL));
    ck_assert(!admission_claim(admission, &loads[1], 1, 1, ADMISSION_ALL));
}
END_TEST

/* 9000 us for a row, and 100 more for each other. */
START_TEST(rows_that_cost_little_are_not_turned_away) {
    for (size_t i = 0; i < 100; i++)
        admission_observe_step(&loads[0].step, 1 + i % 20, 0, (int64_t)(9000 + 100 * (i % 20)));
    admission_enter(admission, &loads[0], 1, 0, false);
    ck_assert_uint_gt(claims(0, 1), 60);
    for (size_t i = 0; i < 100; i++)
        admission_observe_step(&loads[1].step, 1, 0,
                               9000); /* as far as is known, each row costs as much */
    admission_leave(admission, &loads[0], 1, 0, false);
    admission_enter(admission, &loads[1], 1, 0, false);
    ck_assert_uint_ge(claims(1, 1), 1);
    ck_assert_uint_le(claims(1, 1), 2);
}
END_TEST

/* ---- the express lane ---- */

/* 256 rows and 32 of the lane, with work for 24 tokens each; the main room is full for as long as
 * one likes. */
static void fill_main_room(int64_t target_us) {
    measure(0);
    admission_free(admission);
    admission = admission_create(256, target_us);
    admission_enter(admission, &loads[0], 256, 100, false);
    admission_round(admission);
}

/* Sentences of one row and so many tokens that a client gets into the lane, as many as it can. */
static size_t enter_lane(size_t tokens) {
    size_t count = 0;
    for (; count < ROWS && admission_claim_express(admission, &loads[0], 1, tokens, count * tokens);
         count++) {
        admission_enter(admission, &loads[0], 1, tokens, true);
        admission_round(admission);
    }
    return count;
}

/* The first gets half of it, the next half of what is left. */
START_TEST(short_sentences_go_by_the_lane) {
    fill_main_room(0);
    ck_assert(!admission_claim(admission, &loads[0], 1, 16, ADMISSION_NEWCOMER));
    ck_assert_uint_eq(enter_lane(16), 24);
    ck_assert_uint_eq(enter_lane(16), 8); /* all rows */
    ck_assert_uint_eq(enter_lane(16), 0);
    admission_leave(admission, &loads[0], 32, 16, true);
    ck_assert_uint_eq(enter_lane(64), 6);
    ck_assert_uint_eq(enter_lane(64), 3);
    ck_assert_uint_eq(enter_lane(16), 6);
    ck_assert_uint_eq(admission_all_rows(256), 288);
}
END_TEST

START_TEST(the_lane_is_not_for_long_or_wide_ones) {
    fill_main_room(0);
    ck_assert(!admission_claim_express(admission, &loads[0], 1, 400, 0));
    ck_assert(!admission_claim_express(admission, &loads[0], 33, 1, 0));
    ck_assert(!admission_claim_express(admission, &loads[0], 1, 10,
                                       800)); /* of a client that has much already */
    ck_assert(admission_claim_express(admission, &loads[0], 5, 20, 0));
}
END_TEST

/* Jobs in the lane do not delay the main room: an empty one takes any job. */
START_TEST(the_lane_is_in_nobodys_way) {
    fill_main_room(TARGET_US);
    ck_assert_uint_gt(enter_lane(4), 10);
    admission_leave(admission, &loads[0], 256, 100, false);
    admission_round(admission);
    ck_assert(admission_claim(admission, &loads[0], 256, 100, ADMISSION_UNRESERVED));
    admission_settle(admission);
    ck_assert(loads[0].used); /* by the lane */
}
END_TEST

/* 100 us a row: 50 rows would take half of the target, 32 are all. Of a model a hundred times as
 * slow four. */
START_TEST(the_lane_is_bounded_in_time) {
    fill_main_room(TARGET_US);
    ck_assert_uint_eq(enter_lane(1), 32);
    for (size_t i = 0; i < 200; i++)
        admission_observe_step(&loads[0].step, 1 + i % 20, 0,
                               (int64_t)(100000 + 10000 * (1 + i % 20)));
    admission_leave(admission, &loads[0], 32, 1, true);
    admission_round(admission);
    size_t count = enter_lane(1);
    ck_assert_uint_ge(count, 4);
    ck_assert_uint_le(count, 16); /* half of thrice a single row */
}
END_TEST

/* ---- the loads in use ---- */

static bool in_use(const struct admission_load *load) {
    size_t count;
    struct admission_load *const *all = admission_loads(admission, &count);
    for (size_t i = 0; i < count; i++) {
        if (all[i] == load)
            return true;
    }
    return false;
}

/* A model may be freed once its last sentence has left, even if it is the round of its admission.
 */
START_TEST(a_load_is_in_use_while_it_has_rows) {
    ck_assert(!in_use(&loads[0]));
    admission_round(admission);
    ck_assert(admission_claim(admission, &loads[0], 2, 1, ADMISSION_ALL));
    ck_assert(admission_claim(admission, &loads[1], 2, 1, ADMISSION_ALL));
    ck_assert(in_use(&loads[0]) && in_use(&loads[1]));
    admission_enter(admission, &loads[1], 2, 0, false);
    admission_settle(admission); /* what was claimed for the first was cancelled */
    ck_assert(!in_use(&loads[0]) && in_use(&loads[1]));
    admission_enter(admission, &loads[0], 1, 0, false);
    admission_enter(admission, &loads[0], 1, 0, false);
    admission_leave(admission, &loads[0], 1, 0, false);
    ck_assert(in_use(&loads[0]));
    admission_leave(admission, &loads[0], 1, 0, false);
    admission_leave(admission, &loads[1], 2, 0, false);
    ck_assert(!in_use(&loads[0]) && !in_use(&loads[1]));
}
END_TEST

Suite *admission_suite(void) {
    Suite *suite = suite_create("admission");
    TCase *tcase = tcase_create("admission");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, nothing_costs_nothing);
    tcase_add_test(tcase, a_line_is_found);
    tcase_add_test(tcase, a_single_amount_is_scaled);
    tcase_add_test(tcase, noise_is_no_negative_cost);
    tcase_add_test(tcase, old_observations_fade);
    tcase_add_test(tcase, the_past_costs);
    tcase_add_test(tcase, a_past_that_tells_nothing);
    tcase_add_test(tcase, long_sentences_grow);
    tcase_add_test(tcase, rows_are_a_limit);
    tcase_add_test(tcase, rows_are_spared);
    tcase_add_test(tcase, few_rows_are_not_spared);
    tcase_add_test(tcase, time_is_spared);
    tcase_add_test(tcase, newcomers_do_not_wait_for_others);
    tcase_add_test(tcase, a_model_not_measured_gets_one_sentence);
    tcase_add_test(tcase, rows_stop_at_the_target);
    tcase_add_test(tcase, all_models_share_the_round);
    tcase_add_test(tcase, encoding_is_cut_into_rounds);
    tcase_add_test(tcase, a_sentence_too_long_goes_in_alone);
    tcase_add_test(tcase, a_round_has_time_for_several_parts);
    tcase_add_test(tcase, parts_leave_time_for_all_steps);
    tcase_add_test(tcase, an_idle_worker_takes_any_job);
    tcase_add_test(tcase, rows_that_cost_little_are_not_turned_away);
    tcase_add_test(tcase, short_sentences_go_by_the_lane);
    tcase_add_test(tcase, the_lane_is_not_for_long_or_wide_ones);
    tcase_add_test(tcase, the_lane_is_in_nobodys_way);
    tcase_add_test(tcase, the_lane_is_bounded_in_time);
    tcase_add_test(tcase, a_load_is_in_use_while_it_has_rows);
    suite_add_tcase(suite, tcase);
    return suite;
}
