/* What must stand in a sentence's translation (translator_constrain): the glossary's phrases and the placeholders. */
#ifndef ALIGND_GLOSSARY_H
#define ALIGND_GLOSSARY_H

#include "model/sentence.h"
#include "model/text/tokenizer.h"

/* Source phrase -> target phrase, both NUL-terminated, not blank. */
struct glossary_entry {
    const char *source, *target;
};
struct glossary {
    const struct glossary_entry *entries; /* [count]; they and their strings outlive all sentences */
    size_t count;
    struct glossary_phrase *phrases; /* [count] as one translator writes them, once they have been found */
    struct arena *arena;             /* of the phrases */
};

/* A glossary for sentences of one translator; all of it lives in the arena, for as long as they do. -1 with ERROR_MEMORY. */
int glossary_init(struct glossary *glossary, const struct glossary_entry *entries, size_t count, struct arena *arena,
                  struct error *err);

/* Makes a prepared sentence's translation hold a target phrase wherever a source phrase stands in its text, and every placeholder
 * (model/text/placeholder.h) as it is; nothing changes where there are none. Behind translator_begin_with; for strategies beam and
 * greedy, with others nothing happens. Where source phrases overlap the first counts, of those that begin together the longest;
 * they are found as whole words, with the case as given or with a first letter of the other case. -1 with ERROR_INPUT if the model
 * cannot write a phrase, with ERROR_LENGTH if they are of more than TRANSLATOR_MAX_TARGET tokens, or with ERROR_MEMORY. */
int translator_constrain(struct sentence *sentence, struct glossary *glossary, struct error *err);

/* What the target's phrases do not end before: a table of pieces that continue a word, or NULL where each piece is a word or a
 * character. To be freed. -1 with ERROR_MEMORY. */
int glossary_continues(const struct tokenizer *target, bool **continues, struct error *err);

/* The occurrence of an entry's source phrase at or behind text[*at], moving *at behind it: the first, of those that begin there the
 * longest. false: there is none. */
bool glossary_next(const struct glossary *glossary, const char *text, size_t length, size_t *at, struct span *found,
                   const struct glossary_entry **entry);

/* True if source token j is a placeholder that a phrase brings through. */
bool glossary_holds(const struct sentence *sentence, size_t j);

/* Printed as a piece in this place; previous: the one before it, NULL: none. A placeholder that touches in the source what comes
 * before it does so in the translation, where that is the same character. */
const char *glossary_piece(const struct sentence *sentence, const struct token *token, const char *previous, struct arena *arena);

#endif
