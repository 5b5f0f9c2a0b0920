/* This module knows the names and codes of languages and the labels that models have for them, and
 * detects the language of a text. */
#ifndef ALIGND_LANGUAGES_H
#define ALIGND_LANGUAGES_H

#include <stdbool.h>
#include <stddef.h>

enum { LANGUAGE_NAME_BYTES = 64, LANGUAGE_CODE_BYTES = 16, VARIANT_CODE_BYTES = 64 };

/* ---- names and codes ---- */

/* Writes the English name of a BCP-47 code, "French"; the code itself if it has no name. */
void language_name(const char *code, char name[LANGUAGE_NAME_BYTES]);

/* Writes a language's name in another language, UTF-8: "français" of "fr" in "fr", "Französisch" in
 * "de"; the code itself if it has no name. */
void language_name_in(const char *code, const char *in, char name[LANGUAGE_NAME_BYTES]);
/* Writes the first language of an Accept-Language header, or "en" if that is not valid. */
void language_preferred(const char *header, char code[LANGUAGE_CODE_BYTES]);
/* Returns true if this is the code of a language in ISO 639. */
bool language_known(const char *code);
/* Returns true if the language is written from right to left. */
bool language_is_rtl(const char *code);

/* Returns true if two codes are equal, ignoring case and the difference between '-' and '_'. */
bool language_same(const char *a, const char *b);
/* Cuts off the last part of a code: "en-US" becomes "en". Returns false if the code has only one
 * part. */
bool language_widen(char *code);

/* The distance of a model's language from the requested one. 0: the same language, possibly under
 * another code ("iw" is "he"). Wider codes ("pt" for "pt-BR": 1) are nearer than narrower ones
 * ("pt-BR" for "pt"). LANGUAGE_FAR: another language. */
enum { LANGUAGE_NARROWER = 16, LANGUAGE_FAR = 32 };
int language_distance(const char *has, const char *asked);

/* ---- variants: the labels of a model of several languages ---- */

/* Returns the label [count] that is this code or for this language; NULL: there is none. Case is
 * ignored, and codes of two and three letters (ISO 639) are equivalent: "pt-BR" is pt_br before
 * por, "sr" srp_Cyrl, "zh" cmn_Hans. */
const char *language_among(const char *const *labels, size_t count, const char *code);

/* Sets code to the variant as a BCP-47 code ("fr" for fra), or to the variant itself if it has no
 * code. */
void variant_code(const char *variant, char code[VARIANT_CODE_BYTES]);

/* Sets flores to the code that Flores-200 and the NLLB models have for a BCP-47 code: "eng_Latn"
 * for "en"; to the code itself if it is none. */
void language_flores(const char *code, char flores[VARIANT_CODE_BYTES]);

/* ---- detection ---- */

/* The terms of the confidence in a guess; python3 -m weights.evaluation.detection fits their
 * weights. */
enum language_feature {
    FEATURE_ONE,
    FEATURE_LETTERS,      /* the logarithm of the number of letters, at most 60 */
    FEATURE_SAME,         /* 1: without expected languages the detector reports the same language */
    FEATURE_SAME_SCORE,   /* the same, times its score in thousands */
    FEATURE_SAME_LETTERS, /* the same, times the letters */
    FEATURE_OTHER, /* 1: the detector reports a language that is not among those asked about */
    FEATURE_OTHER_SCORE,   /* the same, times its score */
    FEATURE_OTHER_LETTERS, /* the same, times the letters */
    FEATURE_FOREIGN, /* share of letters that the guessed language does not use, times 10, at most
                        1; without capitalized words */
    FEATURE_SAME_FOREIGN,       /* the same, times score, if both report the same language */
    FEATURE_SAME_SCORE_LETTERS, /* score times letters, if both report the same language */
    LANGUAGE_FEATURES
};

struct language_guess {
    size_t index;      /* index of the code */
    double confidence; /* 0 to 100: how often such a guess is right (weights/EXPERIMENTS.md has a
                          table) */
    char other[LANGUAGE_CODE_BYTES]; /* "" unless none of the languages is written in the text's
                                        script: then the text's own language in BCP-47, or "und" if
                                        that is unknown; the confidence is 0 */
    bool failed;                     /* out of memory */
    double features[LANGUAGE_FEATURES];
};

/* Detects which of these languages [count >= 1] the text is in. text: valid UTF-8; markup: the text
 * has tags, which are ignored. A text in another language gets a low confidence. Confidence 0: the
 * language is unknown. Thread-safe. */
struct language_guess language_detect(const char *text, size_t length, bool markup,
                                      const char *const *codes, size_t count);

/* The language that a text appears to be in. */
struct language_other {
    char code[LANGUAGE_CODE_BYTES]; /* BCP-47; "": the expected language, or unknown */
    bool failed;                    /* out of memory */
};

/* Guesses whether a text [length], valid UTF-8, is in another language than the expected one
 * (code), from its first 4,096 bytes. likely [count]: the languages that a short text in Latin
 * letters may be in, since its few letters fit almost any language. If the detector does not know
 * the expected language, no text is suspected. Thread-safe. */
struct language_other language_check(const char *text, size_t length, const char *code,
                                     const char *const *likely, size_t count);

#endif
