/* What a strategy is made of, and what all of them share. Included by search*.c only.
 *
 * To add a strategy: one search_NAME.c with a search_kind, and its row in the table of search.c. */
#ifndef ALIGND_SEARCH_KIND_H
#define ALIGND_SEARCH_KIND_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include "model/network/row.h"
#include "model/search/search_node.h"
#include "model/search/search_results.h"
#include "model/search/search_state.h"
#include "model/search/search_tree.h"
#include <stdbool.h>
#include <stddef.h>

struct search_kind {
    const char *name;
    bool resumes; /* begins with search->returns; may set it before it makes rows */
    bool looks_up;
    bool given; /* its prefix is all there is: no token is of its own choice */
    size_t (*max_rows)(const struct search_options *options);
    /* How many of a row's best tokens it may have to look at, were all of them allowed. */
    size_t (*wanted)(const struct search *search);
    /* NULL, or makes search->state. */
    int (*start)(struct search *search);
    /* search_advance, once the prefix is there; mostly by search_extend. */
    int (*advance)(struct search *search, const struct distribution *rows, struct error *err);
};

size_t search_one_row(const struct search_options *options);

/* False: it is banned, or </s> before min_length tokens are there. */
bool search_allows(const struct search *search, int token);
/* What token's log-probability counts as behind the path in hand; -INFINITY: it may not come. */
double search_merit(const struct search *search, int token, float log_prob);
/* True if the token is a byte that makes no character behind the path in hand, or no byte where one is due; ids: of the row's
 * distribution. */
bool search_breaks_character(const struct search *search, const int *ids, int token);
/* Takes the path of a live row in hand. */
void search_take_path(struct search *search, size_t row);

/* A row's best k tokens as they count, best first; of equals the lower one first. Returns how many there are. */
size_t search_best(struct search *search, const struct distribution *rows, size_t row, size_t k, struct candidate *best);
/* Keeps chosen [*count <= k] sorted, best first; of equals the earlier stays ahead. */
void search_insert(struct candidate *chosen, size_t *count, size_t k, struct candidate c);
/* This token behind a live row. merit: what its log-probability counts as. */
struct candidate search_candidate(const struct search *search, size_t row, int token, float log_prob, double merit);
/* This token whatever it is, and whatever was on the path. */
struct candidate search_given(const struct search *search, const struct distribution *rows, size_t row, int token);

/* The next rows are these continuations, at most SEARCH_MAX_ROWS, but for those that are over. */
int search_extend(struct search *search, const struct distribution *rows, const struct candidate *chosen, size_t count,
                  struct error *err);

struct search_node search_node_of(const struct search *search, const struct distribution *rows, const struct candidate *c);
/* A path is over at </s> or, for a search of its own choice, at the length limit. */
bool search_is_over(const struct search *search, const struct search_node *node);
/* Room for what a step shows of a row. -1: memory is out. */
int search_new_row(const struct search *search, float **attention, struct alternatives **alternatives);
/* The same for every live row. */
int search_new_rows(struct search *search);
/* Ends the search without a result. */
int search_fail(struct search *search, struct error *err);

/* search_prune of the rows' best beam_size that are not among these. */
int search_prune_others(struct search *search, const struct distribution *rows, const struct candidate *chosen, size_t count);

#endif
