/* Languages: their names and codes, and which one a text is in. */
#ifndef ALIGND_LANGUAGES_H
#define ALIGND_LANGUAGES_H

#include <stdbool.h>
#include <stddef.h>

enum { LANGUAGE_NAME_BYTES = 64, LANGUAGE_CODE_BYTES = 16 };

/* The English name of a BCP-47 code: "French"; the code itself if it has none. */
void language_name(const char *code, char name[LANGUAGE_NAME_BYTES]);

/* A language's name in another language, UTF-8: "français" of "fr" in "fr", "Französisch" in "de"; the code itself if it has none.
 */
void language_name_in(const char *code, const char *in, char name[LANGUAGE_NAME_BYTES]);
/* The first language of an Accept-Language header; "en" where there is none that can be read. */
void language_preferred(const char *header, char code[LANGUAGE_CODE_BYTES]);
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

/* The terms of the confidence in a guess; python3 -m weights.detection fits their weights. */
enum language_feature {
    FEATURE_ONE,
    FEATURE_LETTERS,       /* the logarithm of the text's letters, of up to 60 */
    FEATURE_SAME,          /* 1: asked about all languages, the detector says the guessed one, too */
    FEATURE_SAME_SCORE,    /* that times its score, in thousands */
    FEATURE_SAME_LETTERS,  /* times the letters */
    FEATURE_OTHER,         /* 1: it says one that was not asked about */
    FEATURE_OTHER_SCORE,   /* times its score */
    FEATURE_OTHER_LETTERS, /* times the letters */
    FEATURE_FOREIGN, /* letters that the guessed language is not written with, by 10 of all, at most 1; names in capitals are free
                      */
    FEATURE_SAME_FOREIGN,       /* the same, times score, where both say the same language */
    FEATURE_SAME_SCORE_LETTERS, /* score times letters, where they do */
    LANGUAGE_FEATURES
};

struct language_guess {
    size_t index;      /* of codes */
    double confidence; /* 0 to 100: how often such a guess is right (weights/EXPERIMENTS.md has a table) */
    bool failed;       /* memory is out */
    double features[LANGUAGE_FEATURES];
};

/* Which of these languages [count >= 1] the text is in. text: valid UTF-8; markup: with tags, which do not count. A text in another
 * language gets a low confidence. Confidence 0: the language is unknown, and the index is 0. Thread-safe. */
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

/* ---- Compact Language Detector 2 (cld2.cc) ---- */

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
