/* Search on hand-written probability tables. */
#include "model/search/search.h"
#include "tests/game.h"
#include "tests/suites.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct game game;

static struct search_options greedy(size_t max_length) {
    return (struct search_options){
        .strategy = &search_greedy, .n_best = 1, .max_length = max_length};
}

static struct search_options beam(size_t size, size_t max_length) {
    return (struct search_options){
        .strategy = &search_beam, .beam_size = size, .n_best = size, .max_length = max_length};
}

static void play(const struct rule *rules, const struct search_options *options) {
    game_start(&game, rules, 0, options, LAST);
    game_finish(&game);
}

/* ---- greedy ---- */

/* a looks better, b is better: p(b.) = .4 x .9, p(ab.) = .6 x .4 x 1. */
static const struct rule trap[] = {
    {"", 0, .6f, .4f, 0}, {"a", .3f, .3f, .4f, 0}, {"b", .9f, .1f, 0, 0}, {0}};

START_TEST(greedy_follows_the_argmax) {
    struct search_options options = greedy(10);
    play(trap, &options);
    game_expect_results(&game, "ab.");
}
END_TEST

START_TEST(greedy_stops_at_the_length_limit) {
    static const struct rule endless[] = {{NULL, .2f, .1f, .4f, .3f}};
    struct search_options options = greedy(5);
    play(endless, &options);
    game_expect_results(&game, "bbbbb");
    options.max_length = 1;
    play(endless, &options);
    game_expect_results(&game, "b");
}
END_TEST

START_TEST(greedy_takes_the_first_of_equals) {
    static const struct rule even[] = {{"", 0, .3f, .35f, .35f}, {0}};
    struct search_options options = greedy(5);
    play(even, &options);
    game_expect_results(&game, "b.");
}
END_TEST

START_TEST(greedy_has_one_hypothesis) {
    struct search_options options = greedy(10);
    options.n_best = 5;
    play(trap, &options);
    game_expect_results(&game, "ab.");
}
END_TEST

/* ---- beam ---- */

START_TEST(beam_finds_what_greedy_misses) {
    struct search_options options = beam(2, 10);
    play(trap, &options);
    game_expect_results(&game, "b. ab.");
}
END_TEST

/* The end has the best sum in the first step. It takes one of two places: b, the third, does not go
 * on, although it fits the beam.
 */
START_TEST(the_ended_give_up_their_place) {
    static const struct rule rules[] = {
        {"", .5f, .3f, .2f, 0}, {"a", .1f, .5f, .4f, 0}, {"aa", .6f, .4f, 0, 0}, {0}};
    struct search_options options = beam(2, 10);
    game_start(&game, rules, 0, &options, LAST);
    game_step(&game);
    game_expect_rows(&game, "a");
    ck_assert_uint_eq(game.search.ended_count, 1);
    game_step(&game);
    game_expect_rows(
        &game, "aa"); /* no other path can beat .5 any more: the search goes on all the same */
    game_step(&game);
    game_expect_rows(&game, "");
    game_expect_results(&game, ". aa.");
}
END_TEST

/* Of three places one is taken at "a."; the two best of the rest go on, from whichever row. */
START_TEST(places_left_are_for_all_rows) {
    static const struct rule rules[] = {{"", 0, .5f, .3f, .2f},
                                        {"a", .8f, .2f, 0, 0},
                                        {"b", 0, .5f, .5f, 0},
                                        {"c", 0, 0, 0, 1},
                                        {0}};
    struct search_options options = beam(3, 10);
    game_start(&game, rules, 0, &options, LAST);
    game_step(&game);
    game_expect_rows(&game, "a b c");
    game_step(&game); /* a. .4, cc .2; ba and bb .15: the first of equals */
    game_expect_rows(&game, "cc ba");
    ck_assert_uint_eq(game.search.parents[0], 2);
    ck_assert_uint_eq(game.search.parents[1], 1);
    game_finish(&game);
    game_expect_results(&game, "a. cc. ba.");
}
END_TEST

START_TEST(the_open_join_the_list_as_they_stand) {
    static const struct rule rules[] = {{"", .2f, .5f, .3f, 0}, {NULL, 0, .9f, .1f, 0}};
    struct search_options options = beam(3, 2);
    play(rules, &options);
    game_expect_results(&game, "aa ba .");
    options.max_length = 1;
    play(rules, &options);
    game_expect_results(&game, "a b .");
}
END_TEST

START_TEST(equal_words_are_never_merged) {
    static const struct rule rules[] = {
        {"", 0, .5f, .5f, 0}, {"a", 0, 0, 0, 1}, {"b", 0, 0, 0, 1}, {0}};
    struct search_options options = beam(2, 10);
    game_start(&game, rules, 0, &options, LAST);
    game_step(&game);
    game_step(&game);
    game_expect_rows(&game, "ac bc");
    game_finish(&game);
    game_expect_results(&game, "ac. bc.");
}
END_TEST

/* The second best row overtakes the best: rows change places, and states must follow the parents.
 */
START_TEST(rows_cross) {
    static const struct rule rules[] = {
        {"", 0, .6f, .4f, 0}, {"a", 0, .5f, .5f, 0}, {"b", 0, 0, 0, 1}, {0}};
    struct search_options options = beam(2, 10);
    game_start(&game, rules, 0, &options, LAST);
    game_step(&game);
    game_expect_rows(&game, "a b");
    game_step(&game);
    game_expect_rows(&game, "bc aa");
    ck_assert_uint_eq(game.search.parents[0], 1);
    ck_assert_uint_eq(game.search.parents[1], 0);
    game_finish(&game);
    game_expect_results(&game, "bc. aa.");
}
END_TEST

/* p(.) = .36, p(a.) = .24, p(bcc.) = .08: the longer the better as the penalty grows. */
START_TEST(length_penalty_orders_the_list) {
    static const struct rule rules[] = {{"", .36f, .3f, .2f, .14f},
                                        {"a", .8f, .2f, 0, 0},
                                        {"b", .2f, .2f, .2f, .4f},
                                        {"bc", 0, 0, 0, 1},
                                        {0}};
    struct search_options options = beam(3, 10);
    play(rules, &options);
    game_expect_results(&game, ". a. bcc.");
    options.length_penalty = 0.6;
    play(rules, &options);
    game_expect_results(&game, "a. . bcc.");
    options.length_penalty = 1;
    play(rules, &options);
    game_expect_results(&game, "bcc. a. .");
}
END_TEST

START_TEST(n_best_cuts_the_list) {
    struct search_options options = beam(3, 10);
    options.n_best = 2;
    play(trap, &options);
    game_expect_results(&game, "b. ab.");
    options.n_best = 1;
    play(trap, &options);
    game_expect_results(&game, "b.");
}
END_TEST

/* Fewer continuations than places: impossible ones do not fill up the beam. */
START_TEST(beam_keeps_only_what_is_possible) {
    static const struct rule rules[] = {{"", 0, 0, 1, 0}, {0}};
    struct search_options options = beam(8, 10);
    play(rules, &options);
    game_expect_results(&game, "b.");
}
END_TEST

START_TEST(min_length_keeps_the_end_away) {
    static const struct rule rules[] = {{NULL, .9f, .02f, .05f, .03f}};
    static const int ends[] = {0, LAST};
    for (size_t i = 0; i < 2; i++) {
        struct search_options options = greedy(10);
        options.min_length = 2;
        game_start(&game, rules, 0, &options, ends[i]);
        game_finish(&game);
        game_expect_results(&game, "bb.");
        options = beam(2, 10);
        options.min_length = 2;
        game_start(&game, rules, 0, &options, ends[i]);
        game_finish(&game);
        game_expect_results(&game, "bb. bc.");
    }
}
END_TEST

/* The limit wins over the least length. */
START_TEST(min_length_beyond_max_length) {
    static const struct rule rules[] = {{NULL, .9f, .02f, .05f, .03f}};
    struct search_options options = beam(2, 2);
    options.min_length = 5;
    play(rules, &options);
    game_expect_results(&game, "bb bc");
}
END_TEST

/* ---- any table ---- */

START_TEST(beam_of_one_is_greedy) {
    for (uint32_t seed = 0; seed < 300; seed++) {
        struct search_options one = beam(1, 8), options = greedy(8);
        int end = seed % 2 ? LAST : 0;
        char text[MAX_TEXTS];
        game_start(&game, NULL, seed, &options, end);
        game_finish(&game);
        game_results(&game, text);
        game_start(&game, NULL, seed, &one, end);
        game_finish(&game);
        game_expect_results(&game, text);
    }
}
END_TEST

struct path {
    char text[MAX_PATH];
    double score;
};

/* All paths of up to max_length letters that have ended or are that long, best first. */
static void enumerate(const char *path, double log_prob, struct path *paths, size_t *count) {
    size_t length = strlen(path);
    for (size_t i = 0; i < VOCABULARY; i++) {
        struct path next;
        float p = game_probability(&game, path, length, ".abc"[i]);
        double total = log_prob + log((double)p);
        if (p <= 0)
            continue;
        snprintf(next.text, sizeof next.text, "%.*s%c", MAX_PATH - 2, path, ".abc"[i]);
        if (i > 0 && length + 1 < game.search.options.max_length) {
            enumerate(next.text, total, paths, count);
            continue;
        }
        next.score = total / pow((double)length + 1, game.search.options.length_penalty);
        size_t place = (*count)++;
        for (; place > 0 && paths[place - 1].score < next.score; place--)
            paths[place] = paths[place - 1];
        paths[place] = next;
    }
}

/* Two letters and the end are possible after each path: 15 paths end within length 4, 16 reach it.
 * With room for all of them the beam's list is all of them, in the right order. */
START_TEST(a_beam_with_room_for_all_is_exhaustive) {
    enum { PATHS = 31 };
    for (uint32_t seed = 0; seed < 60; seed++) {
        struct search_options options = beam(PATHS, 4);
        options.length_penalty = (double)(seed % 3) / 2;
        game_start(&game, NULL, seed, &options, LAST);
        game_finish(&game);
        struct path paths[PATHS];
        size_t count = 0;
        char texts[PATHS * MAX_PATH] = "";
        enumerate("", 0, paths, &count);
        ck_assert_uint_eq(count, PATHS);
        for (size_t i = 0; i < count; i++) {
            strcat(texts, i ? " " : "");
            strcat(texts, paths[i].text);
        }
        game_expect_results(&game, texts);
    }
}
END_TEST

/* Narrow beams over many tables: parents cross all the time, and every hypothesis keeps its own
 * numbers (game_results looks). */
START_TEST(hypotheses_keep_their_own_numbers) {
    for (uint32_t seed = 0; seed < 100; seed++) {
        struct search_options options = beam(2 + seed % 5, 9);
        char texts[MAX_TEXTS];
        game_start(&game, NULL, seed, &options, seed % 2 ? LAST : 0);
        game_finish(&game);
        ck_assert_uint_eq(game.search.ended_count, options.beam_size);
        game_results(&game, texts);
    }
}
END_TEST

/* ---- forced ---- */

static struct search_options forced(const int *target, size_t length) {
    return (struct search_options){.strategy = &search_forced,
                                   .n_best = 1,
                                   .max_length = 1,
                                   .prefix = target,
                                   .prefix_length = length};
}

/* Whatever its probability, and longer than max_length. */
START_TEST(forced_scores_the_target) {
    static const struct rule rules[] = {{NULL, .1f, .6f, .2f, .1f}};
    static const int target[] = {1, 2, 0, 2}; /* b c a c */
    struct search_options options = forced(target, 4);
    play(rules, &options);
    game_expect_results(&game, "bcac.");
}
END_TEST

START_TEST(forced_with_an_empty_target) {
    static const struct rule rules[] = {{NULL, .1f, .6f, .2f, .1f}};
    static const int nothing[1];
    struct search_options options = forced(nothing, 0);
    play(rules, &options);
    game_expect_results(&game, ".");
    options = forced(NULL, 0);
    play(rules, &options);
    game_expect_results(&game, ".");
}
END_TEST

/* The header rules it out; should it happen, the hypothesis is sound, and ends there. */
START_TEST(forced_ends_at_the_first_end) {
    static const struct rule rules[] = {{NULL, .1f, .6f, .2f, .1f}};
    static const int target[] = {1, LAST, 0};
    struct search_options options = forced(target, 3);
    play(rules, &options);
    game_expect_results(&game, "b.");
}
END_TEST

/* ---- a token that is never chosen ---- */

enum { A = 0 }; /* where the end is LAST */

static void play_without(int banned, const struct rule *rules,
                         const struct search_options *options) {
    game_start(&game, rules, 0, options, LAST);
    game.search.setting.ids.banned = banned;
    game_finish(&game);
}

/* The others keep their probabilities: the game checks those of the results against the table. */
START_TEST(the_banned_is_never_chosen) {
    struct search_options options = greedy(10);
    play_without(A, trap, &options);
    game_expect_results(&game, "b.");
    options.min_length = 2;
    static const struct rule rules[] = {{"", .5f, .3f, .2f, 0}, {"b", .5f, .3f, .2f, 0}, {0}};
    play_without(A, rules, &options);
    game_expect_results(&game, "bb.");
    options = beam(2, 10);
    play_without(A, trap, &options);
    game_expect_results(&game, "b.");
    options.max_length = 2;
    static const struct rule wide[] = {{"", .1f, .5f, .3f, .05f}, {NULL, 0, .4f, .35f, .25f}};
    play_without(A, wide, &options);
    game_expect_results(&game, "bb .");
}
END_TEST

/* a begins a character of two bytes, b ends one, c is text. */
static void play_with_bytes(const struct rule *rules, const struct search_options *options,
                            const char *texts) {
    static const short bytes[VOCABULARY] = {0xc3, 0xa9, -1, -1};
    game_start(&game, rules, 0, options, LAST);
    game.search.setting.ids.bytes = bytes;
    game.search.setting.ids.size = VOCABULARY;
    game_finish(&game);
    game_expect_results(&game, texts);
}

/* A continuation byte must follow a first byte, nothing else may come where one is due, and no
 * character begins that does not fit. */
START_TEST(characters_are_whole) {
    static const struct rule rules[] = {
        {"", 0, .2f, .7f, .1f}, {"a", .9f, .05f, .02f, .03f}, {"ab", .6f, .2f, .1f, .1f}, {0}};
    struct search_options options = greedy(10);
    play_with_bytes(rules, &options, "ab.");
    options = beam(2, 10);
    play_with_bytes(rules, &options, "c. ab.");
    options = game_options(&search_sample, 1, 10);
    options.sampling = (struct sampling){.temperature = 0.01, .top_p = 1, .seed = 1};
    play_with_bytes(rules, &options, "ab.");
    options = greedy(1);
    play_with_bytes(rules, &options, "c");
}
END_TEST

START_TEST(a_target_may_hold_the_banned) {
    static const int target[] = {A};
    struct search_options options = forced(target, 1);
    static const struct rule rules[] = {{"", .1f, .2f, .7f, 0}, {"a", .3f, .3f, .4f, 0}, {0}};
    play_without(A, rules, &options);
    game_expect_results(&game, "a.");
}
END_TEST

/* ---- the table of strategies ---- */

START_TEST(strategies_say_how_many_rows) {
    struct search_options options = beam(7, 10);
    ck_assert_uint_eq(search_max_rows(&options), 7);
    options = greedy(10);
    ck_assert_uint_eq(search_max_rows(&options), 1);
    options = forced(NULL, 0);
    ck_assert_uint_eq(search_max_rows(&options), 1);
}
END_TEST

/* Greedy one, a beam as many as it has places left, one more for each token that is not allowed,
 * forced none. */
START_TEST(strategies_say_how_many_they_want) {
    static const struct rule rules[] = {{"", .5f, .3f, .2f, 0}, {NULL, .1f, .5f, .4f, 0}};
    struct search_options options = greedy(10);
    options.min_length = 1;
    game_start(&game, rules, 0, &options, LAST);
    ck_assert_uint_eq(search_wanted(&game.search), 2);
    game_step(&game);
    ck_assert_uint_eq(search_wanted(&game.search), 1);

    options = beam(3, 10);
    game_start(&game, rules, 0, &options, LAST);
    ck_assert_uint_eq(search_wanted(&game.search), 3);
    game_step(&game);
    ck_assert_uint_eq(game.search.ended_count, 1);
    ck_assert_uint_eq(search_wanted(&game.search), 2);

    options = beam(SEARCH_MAX_ROWS, 10);
    options.min_length = 1;
    game_start(&game, rules, 0, &options, LAST);
    game.search.setting.ids.banned = A;
    ck_assert_uint_eq(search_wanted(&game.search), SEARCH_MAX_ROWS + 2);

    options = forced(NULL, 0);
    options.min_length = 1;
    game_start(&game, rules, 0, &options, LAST);
    ck_assert_uint_eq(search_wanted(&game.search), 0);
}
END_TEST

/* A given target and phrases are no strategies to ask for. */
START_TEST(strategies_have_names) {
    static const struct search_kind *const named[] = {&search_greedy, &search_beam, &search_sample,
                                                      &search_exact};
    static const char *const names[] = {"greedy", "beam", "sample", "exact"};
    for (size_t i = 0; i < 4; i++) {
        ck_assert_ptr_eq(search_nth(i), named[i]);
        ck_assert_ptr_eq(search_find(names[i]), named[i]);
        ck_assert_str_eq(search_name(named[i]), names[i]);
    }
    ck_assert_ptr_null(search_nth(4));
    ck_assert_ptr_null(search_find("guess"));
    ck_assert_ptr_null(search_find("Beam"));
    ck_assert_ptr_null(search_find("forced"));
    ck_assert_ptr_null(search_find("constrained"));
    ck_assert_ptr_null(search_find(""));
}
END_TEST

static void add_beam(TCase *cases) {
    tcase_add_test(cases, beam_finds_what_greedy_misses);
    tcase_add_test(cases, the_ended_give_up_their_place);
    tcase_add_test(cases, places_left_are_for_all_rows);
    tcase_add_test(cases, the_open_join_the_list_as_they_stand);
    tcase_add_test(cases, equal_words_are_never_merged);
    tcase_add_test(cases, rows_cross);
    tcase_add_test(cases, length_penalty_orders_the_list);
    tcase_add_test(cases, n_best_cuts_the_list);
    tcase_add_test(cases, beam_keeps_only_what_is_possible);
    tcase_add_test(cases, min_length_keeps_the_end_away);
    tcase_add_test(cases, min_length_beyond_max_length);
    tcase_add_test(cases, beam_of_one_is_greedy);
    tcase_add_test(cases, a_beam_with_room_for_all_is_exhaustive);
    tcase_add_test(cases, hypotheses_keep_their_own_numbers);
}

Suite *search_suite(void) {
    Suite *suite = suite_create("search");
    TCase *cases = tcase_create("greedy");
    tcase_add_checked_fixture(cases, game_set_up, game_tear_down);
    tcase_add_test(cases, greedy_follows_the_argmax);
    tcase_add_test(cases, greedy_stops_at_the_length_limit);
    tcase_add_test(cases, greedy_takes_the_first_of_equals);
    tcase_add_test(cases, greedy_has_one_hypothesis);
    suite_add_tcase(suite, cases);

    cases = tcase_create("beam");
    tcase_add_checked_fixture(cases, game_set_up, game_tear_down);
    add_beam(cases);
    suite_add_tcase(suite, cases);

    cases = tcase_create("forced and the table");
    tcase_add_checked_fixture(cases, game_set_up, game_tear_down);
    tcase_add_test(cases, forced_scores_the_target);
    tcase_add_test(cases, forced_with_an_empty_target);
    tcase_add_test(cases, forced_ends_at_the_first_end);
    tcase_add_test(cases, the_banned_is_never_chosen);
    tcase_add_test(cases, characters_are_whole);
    tcase_add_test(cases, a_target_may_hold_the_banned);
    tcase_add_test(cases, strategies_say_how_many_rows);
    tcase_add_test(cases, strategies_say_how_many_they_want);
    tcase_add_test(cases, strategies_have_names);
    suite_add_tcase(suite, cases);
    return suite;
}
