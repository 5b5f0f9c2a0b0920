/* A beam whose hypotheses must hold phrases: dynamic beam allocation (Post and Vilar 2018; Hu et al. 2019).
 *
 * Beside a row's best tokens stand those that a phrase goes on with. The places are shared among banks, of continuations with
 * equally many tokens of phrases: first the best of each bank, then the second of each; where there are more banks than places,
 * those with the better merit. From the first hypothesis that has ended, which holds all phrases, the best are chosen as in a beam.
 *
 * A phrase whose source tokens are known counts what they get of the attention when it begins, and nothing for its other tokens: it
 * comes where they are translated, and a beam that is in the midst of it does not fall behind. Of several ways to say it each
 * counts, beside that, by how much less likely it is than the likeliest: which one comes is the model's choice. */
#include "model/search/search_kind.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#define LEAST logf(FLT_MIN)

/* A continuation that may be chosen. */
struct option {
    struct candidate candidate;
    size_t bank, rank; /* its place among those of its bank */
};

struct constrained {
    struct progress progress[SEARCH_MAX_ROWS], next[SEARCH_MAX_ROWS], trial;
    size_t total;           /* tokens of all phrases */
    struct option *options; /* [count] of the step in hand */
    size_t count, first;    /* first: of the row in hand */
    size_t *sizes;          /* [total + 1] of the banks */
    double floor;           /* that a continuation must score */
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
           (search->options.phrases.bans ? 4 : 0);
}

/* ---- start ---- */

static int constrained_start(struct search *search) {
    size_t count = search->options.phrases.count, rows = constrained_max_rows(&search->options);
    struct constrained *own = arena_zalloc(search->arena, 1, sizeof *own);
    bool *met = arena_zalloc(search->arena, (2 * SEARCH_MAX_ROWS + 1) * count, sizeof *met);
    if (arena_failed(search->arena))
        return -1;
    for (size_t r = 0; r < SEARCH_MAX_ROWS; r++) {
        own->progress[r].met = met + 2 * r * count;
        own->next[r].met = met + (2 * r + 1) * count;
    }
    own->trial.met = met + 2 * SEARCH_MAX_ROWS * count;
    own->total = phrases_tokens(&search->options.phrases);
    own->options = arena_alloc(search->arena, rows * (rows + 2 * count), sizeof *own->options);
    own->sizes = arena_alloc(search->arena, own->total + 1, sizeof *own->sizes);
    search->state = own;
    return arena_failed(search->arena) ? -1 : 0;
}

static void swap(struct progress *a, struct progress *b) {
    struct progress c = *a;
    *a = *b;
    *b = c;
}

/* The prefix may hold phrases. */
static void take_prefix(struct search *search, struct constrained *own) {
    for (size_t i = 0; i < search->options.prefix_length; i++) {
        progress_take(&search->options.phrases, &own->progress[0], search->options.prefix[i], &own->next[0]);
        swap(&own->progress[0], &own->next[0]);
    }
}

/* ---- what may come ---- */

/* The attention that a phrase's source tokens get in this step, as a log-probability; fallback: they are not known. */
static float attended(const struct search *search, size_t row, const struct phrase *phrase, float fallback) {
    float sum = 0;
    if (search->source_length == 0 || phrase->count == 0)
        return fallback;
    for (size_t j = phrase->first; j < phrase->first + phrase->count; j++)
        sum += search->attention[row][j];
    float got = logf(sum);
    return got < LEAST ? LEAST : got > 0 ? 0 : got; /* what is no number stays none */
}

/* The most attention that a phrase with this stand-in gets, of those that have not come yet. */
static float most_attended(const struct search *search, size_t row, const struct progress *progress, int stand_in) {
    const struct phrases *phrases = &search->options.phrases;
    float most = LEAST;
    for (size_t q = 0; q < phrases->count; q++) {
        if (progress->met[q] || phrases->list[q].stand_ins[0] != stand_in)
            continue;
        float got = attended(search, row, &phrases->list[q], 0);
        most = got > most ? got : most;
    }
    return most;
}

/* The log-probability of the next token of a phrase. One that is in no vocabulary is as probable as its stand-in, which the phrase
 * with the most attention stands behind; without a stand-in, as its source is attended to. */
static float next_log_prob(const struct search *search, const struct distribution *rows, size_t r, const struct progress *progress,
                           const struct phrase *phrase, size_t at) {
    int token = phrase->tokens[at];
    const int *stand_ins = phrase->stand_ins;
    int known = (size_t)token < rows[r].size ? token : stand_ins[0];
    if (known == stand_ins[0] && known >= 0 && rows[r].logits[stand_ins[1]] > rows[r].logits[known])
        known = stand_ins[1];
    float log_prob = known >= 0 ? rows[r].logits[known] - rows[r].log_sum : attended(search, r, phrase, -logf((float)rows[r].size));
    if (known != token && known >= 0)
        log_prob += attended(search, r, phrase, 0) - most_attended(search, r, progress, stand_ins[0]);
    return log_prob < LEAST ? LEAST : log_prob; /* impossible as it is, it must come */
}

/* That of the likeliest way to go on with what phrase q says, q's own among them; 0 where it may be at its end. */
static float likeliest(const struct search *search, const struct distribution *rows, size_t r, const struct progress *progress,
                       size_t q) {
    const struct phrases *phrases = &search->options.phrases;
    const struct phrase *phrase = &phrases->list[q];
    float most = LEAST;
    for (size_t way = q - phrase->before; way <= q + phrase->behind; way++) {
        if (!progress_begins(phrases, progress, way))
            continue;
        if (phrases->list[way].length == progress->at)
            return 0;
        float log_prob = next_log_prob(search, rows, r, progress, &phrases->list[way], progress->at);
        most = log_prob > most ? log_prob : most;
    }
    return most;
}

/* The next token of phrase q. */
static struct candidate advancing(const struct search *search, const struct distribution *rows, size_t r,
                                  const struct progress *progress, size_t q) {
    const struct phrase *phrase = &search->options.phrases.list[q];
    float log_prob = next_log_prob(search, rows, r, progress, phrase, progress->at);
    float merit = progress->at == 0 ? attended(search, r, phrase, log_prob) : phrase->count > 0 ? 0 : log_prob;
    if (phrase->before + phrase->behind > 0)
        merit += log_prob - likeliest(search, rows, r, progress, q);
    return search_candidate(search, r, phrase->tokens[progress->at], log_prob, (double)(merit > log_prob ? merit : log_prob));
}

/* True if a path with this progress, so long, can still hold all phrases. */
static bool constrained_fits(const struct search *search, const struct constrained *own, const struct progress *progress,
                             size_t depth) {
    return depth + own->total - progress_tokens(&search->options.phrases, progress) <= search->options.max_length;
}

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
    progress_take(&search->options.phrases, &own->progress[c->row], c->token, &own->trial);
    if (!(c->merit > -INFINITY) || !(end || constrained_fits(search, own, &own->trial, search->step + 1)) ||
        !promises(search, own, c))
        return;
    size_t i = own->first;
    while (i < own->count && own->options[i].candidate.token != c->token)
        i++;
    if (i < own->count && own->options[i].candidate.merit >= c->merit)
        return;
    own->options[i] = (struct option){.candidate = *c, .bank = progress_tokens(&search->options.phrases, &own->trial)};
    own->count += i == own->count;
}

/* True if phrase q is `held`, or another way to say it; held may be phrases->count: none. */
static bool says_same(const struct phrases *phrases, size_t q, size_t held) {
    return held < phrases->count && q + phrases->list[held].before >= held && q <= held + phrases->list[held].behind;
}

/* No phrase begins within a character. */
static void add_phrases(struct search *search, struct constrained *own, const struct distribution *rows, size_t r) {
    const struct phrases *phrases = &search->options.phrases;
    struct progress fresh = {.met = own->progress[r].met};
    bool between = own->progress[r].at == 0 || progress_at_end(phrases, &own->progress[r]);
    size_t held = progress_held(phrases, &own->progress[r]);
    if (search->leaves[r] && search->leaves[r]->due.count > 0)
        return;
    for (size_t q = 0; q < phrases->count; q++) {
        if (own->progress[r].at > 0 && progress_may_advance(phrases, &own->progress[r], q)) {
            struct candidate c = advancing(search, rows, r, &own->progress[r], q);
            constrained_add(search, own, &c);
        }
        if (between && !says_same(phrases, q, held) && progress_may_advance(phrases, &fresh, q)) {
            struct candidate c = advancing(search, rows, r, &fresh, q);
            constrained_add(search, own, &c);
        }
    }
}

/* True if this token is refused behind a row for its phrases' sake: they have not all come, or the last is not a whole word. */
static bool refused(const struct search *search, const struct constrained *own, size_t r, int token) {
    const struct phrases *phrases = &search->options.phrases;
    if (token == search->ids.end)
        return !progress_complete(phrases, &own->progress[r]);
    for (size_t q = 0; phrases->bans && q < phrases->count; q++)
        if (token == phrases->list[q].stand_ins[0] || token == phrases->list[q].stand_ins[1])
            return true;
    return phrase_continues(phrases, token) && progress_at_end(phrases, &own->progress[r]);
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
        double merit = refused(search, own, r, (int)i) || search_breaks_character(search, rows[r].ids, (int)i)
                           ? -INFINITY
                           : search_merit(search, (int)i, log_prob);
        if (merit > -INFINITY)
            search_insert(best, &count, k, search_candidate(search, r, (int)i, log_prob, merit));
    }
    return count;
}

static void add_best(struct search *search, struct constrained *own, const struct distribution *rows, size_t r) {
    struct candidate best[SEARCH_MAX_ROWS + 1];
    size_t k = places(search), count = progress_at_end(&search->options.phrases, &own->progress[r])
                                           ? best_of_all(search, own, rows, r, k, best)
                                           : search_best(search, rows, r, k + 1, best);
    for (size_t i = 0, added = 0; i < count && added < k; i++) {
        if (refused(search, own, r, best[i].token))
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
    for (size_t bank = 0; bank <= own->total; bank++)
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

static void move_on(struct search *search, struct constrained *own) {
    for (size_t r = 0; r < search->rows; r++)
        progress_take(&search->options.phrases, &own->progress[search->parents[r]], search->tokens[r], &own->next[r]);
    for (size_t r = 0; r < search->rows; r++)
        swap(&own->progress[r], &own->next[r]);
}

static int constrained_advance(struct search *search, const struct distribution *rows, struct error *err) {
    struct constrained *own = search->state;
    struct candidate chosen[SEARCH_MAX_ROWS];
    if (search->step == search->options.prefix_length)
        take_prefix(search, own);
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
    move_on(search, own);
    return 0;
}

const struct search_kind search_constrained = {.name = "constrained",
                                               .looks_up = true,
                                               .max_rows = constrained_max_rows,
                                               .wanted = constrained_wanted,
                                               .start = constrained_start,
                                               .advance = constrained_advance};
