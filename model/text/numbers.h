/* Amounts are the numbers of a text with their signs, currencies, percentages, decimals and digit
 * groups. This module reads them in two languages, compares them, and writes them in the notation
 * of the other language.
 *
 * A number in digits must have its equal on the other side. A number word (two, deux, third, XIX,
 * May) need not, but it may be the equal of one in digits: "2 dogs" and "deux chiens" agree, and so
 * do "one of them" and "a dog". A number that touches letters (A380, 4x4) is a code, not an amount,
 * and counts like a word. Equal are 1,250.50 in English and 1 250,50 in French; $5, 5 $ and 5
 * dollars; $5 million and 5 millions de dollars; 3:30 p.m. and 15 h 30; the 1990s and les
 * années 90. */
#ifndef ALIGND_NUMBERS_H
#define ALIGND_NUMBERS_H

#include "model/text/spans.h"

/* ---- how a language writes and names numbers (number_words.c) ----
 *
 * ICU's data is read once, so that reading and writing amounts touches no ICU object and any thread
 * may do it. */

enum {
    NUMBER_WORDS_PHRASE = 4,     /* words of an entry at most: quatre-vingt-dix-neuf */
    NUMBER_WORDS_KEY = 96,       /* bytes of a key at most */
    NUMBER_WORDS_ORDINALS = 200, /* known endings; a larger n has the ending of 100 + n % 100 */
    NUMBER_WORDS_POWERS = 4,     /* thousand, million, 10^9, 10^12 */
};

/* The parts that a word may play beside a number, perhaps several at once. */
enum number_role {
    NUMBER_ORDINAL = 1 << 0, /* touches the digits before it: 3rd, 3e */
    NUMBER_DECADE = 1 << 1,  /* touches the digits before it: 1990s, 90er */
    NUMBER_DECADES = 1 << 2, /* precedes: les années 90 */
    NUMBER_UNIT = 1 << 3,    /* touches the digits before it: 5km */
    NUMBER_CLOCK = 1 << 4,   /* follows an hour: 7 Uhr, 7 heures, 7 o'clock, 7 p.m. */
    NUMBER_MINUS = 1 << 5,   /* precedes: minus 5 */
    NUMBER_FILL = 1 << 6,    /* between a number and the things it counts: 5 millions de dollars */
    NUMBER_LINK = 1 << 7,    /* between two numbers of one kind: 5 to 10 dollars */
    NUMBER_HALF = 1 << 8,    /* precedes an hour: halb 8 is half past 7 */
    NUMBER_CODE = 1 << 9,    /* names a currency in capital letters only: EUR */
    NUMBER_SIGN =
        1 << 10, /* an abbreviation, which belongs to the amount as a symbol does: EUR, kr */
    NUMBER_PERHAPS = 1 << 11, /* may have another meaning: livres are pounds and books */
    NUMBER_ARTICLE =
        1 << 12, /* begins a number and never goes on with one: a hundred, but half an hour */
    NUMBER_MEASURE = 1 << 13, /* follows a quantity: 2.5 hectares */
    NUMBER_NAMED = 1 << 14,   /* precedes a number that is a name: Part I */
    NUMBER_DAYTIME = 1 << 15, /* says which half of the day an hour is in: p.m., evening, abends */
};

/* Currencies and other signs, one bit for each family: "dollars" are any country's, "$" may be a
 * peso, too. */
typedef uint64_t number_sign;
#define NUMBER_PERCENT  ((number_sign)1 << 62)
#define NUMBER_PERMILLE ((number_sign)1 << 63)
/* Returns the sign of a currency's symbol such as U+20AC, or of a percent or per mille sign; 0 for
 * other characters. */
number_sign number_words_sign_of(int32_t character);
/* Returns the character that stands for a sign, or 0 if there is none. */
int32_t number_words_symbol_of(number_sign sign);

struct number_word {
    const char *key; /* as number_words_key writes it */
    int value;       /* 0 to 100, or -1 if it is not a number */
    int power;       /* the word multiplies by ten to this power; 0 if it does not */
    number_sign sign;
    unsigned roles; /* bits of enum number_role */
};

/* The side of a number on which a sign stands, and the space between the two. */
struct number_place {
    bool before;
    char space[8];
};

struct number_words {
    char decimal[8], group[8]; /* separators, UTF-8 */
    int32_t decimal_character, group_character;
    size_t primary, secondary,
        least; /* digits of the last group, of the others, and at least of the first */
    struct number_place currency, percent;
    char decade[4]; /* follows the digits of a decade: 1990s, 1990er; may be "" */
    bool glued;     /* number words are written as one word: zweihundert */
    /* "million" after a 1, a 1.5 and a 2 */
    char powers[NUMBER_WORDS_POWERS][3][32];
    char ordinals[NUMBER_WORDS_ORDINALS][16]; /* "rd" of 3rd */
    struct arena arena;
    struct number_word *table; /* open addressing; key NULL marks a free entry */
    size_t used;
};

/* language: BCP-47. Sets *words to NULL if ICU does not know how the language writes numbers. The
 * result is immutable and therefore thread-safe. Returns -1 with ERROR_MEMORY. */
int number_words_open(const char *language, struct number_words **words, struct error *err);
void number_words_free(struct number_words *words); /* accepts NULL */

/* Appends a word to a key of used bytes: in small letters, without soft hyphens and full stops,
 * with a space between words. Returns the bytes used, or 0 if the word does not fit. */
size_t number_words_key(char key[NUMBER_WORDS_KEY], size_t used, const char *word, size_t length);
/* Returns NULL if the table lacks the key. */
const struct number_word *number_words_find(const struct number_words *words, const char *key,
                                            size_t length);

/* ---- amounts (numbers.c reads them, number_pairs.c compares them, number_writing.c writes them)
 * ---- */

struct number_value {
    uint64_t mantissa; /* not divisible by 10 unless 0; a hash, with exponent NUMBER_LONG, for more
                          than 18 digits */
    int exponent;
};
enum { NUMBER_LONG = INT16_MIN };
/* Returns the value if it is an integer of up to four digits, or else -1. */
int numbers_integer(struct number_value value);

struct amount {
    struct span span;   /* with its sign and unit */
    struct span digits; /* the number alone; all words of a number in words */
    struct span symbol; /* the sign of a currency or percent, or the unit, that belongs to the
                           amount; may be empty */
    struct span power;  /* "million" */
    size_t named;       /* the end of the word that names the sign, if no unknown word precedes it;
                           otherwise 0 */
    struct number_value value, other; /* other: a second meaning; mantissa 0 if it has none */
    number_sign sign, shared; /* shared: it may have these: its neighbour's (5 to 10 dollars), an
                                 ambiguous word's */
    bool weak;                /* needs no equal: words, codes, dates */
    bool pointed;             /* two numbers around a full stop: 3.8 */
    bool label;               /* a name, which every language writes alike: Python 3.8, Part IV */
    bool article;             /* "a" */
    bool measured;            /* a unit follows it: 2.5 hectares */
    uint32_t unit;            /* the letters of a unit's symbol that follows it, km of 5 km, or 0 */
    bool bare;                /* nothing follows that may name what it counts */
    bool negative, perhaps_negative;
    bool clock, minute, decade, half, ordinal, grouped;
    bool daytime;     /* the text says which half of the day its hours are in */
    bool abbreviated; /* a year without its century: 2011/12, '98 */
    bool foreign;     /* its separators are those of another language */
    int tens;         /* power of ten of .power */
};

struct amounts {
    struct amount *all; /* [count], in the order of the text */
    size_t count;
};

/* skip: parts of the text to leave out; NULL: none. text: valid UTF-8. Takes time proportional to
 * the length. Returns -1 with ERROR_MEMORY. */
int numbers_read(const struct number_words *words, struct bytes text, const struct spans *skip,
                 struct arena *arena, struct amounts *out, struct error *err);

/* The amounts of each side that have no equal on the other side, at most NUMBERS_SHOWN each; the
 * sides agree if both are empty. */
enum { NUMBERS_SHOWN = 64 };
struct number_difference {
    struct span source[NUMBERS_SHOWN], target[NUMBERS_SHOWN];
    size_t source_count, target_count;
};
/* A label of the source agrees only with the same label; a Roman numeral also with a number of its
 * value: World War II and Zweiter Weltkrieg. The minutes of an hour agree only with minutes, and an
 * amount with the symbol of a unit with none that is bare or has the symbol with capitals. strict:
 * an amount that the target writes in another language's notation agrees with none, because readers
 * may take it for a thousand times as much. Takes the time of sorting. Returns -1 with
 * ERROR_MEMORY. */
int numbers_compare(const struct amounts *source, const struct amounts *target, bool strict,
                    struct arena *arena, struct number_difference *out, struct error *err);

/* Returns false if the text has neither digits nor a Roman numeral, so that it has no amounts to
 * compare. */
bool numbers_may_stand(const struct number_words *words, const char *text, size_t length);

struct written_amount {
    char *text;       /* NUL-terminated */
    struct span part; /* the part of the text that it replaces */
};

/* Writes the amount as this language does. out->text is NULL if the model translates the amount
 * better itself (words, codes) or this language's form is unknown. Returns -1 with ERROR_MEMORY. */
int numbers_write(const struct number_words *words, const char *text, const struct amount *amount,
                  struct arena *arena, struct written_amount *out, struct error *err);

/* Gives each run of the text that is an amount without a written form its form in the target
 * language, in the arena, and extends it to the amount's sign and "million". Nothing changes if a
 * language is NULL. Returns -1 with ERROR_MEMORY. */
int numbers_write_runs(const struct number_words *source, const struct number_words *target,
                       struct bytes text, struct opaque_runs *runs, struct arena *arena,
                       struct error *err);

/* Adds the labels in digits to the runs that are held, since models write the 3.8 of Python 3.8 as
 * 3,8 in French, and a Roman numeral that is the whole text. words: of the text's language. Returns
 * -1 with ERROR_MEMORY. */
int numbers_hold_labels(const struct number_words *words, const char *text, size_t length,
                        struct opaque_runs *runs, struct arena *arena, struct error *err);

#endif
