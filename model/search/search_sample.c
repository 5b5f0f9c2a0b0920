/* Tokens drawn by their probabilities: n_best independent samples, each with its own row after the prefix. Hides how tokens
 * are drawn so that the result depends only on seed and stream.
 *
 * p(token) ~ exp(merit / temperature), for the top_k best alone (Fan et al. 2018), and of those only the fewest best that have
 * top_p of what is left (Holtzman et al. 2020).
 *
 * With phrases, the tokens that continue or begin them are in the pool, too, and count as much as in search_constrained.c. A phrase
 * that has begun goes on, and a phrase replaces a </s> that is drawn before all have come. */
#include "model/base/random.h"
#include "model/search/search_kind.h"

#include <assert.h>
#include <math.h>

/* Every token of the current row: its index, and its weight in place of a logit. After the tokens of the distribution come those of
 * phrases. */
struct pool {
    struct ranked *tokens; /* [size], room for more */
    size_t size, room;
    struct phrase_paths *paths; /* NULL: there are no phrases */
    struct candidate *phrases;  /* [phrase_count] the last tokens of the pool */
    size_t phrase_count;
};

static size_t sample_max_rows(const struct search_options *options) {
    return options->n_best;
}

/* One token is enough to know whether there are numbers at all. */
static size_t sample_wanted(const struct search *search) {
    (void)search;
    return 1;
}

static int sample_start(struct search *search) {
    assert(search->options.sampling.temperature > 0 && search->options.sampling.top_p > 0);
    return (search->state = arena_zalloc(search->arena, 1, sizeof(struct pool))) ? 0 : -1;
}

static int sample_phrases_start(struct search *search) {
    if (sample_start(search) != 0)
        return -1;
    struct pool *pool = search->state;
    pool->paths = arena_zalloc(search->arena, 1, sizeof *pool->paths);
    pool->phrases = arena_alloc(search->arena, phrases_most(search), sizeof *pool->phrases);
    return pool->paths && pool->phrases ? phrase_paths_init(search, pool->paths) : -1;
}

/* ---- filling the pool ---- */

/* The index of this token's logit in a row; size: it has none. */
static size_t place_of(const struct distribution *row, int token) {
    if (!row->ids)
        return (size_t)token;
    size_t first = 0, end = row->size;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (row->ids[middle] < token)
            first = middle + 1;
        else
            end = middle;
    }
    return first < row->size && row->ids[first] == token ? first : row->size;
}

/* Replaces a token's log-probability by its merit. */
static void reconsider(const struct search *search, const struct distribution *row, struct pool *pool, int token) {
    size_t place = place_of(row, token);
    if (place < row->size)
        pool->tokens[place].logit = (float)search_merit(search, token, row->logits[place] - row->log_sum);
}

/* Fills the pool with merits, which differ from log-probabilities only for tokens on the path, for </s> and for what is banned. -1:
 * out of memory. */
static int fill(const struct search *search, const struct distribution *row, struct pool *pool) {
    size_t needed = row->size + phrases_most(search);
    if (pool->room < needed) {
        pool->tokens = arena_alloc(search->arena, needed, sizeof *pool->tokens);
        pool->room = pool->tokens ? needed : 0;
    }
    pool->size = row->size;
    if (pool->room < needed)
        return -1;
    for (size_t i = 0; i < row->size; i++)
        pool->tokens[i] = (struct ranked){.token = (int)i, .logit = row->logits[i] - row->log_sum};
    reconsider(search, row, pool, search->ids.end);
    reconsider(search, row, pool, search->ids.banned);
    for (size_t i = 0; search->path && i < search->step; i++)
        reconsider(search, row, pool, search->path[i]);
    for (size_t i = 0; search->ids.bytes && i < row->size; i++)
        if (search_breaks_character(search, row->ids, row->ids ? row->ids[i] : (int)i))
            pool->tokens[i].logit = -INFINITY;
    return 0;
}

/* Adds the tokens that continue or begin phrases, and removes those that the phrases forbid. </s> keeps its weight: if it is drawn,
 * a phrase takes its place. */
static void add_phrases(struct search *search, const struct distribution *rows, size_t r, struct pool *pool) {
    const struct phrases *phrases = &search->options.phrases;
    const struct progress *progress = &pool->paths->now[r];
    const struct search_node *leaf = search->leaves[r];
    bool at_end = progress_at_end(phrases, progress);
    size_t words = pool->size;
    pool->phrase_count = phrases_next(search, rows, r, progress, pool->phrases);
    for (size_t i = 0; i < words; i++)
        if ((int)i != search->ids.end && phrases_refuse(search, progress, at_end, (int)i))
            pool->tokens[i].logit = -INFINITY;
    for (size_t i = 0; i < pool->phrase_count; i++)
        pool->tokens[pool->size++] =
            (struct ranked){.token = (int)(words + i), .logit = (float)(pool->phrases[i].merit - (leaf ? leaf->merit : 0))};

    /* Only phrases may come while one has begun, or if only they still fit. */
    bool begun = progress->at > 0 && !at_end;
    bool only = pool->phrase_count > 0 && (begun || !phrase_paths_fit(search, pool->paths, progress, search->step + 1));
    for (size_t i = 0; only && i < words; i++)
        pool->tokens[i].logit = -INFINITY;
}

/* Turns merits into weights, the greatest of which is 1; returns their sum, 0 if no token may come. */
static double weigh(struct pool *pool, double temperature) {
    float top = -INFINITY, scale = (float)(1 / temperature);
    double sum = 0;
    for (size_t i = 0; i < pool->size; i++)
        top = fmaxf(top, pool->tokens[i].logit);
    for (size_t i = 0; top > -INFINITY && i < pool->size; i++) {
        float weight = expf((pool->tokens[i].logit - top) * scale);
        pool->tokens[i].logit = weight >= 0 ? weight : 0; /* NaN: impossible */
        sum += (double)pool->tokens[i].logit;
    }
    return sum;
}

/* ---- the best of the pool, by a heap ---- */

static bool ahead(const struct ranked *a, const struct ranked *b) {
    return a->logit > b->logit || (a->logit == b->logit && a->token < b->token);
}

static void swap(struct ranked *a, struct ranked *b) {
    struct ranked c = *a;
    *a = *b;
    *b = c;
}

static void sink(struct ranked *heap, size_t count, size_t i) {
    for (size_t child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && ahead(&heap[child + 1], &heap[child]))
            child++;
        if (!ahead(&heap[child], &heap[i]))
            return;
        swap(&heap[child], &heap[i]);
    }
}

/* Moves the best `most` tokens, or fewer that have this weight, to the end of the pool, the best last. Returns their number. */
static size_t take_best(struct pool *pool, size_t most, double weight, double *sum) {
    size_t left = pool->size;
    for (size_t i = left / 2; i-- > 0;)
        sink(pool->tokens, left, i);
    for (*sum = 0; left > 0 && pool->size - left < most && *sum < weight;) {
        swap(&pool->tokens[0], &pool->tokens[--left]);
        sink(pool->tokens, left, 0);
        *sum += (double)pool->tokens[left].logit;
    }
    return pool->size - left;
}

/* Moves the tokens that may be drawn to the end of the pool; sum: of all weights, then of these. Returns their number. */
static size_t narrow(const struct sampling *sampling, struct pool *pool, double *sum) {
    size_t most = sampling->top_k > 0 ? sampling->top_k : pool->size;
    if (most >= pool->size && sampling->top_p >= 1)
        return pool->size;
    if (most >= pool->size)
        return take_best(pool, most, sampling->top_p * *sum, sum);
    size_t count = take_best(pool, most, INFINITY, sum), kept = 0;
    double weight = sampling->top_p * *sum;
    for (*sum = 0; kept < count && *sum < weight; kept++)
        *sum += (double)pool->tokens[pool->size - 1 - kept].logit;
    return kept;
}

/* ---- drawing ---- */

/* The place of the token where the sum of weights from the end of the pool exceeds this; never one of weight 0. */
static size_t find_drawn(const struct pool *pool, size_t count, double weight) {
    size_t found = 0;
    for (size_t i = 0; i < count && weight >= 0; i++) {
        const struct ranked *token = &pool->tokens[pool->size - 1 - i];
        if (token->logit > 0)
            found = (size_t)token->token;
        weight -= (double)token->logit;
    }
    return found;
}

/* The continuation at this place of the pool. If it is </s> and phrases have to come first, it is the one of them with the best
 * merit. */
static struct candidate candidate_at(const struct search *search, const struct distribution *rows, size_t r,
                                     const struct pool *pool, size_t place) {
    size_t words = pool->size - pool->phrase_count;
    int token = place >= words ? -1 : rows[r].ids ? rows[r].ids[place] : (int)place;
    if (token == search->ids.end && pool->phrase_count > 0 && phrases_refuse(search, &pool->paths->now[r], false, token)) {
        place = words;
        for (size_t i = 1; i < pool->phrase_count; i++)
            place = pool->phrases[i].merit > pool->phrases[place - words].merit ? words + i : place;
    }
    if (place >= words)
        return pool->phrases[place - words];
    float log_prob = rows[r].logits[place] - rows[r].log_sum;
    return search_candidate(search, r, token, log_prob, search_merit(search, token, log_prob));
}

/* 1: a token for this sample, 0: none may come, -1: out of memory. */
static int draw(struct search *search, const struct distribution *rows, size_t r, size_t lane, struct candidate *out) {
    const struct sampling *sampling = &search->options.sampling;
    struct pool *pool = search->state;
    search_take_path(search, r);
    if (fill(search, &rows[r], pool) != 0)
        return -1;
    if (pool->paths)
        add_phrases(search, rows, r, pool);
    double sum = weigh(pool, sampling->temperature);
    if (!(sum > 0))
        return 0;
    size_t count = narrow(sampling, pool, &sum);
    struct random_counter counter = {
        {(uint32_t)search->step, (uint32_t)lane, (uint32_t)sampling->stream, (uint32_t)(sampling->stream >> 32)}};
    double weight = random_uniform(counter, sampling->seed) * sum;
    *out = candidate_at(search, rows, r, pool, find_drawn(pool, count, weight));
    out->lane = lane;
    return 1;
}

/* All samples begin at the end of the prefix. */
static int sample_advance(struct search *search, const struct distribution *rows, struct error *err) {
    struct candidate chosen[SEARCH_MAX_ROWS];
    bool first = search->step == search->options.prefix_length;
    size_t samples = first ? search->options.n_best : search->rows, count = 0;
    struct pool *pool = search->state;
    if (first && pool->paths)
        phrase_paths_take_prefix(search, pool->paths);
    for (size_t i = 0; i < samples; i++) {
        size_t row = first ? 0 : i;
        int drawn = draw(search, rows, row, first ? i : search->leaves[row]->lane, &chosen[count]);
        if (drawn < 0)
            return search_fail(search, err);
        count += (size_t)drawn;
    }
    if (search_extend(search, rows, chosen, count, err) != 0)
        return -1;
    if (pool->paths)
        phrase_paths_move(search, pool->paths);
    return 0;
}

const struct search_kind search_sample = {
    .name = "sample", .max_rows = sample_max_rows, .wanted = sample_wanted, .start = sample_start, .advance = sample_advance};
const struct search_kind search_sample_phrases = {.name = "sample",
                                                  .looks_up = true,
                                                  .max_rows = sample_max_rows,
                                                  .wanted = sample_wanted,
                                                  .start = sample_phrases_start,
                                                  .advance = sample_advance};
