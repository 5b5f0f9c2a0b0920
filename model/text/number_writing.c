/* This file writes the amounts of one language as another one does. */
#include "model/base/arena.h"
#include "model/base/utf8.h"
#include "model/text/numbers.h"
#include <string.h>

/* Writes the digits in ASCII with this language's separators, in groups only if the amount had
 * some. Returns where they end, or NULL if the amount stays as it is. */
static char *write_digits(const struct number_words *words, const char *text,
                          const struct amount *amount, char *out) {
    char digits[64];
    size_t count = 0, decimals = 0;
    for (size_t at = amount->digits.begin; at < amount->digits.end; at++) {
        if (ascii_digit(text[at]) && count == sizeof digits)
            return NULL;
        if (ascii_digit(text[at]))
            digits[count++] = text[at];
        else if ((unsigned char)text[at] >= 0x80 && amount->grouped == false)
            return NULL; /* digits of another script stay as they are */
    }
    int tens = amount->value.exponent - amount->tens;
    size_t last = amount->digits.end;
    while (last > amount->digits.begin && ascii_digit(text[last - 1]))
        last--;
    bool one_group = last > amount->digits.begin && amount->digits.end - last == 3 &&
                     amount->grouped && tens >= 0;
    if (last > amount->digits.begin && !one_group) {
        bool point = text[last - 1] == '.' || text[last - 1] == ',';
        bool groups = point && memchr(text + amount->digits.begin, text[last - 1],
                                      last - 1 - amount->digits.begin) != NULL;
        decimals =
            point && !groups && (tens < 0 || !amount->grouped || amount->digits.end - last != 3)
                ? amount->digits.end - last
                : 0;
    }
    size_t whole = count - decimals;
    bool groups = amount->grouped && whole >= words->primary + words->least;
    for (size_t i = 0; i < whole; i++) {
        size_t left = whole - i;
        if (groups && i > 0 && left >= words->primary &&
            (left - words->primary) % words->secondary == 0)
            out = stpcpy(out, words->group);
        *out++ = digits[i];
    }
    return decimals > 0 ? mempcpy(stpcpy(out, words->decimal), digits + whole, decimals) : out;
}

static const char *power_written(const struct number_words *words, const struct amount *amount) {
    if (amount->tens < 3 || amount->tens % 3 != 0 || amount->tens > 3 * NUMBER_WORDS_POWERS)
        return NULL;
    bool one = amount->value.mantissa == 1 && amount->value.exponent == amount->tens;
    double factor = (double)amount->value.mantissa;
    for (int exponent = amount->value.exponent; exponent < amount->tens; exponent++)
        factor /= 10;
    for (int exponent = amount->tens; exponent < amount->value.exponent; exponent++)
        factor *= 10;
    const char *word = words->powers[amount->tens / 3 - 1][one ? 0 : factor < 2 ? 1 : 2];
    return *word ? word : NULL;
}

/* The sign or unit of an amount, and where the language puts it. */
struct symbol {
    char text[32];
    struct number_place place;
};

/* Finds the symbol of an amount, or one for the word that names it: 5 dollars is $5. Returns false
 * if there is none. A unit follows the number and a space in almost all languages, so alignd's
 * images need no ICU data of units. */
static bool find_symbol(const struct number_words *words, const char *text,
                        const struct amount *amount, struct symbol *out) {
    static const char degree[] = "\xc2\xb0";
    size_t length = amount->symbol.end - amount->symbol.begin;
    if (length > 0 && length < sizeof out->text) {
        memcpy(out->text, text + amount->symbol.begin, length);
    } else {
        int32_t character = amount->named > 0 ? number_words_symbol_of(amount->sign) : 0;
        length = character > 0 ? character_put(character, out->text) : 0;
    }
    out->text[length] = '\0';
    if (length == 0)
        return false;

    if (amount->sign & (NUMBER_PERCENT | NUMBER_PERMILLE)) {
        out->place = words->percent;
    } else if (amount->sign == 0 && strncmp(out->text, degree, sizeof degree - 1) == 0) {
        out->place = length == sizeof degree - 1 ? (struct number_place){0} : words->percent;
    } else if (amount->sign == 0) {
        strcpy(out->place.space, words->percent.space[0] ? words->percent.space : "\xc2\xa0");
    } else {
        out->place = words->currency;
        if (out->place.before && out->place.space[0] == '\0' && ascii_letter(out->text[length - 1]))
            strcpy(out->place.space, "\xc2\xa0"); /* USD 5, as ICU does */
    }
    return true;
}

static struct span hull(struct span a, struct span b) {
    if (b.end <= b.begin)
        return a;
    return (struct span){a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

int numbers_write(const struct number_words *words, const char *text, const struct amount *amount,
                  struct arena *arena, struct written_amount *written, struct error *err) {
    struct symbol symbol = {0};
    struct span *part = &written->part;
    *written = (struct written_amount){NULL, amount->digits};
    if (amount->label) {
        written->text = arena_copy(arena, text + part->begin, part->end - part->begin);
        return written->text ? 0 : error_memory(err);
    }
    if (amount->weak)
        return 0;
    bool has_symbol = find_symbol(words, text, amount, &symbol);
    const char *power = amount->tens > 0 ? power_written(words, amount) : NULL;
    if (has_symbol && amount->tens > 0 && power == NULL)
        return 0;
    char *made = arena_alloc(arena, 9 * (amount->span.end - amount->span.begin) + 128, 1),
         *out = made;
    if (made == NULL)
        return error_memory(err);

    /* a word that names no symbol, and "million" without a symbol, are better translated by the
     * model */
    if (has_symbol) {
        *part = hull(hull(*part, amount->symbol), amount->power);
        part->end = amount->named > part->end ? amount->named : part->end;
    }
    if (amount->negative) {
        part->begin = amount->span.begin;
        *out++ = '-';
    }
    if (has_symbol && symbol.place.before)
        out = stpcpy(stpcpy(out, symbol.text), symbol.place.space);
    out = write_digits(words, text, amount, out);
    if (out == NULL)
        return 0;
    if (amount->ordinal) {
        int number = numbers_integer(amount->value);
        const char *ending =
            number < 0
                ? ""
                : words->ordinals[number < NUMBER_WORDS_ORDINALS ? number : 100 + number % 100];
        if (*ending == '\0')
            return 0;
        out = stpcpy(out, ending);
        part->end = amount->span.end;
    }
    if (amount->decade) {
        out = stpcpy(out, words->decade);
        part->end = amount->span.end;
    }
    if (power && has_symbol)
        out = stpcpy(stpcpy(out, "\xc2\xa0"), power);
    if (has_symbol && !symbol.place.before)
        out = stpcpy(stpcpy(out, symbol.place.space), symbol.text);
    *out = '\0';
    written->text = made;
    return 0;
}

int numbers_write_runs(const struct number_words *source, const struct number_words *target,
                       struct bytes text, struct opaque_runs *runs, struct arena *arena,
                       struct error *err) {
    struct amounts amounts;
    size_t passed = 0; /* amounts that end before the run, and so before all later ones */
    bool read = false;
    for (size_t i = 0; source && target && i < runs->count; i++) {
        struct opaque_run *run = &runs->all[i];
        struct written_amount written;
        bool code = run->kind == OPAQUE_CODE; /* 1.000.000 € may look like a code */
        if ((run->kind != OPAQUE_NUMBER && !code) || run->written)
            continue;
        if (!read && numbers_read(source, text, NULL, arena, &amounts, err) != 0)
            return -1;
        read = true;
        const struct amount *amount = NULL; /* the amount that contains the run */
        while (passed < amounts.count && amounts.all[passed].span.end <= run->begin)
            passed++;
        for (size_t k = passed;
             k < amounts.count && !amount && amounts.all[k].span.begin <= run->begin; k++)
            if (!amounts.all[k].weak && amounts.all[k].span.end >= run->end)
                amount = &amounts.all[k];
        if (!amount || (code && (amount->sign == 0 || amount->symbol.end == 0)))
            continue;
        if (numbers_write(target, text.start, amount, arena, &written, err) != 0)
            return -1;
        struct span part = written.part;
        bool free = (i == 0 || runs->all[i - 1].end <= part.begin) &&
                    (i + 1 == runs->count || part.end <= runs->all[i + 1].begin);
        if (!written.text || !free || part.begin > run->begin || part.end < run->end)
            continue;
        *run = (struct opaque_run){part.begin, part.end, OPAQUE_NUMBER, written.text};
    }
    return 0;
}

enum { LONGEST_NUMERAL = 8 };

/* Returns the end of a label, with the letters and dots that touch it: 3.8rc1, 0.85.x. */
static size_t label_end(const char *text, size_t length, size_t at) {
    while (at < length && (ascii_word(text[at]) ||
                           (text[at] == '.' && at + 1 < length && ascii_word(text[at + 1]))))
        at++;
    return at;
}

int numbers_hold_labels(const struct number_words *words, const char *text, size_t length,
                        struct opaque_runs *runs, struct arena *arena, struct error *err) {
    struct span whole = segmenter_trim(text, length);
    bool any = whole.end - whole.begin <= LONGEST_NUMERAL;
    for (size_t i = 1; i + 1 < length && !any; i++)
        any = text[i] == '.' && ascii_digit(text[i - 1]) && ascii_digit(text[i + 1]);
    struct amounts amounts;
    if (!any)
        return 0;
    if (numbers_read(words, (struct bytes){text, length}, NULL, arena, &amounts, err) != 0)
        return -1;
    struct opaque_run *more = arena_alloc(arena, amounts.count, sizeof *more);
    size_t count = 0;
    if (!more)
        return error_memory(err);
    for (size_t i = 0; i < amounts.count; i++) {
        const struct amount *amount = &amounts.all[i];
        const struct span *digits = &amount->digits;
        bool alone = digits->begin == whole.begin &&
                     digits->end == whole.end; /* the model has nothing to put around a numeral */
        if (amount->label && (amount->pointed || alone) &&
            (count == 0 || more[count - 1].end <= digits->begin))
            more[count++] = (struct opaque_run){digits->begin, label_end(text, length, digits->end),
                                                OPAQUE_NUMBER, NULL};
    }
    return count > 0 ? opaque_merge(runs, text, more, count, arena, err) : 0;
}
