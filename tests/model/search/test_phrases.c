/* Required phrases: progress along a path, and the constrained search on hand-written probability
 * tables. */
#include "model/search/phrases.h"
#include "model/search/search.h"
#include "tests/game.h"
#include "tests/suites.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { A, B, C, MAX_PHRASES = 4, OWN = VOCABULARY }; /* OWN: a token that no table has */

static struct game game;

/* "ab ac" -> two phrases; "ab|ac": two ways to say one; "ab!": it comes last. */
static struct phrases phrases_of(const char *texts) {
    static int tokens[MAX_PHRASES][MAX_PATH];
    static struct phrase list[MAX_PHRASES];
    struct phrases phrases = {.list = list};
    size_t first = 0;
    for (; *texts; texts += *texts != '\0') {
        struct phrase *phrase = &list[phrases.count];
        *phrase = (struct phrase){.tokens = tokens[phrases.count]};
        for (; *texts && *texts != ' ' && *texts != '|'; texts++)
            if (*texts == '!')
                phrase->last = true;
            else
                tokens[phrases.count][phrase->length++] = *texts - 'a';
        phrases.count++;
        for (size_t q = first; q < phrases.count; q++) {
            list[q].before = q - first;
            list[q].after = phrases.count - 1 - q;
        }
        first = *texts == '|' ? first : phrases.count;
    }
    return phrases;
}

/* ---- progress ---- */

static const struct {
    const char *phrases, *path;
    size_t tokens;
    bool complete;
} progresses[] = {
    {"ab", "", 0, false},          {"ab", "a", 1, false},
    {"ab", "ab", 2, true},         {"ab", "ac", 0, false}, /* broken off */
    {"ab", "aab", 2, true},        {"ab", "abc", 2, true},
    {"ab", "acab", 2, true},       {"ab ab", "ab", 2, false},
    {"ab ab", "abab", 4, true},    {"ab ac", "ac", 2, false},
    {"ab ac", "acab", 4, true},    {"a ab", "ab", 2, false}, /* the longer */
    {"a ab", "aba", 3, true},      {"ab a", "aab", 3, true},
    {"a abc", "abb", 1, false},                               /* the shorter is held */
    {"abc a", "abcc", 3, false},   {"aab", "aaab", 0, false}, /* no token is looked at again */
    {"c", "abc", 1, true},         {"a|bc", "", 0, false},
    {"a|bc", "a", 2, true},        {"a|bc", "b", 1, false}, /* the longest way */
    {"a|bc", "bc", 2, true},       {"a|ab", "a", 2, true},
    {"a|ab", "ab", 2, true},       {"a|ab", "ac", 2, true},
    {"ab|abc c", "abc", 3, false}, {"ab|abc c", "abcc", 4, true},
    {"a|b a|b", "ab", 2, true},    {"a|b a|b", "ac", 1, false},
    {"a|b c", "abc", 2, true},
};

static void check_progress(struct phrases phrases, const char *path, size_t tokens, bool complete) {
    bool met[2][MAX_PHRASES] = {{false}};
    struct phrases_progress progress = {.met = met[0]}, next = {.met = met[1]};
    for (size_t i = 0; path[i]; i++) {
        phrases_take(&phrases, &progress, path[i] - 'a', &next);
        struct phrases_progress before = progress;
        progress = next;
        next.met = before.met;
    }
    ck_assert_msg(phrases_met_tokens(&phrases, &progress) == tokens, "%s: %zu tokens", path,
                  phrases_met_tokens(&phrases, &progress));
    ck_assert_msg(phrases_complete(&phrases, &progress) == complete, "%s", path);
}

START_TEST(progress_follows_the_path) {
    for (size_t i = 0; i < sizeof progresses / sizeof *progresses; i++)
        check_progress(phrases_of(progresses[i].phrases), progresses[i].path, progresses[i].tokens,
                       progresses[i].complete);
}
END_TEST

/* "ab", where b continues the word a, does not hold the phrase "a". */
START_TEST(words_are_whole) {
    static const bool continues[] = {false, true, false};
    struct phrases phrases = phrases_of("a abc");
    phrases.continues = continues;
    phrases.size = 3;
    check_progress(phrases, "aba", 1, false);
    check_progress(phrases, "ac", 1, false);
    check_progress(phrases, "abca", 4, true);
}
END_TEST

/* ---- the search ---- */

static struct search_options options_of(size_t beam_size, size_t max_length,
                                        struct phrases phrases) {
    return (struct search_options){.strategy = &search_constrained,
                                   .beam_size = beam_size,
                                   .n_best = beam_size,
                                   .max_length = max_length,
                                   .max_rows = SEARCH_MAX_ROWS,
                                   .phrases = phrases};
}

static void play(const struct rule *rules, uint32_t seed, const struct search_options *options) {
    arena_reset(&game_arena);
    game_start(&game, rules, seed, options, LAST);
    game_finish(&game);
}

/* True if a hypothesis holds all phrases. */
static bool holds_all(const struct phrases *phrases, const struct hypothesis *h) {
    bool met[2][MAX_PHRASES] = {{false}};
    struct phrases_progress progress[2] = {{.met = met[0]}, {.met = met[1]}};
    for (size_t i = 0; i < h->length; i++)
        phrases_take(phrases, &progress[i % 2], h->tokens[i], &progress[(i + 1) % 2]);
    return phrases_complete(phrases, &progress[h->length % 2]);
}

/* All hypotheses do, and there is one. */
static void expect_all_held(const struct phrases *phrases) {
    struct hypothesis *list;
    size_t count;
    ck_assert_int_eq(search_results(&game.search, &list, &count, NULL), 0);
    ck_assert_uint_gt(count, 0);
    for (size_t i = 0; i < count; i++) {
        ck_assert(isfinite(list[i].score) && isfinite(list[i].log_prob));
        ck_assert(holds_all(phrases, &list[i]));
    }
}

static void expect(const struct rule *rules, const struct search_options *options,
                   const char *text) {
    char found[MAX_TEXTS];
    play(rules, 0, options);
    game_results(&game, found);
    found[strcspn(found, " ")] = '\0';
    ck_assert_str_eq(found, text);
}

/* a. is nearly sure; c never comes by itself, and best after a. */
static const struct rule shy[] = {{"", 0, .97f, .02f, .01f},
                                  {"a", .94f, .02f, .02f, .02f},
                                  {"c", .1f, .8f, .05f, .05f},
                                  {"ac", .9f, 0, .1f, 0},
                                  {NULL, .4f, .2f, .39f, .01f}};

START_TEST(what_a_beam_would_never_choose) {
    for (size_t beam = 1; beam <= 8; beam++) {
        struct search_options options = options_of(beam, 10, phrases_of("c"));
        options.n_best = 1;
        expect(shy, &options, "ac.");
    }
}
END_TEST

/* Order "cb" is 4 times as likely as "bc". */
START_TEST(the_better_order) {
    static const struct rule rules[] = {{"", .5f, .3f, .1f, .1f},
                                        {"b", .5f, .3f, 0, .2f},
                                        {"c", .1f, .1f, .8f, 0},
                                        {NULL, .9f, .04f, .03f, .03f}};
    struct search_options options = options_of(4, 10, phrases_of("b c"));
    expect(rules, &options, "cb.");
}
END_TEST

/* Of the ways to say it the one that is likelier where it stands, whatever their order. */
START_TEST(the_likelier_way) {
    static const struct rule rules[] = {{"", .01f, .04f, .02f, .93f},
                                        {"c", .5f, .1f, .3f, .1f},
                                        {"cb", .9f, 0, 0, .1f},
                                        {"ca", .8f, .01f, .09f, .1f},
                                        {NULL, .4f, .2f, .3f, .1f}};
    struct search_options options = options_of(4, 10, phrases_of("a|b"));
    options.n_best = 1;
    expect(rules, &options, "cb.");
    options.phrases = phrases_of("b|a");
    expect(rules, &options, "cb.");
    options.phrases = phrases_of("a");
    expect(rules, &options, "ca.");
}
END_TEST

START_TEST(phrases_that_begin_alike) {
    static const char *const phrases[] = {"ab ac",  "a ab",    "abc ab",     "aa aab",
                                          "a|ab c", "ab|ac a", "aab|a aab|a"};
    for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
        for (size_t beam = 1; beam < 9; beam++) {
            struct search_options options = options_of(beam, 9, phrases_of(phrases[i]));
            play(shy, 0, &options);
            expect_all_held(&options.phrases);
        }
}
END_TEST

/* Whatever is drawn, and where the tokens fill the limit; the same seed draws the same. */
START_TEST(samples_hold_all) {
    static const char *const phrases[] = {"c", "ab ac", "a|ab c", "cb ccc"};
    static const struct rule rules[] = {{NULL, .4f, .2f, .39f, .01f}};
    for (uint32_t seed = 0; seed < 200; seed++)
        for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++) {
            struct search_options options = {
                .strategy = &search_sample,
                .beam_size = 1,
                .n_best = 3,
                .max_length = i == 3 ? 5 : 9,
                .sampling = {.temperature = 1.5, .top_k = seed % 3, .top_p = 0.9, .seed = seed}};
            char first[MAX_TEXTS], second[MAX_TEXTS];
            search_constrain(&options, phrases_of(phrases[i]));
            play(rules, seed, &options);
            expect_all_held(&options.phrases);
            game_results(&game, first);
            play(rules, seed, &options);
            game_results(&game, second);
            ck_assert_str_eq(first, second);
        }
}
END_TEST

/* Samples are drawn by what the tokens count: c, of which the model would draw one in a hundred,
 * comes but once. */
START_TEST(samples_end) {
    size_t longest = 0;
    for (uint32_t seed = 0; seed < 200; seed++) {
        struct search_options options = {.strategy = &search_sample,
                                         .beam_size = 1,
                                         .n_best = 1,
                                         .max_length = 60,
                                         .sampling = {1, 0, 1, seed, 0}};
        struct hypothesis *list;
        size_t count;
        search_constrain(&options, phrases_of("c"));
        play(shy, seed, &options);
        ck_assert_int_eq(search_results(&game.search, &list, &count, NULL), 0);
        longest = list[0].length > longest ? list[0].length : longest;
    }
    ck_assert_uint_lt(longest, 30); /* a path that could not end would have all 60 */
}
END_TEST

/* An exact search becomes a beam, which says that there may be better ones. */
START_TEST(exact_search_is_approximated) {
    struct search_options options = {
        .strategy = &search_exact, .beam_size = 3, .n_best = 1, .max_length = 10, .max_rows = 8};
    struct hypothesis *list;
    size_t count;
    search_constrain(&options, phrases_of("c"));
    play(shy, 0, &options);
    expect_all_held(&options.phrases);
    ck_assert_int_eq(search_results(&game.search, &list, &count, NULL), 0);
    ck_assert_int_eq(list[0].finish, FINISH_BUDGET);
}
END_TEST

/* Behind a, c is far likelier than b: the phrase is broken off, and begun again. */
START_TEST(a_phrase_is_broken_off) {
    static const struct rule rules[] = {{"", 0, .9f, .1f, 0},
                                        {"a", 0, 0, .001f, .999f},
                                        {"ac", .2f, .8f, 0, 0},
                                        {"aca", 0, 0, .99f, .01f},
                                        {NULL, 1, 0, 0, 0}};
    struct search_options options = options_of(2, 10, phrases_of("ab"));
    expect(rules, &options, "acab.");
}
END_TEST

/* The caller sees to it that the limit has room; here it is just enough, and every token is a
 * phrase's. */
START_TEST(phrases_fill_the_limit) {
    struct search_options options = options_of(3, 5, phrases_of("cb ccc"));
    play(shy, 0, &options);
    struct hypothesis *list;
    size_t count;
    ck_assert_int_eq(search_results(&game.search, &list, &count, NULL), 0);
    ck_assert_uint_gt(count, 0);
    ck_assert_uint_eq(list[0].length, 5);
    ck_assert_int_eq(list[0].finish, FINISH_LENGTH);
}
END_TEST

/* On made-up tables, where some of the tokens are impossible; no more steps than the limit has
 * tokens. */
START_TEST(all_hold_all) {
    static const char *const phrases[] = {"c", "ab", "cc a", "ba ab", "abc c"};
    for (uint32_t seed = 0; seed < 400; seed++) {
        struct search_options options = options_of(1 + seed % 6, 8, phrases_of(phrases[seed % 5]));
        options.max_rows = seed % 3 == 0 ? 0 : SEARCH_MAX_ROWS;
        options.report.tree = seed % 2;
        play(NULL, seed, &options);
        ck_assert_uint_le(game.steps, 8);
        expect_all_held(&options.phrases);
    }
}
END_TEST

/* On made-up tables, too: a phrase that comes last ends each hypothesis, after all others, whatever
 * the search. */
START_TEST(the_last_comes_last) {
    static const char *const phrases[] = {"c!", "ab!", "a cc!", "ab ba!", "c abc!"};
    static const struct search_kind *const kinds[] = {&search_beam, &search_greedy, &search_sample,
                                                      &search_exact};
    for (uint32_t seed = 0; seed < 400; seed++) {
        struct phrases all = phrases_of(phrases[seed % 5]);
        const struct phrase *last = &all.list[all.count - 1];
        struct hypothesis *list;
        size_t count;
        struct search_options options = options_of(1 + seed % 6, 8, (struct phrases){0});
        options.strategy = kinds[seed % 4];
        options.n_best = seed % 4 == 0 ? options.beam_size : 1;
        options.max_rows = seed % 3 == 0 ? 0 : SEARCH_MAX_ROWS;
        options.sampling = (struct sampling){1, 0, 1, seed, 0};
        options.report.tree = seed % 2;
        options.length_penalty = 1;
        search_constrain(&options, all);
        ck_assert(options.length_penalty == 0);
        play(NULL, seed, &options);
        ck_assert_uint_le(game.steps, 8);
        expect_all_held(&all);
        ck_assert_int_eq(search_results(&game.search, &list, &count, NULL), 0);
        for (size_t i = 0; i < count; i++)
            ck_assert(list[i].length >= last->length &&
                      memcmp(list[i].tokens + list[i].length - last->length, last->tokens,
                             last->length * sizeof *last->tokens) == 0);
    }
}
END_TEST

/* The end fits best after "ab"; it could come at once, and such hypotheses end first. */
START_TEST(what_ends_first_is_not_the_best) {
    static const struct rule rules[] = {{"", 0, .989f, .01f, .001f},
                                        {"a", .01f, 0, .98f, .01f},
                                        {"ab", .5f, .1f, 0, .4f},
                                        {"abc", 1, 0, 0, 0},
                                        {NULL, .1f, .3f, .3f, .3f}};
    for (size_t beam = 1; beam <= 4; beam++) {
        struct search_options options = options_of(beam, 10, (struct phrases){0});
        options.strategy = &search_beam;
        options.n_best = 1;
        search_constrain(&options, phrases_of("c!"));
        expect(rules, &options, "abc.");
    }
}
END_TEST

/* With nothing to be held the search is the beam's: the same hypotheses in as many steps. */
START_TEST(without_phrases_it_is_a_beam) {
    for (uint32_t seed = 0; seed < 200; seed++) {
        char beam[MAX_TEXTS], constrained[MAX_TEXTS];
        struct search_options options = options_of(1 + seed % 6, 8, (struct phrases){0});
        play(NULL, seed, &options);
        game_results(&game, constrained);
        size_t steps = game.steps;
        options.strategy = &search_beam;
        play(NULL, seed, &options);
        game_results(&game, beam);
        ck_assert_str_eq(constrained, beam);
        ck_assert_uint_eq(steps, game.steps);
    }
}
END_TEST

/* Phrases that the table prefers anyway cost no more steps than a beam. */
START_TEST(a_likely_phrase_costs_no_step) {
    struct search_options options = options_of(1, 10, phrases_of("a"));
    play(shy, 0, &options);
    size_t steps = game.steps;
    options.strategy = &search_beam;
    play(shy, 0, &options);
    ck_assert_uint_eq(steps, game.steps);
}
END_TEST

START_TEST(penalties_do_not_forbid_phrases) {
    struct search_options options = options_of(2, 10, phrases_of("cc cc"));
    options.n_best = 1;
    options.no_repeat_ngram = 1;
    options.repetition_penalty = 9;
    options.min_length = 6;
    play(shy, 0, &options);
    struct hypothesis *list;
    size_t count, held = 0;
    ck_assert_int_eq(search_results(&game.search, &list, &count, NULL), 0);
    for (size_t i = 0; i < list[0].length; i++)
        held += list[0].tokens[i] == C;
    ck_assert_uint_eq(held, 4);
}
END_TEST

START_TEST(a_prefix_may_hold_them) {
    static const int prefix[] = {C, A};
    struct search_options options = options_of(2, 10, phrases_of("c"));
    options.prefix = prefix;
    options.prefix_length = 2;
    expect(shy, &options, "ca.");
}
END_TEST

/* A token that no distribution has comes where its source is attended to. The game's attention is
 * over 1: as good as certain. */
START_TEST(tokens_of_no_vocabulary) {
    static const int own[] = {OWN};
    static const struct phrase list[] = {{.tokens = own, .length = 1, .first = 1, .count = 1}};
    struct search_options options = options_of(1, 10, (struct phrases){.list = list, .count = 1});
    game_start(&game, shy, 0, &options, LAST);
    game_step(&game);
    ck_assert_uint_eq(game.search.rows, 2); /* it, and the best without it */
    ck_assert_int_eq(game.search.tokens[0], OWN);
    ck_assert_int_eq(game.search.tokens[1], A);
}
END_TEST

/* As in a beam, there is no hypothesis. */
START_TEST(scores_that_are_no_numbers) {
    static const struct rule rules[] = {{NULL, NAN, NAN, NAN, NAN}};
    struct search_options options = options_of(2, 10, phrases_of("ab"));
    struct hypothesis *list;
    size_t count;
    play(rules, 0, &options);
    ck_assert_int_eq(search_results(&game.search, &list, &count, NULL), 0);
    ck_assert_uint_eq(count, 0);
}
END_TEST

Suite *phrases_suite(void) {
    Suite *suite = suite_create("phrases");
    TCase *cases = tcase_create("all");
    tcase_add_checked_fixture(cases, game_set_up, game_tear_down);
    tcase_add_test(cases, progress_follows_the_path);
    tcase_add_test(cases, words_are_whole);
    tcase_add_test(cases, what_a_beam_would_never_choose);
    tcase_add_test(cases, the_better_order);
    tcase_add_test(cases, the_likelier_way);
    tcase_add_test(cases, phrases_that_begin_alike);
    tcase_add_test(cases, samples_hold_all);
    tcase_add_test(cases, samples_end);
    tcase_add_test(cases, exact_search_is_approximated);
    tcase_add_test(cases, a_phrase_is_broken_off);
    tcase_add_test(cases, phrases_fill_the_limit);
    tcase_add_test(cases, all_hold_all);
    tcase_add_test(cases, the_last_comes_last);
    tcase_add_test(cases, what_ends_first_is_not_the_best);
    tcase_add_test(cases, without_phrases_it_is_a_beam);
    tcase_add_test(cases, a_likely_phrase_costs_no_step);
    tcase_add_test(cases, penalties_do_not_forbid_phrases);
    tcase_add_test(cases, a_prefix_may_hold_them);
    tcase_add_test(cases, tokens_of_no_vocabulary);
    tcase_add_test(cases, scores_that_are_no_numbers);
    suite_add_tcase(suite, cases);
    return suite;
}
