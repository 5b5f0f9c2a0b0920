#include "model/search/search_kind.h"

#include <assert.h>
#include <math.h>
#include <string.h>

size_t search_one_row(const struct search_options *options) {
    (void)options;
    return 1;
}

int search_new_row(const struct search *search, float **attention, struct alternatives **alternatives) {
    size_t kept = search->options.keep + (search->returns ? search->options.keep_state : 0);
    *attention = arena_alloc(search->arena, search->source_length + kept, sizeof **attention);
    *alternatives = search->options.alternatives ? arena_zalloc(search->arena, 1, sizeof **alternatives) : NULL;
    if (*attention && search->options.keep > 0)
        memset(*attention + search->source_length, 0, search->options.keep * sizeof **attention);
    return arena_failed(search->arena) ? -1 : 0;
}

int search_new_rows(struct search *search) {
    for (size_t r = 0; r < search->rows; r++)
        if (search_new_row(search, &search->attention[r], &search->alternatives[r]) != 0)
            return -1;
    return 0;
}

int search_fail(struct search *search, struct error *err) {
    search->rows = 0;
    return error_memory(err);
}

/* ---- what a token counts ---- */

bool search_allows(const struct search *search, int token) {
    return token != search->ids.banned && (token != search->ids.end || search->step >= search->options.min_length);
}

static bool contains(const int *path, size_t length, int token) {
    for (size_t i = 0; i < length; i++)
        if (path[i] == token)
            return true;
    return false;
}

/* True if, with this token behind it, the path has one sequence of n tokens twice. */
static bool repeats(const int *path, size_t length, size_t n, int token) {
    for (size_t i = 0; i + n <= length; i++)
        if (path[i + n - 1] == token && memcmp(path + i, path + length - (n - 1), (n - 1) * sizeof *path) == 0)
            return true;
    return false;
}

/* The bytes that must follow this one, as the first of a character. count 0: it is a whole character, or no character begins with
 * it. */
static struct utf8_due due_behind(int lead) {
    if (lead < 0xc2 || lead > 0xf4)
        return (struct utf8_due){0};
    struct utf8_due due = {.count = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3, .least = 0x80, .most = 0xbf};
    due.least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    due.most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    return due;
}

static int byte_of(const struct search *search, int token) {
    return search->ids.bytes && (size_t)token < search->ids.size ? search->ids.bytes[token] : -1;
}

static struct utf8_due due_after(const struct search *search, struct utf8_due due, int token) {
    int byte = byte_of(search, token);
    if (due.count > 0)
        return (struct utf8_due){.count = (unsigned char)(due.count - 1), .least = 0x80, .most = 0xbf};
    return byte < 0 ? (struct utf8_due){0} : due_behind(byte);
}

/* A shortlist may lack the bytes that would have to follow, so no character of several bytes begins there. */
bool search_breaks_character(const struct search *search, const int *ids, int token) {
    int byte = byte_of(search, token);
    if (!search->ids.bytes)
        return false;
    if (search->due.count > 0)
        return byte < search->due.least || byte > search->due.most;
    if (byte < 0 || (byte > 0 && byte < 0x80))
        return false;
    struct utf8_due due = due_behind(byte);
    return due.count == 0 || ids || search->step + 1 + due.count > search->options.max_length;
}

double search_merit(const struct search *search, int token, float log_prob) {
    const struct search_options *options = &search->options;
    if (!search_allows(search, token))
        return -INFINITY;
    if (!search->path)
        return (double)log_prob;
    if (options->no_repeat_ngram > 0 && repeats(search->path, search->step, options->no_repeat_ngram, token))
        return -INFINITY;
    bool again = options->repetition_penalty > 1 && contains(search->path, search->step, token);
    return again ? options->repetition_penalty * (double)log_prob : (double)log_prob;
}

void search_take_path(struct search *search, size_t row) {
    search->due = search->leaves[row] ? search->leaves[row]->due : (struct utf8_due){0};
    if (!search->path)
        return;
    for (const struct search_node *node = search->leaves[row]; node; node = node->parent)
        search->path[node->depth - 1] = node->token;
}

struct candidate search_candidate(const struct search *search, size_t row, int token, float log_prob, double merit) {
    const struct search_node *leaf = search->leaves[row];
    return (struct candidate){.row = row,
                              .token = token,
                              .log_prob = log_prob,
                              .total = (leaf ? leaf->total : 0) + (double)log_prob,
                              .merit = (leaf ? leaf->merit : 0) + merit,
                              .lane = leaf ? leaf->lane : 0};
}

struct candidate search_given(const struct search *search, const struct distribution *rows, size_t row, int token) {
    assert(!rows[row].ids);
    bool known = (size_t)token < rows[row].size; /* otherwise as probable as any */
    float log_prob = known ? rows[row].logits[token] - rows[row].log_sum : -logf((float)rows[row].size);
    return search_candidate(search, row, token, log_prob, (double)log_prob);
}

void search_insert(struct candidate *chosen, size_t *count, size_t k, struct candidate c) {
    if (*count == k && !(c.merit > chosen[k - 1].merit))
        return;
    size_t place = *count < k ? (*count)++ : k - 1;
    for (; place > 0 && chosen[place - 1].merit < c.merit; place--)
        chosen[place] = chosen[place - 1];
    chosen[place] = c;
}

/* The best k of all tokens of a row, where too many of the best were bytes that may not come. */
static size_t best_unbroken(struct search *search, const struct distribution *rows, size_t row, size_t k, struct candidate *best) {
    size_t count = 0;
    for (size_t i = 0; i < rows[row].size; i++) {
        int token = rows[row].ids ? rows[row].ids[i] : (int)i;
        float log_prob = rows[row].logits[i] - rows[row].log_sum;
        double merit = search_breaks_character(search, rows[row].ids, token) ? -INFINITY : search_merit(search, token, log_prob);
        if (merit > -INFINITY)
            search_insert(best, &count, k, search_candidate(search, row, token, log_prob, merit));
    }
    return count;
}

size_t search_best(struct search *search, const struct distribution *rows, size_t row, size_t k, struct candidate *best) {
    size_t count = 0, broken = 0;
    search_take_path(search, row);
    for (size_t i = 0; i < rows[row].top_count && (search->path || count < k); i++) {
        const struct ranked *token = &rows[row].top[i];
        float log_prob = token->logit - rows[row].log_sum;
        if (search_breaks_character(search, rows[row].ids, token->token)) {
            broken++;
            continue;
        }
        double merit = search_merit(search, token->token, log_prob);
        if (merit > -INFINITY)
            search_insert(best, &count, k, search_candidate(search, row, token->token, log_prob, merit));
    }
    return broken > 0 && count < k ? best_unbroken(search, rows, row, k, best) : count;
}

struct search_node search_node_of(const struct search *search, const struct distribution *rows, const struct candidate *c) {
    return (struct search_node){
        .parent = search->leaves[c->row],
        .token = c->token,
        .log_prob = c->log_prob,
        .entropy = rows[c->row].entropy,
        .total = c->total,
        .merit = c->merit,
        .attention = search->attention[c->row],
        .alternatives = search->alternatives[c->row],
        .depth = search->step + 1,
        .lane = c->lane,
        .due = due_after(search, search->leaves[c->row] ? search->leaves[c->row]->due : (struct utf8_due){0}, c->token)};
}

bool search_is_over(const struct search *search, const struct search_node *node) {
    size_t limit = search->kind->given ? search->options.prefix_length + 1 : search->options.max_length;
    return node->token == search->ids.end || node->depth >= limit;
}

/* Where no token may come (bans took all there were), the paths end as they stand. */
static void end_open(struct search *search, const struct distribution *rows) {
    for (size_t r = 0; r < search->rows; r++)
        if (search->leaves[r] && rows[r].top_count > 0)
            search->ended[search->ended_count++] = search->leaves[r];
}

/* A node for each continuation: among the ended, or live. */
static int branch_out(struct search *search, const struct distribution *rows, const struct candidate *chosen, size_t count,
                      struct search_node **live, size_t *live_count) {
    for (size_t i = 0; i < count; i++) {
        struct search_node *node = arena_alloc(search->arena, 1, sizeof *node);
        if (!node)
            return -1;
        *node = search_node_of(search, rows, &chosen[i]);
        bool over = search_is_over(search, node);
        if (search_grow(search, node, over ? BRANCH_FINISHED : BRANCH_KEPT) != 0)
            return -1;
        if (over) {
            search->ended[search->ended_count++] = node;
        } else {
            search->parents[*live_count] = chosen[i].row;
            search->tokens[*live_count] = chosen[i].token;
            live[(*live_count)++] = node;
        }
    }
    return 0;
}

int search_extend(struct search *search, const struct distribution *rows, const struct candidate *chosen, size_t count,
                  struct error *err) {
    struct search_node *live[SEARCH_MAX_ROWS];
    size_t live_count = 0;
    if (count == 0 && search->ended_count == 0)
        end_open(search, rows);
    if (branch_out(search, rows, chosen, count, live, &live_count) != 0)
        return search_fail(search, err);
    search->rows = live_count;
    search->step++;
    if (live_count > 0)
        memcpy(search->leaves, live, live_count * sizeof(struct search_node *));
    return search_new_rows(search) == 0 ? 0 : search_fail(search, err);
}

/* ---- the tree ---- */

static bool is_chosen(const struct candidate *chosen, size_t count, const struct candidate *c) {
    for (size_t i = 0; i < count; i++)
        if (chosen[i].row == c->row && chosen[i].token == c->token)
            return true;
    return false;
}

int search_prune_others(struct search *search, const struct distribution *rows, const struct candidate *chosen, size_t count) {
    struct candidate best[SEARCH_MAX_ROWS];
    for (size_t r = 0; search->options.tree && r < search->rows; r++) {
        size_t n = search_best(search, rows, r, search->options.beam_size, best);
        for (size_t i = 0; i < n; i++)
            if (!is_chosen(chosen, count, &best[i]) && search_prune(search, &best[i]) != 0)
                return -1;
    }
    return 0;
}
