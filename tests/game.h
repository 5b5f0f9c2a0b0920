/* Runs a search on hand-written probability tables, without a network. A path is a word over a, b,
 * c; "ab." has ended, "ab" has not. */
#ifndef ALIGND_TESTS_GAME_H
#define ALIGND_TESTS_GAME_H

#include "model/search/search_kind.h"
#include <stdint.h>

enum {
    VOCABULARY = 4,
    LAST = VOCABULARY - 1,
    MAX_PATH = 40,
    MAX_TEXTS = SEARCH_MAX_ROWS * MAX_PATH
};

/* The continuations of a path. The last rule has path NULL and applies to all others; all zero
 * there: the end is certain. */
struct rule {
    const char *path;
    float end, a, b, c;
};

/* a looks better, b is better: p(b.) = .4 x .9, p(ab.) = .6 x .4 x 1. */
extern const struct rule game_trap[];

struct game {
    struct search search;
    const struct rule *rules; /* NULL: made up from the path and the seed */
    uint32_t seed;
    size_t steps;
    char paths[SEARCH_MAX_ROWS][MAX_PATH]; /* of the live rows */
};

/* Memory of the games of one test: a fixture. */
extern struct arena game_arena;
void game_set_up(void);
void game_tear_down(void);

/* end: the id of </s>, 0 or LAST. */
void game_start(struct game *game, const struct rule *rules, uint32_t seed,
                const struct search_options *options, int end);
/* One step: each row is shown the table's probabilities, and an entropy and an attention row that
 * are made of its path. */
void game_step(struct game *game);
void game_finish(struct game *game);
/* All of it, with </s> at LAST. */
void game_play(struct game *game, const struct rule *rules, uint32_t seed,
               const struct search_options *options);
/* A beam as wide as n_best; no penalty. */
struct search_options game_options(const struct search_kind *strategy, size_t n_best,
                                   size_t max_length);

/* The table's probability of '.', 'a', 'b' or 'c' after the first length letters of a path. */
float game_probability(const struct game *game, const char *path, size_t length, char letter);

/* The merit that the last letter adds to a path, with repetition_penalty; -INFINITY if it may not
 * come. */
double game_merit(const struct game *game, const char *path, size_t length, char letter);

/* The live rows, best first: "ab ac". */
void game_expect_rows(const struct game *game, const char *paths);
/* All hypotheses, best first: "ab. a. b". Fails unless the scores fall and every number is of the
 * hypothesis's own path. */
void game_results(const struct game *game, char texts[MAX_TEXTS]);
void game_expect_results(const struct game *game, const char *texts);

#endif
