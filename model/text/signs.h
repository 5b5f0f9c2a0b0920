/* Signs are what a translation must keep although it is not language: symbols, quotation marks and
 * brackets in pairs, marks in a row, tabs and line ends. This module reads them in a text and its
 * translation, and compares them.
 *
 * A sign is each character except letters, digits, spaces, and punctuation that languages set
 * differently (. , ; : ! ? - and dashes, apostrophes, the ellipsis). An apostrophe after a digit
 * means feet or minutes and is a sign, and so is an en dash that touches what it joins, which a
 * hyphen or a word may replace. Two or more equal marks in a row are one sign. Quotation marks of
 * all forms are equal if they play the same part: they open, close, or stand alone; a pair that is
 * spaced on one side only differs from one that is not, and so do marks such as * that stood at
 * both ends of a phrase and no longer do. The words that may replace a sign, and the punctuation
 * and quotation marks of languages, are rows of signs.def.
 *
 * Short words in capitals among words in small letters are signs, too, if they are names: WHO,
 * NASA, and the letter of Plan A. The form alone does not tell them from emphasis. So a word is a
 * name only if no vocabulary has it in small letters as one piece, or if signs.def says so. A
 * translation may write another name of about the same length (UE for EU), and names that it adds
 * do not count. */
#ifndef ALIGND_SIGNS_H
#define ALIGND_SIGNS_H

#include "model/text/spans.h"

struct sign_language; /* a row of signs.def */
struct tokenizer;

/* The two languages of a translation, and its vocabularies. */
struct sign_rules {
    const struct sign_language *source, *target;
    const struct tokenizer *vocabularies[2]; /* NULL: only words of signs.def are names */
};
/* source, target: BCP-47; "": none. The vocabularies are NULL. */
struct sign_rules signs_rules(const char *source, const char *target);

/* Returns true if the text may have signs, after one look at each of its bytes. An apostrophe
 * counts as a possible quotation mark only after white space or at the beginning. */
bool signs_any(const struct sign_rules *rules, const char *text, size_t length);
/* Returns true if the text may have names: two capitals side by side, or one that stands alone
 * after a space. */
bool signs_any_names(const struct sign_rules *rules, const char *text, size_t length);
/* Returns true if the text is one mark that is a sign only if it stands beside itself. */
bool signs_mark(const struct sign_rules *rules, const char *text, size_t length);

struct sign {
    struct span span;
    uint32_t key;   /* signs with equal keys are equal */
    bool weak;      /* needs no equal */
    size_t partner; /* the sign that closes or opens the same phrase, or itself */
};
bool signs_is_name(const struct sign *sign);

struct signs {
    const char *text; /* the text that has them */
    struct sign *all; /* [count], in the order of the text */
    size_t count;
};

/* skip: parts of the text to leave out; NULL: none. text: valid UTF-8. Takes time proportional to
 * the length. Returns -1 with ERROR_MEMORY. */
int signs_read(const struct sign_rules *rules, struct bytes text, const struct spans *skip,
               struct arena *arena, struct signs *out, struct error *err);

/* The signs of each side that have no equal on the other, in the arena. */
struct sign_difference {
    struct spans source, target;
};
/* Compares the signs of two NUL-terminated texts. Takes the time of sorting. Returns -1 with
 * ERROR_MEMORY. */
int signs_compare(const struct sign_rules *rules, const struct signs *source,
                  const struct signs *target, struct arena *arena, struct sign_difference *out,
                  struct error *err);

/* Returns the number of pairs of quotation marks that have white space on the inner side of one
 * mark only, and of straight marks with white space on both sides; marks of other forms between the
 * two of a pair do not count. *at: the last such mark. Unlike signs_read, it also finds pairs that
 * do not nest. Takes time proportional to the length. */
size_t signs_lopsided(const char *text, size_t length, struct span *at);

/* Returns the target language's form of a quotation mark, in which case *span also has the white
 * space on its inner side; or NULL if the sign stays as it is. */
const char *signs_write(const struct sign_rules *rules, const char *text, size_t length,
                        const struct sign *sign, struct span *span);

#endif
