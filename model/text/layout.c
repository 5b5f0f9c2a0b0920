/* This file finds the layout of a text: what stands between its texts and at the beginnings and
 * ends of its lines. A translation copies it, so that a pasted table, a list, a form or a quoted
 * mail keeps its shape, and the model reads the words alone.
 *
 * Separators cut a line into cells. Labels begin a cell, signs apart from words end it, and a cell
 * without a letter or a digit is layout as a whole. */
#include "model/base/utf8.h"
#include "model/text/spans.h"
#include <string.h>

enum {
    COLUMN_SPACES = 3, /* so many spaces side by side separate columns; justified prose has two */
    RULE_SIGNS = 3,    /* so many equal signs are a rule, even where they touch words */
    LEADER_SIGNS = 4,  /* so many equal signs lead the eye to the next column: three dots may be an
                          ellipsis, three dashes a dash */
    LAST_BYTES = 16, /* the most bytes of what a leader leads to, if no space precedes it: a price,
                        the number of a page */
    NUMBER_DIGITS =
        3, /* the most digits of a number that counts items or sections; 2020. ends a sentence */
    NUMERAL_LETTERS = 6, /* XXVIII: the longest Roman numeral that counts items */
    MOST_PARTS = 6,      /* 1.2.3.4.5.6 */
    NEAR_BYTES = 1024    /* a number of a series is looked for within so many bytes */
};

/* ---- characters ---- */

static char peek(const char *text, size_t at, size_t end) {
    return at < end ? text[at] : '\0';
}

static size_t skip(const char *text, size_t at, size_t end, const char *set) {
    while (ascii_among(peek(text, at, end), set))
        at++;
    return at;
}

/* Passes the spaces of a line, of any width. */
static size_t skip_spaces(const char *text, size_t at, size_t end) {
    for (size_t next = at; at < end && character_is_space(character_next(text, end, &next));)
        at = next;
    return at;
}

static int32_t character_at(const char *text, size_t at, size_t end) {
    return at < end ? character_next(text, end, &at) : -1;
}

static bool is_capital(int32_t c) {
    return c >= 0 && character_lower(c) != c;
}

/* True for what has no language alone. Quotation marks and brackets have a partner, and the sign of
 * a currency an amount. */
static bool is_sign(int32_t c) {
    static const wchar_t paired[] =
        L"\"'()[]{}\u00ab\u00bb\u2039\u203a\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u300c"
        L"\u300d\u300e\u300f\u3010\u3011\uff08\uff09$"
        L"\u20ac\u00a3\u00a5\u20b9\u20bd\u20a9\u20aa\u20ba";
    return character_is_punctuation(c) && !character_is_among(c, paired);
}

/* True for marks that a word has after it, perhaps with a space between: French sets one before the
 * tall ones. */
static bool is_after_word(int32_t c) {
    return character_is_among(c, L".,;:!?%\u2026\u2030\u00b0\u3002\u3001\uff01\uff1f\u061f\u060c");
}

/* True for variation selectors, what joins two emoji, and the like. */
static bool is_joined(int32_t c) {
    return c >= 0x80 && !character_is_letter(c) && !character_is_punctuation(c) &&
           !character_is_space(c);
}

/* True for signs that begin an item even if they touch its first word. */
static bool is_bullet(int32_t c) {
    return character_is_among(c, L"\u2022\u2023\u2043\u25e6\u00b7\u25aa\u25ab\u25cf\u25cb\u25a0"
                                 L"\u25a1\u25ba\u25b6\u25b8\u2610\u2611"
                                 L"\u2612\u2713\u2714\u2717\u2718\u2751\u2756\u27a2\u27a4");
}

/* ---- labels: each function returns the end of a label without the white space after it, or `at`
 * ---- */

/* A dash, a bullet, ## // >> [x] and others: signs that a space separates from the words, or a
 * bullet or a rule that touches them.
 */
static size_t signs_label(const char *text, size_t at, size_t end) {
    size_t after = at, next = at;
    char first = peek(text, at, end);
    while (after < end) {
        int32_t c = character_next(text, end, &next);
        if (!is_sign(c) && (after == at || !is_joined(c)))
            break;
        after = next;
        if (is_bullet(c))
            return after;
    }
    if (after == end || (after > at && character_is_space(character_at(text, after, end))))
        return after;
    size_t rule = skip(text, at, end, (const char[]){first, '\0'});
    bool quoted = first == '>' && rule > at,
         ruled = ascii_among(first, "-=~#+") || (first == '*' && text[end - 1] == '*');
    return quoted || (ruled && rule == after && rule >= at + RULE_SIGNS) ? rule : at;
}

/* [ ] [x] [10:30] ( ): brackets around a sign, a mark or digits. */
static size_t box_label(const char *text, size_t at, size_t end) {
    char open = peek(text, at, end);
    if (open != '[' && open != '(')
        return at;
    size_t inside = at + 1, after = skip(text, inside, end, "0123456789:.,/- ");
    if (after == inside ||
        (after == inside + 1 && text[inside] == ' ' && ascii_among(peek(text, after, end), "xX*")))
        after += ascii_among(peek(text, after, end), "xX*+");
    return after > inside && peek(text, after, end) == (open == '[' ? ']' : ')') ? after + 1 : at;
}

/* Passes a Roman numeral from I to XXXIX in letters of one case. */
static size_t skip_numeral(const char *text, size_t at, size_t end) {
    const char *x = "xX", *v = "vV", *i = "iI";
    bool upper = ascii_upper(peek(text, at, end));
    size_t after = at;
    while (after < at + NUMERAL_LETTERS && peek(text, after, end) == x[upper])
        after++;
    if (after > at + 3)
        return at;
    char second = peek(text, after + 1, end);
    if (peek(text, after, end) == i[upper] && (second == x[upper] || second == v[upper]))
        return after + 2;
    after += peek(text, after, end) == v[upper];
    for (size_t ones = 0; ones < 3 && peek(text, after, end) == i[upper]; ones++)
        after++;
    return after;
}

/* The kind of an enumerator, such as a number or a letter, and its place. */
struct enumerator {
    enum { COUNTS_NOTHING, COUNTS_DIGITS, COUNTS_PARTS, COUNTS_LETTER, COUNTS_NUMERAL } counts;
    size_t end;      /* after the number or letter */
    unsigned number; /* value of a COUNTS_DIGITS */
};

/* Reads 12, 1.1, 1a, A.1, b, iv. A single i, v or x is a letter. */
static struct enumerator read_enumerator(const char *text, size_t at, size_t end) {
    struct enumerator found = {COUNTS_NOTHING, at, 0};
    size_t parts = 0, after = at, next = at;
    bool letter = character_is_letter(character_at(text, at, end)) && !ascii_digit(text[at]);
    if (letter) {
        size_t numeral = skip_numeral(text, at, end);
        character_next(text, end, &next);
        found.counts = numeral > next ? COUNTS_NUMERAL : COUNTS_LETTER;
        found.end = after = numeral > next ? numeral : next;
        parts = 1;
        if (found.counts == COUNTS_NUMERAL || peek(text, after, end) != '.' ||
            !ascii_digit(peek(text, after + 1, end)))
            return found;
        after++;
    }
    while (parts < MOST_PARTS) {
        size_t digits = skip(text, after, end, "0123456789");
        if (digits == after || digits > after + NUMBER_DIGITS)
            break;
        for (found.number = 0; after < digits; after++)
            found.number = 10 * found.number + (unsigned)(text[after] - '0');
        found.end = after;
        found.counts = ++parts > 1 ? COUNTS_PARTS : COUNTS_DIGITS;
        if (peek(text, after, end) != '.' || !ascii_digit(peek(text, after + 1, end)))
            break;
        after++;
    }
    if (found.counts == COUNTS_DIGITS && ascii_letter(peek(text, found.end, end)) &&
        !ascii_word(peek(text, found.end + 1, end)))
        found.end++; /* 1a) */
    return found;
}

/* Returns the word that begins there. */
static struct span word_at(const char *text, size_t at, size_t end) {
    size_t after = at;
    for (size_t next = at; next < end && character_is_letter(character_next(text, end, &next));)
        after = next;
    return (struct span){at, after};
}

/* True if the line that begins at text[at] has this number with a full stop. */
static bool has_number(const struct layout_reading *reading, size_t at, unsigned number) {
    at = skip(reading->text, at, reading->length, " \t");
    struct enumerator found = read_enumerator(reading->text, at, reading->length);
    return found.counts == COUNTS_DIGITS && found.number == number &&
           peek(reading->text, found.end, reading->length) == '.';
}

/* True if the line before that of text[at] begins with the number before this one, or the line
 * after it with the next number. */
static bool is_counted(const struct layout_reading *reading, size_t at, unsigned number) {
    const char *text = reading->text;
    size_t first = at > NEAR_BYTES ? at - NEAR_BYTES : 0,
           most = reading->length - at < NEAR_BYTES ? reading->length - at : NEAR_BYTES;
    const char *feed = memrchr(text + first, '\n', at - first),
               *after = memchr(text + at, '\n', most);
    const char *before = feed ? memrchr(text + first, '\n', (size_t)(feed - text) - first) : NULL;
    size_t line = before ? (size_t)(before + 1 - text) : first;
    return (feed && (before || first == 0) && has_number(reading, line, number - 1)) ||
           (after && has_number(reading, (size_t)(after + 1 - text), number + 1));
}

/* True if the number with its full stop counts items. In a language whose ordinal numbers have a
 * full stop, 1. Mai is a day and
 * 3. Platz a rank: there, the number must be followed by a word with which sentences begin, or be
 * one of a series. Of 34 German lines of the corpora that begin like this, each was an item. */
static bool counts_items(const struct layout_reading *reading, size_t at, struct enumerator number,
                         size_t next, size_t end) {
    if (!segmenter_has_ordinals(reading->segmenter))
        return true;
    struct span word = word_at(reading->text, next, end);
    return segmenter_opens(reading->segmenter, reading->text + word.begin, word.end - word.begin) ||
           (number.counts == COUNTS_DIGITS && is_counted(reading, at, number.number));
}

/* True if 1.1 before the word text[next,end) is the number of a section, not an amount or a
 * time: 2.5 million, 10.30 AM, 10.30 Uhr. The word has one capital, in a language that does not
 * write hours like this. */
static bool numbers_section(const struct layout_reading *reading, size_t next, size_t end) {
    struct span word = word_at(reading->text, next, end);
    size_t second = next;
    bool capital = word.end > next && is_capital(character_next(reading->text, word.end, &second));
    return capital && !is_capital(character_at(reading->text, second, word.end)) &&
           reading->segmenter && !segmenter_has_ordinals(reading->segmenter);
}

/* a) (ii) 1. I. A.1 1.1 Q: and others. */
static size_t number_label(const struct layout_reading *reading, size_t at, size_t end) {
    const char *text = reading->text;
    char open = peek(text, at, end);
    bool bracket = open == '(' || open == '[';
    struct enumerator found = read_enumerator(text, at + bracket, end);
    size_t after = found.end, next = skip_spaces(text, after, end);
    char close = peek(text, after, end);
    bool letter = found.counts == COUNTS_LETTER, dotted = close == '.';
    if (found.counts == COUNTS_NOTHING || (bracket && close != (open == '(' ? ')' : ']')))
        return at;
    if (bracket || close == ')' || (dotted && peek(text, after + 1, end) == ')'))
        return after + 1 + (!bracket && dotted);
    if (close == '-')
        return letter || found.counts == COUNTS_DIGITS ? after + 1 : at;
    if (close == '/' || close == ':')
        return (close == '/' ? found.counts == COUNTS_DIGITS
                             : letter && is_capital(character_at(text, at, end)))
                   ? after + 1
                   : at;
    if (!dotted)
        return found.counts == COUNTS_PARTS && numbers_section(reading, next, end) ? after : at;
    if (found.counts == COUNTS_PARTS)
        return after + 1;
    next = skip_spaces(text, ++after, end);
    if (!reading->segmenter || (letter && segmenter_abbreviates(reading->segmenter, text, after)))
        return at;
    return letter || next == end || counts_items(reading, at, found, next, end) ? after : at;
}

/* True for an o that stands for a bullet, in a language that has no word o: no sentence begins with
 * it. */
static bool is_round(const struct layout_reading *reading, size_t at, size_t end) {
    return peek(reading->text, at, end) == 'o' && peek(reading->text, at + 1, end) == ' ' &&
           reading->segmenter && segmenter_never_opens(reading->segmenter, "O", 1);
}

size_t layout_label(const struct layout_reading *reading, size_t begin, size_t end) {
    const char *text = reading->text;
    size_t at = begin;
    for (;;) {
        size_t after = signs_label(text, at, end);
        bool apart = after == at; /* white space must follow */
        if (apart)
            after = box_label(text, at, end);
        if (after == at)
            after = number_label(reading, at, end);
        if (after == at && is_round(reading, at, end))
            after = at + 1;
        size_t next = skip_spaces(text, after, end);
        if (after == at || (apart && next == after && after < end))
            return at;
        at = next;
    }
}

/* ---- ends of cells ---- */

/* Returns where signs begin that end the cell text[begin,end) apart from its words: ♪ and -- after
 * a space, ____ and *** anywhere.
 */
static size_t trim_signs(const char *text, size_t begin, size_t end) {
    for (;;) {
        size_t first = end, signs = 0;
        for (size_t before = first; before > begin; first = before) {
            int32_t c = character_previous(text, &before);
            bool sign = is_sign(c) && !is_after_word(c), joined = is_joined(c);
            if (!sign && !joined)
                break;
            signs += sign;
        }
        size_t space = first;
        if (signs == 0)
            return end;
        if (first > begin && character_is_space(character_previous(text, &space))) {
            end = first;
            while (end > begin && character_is_space(character_previous(text, &first)))
                end = first;
            continue;
        }
        for (size_t rule = end; rule > first; end = rule) {
            while (rule > first && text[rule - 1] == text[end - 1])
                rule--;
            if (rule + RULE_SIGNS > end || !ascii_among(text[end - 1], "_-=*~#+"))
                break;
        }
        return end;
    }
}

static bool has_words(const char *text, size_t begin, size_t end) {
    while (begin < end)
        if (character_is_letter(character_next(text, end, &begin)))
            return true;
    return false;
}

/* ---- separators ---- */

/* Returns the end of the equal signs, side by side or with one space between, that begin there. */
static size_t skip_leader(const char *text, size_t at, size_t end, size_t *signs) {
    char sign = text[at];
    bool spaced = peek(text, at + 1, end) == ' ' && peek(text, at + 2, end) == sign;
    *signs = 0;
    while (peek(text, at, end) == sign) {
        at++;
        (*signs)++;
        if (spaced && peek(text, at, end) == ' ' && peek(text, at + 1, end) == sign)
            at++;
    }
    return at;
}

/* True if the equal signs text[at,after) lead to the next column or are the blank of a form: Coffee
 * ..... 3.50, Name: ____ */
static bool is_leader(const char *text, size_t begin, size_t at, size_t after, size_t end,
                      size_t signs) {
    size_t before = at, next = skip_spaces(text, after, end), last = end - next;
    int32_t former = before > begin ? character_previous(text, &before) : ' ';
    bool apart = character_is_space(former);
    while (character_is_space(former) &&
           before > begin) /* *at is after the last separator, so this stays within a cell */
        former = character_previous(text, &before);
    if (text[at] == '_')
        return signs >= RULE_SIGNS && former == ':';
    size_t digit = next; /* after the sign of a currency */
    while (digit < end && !character_is_letter(character_at(text, digit, end)) &&
           digit < next + LAST_BYTES)
        character_next(text, end, &digit);
    bool number = last <= LAST_BYTES && ascii_digit(peek(text, digit, end));
    return signs >= LEADER_SIGNS && next < end && ((apart && next > after) || number);
}

/* True if an arrow leads from one text to the next: Settings > Privacy, black → white. Letters by
 * themselves may be compared, and in a sentence an arrow may be the name of a key. */
static bool is_path(const char *text, size_t begin, size_t at, size_t next, size_t end) {
    size_t first = next + 1, before = at - 1; /* past the spaces */
    bool capital = is_capital(character_at(text, first, end));
    if (character_at(text, at, end) != '>')
        return character_is_among(character_at(text, at, end),
                                  L"\u203a\u2192\u21d2\u2794\u279c\u25b8\u25b6") &&
               (capital || !ascii_among(text[end - 1], ".!?"));
    return at > begin + 2 && next < end && capital &&
           character_is_letter(
               (character_next(text, end, &first), character_at(text, first, end))) &&
           character_is_letter(character_previous(text, &before)) && before > begin &&
           character_is_letter(character_previous(text, &before));
}

/* Returns the length of a bar, of ASCII or of a box, or of a bullet, a box to tick or an arrow with
 * spaces on both sides. */
static size_t bar_at(const char *text, size_t begin, size_t at, size_t end) {
    size_t next = at;
    int32_t c = character_next(text, end, &next);
    if (c == '|')
        return peek(text, next, end) == '|' || (at > begin && text[at - 1] == '|') ? 0 : 1;
    if (c == 0xa6 || (c >= 0x2500 && c < 0x25a0)) /* a broken bar; boxes and blocks */
        return next - at;
    bool apart = at > begin && text[at - 1] == ' ' && peek(text, next, end) == ' ';
    bool box = c == '[' && ascii_among(peek(text, next, end), " xX") &&
               peek(text, next + 1, end) == ']' && peek(text, next + 2, end) == ' ';
    if (box && at > begin && text[at - 1] == ' ')
        return 3;
    bool bullet = character_is_among(c, L"\u00b7\u2022\u2219\u2610\u2611\u2612");
    return apart && (bullet || is_path(text, begin, at, next, end)) ? next - at : 0;
}

/* True for the semicolon of a list without spaces, as programs keep keywords: photo;picture; Two
 * letters stand on each side of it; in code it may be one: i=0;i<n */
static bool is_list_sign(const char *text, size_t begin, size_t at, size_t end) {
    size_t before = at, next = at + 1;
    for (int i = 0; i < 2; i++)
        if (before == begin || !character_is_letter(character_previous(text, &before)))
            return false;
    if (next == end)
        return begin > 0 && text[begin - 1] == ';';
    for (int i = 0; i < 2; i++)
        if (next == end || !character_is_letter(character_next(text, end, &next)))
            return false;
    return true;
}

/* Returns the end of white space that separates columns, or `at`: a tab or form feed with spaces
 * around, or several spaces. */
static size_t column_at(const char *text, size_t at, size_t end) {
    size_t spaces = skip(text, at, end, " "), after = skip(text, spaces, end, "\t\v\f ");
    return after > spaces || spaces >= at + COLUMN_SPACES ? after : at;
}

/* Finds the next separator of the line whose text ends at end, from *at on, with the white space
 * around it. */
static bool next_separator(const char *text, size_t *at, size_t end, struct span *found) {
    for (size_t i = *at, run = i; i<end; i = run> i ? run : i + 1) {
        size_t signs = 0, after = i;
        run = i;
        switch (text[i]) {
        case ' ':
        case '\t':
        case '\v':
        case '\f':
            after = column_at(text, i, end);
            run = skip(text, i, end, " ");
            break;
        case '|':
        case '[':
        case '>':
        case '\xc2':
        case '\xe2':
            after += bar_at(text, *at, i, end);
            break;
        case ';':
            after += is_list_sign(text, *at, i, end);
            break;
        case '.':
        case '-':
        case '=':
        case '*':
        case '~':
        case '_':
            run = skip_leader(text, i, end, &signs);
            after = is_leader(text, *at, i, run, end, signs) ? run : i;
            break;
        default:
            break;
        }
        if (after == i)
            continue;
        size_t first = i;
        for (size_t before = i;
             before > *at && character_is_space(character_previous(text, &before));)
            first = before;
        *found = (struct span){first, skip_spaces(text, after, end)};
        *at = found->end;
        return true;
    }
    return false;
}

/* ---- a text ---- */

struct layout_list {
    const struct layout_reading *reading;
    struct arena *arena;
    struct span *all;
    size_t count, room;
    bool failed;
};

/* True if no opaque run crosses an edge of the gap or holds it. */
static bool is_free(const struct opaque_runs *held, struct span gap) {
    size_t first = 0; /* the first run that ends after the gap's begin */
    for (size_t last = held->count; first < last;) {
        size_t middle = first + (last - first) / 2;
        if (held->all[middle].end <= gap.begin)
            first = middle + 1;
        else
            last = middle;
    }
    if (first < held->count && held->all[first].begin < gap.begin)
        return false;
    for (; first < held->count && held->all[first].begin < gap.end; first++)
        if (held->all[first].end > gap.end || held->all[first].written)
            return false;
    return true;
}

static void add_gap(struct layout_list *list, size_t begin, size_t end) {
    struct span gap = {begin, end}, *last = list->count > 0 ? &list->all[list->count - 1] : NULL;
    if (list->failed || begin >= end || !is_free(&list->reading->held, gap))
        return;
    if (last && begin <= last->end) {
        last->end = end > last->end ? end : last->end;
        return;
    }
    struct span *all = arena_grow(list->arena, list->all, list->count, &list->room, 1, sizeof *all);
    if (!all || !budget_step(list->arena->budget, 1)) {
        list->failed = true;
        return;
    }
    list->all = all;
    all[list->count++] = gap;
}

#define PAIRED_MARKS "*~_=^"

/* True for marks such as ** that touch the word before them, which others have opened. */
static bool closes_marks(const char *text, size_t begin, const struct opaque_run *run) {
    return ascii_among(text[run->begin], PAIRED_MARKS) && run->begin > begin &&
           !ascii_among(text[run->begin - 1], " \t");
}

/* Returns the length of the equal marks that begin the text and that it has nowhere else or, with
 * as many of them in *last, at its end, too: ~~text~~ and *text, but not **a** or **b**. */
static size_t outer_marks(const char *text, size_t begin, size_t end, size_t *last) {
    char mark[2] = {peek(text, begin, end), '\0'};
    if (!ascii_among(mark[0], PAIRED_MARKS))
        return 0;
    size_t first = skip(text, begin, end, mark), stop = end;
    while (stop > first && text[stop - 1] == mark[0])
        stop--;
    *last = end - stop;
    bool touches =
        stop > first && !ascii_among(text[first], " \t") && !ascii_among(text[stop - 1], " \t");
    bool fits = *last == first - begin || (*last == 0 && !ascii_among(mark[0], "_="));
    return touches && fits && !memchr(text + first, mark[0], stop - first) ? first - begin : 0;
}

/* Returns where the opaque runs begin that end text[begin,end) with only white space between them,
 * from the first one of them that is a picture or another symbol, with the white space before it:
 * "See you. :-) https://example.com #party". The full stop after a picture goes with it, since a
 * model may lose the word before the two. Returns end if there is none. */
static size_t trailing_runs(const struct opaque_runs *held, const char *text, size_t begin,
                            size_t end) {
    bool stopped = end > begin + 1 && text[end - 1] == '.' && text[end - 2] != '.';
    size_t found = end, at = end - stopped, last = 0;
    for (size_t most = held->count;
         last < most;) { /* last becomes the number of runs that begin before the end */
        size_t middle = last + (most - last) / 2;
        if (held->all[middle].begin < end)
            last = middle + 1;
        else
            most = middle;
    }
    while (last > 0 && held->all[last - 1].begin >= begin) {
        const struct opaque_run *run = &held->all[--last];
        if (skip_spaces(text, run->end, at) < at || run->written || closes_marks(text, begin, run))
            break;
        at = run->begin;
        if (run->kind == OPAQUE_EMOJI || (run->kind == OPAQUE_SYMBOL && !stopped))
            found = at;
    }
    for (size_t before = found;
         found < end && found > begin && character_is_space(character_previous(text, &before));)
        found = before;
    return found;
}

/* Adds the layout of a cell at its ends. */
static void add_cell(struct layout_list *list, size_t begin, size_t end) {
    const char *text = list->reading->text;
    struct span visible = segmenter_trim(text + begin, end - begin);
    end = begin + visible.end;
    begin += visible.begin;
    if (!has_words(text, begin, end)) {
        add_gap(list, begin, end);
        return;
    }
    size_t label = layout_label(list->reading, begin, end), last = end;
    if (label < end)
        last = trim_signs(text, label, trailing_runs(&list->reading->held, text, label, end));
    size_t closing = 0, marks = outer_marks(text, label, last, &closing);
    add_gap(list, begin, label + marks);
    add_gap(list, marks > 0 ? last - closing : last, end);
}

static void add_line(struct layout_list *list, size_t begin, size_t end) {
    const struct layout_reading *reading = list->reading;
    struct span visible = segmenter_trim(reading->text + begin, end - begin);
    end = begin + visible.end;
    begin += visible.begin;
    size_t cell = begin, at = begin;
    for (struct span separator; next_separator(reading->text, &at, end, &separator);) {
        if (!is_free(&reading->held, separator))
            continue;
        add_cell(list, cell, separator.begin);
        add_gap(list, separator.begin, separator.end);
        cell = separator.end;
    }
    add_cell(list, cell, end);
}

int layout_find(const struct layout_reading *reading, struct arena *arena, struct spans *gaps,
                struct error *err) {
    struct layout_list list = {.reading = reading, .arena = arena};
    struct opaque_run run = {0};
    bool runs = true;
    for (size_t begin = 0, end, next, at = 0; begin < reading->length && !list.failed;
         begin = next) {
        /* find the next escape of a line end, or code, that no opaque run crosses; it may have
         * several lines */
        while (runs &&
               (run.end <= begin || !is_free(&reading->held, (struct span){run.begin, run.end})))
            runs = opaque_next_paced(arena->budget, NOTATION_LAYOUT, reading->text, reading->length,
                                     &at, &run);
        for (end = next = begin; next < reading->length; end = next) {
            unsigned char c = (unsigned char)reading->text[next];
            if (c >= 0x20 && c != 0xc2 && c != 0xe2)
                next++;
            else if (character_ends_line(character_next(reading->text, reading->length, &next)))
                break;
        }
        if (runs && run.begin < end) {
            end = run.begin;
            next = run.end;
        }
        add_line(&list, begin, end);
        if (next == run.end)
            add_gap(&list, run.begin, run.end);
    }
    if (list.failed || !budget_step(arena->budget, 0))
        return error_memory(err);
    *gaps = (struct spans){list.all, list.count};
    return 0;
}
