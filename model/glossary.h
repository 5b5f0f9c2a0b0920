/* This module constrains a translation: a search writes the phrases of a glossary and the parts
 * that are copied unchanged (glossary_constrain), which model/lexicon.h finds. */
#ifndef ALIGND_GLOSSARY_H
#define ALIGND_GLOSSARY_H

#include "model/lexicon.h"
#include "model/sentence.h"
#include "model/text/spans.h"
#include "model/text/tokenizer.h"

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

/* Returns the spaces beyond the first that precede a token of the sentence's translation in the
 * source if it is an opaque run, or follow it. */
size_t glossary_extra_spaces(const struct sentence *sentence, int token, bool after);

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
