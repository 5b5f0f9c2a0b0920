/* This file hides how a text is cut into pieces, and how the digits of a number are read in the
 * notation of a language. */
#include "model/base/utf8.h"
#include "model/text/numbers_parts.h"
#include <unicode/uchar.h>

enum {
    MOST_PARTS = 16,  /* groups of digits of one number; more groups are several numbers */
    MOST_DIGITS = 18, /* significant digits of a mantissa */
};

struct number_value number_pieces_value(uint64_t mantissa, int exponent) {
    if (mantissa == 0)
        return (struct number_value){0, 0};
    while (mantissa % 10 == 0) {
        mantissa /= 10;
        exponent++;
    }
    return (struct number_value){mantissa, exponent};
}

static struct piece *add_piece(struct reader *reader, enum number_kind kind, size_t begin,
                               size_t end) {
    struct piece *longer =
        arena_grow(reader->arena, reader->pieces, reader->count, &reader->room, 1, sizeof *longer);
    if (longer == NULL)
        return NULL;
    reader->pieces = longer;
    bool spaced = reader->count == 0 || longer[reader->count - 1].end < begin;
    longer[reader->count] =
        (struct piece){.kind = kind, .begin = begin, .end = end, .spaced = spaced};
    return &longer[reader->count++];
}

/* Returns the character at this place, or 0 at the end. */
static int32_t look(const struct reader *reader, size_t at) {
    return at < reader->length ? character_next(reader->text, reader->length, &at) : 0;
}

static bool is_group_space(int32_t character) {
    return character == 0xa0 || character == 0x202f || character == 0x2009;
}

/* Returns the end of the digits from here on, and sets *count to their number. */
static size_t skip_digits(const struct reader *reader, size_t at, size_t *count) {
    *count = 0;
    for (size_t next = at; next < reader->length; at = next, ++*count)
        if (character_digit(character_next(reader->text, reader->length, &next)) < 0)
            break;
    return at;
}

/* The parts of a possible number, and the separators between them: separators[i] stands before part
 * i + 1. */
struct parts {
    struct span all[MOST_PARTS];
    size_t digits[MOST_PARTS];
    int32_t separators[MOST_PARTS];
    size_t count;
};

/* True if the parts before `end` are groups: 1,234,567. */
static bool are_groups(const struct parts *parts, size_t end) {
    bool good = parts->digits[0] <= 3;
    for (size_t i = 1; i < end; i++)
        good = good && parts->digits[i] == 3 && parts->separators[i - 1] == parts->separators[0];
    return good;
}

static void find_parts(const struct reader *reader, size_t at, struct parts *parts) {
    for (parts->count = 0;;) {
        size_t end = skip_digits(reader, at, &parts->digits[parts->count]), next = end, digits;
        parts->all[parts->count++] = (struct span){at, end};
        if (parts->count == MOST_PARTS || end == reader->length)
            return;
        int32_t separator = character_next(reader->text, reader->length, &next);
        skip_digits(reader, next, &digits);
        if (digits == 0)
            return;
        bool space = is_group_space(separator) || separator == ' ';
        bool apostrophe = separator == '\'' || separator == 0x2019;
        bool stop =
            separator == '.' || separator == ',' || separator == 0x66b || separator == 0x66c;
        if (!stop && !((space || apostrophe) && digits == 3 && are_groups(parts, parts->count) &&
                       (parts->count == 1 || parts->separators[0] == separator)))
            return;
        parts->separators[parts->count - 1] = separator;
        at = next;
    }
}

/* Returns the value of parts [first, end), of which those from `decimals` on follow the decimal
 * sign. */
static struct number_value value_of_parts(const struct reader *reader, const struct parts *parts,
                                          size_t first, size_t end, size_t decimals) {
    uint64_t mantissa = 0, hash = 14695981039346656037U;
    size_t significant = 0;
    int exponent = 0;
    for (size_t i = first; i < end; i++)
        for (size_t at = parts->all[i].begin; at < parts->all[i].end;) {
            uint64_t digit =
                (uint64_t)character_digit(character_next(reader->text, reader->length, &at));
            significant += significant > 0 || digit > 0;
            mantissa = significant <= MOST_DIGITS ? mantissa * 10 + digit : mantissa;
            exponent -= i >= decimals && exponent > NUMBER_LONG + 1;
            hash = (hash ^ (i >= decimals ? digit + 16 : digit)) * 1099511628211U;
        }
    return significant > MOST_DIGITS ? (struct number_value){hash | 1, NUMBER_LONG}
                                     : number_pieces_value(mantissa, exponent);
}

/* The ways to read a number of several parts. A date may be a decimal fraction, too: am 25.8. and
 * Abbildung 1.1. */
enum reading { READ_GROUPS, READ_DECIMAL, READ_APART, READ_DATE };

static enum reading read_parts(const struct reader *reader, const struct parts *parts,
                               bool *either) {
    size_t count = parts->count;
    int32_t first = parts->separators[0], last = parts->separators[count - 2];
    const struct number_words *words = reader->words;
    *either = false;
    if (first != last) /* 1,234.5: the last separator is the decimal sign, in every language */
        return are_groups(parts, count - 1) && (last == '.' || last == ',' || last == 0x66b)
                   ? READ_DECIMAL
                   : READ_APART;
    bool groups = are_groups(parts, count);
    if (is_group_space(first) || first == ' ' || first == '\'' || first == 0x2019 || first == 0x66c)
        return groups ? READ_GROUPS : READ_APART;
    if (count > 2) /* 1.234.567 or 12.5.2010 */
        return groups ? READ_GROUPS : READ_APART;
    bool zero = look(reader, parts->all[0].begin) == '0';
    if (first == words->decimal_character)
        return READ_DECIMAL;
    if (first == words->group_character)
        return groups && !zero                                          ? READ_GROUPS
               : look(reader, parts->all[1].end) == '.' && first == '.' ? READ_DATE
                                                                        : READ_DECIMAL;
    *either = groups && !zero; /* 1.250 in French, whose decimal sign is a comma and whose groups
                                  have spaces between them */
    return READ_DECIMAL;
}

/* Adds the number, or the numbers of a date or version, that begin at text[at]. Returns their end,
 * or 0 if memory runs out. */
static size_t add_number(struct reader *reader, size_t at) {
    const struct number_words *words = reader->words;
    struct parts parts;
    bool either = false;
    find_parts(reader, at, &parts);
    size_t end = parts.all[parts.count - 1].end;
    enum reading reading = parts.count > 1 ? read_parts(reader, &parts, &either) : READ_GROUPS;
    struct piece *piece;
    for (size_t i = 0; reading == READ_APART && i < parts.count; i++) {
        if ((piece = add_piece(reader, PIECE_NUMBER, parts.all[i].begin, parts.all[i].end)) == NULL)
            return 0;
        piece->value = value_of_parts(reader, &parts, i, i + 1, i + 1);
        if (i + 1 == parts.count)
            return end;
        if ((piece = add_piece(reader, PIECE_MARK, parts.all[i].end, parts.all[i + 1].begin)) ==
            NULL)
            return 0;
        piece->character = parts.separators[i];
    }

    if ((piece = add_piece(reader, PIECE_NUMBER, at, end)) == NULL)
        return 0;
    size_t decimals = reading == READ_GROUPS ? parts.count : parts.count - 1;
    piece->date = reading == READ_DATE;
    piece->value = value_of_parts(reader, &parts, 0, parts.count, decimals);
    piece->other = either ? value_of_parts(reader, &parts, 0, parts.count, parts.count)
                          : (struct number_value){0};
    piece->grouped = decimals > 1;
    if (parts.count > 1 &&
        !piece->date) { /* separators that are not the language's own are understood all the same */
        int32_t last = parts.separators[parts.count - 2], first = parts.separators[0];
        bool own =
            first == words->group_character ||
            (is_group_space(words->group_character) && (is_group_space(first) || first == ' ')) ||
            ((first == '\'' || first == 0x2019) && words->group_character == 0x2019);
        piece->foreign = (reading == READ_DECIMAL && last != words->decimal_character) ||
                         (piece->grouped && !own);
    }
    piece->pointed = parts.count == 2 && parts.separators[0] == '.' &&
                     ascii_digit(reader->text[at]) && ascii_digit(reader->text[end - 1]);
    if (parts.count == 2) {
        piece->cut = parts.all[1].begin;
        piece->parts[0] = value_of_parts(reader, &parts, 0, 1, 1);
        piece->parts[1] = value_of_parts(reader, &parts, 1, 2, 2);
    }
    return end;
}

bool number_pieces_is_letter(int32_t character) {
    return character > 0 && (u_isalpha(character) || character == 0xad ||
                             (U_GET_GC_MASK(character) & U_GC_M_MASK) != 0);
}

static int cut(struct reader *reader, const struct span *skip, size_t skip_count) {
    size_t skipped = 0;
    for (size_t at = 0, next; at < reader->length; at = next) {
        while (skipped < skip_count && skip[skipped].end <= at)
            skipped++;
        bool skips = skipped < skip_count && skip[skipped].begin <= at;
        next = at;
        int32_t character = character_next(reader->text, reader->length, &next);
        struct piece *piece = NULL;
        number_sign sign = character >= 0x80 || character == '$' || character == '%'
                               ? number_words_sign_of(character)
                               : 0;
        if (skips) {
            next = skip[skipped].end > next ? skip[skipped].end : next;
            piece = add_piece(reader, PIECE_MARK, at, next);
        } else if (character_is_space(character)) {
            continue;
        } else if (character_digit(character) >= 0) {
            next = add_number(reader, at);
            if (next == 0)
                return -1;
            continue;
        } else if (number_pieces_is_letter(character)) { /* a word ends at a character that is not a
                                              letter; p.m. and U.S. are one word */
            next = at;
            for (size_t letters = 0, after = at; after < reader->length; next = after) {
                int32_t c = character_next(reader->text, reader->length, &after);
                bool stop =
                    c == '.' && letters == 1 && number_pieces_is_letter(look(reader, after));
                if (!stop && !number_pieces_is_letter(c))
                    break;
                letters = stop ? 0 : letters + 1;
            }
            piece = add_piece(reader, PIECE_WORD, at, next);
        } else {
            piece = add_piece(reader, sign ? PIECE_SIGN : PIECE_MARK, at, next);
        }
        if (piece == NULL)
            return -1;
        if (piece->kind == PIECE_MARK || piece->kind == PIECE_SIGN)
            piece->character = skips ? 0xfffc : character;
        piece->sign = piece->kind == PIECE_SIGN ? sign : 0;
    }
    return 0;
}

/* Turns the longest phrase of the table that begins at each word into one piece with its meaning. A
 * hyphen or an apostrophe without white space may stand between two words of a phrase. */
static void find_phrases(struct reader *reader) {
    size_t kept = 0;
    for (size_t at = 0; at < reader->count; at++) {
        struct piece piece = reader->pieces[at];
        size_t last = at;
        if (piece.kind == PIECE_WORD) {
            char key[NUMBER_WORDS_KEY];
            size_t used = 0;
            for (size_t word = at, i = 0; i < NUMBER_WORDS_PHRASE && word < reader->count; i++) {
                const struct piece *part = &reader->pieces[word];
                used = number_words_key(key, used, reader->text + part->begin,
                                        part->end - part->begin);
                if (used == 0)
                    break;
                const struct number_word *found = number_words_find(reader->words, key, used);
                last = found ? word : last;
                piece.word = found ? found : piece.word;
                size_t next = word + 1;
                bool joint = (is_mark(reader, next, '-') || is_mark(reader, next, 0x2011) ||
                              is_apostrophe(reader, next)) &&
                             !reader->pieces[next].spaced;
                next += joint;
                word = is_kind(reader, next, PIECE_WORD) && !(joint && reader->pieces[next].spaced)
                           ? next
                           : reader->count;
            }
            piece.end = reader->pieces[last].end;
        }
        at = last;
        reader->pieces[kept++] = piece;
    }
    reader->count = kept;
}

int number_pieces_cut(struct reader *reader, const struct span *skip, size_t skip_count) {
    if (cut(reader, skip, skip_count) != 0)
        return -1;
    find_phrases(reader);
    return 0;
}
