/* Search over log-probabilities: one small state machine per sentence, one table of strategies (search.c), a file for each. Knows
 * no network: it sees one distribution per live row and answers which rows go on, from which parent, with which token.
 *
 * Rows of one search stand side by side in the batch. Per step: the batch computes a distribution and an attention row for each
 * live row; search_advance reads them and writes the next rows. */
#ifndef ALIGND_SEARCH_H
#define ALIGND_SEARCH_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include "model/search/search_results.h"
#include "model/search/search_state.h"
#include <stdbool.h>
#include <stddef.h>

struct distribution; /* model/network/row.h */

/* The strategies that one may ask for by name: the i-th, and that of a name; NULL: there is none. The others are what a given
 * target and phrases make of them. */
const struct search_kind *search_nth(size_t i);
const struct search_kind *search_find(const char *name);
const char *search_name(const struct search_kind *strategy);

/* Rows that it can ever need. */
size_t search_max_rows(const struct search_options *options);
/* Attention rows that it can ever have, those of all steps together. */
size_t search_max_shown(const struct search_options *options);
/* True if it may come back to a step that is not the last. */
bool search_resumes(const struct search_options *options);

/* True if phrases can be asked for: not of a given target. */
bool search_constrains(const struct search_options *options);
/* Makes the search one of the same kind in whose result these phrases must come; in place of an exact one, a beam. */
void search_constrain(struct search_options *options, struct phrases phrases);

/* Starts with one row. options are copied (prefix is not). -1 with ERROR_MEMORY. */
int search_init(struct search *search, const struct search_options *options, struct search_ids ids, size_t source_length,
                struct arena *arena, struct error *err);

/* How many of its best tokens the search needs of each live row for the next advance. */
size_t search_wanted(const struct search *search);
/* True if it looks up its tokens' logits itself in the next advance, so that its distributions must have no ids. */
bool search_looks_up(const struct search *search);

/* rows: one distribution per live row, with its search_wanted best tokens. Sets rows, tokens, parents and attention for the next
 * step. -1 with ERROR_MEMORY: the search is over. */
int search_advance(struct search *search, const struct distribution *rows, struct error *err);

/* [keep_state] the state kept at the step that decided a live row's last token; NULL: there was none. */
const float *search_kept(const struct search *search, size_t row);

/* kept [step]: what the batch kept behind the attention row of each step on the path of a live row, the first step's first. */
void search_past(const struct search *search, size_t row, const float **kept);

/* What was decided last on the path of a live row, after the first advance. */
struct decision {
    int token;
    float log_prob;
    const float *attention; /* the row of the step that decided it, with what the batch kept behind it; stays */
};
struct decision search_last(const struct search *search, size_t row);

#endif
