/* The searches that must bring phrases share this: how far each path is with them, and the tokens
 * that bring it further. Only search*.c and phrases.c include this header, and tests. */
#ifndef ALIGND_PHRASES_H
#define ALIGND_PHRASES_H

#include "model/search/search_kind.h"

/* ---- the progress of a path ---- */

struct phrases_progress {
    bool *met; /* [count] phrases that are on the path, in this way or another; no token belongs to
                  two phrases */
    size_t met_tokens; /* a phrase counts as the longest of its ways */
    size_t open, at;   /* the last `at` tokens begin phrase `open`, or are all of it; at 0: none */
    float *spent; /* [count] the attention that other tokens gave to the source of each phrase; not
                     kept by phrases_take */
};

/* Returns the number of tokens that are met or open, at most phrases_tokens. Tokens that a shorter
 * way saves count as met. */
size_t phrases_met_tokens(const struct phrases *phrases, const struct phrases_progress *progress);
/* Returns true if the path may end here. */
bool phrases_complete(const struct phrases *phrases, const struct phrases_progress *progress);
/* Returns true if the last token ends a phrase. */
bool phrases_at_end(const struct phrases *phrases, const struct phrases_progress *progress);
/* Sets *to to the progress of the path with one more token. to->met has room, and is not from->met.
 */
void phrases_take(const struct phrases *phrases, const struct phrases_progress *from, int token,
                  struct phrases_progress *to);

/* ---- the progress of all live rows ---- */

struct phrases_paths {
    struct phrases_progress *now, *next; /* [SEARCH_MAX_ROWS]; next is scratch */
    size_t total;                        /* tokens of all phrases */
};

/* Allocates in the search's arena. Returns -1 if memory runs out. */
int phrases_paths_init(const struct search *search, struct phrases_paths *paths);
/* Extends the path of row parents[r] by tokens[r], as row r. */
void phrases_paths_move(const struct search *search, struct phrases_paths *paths, size_t rows,
                        const size_t *parents, const int *tokens);
/* Reads the prefix, which may contain phrases. */
void phrases_paths_take_prefix(const struct search *search, struct phrases_paths *paths);
/* Returns true if a path with this progress and this many tokens has room for all phrases. */
bool phrases_paths_fit(const struct search *search, const struct phrases_paths *paths,
                       const struct phrases_progress *progress, size_t depth);

/* ---- the next token ---- */

/* Returns the most candidates that a row can have: each phrase may continue, and may begin. */
size_t phrases_most(const struct search *search);
/* Finds the tokens that continue or begin phrases in a row, at most phrases_most of them. No phrase
 * begins within a character. Returns their number. */
size_t phrases_next(const struct search *search, const struct distribution *rows, size_t row,
                    const struct phrases_progress *progress, struct candidate *out);
/* Returns true if the phrases forbid this token: it is </s> while one is missing, it is banned, it
 * would continue the last word of a phrase, or follow the phrase that comes last. at_end:
 * phrases_at_end, which the caller computes once for all tokens of a row. */
bool phrases_refuse(const struct search *search, const struct phrases_progress *progress,
                    bool at_end, int token);

#endif
