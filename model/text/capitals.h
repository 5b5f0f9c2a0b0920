/* Texts that are written in capitals. Few of them are in what a model was trained on, and their pieces are letters: it does better
 * with the same text in small letters, its translation in capitals again.
 *
 * Letters change by Unicode's simple mappings, one character for one; a character that would then take another number of bytes
 * stays, so that every offset holds. weights/capitals.py does the same; tests/data/capitals.json holds both to it. */
#ifndef ALIGND_CAPITALS_H
#define ALIGND_CAPITALS_H

#include <stdbool.h>
#include <stddef.h>

enum { CAPITALS_LEAST = 5 }; /* letters: an abbreviation alone is no such text */

/* At least so many capital letters, and no small one. text: UTF-8. */
bool capitals_only(const char *text, size_t length);
/* All letters but the first become small, where they stand. */
void capitals_lower(char *text, size_t length);
/* All letters become capitals, where they stand. */
void capitals_raise(char *text, size_t length);

#endif
