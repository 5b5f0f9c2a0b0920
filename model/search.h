/* Search over log-probabilities: one small state machine per sentence, one table of strategies. Knows no network: it sees one
 * distribution per live row and answers which rows go on, from which parent, with which token.
 *
 * Rows of one search stand side by side in the batch. Per step: the batch computes a distribution and an attention row for each
 * live row; search_advance reads them and writes the next rows. */
#ifndef ALIGND_SEARCH_H
#define ALIGND_SEARCH_H

#include "model/arena.h"
#include "model/error.h"
#include "model/ranked.h"
#include <stdbool.h>
#include <stddef.h>

enum { SEARCH_MAX_ROWS = 32, SEARCH_MAX_WANTED = SEARCH_MAX_ROWS + 2 };

/* log p(token) = logits[token] - log_sum; with ids, log p(ids[i]) = logits[i] - log_sum and no other token is possible. */
struct distribution {
    const float *logits;      /* [size] */
    const int *ids;           /* [size] the tokens, ascending; NULL: 0 .. size - 1 */
    float log_sum;            /* log of the sum of exp(logits) */
    float entropy;            /* of the whole distribution, nats */
    size_t size;              /* V, or the number of ids */
    const struct ranked *top; /* [top_count] the best tokens, best first, of equals the lower one first */
    size_t top_count;         /* as many as were wanted; fewer: all others are impossible, or no numbers */
};

struct search_options {
    const char *strategy;  /* a name in the table: "greedy", "beam", "forced" */
    size_t beam_size;      /* beam: 1..SEARCH_MAX_ROWS */
    size_t n_best;         /* beam: 1..beam_size */
    double length_penalty; /* score = log_prob / length^length_penalty, </s> counted */
    size_t min_length;     /* target tokens before </s> may come */
    size_t max_length;     /* target tokens, </s> not counted; >= 1 */
    const int *target;     /* forced: the tokens to score, without </s> */
    size_t target_length;
    size_t keep; /* floats of its own that the batch keeps behind each attention row */
};

/* Ids with a meaning. */
struct search_ids {
    int end;    /* </s> */
    int banned; /* never chosen, its probability left as it is; a given target may hold it. -1: none */
};

struct hypothesis {
    const int *tokens; /* [length], without </s> */
    size_t length;
    bool ended;                    /* </s> was reached (finish_reason "eos"); otherwise the length limit was */
    const float *log_probs;        /* [length + ended], that of </s> last */
    const float *entropies;        /* [length + ended], nats */
    const float *const *attention; /* [length + ended] rows of [source_length] */
    double log_prob;               /* the sum */
    double score;                  /* normalised by length */
};

struct search_kind;

struct search {
    const struct search_kind *kind;
    struct search_options options;
    struct search_ids ids;
    size_t source_length; /* T: the length of an attention row; 0 without attention */
    struct arena *arena;  /* everything below lives here; owned by the sentence */

    size_t rows;       /* live rows; 0: finished */
    int *tokens;       /* [rows] the token that each live row was reached by; undefined before the first step */
    size_t *parents;   /* [rows] after an advance: the row of the step before that it continues */
    float **attention; /* [rows] where the next step's attention row of each live row goes, each [source_length] */

    size_t step;                 /* steps done */
    struct search_node **leaves; /* [rows] */
    struct search_node **ended;  /* finished hypotheses' last nodes, in the order they ended */
    size_t ended_count;
};

/* True if the table has such a strategy. Rows it can ever need: search_max_rows. */
bool search_known(const char *strategy);
size_t search_max_rows(const struct search_options *options);

/* Starts with one row. options are copied (target is not). -1 with ERROR_INPUT (unknown strategy) or ERROR_MEMORY. */
int search_init(struct search *search, const struct search_options *options, struct search_ids ids, size_t source_length,
                struct arena *arena, struct error *err);

/* How many of its best tokens the search needs of each live row for the next advance, at most SEARCH_MAX_WANTED. 0: it looks up its
 * tokens' logits itself, so that its distributions must have no ids. */
size_t search_wanted(const struct search *search);

/* rows: one distribution per live row, with its search_wanted best tokens. Sets rows, tokens, parents and attention for the next
 * step. -1 with ERROR_MEMORY: the search is over. */
int search_advance(struct search *search, const struct distribution *rows, struct error *err);

/* After the end: the best n_best hypotheses, best first, in the arena. */
int search_results(const struct search *search, struct hypothesis **hypotheses, size_t *count, struct error *err);

#endif
