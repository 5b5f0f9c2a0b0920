/* Languages: their names and codes, and which one a text is in. */
#ifndef ALIGND_LANGUAGE_H
#define ALIGND_LANGUAGE_H

#include <stdbool.h>
#include <stddef.h>

enum { LANGUAGE_NAME_BYTES = 64 };

/* The English name of a BCP-47 code: "French"; the code itself if it has none. */
void language_name(const char *code, char name[LANGUAGE_NAME_BYTES]);

/* The same language: letters of either case count alike, and so do '-' and '_'. */
bool language_same(const char *a, const char *b);
/* Cuts the last part off a code: "en-US" becomes "en". False if there is but one. */
bool language_widen(char *code);

struct language_guess {
    size_t index;      /* of codes */
    double confidence; /* 0 to 100: the share of the text */
    bool failed;       /* memory is out */
};

/* Which of these languages [count >= 1] the text is in. text: valid UTF-8; markup: with tags, which do not count. 0 confidence: no
 * telling; the index is then 0. Thread-safe. */
struct language_guess language_detect(const char *text, size_t length, bool markup, const char *const *codes, size_t count);

#endif
