/* Compares the amounts of two texts, and writes an amount in another language. */
#include "model/text/character.h"
#include "model/text/numbers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- comparing ---- */

static int compare_amounts(const void *left, const void *right) {
    const struct amount *a = *(const struct amount *const *)left, *b = *(const struct amount *const *)right;
    if (a->value.mantissa != b->value.mantissa)
        return a->value.mantissa < b->value.mantissa ? -1 : 1;
    if (a->value.exponent != b->value.exponent)
        return a->value.exponent < b->value.exponent ? -1 : 1;
    if (a->negative != b->negative)
        return a->negative ? -1 : 1;
    return a->sign < b->sign ? -1 : a->sign > b->sign;
}

static bool same_value(struct number_value a, struct number_value b) {
    return a.mantissa == b.mantissa && a.exponent == b.exponent;
}

static bool may_mean(const struct amount *amount, struct number_value value) {
    return same_value(amount->value, value) || (amount->other.mantissa > 0 && same_value(amount->other, value));
}

static bool values_agree(const struct amount *a, const struct amount *b) {
    int left = number_integer(a->value), right = number_integer(b->value);
    if (may_mean(a, b->value) || may_mean(b, a->value))
        return true;
    if (left < 0 || right < 0)
        return false;
    int hour_left = left - a->half, hour_right = right - b->half; /* halb 8 is half past 7 */
    if ((a->clock || b->clock || a->half || b->half) && left <= 24 && right <= 24 && (hour_left - hour_right) % 12 == 0)
        return true;
    return (a->decade || b->decade || a->abbreviated || b->abbreviated) && left % 100 == right % 100;
}

static bool agree(const struct amount *a, const struct amount *b) {
    bool negative = a->negative == b->negative || a->perhaps_negative || b->perhaps_negative;
    bool sign = (a->sign == 0 && b->sign == 0) || (a->sign & b->sign) || (a->sign == 0 && (a->shared & b->sign)) ||
                (b->sign == 0 && (b->shared & a->sign));
    return negative && sign && values_agree(a, b);
}

/* The amounts of one side; paired: has found its equal. */
struct side {
    const struct amount **all; /* [count] sorted */
    bool *paired;
    size_t count;
};

static bool sort_side(const struct amounts *amounts, bool weak, struct arena *arena, struct side *side) {
    *side = (struct side){arena_alloc(arena, amounts->count, sizeof *side->all), arena_zalloc(arena, amounts->count, 1), 0};
    if (side->all == NULL || side->paired == NULL)
        return false;
    for (size_t i = 0; i < amounts->count; i++)
        if (amounts->all[i].weak == weak)
            side->all[side->count++] = &amounts->all[i];
    if (side->count > 0)
        qsort(side->all, side->count, sizeof(const struct amount *), compare_amounts);
    return true;
}

/* Pairs amounts that are equal in value and sign. */
static void pair_equals(struct side *left, struct side *right) {
    for (size_t i = 0, j = 0; i < left->count && j < right->count;) {
        if (left->paired[i] || right->paired[j]) {
            bool step = left->paired[i];
            i += step;
            j += !step;
            continue;
        }
        int order = compare_amounts(&left->all[i], &right->all[j]);
        if (order == 0)
            left->paired[i] = right->paired[j] = true;
        i += order <= 0;
        j += order >= 0;
    }
}

/* Pairs amounts that agree in another way, among so few of the rest that the square of their number costs nothing. */
static void pair_others(struct side *left, struct side *right) {
    size_t tried = 0;
    for (size_t i = 0; i < left->count && tried < NUMBERS_SHOWN; i++) {
        if (left->paired[i])
            continue;
        tried++;
        size_t other = 0;
        for (size_t j = 0; j < right->count && other < 2 * NUMBERS_SHOWN && !left->paired[i]; j++) {
            other += !right->paired[j];
            if (!right->paired[j] && agree(left->all[i], right->all[j]))
                left->paired[i] = right->paired[j] = true;
        }
    }
}

static int compare_spans(const void *left, const void *right) {
    const struct span *a = left, *b = right;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* Lists the rest, in the order of the text. Nobody needs to say minutes of zero. */
static size_t list_left(const struct side *side, struct span shown[NUMBERS_SHOWN]) {
    size_t count = 0;
    for (size_t i = 0; i < side->count && count < NUMBERS_SHOWN; i++)
        if (!side->paired[i] && !(side->all[i]->minute && side->all[i]->value.mantissa == 0))
            shown[count++] = side->all[i]->span;
    qsort(shown, count, sizeof *shown, compare_spans);
    return count;
}

int numbers_compare(const struct amounts *source, const struct amounts *target, struct arena *arena, struct number_difference *out,
                    struct error *err) {
    struct side strong[2], weak[2];
    if (!sort_side(source, false, arena, &strong[0]) || !sort_side(target, false, arena, &strong[1]) ||
        !sort_side(source, true, arena, &weak[0]) || !sort_side(target, true, arena, &weak[1]))
        return error_memory(err);
    pair_equals(&strong[0], &strong[1]);
    pair_others(&strong[0], &strong[1]);
    pair_equals(&strong[0], &weak[1]);
    pair_equals(&weak[0], &strong[1]);
    pair_others(&strong[0], &weak[1]);
    pair_others(&strong[1], &weak[0]);
    out->source_count = list_left(&strong[0], out->source);
    out->target_count = list_left(&strong[1], out->target);
    return 0;
}

/* ---- writing ---- */

/* Text that grows in a buffer of sufficient size. */
struct writing {
    char *text;
    size_t used;
};

static void write_bytes(struct writing *out, const char *bytes, size_t length) {
    memcpy(out->text + out->used, bytes, length);
    out->used += length;
}

static void write_string(struct writing *out, const char *string) {
    write_bytes(out, string, strlen(string));
}

/* Writes the digits in ASCII with this language's separators, in groups only if the amount had some. False: the amount stays as it
 * is. */
static bool write_digits(const struct number_words *words, const char *text, const struct amount *amount, struct writing *out) {
    char digits[64];
    size_t count = 0, decimals = 0;
    for (size_t at = amount->digits.begin; at < amount->digits.end; at++) {
        if (ascii_digit(text[at]) && count == sizeof digits)
            return false;
        if (ascii_digit(text[at]))
            digits[count++] = text[at];
        else if ((unsigned char)text[at] >= 0x80 && amount->grouped == false)
            return false; /* digits of another script stay as they are */
    }
    int tens = amount->value.exponent - amount->tens;
    size_t last = amount->digits.end;
    while (last > amount->digits.begin && ascii_digit(text[last - 1]))
        last--;
    bool one_group = last > amount->digits.begin && amount->digits.end - last == 3 && amount->grouped && tens >= 0;
    if (last > amount->digits.begin && !one_group) {
        bool point = text[last - 1] == '.' || text[last - 1] == ',';
        bool groups = point && memchr(text + amount->digits.begin, text[last - 1], last - 1 - amount->digits.begin) != NULL;
        decimals =
            point && !groups && (tens < 0 || !amount->grouped || amount->digits.end - last != 3) ? amount->digits.end - last : 0;
    }
    size_t whole = count - decimals;
    bool groups = amount->grouped && whole >= words->primary + words->least;
    for (size_t i = 0; i < whole; i++) {
        size_t left = whole - i;
        if (groups && i > 0 && left >= words->primary && (left - words->primary) % words->secondary == 0)
            write_string(out, words->group);
        write_bytes(out, &digits[i], 1);
    }
    if (decimals > 0) {
        write_string(out, words->decimal);
        write_bytes(out, digits + whole, decimals);
    }
    return true;
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

/* Where a sign or a unit stands, and which space separates it. */
static struct number_place place_of(const struct number_words *words, const struct amount *amount, const char *symbol) {
    static const char degree[] = "\xc2\xb0";
    struct number_place place = {0};
    if (amount->sign & (NUMBER_PERCENT | NUMBER_PERMILLE))
        return words->percent;
    if (amount->sign == 0 && strncmp(symbol, degree, sizeof degree - 1) == 0)
        return symbol[sizeof degree - 1] == '\0' ? place : words->degrees;
    if (amount->sign == 0) {
        strcpy(place.space, words->unit_space);
        return place;
    }
    place = words->currency;
    char last = symbol[strlen(symbol) - 1];
    if (place.before && place.space[0] == '\0' && ((last >= 'A' && last <= 'Z') || (last >= 'a' && last <= 'z')))
        strcpy(place.space, "\xc2\xa0"); /* USD 5, as ICU does */
    return place;
}

/* Finds the symbol of an amount, or one for the word that names it: 5 dollars is $5. False: it has none. */
static bool find_symbol(const struct number_words *words, const char *text, const struct amount *amount, struct symbol *out) {
    size_t length = amount->symbol.end - amount->symbol.begin;
    if (length > 0 && length < sizeof out->text) {
        memcpy(out->text, text + amount->symbol.begin, length);
    } else {
        int32_t character = amount->named > 0 ? number_symbol_of(amount->sign) : 0;
        length = character > 0 ? character_put(character, out->text) : 0;
    }
    out->text[length] = '\0';
    if (length > 0)
        out->place = place_of(words, amount, out->text);
    return length > 0;
}

static struct span hull(struct span a, struct span b) {
    if (b.end <= b.begin)
        return a;
    return (struct span){a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

int numbers_write(const struct number_words *words, const char *text, const struct amount *amount, struct arena *arena,
                  char **written, struct span *part, struct error *err) {
    struct symbol symbol = {0};
    *written = NULL;
    *part = amount->digits;
    if (amount->weak)
        return 0;
    bool has_symbol = find_symbol(words, text, amount, &symbol);
    const char *power = amount->tens > 0 ? power_written(words, amount) : NULL;
    if (has_symbol && amount->tens > 0 && power == NULL)
        return 0;
    struct writing out = {arena_alloc(arena, 9 * (amount->span.end - amount->span.begin) + 128, 1), 0};
    if (out.text == NULL)
        return error_memory(err);

    /* a word that names no symbol, and "million" without a symbol, are better translated by the model */
    if (has_symbol) {
        *part = hull(hull(*part, amount->symbol), amount->power);
        part->end = amount->named > part->end ? amount->named : part->end;
    }
    if (amount->negative) {
        part->begin = amount->span.begin;
        write_string(&out, "-");
    }
    if (has_symbol && symbol.place.before) {
        write_string(&out, symbol.text);
        write_string(&out, symbol.place.space);
    }
    if (!write_digits(words, text, amount, &out))
        return 0;
    if (amount->ordinal) {
        int number = number_integer(amount->value);
        const char *ending = number < 0 ? "" : words->ordinals[number < NUMBER_WORDS_ORDINALS ? number : 100 + number % 100];
        if (*ending == '\0')
            return 0;
        write_string(&out, ending);
        part->end = amount->span.end;
    }
    if (amount->decade) {
        write_string(&out, words->decade);
        part->end = amount->span.end;
    }
    if (power && has_symbol) {
        write_string(&out, "\xc2\xa0");
        write_string(&out, power);
    }
    if (has_symbol && !symbol.place.before) {
        write_string(&out, symbol.place.space);
        write_string(&out, symbol.text);
    }
    write_bytes(&out, "", 1);
    *written = out.text;
    return 0;
}

/* The amount whose sign or digits are at this place, or NULL. */
static const struct amount *amount_at(const struct amounts *amounts, size_t begin, size_t end) {
    for (size_t i = 0; i < amounts->count; i++)
        if (!amounts->all[i].weak && amounts->all[i].span.begin <= begin && amounts->all[i].span.end >= end)
            return &amounts->all[i];
    return NULL;
}

int numbers_write_runs(const struct number_words *source, const struct number_words *target, const char *text, size_t length,
                       struct opaque_runs *runs, struct arena *arena, struct error *err) {
    struct amounts amounts;
    bool read = false;
    for (size_t i = 0; source && target && i < runs->count; i++) {
        struct opaque_run *run = &runs->all[i];
        char *written;
        struct span part;
        bool code = run->kind == OPAQUE_CODE; /* 1.000.000 € may look like one */
        if ((run->kind != OPAQUE_NUMBER && !code) || run->written)
            continue;
        if (!read && numbers_read(source, text, length, NULL, 0, arena, &amounts, err) != 0)
            return -1;
        read = true;
        const struct amount *amount = amount_at(&amounts, run->begin, run->end);
        if (!amount || (code && (amount->sign == 0 || amount->symbol.end == 0)))
            continue;
        if (numbers_write(target, text, amount, arena, &written, &part, err) != 0)
            return -1;
        bool free = (i == 0 || runs->all[i - 1].end <= part.begin) && (i + 1 == runs->count || part.end <= runs->all[i + 1].begin);
        if (!written || !free || part.begin > run->begin || part.end < run->end)
            continue;
        *run = (struct opaque_run){part.begin, part.end, OPAQUE_NUMBER, written};
    }
    return 0;
}
