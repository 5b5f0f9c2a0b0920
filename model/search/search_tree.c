#include "model/search/search_tree.h"
#include "model/base/arena.h"
#include "model/search/search_results.h"

#include <string.h>

/* Pruned branches are recorded while there are few; the others as long as there are not far too many: more than any beam has. */
enum { MAX_WITH_PRUNED = 10000, MAX_BRANCHES = MAX_WITH_PRUNED + SEARCH_MAX_ROWS * 1100, FIRST_BRANCHES = 64 };

static int tree_make_room(struct search *search) {
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
                           .score = state == BRANCH_FINISHED ? search_score(search, node) : search_normalised(search, node),
                           .state = state};
}

static int add_branch(struct search *search, const struct search_node *node, enum branch_state state) {
    if (tree_make_room(search) != 0)
        return -1;
    search->tree.branches[search->tree.count++] = branch_of(search, node, state);
    return 0;
}

int search_grow(struct search *search, struct search_node *node, enum branch_state state) {
    node->branch = search->tree.count;
    return search->options.tree && search->tree.count < MAX_BRANCHES ? add_branch(search, node, state) : 0;
}

/* Where the first `recorded` have it; recorded: nowhere. A parent's own is before those of its children. */
static size_t find_branch(const struct search *search, const struct search_node *node, size_t recorded) {
    size_t parent = parent_of(node), i = parent == SIZE_MAX ? 0 : parent + 1;
    while (i < recorded && !(search->tree.branches[i].parent == parent && search->tree.branches[i].token == node->token))
        i++;
    return i < recorded ? i : recorded;
}

int search_grow_once(struct search *search, struct search_node *node, enum branch_state state, size_t recorded) {
    size_t found = find_branch(search, node, recorded);
    if (found == recorded)
        return search_grow(search, node, state);
    search->tree.branches[found] = branch_of(search, node, state);
    node->branch = found;
    return 0;
}

int search_prune_once(struct search *search, const struct candidate *c, size_t recorded) {
    struct search_node node = {
        .parent = search->leaves[c->row], .token = c->token, .log_prob = c->log_prob, .merit = c->merit, .depth = search->step + 1};
    if (!search->options.tree || search->tree.count >= MAX_WITH_PRUNED || find_branch(search, &node, recorded) < recorded)
        return 0;
    return add_branch(search, &node, BRANCH_PRUNED);
}

int search_prune(struct search *search, const struct candidate *c) {
    return search_prune_once(search, c, 0);
}
