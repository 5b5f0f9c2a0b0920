/* This file hides when two amounts are equal: it pairs the amounts of two texts. */
#include "model/text/numbers.h"
#include <stdlib.h>

static int compare_amounts(const void *left, const void *right) {
    const struct amount *a = *(const struct amount *const *)left,
                        *b = *(const struct amount *const *)right;
    if (a->value.mantissa != b->value.mantissa)
        return a->value.mantissa < b->value.mantissa ? -1 : 1;
    if (a->value.exponent != b->value.exponent)
        return a->value.exponent < b->value.exponent ? -1 : 1;
    if (a->negative != b->negative)
        return a->negative ? -1 : 1;
    return a->sign < b->sign ? -1 : a->sign > b->sign;
}

static bool may_mean(const struct amount *amount, struct number_value value) {
    const struct number_value one = amount->value, other = amount->other;
    return (one.mantissa == value.mantissa && one.exponent == value.exponent) ||
           (other.mantissa > 0 && other.mantissa == value.mantissa &&
            other.exponent == value.exponent);
}

static bool agree(const struct amount *a, const struct amount *b) {
    bool negative = a->negative == b->negative || a->perhaps_negative || b->perhaps_negative;
    bool sign = (a->sign == 0 && b->sign == 0) || (a->sign & b->sign) ||
                (a->sign == 0 && (a->shared & b->sign)) || (b->sign == 0 && (b->shared & a->sign));
    if (!negative || !sign)
        return false;
    if (may_mean(a, b->value) || may_mean(b, a->value))
        return true;
    int left = numbers_integer(a->value), right = numbers_integer(b->value);
    if (left < 0 || right < 0)
        return false;
    int hour_left = left - a->half, hour_right = right - b->half; /* halb 8 is half past 7 */
    if ((a->clock || b->clock || a->half || b->half) && left <= 24 && right <= 24 &&
        (hour_left - hour_right) % 12 == 0)
        return true;
    return (a->decade || b->decade || a->abbreviated || b->abbreviated) &&
           left % 100 == right % 100;
}

/* The amounts of one side; paired: those that have found an equal. */
struct side {
    const struct amount **all; /* [count] sorted */
    bool *paired;
    size_t count;
};

/* Which amounts of a text a side has. Numerals are the labels that a word may replace. */
enum class { STRONG, WEAK, NUMERALS, NUMBER_WORDS };

static bool is_in(const struct amount *amount, enum class class) {
    switch (class) {
    case STRONG:
        return !amount->weak;
    case WEAK:
        return amount->weak;
    case NUMERALS:
        return amount->weak && amount->label && !amount->pointed;
    case NUMBER_WORDS:
        return amount->weak && !amount->article;
    }
    return false;
}

static bool sort_side(const struct amounts *amounts, enum class class, struct arena *arena,
                      struct side *side) {
    *side = (struct side){arena_alloc(arena, amounts->count, sizeof *side->all),
                          arena_zalloc(arena, amounts->count, 1), 0};
    if (side->all == NULL || side->paired == NULL)
        return false;
    for (size_t i = 0; i < amounts->count; i++)
        if (is_in(&amounts->all[i], class))
            side->all[side->count++] = &amounts->all[i];
    if (side->count > 0)
        qsort(side->all, side->count, sizeof(const struct amount *), compare_amounts);
    return true;
}

/* How the sides of a comparison stand to each other: the left one is the source's or the target's.
 */
struct pairing {
    bool target_left, strict;
};

/* True if the symbol of a unit, of one or two letters, has got capitals: Mm for mm. A litre's l may
 * have one. */
static bool is_respelt(uint32_t source, uint32_t target) {
    const uint32_t small = 0x2020, both = UINT16_MAX, last = UINT8_MAX;
    if ((source & last) == 'l' && (target & last) == 'L')
        target |= 0x20;
    return source != target && source <= both && target > 0 &&
           (source | small) == (target | small) && (source & target) == target;
}

/* True if the target may write this amount of the source so, if their values agree: a label is
 * never written otherwise, an hour after noon is one of twelve only where the text says which,
 * minutes stay minutes, and a unit stays beside its number. */
static bool may_be_written(const struct pairing *pairing, const struct amount *left,
                           const struct amount *right) {
    const struct amount *source = pairing->target_left ? right : left,
                        *target = pairing->target_left ? left : right;
    if (source->label && source->pointed)
        return target->pointed;
    int hour = numbers_integer(source->value), twelfth = numbers_integer(target->value);
    if ((source->clock || target->clock) && hour > 12 && hour <= 24 && twelfth == hour - 12 &&
        !target->daytime)
        return false;
    if (!target->weak &&
        ((source->minute && !target->minute && source->value.mantissa > 0) ||
         (source->unit > 0 && target->bare) || is_respelt(source->unit, target->unit)))
        return false;
    return !pairing->strict || !target->foreign;
}

/* Pairs amounts that are equal in value, minus and sign. */
static void pair_equals(const struct pairing *pairing, struct side *left, struct side *right) {
    for (size_t i = 0, j = 0; i < left->count && j < right->count;) {
        if (left->paired[i] || right->paired[j]) {
            bool step = left->paired[i];
            i += step;
            j += !step;
            continue;
        }
        int order = compare_amounts(&left->all[i], &right->all[j]);
        bool fits = order == 0 && may_be_written(pairing, left->all[i], right->all[j]);
        if (fits)
            left->paired[i] = right->paired[j] = true;
        i += order <= 0;
        j += order > 0 || fits;
    }
}

/* Pairs amounts that agree in another way. It tries a limited number of them, so comparing each
 * with each is cheap. */
static void pair_others(const struct pairing *pairing, struct side *left, struct side *right) {
    size_t tried = 0;
    for (size_t i = 0; i < left->count && tried < NUMBERS_SHOWN; i++) {
        if (left->paired[i])
            continue;
        tried++;
        size_t other = 0;
        for (size_t j = 0; j < right->count && other < 2 * NUMBERS_SHOWN && !left->paired[i]; j++) {
            other += !right->paired[j];
            if (!right->paired[j] && may_be_written(pairing, left->all[i], right->all[j]) &&
                agree(left->all[i], right->all[j]))
                left->paired[i] = right->paired[j] = true;
        }
    }
}

static int compare_spans(const void *left, const void *right) {
    const struct span *a = left, *b = right;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* Lists the amounts without an equal, in the order of the text. Minutes of zero need no equal.
 * Returns the new count. */
static size_t list_left(const struct side *side, struct span shown[NUMBERS_SHOWN], size_t count) {
    for (size_t i = 0; i < side->count && count < NUMBERS_SHOWN; i++)
        if (!side->paired[i] && !(side->all[i]->minute && side->all[i]->value.mantissa == 0))
            shown[count++] = side->all[i]->span;
    qsort(shown, count, sizeof *shown, compare_spans);
    return count;
}

int numbers_compare(const struct amounts *source, const struct amounts *target, bool strict,
                    struct arena *arena, struct number_difference *out, struct error *err) {
    const struct pairing forwards = {false, strict}, backwards = {true, strict};
    struct side strong[2], weak[2], named, words, digits;
    if (!sort_side(source, STRONG, arena, &strong[0]) ||
        !sort_side(target, STRONG, arena, &strong[1]) ||
        !sort_side(source, WEAK, arena, &weak[0]) || !sort_side(target, WEAK, arena, &weak[1]) ||
        !sort_side(source, NUMERALS, arena, &named) ||
        !sort_side(target, NUMBER_WORDS, arena, &words) ||
        !sort_side(target, STRONG, arena, &digits))
        return error_memory(err);
    pair_equals(&forwards, &strong[0], &strong[1]);
    pair_others(&forwards, &strong[0], &strong[1]);
    pair_equals(&forwards, &strong[0], &weak[1]);
    pair_equals(&forwards, &weak[0], &strong[1]);
    pair_others(&forwards, &strong[0], &weak[1]);
    pair_others(&backwards, &strong[1], &weak[0]);
    pair_equals(&forwards, &named, &words);
    pair_equals(&forwards, &named, &digits);
    out->source_count = list_left(&named, out->source, list_left(&strong[0], out->source, 0));
    out->target_count = list_left(&strong[1], out->target, 0);
    return 0;
}
