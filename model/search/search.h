/* A search over log-probabilities is a small state machine, one per sentence; its strategies are a
 * table (search.c). It is independent of the network: it reads one distribution per live row and
 * decides which rows continue, from which parent, with which token.
 *
 * The rows of one search stand side by side in the batch. In each step the batch computes a
 * distribution and an attention row for each live row; search_advance reads them and writes the
 * next rows. */
#ifndef ALIGND_SEARCH_H
#define ALIGND_SEARCH_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct distribution; /* model/network/network.h */

enum { SEARCH_MAX_ROWS = 32, SEARCH_ALTERNATIVES = 5 };

/* ---- options ---- */

struct sampling {
    double temperature; /* > 0 */
    size_t top_k;       /* draw from this many of the best tokens; 0: all */
    double top_p; /* 0..1, draw from the fewest best tokens that have this much of the probability;
                     1: all */
    /* The numbers drawn depend only on these two: other texts that are decoded at the same time
     * have no influence. */
    uint64_t seed, stream;
};

/* Tokens that the path must contain in a row; a phrase that must occur twice is listed twice. The
 * `before` phrases before it in the list and the `after` phrases after it are alternatives to it:
 * the path contains exactly one of them. */
struct phrase {
    const int *tokens; /* [length], 1.. */
    size_t length;
    size_t first, count; /* the source tokens that it translates; count 0: not known */
    size_t before, after;
    bool begins_word; /* it must not begin within a word */
    bool last; /* it comes after all others, and only </s> follows it; one of a list at most */
    int stand_ins[2]; /* for a token that is in no vocabulary: the better of the two gives its
                         probability; -1: none */
};

struct phrases {
    const struct phrase *list;
    size_t count;
    const bool *continues; /* [size] tokens that continue a word: a phrase does not end before one;
                              NULL: none does */
    const bool *forbidden; /* [size] tokens that are chosen only as a part of a phrase; NULL: there
                              are none */
    size_t size;
    const int *banned; /* [banned_count] stand-ins, which must not come themselves */
    size_t banned_count;
    bool approximates; /* constrained: it replaces an exact search, so there may be better
                          hypotheses */
};

/* Tokens that may not follow others, except as a part of a phrase: token t may not follow p if they
 * have a bit in common, refused[t] & leaves[p] & mask. */
struct search_refusals {
    const uint32_t *refused, *leaves; /* [size]; NULL: nothing is refused */
    size_t size;
    uint32_t first; /* in place of leaves[p] for the first token */
    uint32_t mask;
};

/* Optional output of a search beside its hypotheses. */
struct search_report {
    bool alternatives; /* the best tokens of each step (struct step_row) */
    bool tree;         /* the tokens considered (search_branch), at most beam_size a row */
};

struct search_kind;
extern const struct search_kind search_greedy, search_beam, search_sample, search_exact,
    search_forced, search_constrained, search_sample_phrases;

/* How to search: the parameters of a user, then what is given of the target and must be in it, and
 * what is reported. */
struct search_options {
    const struct search_kind *strategy;
    size_t beam_size; /* beam, and exact, which begins with one: 1..SEARCH_MAX_ROWS */
    size_t n_best; /* 1..SEARCH_MAX_ROWS, beam: 1..beam_size; sample: the number of samples. Greedy
                      and forced have one */
    double length_penalty; /* score = log_prob / length^length_penalty, </s> counted */
    size_t min_length;     /* target tokens before </s> may come */
    size_t max_length;     /* target tokens, </s> not counted; >= 1 */
    struct sampling sampling;
    size_t no_repeat_ngram; /* no sequence of this many tokens may occur twice; 0: off */
    /* The log-probability of a token that is on the path already, but not in the prefix, is
     * multiplied by this (Keskar et al. 2019 divide logits, whose sign is arbitrary); up to 1: off.
     */
    double repetition_penalty;
    /* GNMT's beta, Wu et al. 2016: score += beta * sum over source tokens of log(min(1, all
     * attention to the token)). */
    double coverage_penalty;
    size_t max_steps; /* exact: steps after the end of its beam until it takes the best found so
                         far; 0: no limit */
    size_t max_rows;  /* constrained: rows that it may take if it needs more than beam_size */

    const int *prefix; /* the tokens that come first under all options; forced: all, without </s> */
    size_t prefix_length;
    /* constrained, sample_phrases: the phrases that must come before </s>; max_length has room for
     * them after the prefix. If distributions have ids, those of the phrases' tokens and stand-ins
     * are among them. Tokens that no distribution has are as probable as their source tokens are
     * attended to. */
    struct phrases phrases;
    struct search_refusals refusals;
    struct search_report report;
};

/* Return a strategy that can be chosen by name: the i-th, or the one of this name; NULL: there is
 * no such strategy. A given target and phrases select the others. */
const struct search_kind *search_nth(size_t i);
const struct search_kind *search_find(const char *name);
const char *search_name(const struct search_kind *strategy);

/* Returns the most rows that the search can need. */
size_t search_max_rows(const struct search_options *options);
/* Returns the most attention rows that the search can have in all its steps together. */
size_t search_max_shown(const struct search_options *options);
/* Returns true if the search may come back to a step that is not the last. */
bool search_resumes(const struct search_options *options);

/* Returns true if phrases can be required, that is, if the target is not given. */
bool search_constrains(const struct search_options *options);
/* Makes the options require these phrases; a beam replaces an exact search. With a phrase that
 * comes last, length_penalty is 0. */
void search_constrain(struct search_options *options, struct phrases phrases);
/* Returns the number of tokens of all phrases, each in the longest of its ways. */
size_t phrases_tokens(const struct phrases *phrases);

/* ---- hypotheses ---- */

/* The best tokens of one step, before any penalty. */
struct alternatives {
    size_t count; /* up to SEARCH_ALTERNATIVES */
    int tokens[SEARCH_ALTERNATIVES];
    float log_probs[SEARCH_ALTERNATIVES];
};

/* The visible outputs of a step for one row, and what the batch stores with them. Each node that
 * continues the row refers to it. */
struct step_row {
    float *attention;                  /* [source_length] */
    float *readout;                    /* [stored.readout] of the decoder */
    float *scores;                     /* [stored.scores] of the attention, before its softmax */
    struct alternatives *alternatives; /* NULL unless they are reported */
    /* only until the sentence leaves its batch: */
    float *added; /* what the step adds to the past of later ones, in the batch's memory; NULL at
                     first */
    float *top;   /* [stored.top] the top layer's output. It is the batch's to set if stored.top is
                     0 */
    float *state; /* [stored.state] that the step left; NULL unless the search returned */
    size_t held;  /* the number of nodes that continue it; 0: it is live or spare */
    struct step_row *next; /* of the spare rows, which keep what they point to */
};

/* Why a hypothesis is not longer: </s>; the length limit, or no token that may come; max_steps, or
 * phrases instead of an exact search. */
enum finish { FINISH_EOS, FINISH_LENGTH, FINISH_BUDGET };

struct hypothesis {
    const int *tokens; /* [length], without </s> */
    size_t length;
    bool ended;             /* </s> was reached */
    enum finish finish;     /* FINISH_BUDGET: exact was asked for, and there may be better ones */
    const float *log_probs; /* [length + ended], that of </s> last */
    const float *entropies; /* [length + ended], nats */
    const float *const *attention; /* [length + ended] rows of [source_length] */
    const float *const
        *alignment; /* the alignment head's rows if they were asked for; otherwise attention */
    const struct step_row *const *rows; /* [length + ended] of the steps that decided the tokens */
    double log_prob;                    /* the sum */
    double score; /* the sum with repetition_penalty, normalised by length; coverage_penalty */
    const char *const
        *pieces; /* [length] how tokens are printed, NULL: as usual; NULL: all of them are */
};
/* Returns how many steps made it, that of </s> included. */
static inline size_t hypothesis_steps(const struct hypothesis *hypothesis) {
    return hypothesis->length + hypothesis->ended;
}

/* kept: went on to the next step; pruned: among its row's best beam_size, but dropped; finished. */
enum branch_state { BRANCH_KEPT, BRANCH_PRUNED, BRANCH_FINISHED };

/* A token that was considered. It is small, because a beam makes a hundred a step, and it never
 * moves. Its id is its index; its parent's is lower. */
struct branch {
    uint32_t parent, step; /* BRANCH_START: no parent; 0.. */
    int token;
    float log_prob; /* the token's log-probability */
    float score;    /* score of the path up to the token; includes coverage_penalty only if the path
                       has finished */
    enum branch_state state;
};

#define BRANCH_START UINT32_MAX

/* ---- a search ---- */

/* Ids that the search treats specially. */
struct search_ids {
    int end;    /* </s> */
    int banned; /* never chosen, its probability left as it is; a given target may hold it. -1: none
                 */
    /* [V] the value of each token that is one byte of UTF-8, -1 for the others: sequences that do
     * not form a character are not chosen, nor is NUL. NULL: no token is such a byte, or any may
     * come. */
    const short *bytes;
    size_t size; /* V */
};

/* Floats of a step_row beside its attention. */
struct search_stored {
    size_t readout;
    size_t scores; /* source_length if they are reported, or 0 */
    size_t top;    /* for a search that copies the rows of a path that it leaves (exact) */
    size_t state;  /* while the search returns */
};

/* Settings that come from the model and its batch, not from the caller. */
struct search_setting {
    struct search_ids ids;
    size_t source_length; /* T: the length of an attention row; 0 without attention */
    struct search_stored stored;
    /* beam: a hypothesis that ends leaves its place to the next best path, and the search is over
     * when beam_size of them have ended (CTranslate2's rule); otherwise the place is gone
     * (Marian's). */
    bool replaces;
    /* Tokens that the decoder read before the first one is chosen, and that are not part of the
     * answer: they count in the length by which scores are divided. */
    size_t opening_length;
};

/* The bytes that must follow to complete a character. */
struct utf8_due {
    unsigned char count, least, most; /* count of bytes, and the range of the next one */
};

struct search_node;

struct search {
    const struct search_kind *kind;
    struct search_options options;
    struct search_setting setting;
    struct arena *arena; /* the sentence's; everything below but the tree is allocated in it */

    size_t rows; /* live rows; 0: finished */
    int *tokens; /* [rows] the token that each live row was reached by; undefined before the first
                    step */
    size_t *parents; /* [rows] after an advance, unless it returns: the row of the step before that
                        it continues */
    struct step_row **shown; /* [rows] where the next step of each live row goes */

    size_t step;  /* tokens on the path of every live row */
    bool returns; /* the live rows go on from states that were stored, and theirs are stored */
    struct search_node **leaves; /* [rows] */
    struct search_node **ended;  /* finished hypotheses' last nodes, in the order they ended */
    size_t ended_count;
    /* Rows and nodes of dropped paths are reused, so a beam needs memory only for its current
     * paths, not for all that it has considered. */
    struct step_row *spare_rows;
    struct search_node *spare_nodes;
    bool exhausted;      /* exact: max_steps ended it; constrained: it replaces an exact search */
    int *path;           /* tokens of the current row's path; NULL: nothing depends on them */
    struct utf8_due due; /* bytes that must complete the current row's last character */
    int last;            /* its last token; -1: it has none */
    void *state;         /* the strategy's own */
    struct {
        struct arena *arena;    /* that of the search, unless its owner sets another */
        struct branch **blocks; /* read them with search_branch; NULL: there are none yet */
        size_t count;           /* number of branches */
    } tree;
};

/* Starts with one row. options are copied, but not the prefix. Returns -1 with ERROR_MEMORY. */
int search_init(struct search *search, const struct search_options *options,
                const struct search_setting *setting, struct arena *arena, struct error *err);

/* Returns how many best tokens of each live row the search needs for the next advance. */
size_t search_wanted(const struct search *search);
/* Returns true if the next token is given, which may be any, so that the distributions must have no
 * ids. */
bool search_is_given(const struct search *search);
/* Returns true if the next advance may read other logits than those of the best tokens. */
bool search_reads_all(const struct search *search);

/* rows: one distribution per live row, with its search_wanted best tokens. Sets rows, tokens,
 * parents and shown for the next step. Returns -1 with ERROR_MEMORY: the search is over. */
int search_advance(struct search *search, const struct distribution *rows, struct error *err);

/* Returns the state stored at the step that decided a live row's last token; NULL: there was none.
 */
const float *search_state(const struct search *search, size_t row);

/* Sets past [step] to what each step on the path of a live row has added, in order. */
void search_past(const struct search *search, size_t row, const float **past);

/* The last token on the path of a live row; valid after the first advance. */
struct decision {
    int token;
    float log_prob;
    const struct step_row *row; /* the row of the step that decided the token */
};
struct decision search_last(const struct search *search, size_t row);

/* Finds the best n_best hypotheses after the end, best first, in the arena. */
int search_results(const struct search *search, struct hypothesis **hypotheses, size_t *count,
                   struct error *err);

/* Returns a token that was considered, with report.tree. id: below search->tree.count. */
const struct branch *search_branch(const struct search *search, size_t id);

#endif
