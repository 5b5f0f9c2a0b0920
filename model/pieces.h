/* Which target pieces a language uses, counted from text: the list of target ids that a model of many languages has for each of its
 * languages (model/weights/shortlist.h). */
#ifndef ALIGND_PIECES_H
#define ALIGND_PIECES_H

#include "model/base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The counts of one language. One thread at a time. */
struct pieces;

/* Reads config.json and the target vocabulary of a model folder, but not its weights. language: a code or an alias. NULL with
 * ERROR_INPUT (the model has no languages, or not this one), ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY. */
struct pieces *pieces_open(const char *folder, const char *language, struct error *err);
void pieces_free(struct pieces *pieces); /* accepts NULL */

/* The language's code in config.json. */
const char *pieces_language(const struct pieces *pieces);
/* True if translations are chosen from lists by default (defaults.shortlist of config.json). */
bool pieces_used(const struct pieces *pieces);

/* Counts the pieces of a text in the language: valid UTF-8. -1 with ERROR_LENGTH, ERROR_INPUT or ERROR_MEMORY. */
int pieces_count(struct pieces *pieces, const char *text, size_t length, struct error *err);

/* The most frequent pieces that together make up a share of the text, 0 to 1, but not more than `most` of them (0: no limit). */
struct pieces_wanted {
    double share;
    size_t most;
};

struct pieces_list {
    int32_t *ids; /* [count] ascending, malloc'ed */
    size_t count;
    size_t counted;   /* how many of them were chosen by their counts; the others are there to spell with */
    uint64_t tokens;  /* of the whole text, without unknown ones */
    uint64_t covered; /* how many of these are on the list */
};

/* Makes the list. Besides the pieces that are chosen by their counts it has </s>, <unk>, the pieces of bytes, and each piece of one
 * character that belongs to ASCII, to no script, or to a script that at least a hundredth of the text's characters have, so that a
 * word that the text lacks can be spelled. The language's token is not on it, as it is read and never chosen. -1 with ERROR_INPUT
 * (the text has no pieces) or ERROR_MEMORY. */
int pieces_choose(const struct pieces *pieces, const struct pieces_wanted *wanted, struct pieces_list *out, struct error *err);

#endif
