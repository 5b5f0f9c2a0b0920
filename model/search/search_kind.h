/* Strategies are built from these parts. Only search*.c include this header.
 *
 * To add a strategy: one search_NAME.c with a search_kind, and its row in the table of search.c. */
#ifndef ALIGND_SEARCH_KIND_H
#define ALIGND_SEARCH_KIND_H

#include "model/network/network.h"
#include "model/search/search.h"

struct search_kind {
    const char *name;
    bool resumes; /* begins with search->returns; may set it before it makes rows */
    bool given;   /* its prefix is the whole target: it chooses no token itself */
    bool draws;   /* from all tokens, not the best ones */
    size_t (*max_rows)(const struct search_options *options); /* NULL: one */
    /* Returns how many of a row's best tokens it may have to look at if all of them are allowed;
     * NULL: one. */
    size_t (*wanted)(const struct search *search);
    /* Makes search->state; may be NULL. */
    int (*start)(struct search *search);
    /* search_advance after the prefix; mostly by search_extend. */
    int (*advance)(struct search *search, const struct distribution *rows, struct error *err);
};

/* One decided token. Paths share their beginnings. */
struct search_node {
    struct search_node *parent; /* NULL: this is the first token. Of a spare node: the next one */
    int token;
    float log_prob, entropy;
    double total; /* log-probability of the path up to here */
    double merit; /* the same with repetition_penalty and the phrases' bonus, by which paths are
                     compared */
    struct step_row *row; /* the row of the step that decided the token */
    size_t held;  /* the number of nodes after it, and 1 if it is a live or an ended path's last; 0:
                     it is spare, or the strategy's own */
    size_t depth; /* tokens on the path, including this one */
    size_t lane;  /* sample: the number of the sample */
    size_t branch; /* in the tree */
    struct utf8_due due;
};

/* A continuation of a live row. */
struct candidate {
    size_t row;
    int token;
    float log_prob;
    double total, merit; /* log-probability and merit of the path with the token */
    size_t lane;
};

/* Returns the contribution of a token to the merit of the current path; -INFINITY: it may not come.
 */
double search_merit(const struct search *search, int token, float log_prob);
/* Returns true if the token is a byte that does not form a character after the current path, or not
 * the byte that is due. ids: of the row's distribution. */
bool search_breaks_character(const struct search *search, const int *ids, int token);
/* Makes the path of a live row the current one. */
void search_take_path(struct search *search, size_t row);

/* Finds the k best tokens of a row by merit, best first; of equals the lower one comes first.
 * Returns their number. */
size_t search_best(struct search *search, const struct distribution *rows, size_t row, size_t k,
                   struct candidate *best);
/* Returns the place of a token's logit in a row; row->size: the row does not have the token. */
size_t search_place(const struct distribution *row, int token);
/* Keeps chosen [*count <= k], k >= 1, sorted, best first; of equals the earlier one stays ahead. */
void search_insert(struct candidate *chosen, size_t *count, size_t k, struct candidate c);
/* Returns the continuation of a live row by a token that contributes this merit. */
struct candidate search_candidate(const struct search *search, size_t row, int token,
                                  float log_prob, double merit);

/* Makes these continuations the next rows, of which there are at most SEARCH_MAX_ROWS; those that
 * are over become hypotheses. */
int search_extend(struct search *search, const struct distribution *rows,
                  const struct candidate *chosen, size_t count, struct error *err);
/* Ends the search without a result. */
int search_fail(struct search *search, struct error *err);

/* Returns true if a path is over: at </s> or, unless the target is given, at the length limit. */
bool search_is_over(const struct search *search, const struct search_node *node);
/* Returns the rows of a beam, its beam_size. */
size_t search_beam_rows(const struct search_options *options);
/* Returns length^length_penalty, by which the merit of a path of so many tokens is divided. */
double search_divisor(const struct search *search, size_t length);
/* Returns the score of a path that is over. */
double search_score(const struct search *search, const struct search_node *last);
/* Returns a spare row or allocates one, with room for a state if this is true; its attention,
 * readout and top are adjacent, search_row_floats together. Returns NULL if memory runs out. */
struct step_row *search_new_row(struct search *search, bool state);
/* Lets go of a path (NULL: an empty one) that is no longer live, or no longer among the ended. */
void search_drop(struct search *search, struct search_node *last);
size_t search_row_floats(const struct search *search);

/* The tree of considered tokens; both do nothing without options.report.tree. The first `recorded`
 * branches may have them already, from an earlier visit of the same path. search_grow adds a node
 * that is kept or finished, and sets its branch; search_prune adds a candidate that was dropped.
 * Returns -1 if memory runs out. */
int search_grow(struct search *search, struct search_node *node, enum branch_state state,
                size_t recorded);
int search_prune(struct search *search, const struct candidate *c, size_t recorded);
/* Calls search_prune for each of the rows' best beam_size that was not chosen. */
int search_prune_others(struct search *search, const struct distribution *rows,
                        const struct candidate *chosen, size_t count);

#endif
