#include "tests/game.h"
#include "tests/check.h"
#include "tests/numbers.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct rule game_trap[] = {
    {"", 0, .6f, .4f, 0}, {"a", .3f, .3f, .4f, 0}, {"b", .9f, .1f, 0, 0}, {0}};

enum { SOURCE = 3, STATE = 1 };

/* Letter i of the vocabulary: </s> first or last. */
static char letter_of(const struct game *game, int token) {
    return game->search.setting.ids.end == 0 ? ".abc"[token] : "abc."[token];
}

/* Different for every path, and exact in a float: a number in base 5. */
static float marker_of(const char *path, size_t length) {
    unsigned number = 1;
    for (size_t i = 0; i < length; i++)
        number = 5 * number + (unsigned)(path[i] - 'a');
    return (float)number;
}

/* Probabilities of '.', a, b, c after a path: seeded noise, one of the three letters impossible. */
static void make_up(const struct game *game, const char *path, size_t length,
                    float odds[VOCABULARY]) {
    float *x = noise(VOCABULARY + 1, 1, game->seed * 7919 + (uint32_t)marker_of(path, length)),
          sum = 0;
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
static void odds_after(const struct game *game, const char *path, size_t length,
                       float odds[VOCABULARY]) {
    if (!game->rules) {
        make_up(game, path, length, odds);
        return;
    }
    const struct rule *rule = game->rules;
    while (rule->path && !(strlen(rule->path) == length && strncmp(rule->path, path, length) == 0))
        rule++;
    const float found[] = {rule->end, rule->a, rule->b, rule->c};
    memcpy(odds, found, sizeof found);
    if (found[0] + found[1] + found[2] + found[3] <= 0)
        odds[0] = 1;
}

float game_probability(const struct game *game, const char *path, size_t length, char letter) {
    float odds[VOCABULARY];
    odds_after(game, path, length, odds);
    return odds[letter == '.' ? 0 : letter - 'a' + 1];
}

/* The wanted best of the logits: no more are handed over, so that a search which looks further
 * fails. */
static size_t rank(const struct game *game, const float logits[VOCABULARY],
                   struct ranked top[VOCABULARY]) {
    size_t count = 0, wanted = search_wanted(&game->search);
    for (int token = 0; token < VOCABULARY; token++) {
        if (!(logits[token] > -INFINITY))
            continue;
        size_t place = count++;
        for (; place > 0 && top[place - 1].logit < logits[token]; place--)
            top[place] = top[place - 1];
        top[place] = (struct ranked){.token = token, .logit = logits[token]};
    }
    return count < wanted ? count : wanted;
}

/* Logits that are off by a constant, as a network's are. */
static void show(const struct game *game, size_t row, float logits[VOCABULARY],
                 struct ranked top[VOCABULARY], struct distribution *distribution) {
    const char *path = game->paths[row];
    float offset = (float)row - 2.5f, marker = marker_of(path, strlen(path));
    for (int token = 0; token < VOCABULARY; token++)
        logits[token] =
            logf(game_probability(game, path, strlen(path), letter_of(game, token))) + offset;
    *distribution = (struct distribution){.logits = logits,
                                          .log_sum = offset,
                                          .entropy = marker,
                                          .size = VOCABULARY,
                                          .top = top,
                                          .top_count = rank(game, logits, top)};
    struct step_row *shown = game->search.shown[row];
    for (size_t j = 0; j < SOURCE; j++)
        shown->attention[j] = marker + (float)j;
    if (game->search.returns)
        shown->state[0] = marker;
}

/* The path of a row that comes from anywhere. What was kept of its parent must be the parent's. */
static void return_to(struct game *game, char path[MAX_PATH]) {
    const struct search_node *leaf = game->search.leaves[0];
    size_t length = leaf ? leaf->depth : 0;
    path[length] = '\0';
    for (const struct search_node *node = leaf; node; node = node->parent)
        path[node->depth - 1] = letter_of(game, node->token);
    ck_assert_uint_eq(game->search.step, length);
    const float *state = search_state(&game->search, 0);
    if (length > 0)
        ck_assert_float_eq(state[0], marker_of(path, length - 1));
    else
        ck_assert_ptr_null(state);
}

void game_step(struct game *game) {
    static float logits[SEARCH_MAX_ROWS][VOCABULARY];
    static struct ranked top[SEARCH_MAX_ROWS][VOCABULARY];
    struct distribution distributions[SEARCH_MAX_ROWS];
    char before[SEARCH_MAX_ROWS][MAX_PATH];
    memcpy(before, game->paths, sizeof before);
    for (size_t r = 0; r < game->search.rows; r++)
        show(game, r, logits[r], top[r], &distributions[r]);
    ck_assert_int_eq(search_advance(&game->search, distributions, NULL), 0);
    game->steps++;
    if (game->search.rows > 0 && game->search.returns) {
        return_to(game, game->paths[0]);
        return;
    }
    for (size_t r = 0; r < game->search.rows; r++)
        snprintf(game->paths[r], MAX_PATH, "%.*s%c", MAX_PATH - 2, before[game->search.parents[r]],
                 letter_of(game, game->search.tokens[r]));
}

struct arena game_arena;

void game_set_up(void) {
    arena_init(&game_arena, 1024);
}

void game_tear_down(void) {
    arena_done(&game_arena);
}

void game_start(struct game *game, const struct rule *rules, uint32_t seed,
                const struct search_options *options, int end) {
    struct error err = {0};
    const struct search_setting setting = {
        .ids = {.end = end, .banned = -1}, .source_length = SOURCE, .stored = {.state = STATE}};
    *game = (struct game){.rules = rules, .seed = seed};
    ck_assert_msg(search_init(&game->search, options, &setting, &game_arena, &err) == 0, "%s",
                  err.message);
    ck_assert_uint_eq(game->search.rows, 1);
}

void game_finish(struct game *game) {
    while (game->search.rows > 0)
        game_step(game);
}

void game_play(struct game *game, const struct rule *rules, uint32_t seed,
               const struct search_options *options) {
    game_start(game, rules, seed, options, LAST);
    game_finish(game);
}

struct search_options game_options(const struct search_kind *strategy, size_t n_best,
                                   size_t max_length) {
    return (struct search_options){.strategy = strategy,
                                   .beam_size = n_best,
                                   .n_best = n_best,
                                   .max_length = max_length,
                                   .sampling = {.temperature = 1, .top_p = 1}};
}

void game_expect_rows(const struct game *game, const char *paths) {
    char found[MAX_TEXTS] = "";
    for (size_t r = 0; r < game->search.rows; r++) {
        strcat(found, r ? " " : "");
        strcat(found, game->paths[r]);
    }
    ck_assert_str_eq(found, paths);
}

/* ---- hypotheses ---- */

static void text_of(const struct game *game, const struct hypothesis *h, char text[MAX_PATH]) {
    size_t i = 0;
    for (; i < h->length; i++)
        text[i] = letter_of(game, h->tokens[i]);
    if (h->ended)
        text[i++] = '.';
    text[i] = '\0';
}

double game_merit(const struct game *game, const char *path, size_t length, char letter) {
    const struct search_options *options = &game->search.options;
    size_t n = options->no_repeat_ngram;
    double log_prob = log((double)game_probability(game, path, length, letter));
    if (length < options->prefix_length)
        return log_prob;
    if (letter == '.' && length < options->min_length)
        return -INFINITY;
    for (size_t i = 0; n > 0 && i + n <= length; i++)
        if (path[i + n - 1] == letter && memcmp(path + i, path + length - (n - 1), n - 1) == 0)
            return -INFINITY;
    bool again = options->repetition_penalty > 1 && memchr(path, letter, length);
    return again ? options->repetition_penalty * log_prob : log_prob;
}

/* Every number of a hypothesis is of its own path: also what the parents' rows were shown. */
static void check_numbers(const struct game *game, const struct hypothesis *h) {
    char text[MAX_PATH];
    text_of(game, h, text);
    double sum = 0, merit = 0;
    for (size_t i = 0; text[i]; i++) {
        merit += game_merit(game, text, i, text[i]);
        float expected = logf(game_probability(game, text, i, text[i]));
        ck_assert_float_eq_tol(h->log_probs[i], expected, 1e-5f);
        ck_assert_float_eq(h->entropies[i], marker_of(text, i));
        for (size_t j = 0; j < SOURCE; j++)
            ck_assert_float_eq(h->attention[i][j], marker_of(text, i) + (float)j);
        sum += (double)expected;
    }
    ck_assert_double_eq_tol(h->log_prob, sum, 1e-5);
    ck_assert_double_eq_tol(
        h->score, merit / pow((double)strlen(text), game->search.options.length_penalty), 1e-5);
    if (!(game->search.options.repetition_penalty > 1))
        ck_assert_double_eq_tol(
            h->score, h->log_prob / pow((double)strlen(text), game->search.options.length_penalty),
            1e-9);
}

void game_results(const struct game *game, char texts[MAX_TEXTS]) {
    struct hypothesis *list;
    size_t count;
    char text[MAX_PATH];
    ck_assert_int_eq(search_results(&game->search, &list, &count, NULL), 0);
    texts[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        check_numbers(game, &list[i]);
        ck_assert(i == 0 || list[i - 1].score >= list[i].score);
        text_of(game, &list[i], text);
        strcat(texts, i ? " " : "");
        strcat(texts, text);
    }
}

void game_expect_results(const struct game *game, const char *texts) {
    char found[MAX_TEXTS];
    game_results(game, found);
    ck_assert_str_eq(found, texts);
}
