/* How a language writes numbers and what it calls them: read from ICU's data once, so that reading and writing amounts
 * (model/text/numbers.h) touches no ICU object and any thread may do it. */
#ifndef ALIGND_NUMBER_WORDS_H
#define ALIGND_NUMBER_WORDS_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NUMBER_WORDS_PHRASE = 4,     /* words that a number is spelled with at most, of those in the table: quatre-vingt-dix-neuf */
    NUMBER_WORDS_KEY = 96,       /* bytes of a key at most */
    NUMBER_WORDS_ORDINALS = 200, /* endings that are known; that of a larger n is that of 100 + n % 100 */
    NUMBER_WORDS_POWERS = 4,     /* thousand, million, 10^9, 10^12 */
};

/* What a word may be beside a number; a word may be several of these. */
enum number_role {
    NUMBER_ORDINAL = 1 << 0,  /* right behind digits: 3rd, 3e */
    NUMBER_DECADE = 1 << 1,   /* right behind digits: 1990s, 90er */
    NUMBER_DECADES = 1 << 2,  /* before: les années 90 */
    NUMBER_UNIT = 1 << 3,     /* right behind digits: 5km */
    NUMBER_CLOCK = 1 << 4,    /* behind an hour: 7 Uhr, 7 heures, 7 o'clock, 7 p.m. */
    NUMBER_MINUS = 1 << 5,    /* before: minus 5 */
    NUMBER_FILL = 1 << 6,     /* between a number and what is counted: 5 millions de dollars */
    NUMBER_LINK = 1 << 7,     /* between two numbers of one kind: 5 to 10 dollars */
    NUMBER_HALF = 1 << 8,     /* before an hour: halb 8 is half past 7 */
    NUMBER_CODE = 1 << 9,     /* names a currency in capital letters only: EUR */
    NUMBER_SIGN = 1 << 10,    /* an abbreviation, which belongs to the amount as a symbol does: EUR, kr */
    NUMBER_PERHAPS = 1 << 11, /* what it names may be something else: livres are pounds and books */
    NUMBER_ARTICLE = 1 << 12, /* begins a number and never goes on with one: a hundred, but half an hour */
};

/* Currencies and other signs, one bit for each family: "dollars" are any country's, "$" may be a peso, too. */
typedef uint64_t number_sign;
#define NUMBER_PERCENT  ((number_sign)1 << 62)
#define NUMBER_PERMILLE ((number_sign)1 << 63)
/* Of a currency's symbol, such as U+20AC; 0: of none. */
number_sign number_sign_of(int32_t character);
/* A symbol of this sign; 0: there is none, or it may be several. */
int32_t number_symbol_of(number_sign sign);

struct number_word {
    const char *key; /* as number_words_key writes it */
    int value;       /* 0 to 100, or -1: it is not a number */
    int power;       /* it multiplies by ten to this power; 0: it does not */
    number_sign sign;
    unsigned roles; /* of enum number_role */
};

/* Where a sign stands beside a number, and the space between the two. */
struct number_place {
    bool before;
    char space[8];
};

struct number_words {
    char decimal[8], group[8]; /* separators, UTF-8 */
    int32_t decimal_character, group_character;
    size_t primary, secondary, least; /* digits of the last group, of the others, of the first at least */
    struct number_place currency, percent, degrees;
    char decade[4];     /* behind the digits of a decade: 1990s, 1990er; "": nothing */
    char unit_space[8]; /* before a unit: 5 km */
    bool glued;         /* number words are written as one: zweihundert */
    /* "million" behind a 1, a 1.5 and a 2 */
    char powers[NUMBER_WORDS_POWERS][3][32];
    char ordinals[NUMBER_WORDS_ORDINALS][16]; /* "rd" of 3rd */
    struct arena arena;
    struct number_word *table; /* [size], a power of two, open addressing; key NULL: free */
    size_t size, used;
};

/* language: BCP-47. *words: NULL if ICU does not know the language's numbers. -1 with ERROR_MEMORY or ERROR_FILE. */
int number_words_open(const char *language, struct number_words **words, struct error *err);
void number_words_free(struct number_words *words); /* NULL allowed */
size_t number_words_bytes(const struct number_words *words);

/* Appends a word to a key of used bytes: in small letters, without soft hyphens and full stops, with a space between words. Returns
 * the bytes used; 0 if it does not fit. */
size_t number_words_key(char key[NUMBER_WORDS_KEY], size_t used, const char *word, size_t length);
/* NULL: there is none. */
const struct number_word *number_words_find(const struct number_words *words, const char *key, size_t length);

#endif
