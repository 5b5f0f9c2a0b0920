/* What must stand in a sentence's translation (translator_constrain): the glossary's phrases and what is held. */
#ifndef ALIGND_GLOSSARY_H
#define ALIGND_GLOSSARY_H

#include "model/lexicon.h"
#include "model/sentence.h"
#include "model/text/tokenizer.h"

enum {
    GLOSSARY_VARIANTS = 8, /* target phrases of an entry, with '|' between them; further ones count for nothing */
    GLOSSARY_BUCKETS = 64
};

/* The entries that the sentences of one translator hold, and what the translator writes for those that were found. */
struct glossary {
    const struct lexicon *lexicon; /* NULL: none */
    struct glossary_phrase *buckets[GLOSSARY_BUCKETS];
    struct arena *arena; /* of the phrases */
};

/* lexicon, NULL allowed, and arena live as long as the sentences do. */
void glossary_init(struct glossary *glossary, const struct lexicon *lexicon, struct arena *arena);

/* Makes a prepared sentence's translation hold a target phrase wherever a source phrase stands in its text, and all that is held
 * of it (sentence.held) as it is; nothing changes where there are none. Behind translator_begin_with; for strategies beam and
 * greedy, with others nothing happens. Where source phrases overlap the first counts, of those that begin together the longest
 * (lexicon_next). Of an entry's target phrases it holds the one that the search likes best. -1 with ERROR_INPUT if the model cannot
 * write a phrase, with ERROR_LENGTH if they are of more than TRANSLATOR_MAX_TARGET tokens, or with ERROR_MEMORY. */
int translator_constrain(struct sentence *sentence, struct glossary *glossary, struct error *err);

/* What the target's phrases do not end before: a table of pieces that continue a word, or NULL where each piece is a word or a
 * character. To be freed. -1 with ERROR_MEMORY. */
int glossary_continues(const struct tokenizer *target, bool **continues, struct error *err);

/* True if source token j is a placeholder that a phrase brings through. */
bool glossary_holds(const struct sentence *sentence, size_t j);

/* The opaque run that a token of the sentence's translation is; NULL: it is none. */
const struct opaque_run *glossary_run(const struct sentence *sentence, int token);

/* The runs that came through to a hypothesis: where they stand in the sentence's text and in its rendering, each list in order. */
struct glossary_runs {
    struct span *source, *target; /* [count] */
    size_t count;
};
/* All in the arena. -1 with ERROR_MEMORY. */
int glossary_runs_find(const struct sentence *sentence, const struct hypothesis *hypothesis, const struct token *rendered,
                       struct arena *arena, struct glossary_runs *out, struct error *err);

/* Printed as a piece in this place; previous: the one before it, NULL: none. A placeholder that touches in the source what comes
 * before it does so in the translation, where that is the same character. */
const char *glossary_piece(const struct sentence *sentence, const struct token *token, const char *previous, struct arena *arena);

#endif
