/* Amounts in text: numbers with their signs, currencies, percentages, decimals and digit groups. They are read in two languages,
 * compared, and written as the other language writes them.
 *
 * A number in digits has to have its equal on the other side; a number word (two, deux, third, XIX, May) has not, but it may be the
 * equal of one in digits: "2 dogs" and "deux chiens" agree, and so do "one of them" and "a dog". What is glued to letters (A380,
 * 4x4) is a code, not an amount, and counts like a word. Equal are 1,250.50 in English and 1 250,50 in French; $5, 5 $ and 5
 * dollars; $5 million and 5 millions de dollars; 3:30 p.m. and 15 h 30; the 1990s and les années 90. */
#ifndef ALIGND_NUMBERS_H
#define ALIGND_NUMBERS_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include "model/text/number_words.h"
#include "model/text/opaque.h"
#include "model/text/segmenter.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One of a language; immutable, shared by all threads. *numbers NULL: ICU does not know how that language writes numbers.
 * language: BCP-47. -1 with ERROR_MEMORY. */
int numbers_open(const char *language, struct number_words **numbers, struct error *err);

/* True if there is a digit. Costs a look at each byte. */
bool numbers_any(const char *text, size_t length);

struct number_value {
    uint64_t mantissa; /* not divisible by 10 unless it is 0; of more than 18 digits a hash, and exponent NUMBER_LONG */
    int exponent;
};
enum { NUMBER_LONG = INT16_MIN };

struct amount {
    struct span span;   /* as it is written, sign and unit included */
    struct span digits; /* the number alone; of words all of them */
    struct span symbol; /* a currency's or percent's sign, or unit, that belongs to the amount; empty: there is none */
    struct span power;  /* "million" */
    size_t named;       /* where the word ends that names the sign, with nothing strange before it; 0: there is none */
    struct number_value value, other; /* other: what it may mean as well, mantissa 0 where it may not */
    number_sign sign, shared;         /* shared: of its neighbour, which it may have as well: 5 to 10 dollars */
    uint64_t letters;                 /* inside */
    bool weak;                        /* needs no equal: words, codes */
    bool negative, perhaps_negative;
    bool clock, minute, decade, half, ordinal, grouped;
    bool abbreviated; /* a year without its century: 2011/12, '98 */
    bool foreign;     /* its separators are another language's */
    int tens;         /* power of ten of .power */
};

struct amounts {
    struct amount *all; /* [count], in the order of the text */
    size_t count;
};

/* skip [skip_count]: parts of the text that are left out, in order. text: valid UTF-8. Time: proportional to the length. -1 with
 * ERROR_MEMORY. */
int numbers_read(const struct number_words *words, const char *text, size_t length, const struct span *skip, size_t skip_count,
                 struct arena *arena, struct amounts *out, struct error *err);

/* Amounts of both sides that have no equal on the other, at most NUMBERS_SHOWN each; both empty: they agree. */
enum { NUMBERS_SHOWN = 64 };
struct number_difference {
    struct span source[NUMBERS_SHOWN], target[NUMBERS_SHOWN];
    size_t source_count, target_count;
};
/* Time: that of sorting. -1 with ERROR_MEMORY. */
int numbers_compare(const struct amounts *source, const struct amounts *target, struct arena *arena, struct number_difference *out,
                    struct error *err);

/* The amount as this language writes it, NUL-terminated; *part: what it takes the place of. NULL in *written: it is better left to
 * the translation (words, codes). -1 with ERROR_MEMORY. */
int numbers_write(const struct number_words *words, const char *text, const struct amount *amount, struct arena *arena,
                  char **written, struct span *part, struct error *err);

/* Gives the runs of text[length] that are amounts, and have no form yet, theirs in the target language; "million" belongs to one
 * with a sign. Nothing changes where one of the languages is NULL. In the arena. -1 with ERROR_MEMORY. */
int numbers_write_runs(const struct number_words *source, const struct number_words *target, const char *text, size_t length,
                       struct opaque_runs *runs, struct arena *arena, struct error *err);

#endif
