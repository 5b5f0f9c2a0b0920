/* How far the paths of a search are with the phrases that must come, and what the next token of a phrase counts. The searches that
 * bring phrases share it: search_constrained.c and search_sample.c. Included by search*.c only. */
#ifndef ALIGND_SEARCH_PHRASES_H
#define ALIGND_SEARCH_PHRASES_H

#include "model/search/search_kind.h"

struct phrase_paths {
    struct progress now[SEARCH_MAX_ROWS], next[SEARCH_MAX_ROWS]; /* of the live rows; next is scratch */
    struct progress trial;
    size_t total; /* tokens of all phrases */
};

/* In the search's arena. -1: memory is out. */
int phrase_paths_init(const struct search *search, struct phrase_paths *paths);
/* The prefix may hold phrases. */
void phrase_paths_take_prefix(const struct search *search, struct phrase_paths *paths);
/* After search_extend: the progress of each live row. */
void phrase_paths_move(const struct search *search, struct phrase_paths *paths);

/* True if a path with this progress and so many tokens can still hold all phrases. */
bool phrase_paths_fit(const struct search *search, const struct phrase_paths *paths, const struct progress *progress, size_t depth);

/* The tokens that continue or begin phrases in a row, at most phrases_most of them. No phrase begins within a character. */
size_t phrases_next(const struct search *search, const struct distribution *rows, size_t row, const struct progress *progress,
                    struct candidate *out);
size_t phrases_most(const struct search *search);

/* True if this token is refused for the phrases' sake: one is missing, or the last would not be a whole word. at_end:
 * progress_at_end, which the caller finds out once for all tokens of a row. */
bool phrases_refuse(const struct search *search, const struct progress *progress, bool at_end, int token);

#endif
