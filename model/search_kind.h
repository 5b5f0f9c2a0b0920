/* What a strategy is made of, and what all of them share. Included by search*.c only.
 *
 * To add a strategy: one search_NAME.c with a search_kind, and its row in the table of search.c. */
#ifndef ALIGND_SEARCH_KIND_H
#define ALIGND_SEARCH_KIND_H

#include "model/search.h"

/* One decided token. Paths share their beginnings. */
struct search_node {
    const struct search_node *parent; /* NULL: the first token */
    int token;
    float log_prob, entropy;
    double total;           /* log-probability of the path up to here */
    double merit;           /* the same as it counts: with repetition_penalty */
    const float *attention; /* the row of the step that decided it */
    const struct alternatives *alternatives;
    size_t depth;  /* tokens on the path, this one counted */
    size_t lane;   /* sample: which of the samples */
    size_t branch; /* in the tree */
};

/* A continuation of a live row. */
struct candidate {
    size_t row;
    int token;
    float log_prob;
    double total, merit; /* of the path with it */
    size_t lane;
};

struct search_kind {
    const char *name;
    bool resumes; /* begins with search->returns; may set it before it makes rows */
    bool looks_up;
    size_t (*max_rows)(const struct search_options *options);
    /* How many of a row's best tokens it may have to look at, were all of them allowed. */
    size_t (*wanted)(const struct search *search);
    /* NULL, or makes search->state. */
    int (*start)(struct search *search);
    /* search_advance, once the prefix is there; mostly by search_extend. */
    int (*advance)(struct search *search, const struct distribution *rows, struct error *err);
};

size_t search_one_row(const struct search_options *options);

/* What token's log-probability counts as behind the path in hand; -INFINITY: it may not come. */
double search_merit(const struct search *search, int token, float log_prob);
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
/* The score of a path that is over. */
double search_score(const struct search *search, const struct search_node *last);
/* Room for what a step shows of a row. -1: memory is out. */
int search_new_row(const struct search *search, float **attention, struct alternatives **alternatives);
/* Ends the search without a result. */
int search_fail(struct search *search, struct error *err);

/* Nothing unless options.tree is set. A node that is kept or finished, whose branch is set; and what became of a candidate. told:
 * so many branches may hold them already, of another look at the same path. */
int search_grow(struct search *search, struct search_node *node, enum branch_state state);
int search_grow_once(struct search *search, struct search_node *node, enum branch_state state, size_t told);
int search_prune(struct search *search, const struct candidate *c);
int search_prune_once(struct search *search, const struct candidate *c, size_t told);
/* The same of the rows' best beam_size that are not among these. */
int search_prune_others(struct search *search, const struct distribution *rows, const struct candidate *chosen, size_t count);

#endif
