/* This file hides what counts as an amount: the pieces of a text around each number and number word
 * that belong to it. */
#include "model/base/utf8.h"
#include "model/text/numbers_parts.h"
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>

enum { LOOK_AHEAD = 4 }; /* pieces after a number among which its currency is looked for */

/* ---- values ---- */

static struct number_value times_ten(struct number_value value, int tens) {
    if (value.mantissa > 0 && value.exponent != NUMBER_LONG)
        value.exponent += tens;
    return value;
}

int numbers_integer(struct number_value value) {
    int64_t number = value.mantissa <= 9999 && value.exponent >= 0 && value.exponent < 4
                         ? (int64_t)value.mantissa
                         : -1;
    for (int i = 0; number >= 0 && i < value.exponent; i++)
        number *= 10;
    return number > 9999 ? -1 : (int)number;
}

/* ---- signs ---- */

/* Returns the sign that a word names, or 0. A code counts only in capitals. */
static number_sign sign_of_word(const struct reader *reader, size_t at) {
    const struct piece *piece = &reader->pieces[at];
    if (piece->kind != PIECE_WORD || piece->word == NULL)
        return 0;
    if (piece->word->roles & NUMBER_CODE)
        for (size_t next = piece->begin; next < piece->end;) {
            int32_t character = character_next(reader->text, piece->end, &next);
            if (character != character_upper(character))
                return 0;
        }
    return piece->word->sign;
}

/* Returns the sign of a symbol, or of an abbreviation that is used as one, or 0 if it belongs to
 * another amount. */
static number_sign symbol_at(const struct reader *reader, size_t at) {
    if (at >= reader->count || reader->pieces[at].taken)
        return 0;
    if (reader->pieces[at].kind == PIECE_SIGN)
        return reader->pieces[at].sign;
    return has_role(reader, at, NUMBER_SIGN) ? sign_of_word(reader, at) : 0;
}

static void widen(struct span *span, size_t begin, size_t end) {
    span->begin = begin < span->begin ? begin : span->begin;
    span->end = end > span->end ? end : span->end;
}

static void take_symbol(struct reader *reader, struct amount *amount, size_t at, bool before) {
    struct piece *piece = &reader->pieces[at];
    amount->symbol = (struct span){piece->begin, piece->end};
    amount->sign |= piece->kind == PIECE_SIGN ? piece->sign : sign_of_word(reader, at);
    piece->taken = true;

    /* capitals that touch a currency's sign on its far side belong to it: US of US$, CA of $CA */
    size_t far = before ? at - 1 : at + 1;
    bool touches = piece->kind == PIECE_SIGN &&
                   !(piece->sign & (NUMBER_PERCENT | NUMBER_PERMILLE)) &&
                   (before ? at > 0 && is_attached(reader, at) : is_attached(reader, at + 1)) &&
                   is_kind(reader, far, PIECE_WORD) && !reader->pieces[far].taken &&
                   reader->pieces[far].end - reader->pieces[far].begin <= 3;
    for (size_t i = touches ? reader->pieces[far].begin : 0; touches && i < reader->pieces[far].end;
         i++)
        touches = ascii_upper(reader->text[i]);
    if (touches)
        widen(&amount->symbol, reader->pieces[far].begin, reader->pieces[far].end);
    widen(&amount->span, amount->symbol.begin, amount->symbol.end);
}

/* Reads the sign before a number, unless it belongs to a number before the sign, and a minus that
 * touches the number or its sign and has nothing before it, white space, a bracket or the sign
 * ($-5). */
static void read_before(struct reader *reader, struct amount *amount, size_t at) {
    size_t symbol = reader->count;
    if (at > 0) {
        size_t before = at - 1;
        before -= is_dash(reader, before) && is_attached(reader, at) && before > 0; /* $-5 */
        number_sign sign = symbol_at(reader, before);
        bool other = before > 0 && is_kind(reader, before - 1, PIECE_NUMBER) &&
                     (is_attached(reader, before) ||
                      (!reader->words->currency.before && !is_attached(reader, before + 1)));
        if (sign && !(sign & (NUMBER_PERCENT | NUMBER_PERMILLE)) && !other)
            symbol = before;
    }
    if (symbol < reader->count)
        take_symbol(reader, amount, symbol, true);

    const size_t places[] = {at, symbol};
    for (size_t i = 0; i < 2; i++) {
        size_t place = places[i];
        if (place == 0 || place >= reader->count || !is_attached(reader, place) ||
            !is_dash(reader, place - 1))
            continue;
        bool free = place == 1 || !is_attached(reader, place - 1) ||
                    is_mark(reader, place - 2, '(') || place - 1 == symbol + 1;
        int32_t dash = reader->pieces[place - 1].character;
        if (!free)
            continue;
        amount->negative = dash == '-' || dash == 0x2212;
        bool range = place > 1 && is_kind(reader, place - 2, PIECE_NUMBER); /* 2000 -2004 */
        amount->perhaps_negative = !amount->negative || place - 1 == 0 || range;
        widen(&amount->span, reader->pieces[place - 1].begin, amount->span.end);
    }
    size_t first = symbol < reader->count ? symbol : at;
    amount->perhaps_negative =
        amount->perhaps_negative || (first > 0 && has_role(reader, first - 1, NUMBER_MINUS));
}

/* Returns the place of the sign after a number, or of a word that names the sign a few words later;
 * otherwise count. *strange: an unknown word stands between. */
static size_t sign_after(const struct reader *reader, size_t at, bool *symbol, bool *strange) {
    *strange = false;
    for (size_t i = at + 1; i < reader->count && i <= at + LOOK_AHEAD; i++) {
        number_sign sign = symbol_at(reader, i);
        bool dot = is_mark(reader, i, '.') && is_attached(reader, i) && i == at + 1 && at > 0 &&
                   reader->pieces[at].word;
        bool joint = (is_dash(reader, i) || is_apostrophe(reader, i)) && is_joint(reader, i);
        if (sign) {
            /* a sign that touches the next number belongs to that number: 5 €6 */
            bool other = is_kind(reader, i + 1, PIECE_NUMBER) && !(sign & NUMBER_PERCENT) &&
                         is_attached(reader, i + 1) && !is_attached(reader, i);
            *symbol = i == at + 1 || (dot && i == at + 2);
            return other ? reader->count : i;
        }
        if (dot || joint)
            continue;
        if (reader->pieces[i].kind != PIECE_WORD)
            return reader->count;
        *symbol = false;
        if (sign_of_word(reader, i))
            return i;
        if (has_role(reader, i, NUMBER_FILL))
            continue;
        if (*strange || has_role(reader, i, NUMBER_LINK) ||
            (reader->pieces[i].word && reader->pieces[i].word->value >= 0))
            return reader->count;
        *strange = true;
    }
    return reader->count;
}

/* ---- labels ---- */

/* True if what follows the last piece of a number measures something: 2.5 hectares, 2.5 square
 * miles, a 2.5-litre bottle. A minute's and a second's sign do, too. */
static bool is_measured(const struct reader *reader, size_t at) {
    size_t next = at + 1;
    if (is_attached(reader, next) &&
        (is_mark(reader, next, 0x2032) || is_mark(reader, next, 0x2033)))
        return true;
    next += is_dash(reader, next) && is_joint(reader, next);
    next += has_role(reader, next, NUMBER_FILL);
    return has_role(reader, next, NUMBER_UNIT | NUMBER_MEASURE);
}

/* Reads the symbol of a unit after the last piece of a number: 5 km, 72V, but not those that may be
 * other words, as in 100 v. Chr. and l'an, nor an hour's, which a colon may replace. */
static void read_unit(const struct reader *reader, struct amount *amount, size_t at) {
    bool touches = amount->symbol.end > 0 && amount->symbol.end == reader->pieces[at].end;
    size_t next = touches ? at : at + 1;
    if (!has_role(reader, next, NUMBER_UNIT) || has_role(reader, next, NUMBER_CLOCK) ||
        is_joint(reader, next + 1))
        return;
    const struct piece *piece = &reader->pieces[next];
    if (!touches && piece->end == piece->begin + 1 &&
        !ascii_among(reader->text[piece->begin], "gmls"))
        return;
    for (size_t i = piece->begin; i < piece->end && i < piece->begin + sizeof amount->unit; i++)
        amount->unit = amount->unit << 8 | (unsigned char)reader->text[i];
    if (amount->symbol.end == 0 && amount->sign == 0 && amount->tens == 0)
        amount->symbol = (struct span){piece->begin, amount->span.end = piece->end};
}

/* True if no unit, sign or word of more than three letters follows the last piece of a number, nor
 * another number that has one: 5 or 6 kg. */
static bool is_bare(const struct reader *reader, const struct amount *amount, size_t at) {
    enum { SHORT = 3 };
    size_t next = at + 1 + (is_dash(reader, at + 1) && is_joint(reader, at + 1));
    const struct piece *word = is_kind(reader, next, PIECE_WORD) ? &reader->pieces[next] : NULL;
    bool linked = is_kind(reader, next, PIECE_NUMBER) ||
                  (is_kind(reader, next + 1, PIECE_NUMBER) &&
                   (is_kind(reader, next, PIECE_MARK) || has_role(reader, next, NUMBER_LINK)));
    return !amount->measured && amount->symbol.end == 0 && (amount->sign | amount->shared) == 0 &&
           amount->tens == 0 && !linked &&
           !(word && (word->end - word->begin > SHORT || has_role(reader, next, NUMBER_CLOCK)));
}

/* The numbers around a full stop are a label (version 3.8, section 1.1) unless something makes them
 * a quantity: weights/EXPERIMENTS.md has the counts. */
static bool is_label(const struct reader *reader, const struct amount *amount, size_t at) {
    bool approximate = at > 0 && is_attached(reader, at) &&
                       (is_mark(reader, at - 1, 0xb1) || is_mark(reader, at - 1, '~') ||
                        is_mark(reader, at - 1, 0x2248));
    bool code = at > 0 && is_attached(reader, at) && is_kind(reader, at - 1, PIECE_WORD);
    bool thousands = amount->grouped || amount->other.mantissa > 0; /* perhaps */
    return amount->pointed && !thousands && !approximate && !code && !amount->measured &&
           amount->sign == 0 && amount->symbol.end == 0 && amount->tens == 0 && !amount->negative &&
           !amount->clock && !amount->ordinal && !amount->decade;
}

static bool is_link(const struct reader *reader, struct span between) {
    struct span inner = segmenter_trim(reader->text + between.begin, between.end - between.begin);
    char key[NUMBER_WORDS_KEY];
    size_t length = inner.end - inner.begin;
    size_t used = length > 0 && length < 16
                      ? number_words_key(key, 0, reader->text + between.begin + inner.begin, length)
                      : 0;
    const struct number_word *word = used > 0 ? number_words_find(reader->words, key, used) : NULL;
    return word && (word->roles & NUMBER_LINK);
}

/* 2.4 to 2.7 kg, 0.3, 2.4 or 2.7 kg: what is linked with a quantity is one. */
static void link_quantities(const struct reader *reader) {
    bool linked = false;
    for (size_t i = reader->amount_count; i > 1; i--) {
        struct amount *a = &reader->amounts[i - 2];
        const struct amount *b = &reader->amounts[i - 1];
        const struct span between = {
            a->span.end, b->span.begin}; /* reversed if both have the same sign: XX'X% */
        bool quantity = b->measured || b->sign != 0 || b->symbol.end > 0 || b->tens > 0;
        bool was_linked = linked;
        linked = false;
        if (a->label && !b->label && quantity && between.end > between.begin) {
            size_t length = between.end - between.begin;
            const char *bytes = reader->text + between.begin;
            bool comma = was_linked && *bytes == ',' && length <= 2;
            bool dash = (length == 1 && *bytes == '-') ||
                        (length == 3 && memcmp(bytes, "\xe2\x80\x93", 3) == 0);
            linked = comma || dash || is_link(reader, between);
        }
        a->measured |= linked;
        a->label = a->label && !linked;
    }
}

/* ---- Roman numerals ---- */

static const struct {
    const char *letters;
    int value;
} numerals[] = {{"L", 50}, {"XL", 40}, {"X", 10}, {"IX", 9}, {"V", 5}, {"IV", 4}, {"I", 1}};

/* Returns the bytes of the Roman numeral from I to LXXXIX with which this text begins, all in
 * capitals or none, or 0. */
static size_t read_numeral(const char *text, size_t length, int *value) {
    size_t at = 0, times = 0;
    bool small = length > 0 && !ascii_upper(text[0]);
    *value = 0;
    for (size_t i = 0; i < sizeof numerals / sizeof *numerals; i++, times = 0)
        for (size_t size = strlen(numerals[i].letters); length - at >= size; at += size) {
            size_t same = 0;
            while (same < size &&
                   text[at + same] == (numerals[i].letters[same] | (small ? 0x20 : 0)))
                same++;
            if (same < size ||
                ++times > (numerals[i].value == 10 || numerals[i].value == 1 ? 3 : 1))
                break;
            *value += numerals[i].value;
        }
    return at;
}

/* Returns the word before this place, with only white space between them. */
static struct span word_before(const char *text, size_t at) {
    struct span word = {at, at};
    for (size_t before = at; before > 0 && character_is_space(character_previous(text, &before));)
        word.begin = word.end = before;
    for (size_t before = word.begin;
         before > 0 && number_pieces_is_letter(character_previous(text, &before));)
        word.begin = before;
    return word;
}

static size_t skip_spaces(const char *text, size_t length, size_t at) {
    for (size_t next = at; at < length && character_is_space(character_next(text, length, &next));)
        at = next;
    return at;
}

/* True if only full stops and the like follow. */
static bool ends_text(const char *text, size_t length, size_t at) {
    at = skip_spaces(text, length, at);
    while (at < length && (text[at] == '.' || text[at] == '!'))
        at++;
    return skip_spaces(text, length, at) == length;
}

/* True if the Roman numeral in text[begin, end) names something. Two letters do; one letter may be
 * a word, such as the English I, and needs a word such as "part" before it, or a name that does not
 * begin the sentence, whose last word the letter is. Reads no more than the words beside it, since
 * a text may have many. */
static bool is_named(const struct number_words *words, const char *text, size_t length,
                     size_t begin, size_t end) {
    if (end > begin + 1)
        return true;
    struct span word = word_before(text, begin);
    if (word.end == word.begin)
        return word.begin == 0 && !ascii_upper(text[begin]) && ends_text(text, length, end);
    char key[NUMBER_WORDS_KEY];
    size_t used = number_words_key(key, 0, text + word.begin, word.end - word.begin),
           at = word.begin, before = word.begin;
    const struct number_word *found = used > 0 ? number_words_find(words, key, used) : NULL;
    if (found && (found->roles & NUMBER_NAMED))
        return true;
    int32_t mark = ' ';
    while (before > 0 && character_is_space(mark))
        mark = character_previous(text, &before);
    return u_isupper(character_next(text, length, &at)) && ascii_upper(text[begin]) &&
           (number_pieces_is_letter(mark) || character_digit(mark) >= 0 || mark == ',') &&
           ends_text(text, length, end);
}

bool numbers_may_stand(const struct number_words *words, const char *text, size_t length) {
    bool inside = false; /* a word */
    for (size_t at = 0, next; at < length; at = next) {
        next = at;
        int32_t character =
            (unsigned char)text[at] < 0x80 ? text[next++] : character_next(text, length, &next);
        if (character_digit(character) >= 0)
            return true;
        bool begins =
            !inside && character < 0x80 && character > 0 && strchr("IVXLivxl", (char)character);
        int value;
        size_t end = begins ? at + read_numeral(text + at, length - at, &value) : at, after = end;
        if (end > at &&
            (end == length || !number_pieces_is_letter(character_next(text, length, &after))) &&
            is_named(words, text, length, at, end))
            return true;
        inside = number_pieces_is_letter(character);
    }
    return false;
}

/* ---- amounts ---- */

static struct amount *add_amount(struct reader *reader, const struct amount *amount) {
    struct amount *longer = arena_grow(reader->arena, reader->amounts, reader->amount_count,
                                       &reader->amount_room, 1, sizeof *longer);
    if (longer == NULL)
        return NULL;
    reader->amounts = longer;
    longer[reader->amount_count] = *amount;
    return &longer[reader->amount_count++];
}

/* Reads "million", a sign and a word for the hour after the last piece of a number. Returns the
 * number's last piece, which may be "million". */
static size_t read_after(struct reader *reader, struct amount *amount, size_t at) {
    for (;;) {
        size_t power = at + 1 + (is_dash(reader, at + 1) && is_joint(reader, at + 1));
        if (!is_kind(reader, power, PIECE_WORD) || !reader->pieces[power].word ||
            reader->pieces[power].word->power < 3)
            break;
        const struct piece *piece = &reader->pieces[power];
        at = power;
        amount->tens += piece->word->power;
        amount->power =
            (struct span){amount->power.end > 0 ? amount->power.begin : piece->begin, piece->end};
        amount->value = times_ten(amount->value, piece->word->power);
        amount->other = times_ten(amount->other, piece->word->power);
        widen(&amount->span, piece->begin, piece->end);
    }
    bool symbol = false, strange = false;
    size_t sign = amount->sign ? reader->count : sign_after(reader, at, &symbol, &strange);
    if (sign < reader->count && symbol) {
        take_symbol(reader, amount, sign, false);
    } else if (sign < reader->count) {
        const struct piece *piece = &reader->pieces[sign];
        bool perhaps = has_role(reader, sign, NUMBER_PERHAPS);
        *(perhaps ? &amount->shared : &amount->sign) |=
            piece->kind == PIECE_SIGN ? piece->sign : sign_of_word(reader, sign);
        if (!perhaps)
            widen(&amount->span, piece->begin, piece->end);
        amount->named = perhaps || strange ? 0 : piece->end;
    }
    amount->clock = amount->clock || has_role(reader, at + 1, NUMBER_CLOCK) ||
                    (has_role(reader, at + 2, NUMBER_CLOCK) && is_kind(reader, at + 1, PIECE_WORD));
    return at;
}

/* Reads the letters that touch the digits: before them they make a code; after them an ordinal, a
 * decade, a unit or a code. Returns the last piece of the number. */
static size_t read_touching(struct reader *reader, struct amount *amount, size_t at) {
    if (at > 0 && is_attached(reader, at) && is_kind(reader, at - 1, PIECE_WORD) &&
        !symbol_at(reader, at - 1))
        amount->weak = true;
    size_t next = at + 1;
    next += is_apostrophe(reader, next) && is_joint(reader, next) &&
            has_role(reader, next + 1, NUMBER_DECADE);
    next += is_mark(reader, next, '-') && is_joint(reader, next) &&
            has_role(reader, next + 1, NUMBER_DECADE);
    if (is_mark(reader, next, 0xb0) &&
        (!reader->pieces[next].spaced || has_role(reader, next + 1, NUMBER_UNIT))) {
        size_t last = is_attached(reader, next + 1) && has_role(reader, next + 1, NUMBER_UNIT)
                          ? next + 1
                          : next;
        amount->symbol = (struct span){reader->pieces[next].begin, reader->pieces[last].end};
        amount->span.end = amount->symbol.end;
        return last;
    }
    if (!is_attached(reader, next) || !is_kind(reader, next, PIECE_WORD))
        return at;
    struct piece *word = &reader->pieces[next];
    unsigned roles = word->word ? word->word->roles : 0;
    if (symbol_at(reader, next) ||
        (word->word && (word->word->power >= 3 || sign_of_word(reader, next))))
        return at;
    amount->ordinal = roles & NUMBER_ORDINAL;
    amount->decade = amount->decade || (roles & NUMBER_DECADE);
    amount->clock = amount->clock || (roles & NUMBER_CLOCK);
    if (!(roles & (NUMBER_ORDINAL | NUMBER_DECADE | NUMBER_UNIT | NUMBER_CLOCK))) {
        amount->weak = true;
        return at;
    }
    if (roles & NUMBER_UNIT && !(roles & NUMBER_CLOCK) && !amount->ordinal && !amount->decade)
        amount->symbol = (struct span){word->begin, word->end};
    amount->span.end = word->end;
    word->taken = true;
    return next;
}

/* Adds the amount of a number, two amounts for an hour and its minutes, or three for a date that
 * may be a decimal fraction. Returns the place after them, or 0 if memory runs out. */
static size_t read_number(struct reader *reader, size_t at) {
    struct piece piece = reader->pieces[at];
    bool second_year = at > 1 && (is_mark(reader, at - 1, '/') || is_dash(reader, at - 1)) &&
                       is_joint(reader, at - 1) && is_kind(reader, at - 2, PIECE_NUMBER) &&
                       reader->pieces[at - 2].end - reader->pieces[at - 2].begin == 4 &&
                       piece.end - piece.begin <= 4; /* 12 of 2011/12 */
    bool apostrophe = at > 0 && is_apostrophe(reader, at - 1) && is_attached(reader, at) &&
                      !is_attached(reader, at - 1);
    struct amount amount = {.span = {piece.begin, piece.end},
                            .digits = {piece.begin, piece.end},
                            .value = piece.value,
                            .other = piece.other,
                            .grouped = piece.grouped,
                            .foreign = piece.foreign,
                            .pointed = piece.pointed,
                            .decade = at > 0 && has_role(reader, at - 1, NUMBER_DECADES),
                            .half = at > 0 && has_role(reader, at - 1, NUMBER_HALF),
                            .abbreviated = apostrophe || second_year};

    /* 7.30 before "Uhr" and "p.m." is an hour and its minutes */
    int hour = numbers_integer(piece.parts[0]), past = numbers_integer(piece.parts[1]);
    if (piece.cut > 0 && reader->text[piece.cut - 1] == '.' && piece.end - piece.cut == 2 &&
        hour >= 0 && hour <= 24 && past >= 0 && past < 60 &&
        has_role(reader, at + 1 + is_dash(reader, at + 1), NUMBER_CLOCK)) {
        struct amount minute = amount;
        amount.foreign = minute.foreign = false;
        amount.value = piece.parts[0];
        amount.span.end = amount.digits.end = piece.cut - 1;
        amount.clock = minute.minute = true;
        minute.value = piece.parts[1];
        minute.span.begin = minute.digits.begin = piece.cut;
        return add_amount(reader, &amount) && add_amount(reader, &minute) ? at + 1 : 0;
    }
    if (piece.date) {
        struct amount day = amount, month = amount;
        amount.weak = day.weak = month.weak = true;
        day.value = piece.parts[0];
        month.value = piece.parts[1];
        return add_amount(reader, &day) && add_amount(reader, &month) && add_amount(reader, &amount)
                   ? at + 1
                   : 0;
    }

    read_before(reader, &amount, at);
    size_t last = read_touching(reader, &amount, at);
    bool clock = has_role(reader, last,
                          NUMBER_CLOCK); /* 10h30; otherwise perhaps 10:30, 10 h 30 or 10 Uhr 30 */
    size_t minute = last + (clock ? 1 : 2);
    if ((clock || (is_mark(reader, last + 1, ':') && is_joint(reader, last + 1)) ||
         has_role(reader, last + 1, NUMBER_CLOCK)) &&
        is_kind(reader, minute, PIECE_NUMBER) &&
        reader->pieces[minute].end - reader->pieces[minute].begin == 2 &&
        numbers_integer(reader->pieces[minute].value) < 60 &&
        numbers_integer(reader->pieces[minute].value) >= 0) {
        const struct piece *after = &reader->pieces[minute];
        struct amount second = {.span = {after->begin, after->end},
                                .digits = {after->begin, after->end},
                                .value = after->value,
                                .minute = true};
        amount.clock = true;
        return add_amount(reader, &amount) && add_amount(reader, &second) ? minute + 1 : 0;
    }
    if (!amount.weak && !amount.ordinal && !amount.decade)
        last = read_after(reader, &amount, last);
    amount.measured = is_measured(reader, last);
    amount.label = is_label(reader, &amount, at);
    read_unit(reader, &amount, last);
    amount.bare = is_bare(reader, &amount, last);
    return add_amount(reader, &amount) ? last + 1 : 0;
}

/* ---- words ---- */

/* Returns the value of a Roman numeral, with or without an ending of ordinals (XIXe), or else -1.
 * *label: it names something. */
static int roman_of(const struct reader *reader, const struct piece *piece, bool *label) {
    int value;
    size_t at =
        piece->begin + read_numeral(reader->text + piece->begin, piece->end - piece->begin, &value);
    *label = value > 0 && at == piece->end &&
             is_named(reader->words, reader->text, reader->length, piece->begin, at);
    if (value == 0 || (!*label && !ascii_upper(reader->text[piece->begin])))
        return -1;
    char key[NUMBER_WORDS_KEY];
    size_t used =
        at < piece->end ? number_words_key(key, 0, reader->text + at, piece->end - at) : 0;
    const struct number_word *ending =
        used > 0 ? number_words_find(reader->words, key, used) : NULL;
    return at == piece->end || (ending && (ending->roles & NUMBER_ORDINAL)) ? value : -1;
}

/* The sum of number words: a word below a hundred is added if the last digits are zeros (twenty,
 * one), a power multiplies. */
struct sum {
    uint64_t total, part;
    bool any;
};

static const uint64_t SUM_MOST = 1000000000000000;

static bool sum_add(struct sum *sum, int value, int power) {
    if (value >= 0 && (power == 0 || !sum->any)) {
        bool fits = !sum->any ||
                    (value > 0 && value < 10 && sum->part % 10 == 0 && sum->part % 100 >= 20) ||
                    (value > 0 && value < 100 && sum->part % 100 == 0);
        if (!fits)
            return false;
        sum->part += (uint64_t)value;
    } else if (power == 2) {
        if (sum->part >= 100 || (sum->any && sum->part == 0 && sum->total == 0))
            return false;
        sum->part = (sum->part > 0 ? sum->part : 1) * 100;
    } else if (power > 2) {
        uint64_t factor = 1;
        for (int i = 0; i < power; i++)
            factor *= 10;
        uint64_t part = sum->part > 0 ? sum->part : 1;
        if (part > SUM_MOST / factor)
            return false;
        sum->total += part * factor;
        sum->part = 0;
    } else {
        return false;
    }
    sum->any = true;
    return sum->total < SUM_MOST;
}

/* The parts of a number that is written as one word: Zwei-hundert-und-fünf-prozentig. */
enum glued { GLUED_NUMBER, GLUED_LINK, GLUED_PERCENT };

static bool is_glued(const struct number_word *word, enum glued part) {
    return part == GLUED_NUMBER ? word->value >= 0 || word->power > 0
           : part == GLUED_LINK ? (word->roles & NUMBER_LINK) != 0
                                : word->sign == NUMBER_PERCENT;
}

/* Finds the longest part of this kind that begins at key[*at], and moves *at to its end. */
static const struct number_word *take_glued(const struct reader *reader, const char *key,
                                            size_t used, enum glued part, size_t *at) {
    enum { LEAST = 3, MOST = 40 };
    for (size_t end = used < *at + MOST ? used : *at + MOST; end >= *at + LEAST; end--) {
        const struct number_word *found = number_words_find(reader->words, key + *at, end - *at);
        if (!found || !is_glued(found, part))
            continue;
        *at = end;
        return found;
    }
    return NULL;
}

/* Sums words of the table that are written as one word: Zweihundertfünfzig. The rest may be an
 * ending: zweite, dreimal, fünfprozentig. */
static bool sum_glued(const struct reader *reader, const struct piece *piece, struct sum *sum,
                      number_sign *sign) {
    char key[NUMBER_WORDS_KEY];
    size_t used = number_words_key(key, 0, reader->text + piece->begin, piece->end - piece->begin),
           at = 0, end = 0;
    const struct number_word *found;
    while ((found = take_glued(reader, key, used, GLUED_NUMBER, &end)) &&
           sum_add(sum, found->value, found->power)) {
        at = end;
        take_glued(reader, key, used - 1, GLUED_LINK, &end);
    }
    *sign = sum->any && take_glued(reader, key, used, GLUED_PERCENT, &at) ? NUMBER_PERCENT : 0;
    return sum->any;
}

static bool is_number_word(const struct reader *reader, size_t at) {
    return is_kind(reader, at, PIECE_WORD) && reader->pieces[at].word &&
           (reader->pieces[at].word->value >= 0 || reader->pieces[at].word->power >= 2);
}

static struct amount *add_words(struct reader *reader, size_t first, size_t last, uint64_t value) {
    struct amount amount = {.span = {reader->pieces[first].begin, reader->pieces[last].end},
                            .digits = {reader->pieces[first].begin, reader->pieces[last].end},
                            .value = number_pieces_value(value, 0),
                            .weak = true};
    amount.half = first > 0 && has_role(reader, first - 1, NUMBER_HALF);
    amount.perhaps_negative = first > 0 && has_role(reader, first - 1, NUMBER_MINUS);
    read_after(reader, &amount, last);
    return add_amount(reader, &amount);
}

/* Adds a Roman numeral, number words that are written as one word, or number words that stand
 * together. Two numbers that may be a year (nineteen eighty) are also added as one. Returns the
 * place after the first number, or 0 if memory runs out. */
static size_t read_word(struct reader *reader, size_t first) {
    struct sum sum = {0};
    size_t at = first, last = first;
    if (!is_number_word(reader, first)) {
        const struct piece *piece = &reader->pieces[first];
        bool label;
        int roman = roman_of(reader, piece, &label);
        number_sign sign = 0;
        if (roman <= 0 &&
            (!reader->words->glued || piece->word || !sum_glued(reader, piece, &sum, &sign)))
            return first + 1;
        struct amount *amount =
            add_words(reader, first, first, roman > 0 ? (uint64_t)roman : sum.total + sum.part);
        if (amount == NULL)
            return 0;
        amount->sign |= sign;
        amount->label = label;
        return first + 1;
    }

    while (is_number_word(reader, at)) {
        const struct number_word *word = reader->pieces[at].word;
        if (at > first && ((word->roles & NUMBER_ARTICLE) ||
                           has_role(reader, last, NUMBER_HALF))) /* half an hour, halb drei */
            break;
        if (!sum_add(&sum, word->value, word->power))
            break;
        last = at++;
        bool joint = (is_dash(reader, at) && is_joint(reader, at)) ||
                     (has_role(reader, at, NUMBER_LINK) && sum.part % 100 == 0);
        at += joint && is_number_word(reader, at + 1);
    }
    if (!sum.any)
        return first + 1;
    struct amount *amount = add_words(reader, first, last, sum.total + sum.part);
    if (amount == NULL)
        return 0;
    amount->article = last == first && (reader->pieces[first].word->roles & NUMBER_ARTICLE);
    if (sum.total == 0 && sum.part >= 10 && sum.part < 100 && is_number_word(reader, last + 1)) {
        int after = reader->pieces[last + 1].word->value;
        if (after >= 10 && after < 100 &&
            add_words(reader, first, last + 1, sum.part * 100 + (uint64_t)after) == NULL)
            return 0;
    }
    return last + 1;
}

int numbers_read(const struct number_words *words, struct bytes bytes, const struct spans *skip,
                 struct arena *arena, struct amounts *out, struct error *err) {
    const char *text = bytes.start;
    struct reader reader = {.words = words, .text = text, .length = bytes.length, .arena = arena};
    if (number_pieces_cut(&reader, skip ? skip->all : NULL, skip ? skip->count : 0) != 0)
        return error_memory(err);
    for (size_t at = 0; at < reader.count;) {
        size_t next = at + 1;
        if (reader.pieces[at].kind == PIECE_NUMBER)
            next = read_number(&reader, at);
        else if (reader.pieces[at].kind == PIECE_WORD)
            next = read_word(&reader, at);
        if (next == 0)
            return error_memory(err);
        at = next;
    }

    /* 5 to 10 dollars, 5, 10 or 20 %, 3 to 5 million: an amount may have its neighbour's sign, and
     * the power of the next */
    for (size_t i = reader.amount_count; i > 1; i--) {
        struct amount *a = &reader.amounts[i - 2], *b = &reader.amounts[i - 1];
        number_sign sign = b->sign | b->shared;
        if (a->span.end > b->span.begin)
            continue;
        struct span between = segmenter_trim(text + a->span.end, b->span.begin - a->span.end);
        const char *link = text + a->span.end + between.begin;
        size_t linked = between.end - between.begin;
        char key[NUMBER_WORDS_KEY];
        size_t used = linked > 0 && linked < 16 ? number_words_key(key, 0, link, linked) : 0;
        const struct number_word *word = used > 0 ? number_words_find(words, key, used) : NULL;
        if (linked > 3 && !(word && (word->roles & NUMBER_LINK)))
            continue;
        if (a->tens == 0 && b->tens > 0 && a->other.mantissa == 0)
            a->other = times_ten(a->value, b->tens);
        if (a->sign == 0)
            a->shared |= sign;
        if (b->sign == 0)
            b->shared |= a->sign;
    }
    link_quantities(&reader);
    bool daytime = false;
    for (size_t i = 0; i < reader.count; i++)
        daytime |= has_role(&reader, i, NUMBER_DAYTIME);
    for (size_t i = 0; i < reader.amount_count; i++)
        reader.amounts[i].daytime = daytime;
    *out = (struct amounts){reader.amounts, reader.amount_count};
    return 0;
}
