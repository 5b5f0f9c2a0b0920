/* Phrases that must come: how far a path of tokens is with them. Knows neither search nor text. */
#ifndef ALIGND_PHRASE_H
#define ALIGND_PHRASE_H

#include <stdbool.h>
#include <stddef.h>

/* Tokens that must stand on the path in a row; a phrase that must come twice is there twice. So many phrases before and behind it
 * in the list say the same in other ways: one of them must come, and once it has, none of the others will. */
struct phrase {
    const int *tokens; /* [length], 1.. */
    size_t length;
    size_t first, count; /* the source tokens that it translates; count 0: not known */
    size_t before, behind;
    int stand_ins[2]; /* the tokens of which its own one has the better probability, for it is in no vocabulary; -1: none */
};

struct phrases {
    const struct phrase *list;
    size_t count;
    const bool *continues; /* [size] tokens that continue a word: a phrase does not end before one; NULL: none does */
    size_t size;
    const int *banned; /* [banned_count] stand-ins, which do not come themselves */
    size_t banned_count;
};

struct progress {
    bool *met;         /* [count] whose tokens are on the path, or another way's; no token is of two phrases */
    size_t met_tokens; /* a phrase counts as the longest of its ways */
    size_t open, at;   /* the last `at` tokens begin phrase `open`, or are all of it; at 0: none */
};

bool phrase_continues(const struct phrases *phrases, int token);
/* Of all that must come, each in the longest of its ways. */
size_t phrases_tokens(const struct phrases *phrases);

/* Phrase q may go on, or begin where at is 0, with its token at progress->at. */
bool progress_may_advance(const struct phrases *phrases, const struct progress *progress, size_t q);
/* The open tokens are phrase q from its beginning, or all of it. */
bool progress_begins(const struct phrases *phrases, const struct progress *progress, size_t q);
/* The longest phrase that the open tokens hold from their beginning; phrases->count: none. */
size_t progress_held(const struct phrases *phrases, const struct progress *progress);
/* True if the last token ends a phrase. */
bool progress_at_end(const struct phrases *phrases, const struct progress *progress);
/* Tokens that are met or open: out of phrases_tokens. What a shorter way saves counts as met. */
size_t progress_tokens(const struct phrases *phrases, const struct progress *progress);
/* True if the path may end here. */
bool progress_complete(const struct phrases *phrases, const struct progress *progress);

/* The progress of a path with this token behind it. to->met has room, and is not from->met. */
void progress_take(const struct phrases *phrases, const struct progress *from, int token, struct progress *to);

#endif
