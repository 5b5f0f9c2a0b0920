/* Search on hand-written probability tables, no network. A path is a word over a, b, c; "ab." has ended, "ab" has not. */
#include "model/search.h"
#include "tests/numbers.h"
#include "tests/suites.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCABULARY = 4, SOURCE = 3, MAX_PATH = 40 };

/* What follows a path. The last rule has path NULL and is for all others; all zero there: the end is certain. */
struct rule {
    const char *path;
    float end, a, b, c;
};

/* A search at play: it is shown the table's probabilities, and for each row a distinct entropy and attention, made of the path. */
struct game {
    struct search search;
    const struct rule *rules; /* NULL: made up from the path and the seed */
    uint32_t seed;
    char paths[SEARCH_MAX_ROWS][MAX_PATH];
};

static struct arena arena;
static struct game game;

static void setup(void) {
    arena_init(&arena, 1024);
}

static void teardown(void) {
    arena_done(&arena);
}

/* Letter i of the vocabulary: </s> first or last. */
static char letter_of(int token) {
    return game.search.end == 0 ? ".abc"[token] : "abc."[token];
}

/* Different for every path, and exact in a float: a number in base 5. */
static float marker_of(const char *path, size_t length) {
    unsigned number = 1;
    for (size_t i = 0; i < length; i++)
        number = 5 * number + (unsigned)(path[i] - 'a');
    return (float)number;
}

/* Probabilities of '.', a, b, c after a path: seeded noise, one of the three letters impossible. */
static void make_up(const char *path, size_t length, float odds[VOCABULARY]) {
    float *x = noise(VOCABULARY + 1, 1, game.seed * 7919 + (uint32_t)marker_of(path, length)), sum = 0;
    for (size_t i = 0; i < VOCABULARY; i++)
        odds[i] = 1.05f + x[i];
    odds[1 + (int)(1.5f * (x[VOCABULARY] + 1)) % 3] = 0;
    for (size_t i = 0; i < VOCABULARY; i++)
        sum += odds[i];
    for (size_t i = 0; i < VOCABULARY; i++)
        odds[i] /= sum;
    free(x);
}

/* Probabilities of '.', a, b, c. */
static void odds_after(const char *path, size_t length, float odds[VOCABULARY]) {
    if (!game.rules) {
        make_up(path, length, odds);
        return;
    }
    const struct rule *rule = game.rules;
    while (rule->path && !(strlen(rule->path) == length && strncmp(rule->path, path, length) == 0))
        rule++;
    const float found[] = {rule->end, rule->a, rule->b, rule->c};
    memcpy(odds, found, sizeof found);
    if (found[0] + found[1] + found[2] + found[3] <= 0)
        odds[0] = 1;
}

static float probability(const char *path, size_t length, char letter) {
    float odds[VOCABULARY];
    odds_after(path, length, odds);
    return odds[letter == '.' ? 0 : letter - 'a' + 1];
}

/* Logits that are off by a constant, as a network's are. */
static void show(size_t row, float logits[VOCABULARY], struct distribution *distribution) {
    const char *path = game.paths[row];
    float offset = (float)row - 2.5f, marker = marker_of(path, strlen(path));
    for (int token = 0; token < VOCABULARY; token++)
        logits[token] = logf(probability(path, strlen(path), letter_of(token))) + offset;
    *distribution = (struct distribution){.logits = logits, .log_sum = offset, .entropy = marker, .size = VOCABULARY};
    for (size_t j = 0; j < SOURCE; j++)
        game.search.attention[row][j] = marker + (float)j;
}

static void step(void) {
    static float logits[SEARCH_MAX_ROWS][VOCABULARY];
    struct distribution distributions[SEARCH_MAX_ROWS];
    char before[SEARCH_MAX_ROWS][MAX_PATH];
    memcpy(before, game.paths, sizeof before);
    for (size_t r = 0; r < game.search.rows; r++)
        show(r, logits[r], &distributions[r]);
    ck_assert_int_eq(search_advance(&game.search, distributions, NULL), 0);
    for (size_t r = 0; r < game.search.rows; r++)
        snprintf(game.paths[r], MAX_PATH, "%.*s%c", MAX_PATH - 2, before[game.search.parents[r]], letter_of(game.search.tokens[r]));
}

static void start(const struct rule *rules, uint32_t seed, const struct search_options *options, int end) {
    struct error err = {0};
    game = (struct game){.rules = rules, .seed = seed};
    ck_assert_msg(search_init(&game.search, options, end, SOURCE, &arena, &err) == 0, "%s", err.message);
    ck_assert_uint_eq(game.search.rows, 1);
}

static void finish(void) {
    while (game.search.rows > 0)
        step();
}

/* The live rows, best first: "ab ac". */
static void expect_rows(const char *paths) {
    char found[SEARCH_MAX_ROWS * MAX_PATH] = "";
    for (size_t r = 0; r < game.search.rows; r++) {
        strcat(found, r ? " " : "");
        strcat(found, game.paths[r]);
    }
    ck_assert_str_eq(found, paths);
}

/* ---- hypotheses ---- */

static void text_of(const struct hypothesis *h, char text[MAX_PATH]) {
    size_t i = 0;
    for (; i < h->length; i++)
        text[i] = letter_of(h->tokens[i]);
    if (h->ended)
        text[i++] = '.';
    text[i] = '\0';
}

/* Every number of a hypothesis is of its own path: also what the parents' rows were shown. */
static void check_numbers(const struct hypothesis *h) {
    char text[MAX_PATH];
    text_of(h, text);
    double sum = 0;
    for (size_t i = 0; text[i]; i++) {
        float expected = logf(probability(text, i, text[i]));
        ck_assert_float_eq_tol(h->log_probs[i], expected, 1e-5f);
        ck_assert_float_eq(h->entropies[i], marker_of(text, i));
        for (size_t j = 0; j < SOURCE; j++)
            ck_assert_msg(identical(h->attention[i] + j, &(float){marker_of(text, i) + (float)j}, 1), "%s: attention[%zu]", text,
                          i);
        sum += (double)expected;
    }
    ck_assert_double_eq_tol(h->log_prob, sum, 1e-5);
    ck_assert_double_eq_tol(h->score, h->log_prob / pow((double)strlen(text), game.search.options.length_penalty), 1e-9);
}

/* All hypotheses, best first: "ab. a. b". */
static void expect_results(const char *texts) {
    struct hypothesis *list;
    size_t count;
    char found[SEARCH_MAX_ROWS * MAX_PATH] = "", text[MAX_PATH];
    ck_assert_int_eq(search_results(&game.search, &list, &count, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        check_numbers(&list[i]);
        text_of(&list[i], text);
        strcat(found, i ? " " : "");
        strcat(found, text);
    }
    ck_assert_str_eq(found, texts);
}

static struct search_options greedy(size_t max_length) {
    return (struct search_options){.strategy = "greedy", .n_best = 1, .max_length = max_length};
}

static struct search_options beam(size_t size, size_t max_length) {
    return (struct search_options){.strategy = "beam", .beam_size = size, .n_best = size, .max_length = max_length};
}

static void play(const struct rule *rules, const struct search_options *options) {
    start(rules, 0, options, VOCABULARY - 1);
    finish();
}

/* ---- greedy ---- */

/* a looks better, b is better: p(b.) = .4 x .9, p(ab.) = .6 x .4 x 1. */
static const struct rule trap[] = {{"", 0, .6f, .4f, 0}, {"a", .3f, .3f, .4f, 0}, {"b", .9f, .1f, 0, 0}, {0}};

START_TEST(greedy_follows_the_argmax) {
    struct search_options options = greedy(10);
    play(trap, &options);
    expect_results("ab.");
}
END_TEST

START_TEST(greedy_stops_at_the_length_limit) {
    static const struct rule endless[] = {{NULL, .2f, .1f, .4f, .3f}};
    struct search_options options = greedy(5);
    play(endless, &options);
    expect_results("bbbbb");
    options.max_length = 1;
    play(endless, &options);
    expect_results("b");
}
END_TEST

START_TEST(greedy_takes_the_first_of_equals) {
    static const struct rule even[] = {{"", 0, .3f, .35f, .35f}, {0}};
    struct search_options options = greedy(5);
    play(even, &options);
    expect_results("b.");
}
END_TEST

START_TEST(greedy_has_one_hypothesis) {
    struct search_options options = greedy(10);
    options.n_best = 5;
    play(trap, &options);
    expect_results("ab.");
}
END_TEST

/* ---- beam ---- */

START_TEST(beam_finds_what_greedy_misses) {
    struct search_options options = beam(2, 10);
    play(trap, &options);
    expect_results("b. ab.");
}
END_TEST

/* The end has the best sum in the first step. It takes one of two places: b, the third, does not go on, although it fits the beam. */
START_TEST(the_ended_give_up_their_place) {
    static const struct rule rules[] = {{"", .5f, .3f, .2f, 0}, {"a", .1f, .5f, .4f, 0}, {"aa", .6f, .4f, 0, 0}, {0}};
    struct search_options options = beam(2, 10);
    start(rules, 0, &options, VOCABULARY - 1);
    step();
    expect_rows("a");
    ck_assert_uint_eq(game.search.ended_count, 1);
    step();
    expect_rows("aa"); /* no other path can beat .5 any more: the search goes on all the same */
    step();
    expect_rows("");
    expect_results(". aa.");
}
END_TEST

/* Of three places one is taken at "a."; the two best of the rest go on, from whichever row. */
START_TEST(places_left_are_for_all_rows) {
    static const struct rule rules[] = {
        {"", 0, .5f, .3f, .2f}, {"a", .8f, .2f, 0, 0}, {"b", 0, .5f, .5f, 0}, {"c", 0, 0, 0, 1}, {0}};
    struct search_options options = beam(3, 10);
    start(rules, 0, &options, VOCABULARY - 1);
    step();
    expect_rows("a b c");
    step(); /* a. .4, cc .2; ba and bb .15: the first of equals */
    expect_rows("cc ba");
    ck_assert_uint_eq(game.search.parents[0], 2);
    ck_assert_uint_eq(game.search.parents[1], 1);
    finish();
    expect_results("a. cc. ba.");
}
END_TEST

START_TEST(the_open_join_the_list_as_they_stand) {
    static const struct rule rules[] = {{"", .2f, .5f, .3f, 0}, {NULL, 0, .9f, .1f, 0}};
    struct search_options options = beam(3, 2);
    play(rules, &options);
    expect_results("aa ba .");
    options.max_length = 1;
    play(rules, &options);
    expect_results("a b .");
}
END_TEST

START_TEST(equal_words_are_never_merged) {
    static const struct rule rules[] = {{"", 0, .5f, .5f, 0}, {"a", 0, 0, 0, 1}, {"b", 0, 0, 0, 1}, {0}};
    struct search_options options = beam(2, 10);
    start(rules, 0, &options, VOCABULARY - 1);
    step();
    step();
    expect_rows("ac bc");
    finish();
    expect_results("ac. bc.");
}
END_TEST

/* The second best row overtakes the best: rows change places, and states must follow the parents. */
START_TEST(rows_cross) {
    static const struct rule rules[] = {{"", 0, .6f, .4f, 0}, {"a", 0, .5f, .5f, 0}, {"b", 0, 0, 0, 1}, {0}};
    struct search_options options = beam(2, 10);
    start(rules, 0, &options, VOCABULARY - 1);
    step();
    expect_rows("a b");
    step();
    expect_rows("bc aa");
    ck_assert_uint_eq(game.search.parents[0], 1);
    ck_assert_uint_eq(game.search.parents[1], 0);
    finish();
    expect_results("bc. aa.");
}
END_TEST

/* p(.) = .36, p(a.) = .24, p(bcc.) = .08: the longer the better as the penalty grows. */
START_TEST(length_penalty_orders_the_list) {
    static const struct rule rules[] = {
        {"", .36f, .3f, .2f, .14f}, {"a", .8f, .2f, 0, 0}, {"b", .2f, .2f, .2f, .4f}, {"bc", 0, 0, 0, 1}, {0}};
    struct search_options options = beam(3, 10);
    play(rules, &options);
    expect_results(". a. bcc.");
    options.length_penalty = 0.6;
    play(rules, &options);
    expect_results("a. . bcc.");
    options.length_penalty = 1;
    play(rules, &options);
    expect_results("bcc. a. .");
}
END_TEST

START_TEST(n_best_cuts_the_list) {
    struct search_options options = beam(3, 10);
    options.n_best = 2;
    play(trap, &options);
    expect_results("b. ab.");
    options.n_best = 1;
    play(trap, &options);
    expect_results("b.");
}
END_TEST

/* Fewer continuations than places: impossible ones do not fill up the beam. */
START_TEST(beam_keeps_only_what_is_possible) {
    static const struct rule rules[] = {{"", 0, 0, 1, 0}, {0}};
    struct search_options options = beam(8, 10);
    play(rules, &options);
    expect_results("b.");
}
END_TEST

START_TEST(min_length_keeps_the_end_away) {
    static const struct rule rules[] = {{NULL, .9f, .02f, .05f, .03f}};
    static const int ends[] = {0, VOCABULARY - 1};
    for (size_t i = 0; i < 2; i++) {
        struct search_options options = greedy(10);
        options.min_length = 2;
        start(rules, 0, &options, ends[i]);
        finish();
        expect_results("bb.");
        options = beam(2, 10);
        options.min_length = 2;
        start(rules, 0, &options, ends[i]);
        finish();
        expect_results("bb. bc.");
    }
}
END_TEST

/* The limit wins over the least length. */
START_TEST(min_length_beyond_max_length) {
    static const struct rule rules[] = {{NULL, .9f, .02f, .05f, .03f}};
    struct search_options options = beam(2, 2);
    options.min_length = 5;
    play(rules, &options);
    expect_results("bb bc");
}
END_TEST

/* ---- any table ---- */

START_TEST(beam_of_one_is_greedy) {
    for (uint32_t seed = 0; seed < 300; seed++) {
        struct search_options one = beam(1, 8), options = greedy(8);
        start(NULL, seed, &options, (int)(seed % 2) * (VOCABULARY - 1));
        finish();
        struct hypothesis *list;
        size_t count;
        char text[MAX_PATH];
        ck_assert_int_eq(search_results(&game.search, &list, &count, NULL), 0);
        ck_assert_uint_eq(count, 1);
        text_of(list, text);
        start(NULL, seed, &one, game.search.end);
        finish();
        expect_results(text);
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
        float p = probability(path, length, ".abc"[i]);
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

/* Two letters and the end are possible after each path: 15 paths end within length 4, 16 reach it. With room for all of them the
 * beam's list is all of them, in the right order. */
START_TEST(a_beam_with_room_for_all_is_exhaustive) {
    enum { PATHS = 31 };
    for (uint32_t seed = 0; seed < 60; seed++) {
        struct search_options options = beam(PATHS, 4);
        options.length_penalty = (double)(seed % 3) / 2;
        start(NULL, seed, &options, VOCABULARY - 1);
        finish();
        struct path paths[PATHS];
        size_t count = 0;
        char texts[PATHS * MAX_PATH] = "";
        enumerate("", 0, paths, &count);
        ck_assert_uint_eq(count, PATHS);
        for (size_t i = 0; i < count; i++) {
            strcat(texts, i ? " " : "");
            strcat(texts, paths[i].text);
        }
        expect_results(texts);
    }
}
END_TEST

/* Narrow beams over many tables: parents cross all the time, and every hypothesis keeps its own numbers (check_numbers). */
START_TEST(hypotheses_keep_their_own_numbers) {
    for (uint32_t seed = 0; seed < 100; seed++) {
        struct search_options options = beam(2 + seed % 5, 9);
        start(NULL, seed, &options, (int)(seed % 2) * (VOCABULARY - 1));
        finish();
        struct hypothesis *list;
        size_t count;
        ck_assert_int_eq(search_results(&game.search, &list, &count, NULL), 0);
        ck_assert_uint_eq(count, options.beam_size);
        for (size_t i = 0; i < count; i++) {
            check_numbers(&list[i]);
            ck_assert(i == 0 || list[i - 1].score >= list[i].score);
        }
    }
}
END_TEST

/* ---- forced ---- */

static struct search_options forced(const int *target, size_t length) {
    return (struct search_options){.strategy = "forced", .n_best = 1, .max_length = 1, .target = target, .target_length = length};
}

/* Whatever its probability, and longer than max_length. */
START_TEST(forced_scores_the_target) {
    static const struct rule rules[] = {{NULL, .1f, .6f, .2f, .1f}};
    static const int target[] = {1, 2, 0, 2}; /* b c a c */
    struct search_options options = forced(target, 4);
    play(rules, &options);
    expect_results("bcac.");
}
END_TEST

START_TEST(forced_with_an_empty_target) {
    static const struct rule rules[] = {{NULL, .1f, .6f, .2f, .1f}};
    static const int nothing[1];
    struct search_options options = forced(nothing, 0);
    play(rules, &options);
    expect_results(".");
    options = forced(NULL, 0);
    play(rules, &options);
    expect_results(".");
}
END_TEST

/* The header rules it out; should it happen, the hypothesis is sound, and ends there. */
START_TEST(forced_ends_at_the_first_end) {
    static const struct rule rules[] = {{NULL, .1f, .6f, .2f, .1f}};
    static const int target[] = {1, VOCABULARY - 1, 0};
    struct search_options options = forced(target, 3);
    play(rules, &options);
    expect_results("b.");
}
END_TEST

/* ---- the table of strategies ---- */

START_TEST(strategies_have_names) {
    struct search_options options = beam(7, 10);
    ck_assert_uint_eq(search_max_rows(&options), 7);
    options = greedy(10);
    ck_assert_uint_eq(search_max_rows(&options), 1);
    options = forced(NULL, 0);
    ck_assert_uint_eq(search_max_rows(&options), 1);
    ck_assert(search_known("greedy") && search_known("beam") && search_known("forced"));
    ck_assert(!search_known("Beam") && !search_known(""));
}
END_TEST

START_TEST(unknown_strategy_is_refused) {
    struct search search;
    struct error err = {0};
    struct search_options options = greedy(10);
    options.strategy = "guess";
    ck_assert_int_eq(search_init(&search, &options, 0, SOURCE, &arena, &err), -1);
    ck_assert_int_eq(err.code, ERROR_INPUT);
    ck_assert_str_eq(err.message, "strategy guess is not known");
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
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, greedy_follows_the_argmax);
    tcase_add_test(cases, greedy_stops_at_the_length_limit);
    tcase_add_test(cases, greedy_takes_the_first_of_equals);
    tcase_add_test(cases, greedy_has_one_hypothesis);
    suite_add_tcase(suite, cases);

    cases = tcase_create("beam");
    tcase_add_checked_fixture(cases, setup, teardown);
    add_beam(cases);
    suite_add_tcase(suite, cases);

    cases = tcase_create("forced and the table");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, forced_scores_the_target);
    tcase_add_test(cases, forced_with_an_empty_target);
    tcase_add_test(cases, forced_ends_at_the_first_end);
    tcase_add_test(cases, strategies_have_names);
    tcase_add_test(cases, unknown_strategy_is_refused);
    suite_add_tcase(suite, cases);
    return suite;
}
