/* Search over log-probabilities: one small state machine per sentence, one table of strategies (search.c), a file for each. Knows
 * no network: it sees one distribution per live row and answers which rows go on, from which parent, with which token.
 *
 * Rows of one search stand side by side in the batch. Per step: the batch computes a distribution and an attention row for each
 * live row; search_advance reads them and writes the next rows. */
#ifndef ALIGND_SEARCH_H
#define ALIGND_SEARCH_H

#include "model/arena.h"
#include "model/error.h"
#include "model/phrase.h"
#include "model/ranked.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEARCH_MAX_ROWS = 32, SEARCH_ALTERNATIVES = 5 };

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

struct sampling {
    double temperature; /* > 0 */
    size_t top_k;       /* from so many of the best tokens; 0: all */
    double top_p;       /* 0..1, from the fewest best tokens that have this much of the probability; 1: all */
    /* The numbers drawn depend on these two alone: the same text whatever else is decoded beside it. */
    uint64_t seed, stream;
};

/* How to search; a file for each. */
struct search_kind;
extern const struct search_kind search_greedy, search_beam, search_sample, search_exact, search_forced, search_constrained;

struct search_options {
    const struct search_kind *strategy;
    size_t beam_size;      /* beam, and exact, which begins with one: 1..SEARCH_MAX_ROWS */
    size_t n_best;         /* 1..SEARCH_MAX_ROWS, beam: 1..beam_size; sample: so many samples. Greedy and forced have one */
    double length_penalty; /* score = log_prob / length^length_penalty, </s> counted */
    size_t min_length;     /* target tokens before </s> may come */
    size_t max_length;     /* target tokens, </s> not counted; >= 1 */
    const int *prefix;     /* the tokens that come first, whatever else is asked for; forced: all, without </s> */
    size_t prefix_length;
    /* Floats of its own that the batch keeps behind each attention row; and behind these, while the search returns, the state that
     * the step left. */
    size_t keep, keep_state;
    struct sampling sampling;
    size_t no_repeat_ngram; /* no sequence of so many tokens comes twice; 0: any may */
    /* The log-probabilities of tokens that are on the path already count so many times (Keskar et al. 2019 divide logits, which
     * have no sign to rely on); up to 1: once. Not those of the prefix. */
    double repetition_penalty;
    /* GNMT's beta, Wu et al. 2016: score += beta * sum over source tokens of log(min(1, all attention that it got)). */
    double coverage_penalty;
    size_t max_steps;  /* exact: steps until it takes the best found so far, once its beam has ended; 0: any */
    bool alternatives; /* hypotheses tell the best tokens of each step */
    bool tree;         /* search_tree tells what was looked at; of beam_size tokens a row, at most */
    /* constrained: what must come, each before </s>; max_length has room for it behind the prefix. Its tokens may be such as no
     * distribution has: those are as probable as their source tokens are attended to. */
    struct phrases phrases;
    size_t max_rows; /* constrained: rows it may take if it has use for more than beam_size */
};

/* Ids with a meaning. */
struct search_ids {
    int end;    /* </s> */
    int banned; /* never chosen, its probability left as it is; a given target may hold it. -1: none */
};

/* The best tokens of one step, before any penalty. */
struct alternatives {
    size_t count; /* up to SEARCH_ALTERNATIVES */
    int tokens[SEARCH_ALTERNATIVES];
    float log_probs[SEARCH_ALTERNATIVES];
};

/* Why a hypothesis is no longer: </s>; the length limit, or no token that may come; max_steps. */
enum finish { FINISH_EOS, FINISH_LENGTH, FINISH_BUDGET };

struct hypothesis {
    const int *tokens; /* [length], without </s> */
    size_t length;
    bool ended;                                     /* </s> was reached */
    enum finish finish;                             /* FINISH_BUDGET: of an exact search that may have missed better ones */
    const float *log_probs;                         /* [length + ended], that of </s> last */
    const float *entropies;                         /* [length + ended], nats */
    const float *const *attention;                  /* [length + ended] rows of [source_length] */
    const struct alternatives *const *alternatives; /* [length + ended]; NULLs unless asked for */
    double log_prob;                                /* the sum */
    double score;                                   /* the sum with repetition_penalty, normalised by length; coverage_penalty */
};

/* kept: went on to the next step; pruned: among its row's best beam_size, but dropped; finished. */
enum branch_state { BRANCH_KEPT, BRANCH_PRUNED, BRANCH_FINISHED };

/* A token that was looked at. Its id is its index; its parent's is lower. */
struct branch {
    size_t parent, step; /* SIZE_MAX: the start; 0.. */
    int token;
    float log_prob; /* of the token */
    double score;   /* of the path up to it; coverage_penalty only where it has finished */
    enum branch_state state;
};

struct search_node;

struct search {
    const struct search_kind *kind;
    struct search_options options;
    struct search_ids ids;
    size_t source_length; /* T: the length of an attention row; 0 without attention */
    struct arena *arena;  /* everything below lives here; owned by the sentence */

    size_t rows;       /* live rows; 0: finished */
    int *tokens;       /* [rows] the token that each live row was reached by; undefined before the first step */
    size_t *parents;   /* [rows] after an advance, unless it returns: the row of the step before that it continues */
    float **attention; /* [rows] where the next step's attention row of each live row goes, each [source_length] */

    size_t step;                        /* tokens on the path of every live row */
    bool returns;                       /* the live rows go on from states that were kept, and theirs are kept */
    struct search_node **leaves;        /* [rows] */
    struct alternatives **alternatives; /* [rows] of the step in hand; NULLs unless asked for */
    struct search_node **ended;         /* finished hypotheses' last nodes, in the order they ended */
    size_t ended_count;
    bool exhausted; /* max_steps ended it */
    int *path;      /* of the row in hand; NULL: nothing depends on it */
    void *state;    /* the strategy's own */
    struct {
        struct branch *branches; /* [count], room for more */
        size_t count, room;
    } tree;
};

/* The strategies that one may ask for by name: the i-th, and that of a name; NULL: there is none. The others are what a given
 * target and phrases make of them. */
const struct search_kind *search_nth(size_t i);
const struct search_kind *search_find(const char *name);
const char *search_name(const struct search_kind *strategy);

/* Rows that it can ever need. */
size_t search_max_rows(const struct search_options *options);
/* True if it may come back to a step that is not the last. */
bool search_resumes(const struct search_options *options);

/* True if the strategy may be search_constrained instead: the same, with phrases. */
bool search_constrains(const struct search_options *options);

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

/* After the end: the best n_best hypotheses, best first, in the arena. */
int search_results(const struct search *search, struct hypothesis **hypotheses, size_t *count, struct error *err);

#endif
