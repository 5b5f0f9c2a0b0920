/* Languages: their names and codes, and which one a text is in. */
#ifndef ALIGND_LANGUAGE_H
#define ALIGND_LANGUAGE_H

#include <stdbool.h>
#include <stddef.h>

enum { LANGUAGE_NAME_BYTES = 64, LANGUAGE_CODE_BYTES = 16 };

/* The English name of a BCP-47 code: "French"; the code itself if it has none. */
void language_name(const char *code, char name[LANGUAGE_NAME_BYTES]);

/* The language's name in itself, UTF-8: "français"; the code itself if it has none. */
void language_own_name(const char *code, char name[LANGUAGE_NAME_BYTES]);
/* Written from right to left. */
bool language_is_rtl(const char *code);

/* The same language: letters of either case count alike, and so do '-' and '_'. */
bool language_same(const char *a, const char *b);
/* Cuts the last part off a code: "en-US" becomes "en". False if there is but one. */
bool language_widen(char *code);

/* How far a model's language is from the one asked for: 0: the same, also by another code for it ("iw" is "he"); the more, the
 * wider
 * ("pt" for "pt-BR": 1), then narrower ("pt-BR" for "pt"). LANGUAGE_FAR: another one. */
enum { LANGUAGE_NARROWER = 16, LANGUAGE_FAR = 32 };
int language_distance(const char *has, const char *asked);

struct language_guess {
    size_t index;      /* of codes */
    double confidence; /* 0 to 100: the share of the text */
    bool failed;       /* memory is out */
};

/* Which of these languages [count >= 1] the text is in. text: valid UTF-8; markup: with tags, which do not count. 0 confidence: no
 * telling; the index is then 0. Thread-safe. */
struct language_guess language_detect(const char *text, size_t length, bool markup, const char *const *codes, size_t count);

/* The language that a text looks like. */
struct language_other {
    char code[LANGUAGE_CODE_BYTES]; /* BCP-47; "": the one it should be in, or there is no telling */
    bool failed;                    /* memory is out */
};

/* Whether a text [length], valid UTF-8, is in another language than it should be (code): the first 4,096 bytes say so. likely
 * [count]: the languages that a short text in Latin letters may turn out to be in; its few letters could be of almost any other.
 * Of a language that the detector does not know no text is suspected. Thread-safe. */
struct language_other language_check(const char *text, size_t length, const char *code, const char *const *likely, size_t count);

#endif
