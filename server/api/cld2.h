/* Compact Language Detector 2 for C: its only caller is language.c. */
#ifndef ALIGND_CLD2_H
#define ALIGND_CLD2_H

#include <stdbool.h>
#include <stddef.h>

enum { CLD2_GUESSES = 3, CLD2_CODE_BYTES = 16 };

struct cld2_guess {
    char code[CLD2_CODE_BYTES];
    int percent;  /* of the text */
    double score; /* of its letters, for each kB: about 1,000 where they are what the language usually has */
};

/* The likeliest languages of a text of any bytes, best first; returns how many. expected: codes with commas between them, which it
 * should rather be; NULL: none. -1: memory is out. Thread-safe. */
int cld2_detect(const char *text, size_t length, bool markup, const char *expected, struct cld2_guess guesses[CLD2_GUESSES]);

/* It can tell texts in this language (BCP-47). */
bool cld2_knows(const char *code);
/* Two codes of a language that it knows: "nb" and "no", "he" and "iw". */
bool cld2_same(const char *a, const char *b);

#endif
