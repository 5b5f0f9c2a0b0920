/* This module finds the phrases of a glossary, and the parts that are copied unchanged, in a text.
 */
#ifndef ALIGND_LEXICON_H
#define ALIGND_LEXICON_H

#include "model/text/spans.h"

/* ---- source phrases, sorted so that a text need not be compared with each of ten thousand ---- */

/* Source phrase -> target phrase, both NUL-terminated, not blank. A target may list several phrases
 * separated by '|', one of which the translation contains. */
struct glossary_entry {
    const char *source, *target;
};

/* Immutable after lexicon_init and therefore thread-safe. */
struct lexicon {
    const struct glossary_entry *entries; /* [count]; they and their strings outlive it */
    struct lexicon_key {
        const struct glossary_entry *entry;
        const int32_t *letters; /* the source phrase in small letters, decomposed, 0 at the end */
    } * order;                  /* [count] by letters; equal source phrases are neighbours */
    size_t count;
};

/* Sorts the entries, in the arena. Returns -1 with ERROR_MEMORY. */
int lexicon_init(struct lexicon *lexicon, const struct glossary_entry *entries, size_t count,
                 struct arena *arena, struct error *err);

/* Finds the next source phrase at or after text[*at] and moves *at to its end. Returns false if
 * there is none. Phrases match whole words. Canonically equivalent characters match, and so do all
 * kinds of spaces. Case matters, except that of the first letter and where the text is in capitals:
 * five letters of the phrase, or the words around it. Of phrases that begin at the same place, the
 * longest is found; of entries that differ only in case, the one that is most like the text. text:
 * valid UTF-8. Time per word is at most about (bytes that the text shares with a phrase) x
 * log(count). */
bool lexicon_next(const struct lexicon *lexicon, const char *text, size_t length, size_t *at,
                  struct span *found, const struct glossary_entry **entry);

/* Returns true if the text has the entry's phrase, which was found there, in capitals, and the
 * entry has not. */
bool lexicon_raises(const struct glossary_entry *entry, const char *text, size_t length,
                    struct span span);

/* Returns whether text[at], which a phrase may begin or end at, is not inside a word. */
bool lexicon_edge(const char *text, size_t length, size_t at);

/* ---- parts that are copied byte for byte: opaque runs, and the strings and patterns that a client
 * names ---- */

struct protection {
    struct lexicon strings;      /* found like a glossary's source phrases (lexicon_next) */
    const char *const *patterns; /* [pattern_count], which outlive it */
    size_t pattern_count;
};

/* A protection, ready for the texts of one request; zeroed, it finds only opaque runs. Belongs to
 * one thread. */
struct guard {
    const struct lexicon *strings; /* or NULL */
    struct pattern **patterns;     /* [pattern_count] */
    size_t pattern_count;
    int64_t left_ns; /* processor time that the patterns may still take, in all texts together */
};

/* Opens a guard. protection: NULL, or it outlives the guard. Call guard_done whether this fails or
 * not. Returns -1 with ERROR_INPUT (a pattern) or ERROR_MEMORY. */
int guard_open(struct guard *guard, const struct protection *protection, struct error *err);
void guard_done(struct guard *guard);

/* Finds all parts of a text that must be held, in the arena. Where parts overlap, the first counts;
 * of those that begin at the same place, the longest. notations: sets of them (notation_set). text:
 * valid UTF-8. Returns -1 with ERROR_LENGTH (the patterns took too long) or ERROR_MEMORY. */
int guard_find(struct guard *guard, unsigned notations, struct bytes text, struct arena *arena,
               struct opaque_runs *out, struct error *err);

#endif
