/* This file has the search that draws its tokens. It hides how they are drawn so that the result
 * depends only on seed and stream. */
#include "model/base/random.h"
#include "model/search/phrases.h"

#include <assert.h>
#include <math.h>

/* ---- samples: n_best of them, each with its own row after the prefix ----
 * p(token) ~ exp(merit / temperature), limited to the top_k best (Fan et al. 2018), and of those to
 * the fewest best that have top_p of the remaining weight (Holtzman et al. 2020). With phrases, the
 * tokens that continue or begin them are in the pool, too, and count as much as in the beam. A
 * phrase that has begun is completed, and if </s> is drawn before all phrases have come, a phrase
 * replaces it. */

/* Every token of the current row: its index, and its weight in place of a logit. The tokens of
 * phrases follow those of the distribution. */
struct pool {
    struct ranked *tokens; /* [size], room for more */
    size_t size, room;
    struct phrases_paths *paths; /* NULL: there are no phrases */
    struct candidate *phrases;   /* [phrase_count] the last tokens of the pool */
    size_t phrase_count;
};

static size_t sample_max_rows(const struct search_options *options) {
    return options->n_best;
}

static int sample_start(struct search *search) {
    assert(search->options.sampling.temperature > 0 && search->options.sampling.top_p > 0);
    struct pool *pool = search->state = arena_zalloc(search->arena, 1, sizeof *pool);
    if (!pool || search->options.phrases.count == 0)
        return pool ? 0 : -1;
    pool->paths = arena_zalloc(search->arena, 1, sizeof *pool->paths);
    pool->phrases = arena_alloc(search->arena, phrases_most(search), sizeof *pool->phrases);
    return pool->paths && pool->phrases ? phrases_paths_init(search, pool->paths) : -1;
}

/* Replaces a token's log-probability with its merit, if the row has the token. */
static void reconsider(const struct search *search, const struct distribution *row,
                       struct pool *pool, int token) {
    size_t place = search_place(row, token);
    if (place < row->size)
        pool->tokens[place].logit =
            (float)search_merit(search, token, row->logits[place] - row->log_sum);
}

/* Fills the pool with merits, which differ from log-probabilities only for tokens on the path, </s>
 * and banned tokens, and with the tokens of phrases. Returns -1 if memory is out. */
static int fill(struct search *search, const struct distribution *rows, size_t r,
                struct pool *pool) {
    const struct distribution *row = &rows[r];
    size_t words = row->size, needed = words + phrases_most(search);
    search_take_path(search, r);
    if (pool->room < needed) {
        pool->tokens = arena_alloc(search->arena, needed, sizeof *pool->tokens);
        pool->room = pool->tokens ? needed : 0;
    }
    pool->size = words;
    if (pool->room < needed)
        return -1;
    for (size_t i = 0; i < words; i++)
        pool->tokens[i] = (struct ranked){.token = (int)i, .logit = row->logits[i] - row->log_sum};
    reconsider(search, row, pool, search->setting.ids.end);
    reconsider(search, row, pool, search->setting.ids.banned);
    for (size_t i = 0; search->path && i < search->step; i++)
        reconsider(search, row, pool, search->path[i]);
    for (size_t i = 0; search->setting.ids.bytes && i < words; i++)
        if (search_breaks_character(search, row->ids, row->ids ? row->ids[i] : (int)i))
            pool->tokens[i].logit = -INFINITY;
    if (!pool->paths)
        return 0;

    /* Tokens that the phrases forbid are excluded. </s> keeps its weight: if it is drawn, a phrase
     * takes its place. */
    const struct phrases_progress *progress = &pool->paths->now[r];
    const struct search_node *leaf = search->leaves[r];
    bool at_end = phrases_at_end(&search->options.phrases, progress);
    pool->phrase_count = phrases_next(search, rows, r, progress, pool->phrases);
    for (size_t i = 0; i < words; i++) {
        int token = row->ids ? row->ids[i] : (int)i;
        if (token != search->setting.ids.end && phrases_refuse(search, progress, at_end, token))
            pool->tokens[i].logit = -INFINITY;
    }
    for (size_t i = 0; i < pool->phrase_count; i++)
        pool->tokens[pool->size++] =
            (struct ranked){.token = (int)(words + i),
                            .logit = (float)(pool->phrases[i].merit - (leaf ? leaf->merit : 0))};

    /* Only phrases are allowed while one has begun, or if only they still fit. */
    bool begun = progress->at > 0 && !at_end;
    bool only = pool->phrase_count > 0 &&
                (begun || !phrases_paths_fit(search, pool->paths, progress, search->step + 1));
    for (size_t i = 0; only && i < words; i++)
        pool->tokens[i].logit = -INFINITY;
    return 0;
}

/* Orders the tokens of the heap that finds the best of the pool. */
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

/* Moves the best `most` tokens, or fewer that have this weight, to the end of the pool, the best
 * last. Returns their number. */
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

/* Draws a token for a sample. Returns 1, 0 if no token is possible, or -1 if memory is out. */
static int draw(struct search *search, const struct distribution *rows, size_t r, size_t lane,
                struct candidate *out) {
    const struct sampling *sampling = &search->options.sampling;
    struct pool *pool = search->state;
    if (fill(search, rows, r, pool) != 0)
        return -1;

    /* Merits become weights, the greatest of which is 1. */
    float top = -INFINITY, scale = (float)(1 / sampling->temperature);
    double sum = 0;
    for (size_t i = 0; i < pool->size; i++)
        top = fmaxf(top, pool->tokens[i].logit);
    for (size_t i = 0; top > -INFINITY && i < pool->size; i++) {
        float weight = expf((pool->tokens[i].logit - top) * scale);
        pool->tokens[i].logit = weight >= 0 ? weight : 0; /* NaN: impossible */
        sum += (double)pool->tokens[i].logit;
    }
    if (!(sum > 0))
        return 0;

    /* The tokens that may be drawn are moved to the end of the pool. */
    size_t most = sampling->top_k > 0 ? sampling->top_k : pool->size, count = pool->size;
    bool limited = most < pool->size;
    if (limited || sampling->top_p < 1)
        count = take_best(pool, most, limited ? INFINITY : sampling->top_p * sum, &sum);
    if (limited) {
        double weight = sampling->top_p * sum;
        size_t kept = 0;
        for (sum = 0; kept < count && sum < weight; kept++)
            sum += (double)pool->tokens[pool->size - 1 - kept].logit;
        count = kept;
    }

    /* Draws the token at which the sum of weights from the end of the pool exceeds a random number,
     * but never one of weight 0. */
    size_t place = 0;
    struct random_counter counter = {{(uint32_t)search->step, (uint32_t)lane,
                                      (uint32_t)sampling->stream,
                                      (uint32_t)(sampling->stream >> 32)}};
    double left = random_uniform(counter, sampling->seed) * sum;
    for (size_t i = 0; i < count && left >= 0; i++) {
        const struct ranked *token = &pool->tokens[pool->size - 1 - i];
        if (token->logit > 0)
            place = (size_t)token->token;
        left -= (double)token->logit;
    }

    /* If phrases must come before </s>, the one with the best merit replaces it. */
    size_t words = pool->size - pool->phrase_count;
    int token = place >= words ? -1 : rows[r].ids ? rows[r].ids[place] : (int)place;
    if (token == search->setting.ids.end && pool->phrase_count > 0 &&
        phrases_refuse(search, &pool->paths->now[r], false, token)) {
        place = words;
        for (size_t i = 1; i < pool->phrase_count; i++)
            place = pool->phrases[i].merit > pool->phrases[place - words].merit ? words + i : place;
    }
    if (place >= words) {
        *out = pool->phrases[place - words];
    } else {
        float log_prob = rows[r].logits[place] - rows[r].log_sum;
        *out = search_candidate(search, r, token, log_prob, search_merit(search, token, log_prob));
    }
    out->lane = lane;
    return 1;
}

/* All samples begin at the end of the prefix. */
static int sample_advance(struct search *search, const struct distribution *rows,
                          struct error *err) {
    struct candidate chosen[SEARCH_MAX_ROWS];
    bool first = search->step == search->options.prefix_length;
    size_t samples = first ? search->options.n_best : search->rows, count = 0;
    struct pool *pool = search->state;
    if (first && pool->paths)
        phrases_paths_take_prefix(search, pool->paths);
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
        phrases_paths_move(search, pool->paths, search->rows, search->parents, search->tokens);
    return 0;
}

/* Samples ask for one best token, which shows whether the scores are numbers at all. */
const struct search_kind search_sample = {.name = "sample",
                                          .draws = true,
                                          .max_rows = sample_max_rows,
                                          .start = sample_start,
                                          .advance = sample_advance};
const struct search_kind search_sample_phrases = {.name = "sample",
                                                  .draws = true,
                                                  .max_rows = sample_max_rows,
                                                  .start = sample_start,
                                                  .advance = sample_advance};
