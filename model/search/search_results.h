/* What a search has found. */
#ifndef ALIGND_SEARCH_RESULTS_H
#define ALIGND_SEARCH_RESULTS_H

#include "model/base/error.h"
#include "model/search/search_state.h"
#include <stddef.h>

/* A path's log-probability as it counts, divided by its length^length_penalty. */
double search_normalised(const struct search *search, const struct search_node *last);
/* The score of a path that is over. */
double search_score(const struct search *search, const struct search_node *last);

/* After the end: the best n_best hypotheses, best first, in the arena. */
int search_results(const struct search *search, struct hypothesis **hypotheses, size_t *count, struct error *err);

/* What was looked at, with options.tree: id below search->tree.count. */
const struct branch *search_branch(const struct search *search, size_t id);

#endif
