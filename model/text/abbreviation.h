/* Abbreviations whose full stop ends no sentence, and which CLDR's lists lack: Dr., p.m., z. B. */
#ifndef ALIGND_ABBREVIATION_H
#define ALIGND_ABBREVIATION_H

#include <stdbool.h>
#include <stddef.h>

struct abbreviations;

/* language: BCP-47. NULL: the module knows no abbreviations of the language. */
const struct abbreviations *abbreviations_of(const char *language);

/* A sentence goes on at a place where the general rules end it, because text[0,end) ends with an abbreviation, or with the first
 * part of one ("z. B."). text[next,length) follows, with white space between. all NULL: it never does.
 *
 * There are three kinds. After a title (Dr.) a sentence always continues; after a word such as No. it does before a digit. All
 * others (p.m., etc.) may end a sentence, too: they do where the next word is one with which sentences often begin and which has no
 * capital letter inside a sentence ("at 5 p.m. Then we left"), and do not before other words ("at 5 p.m. Tom came"), because two
 * sentences that are translated as one lose less than one that is cut in two. */
bool abbreviation_goes_on(const struct abbreviations *all, const char *text, size_t length, size_t end, size_t next);

#endif
