/* Exact search, and a wide beam, against all existing paths. On hand-written probability tables. */
#include "model/search/search.h"
#include "tests/game.h"
#include "tests/suites.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct game game;

static void play(const struct rule *rules, uint32_t seed, const struct search_options *options) {
    game_play(&game, rules, seed, options);
}

/* ---- by hand ---- */

START_TEST(exact_finds_what_beam_misses) {
    struct search_options one = game_options(&search_beam, 1, 10),
                          exact = game_options(&search_exact, 1, 10);
    play(game_trap, 0, &one);
    game_expect_results(&game, "ab.");
    play(game_trap, 0, &exact);
    game_expect_results(&game, "b.");
    ck_assert(!game.search.exhausted);
}
END_TEST

/* The beam takes "", a and ab, and finds "ab." with .24; aa and a. would have .18; b. has .36, ba
 * .04. */
START_TEST(bounds_prune) {
    struct search_options options = game_options(&search_exact, 1, 10);
    play(game_trap, 0, &options);
    ck_assert_uint_eq(game.steps,
                      5); /* and a, whose ab is not better than the best so far, and b */
    options.n_best = 2;   /* ab again, and aa, which might be the second */
    play(game_trap, 0, &options);
    game_expect_results(&game, "b. ab.");
    ck_assert_uint_eq(game.steps, 7);
    options.n_best = 3; /* a. is not better than aa. */
    play(game_trap, 0, &options);
    game_expect_results(&game, "b. ab. aa.");
    ck_assert_uint_eq(game.steps, 7);
}
END_TEST

/* A beam of two finds both at once: the search takes a and b for the proof, and lists nothing
 * twice. */
START_TEST(what_the_beam_found_bounds) {
    struct search_options options = game_options(&search_exact, 2, 10);
    play(game_trap, 0, &options);
    game_expect_results(&game, "b. ab.");
    ck_assert_uint_eq(game.steps, 5);
    ck_assert(!game.search.exhausted);
}
END_TEST

/* The beam is never cut short. */
START_TEST(a_budget_ends_the_search) {
    static const char *const found[] = {"ab.", "ab.", "ab.", "ab.", "b."};
    for (size_t steps = 1; steps <= 5; steps++) {
        struct hypothesis *list;
        size_t count;
        struct search_options options = game_options(&search_exact, 1, 10);
        options.max_steps = steps;
        play(game_trap, 0, &options);
        game_expect_results(&game, found[steps - 1]);
        ck_assert_uint_eq(game.steps, steps < 3 ? 3 : steps);
        ck_assert_int_eq(search_results(&game.search, &list, &count, NULL), 0);
        ck_assert_int_eq(list[0].finish, steps < 5 ? FINISH_BUDGET : FINISH_EOS);
        ck_assert_int_eq(game.search.exhausted, steps < 5);
    }
}
END_TEST

/* ---- against all paths there are ---- */

struct path {
    char text[MAX_PATH];
    double score;
};

enum { PATHS = 200 };

static void enumerate(const char *path, double merit, struct path *paths, size_t *count) {
    const struct search_options *options = &game.search.options;
    size_t length = strlen(path);
    for (size_t i = 0; i < VOCABULARY; i++) {
        struct path next;
        bool given = length < options->prefix_length;
        double total = merit + game_merit(&game, path, length, ".abc"[i]);
        if (given ? ".abc"[i] != 'a' + options->prefix[length] : !(total > -INFINITY))
            continue;
        snprintf(next.text, sizeof next.text, "%.*s%c", MAX_PATH - 2, path, ".abc"[i]);
        if (i > 0 && length + 1 < options->max_length) {
            enumerate(next.text, total, paths, count);
            continue;
        }
        next.score = total / pow((double)length + 1, options->length_penalty);
        size_t place = (*count)++;
        for (; place > 0 && paths[place - 1].score < next.score; place--)
            paths[place] = paths[place - 1];
        paths[place] = next;
    }
}

/* The first n of all paths. */
static void expect_best(size_t n) {
    struct path paths[PATHS];
    size_t count = 0;
    char texts[PATHS * MAX_PATH] = "";
    enumerate("", 0, paths, &count);
    for (size_t i = 0; i < count && i < n; i++) {
        strcat(texts, i ? " " : "");
        strcat(texts, paths[i].text);
    }
    game_expect_results(&game, texts);
}

static struct search_options vary(const struct search_kind *strategy, uint32_t seed) {
    static const int prefix[] = {1, 1}; /* b b */
    struct search_options options = game_options(strategy, SEARCH_MAX_ROWS, 5);
    options.length_penalty = (double)(seed % 3) / 2;
    options.repetition_penalty = seed % 4 == 1 ? 1.5 : 0;
    options.no_repeat_ngram = seed / 4 % 4;
    options.min_length = seed / 3 % 3;
    options.prefix = prefix;
    options.prefix_length = seed / 5 % 3;
    return options;
}

/* The tables make one letter of three impossible, which a prefix may ask for. */
static bool start_varied(uint32_t seed, const struct search_options *options) {
    game_start(&game, NULL, seed, options, LAST);
    for (size_t i = 0; i < options->prefix_length; i++)
        if (game_probability(&game, "bb", i, 'b') <= 0)
            return false;
    game_finish(&game);
    return true;
}

START_TEST(exact_search_is_exhaustive) {
    for (uint32_t seed = 0; seed < 200; seed++) {
        struct search_options options = vary(&search_exact, seed);
        options.n_best = 1 + seed % 7;
        options.beam_size = 1 + seed / 7 % 5;
        if (start_varied(seed, &options))
            expect_best(options.n_best);
    }
}
END_TEST

/* For every budget and the same settings, the i-th best is at least as good as the beam's i-th
 * best. */
START_TEST(exact_is_never_worse_than_its_beam) {
    size_t better = 0;
    for (uint32_t seed = 0; seed < 300; seed++) {
        struct search_options options = vary(&search_beam, seed);
        struct hypothesis *found, *list;
        size_t found_count, count;
        options.beam_size = 1 + seed % 3;
        options.n_best = 1 + seed % 3;
        options.coverage_penalty = seed % 2 ? 0.3 : 0;
        if (!start_varied(seed, &options))
            continue;
        ck_assert_int_eq(search_results(&game.search, &found, &found_count, NULL), 0);
        options.strategy = &search_exact;
        options.max_steps = 1 + seed / 3 % 12;
        ck_assert(start_varied(seed, &options));
        ck_assert_int_eq(search_results(&game.search, &list, &count, NULL), 0);
        ck_assert_uint_ge(count, found_count);
        for (size_t i = 0; i < found_count; i++)
            ck_assert_double_ge(list[i].score, found[i].score);
        better += list[0].score > found[0].score;
    }
    ck_assert_uint_gt(better, 10);
}
END_TEST

START_TEST(a_wide_beam_is_exhaustive_whatever_the_penalties) {
    for (uint32_t seed = 0; seed < 200; seed++) {
        struct search_options options = vary(&search_beam, seed);
        options.max_length = 4;
        if (start_varied(seed, &options))
            expect_best(SEARCH_MAX_ROWS);
    }
}
END_TEST

/* ---- a vocabulary wider than an exact search's lists ---- */

enum { WIDE = 100, END = 0, GOOD = 77 };

/* Token i comes i-th; only GOOD is likely to be followed by the end. */
static void show_wide(struct search *search, float logits[WIDE], struct ranked top[WIDE],
                      struct distribution *out) {
    float sum = 0, end = search->step == 0 ? 1e-6f : search->tokens[0] == GOOD ? 100.f : 1e-5f;
    for (int i = 0; i < WIDE; i++)
        sum += expf(logits[i] = i == END ? logf(end) : -0.01f * (float)i);
    for (int i = 0; i < WIDE; i++) {
        size_t place = (size_t)i;
        for (; place > 0 && top[place - 1].logit < logits[i]; place--)
            top[place] = top[place - 1];
        top[place] = (struct ranked){.token = i, .logit = logits[i]};
    }
    size_t wanted = search_wanted(search);
    *out = (struct distribution){.logits = logits,
                                 .log_sum = logf(sum),
                                 .size = WIDE,
                                 .top = top,
                                 .top_count = wanted < WIDE ? wanted : WIDE};
}

/* The best path is far after the first list of the first node. */
START_TEST(exact_asks_for_more_where_it_must) {
    struct search search;
    struct search_options options = game_options(&search_exact, 1, 2);
    struct hypothesis *list;
    size_t count, steps = 0, at_start = 0;
    ck_assert_int_eq(search_init(&search, &options,
                                 &(struct search_setting){.ids = {.end = END, .banned = -1}},
                                 &game_arena, NULL),
                     0);
    for (; search.rows > 0; steps++) {
        float logits[WIDE];
        struct ranked top[WIDE];
        struct distribution distribution;
        at_start += search.step == 0;
        show_wide(&search, logits, top, &distribution);
        ck_assert_int_eq(search_advance(&search, &distribution, NULL), 0);
    }
    ck_assert_int_eq(search_results(&search, &list, &count, NULL), 0);
    ck_assert_uint_eq(list[0].length, 1);
    ck_assert_int_eq(list[0].tokens[0], GOOD);
    ck_assert_uint_eq(at_start, 4); /* lists of 32 */
    ck_assert_uint_eq(steps,
                      WIDE - 1 + 4 +
                          1); /* all are more likely than the best path of two; one is the beam's */
}
END_TEST

Suite *exact_suite(void) {
    Suite *suite = suite_create("exact");
    TCase *cases = tcase_create("all");
    tcase_add_checked_fixture(cases, game_set_up, game_tear_down);
    tcase_add_test(cases, exact_finds_what_beam_misses);
    tcase_add_test(cases, bounds_prune);
    tcase_add_test(cases, what_the_beam_found_bounds);
    tcase_add_test(cases, a_budget_ends_the_search);
    tcase_add_test(cases, exact_search_is_exhaustive);
    tcase_add_test(cases, exact_is_never_worse_than_its_beam);
    tcase_add_test(cases, a_wide_beam_is_exhaustive_whatever_the_penalties);
    tcase_add_test(cases, exact_asks_for_more_where_it_must);
    suite_add_tcase(suite, cases);
    return suite;
}
