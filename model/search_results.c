/* What a search has found: scores, hypotheses, the tree. */
#include "model/search_kind.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- scores ---- */

static double normalised(const struct search *search, const struct search_node *last) {
    return last->merit / pow((double)last->depth, search->options.length_penalty);
}

/* Wu et al. 2016: sum over j of log(min(1, sum over i of a_ij)). A token outside the window for good counts log(FLT_MIN). */
static double coverage_of(const struct search *search, const struct search_node *last) {
    double sum = 0;
    for (size_t j = 0; j < search->source_length; j++) {
        double got = 0;
        for (const struct search_node *node = last; node && got < 1; node = node->parent)
            got += (double)node->attention[j];
        sum += log(fmin(1, fmax(got, (double)FLT_MIN)));
    }
    return sum;
}

double search_score(const struct search *search, const struct search_node *last) {
    double score = normalised(search, last), beta = search->options.coverage_penalty;
    return beta > 0 ? score + beta * coverage_of(search, last) : score;
}

/* ---- hypotheses ---- */

static enum finish finish_of(const struct search *search, bool ended) {
    if (search->exhausted)
        return FINISH_BUDGET;
    return ended ? FINISH_EOS : FINISH_LENGTH;
}

static int unfold(const struct search *search, const struct search_node *last, struct hypothesis *out) {
    size_t count = last->depth, length = last->token == search->ids.end ? count - 1 : count;
    int *tokens = arena_alloc(search->arena, count, sizeof *tokens);
    float *log_probs = arena_alloc(search->arena, count, sizeof *log_probs);
    float *entropies = arena_alloc(search->arena, count, sizeof *entropies);
    const float **attention = arena_alloc(search->arena, count, sizeof *attention);
    const struct alternatives **alternatives = arena_alloc(search->arena, count, sizeof *alternatives);
    if (arena_failed(search->arena))
        return -1;
    for (const struct search_node *node = last; node; node = node->parent) {
        size_t i = node->depth - 1;
        tokens[i] = node->token;
        log_probs[i] = node->log_prob;
        entropies[i] = node->entropy;
        attention[i] = node->attention;
        alternatives[i] = node->alternatives;
    }
    *out = (struct hypothesis){.tokens = tokens,
                               .length = length,
                               .ended = length < count,
                               .finish = finish_of(search, length < count),
                               .log_probs = log_probs,
                               .entropies = entropies,
                               .attention = attention,
                               .alternatives = alternatives,
                               .log_prob = last->total,
                               .score = search_score(search, last)};
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

/* ---- the tree ---- */

/* Pruned branches are told while there are few; the others as long as there are not far too many: more than any beam has. */
enum { MAX_WITH_PRUNED = 10000, MAX_BRANCHES = MAX_WITH_PRUNED + SEARCH_MAX_ROWS * 1100, FIRST_BRANCHES = 64 };

static int make_room(struct search *search) {
    if (search->tree.count < search->tree.room)
        return 0;
    size_t room = search->tree.room ? 2 * search->tree.room : FIRST_BRANCHES;
    struct branch *grown = arena_alloc(search->arena, room, sizeof *grown);
    if (!grown)
        return -1;
    if (search->tree.count > 0)
        memcpy(grown, search->tree.branches, search->tree.count * sizeof *grown);
    search->tree.branches = grown;
    search->tree.room = room;
    return 0;
}

static size_t parent_of(const struct search_node *node) {
    return node->parent ? node->parent->branch : SIZE_MAX;
}

static struct branch branch_of(const struct search *search, const struct search_node *node, enum branch_state state) {
    return (struct branch){.parent = parent_of(node),
                           .step = node->depth - 1,
                           .token = node->token,
                           .log_prob = node->log_prob,
                           .score = state == BRANCH_FINISHED ? search_score(search, node) : normalised(search, node),
                           .state = state};
}

static int add_branch(struct search *search, const struct search_node *node, enum branch_state state) {
    if (make_room(search) != 0)
        return -1;
    search->tree.branches[search->tree.count++] = branch_of(search, node, state);
    return 0;
}

int search_grow(struct search *search, struct search_node *node, enum branch_state state) {
    node->branch = search->tree.count;
    return search->options.tree && search->tree.count < MAX_BRANCHES ? add_branch(search, node, state) : 0;
}

/* Where the first `told` have it; told: nowhere. A parent's own is before those of its children. */
static size_t find_branch(const struct search *search, const struct search_node *node, size_t told) {
    size_t parent = parent_of(node), i = parent == SIZE_MAX ? 0 : parent + 1;
    while (i < told && !(search->tree.branches[i].parent == parent && search->tree.branches[i].token == node->token))
        i++;
    return i < told ? i : told;
}

int search_grow_once(struct search *search, struct search_node *node, enum branch_state state, size_t told) {
    size_t found = find_branch(search, node, told);
    if (found == told)
        return search_grow(search, node, state);
    search->tree.branches[found] = branch_of(search, node, state);
    node->branch = found;
    return 0;
}

int search_prune_once(struct search *search, const struct candidate *c, size_t told) {
    struct search_node node = {
        .parent = search->leaves[c->row], .token = c->token, .log_prob = c->log_prob, .merit = c->merit, .depth = search->step + 1};
    if (!search->options.tree || search->tree.count >= MAX_WITH_PRUNED || find_branch(search, &node, told) < told)
        return 0;
    return add_branch(search, &node, BRANCH_PRUNED);
}

int search_prune(struct search *search, const struct candidate *c) {
    return search_prune_once(search, c, 0);
}

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
