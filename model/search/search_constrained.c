/* A beam whose hypotheses must hold phrases: dynamic beam allocation (Post and Vilar 2018; Hu et al. 2019).
 *
 * Beside a row's best tokens stand those that a phrase goes on with. The places are shared among banks, of continuations with
 * equally many tokens of phrases: first the best of each bank, then the second of each; where there are more banks than places,
 * those with the better merit. From the first hypothesis that has ended, which holds all phrases, the best are chosen as in a beam.
 *
 * A phrase whose source tokens are known counts what they get of the attention when it begins, and nothing for its other tokens: it
 * comes where they are translated, and a beam that is in the midst of it does not fall behind. Of several ways to say it each
 * counts, beside that, by how much less likely it is than the likeliest: which one comes is the model's choice. */
#include "model/search/search_phrases.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* A continuation that may be chosen. */
struct option {
    struct candidate candidate;
    size_t bank, rank; /* its place among those of its bank */
};

struct constrained {
    struct phrase_paths paths;
    struct candidate *phrases; /* [phrases_most] the tokens that continue or begin phrases in a row */
    struct option *options;    /* [count] of the step in hand */
    size_t count, first;       /* first: of the row in hand */
    size_t *sizes;             /* [total + 1] of the banks */
    double floor;              /* that a continuation must score */
};

static size_t constrained_max_rows(const struct search_options *options) {
    size_t rows = options->beam_size + phrases_tokens(&options->phrases);
    size_t most = options->max_rows > options->beam_size ? options->max_rows : options->beam_size;
    rows = rows < most ? rows : most;
    return rows < SEARCH_MAX_ROWS ? rows : SEARCH_MAX_ROWS;
}

/* Places for continuations: once some have ended, those of the beam that they leave. */
static size_t places(const struct search *search) {
    size_t beam = search->options.beam_size;
    if (search->ended_count == 0)
        return constrained_max_rows(&search->options);
    return search->ended_count < beam ? beam - search->ended_count : 0;
}

/* </s> may be among them too early, and so may tokens that phrases go on with. The tree shows what has no place, too. */
static size_t constrained_wanted(const struct search *search) {
    size_t most = places(search), beam = search->options.beam_size;
    return (search->options.tree && most < beam ? beam : most) + search->options.phrases.count + 1 +
           search->options.phrases.banned_count;
}

/* ---- start ---- */

static int constrained_start(struct search *search) {
    size_t count = search->options.phrases.count, rows = constrained_max_rows(&search->options);
    struct constrained *own = arena_zalloc(search->arena, 1, sizeof *own);
    if (!own || phrase_paths_init(search, &own->paths) != 0)
        return -1;
    own->phrases = arena_alloc(search->arena, phrases_most(search), sizeof *own->phrases);
    own->options = arena_alloc(search->arena, rows * (rows + 2 * count), sizeof *own->options);
    own->sizes = arena_alloc(search->arena, own->paths.total + 1, sizeof *own->sizes);
    search->state = own;
    return arena_failed(search->arena) ? -1 : 0;
}

/* ---- what may come ---- */

/* Once n_best have ended, what scores no better than the best of them is given up: without all phrases it could not end, and would
 * linger. */
static double find_floor(const struct search *search) {
    double best = -INFINITY;
    for (size_t i = 0; search->ended_count >= search->options.n_best && i < search->ended_count; i++)
        best = fmax(best, search_score(search, search->ended[i]));
    return best;
}

static bool promises(const struct search *search, const struct constrained *own, const struct candidate *c) {
    return c->merit / pow((double)(search->step + 1), search->options.length_penalty) >= own->floor;
}

/* Adds a continuation of the row in hand, or finds it there and keeps the better. */
static void constrained_add(struct search *search, struct constrained *own, const struct candidate *c) {
    bool end = c->token == search->ids.end;
    progress_take(&search->options.phrases, &own->paths.now[c->row], c->token, &own->paths.trial);
    if (!(c->merit > -INFINITY) || !(end || phrase_paths_fit(search, &own->paths, &own->paths.trial, search->step + 1)) ||
        !promises(search, own, c))
        return;
    size_t i = own->first;
    while (i < own->count && own->options[i].candidate.token != c->token)
        i++;
    if (i < own->count && own->options[i].candidate.merit >= c->merit)
        return;
    own->options[i] = (struct option){.candidate = *c, .bank = progress_tokens(&search->options.phrases, &own->paths.trial)};
    own->count += i == own->count;
}

static void add_phrases(struct search *search, struct constrained *own, const struct distribution *rows, size_t r) {
    size_t count = phrases_next(search, rows, r, &own->paths.now[r], own->phrases);
    for (size_t i = 0; i < count; i++)
        constrained_add(search, own, &own->phrases[i]);
}

/* The best k tokens of a row that ends a phrase, out of all: any number of the better ones may continue a word. */
static size_t best_of_all(struct search *search, const struct constrained *own, const struct distribution *rows, size_t r, size_t k,
                          struct candidate *best) {
    size_t count = 0;
    search_take_path(search, r);
    for (size_t i = 0; i < rows[r].size; i++) {
        float log_prob = rows[r].logits[i] - rows[r].log_sum;
        if (count == k && !((double)log_prob + (search->leaves[r] ? search->leaves[r]->merit : 0) > best[k - 1].merit))
            continue;
        double merit =
            phrases_refuse(search, &own->paths.now[r], true, (int)i) || search_breaks_character(search, rows[r].ids, (int)i)
                ? -INFINITY
                : search_merit(search, (int)i, log_prob);
        if (merit > -INFINITY)
            search_insert(best, &count, k, search_candidate(search, r, (int)i, log_prob, merit));
    }
    return count;
}

static void add_best(struct search *search, struct constrained *own, const struct distribution *rows, size_t r) {
    struct candidate best[SEARCH_MAX_ROWS + 1];
    bool at_end = progress_at_end(&search->options.phrases, &own->paths.now[r]);
    size_t k = places(search),
           count = at_end ? best_of_all(search, own, rows, r, k, best) : search_best(search, rows, r, k + 1, best);
    for (size_t i = 0, added = 0; i < count && added < k; i++) {
        if (phrases_refuse(search, &own->paths.now[r], at_end, best[i].token))
            continue;
        constrained_add(search, own, &best[i]);
        added++;
    }
}

/* ---- choosing ---- */

static int by_merit(const void *a, const void *b) {
    const struct candidate *left = &((const struct option *)a)->candidate, *right = &((const struct option *)b)->candidate;
    if (left->merit != right->merit)
        return left->merit > right->merit ? -1 : 1;
    if (left->row != right->row)
        return left->row < right->row ? -1 : 1;
    return (left->token > right->token) - (left->token < right->token);
}

/* Best first, each with its rank in its bank; without banks all are of the first rank. */
static void rank_options(struct constrained *own, bool banks) {
    qsort(own->options, own->count, sizeof *own->options, by_merit);
    for (size_t bank = 0; bank <= own->paths.total; bank++)
        own->sizes[bank] = 0;
    for (size_t i = 0; i < own->count; i++)
        own->options[i].rank = banks ? own->sizes[own->options[i].bank]++ : 0;
}

static size_t constrained_choose(const struct constrained *own, size_t k, struct candidate *chosen) {
    size_t count = 0;
    for (size_t rank = 0; count < k && rank < own->count; rank++)
        for (size_t i = 0; count < k && i < own->count; i++)
            if (own->options[i].rank == rank)
                chosen[count++] = own->options[i].candidate;
    return count;
}

/* Where some end, the others are no more than the places in the beam that are left, the best. Returns how many go on or end. */
static size_t leave_places(const struct search *search, struct candidate *chosen, size_t count) {
    struct candidate others[SEARCH_MAX_ROWS];
    size_t ends = 0, other_count = 0, taken = search->ended_count;
    for (size_t i = 0; i < count; i++)
        taken += chosen[i].token == search->ids.end;
    size_t left = taken == 0 ? count : search->options.beam_size > taken ? search->options.beam_size - taken : 0;
    for (size_t i = 0; i < count; i++) {
        if (chosen[i].token == search->ids.end)
            chosen[ends++] = chosen[i];
        else if (left > 0)
            search_insert(others, &other_count, left, chosen[i]);
    }
    for (size_t i = 0; i < other_count; i++)
        chosen[ends + i] = others[i];
    return ends + other_count;
}

static int constrained_advance(struct search *search, const struct distribution *rows, struct error *err) {
    struct constrained *own = search->state;
    struct candidate chosen[SEARCH_MAX_ROWS];
    if (search->step == search->options.prefix_length)
        phrase_paths_take_prefix(search, &own->paths);
    own->count = 0;
    own->floor = find_floor(search);
    for (size_t r = 0; r < search->rows; r++) {
        own->first = own->count;
        add_phrases(search, own, rows, r);
        add_best(search, own, rows, r);
    }
    rank_options(own, search->ended_count == 0);
    size_t count = leave_places(search, chosen, constrained_choose(own, places(search), chosen));
    if (search_prune_others(search, rows, chosen, count) != 0 || search_extend(search, rows, chosen, count, err) != 0)
        return search_fail(search, err);
    phrase_paths_move(search, &own->paths);
    return 0;
}

const struct search_kind search_constrained = {.name = "constrained",
                                               .looks_up = true,
                                               .max_rows = constrained_max_rows,
                                               .wanted = constrained_wanted,
                                               .start = constrained_start,
                                               .advance = constrained_advance};
