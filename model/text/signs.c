/* This file hides what counts as a sign, and when the signs of two texts are equal. */
#include "model/text/signs.h"
#include "model/base/utf8.h"
#include "model/text/tokenizer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>

/* ---- languages ---- */

struct sign_language {
    const char *code;
    const char *marks;        /* punctuation that is no sign in this language's texts */
    const char *open, *close; /* its quotation marks; "": those of the source */
};

static const struct sign_language languages[] = {
#define LANGUAGE(code, marks, open, close) {code, marks, open, close},
#define WORDS(sign, code, words)
#include "model/text/signs.def"
#undef LANGUAGE
#undef WORDS
};

struct words {
    int32_t sign; /* or NAMES, NO_NAMES */
    const char *code, *words;
};

/* In the place of a sign: words that are names in capitals although vocabularies have them, and
 * words that are not names. */
enum { NAMES = -1, NO_NAMES = -2 };

enum { EN_DASH = 0x2013 };

static const struct words words_of[] = {
#define LANGUAGE(code, marks, open, close)
#define WORDS(sign, code, words) {sign, code, words},
#include "model/text/signs.def"
#undef LANGUAGE
#undef WORDS
};

enum {
    LANGUAGES = sizeof languages / sizeof *languages,
    WORD_ROWS = sizeof words_of / sizeof *words_of
};

static const struct sign_language *find_language(const char *code) {
    static const struct sign_language other = {"", "", "", ""};
    for (size_t i = 0; i < LANGUAGES; i++) {
        size_t n = strlen(languages[i].code);
        if (strncmp(code, languages[i].code, n) == 0 &&
            strchr("-_", code[n])) /* strchr also finds the terminating NUL */
            return &languages[i];
    }
    return &other;
}

struct sign_rules signs_rules(const char *source, const char *target) {
    return (struct sign_rules){.source = find_language(source), .target = find_language(target)};
}

/* ---- characters ---- */

enum kind {
    PLAIN,
    MARK, /* a sign only if it stands beside itself */
    SIGN,
    QUOTE,
    APOSTROPHE, /* a quotation mark where it stands at both ends of a phrase */
    OPEN,       /* brackets */
    CLOSE,
};

static const unsigned char ascii[128] = {
    ['\t'] = SIGN, ['\n'] = SIGN, ['\r'] = SIGN, ['!'] = MARK,        ['"'] = QUOTE, ['#'] = SIGN,
    ['$'] = SIGN,  ['%'] = SIGN,  ['&'] = SIGN,  ['\''] = APOSTROPHE, ['('] = OPEN,  [')'] = CLOSE,
    ['*'] = SIGN,  ['+'] = SIGN,  [','] = MARK,  ['-'] = MARK,        ['.'] = MARK,  ['/'] = SIGN,
    [':'] = MARK,  [';'] = MARK,  ['<'] = SIGN,  ['='] = SIGN,        ['>'] = SIGN,  ['?'] = MARK,
    ['@'] = SIGN,  ['['] = OPEN,  ['\\'] = SIGN, [']'] = CLOSE,       ['^'] = SIGN,  ['_'] = SIGN,
    ['`'] = SIGN,  ['{'] = OPEN,  ['|'] = SIGN,  ['}'] = CLOSE,       ['~'] = SIGN,
};

/* Quotation marks that have a partner; each also closes what itself or its partner has opened,
 * unless it only opens. */
static const struct {
    const wchar_t *marks, *opens;
} families[] = {
    {L"\"\u201c\u201d\u201e\u201f", L"\u201c\u201e\u201f"},
    {L"\u00ab\u00bb", L"\u00ab"},
    {L"\u2039\u203a", L"\u2039"},
    {L"'\u2018\u2019\u201a\u201b", L"\u2018\u201a\u201b"},
};
enum { FAMILIES = sizeof families / sizeof *families, SINGLE = FAMILIES - 1 };

static size_t family_of(int32_t c) {
    size_t family = 0;
    while (family < FAMILIES && !character_is_among(c, families[family].marks))
        family++;
    return family;
}

static bool has(const char *characters, int32_t c) {
    for (size_t at = 0, length = strlen(characters); at < length;)
        if (character_next(characters, length, &at) == c)
            return true;
    return false;
}

static enum kind kind_of(const struct sign_rules *rules, int32_t c) {
    if (c >= 0 && c < 128)
        return ascii[c];
    if (c < 0 || c == 0xb4) /* an acute accent serves as an apostrophe */
        return PLAIN;
    size_t family = family_of(c);
    if (family < FAMILIES)
        return family == SINGLE ? APOSTROPHE : QUOTE;
    uint32_t category = U_GET_GC_MASK(c);
    if (category &
        (U_GC_L_MASK | U_GC_M_MASK | U_GC_ND_MASK | U_GC_ZS_MASK | U_GC_CF_MASK | U_GC_CN_MASK))
        return PLAIN;
    if (character_is_among(c, L"\u2010\u2011\u2012\u2013\u2014\u2015\u2026\u00bf\u00a1") ||
        has(rules->source->marks, c) || has(rules->target->marks, c))
        return MARK;
    if (category & U_GC_P_MASK) {
        int type = u_getIntPropertyValue(c, UCHAR_BIDI_PAIRED_BRACKET_TYPE);
        return type == U_BPT_OPEN ? OPEN : type == U_BPT_CLOSE ? CLOSE : SIGN;
    }
    return SIGN;
}

/* Returns whether the apostrophe before text[end], which follows a digit, means feet or minutes: no
 * letter and no group of thousands follows. */
static bool is_prime(const char *text, size_t length, size_t end) {
    enum { GROUP = 3 };
    size_t digits = end;
    while (digits < length && ascii_digit(text[digits]))
        digits++;
    return digits - end != GROUP && (digits == length || !ascii_word(text[digits]));
}

bool signs_any(const struct sign_rules *rules, const char *text, size_t length) {
    bool edge = true; /* an apostrophe here may open a quotation */
    for (size_t at = 0; at < length;) {
        unsigned char byte = (unsigned char)text[at];
        int32_t c = byte;
        size_t begin = at++;
        if (byte >= 0x80) {
            at = begin;
            c = character_next(text, length, &at);
        }
        switch (kind_of(rules, c)) {
        case PLAIN:
            edge = c == ' ' || (c >= 0x80 && character_is_space(c));
            continue;
        case MARK:
            if (at < length && text[at] == text[begin] &&
                strncmp(text + begin, text + at, at - begin) == 0)
                return true;
            if (c == EN_DASH && !edge && at < length && text[at] != ' ')
                return true;
            edge = c == '-' || c > 0x80;
            continue;
        case APOSTROPHE:
            if (edge ||
                (byte == '\'' && ascii_digit(text[begin - 1]) && is_prime(text, length, at)))
                return true;
            continue;
        default:
            return true;
        }
    }
    return false;
}

bool signs_mark(const struct sign_rules *rules, const char *text, size_t length) {
    size_t at = 0;
    return length > 0 && kind_of(rules, character_next(text, length, &at)) == MARK && at == length;
}

/* ---- reading ---- */

/* A key has the part that a sign plays, how it stands, how often it is repeated, and the character.
 */
enum {
    CHARACTER_BITS = 21, /* bits of a key that hold a character */
    REPEAT = 1 << CHARACTER_BITS,
    MOST_REPEATS = 127,
    PAIRED = 1 << 28,   /* at both ends of a phrase */
    LOPSIDED = 1 << 29, /* white space on the inner side of one mark of the pair */
    QUOTES = 1 << 30,   /* a quotation mark: in a pair of any form, with one of these and perhaps
                           SINGLES; alone, with its form */
    OPENS = REPEAT,
    CLOSES = 2 * REPEAT,
    SINGLES = 1,
    MOST_OPEN = 16
};

#define NAME (UINT32_C(1) << 31) /* the rest of the key is a hash of the word */

bool signs_is_name(const struct sign *sign) {
    return (sign->key & NAME) != 0;
}

/* A mark that has opened a phrase. */
struct opened {
    size_t sign;
    int32_t c;
    size_t family; /* FAMILIES: a bracket, or another sign */
};

struct reader {
    const struct sign_rules *rules;
    const char *text;
    size_t length;
    struct arena *arena;
    struct signs signs;
    size_t room;
    struct opened open[MOST_OPEN];
    size_t depth;
    size_t small, capitals; /* letters */
};

static int32_t after(const struct reader *reader, size_t at) {
    return at < reader->length ? character_next(reader->text, reader->length, &at) : ' ';
}

static int32_t before(const struct reader *reader, size_t at) {
    return at > 0 ? character_previous(reader->text, &at) : ' ';
}

static bool is_word(int32_t c) {
    return character_is_letter(c) || (c >= 0 && (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0);
}

/* Returns whether a phrase may begin after this character: white space, a dash, an opening bracket
 * or quotation mark. */
static bool is_edge(const struct reader *reader, int32_t c) {
    enum kind kind = kind_of(reader->rules, c);
    return character_is_space(c) || kind == OPEN || kind == QUOTE ||
           (kind == MARK && !character_is_among(c, L".,;:!?\u2026")) ||
           (kind == SIGN && !character_is_among(c, L"%\u00b0"));
}

static bool add(struct reader *reader, size_t begin, size_t end, uint32_t key, bool weak) {
    struct sign *all = arena_grow(reader->arena, reader->signs.all, reader->signs.count,
                                  &reader->room, 1, sizeof *all);
    if (!all)
        return false;
    reader->signs.all = all;
    all[reader->signs.count] = (struct sign){{begin, end}, key, weak, reader->signs.count};
    reader->signs.count++;
    return true;
}

/* Opens a phrase with the last sign. Marks too deep inside others stay alone. */
static void open_phrase(struct reader *reader, int32_t c, size_t family) {
    if (reader->depth < MOST_OPEN)
        reader->open[reader->depth++] = (struct opened){reader->signs.count - 1, c, family};
}

/* Closes the phrase that the i-th open mark began with the last sign. What has been opened within
 * it stays alone, except single quotation marks: alone they are apostrophes, which do not count, so
 * that an invented pair that crosses the phrase would not either. */
static void close_phrase(struct reader *reader, size_t i, uint32_t opens, uint32_t closes) {
    struct sign *first = &reader->signs.all[reader->open[i].sign],
                *last = &reader->signs.all[reader->signs.count - 1];
    bool left = character_is_space(after(reader, first->span.end)),
         right = character_is_space(before(reader, last->span.begin));
    uint32_t lopsided = left != right && first->span.end < last->span.begin ? LOPSIDED : 0;
    first->key |= opens | lopsided;
    last->key |= closes | lopsided;
    first->weak = last->weak = false;
    first->partner = reader->signs.count - 1;
    last->partner = reader->open[i].sign;
    size_t kept = i;
    for (size_t k = i + 1; k < reader->depth; k++)
        if (reader->open[k].family == SINGLE)
            reader->open[kept++] = reader->open[k];
    reader->depth = kept;
}

/* Returns the place of the last open mark that this one may close, or depth. */
static size_t find_open(const struct reader *reader, int32_t c, size_t family) {
    for (size_t i = reader->depth; i-- > 0;) {
        const struct opened *opened = &reader->open[i];
        bool directed = family < FAMILIES && character_is_among(c, families[family].opens);
        bool pairs = family == FAMILIES ? opened->c == c && opened->family == family
                                        : opened->family == family &&
                                              !(directed && (opened->c == c || opened->c < 128));
        if (pairs)
            return i;
    }
    return reader->depth;
}

static bool read_quote(struct reader *reader, int32_t c, size_t begin, size_t end) {
    size_t family = family_of(c), open = find_open(reader, c, family);
    int32_t left = before(reader, begin), right = after(reader, end);
    bool single = family == SINGLE, known = open < reader->depth;
    bool neutral = c == '"' || c == '\'', directed = character_is_among(c, families[family].opens);
    bool begins = is_edge(reader, left) && !character_is_space(right) &&
                  !character_is_among(right, L".,;:!?\u2026");
    bool ends = !character_is_space(left) && !is_word(right);
    if (!known && neutral && character_digit(left) >= 0 &&
        (!single || is_prime(reader->text, reader->length, end)))
        return add(reader, begin, end, (single ? 0x2032 : 0x2033) | REPEAT, false);
    if (single && is_word(left) && is_word(right))
        return true;
    bool closes = known && (!neutral || ends || !begins);
    bool opens = !closes && (single ? begins : begins || !ends || directed);
    if (single && !closes && !opens)
        return true;
    if (!add(reader, begin, end, single ? 0 : QUOTES,
             single)) /* a single one counts only as a part of a pair */
        return false;
    if (closes)
        close_phrase(reader, open, QUOTES | OPENS | single, QUOTES | CLOSES | single);
    else if (opens)
        open_phrase(reader, c, family);
    return true;
}

static bool read_bracket(struct reader *reader, int32_t c, enum kind kind, size_t begin,
                         size_t end) {
    if (!add(reader, begin, end, (uint32_t)c, false))
        return false;
    size_t open =
        kind == CLOSE ? find_open(reader, u_getBidiPairedBracket(c), FAMILIES) : reader->depth;
    if (open < reader->depth)
        close_phrase(reader, open, PAIRED, PAIRED);
    else if (kind == OPEN)
        open_phrase(reader, c, FAMILIES);
    return true;
}

/* Returns whether an en dash joins what it touches, as in Mon\u2013Fri, in languages whose words
 * for this are known. */
static bool is_ranged(const struct reader *reader, size_t begin, size_t end) {
    const char *source = reader->rules->source->code, *target = reader->rules->target->code;
    size_t known = 0;
    for (size_t i = 0; i < WORD_ROWS; i++)
        known += words_of[i].sign == EN_DASH &&
                 (strcmp(words_of[i].code, source) == 0 || strcmp(words_of[i].code, target) == 0);
    return known == 2 && !character_is_space(before(reader, begin)) &&
           !character_is_space(after(reader, end));
}

/* Reads a sign or mark that stands here `repeats` times. */
static bool read_sign(struct reader *reader, int32_t c, enum kind kind, size_t repeats,
                      size_t begin, size_t end) {
    if (c == EN_DASH && repeats == 1 && is_ranged(reader, begin, end))
        return add(reader, begin, end, EN_DASH | REPEAT, false);
    bool dash = kind == MARK && repeats == 1 && character_is_among(c, L"\u2013\u2014");
    if (dash || (kind == MARK && repeats == 1 &&
                 c == 0x2026)) /* -- may become a dash, and ... one character */
        return add(reader, begin, end, dash ? '-' | 2 * REPEAT : '.' | 3 * REPEAT, true);
    if (kind == MARK && repeats == 1)
        return true;
    uint32_t key =
        (uint32_t)c | (uint32_t)(repeats < MOST_REPEATS ? repeats : MOST_REPEATS) * REPEAT;
    if (!add(reader, begin, end, key, false))
        return false;
    bool left = is_word(before(reader, begin)), right = is_word(after(reader, end));
    size_t open = !right && !character_is_space(before(reader, begin))
                      ? find_open(reader, (int32_t)key, FAMILIES)
                      : reader->depth;
    if (open < reader->depth)
        close_phrase(reader, open, PAIRED, PAIRED);
    else if (!left && !character_is_space(after(reader, end)))
        open_phrase(reader, (int32_t)key, FAMILIES);
    return true;
}

/* ---- names ---- */

enum { LONGEST_NAME = 4 /* letters; beyond that, words in capitals are mostly emphasis */ };

/* Returns whether a row of words for one of the languages has this word. */
static bool records_is_listed(const struct sign_rules *rules, int32_t list, const char *word,
                              size_t length) {
    for (size_t i = 0; i < WORD_ROWS; i++) {
        const char *at = words_of[i].words;
        if (words_of[i].sign != list || (strcmp(words_of[i].code, rules->source->code) != 0 &&
                                         strcmp(words_of[i].code, rules->target->code) != 0))
            continue;
        for (size_t n; *at; at += n + (at[n] == '|')) {
            n = strcspn(at, "|");
            if (n == length && memcmp(at, word, n) == 0)
                return true;
        }
    }
    return false;
}

bool signs_any_names(const struct sign_rules *rules, const char *text, size_t length) {
    for (size_t at = 0; at < length;) {
        size_t begin = at;
        bool one_byte = (unsigned char)text[at] < 0x80;
        int32_t c = one_byte ? text[at++] : character_next(text, length, &at);
        if (one_byte ? !ascii_upper((char)c) : !u_isupper(c))
            continue;
        size_t next = at;
        if (at < length && u_isupper(character_next(text, length, &next)))
            return true;
        bool alone = begin > 1 && text[begin - 1] == ' ' && (at == length || !ascii_word(text[at]));
        if (alone && !records_is_listed(rules, NO_NAMES, text + begin, at - begin))
            return true;
    }
    return false;
}

/* Returns whether a vocabulary has the word [length], in capitals, as one piece in small letters.
 */
static bool is_everyday(const struct sign_rules *rules, const char *word, size_t length) {
    char small[8 * LONGEST_NAME + 1], piece[8 * LONGEST_NAME + 16];
    size_t written = 0;
    for (size_t at = 0; at < length && written + 4 < sizeof small;)
        written += character_put(u_tolower(character_next(word, length, &at)), small + written);
    small[written] = '\0';
    for (size_t i = 0; i < 2; i++) {
        if (!rules->vocabularies[i])
            return true;
        int size =
            snprintf(piece, sizeof piece, "%s%s", tokenizer_mark(rules->vocabularies[i]), small);
        if (size < (int)sizeof piece && tokenizer_find(rules->vocabularies[i], piece) >= 0)
            return true;
    }
    return false;
}

/* Adds the word that begins with the capital at text[begin] if it is a name. Returns false if
 * memory is out. */
static bool read_name(struct reader *reader, size_t begin, size_t limit) {
    const char *text = reader->text;
    size_t end = begin, letters = 0, next = begin;
    bool roman = true;
    int32_t left = before(reader, begin), c = 0;
    for (; next < limit && u_isupper(c = character_next(text, limit, &next)) &&
           letters <= LONGEST_NAME;
         letters++) {
        roman = roman && character_is_among(c, L"IVX");
        end = next;
    }
    int32_t right = after(reader, end);
    bool plural = right == 's' && letters > 1;
    if (letters > LONGEST_NAME || is_word(left) || character_digit(left) >= 0 || left == '.' ||
        left == '_' || left == '@')
        return true;
    right = plural ? after(reader, end + 1) : right;
    if (is_word(right) || character_digit(right) >= 0 || right == '_' || right == '@')
        return true;
    if (right == '.' && end + 1 < reader->length && is_word(after(reader, end + 1))) /* U.S. */
        return true;

    bool name, listed = records_is_listed(reader->rules, NO_NAMES, text + begin, end - begin);
    if (letters == 1) { /* the last word of a phrase: after a word, and before a mark, the end, or a
                           word in small letters */
        size_t follows = end;
        bool apart = begin > 1 && text[begin - 1] == ' ' && u_islower(before(reader, begin - 1));
        int32_t second =
            end < limit ? (character_next(text, limit, &follows), after(reader, follows)) : ' ';
        name = apart && !listed &&
               (right == ' ' ? u_islower(second) || end == reader->length
                             : character_is_among(right, L",;:?!)") ||
                                   (right == '.' && follows == reader->length));
    } else {
        name = records_is_listed(reader->rules, NAMES, text + begin, end - begin) ||
               (!roman && (listed || !is_everyday(reader->rules, text + begin, end - begin)));
    }
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = begin; i < end; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return !name || add(reader, begin, end + plural, NAME | hash, listed);
}

/* ---- a text ---- */

/* Gives the signs without single quotation marks that are not a part of a pair, and without the
 * words of a text in capitals. */
static int keep_signs(struct reader *reader, struct signs *out, struct error *err) {
    size_t kept = 0, *places = arena_alloc(reader->arena, reader->signs.count, sizeof *places);
    struct sign *all = reader->signs.all;
    if (!places)
        return error_memory(err);
    for (size_t i = 0; i < reader->signs.count; i++) {
        places[i] = kept;
        kept += all[i].key != 0 && !(signs_is_name(&all[i]) && reader->small <= reader->capitals);
    }
    *out = (struct signs){reader->text, all, kept};
    for (size_t i = 0; i < reader->signs.count; i++)
        if ((i + 1 < reader->signs.count ? places[i + 1] : kept) > places[i]) {
            all[places[i]] = all[i];
            all[places[i]].partner = places[all[i].partner];
        }
    return 0;
}

int signs_read(const struct sign_rules *rules, struct bytes whole, const struct spans *skipping,
               struct arena *arena, struct signs *out, struct error *err) {
    const char *text = whole.start;
    size_t length = whole.length, skip_count = skipping ? skipping->count : 0;
    const struct span *skip = skipping ? skipping->all : NULL;
    struct reader reader = {.rules = rules, .text = text, .length = length, .arena = arena};
    for (size_t at = 0, skipped = 0; at < length;) {
        while (skipped < skip_count && skip[skipped].end <= at)
            skipped++;
        if (skipped < skip_count && skip[skipped].begin <= at) {
            at = skip[skipped].end;
            continue;
        }
        size_t begin = at, limit = skipped < skip_count ? skip[skipped].begin : length;
        int32_t c = character_next(text, length, &at);
        enum kind kind = kind_of(rules, c);
        bool good = true;
        reader.small += kind == PLAIN && u_islower(c);
        if (kind == PLAIN && u_isupper(c)) {
            reader.capitals++;
            good = is_word(before(&reader, begin)) || read_name(&reader, begin, limit);
        } else if (kind == QUOTE || kind == APOSTROPHE) {
            good = read_quote(&reader, c, begin, at);
        } else if (kind == OPEN || kind == CLOSE) {
            good = read_bracket(&reader, c, kind, begin, at);
        } else if (kind != PLAIN && !(c == '\r' && at < length && text[at] == '\n')) {
            size_t repeats = 1, bytes = at - begin;
            while (at + bytes <= limit && memcmp(text + at, text + begin, bytes) == 0 &&
                   (c < 128 || character_is_mark(c))) {
                repeats++;
                at += bytes;
            }
            good = read_sign(&reader, c == '\r' ? '\n' : c, kind, repeats, begin, at);
        }
        if (!good)
            return error_memory(err);
    }
    return keep_signs(&reader, out, err);
}

/* ---- comparing ---- */

static int by_key(const void *left, const void *right) {
    const struct sign *a = *(const struct sign *const *)left,
                      *b = *(const struct sign *const *)right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->weak != b->weak ? a->weak - b->weak : (a > b) - (a < b);
}

static int by_place(const void *left, const void *right) {
    const struct sign *a = *(const struct sign *const *)left,
                      *b = *(const struct sign *const *)right;
    return (a > b) - (a < b);
}

/* Returns the form of a quotation mark without a partner as the target language writes it: its
 * other mark may be in the next sentence, so the two must not be of different kinds. */
static int32_t lone_form(const struct sign_rules *rules, const char *text,
                         const struct sign *sign) {
    size_t end = sign->span.end, next = end, previous = sign->span.begin, at = 0,
           length = strlen(text);
    int32_t c = character_next(text + sign->span.begin, end - sign->span.begin, &at);
    int32_t left = previous > 0 ? character_previous(text, &previous) : ' ',
            right = next < length ? character_next(text, length, &next) : ' ';
    bool opens = character_is_space(left) && !character_is_space(right),
         closes = !character_is_space(left) && !is_word(right);
    bool apart = character_is_space(left) && character_is_space(right);
    const char *form = opens || (apart && has(rules->source->open, c))     ? rules->target->open
                       : closes || (apart && has(rules->source->close, c)) ? rules->target->close
                                                                           : "";
    if (c == '"' || !*form || (family_of(c) != 0 && family_of(c) != 1))
        return c;
    for (at = 0, length = strlen(form); at < length;) { /* without the space inside */
        int32_t mark = character_next(form, length, &at);
        if (!character_is_space(mark))
            return mark;
    }
    return c;
}

static bool is_lone(const struct sign *sign) {
    return sign->key == QUOTES;
}

/* writes: the text is the source, whose marks are compared as the target language writes them. */
static const struct sign **sorted(const struct sign_rules *rules, const struct signs *signs,
                                  const char *text, bool writes, struct arena *arena) {
    const struct sign **list = arena_alloc(arena, signs->count, sizeof *list);
    struct sign *copies = arena_alloc(arena, signs->count, sizeof *copies);
    for (size_t i = 0; list && copies && i < signs->count; i++) {
        size_t at = signs->all[i].span.begin;
        copies[i] = signs->all[i];
        if (is_lone(&copies[i]))
            copies[i].key |= (uint32_t)(writes ? lone_form(rules, text, &copies[i])
                                               : character_next(text, copies[i].span.end, &at));
        list[i] = &copies[i];
    }
    if (list && copies && signs->count > 0)
        qsort(list, signs->count, sizeof *list, by_key);
    return copies ? list : NULL;
}

/* Removes single quotation marks of the source for which the translation has double ones, as some
 * languages write them. */
static void forgive_singles(const struct sign **left, size_t *lefts, const struct sign **right,
                            size_t *rights) {
    enum { MOST = 32 };
    size_t kept = 0;
    for (size_t i = 0, looked = 0; i < *lefts; i++) {
        size_t k = *rights;
        if ((left[i]->key & QUOTES) && !signs_is_name(left[i]) &&
            (left[i]->key & (REPEAT - 1)) == SINGLES && looked++ < MOST)
            for (k = 0; k < *rights && right[k]->key != (left[i]->key & ~(uint32_t)SINGLES);)
                k++;
        if (k == *rights) {
            left[kept++] = left[i];
        } else {
            memmove(right + k, right + k + 1, (*rights - k - 1) * sizeof *right);
            --*rights;
        }
    }
    *lefts = kept;
}

/* Returns whether a digit stands here, perhaps after a space of any width. */
static bool is_before_digit(const char *text) {
    enum { CHARACTER_BYTES = 4 };
    size_t next = 0, most = strnlen(text, CHARACTER_BYTES);
    return ascii_digit(*text) ||
           (most > 0 && character_is_space(character_next(text, most, &next)) &&
            ascii_digit(text[next]));
}

/* Counts the words of a text that the rows of a language list for a sign. */
static size_t count_words(int32_t sign, const char *code, const char *text) {
    size_t found = 0;
    for (size_t i = 0; i < WORD_ROWS; i++) {
        const char *word = words_of[i].words;
        if (words_of[i].sign != sign || strcmp(words_of[i].code, code) != 0)
            continue;
        for (size_t n; *word; word += n + (word[n] == '|')) {
            n = strcspn(word, "|");
            bool numbers = word[n - 1] == '#', within = word[n - 1] == '~',
                 letters = ascii_letter(word[n - 1]);
            for (const char *at = text; *at; at++)
                found += strncmp(at, word, n - numbers - within) == 0 &&
                         (within || at == text || !ascii_word(at[-1])) &&
                         (numbers   ? is_before_digit(at + n - 1)
                          : within  ? true
                          : letters ? !ascii_word(at[n])
                                    : !ascii_letter(at[n])); /* -5 */
        }
    }
    return found;
}

/* Removes the signs of one side that words of the other side may stand for: each word that has no
 * equal word here, one sign. */
static size_t forgive(const struct sign **list, size_t count, const char *own, const char *code,
                      const char *other, const char *other_code) {
    enum {
        NAMED = 64
    }; /* a sign that words stand for is looked up once; beyond this many it needs its equal */
    size_t kept = 0;
    struct {
        int32_t sign;
        size_t left;
    } named[NAMED];
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        int32_t c = (int32_t)(list[i]->key & (REPEAT - 1));
        size_t k = 0;
        bool plain = list[i]->key == ((uint32_t)c | REPEAT) || list[i]->key == (uint32_t)c;
        while (k < used && named[k].sign != c)
            k++;
        if (plain && k == used && used < NAMED) {
            size_t here = count_words(c, code, own), there = count_words(c, other_code, other);
            named[used].sign = c;
            named[used++].left = there > here ? there - here : 0;
        }
        if (plain && k < used && named[k].left > 0)
            named[k].left--;
        else
            list[kept++] = list[i];
    }
    return kept;
}

/* Returns whether a text has the word, in letters of either case unless it is one letter. */
static bool has_word(const char *text, const char *word, size_t length) {
    for (const char *at = text; *at; at++) {
        size_t n = 0;
        while (n < length && at[n] &&
               (at[n] == word[n] ||
                (length > 1 && ascii_letter(word[n]) && (at[n] ^ word[n]) == 0x20)))
            n++;
        if (n == length && (at == text || !ascii_word(at[-1])) &&
            (!ascii_word(at[n]) || ((at[n] | 0x20) == 's' && !ascii_word(at[n + 1]))))
            return true;
    }
    return false;
}

/* Returns the length of a name without the ending of its plural. */
static size_t name_bytes(const struct sign *name, const char *text) {
    return name->span.end - name->span.begin - (text[name->span.end - 1] == 's');
}

/* Removes the names of the translation, and those of the source that it has in some form: the same
 * word, or another name of about the same length, which serves once. Returns the number of signs
 * left of the source. */
static size_t forgive_names(const struct sign **left, size_t lefts, const char *source,
                            const struct sign **right, size_t *rights, const char *target) {
    enum { MOST = 16 };                                          /* names that are looked for */
    size_t others[LONGEST_NAME + 2] = {0}, kept = 0, looked = 0; /* by their bytes */
    for (size_t i = 0; i < *rights; i++) {
        size_t bytes = name_bytes(right[i], target);
        if (!signs_is_name(right[i]))
            right[kept++] = right[i];
        else if (bytes < sizeof others / sizeof *others)
            others[bytes]++;
    }
    *rights = kept;
    kept = 0;
    for (size_t i = 0; i < lefts; i++) {
        size_t bytes = name_bytes(left[i], source);
        bool found = false;
        if (signs_is_name(left[i])) {
            found = looked++ >= MOST || has_word(target, source + left[i]->span.begin, bytes);
            for (size_t n = bytes > 2 ? bytes - 1 : 2;
                 !found && bytes > 1 && n <= bytes + 1 && n < sizeof others / sizeof *others; n++)
                if (others[n] > 0) {
                    others[n]--;
                    found = true;
                }
        }
        if (!found)
            left[kept++] = left[i];
    }
    return kept;
}

static struct span *spans_of(const struct sign **list, size_t count, struct arena *arena) {
    struct span *spans = arena_alloc(arena, count, sizeof *spans);
    if (spans && count > 0)
        qsort(list, count, sizeof *list, by_place);
    for (size_t i = 0; spans && i < count; i++)
        spans[i] = list[i]->span;
    return spans;
}

int signs_compare(const struct sign_rules *rules, const struct signs *source_signs,
                  const struct signs *target_signs, struct arena *arena,
                  struct sign_difference *out, struct error *err) {
    const char *source = source_signs->text, *target = target_signs->text;
    const struct sign **left = sorted(rules, source_signs, source, true, arena),
                      **right = sorted(rules, target_signs, target, false, arena);
    if (!left || !right)
        return error_memory(err);
    size_t i = 0, j = 0, lefts = 0, rights = 0;
    while (i < source_signs->count || j < target_signs->count) {
        bool ends = i == source_signs->count || j == target_signs->count;
        if (!ends && left[i]->key == right[j]->key) {
            i++;
            j++;
        } else if (j == target_signs->count || (!ends && left[i]->key < right[j]->key)) {
            if (!left[i]->weak)
                left[lefts++] = left[i];
            i++;
        } else {
            if (!right[j]->weak || signs_is_name(right[j]))
                right[rights++] = right[j];
            j++;
        }
    }
    forgive_singles(left, &lefts, right, &rights);
    lefts = forgive_names(left, lefts, source, right, &rights, target);
    size_t missing = forgive(left, lefts, source, rules->source->code, target, rules->target->code);
    size_t added = forgive(right, rights, target, rules->target->code, source, rules->source->code);
    *out = (struct sign_difference){{spans_of(left, missing, arena), missing},
                                    {spans_of(right, added, arena), added}};
    return out->source.all && out->target.all ? 0 : error_memory(err);
}

/* ---- writing ---- */

const char *signs_write(const struct sign_rules *rules, const char *text, size_t length,
                        const struct sign *sign, struct span *span) {
    const char *open = rules->target->open, *close = rules->target->close;
    uint32_t part = sign->key & ~(uint32_t)(LOPSIDED | SINGLES);
    bool opens = part == (QUOTES | OPENS), closes = part == (QUOTES | CLOSES);
    *span = sign->span;
    if (is_lone(sign)) {
        int32_t form = lone_form(rules, text, sign);
        opens = has(open, form);
        closes = !opens && has(close, form);
    }
    if ((!opens && !closes) || !*open || text[span->begin] == '"' || text[span->begin] == '\'')
        return NULL;
    for (size_t at = span->end;
         opens && at < length && character_is_space(character_next(text, length, &at));)
        span->end = at;
    for (size_t at = span->begin;
         closes && at > 0 && character_is_space(character_previous(text, &at));)
        span->begin = at;
    return opens ? open : close;
}

/* ---- spaces at quotation marks ---- */

size_t signs_lopsided(const char *text, size_t length, struct span *at) {
    static const struct {
        const wchar_t *opening, *closing;
    } forms[] = {{L"\u00ab\u2039",
                  L"\u00bb\u203a"}, /* guillemets; German texts have them the other way round */
                 {L"\u201e\u201f\u201c", L"\u201c\u201d"},
                 {L"\u300c\u300e", L"\u300d\u300f"}};
    enum { FORMS = sizeof forms / sizeof *forms };
    size_t count = 0, begun[FORMS] = {0}; /* the end of an opening mark; 0: none is open */
    bool low[FORMS] = {false}, inwards = false, met = false;
    for (size_t i = 0; i < length;) {
        size_t begin = i;
        int32_t c = character_next(text, length, &i);
        bool before = begin == 0 || character_space_before(text, begin),
             after = i == length || character_space_after(text, i);
        if (c == '"' && before && after) {
            *at = (struct span){begin, i};
            count++;
        }
        for (size_t f = 0; f < FORMS; f++) {
            bool opens = character_is_among(c, forms[f].opening),
                 closes = character_is_among(c, forms[f].closing);
            if (f == 0 && (opens || closes) && !met) {
                met = true;
                inwards = closes;
            }
            if (f == 0 && inwards) {
                bool swapped = opens;
                opens = closes;
                closes = swapped;
            }
            if (closes && begun[f] > 0 && (!opens || low[f])) {
                if (begin > begun[f] && character_space_after(text, begun[f]) != before) {
                    *at = (struct span){begin, i};
                    count++;
                }
                begun[f] = 0;
            } else if (opens) {
                begun[f] = i;
                low[f] = c == 0x201e;
            }
        }
    }
    return count;
}
