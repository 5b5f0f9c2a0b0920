/* Articles, pronouns and conjunctions that lose their vowel before another word: J'aime, qu'il, dell'arte. */
#ifndef ALIGND_ELISION_H
#define ALIGND_ELISION_H

#include <stddef.h>

/* Bytes of the elided word at the beginning of a word, its apostrophe among them; 0: none, or nothing stands behind it. */
size_t elision_length(const char *word, size_t length);

#endif
