#include "model/search/search_tree.h"
#include "model/base/arena.h"
#include "model/search/search_results.h"

#include <string.h>

/* Pruned branches are recorded while there are few; the others as long as there are not far too many: more than any beam has. */
enum { MAX_WITH_PRUNED = 10000, MAX_BRANCHES = MAX_WITH_PRUNED + SEARCH_MAX_ROWS * 1100 };
/* Branches lie together in blocks that are never moved. */
enum { BRANCHES_TOGETHER = 256, MAX_BLOCKS = (MAX_BRANCHES + BRANCHES_TOGETHER - 1) / BRANCHES_TOGETHER };

static struct branch *branch_at(const struct search *search, size_t id) {
    return &search->tree.blocks[id / BRANCHES_TOGETHER][id % BRANCHES_TOGETHER];
}

const struct branch *search_branch(const struct search *search, size_t id) {
    return branch_at(search, id);
}

static int tree_make_room(struct search *search) {
    if (search->tree.count % BRANCHES_TOGETHER != 0)
        return 0;
    if (!search->tree.blocks)
        search->tree.blocks = arena_alloc(search->tree.arena, MAX_BLOCKS, sizeof *search->tree.blocks);
    struct branch *block = arena_alloc(search->tree.arena, BRANCHES_TOGETHER, sizeof *block);
    if (!search->tree.blocks || !block)
        return -1;
    search->tree.blocks[search->tree.count / BRANCHES_TOGETHER] = block;
    return 0;
}

static uint32_t parent_of(const struct search_node *node) {
    return node->parent ? (uint32_t)node->parent->branch : BRANCH_START;
}

static struct branch branch_of(const struct search *search, const struct search_node *node, enum branch_state state) {
    return (struct branch){.parent = parent_of(node),
                           .step = (uint32_t)(node->depth - 1),
                           .token = node->token,
                           .log_prob = node->log_prob,
                           .score =
                               (float)(state == BRANCH_FINISHED ? search_score(search, node) : search_normalised(search, node)),
                           .state = state};
}

static int add_branch(struct search *search, const struct search_node *node, enum branch_state state) {
    if (tree_make_room(search) != 0)
        return -1;
    *branch_at(search, search->tree.count++) = branch_of(search, node, state);
    return 0;
}

int search_grow(struct search *search, struct search_node *node, enum branch_state state) {
    node->branch = search->tree.count;
    return search->options.tree && search->tree.count < MAX_BRANCHES ? add_branch(search, node, state) : 0;
}

/* Where the first `recorded` have it; recorded: nowhere. A parent's own is before those of its children. */
static size_t find_branch(const struct search *search, const struct search_node *node, size_t recorded) {
    uint32_t parent = parent_of(node);
    size_t i = parent == BRANCH_START ? 0 : parent + 1;
    while (i < recorded && !(branch_at(search, i)->parent == parent && branch_at(search, i)->token == node->token))
        i++;
    return i < recorded ? i : recorded;
}

int search_grow_once(struct search *search, struct search_node *node, enum branch_state state, size_t recorded) {
    size_t found = find_branch(search, node, recorded);
    if (found == recorded)
        return search_grow(search, node, state);
    *branch_at(search, found) = branch_of(search, node, state);
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
