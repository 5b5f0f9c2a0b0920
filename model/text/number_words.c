/* This file hides how a language writes and names numbers: ICU's data, and the words of everyday
 * language that ICU lacks. */
#include "model/base/arena.h"
#include "model/base/utf8.h"
#include "model/text/numbers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/ucurr.h>
#include <unicode/udat.h>
#include <unicode/uloc.h>
#include <unicode/unum.h>
#include <unicode/unumberformatter.h>
#include <unicode/ustring.h>

static const char DIGITS[] = "0123456789";

enum { TABLE = 4096, WRITTEN = 256, ARENA_BLOCK_BYTES = 32 * 1024, SPELLED = 100, RULES = 2048 };

/* ---- the table of words ---- */

size_t number_words_key(char key[NUMBER_WORDS_KEY], size_t used, const char *word, size_t length) {
    if (used > 0 && used < NUMBER_WORDS_KEY)
        key[used++] = ' ';
    for (size_t at = 0; at < length;) {
        int32_t character = character_lower(character_next(word, length, &at));
        if (character < 0 || character == 0xad || character == '.')
            continue;
        if (used + 4 >= NUMBER_WORDS_KEY)
            return 0;
        used += character_put(character, key + used);
    }
    return used < NUMBER_WORDS_KEY ? used : 0;
}

static struct number_word *find_place(const struct number_words *words, const char *key,
                                      size_t length) {
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)key[i]) * 16777619U;
    size_t at = hash & (TABLE - 1);
    while (words->table[at].key && (strncmp(words->table[at].key, key, length) != 0 ||
                                    words->table[at].key[length] != '\0'))
        at = (at + 1) & (TABLE - 1);
    return &words->table[at];
}

const struct number_word *number_words_find(const struct number_words *words, const char *key,
                                            size_t length) {
    const struct number_word *found = find_place(words, key, length);
    return found->key ? found : NULL;
}

/* Adds a meaning to a phrase: "un" is an article and a number, "mille" a number and a power. The
 * arena remembers a failure and is checked once. Phrases beyond three quarters of the table are
 * left out; ICU's take a tenth of that. */
static void add_word(struct number_words *words, const char *phrase, size_t length,
                     struct number_word meaning) {
    char key[NUMBER_WORDS_KEY];
    size_t used = 0, begin = 0;
    for (size_t at = 0; at <= length; at++) {
        bool ends = at == length || phrase[at] == ' ' || phrase[at] == '-';
        if (ends && at > begin &&
            (used = number_words_key(key, used, phrase + begin, at - begin)) == 0)
            return;
        begin = ends ? at + 1 : begin;
    }
    if (used == 0 || words->used > TABLE / 4 * 3)
        return;
    struct number_word *word = find_place(words, key, used);
    if (word->key == NULL) {
        const char *copy = arena_copy(&words->arena, key, used);
        if (copy == NULL)
            return;
        *word = (struct number_word){.key = copy, .value = -1};
        words->used++;
    }
    word->value = word->value < 0 ? meaning.value : word->value;
    word->power = word->power == 0 ? meaning.power : word->power;
    word->sign |= meaning.sign;
    word->roles |= meaning.roles;
}

/* ---- currencies ---- */

/* A family has one bit; its members are ISO 4217's codes. Words that the names of two members share
 * are the family's own: "dollar" of "US dollar" and "Canadian dollar". */
static const struct {
    const char *codes, *names;
    int32_t symbols[2];
} families[] = {
#define CURRENCY(codes, names, ...) {codes, names, {__VA_ARGS__}},
#include "model/text/number_words.def"
};

enum { FAMILIES = sizeof families / sizeof *families };

number_sign number_words_sign_of(int32_t character) {
    number_sign sign = 0;
    for (size_t i = 0; character > 0 && i < FAMILIES; i++)
        if (families[i].symbols[0] == character || families[i].symbols[1] == character)
            sign |= (number_sign)1 << i;
    if (character == '%' || character == 0x66a || character == 0xff05)
        return NUMBER_PERCENT;
    return character == 0x2030 ? NUMBER_PERMILLE : sign;
}

int32_t number_words_symbol_of(number_sign sign) {
    for (size_t i = 0; i < FAMILIES; i++)
        if (sign == (number_sign)1 << i)
            return families[i].symbols[0];
    return sign == NUMBER_PERCENT ? '%' : 0;
}

/* Converts ICU's text to UTF-8. Returns "" if ICU has failed or the text is too long. */
static const char *to_utf8(const UChar *written, int32_t length, char out[WRITTEN],
                           UErrorCode status) {
    UErrorCode own = U_ZERO_ERROR;
    int32_t bytes = 0;
    out[0] = '\0';
    if (U_FAILURE(status) || length < 0 || length >= WRITTEN)
        return out;
    u_strToUTF8(out, WRITTEN, &bytes, written, length, &own);
    if (U_FAILURE(own) || bytes >= WRITTEN)
        out[0] = '\0';
    return out;
}

/* Returns the number as this format writes it, or "" if it cannot. */
static const char *written_by(const UNumberFormat *numbers, int n, char out[WRITTEN]) {
    UErrorCode status = U_ZERO_ERROR;
    UChar written[WRITTEN];
    int32_t units = unum_format(numbers, n, written, WRITTEN, NULL, &status);
    return to_utf8(written, units, out, status);
}

static const char *currency_name(const char *locale, const char *code, const char *count,
                                 char out[WRITTEN]) {
    UErrorCode status = U_ZERO_ERROR;
    UChar iso[4] = {(UChar)code[0], (UChar)code[1], (UChar)code[2], 0};
    int32_t length = 0;
    UBool choice;
    const UChar *name = ucurr_getPluralName(iso, locale, &choice, count, &length, &status);
    return to_utf8(name, length, out, name ? status : U_MISSING_RESOURCE_ERROR);
}

/* Adds the words of three bytes or more that both names have. */
static void add_shared(struct number_words *words, const char *one, const char *other,
                       number_sign sign) {
    char padded[WRITTEN + 2];
    snprintf(padded, sizeof padded, " %s ", other);
    for (char *c = padded; *c; c++)
        *c = *c == '-' ? ' ' : *c;
    for (size_t at = 0, length; one[at]; at += length + (one[at + length] != '\0')) {
        char word[WRITTEN + 2];
        length = strcspn(one + at, " -");
        snprintf(word, sizeof word, " %.*s ", (int)length, one + at);
        if (length > 2 && strstr(padded, word))
            add_word(words, one + at, length, (struct number_word){.value = -1, .sign = sign});
    }
}

/* Adds the words of a list, which has spaces between them. A number in the list is the value of the
 * words after it. */
static void add_list(struct number_words *words, const char *list, struct number_word meaning) {
    for (size_t at = 0, length; list[at]; at += length + (list[at + length] == ' ')) {
        length = strcspn(list + at, " ");
        if (ascii_digit(list[at]))
            meaning.value = atoi(list + at);
        else
            add_word(words, list + at, length, meaning);
    }
}

static void add_currencies(struct number_words *words, const char *locale) {
    static const char *const counts[] = {"one", "other"};
    for (size_t i = 0; i < FAMILIES; i++) {
        const char *codes = families[i].codes;
        number_sign sign = (number_sign)1 << i;
        add_list(
            words, codes,
            (struct number_word){.value = -1, .sign = sign, .roles = NUMBER_CODE | NUMBER_SIGN});
        add_list(words, families[i].names, (struct number_word){.value = -1, .sign = sign});
        for (size_t count = 0; count < 2; count++) {
            char first[WRITTEN], other[WRITTEN];
            currency_name(locale, codes, counts[count], first);
            if (strlen(codes) == 3 && strcspn(first, " -") == strlen(first))
                add_word(words, first, strlen(first),
                         (struct number_word){.value = -1, .sign = sign});
            for (size_t at = 4; at < strlen(codes); at += 4)
                add_shared(words, first, currency_name(locale, codes + at, counts[count], other),
                           sign);
        }
    }
}

/* ---- numbers that are spelled ---- */

/* Adds the numbers that ICU writes in letters, the endings of ordinals, and the names of months. */
static void add_spelled(struct number_words *words, const char *locale) {
    /* all forms of a number in words: cardinal and ordinal, in each gender and case, but not as a
     * year */
    UChar written[RULES];
    char text[WRITTEN];
    UErrorCode status = U_ZERO_ERROR;
    UNumberFormat *spell = unum_open(UNUM_SPELLOUT, NULL, 0, locale, NULL, &status);
    int32_t length = U_SUCCESS(status) ? unum_getTextAttribute(spell, UNUM_PUBLIC_RULESETS, written,
                                                               RULES, &status)
                                       : 0;
    for (int32_t at = 0, end; U_SUCCESS(status) && at < length; at = end + 1) {
        for (end = at; end < length && written[end] != ';';)
            end++;
        to_utf8(written + at, end - at, text, status);
        if (end == at || strstr(text, "-year"))
            continue;
        unum_setTextAttribute(spell, UNUM_DEFAULT_RULESET, written + at, end - at, &status);
        for (int n = 0; U_SUCCESS(status) && n <= SPELLED; n++) {
            written_by(spell, n, text);
            add_word(words, text, strlen(text), (struct number_word){.value = n});
        }
    }
    unum_close(spell);

    /* the endings of ordinals in digits */
    status = U_ZERO_ERROR;
    UNumberFormat *ordinal = unum_open(UNUM_ORDINAL, NULL, 0, locale, NULL, &status);
    for (int n = 0; U_SUCCESS(status) && n < NUMBER_WORDS_ORDINALS; n++) {
        written_by(ordinal, n, text);
        const char *ending = text + strspn(text, DIGITS);
        if (ending == text || strlen(ending) >= sizeof words->ordinals[n])
            continue;
        strcpy(words->ordinals[n], ending);
        add_word(words, ending, strlen(ending),
                 (struct number_word){.value = -1, .roles = NUMBER_ORDINAL});
    }
    unum_close(ordinal);

    /* May and 5 may be one number in a date */
    static const UDateFormatSymbolType kinds[] = {UDAT_MONTHS, UDAT_SHORT_MONTHS,
                                                  UDAT_STANDALONE_MONTHS};
    UErrorCode dating = U_ZERO_ERROR;
    UDateFormat *dates = udat_open(UDAT_NONE, UDAT_LONG, locale, NULL, 0, NULL, 0, &dating);
    for (size_t i = 0; U_SUCCESS(dating) && i < 12 * sizeof kinds / sizeof *kinds; i++) {
        status = U_ZERO_ERROR;
        int32_t units =
            udat_getSymbols(dates, kinds[i / 12], (int32_t)(i % 12), written, WRITTEN, &status);
        to_utf8(written, units, text, status);
        if (text[0] < '0' || text[0] > '9')
            add_word(words, text, strlen(text), (struct number_word){.value = (int)(i % 12) + 1});
    }
    udat_close(dates);
}

static const struct {
    const char *language, *words;
    int power;
    number_sign sign;
    unsigned roles;
} extras[] = {
#define WORDS(...) {__VA_ARGS__},
#include "model/text/number_words.def"
};

/* The languages that write a number as one word. */
static const char *const one_word[] = {
#define ONE_WORD(language) language,
#include "model/text/number_words.def"
};

/* ---- how numbers are written ---- */

/* Formats a number by a skeleton
 * (https://unicode-org.github.io/icu/userguide/format_parse/numbers/skeletons.html). Returns "" if
 * ICU cannot. */
static const char *format(const char *locale, const char *skeleton, double number,
                          char out[WRITTEN]) {
    UErrorCode status = U_ZERO_ERROR;
    UChar pattern[WRITTEN], written[WRITTEN];
    int32_t length = 0;
    out[0] = '\0';
    u_strFromUTF8(pattern, WRITTEN, &length, skeleton, -1, &status);
    UNumberFormatter *formatter = unumf_openForSkeletonAndLocale(pattern, length, locale, &status);
    UFormattedNumber *result = unumf_openResult(&status);
    if (U_SUCCESS(status)) {
        unumf_formatDouble(formatter, number, result, &status);
        length = unumf_resultToString(result, written, WRITTEN, &status);
        to_utf8(written, length, out, status);
    }
    unumf_closeResult(result);
    unumf_close(formatter);
    return out;
}

/* Reads the white space between a number's digits and its sign, and the side of the digits on which
 * the sign stands. */
static struct number_place read_place(const char *sample) {
    struct number_place place = {0};
    size_t length = strlen(sample), first = strcspn(sample, DIGITS), last = length;
    while (last > first && !ascii_digit(sample[last - 1]))
        last--;
    place.before = last == length;
    size_t end = place.before ? first : length;
    for (size_t at = place.before ? 0 : last, next; at < end; at = next) {
        next = at;
        if (character_is_space(character_next(sample, end, &next)) &&
            next - at < sizeof place.space) {
            memcpy(place.space, sample + at, next - at);
            break;
        }
    }
    return place;
}

/* Copies the separator between two digits. Returns its first character, or -1 if it is empty or too
 * long. */
static int32_t read_separator(const char *begin, const char *end, char out[8]) {
    size_t length = (size_t)(end - begin), at = 0;
    if (length == 0 || length >= 8)
        return -1;
    memcpy(out, begin, length);
    return character_next(begin, length, &at);
}

/* Reads how "million" is written after a number, and adds it as a word for a factor. */
static void read_powers(struct number_words *words, const char *locale) {
    static const double factors[] = {1, 1.5, 2, 5};
    static const char *const skeletons[] = {"numbering-system/latn compact-long",
                                            "numbering-system/latn compact-short"};
    double unit = 1e3;
    for (size_t power = 0; power < NUMBER_WORDS_POWERS; power++, unit *= 1e3)
        for (size_t factor = 0; factor < 4; factor++)
            for (size_t skeleton = 0; skeleton < 2; skeleton++) {
                char sample[WRITTEN];
                const char *word =
                    format(locale, skeletons[skeleton], factors[factor] * unit, sample);
                word += strspn(word, "0123456789.,");
                for (size_t next = 0;
                     *word && character_is_space(character_next(word, strlen(word), &next));
                     next = 0)
                    word += next;
                bool abbreviated =
                    skeleton == 1 && strlen(word) < 2; /* one letter may be a unit: 5 M, 5 m, 5 T */
                if (skeleton == 0 && factor < 3 &&
                    strlen(word) < sizeof words->powers[power][factor])
                    strcpy(words->powers[power][factor], word);
                if (*word && word != sample && !abbreviated)
                    add_word(words, word, strlen(word),
                             (struct number_word){.value = -1, .power = 3 * ((int)power + 1)});
            }
}

/* ---- opening ---- */

/* Returns false if ICU does not know how the language writes numbers. */
static bool read_language(struct number_words *words, const char *locale) {
    char base[ULOC_LANG_CAPACITY];
    UErrorCode status = U_ZERO_ERROR;
    uloc_getLanguage(locale, base, sizeof base, &status);
    UNumberFormat *numbers = unum_open(UNUM_DECIMAL, NULL, 0, locale, NULL, &status);
    /* for a language that ICU does not know, it falls back on the root locale */
    const char *actual =
        U_SUCCESS(status) ? unum_getLocaleByType(numbers, ULOC_VALID_LOCALE, &status) : NULL;
    bool known = U_SUCCESS(status) && actual && actual[0] != '\0' && strcmp(actual, "root") != 0;
    unum_close(numbers);
    if (!known)
        return false;

    /* the separators and the sizes of groups follow from 1,234,567.5 as the language writes it */
    char sample[WRITTEN];
    const char *starts[8], *ends[8];
    size_t count = 0;
    for (const char *c = format(locale, "numbering-system/latn .0", 1234567.5, sample);
         *c && count < 8; count++) {
        starts[count] = c;
        ends[count] = c += strspn(c, DIGITS);
        c += strcspn(c, DIGITS);
    }
    if (count < 3 || count == 8)
        return false;
    words->decimal_character = read_separator(ends[count - 2], starts[count - 1], words->decimal);
    words->group_character = read_separator(ends[count - 3], starts[count - 2], words->group);
    words->primary = (size_t)(ends[count - 2] - starts[count - 2]);
    words->secondary = count > 3 ? (size_t)(ends[count - 3] - starts[count - 3]) : words->primary;
    words->least = strstr(format(locale, "numbering-system/latn precision-integer", 1234, sample),
                          words->group)
                       ? 1
                       : 2;
    if (words->decimal_character <= 0 || words->group_character <= 0)
        return false;

    for (size_t i = 0; i < sizeof one_word / sizeof *one_word; i++)
        words->glued |= strcmp(one_word[i], base) == 0;
    words->currency = read_place(
        format(locale, "numbering-system/latn currency/EUR unit-width-narrow precision-integer", 5,
               sample));
    words->percent =
        read_place(format(locale, "numbering-system/latn percent precision-integer", 5, sample));

    read_powers(words, locale);
    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++) {
        if (extras[i].language[0] != '\0' && strcmp(extras[i].language, base) != 0)
            continue;
        add_list(words, extras[i].words,
                 (struct number_word){.value = -1,
                                      .power = extras[i].power,
                                      .sign = extras[i].sign,
                                      .roles = extras[i].roles});
        if (extras[i].roles & NUMBER_DECADE)
            snprintf(words->decade, sizeof words->decade, "%.*s",
                     (int)strcspn(extras[i].words, " "), extras[i].words);
    }
    add_currencies(words, locale);
    add_spelled(words, locale);
    return true;
}

int number_words_open(const char *language, struct number_words **out, struct error *err) {
    char locale[ULOC_FULLNAME_CAPACITY];
    UErrorCode status = U_ZERO_ERROR;
    int32_t parsed = 0;
    *out = NULL;
    if (reserve_fill(err) != 0)
        return -1;
    uloc_forLanguageTag(language, locale, ULOC_FULLNAME_CAPACITY, &parsed, &status);
    if (U_FAILURE(status) || parsed == 0)
        return 0;
    struct number_words *words = calloc(1, sizeof *words);
    if (words == NULL)
        return error_memory(err);
    arena_init(&words->arena, ARENA_BLOCK_BYTES);
    words->table = calloc(TABLE, sizeof *words->table);
    bool known = words->table && read_language(words, locale);
    if (words->table == NULL || arena_failed(&words->arena)) {
        number_words_free(words);
        return error_memory(err);
    }
    if (known)
        *out = words;
    else
        number_words_free(words);
    return 0;
}

void number_words_free(struct number_words *words) {
    if (words == NULL)
        return;
    arena_done(&words->arena);
    free(words->table);
    free(words);
}
