/* What a search is told, what it is while it runs, and what it finds. */
#ifndef ALIGND_SEARCH_STATE_H
#define ALIGND_SEARCH_STATE_H

#include "model/base/arena.h"
#include "model/search/phrase.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEARCH_MAX_ROWS = 32, SEARCH_ALTERNATIVES = 5 };

struct sampling {
    double temperature; /* > 0 */
    size_t top_k;       /* from so many of the best tokens; 0: all */
    double top_p;       /* 0..1, from the fewest best tokens that have this much of the probability; 1: all */
    /* The numbers drawn depend on these two alone: the same text whatever else is decoded beside it. */
    uint64_t seed, stream;
};

/* How to search; a file for each. */
struct search_kind;
extern const struct search_kind search_greedy, search_beam, search_sample, search_exact, search_forced, search_constrained,
    search_sample_phrases;

struct search_options {
    const struct search_kind *strategy;
    size_t beam_size;      /* beam, and exact, which begins with one: 1..SEARCH_MAX_ROWS */
    size_t n_best;         /* 1..SEARCH_MAX_ROWS, beam: 1..beam_size; sample: so many samples. Greedy and forced have one */
    double length_penalty; /* score = log_prob / length^length_penalty, </s> counted */
    size_t min_length;     /* target tokens before </s> may come */
    size_t max_length;     /* target tokens, </s> not counted; >= 1 */
    const int *prefix;     /* the tokens that come first, whatever else is asked for; forced: all, without </s> */
    size_t prefix_length;
    /* Floats of its own that the batch keeps behind each attention row, zero at first; and behind these, while the search returns,
     * the state that the step left. */
    size_t keep, keep_state;
    struct sampling sampling;
    size_t no_repeat_ngram; /* no sequence of this many tokens may occur twice; 0: off */
    /* The log-probabilities of tokens that are on the path already count so many times (Keskar et al. 2019 divide logits, which
     * have no sign to rely on); up to 1: once. Not those of the prefix. */
    double repetition_penalty;
    /* GNMT's beta, Wu et al. 2016: score += beta * sum over source tokens of log(min(1, all attention that it got)). */
    double coverage_penalty;
    size_t max_steps;  /* exact: steps until it takes the best found so far, once its beam has ended; 0: any */
    bool alternatives; /* hypotheses tell the best tokens of each step */
    bool tree;         /* search_tree tells what was looked at; of beam_size tokens a row, at most */
    /* constrained, sample_phrases: what must come, each before </s>; max_length has room for it after the prefix. Its tokens may
     * be such as no distribution has: those are as probable as their source tokens are attended to. */
    struct phrases phrases;
    bool approximates; /* constrained: in place of an exact search, so there may be better ones */
    size_t max_rows;   /* constrained: rows it may take if it has use for more than beam_size */
};

/* Ids with a meaning. */
struct search_ids {
    int end;    /* </s> */
    int banned; /* never chosen, its probability left as it is; a given target may hold it. -1: none */
    /* [V] of tokens that are one byte of UTF-8 its value, of others -1: sequences that are no character are not chosen, nor is NUL.
     * NULL: no token is such a byte, or any may come. */
    const short *bytes;
    size_t size; /* V */
};

/* The bytes that complete a character which was begun in bytes. */
struct utf8_due {
    unsigned char count, least, most; /* bytes, and the range of the next one */
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
    enum finish finish;                             /* FINISH_BUDGET: an exact search was asked for, and there may be better ones */
    const float *log_probs;                         /* [length + ended], that of </s> last */
    const float *entropies;                         /* [length + ended], nats */
    const float *const *attention;                  /* [length + ended] rows of [source_length] */
    const float *const *alignment;                  /* the same of the alignment head, if it was asked; otherwise attention */
    const struct alternatives *const *alternatives; /* [length + ended]; NULLs unless asked for */
    double log_prob;                                /* the sum */
    double score;                                   /* the sum with repetition_penalty, normalised by length; coverage_penalty */
};

/* kept: went on to the next step; pruned: among its row's best beam_size, but dropped; finished. */
enum branch_state { BRANCH_KEPT, BRANCH_PRUNED, BRANCH_FINISHED };

/* A token that was looked at. A beam makes a hundred a step: small, and never moved. Its id is its index; its parent's is lower. */
struct branch {
    uint32_t parent, step; /* BRANCH_START: none; 0.. */
    int token;
    float log_prob; /* of the token */
    float score;    /* of the path up to it; coverage_penalty only where it has finished */
    enum branch_state state;
};

#define BRANCH_START UINT32_MAX

struct search_node;

struct search {
    const struct search_kind *kind;
    struct search_options options;
    struct search_ids ids;
    size_t source_length; /* T: the length of an attention row; 0 without attention */
    struct arena *arena;  /* everything below but for the tree lives here; owned by the sentence */

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
    bool exhausted;      /* exact: max_steps ended it; constrained: in place of an exact search */
    int *path;           /* of the row in hand; NULL: nothing depends on it */
    struct utf8_due due; /* of the row in hand */
    void *state;         /* the strategy's own */
    struct {
        struct arena *arena;    /* that of the search, unless its owner sets another */
        struct branch **blocks; /* [count] in all: search_branch finds one; NULL: there is none yet */
        size_t count;
    } tree;
};

#endif
