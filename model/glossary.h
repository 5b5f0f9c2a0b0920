/* This module constrains a translation. It finds the phrases of a glossary, and the parts that are
 * copied unchanged, in a text, and makes a search write them (glossary_constrain). */
#ifndef ALIGND_GLOSSARY_H
#define ALIGND_GLOSSARY_H

#include "model/sentence.h"
#include "model/text/spans.h"
#include "model/text/tokenizer.h"

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
int guard_find(struct guard *guard, unsigned notations, const char *text, size_t length,
               struct arena *arena, struct opaque_runs *out, struct error *err);

/* ---- making a translation hold them ---- */

enum {
    GLOSSARY_VARIANTS = 8, /* target phrases of an entry; further ones are ignored */
    GLOSSARY_BUCKETS = 64
};

/* The entries that the sentences of one translator hold, and how the translator writes those that
 * were found. */
struct glossary {
    const struct lexicon *lexicon; /* or NULL */
    struct glossary_phrase *buckets[GLOSSARY_BUCKETS];
    struct arena *arena; /* the arena of the phrases */
    bool hides; /* terms with one phrase are hidden from the model, so that it translates no part of
                   them */
};

/* lexicon (may be NULL) and arena must outlive the sentences. */
void glossary_init(struct glossary *glossary, const struct lexicon *lexicon, struct arena *arena);

/* Makes the translation of a prepared sentence contain a target phrase for each source phrase in
 * its text, and all runs of sentence.held unchanged. Call it after sentence_begin_with. It is a
 * no-op if there are neither, or if the target is given (sentence_force). If there is next to
 * nothing to read besides the runs, the translation is the text itself (untranslated). If an entry
 * has several target phrases, the search chooses one of them. Returns -1 with ERROR_INPUT if the
 * model cannot write a phrase, ERROR_LENGTH if they have more than TRANSLATOR_MAX_TARGET tokens, or
 * ERROR_MEMORY. */
int glossary_constrain(struct sentence *sentence, struct glossary *glossary, struct error *err);

/* Makes a table of pieces that continue a word, before which a phrase of the target must not end;
 * NULL if each piece is a word or a character. The caller frees it. Returns -1 with ERROR_MEMORY.
 */
int glossary_continues(const struct tokenizer *target, bool **continues, struct error *err);

/* Returns true if a hypothesis has a word, besides a glossary's phrase, that translates the
 * phrase's term: most of the weight of its alignment lies there. Memory is the scratch arena's. */
bool glossary_leaves_rest(const struct sentence *sentence, const struct hypothesis *h,
                          struct arena *scratch);

/* Returns true if source token j is a held run that a phrase copies. */
bool glossary_holds(const struct sentence *sentence, size_t j);

/* Returns the opaque run that a token of the sentence's translation is, or NULL. */
const struct opaque_run *glossary_run(const struct sentence *sentence, int token);

/* Returns whether a run has neither letters nor digits. */
bool glossary_run_is_signs(const struct sentence *sentence, const struct opaque_run *run);

/* Returns true if a token of the sentence's translation is a symbol that no white space follows in
 * the source, so that none follows it in the translation. */
bool glossary_touches_next(const struct sentence *sentence, int token);

/* The runs that were copied to a hypothesis: their places in the sentence's text and in its
 * rendering, each list in order. */
struct glossary_runs {
    struct span *source, *target; /* [count] */
    size_t count;
};
/* Finds these runs, in the arena. Returns -1 with ERROR_MEMORY. */
int glossary_runs_find(const struct sentence *sentence, const struct hypothesis *hypothesis,
                       const struct token *rendered, struct arena *arena, struct glossary_runs *out,
                       struct error *err);

/* Returns the token as a piece in this place. previous: the piece before it, or NULL. A run that
 * touches the character before it in the source does so in the translation, too, if that is the
 * same character. */
const char *glossary_piece(const struct sentence *sentence, const struct token *token,
                           const char *previous, struct arena *arena);

#endif
