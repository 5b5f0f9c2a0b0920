/* The source phrases of a glossary, ordered so that what a text has of ten thousand is found without trying each. */
#ifndef ALIGND_LEXICON_H
#define ALIGND_LEXICON_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include "model/text/segmenter.h"
#include <stdbool.h>
#include <stddef.h>

/* Source phrase -> target phrase, both NUL-terminated, not blank. Of target phrases with '|' between them one is to be used. */
struct glossary_entry {
    const char *source, *target;
};

/* Immutable once it is made: any threads may look things up. */
struct lexicon {
    const struct glossary_entry *entries; /* [count]; they and their strings outlive it */
    const struct glossary_entry **order;  /* [count] by source phrase, the first letter taken as a small one */
    size_t count;
};

/* In the arena. -1 with ERROR_MEMORY. */
int lexicon_init(struct lexicon *lexicon, const struct glossary_entry *entries, size_t count, struct arena *arena,
                 struct error *err);

/* The occurrence of an entry's source phrase at or behind text[*at], moving *at behind it: the first, of those that begin there the
 * longest; as whole words, with the case as given or with a first letter of the other case; of two entries that differ in that
 * letter alone, the one with the text's. text: valid UTF-8. false: there is none. Time: for each word about (bytes of the longest
 * phrase that the text there begins) x log(count), whatever the entries are. */
bool lexicon_next(const struct lexicon *lexicon, const char *text, size_t length, size_t *at, struct span *found,
                  const struct glossary_entry **entry);

#endif
