#include "model/search.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One decided token. Paths share their beginnings. */
struct search_node {
    const struct search_node *parent; /* NULL: the first token */
    int token;
    float log_prob, entropy;
    double total;           /* log-probability of the path up to here */
    const float *attention; /* the row of the step that decided it */
    size_t depth;           /* tokens on the path, this one counted */
};

/* A continuation of a live row. */
struct candidate {
    size_t row;
    int token;
    float log_prob;
    double total;
};

struct search_kind {
    const char *name;
    size_t (*max_rows)(const struct search_options *options);
    /* How many of a row's best tokens choose may have to look at, were all of them allowed. */
    size_t (*wanted)(const struct search *search);
    /* Writes the wanted continuations, best first, at most SEARCH_MAX_ROWS; returns how many. */
    size_t (*choose)(const struct search *search, const struct distribution *rows, struct candidate *chosen);
};

static double total_of(const struct search *search, size_t row) {
    return search->leaves[row] ? search->leaves[row]->total : 0.0;
}

static struct candidate candidate_of(const struct search *search, const struct distribution *rows, size_t row,
                                     struct ranked token) {
    float log_prob = token.logit - rows[row].log_sum;
    return (struct candidate){
        .row = row, .token = token.token, .log_prob = log_prob, .total = total_of(search, row) + (double)log_prob};
}

/* </s> may not come before min_length tokens are there. */
static bool allowed(const struct search *search, int token) {
    return token != search->ids.banned && (token != search->ids.end || search->step >= search->options.min_length);
}

/* ---- the strategies ---- */

static size_t one_row(const struct search_options *options) {
    (void)options;
    return 1;
}

static size_t want_one(const struct search *search) {
    (void)search;
    return 1;
}

static size_t choose_greedy(const struct search *search, const struct distribution *rows, struct candidate *chosen) {
    size_t i = 0;
    while (i < rows[0].top_count && !allowed(search, rows[0].top[i].token))
        i++;
    if (i == rows[0].top_count)
        return 0;
    chosen[0] = candidate_of(search, rows, 0, rows[0].top[i]);
    return 1;
}

static size_t want_none(const struct search *search) {
    (void)search;
    return 0;
}

static size_t choose_forced(const struct search *search, const struct distribution *rows, struct candidate *chosen) {
    size_t i = search->step;
    int token = i < search->options.target_length ? search->options.target[i] : search->ids.end;
    assert(!rows[0].ids);
    chosen[0] = candidate_of(search, rows, 0, (struct ranked){.token = token, .logit = rows[0].logits[token]});
    return 1;
}

static size_t beam_rows(const struct search_options *options) {
    return options->beam_size;
}

/* Keeps chosen [*count <= k] sorted, best first; of equals the earlier stays ahead. */
static void insert(struct candidate *chosen, size_t *count, size_t k, struct candidate c) {
    size_t place = *count < k ? (*count)++ : k - 1;
    for (; place > 0 && chosen[place - 1].total < c.total; place--)
        chosen[place] = chosen[place - 1];
    chosen[place] = c;
}

/* Places in the beam that no finished hypothesis holds. */
static size_t places(const struct search *search) {
    return search->options.beam_size - search->ended_count;
}

/* Marian's rule: the best k continuations of all rows on unnormalised sums, k = beam size - finished. */
static size_t choose_beam(const struct search *search, const struct distribution *rows, struct candidate *chosen) {
    size_t k = places(search), count = 0;
    for (size_t r = 0; r < search->rows; r++)
        for (size_t i = 0; i < rows[r].top_count; i++) {
            struct candidate c = candidate_of(search, rows, r, rows[r].top[i]);
            if (!allowed(search, c.token))
                continue;
            if (count == k && !(c.total > chosen[k - 1].total))
                break; /* nor will the row's later ones */
            insert(chosen, &count, k, c);
        }
    return count;
}

static const struct search_kind kinds[] = {
    {"greedy", one_row, want_one, choose_greedy},
    {"beam", beam_rows, places, choose_beam},
    {"forced", one_row, want_none, choose_forced},
};

static const struct search_kind *find(const char *strategy) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, strategy) == 0)
            return &kinds[i];
    return NULL;
}

bool search_known(const char *strategy) {
    return find(strategy) != NULL;
}

size_t search_max_rows(const struct search_options *options) {
    const struct search_kind *kind = find(options->strategy);
    return kind ? kind->max_rows(options) : 1;
}

/* ---- what all share ---- */

static int new_attention_rows(struct search *search) {
    for (size_t r = 0; r < search->rows; r++)
        if (!(search->attention[r] = arena_alloc(search->arena, search->source_length + search->options.keep, sizeof(float))))
            return -1;
    return 0;
}

int search_init(struct search *search, const struct search_options *options, struct search_ids ids, size_t source_length,
                struct arena *arena, struct error *err) {
    const struct search_kind *kind = find(options->strategy);
    if (!kind)
        return error_set(err, ERROR_INPUT, "strategy %s is not known", options->strategy);
    size_t most = kind->max_rows(options);
    assert(most >= 1 && most <= SEARCH_MAX_ROWS && options->max_length >= 1);
    *search = (struct search){.kind = kind,
                              .options = *options,
                              .ids = ids,
                              .source_length = source_length,
                              .arena = arena,
                              .rows = 1,
                              .tokens = arena_zalloc(arena, most, sizeof *search->tokens),
                              .parents = arena_zalloc(arena, most, sizeof *search->parents),
                              .attention = arena_zalloc(arena, most, sizeof *search->attention),
                              .leaves = arena_zalloc(arena, most, sizeof(struct search_node *)),
                              .ended = arena_zalloc(arena, most, sizeof(struct search_node *))};
    if (!search->tokens || !search->parents || !search->attention || !search->leaves || !search->ended ||
        new_attention_rows(search) != 0) {
        search->rows = 0;
        return error_memory(err);
    }
    return 0;
}

static struct search_node *extend(const struct search *search, const struct distribution *rows, const struct candidate *c) {
    struct search_node *node = arena_alloc(search->arena, 1, sizeof *node);
    if (node)
        *node = (struct search_node){.parent = search->leaves[c->row],
                                     .token = c->token,
                                     .log_prob = c->log_prob,
                                     .entropy = rows[c->row].entropy,
                                     .total = c->total,
                                     .attention = search->attention[c->row],
                                     .depth = search->step + 1};
    return node;
}

/* A path is over at </s> or, for a search of its own choice, at the length limit. */
static bool is_over(const struct search *search, const struct search_node *node) {
    size_t limit = search->options.target ? search->options.target_length + 1 : search->options.max_length;
    return node->token == search->ids.end || node->depth >= limit;
}

/* As many more as may be among them that are not allowed. */
size_t search_wanted(const struct search *search) {
    size_t wanted = search->kind->wanted(search);
    return wanted == 0 ? 0 : wanted + !allowed(search, search->ids.end) + (search->ids.banned >= 0);
}

int search_advance(struct search *search, const struct distribution *rows, struct error *err) {
    struct candidate chosen[SEARCH_MAX_ROWS];
    struct search_node *live[SEARCH_MAX_ROWS];
    size_t count = search->kind->choose(search, rows, chosen), live_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct search_node *node = extend(search, rows, &chosen[i]);
        if (!node) {
            search->rows = 0;
            return error_memory(err);
        }
        if (is_over(search, node)) {
            search->ended[search->ended_count++] = node;
        } else {
            search->parents[live_count] = chosen[i].row;
            search->tokens[live_count] = chosen[i].token;
            live[live_count++] = node;
        }
    }
    search->rows = live_count;
    search->step++;
    if (live_count > 0)
        memcpy(search->leaves, live, live_count * sizeof(struct search_node *));
    if (new_attention_rows(search) != 0) {
        search->rows = 0;
        return error_memory(err);
    }
    return 0;
}

/* ---- results ---- */

static int unfold(const struct search *search, const struct search_node *last, struct hypothesis *out) {
    size_t count = last->depth, length = last->token == search->ids.end ? count - 1 : count;
    int *tokens = arena_alloc(search->arena, count, sizeof *tokens);
    float *log_probs = arena_alloc(search->arena, count, sizeof *log_probs);
    float *entropies = arena_alloc(search->arena, count, sizeof *entropies);
    const float **attention = arena_alloc(search->arena, count, sizeof *attention);
    if (!tokens || !log_probs || !entropies || !attention)
        return -1;
    for (const struct search_node *node = last; node; node = node->parent) {
        size_t i = node->depth - 1;
        tokens[i] = node->token;
        log_probs[i] = node->log_prob;
        entropies[i] = node->entropy;
        attention[i] = node->attention;
    }
    *out = (struct hypothesis){.tokens = tokens,
                               .length = length,
                               .ended = length < count,
                               .log_probs = log_probs,
                               .entropies = entropies,
                               .attention = attention,
                               .log_prob = last->total,
                               .score = last->total / pow((double)count, search->options.length_penalty)};
    return 0;
}

int search_results(const struct search *search, struct hypothesis **hypotheses, size_t *count, struct error *err) {
    struct hypothesis *list = arena_alloc(search->arena, search->ended_count, sizeof *list);
    if (!list)
        return error_memory(err);
    for (size_t i = 0; i < search->ended_count; i++) {
        struct hypothesis h;
        if (unfold(search, search->ended[i], &h) != 0)
            return error_memory(err);
        size_t place = i; /* insertion: of equal scores the one that ended first stays ahead */
        for (; place > 0 && list[place - 1].score < h.score; place--)
            list[place] = list[place - 1];
        list[place] = h;
    }
    *hypotheses = list;
    *count = search->ended_count < search->options.n_best ? search->ended_count : search->options.n_best;
    return 0;
}
