/* This file has the beam whose results must contain phrases. It hides how its places are shared
 * among the hypotheses that have more of the phrases and those that have fewer. */
#include "model/search/phrases.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a beam: dynamic beam allocation (Post and Vilar 2018; Hu et al. 2019) ----
 * Besides a row's best tokens, the tokens that continue or begin a phrase are considered. The
 * places are shared among banks; a bank has the continuations with equally many tokens of phrases.
 * First the best of each bank gets a place, then the second of each; if there are more banks than
 * places, those with the better merit get one. Once a hypothesis has ended, and so contains all
 * phrases, the best are chosen as in a beam.
 *
 * A phrase that comes last may come too early, and those hypotheses end first. So the banks stay
 * until the score of every continuation is below that of the best n_best that have ended. */

/* A continuation that may be chosen. */
struct option {
    struct candidate candidate;
    size_t bank, rank; /* rank: its place in its bank */
};

struct constrained {
    struct phrases_paths paths;
    struct candidate
        *phrases;           /* [phrases_most] the tokens that continue or begin phrases in a row */
    struct option *options; /* [count] of the current step */
    size_t count, first;    /* first: of the current row */
    size_t *sizes;          /* [total + 1] of the banks */
    double floor;           /* the least score of a continuation */
    bool lasts;             /* a phrase comes last */
};

static size_t constrained_max_rows(const struct search_options *options) {
    size_t rows = options->beam_size + phrases_tokens(&options->phrases);
    size_t most = options->max_rows > options->beam_size ? options->max_rows : options->beam_size;
    rows = rows < most ? rows : most;
    return rows < SEARCH_MAX_ROWS ? rows : SEARCH_MAX_ROWS;
}

/* Returns the places for continuations: once some have ended, the places of the beam that are left.
 */
static size_t places(const struct search *search) {
    const struct constrained *own = search->state;
    size_t beam = search->options.beam_size;
    if (search->ended_count == 0 || own->lasts)
        return constrained_max_rows(&search->options);
    return search->ended_count < beam ? beam - search->ended_count : 0;
}

/* Asks for more tokens than places, since some may be refused or continue phrases. The tree also
 * shows tokens without a place. */
static size_t constrained_wanted(const struct search *search) {
    size_t most = places(search), beam = search->options.beam_size;
    return (search->options.report.tree && most < beam ? beam : most) +
           search->options.phrases.count + 1 + search->options.phrases.banned_count;
}

static int constrained_start(struct search *search) {
    size_t count = search->options.phrases.count, rows = constrained_max_rows(&search->options);
    struct constrained *own = arena_zalloc(search->arena, 1, sizeof *own);
    if (!own || phrases_paths_init(search, &own->paths) != 0)
        return -1;
    own->phrases = arena_alloc(search->arena, phrases_most(search), sizeof *own->phrases);
    own->options = arena_alloc(search->arena, rows * (rows + 2 * count), sizeof *own->options);
    own->sizes = arena_alloc(search->arena, own->paths.total + 1, sizeof *own->sizes);
    for (size_t q = 0; q < count; q++)
        own->lasts = own->lasts || search->options.phrases.list[q].last;
    search->state = own;
    return arena_failed(search->arena) ? -1 : 0;
}

/* Returns how much the open phrase has been credited with beyond its probability. A path that
 * breaks it off gives that back. */
static double credit(const struct search *search, size_t row,
                     const struct phrases_progress *progress) {
    const struct search_node *leaf = search->leaves[row], *before = leaf;
    for (size_t i = 0; before && i < progress->at; i++)
        before = before->parent;
    double sum =
        leaf ? leaf->merit - leaf->total - (before ? before->merit - before->total : 0) : 0;
    return sum > 0 ? sum : 0;
}

/* Adds a continuation of the current row if it may be chosen. Of two with the same token, the
 * better one stays. */
static void add(struct search *search, struct constrained *own, const struct candidate *c) {
    const struct phrases *phrases = &search->options.phrases;
    struct phrases_progress *trial = own->paths.next;
    if (!(c->merit > -INFINITY))
        return;
    phrases_take(phrases, &own->paths.now[c->row], c->token, trial);
    if (c->token != search->setting.ids.end &&
        !phrases_paths_fit(search, &own->paths, trial, search->step + 1))
        return;
    if (!(c->merit / search_divisor(search, search->step + 1) >= own->floor))
        return;
    size_t i = own->first;
    while (i < own->count && own->options[i].candidate.token != c->token)
        i++;
    if (i < own->count && own->options[i].candidate.merit >= c->merit)
        return;
    own->options[i] = (struct option){.candidate = *c, .bank = phrases_met_tokens(phrases, trial)};
    own->count += i == own->count;
}

/* Adds the continuations of a row: tokens of phrases, and its best tokens. */
static void add_row(struct search *search, struct constrained *own, const struct distribution *rows,
                    size_t r) {
    struct candidate best[SEARCH_MAX_ROWS + 1];
    const struct phrases_progress *progress = &own->paths.now[r];
    own->first = own->count;
    size_t count = phrases_next(search, rows, r, progress, own->phrases);
    for (size_t i = 0; i < count; i++)
        add(search, own, &own->phrases[i]);

    bool at_end = phrases_at_end(&search->options.phrases, progress);
    size_t k = places(search);
    assert(k > 0); /* otherwise there are no live rows */
    if (at_end) {  /* any number of the better tokens may continue a word, so all tokens are
                      considered */
        count = 0;
        search_take_path(search, r);
        for (size_t i = 0; i < rows[r].size; i++) {
            int token = rows[r].ids ? rows[r].ids[i] : (int)i;
            float log_prob = rows[r].logits[i] - rows[r].log_sum;
            if (count == k &&
                !((double)log_prob + (search->leaves[r] ? search->leaves[r]->merit : 0) >
                  best[k - 1].merit))
                continue;
            if (phrases_refuse(search, progress, true, token) ||
                search_breaks_character(search, rows[r].ids, token))
                continue;
            double merit = search_merit(search, token, log_prob);
            if (merit > -INFINITY)
                search_insert(best, &count, k, search_candidate(search, r, token, log_prob, merit));
        }
    } else {
        count = search_best(search, rows, r, k + 1, best);
    }
    double taken = progress->at > 0 && !at_end ? credit(search, r, progress) : 0;
    for (size_t i = 0, added = 0; i < count && added < k; i++) {
        if (phrases_refuse(search, progress, at_end, best[i].token))
            continue;
        best[i].merit -= taken;
        add(search, own, &best[i]);
        added++;
    }
}

static int by_merit(const void *a, const void *b) {
    const struct candidate *left = &((const struct option *)a)->candidate,
                           *right = &((const struct option *)b)->candidate;
    if (left->merit != right->merit)
        return left->merit > right->merit ? -1 : 1;
    if (left->row != right->row)
        return left->row < right->row ? -1 : 1;
    return (left->token > right->token) - (left->token < right->token);
}

/* Drops all but the n_best of the hypotheses that have ended and of the continuations that end now,
 * so that there is always room for more. Returns the count of continuations that stay. */
static size_t keep_best_ends(struct search *search, struct candidate *chosen, size_t count) {
    size_t n_best = search->options.n_best, most = constrained_max_rows(&search->options);
    for (;;) {
        size_t total = search->ended_count, worst = SIZE_MAX;
        double least = INFINITY;
        bool has_ended = false; /* the worst is one that has ended before */
        for (size_t i = 0; i < search->ended_count; i++) {
            double score = search_score(search, search->ended[i]);
            if (score < least) {
                least = score;
                worst = i;
                has_ended = true;
            }
        }
        for (size_t i = 0; i < count; i++) {
            if (chosen[i].token != search->setting.ids.end)
                continue;
            double score = chosen[i].merit / search_divisor(search, search->step + 1);
            total++;
            if (score < least) {
                least = score;
                worst = i;
                has_ended = false;
            }
        }
        if (total <= n_best)
            break;
        if (has_ended) {
            search_drop(search, search->ended[worst]);
            search->ended[worst] = search->ended[--search->ended_count];
        } else {
            memmove(chosen + worst, chosen + worst + 1, (--count - worst) * sizeof *chosen);
        }
    }
    /* at the length limit all of them end */
    bool limit = search->step + 1 >= search->options.max_length;
    size_t room = most - search->ended_count;
    return limit && count > room ? room : count;
}

static int constrained_advance(struct search *search, const struct distribution *rows,
                               struct error *err) {
    struct constrained *own = search->state;
    struct candidate chosen[SEARCH_MAX_ROWS], others[SEARCH_MAX_ROWS];
    if (search->step == search->options.prefix_length)
        phrases_paths_take_prefix(search, &own->paths);
    own->count = 0;
    /* Once n_best have ended, a continuation that scores less than the best of them is dropped: if
     * it lacks phrases, it could not end and would stay for long. */
    own->floor = -INFINITY;
    for (size_t i = 0; search->ended_count >= search->options.n_best && i < search->ended_count;
         i++)
        own->floor = fmax(own->floor, search_score(search, search->ended[i]));
    for (size_t r = 0; r < search->rows; r++)
        add_row(search, own, rows, r);

    /* The places are shared among the banks; once some have ended there are no banks, and all
     * options have the same rank. */
    size_t k = places(search), count = 0;
    bool sharing = search->ended_count == 0 || own->lasts;
    qsort(own->options, own->count, sizeof *own->options, by_merit);
    for (size_t bank = 0; bank <= own->paths.total; bank++)
        own->sizes[bank] = 0;
    for (size_t i = 0; i < own->count; i++)
        own->options[i].rank = sharing ? own->sizes[own->options[i].bank]++ : 0;
    for (size_t rank = 0; count < k && rank < own->count; rank++)
        for (size_t i = 0; count < k && i < own->count; i++)
            if (own->options[i].rank == rank)
                chosen[count++] = own->options[i].candidate;

    /* If some continuations end, only the best of the others stay, as many as the beam has places
     * left. */
    size_t ends = 0, other_count = 0, taken = search->ended_count;
    if (own->lasts)
        count = keep_best_ends(search, chosen, count);
    for (size_t i = 0; i < count; i++)
        taken += chosen[i].token == search->setting.ids.end;
    size_t left = taken == 0 || own->lasts            ? count
                  : search->options.beam_size > taken ? search->options.beam_size - taken
                                                      : 0;
    for (size_t i = 0; i < count; i++) {
        if (chosen[i].token == search->setting.ids.end)
            chosen[ends++] = chosen[i];
        else if (left > 0)
            search_insert(others, &other_count, left, chosen[i]);
    }
    count = ends + other_count;
    for (size_t i = ends; i < count; i++)
        chosen[i] = others[i - ends];

    if (search_prune_others(search, rows, chosen, count) != 0 ||
        search_extend(search, rows, chosen, count, err) != 0)
        return search_fail(search, err);
    phrases_paths_move(search, &own->paths, search->rows, search->parents, search->tokens);
    return 0;
}

const struct search_kind search_constrained = {.name = "constrained",
                                               .max_rows = constrained_max_rows,
                                               .wanted = constrained_wanted,
                                               .start = constrained_start,
                                               .advance = constrained_advance};
