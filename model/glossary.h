/* What must stand in a sentence's translation (translator_constrain): the glossary's phrases and the placeholders. */
#ifndef ALIGND_GLOSSARY_H
#define ALIGND_GLOSSARY_H

#include "model/translator.h"

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
