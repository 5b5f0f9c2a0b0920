/* The tree of what a search has looked at. Included by search*.c only. */
#ifndef ALIGND_SEARCH_TREE_H
#define ALIGND_SEARCH_TREE_H

#include "model/search/search_node.h"
#include <stddef.h>

/* Nothing unless options.tree is set. A node that is kept or finished, whose branch is set; and what became of a candidate.
 * recorded: so many branches may hold them already, of another look at the same path. */
int search_grow(struct search *search, struct search_node *node, enum branch_state state);
int search_grow_once(struct search *search, struct search_node *node, enum branch_state state, size_t recorded);
int search_prune(struct search *search, const struct candidate *c);
int search_prune_once(struct search *search, const struct candidate *c, size_t recorded);

#endif
