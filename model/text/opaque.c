#include "model/text/opaque.h"
#include "model/text/opaque_codes.h"

#include <stdint.h>
#include <string.h>
#include <unicode/uchar.h>

/* Any scheme is shorter; the bound keeps the time proportional to the length of the text. */
enum { MAX_SCHEME = 30 };

/* ---- the kinds: where one that begins at scan->begin ends; there: none does ---- */

/* What may stand in braces; white space only in two pairs. */
static bool is_inner(char c, bool twice) {
    return is_word(c) || is_one_of(c, "_.:-+,$@#[]()!?<>=|/*%&'\"") || (twice && is_one_of(c, " \t^~;"));
}

static size_t in_braces(const struct scan *scan) {
    size_t open = scan->begin + (is_one_of(peek(scan, scan->begin), "$%#") ? 1 : 0);
    if (peek(scan, open) != '{')
        return scan->begin;
    bool twice = peek(scan, open + 1) == '{';
    size_t inside = open + 1 + twice, at = inside;
    while (at < scan->length && is_inner(scan->text[at], twice))
        at++;
    bool closed = at > inside && peek(scan, at) == '}' && (!twice || peek(scan, at + 1) == '}');
    return closed ? at + 1 + twice : scan->begin;
}

/* %(name) or %2$, or nothing, behind the percent sign. */
static size_t skip_argument(const struct scan *scan, size_t at) {
    if (peek(scan, at) == '(') {
        size_t end = at + 1;
        while (is_word(peek(scan, end)) || is_one_of(peek(scan, end), "_.-"))
            end++;
        return peek(scan, end) == ')' && end > at + 1 ? end + 1 : at;
    }
    size_t end = skip_digits(scan, at);
    return end > at && peek(scan, end) == '$' ? end + 1 : at;
}

/* Blank flags are left out: "50 % de" has none. */
static size_t as_in_printf(const struct scan *scan) {
    size_t begin = scan->begin, at = begin + 1;
    if (peek(scan, begin) != '%')
        return begin;
    if (peek(scan, at) == '%')
        return at + 1;
    if (begin > 0 && is_digit(scan->text[begin - 1]))
        return begin;
    at = scan_skip(scan, skip_argument(scan, at), "-+#0'");
    at = scan_skip(scan, skip_digits(scan, at), "*");
    if (peek(scan, at) == '.')
        at = scan_skip(scan, skip_digits(scan, at + 1), "*");
    at = scan_skip(scan, at, "hlLqjzt");
    bool whole = is_one_of(peek(scan, at), "diouxXeEfFgGaAcCsSpn@r") && !is_word(peek(scan, at + 1));
    return whole ? at + 1 : begin;
}

static size_t in_brackets(const struct scan *scan) {
    static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (peek(scan, scan->begin) != '[')
        return scan->begin;
    size_t letters = scan_skip(scan, scan->begin + 1, capitals), digits = skip_digits(scan, letters);
    size_t at = scan_skip(scan, digits, capitals);
    return letters > scan->begin + 1 && digits > letters && peek(scan, at) == ']' ? at + 1 : scan->begin;
}

/* Behind https:// or www., or there if neither stands there. */
static size_t skip_scheme(const struct scan *scan) {
    size_t at = scan->begin;
    if (scan->length - at > 4 && memcmp(scan->text + at, "www.", 4) == 0)
        return at + 4;
    size_t most = at + MAX_SCHEME;
    while (at < most && (is_letter(peek(scan, at)) || (at > scan->begin && is_one_of(peek(scan, at), "0123456789+.-"))))
        at++;
    return at > scan->begin && scan->length - at > 3 && memcmp(scan->text + at, "://", 3) == 0 ? at + 3 : scan->begin;
}

size_t scan_trim(const struct scan *scan, size_t first, size_t end) {
    static const char opening[] = "([{", closing[] = ")]}";
    size_t excess[sizeof closing - 1] = {0}; /* closing ones less opening ones, modulo 2^64 */
    for (size_t i = first; i < end; i++)
        for (size_t kind = 0; kind < sizeof closing - 1; kind++)
            excess[kind] += (size_t)(scan->text[i] == closing[kind]) - (size_t)(scan->text[i] == opening[kind]);
    for (; end > first; end--) {
        const char *bracket = is_one_of(scan->text[end - 1], closing) ? strchr(closing, scan->text[end - 1]) : NULL;
        bool excessive = bracket && excess[bracket - closing] - 1 < scan->length;
        if (!excessive && !is_one_of(scan->text[end - 1], ".,;:!?'*"))
            break;
        if (excessive)
            excess[bracket - closing]--;
    }
    return end;
}

static size_t as_address(const struct scan *scan) {
    size_t first = begins_word(scan) ? skip_scheme(scan) : scan->begin, at = first;
    for (size_t next = at; first > scan->begin && next < scan->length; at = next) {
        int32_t c = character_next(scan->text, scan->length, &next);
        if (character_is_space(c) || (c < 0x80 ? c < ' ' || is_one_of((char)c, "<>\"`\\^|") : character_is_punctuation(c)))
            break;
    }
    at = scan_trim(scan, first, at);
    return first > scan->begin && at > first ? at : scan->begin;
}

static bool is_local(char c) {
    return is_letter(c) || is_digit(c) || is_one_of(c, "._%+-");
}

static size_t as_mail(const struct scan *scan) {
    size_t at = scan->begin, dot = 0;
    if (scan->begin > 0 && (is_local(scan->text[scan->begin - 1]) || is_word(scan->text[scan->begin - 1])))
        return scan->begin;
    while (is_local(peek(scan, at)))
        at++;
    if (at == scan->begin || peek(scan, at) != '@')
        return scan->begin;
    size_t domain = ++at;
    while (is_letter(peek(scan, at)) || is_digit(peek(scan, at)) || is_one_of(peek(scan, at), ".-"))
        at++;
    at = scan_trim(scan, domain, at);
    for (size_t i = domain + 1; i + 2 < at; i++)
        dot = scan->text[i] == '.' ? i : dot;
    return dot > 0 ? at : scan->begin;
}

/* ---- emoji and symbols ---- */

static bool is_flag_letter(int32_t c) {
    return c >= 0x1f1e6 && c <= 0x1f1ff;
}

/* Signs that a reader sees and no language inflects: emoji, So, ½ and ², but no letters or digits. */
static bool is_pictured(int32_t c) {
    return c >= 0x80 && (u_hasBinaryProperty(c, UCHAR_EXTENDED_PICTOGRAPHIC) || u_charType(c) == U_OTHER_SYMBOL ||
                         u_charType(c) == U_OTHER_NUMBER || u_charType(c) == U_LETTER_NUMBER);
}

/* What goes on with an emoji: variation selectors, skins, tags, keycaps, and what is joined to it. */
static size_t skip_parts(const struct scan *scan, size_t at) {
    for (size_t next;;) {
        int32_t c = character_at(scan, at, &next);
        if (c == 0xfe0e || c == 0xfe0f || c == 0x20e3 || (c >= 0x1f3fb && c <= 0x1f3ff) || (c >= 0xe0020 && c <= 0xe007f)) {
            at = next;
        } else if (c == 0x200d && is_pictured(character_at(scan, next, &next))) {
            at = next;
        } else {
            return at;
        }
    }
}

/* The end of a whole number that touches a sign: №5, ©2024. */
static size_t skip_number(const struct scan *scan, size_t at) {
    size_t end = skip_digits(scan, at);
    return is_word(peek(scan, end)) || (is_one_of(peek(scan, end), ".,:") && is_digit(peek(scan, end + 1))) ? at : end;
}

static size_t as_picture(const struct scan *scan) {
    size_t at = scan->begin, next, after;
    for (;; at = skip_parts(scan, next)) {
        int32_t c = character_at(scan, at, &next);
        bool keycap = c >= 0 && c < 0x80 && is_one_of((char)c, "0123456789#*") &&
                      (character_at(scan, next, &after) == 0x20e3 ||
                       (character_at(scan, next, &after) == 0xfe0f && character_at(scan, after, &after) == 0x20e3));
        if (!keycap && !is_flag_letter(c) && !is_pictured(c))
            return at == scan->begin ? at : skip_number(scan, at);
    }
}

/* ---- finding them ---- */

/* To add a kind: its function, a row, and a line in the header. Of kinds that begin together the first that finds something counts.
 */
static const struct {
    size_t (*end)(const struct scan *scan);
    enum opaque_kind kind;
    enum opaque_scope scope;
} kinds[] = {
    {in_braces, OPAQUE_CODE, OPAQUE_PLACEHOLDERS},   {as_in_printf, OPAQUE_CODE, OPAQUE_PLACEHOLDERS},
    {in_brackets, OPAQUE_CODE, OPAQUE_PLACEHOLDERS}, {as_address, OPAQUE_URL, OPAQUE_PLACEHOLDERS},
    {as_mail, OPAQUE_EMAIL, OPAQUE_PLACEHOLDERS},    {as_picture, OPAQUE_EMOJI, OPAQUE_ALL},
};

const char *opaque_name(enum opaque_kind kind) {
    static const char *const names[OPAQUE_KINDS] = {"emoji",  "symbol", "word",  "code",   "number",
                                                    "markup", "url",    "email", "protect"};
    return names[kind];
}

static bool find_at(const struct scan *scan, enum opaque_scope scope, struct opaque_run *found) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t end = kinds[i].scope <= scope ? kinds[i].end(scan) : scan->begin;
        if (end == scan->begin)
            continue;
        size_t next;
        int32_t first = character_at(scan, scan->begin, &next);
        bool symbol = kinds[i].end == as_picture && first > 0x80 && (first < 0x2190 || !u_hasBinaryProperty(first, UCHAR_EMOJI));
        *found = (struct opaque_run){scan->begin, end, symbol ? OPAQUE_SYMBOL : kinds[i].kind, NULL};
        return true;
    }
    bool emoji;
    size_t end = scope == OPAQUE_ALL ? opaque_code(scan, &emoji) : scan->begin;
    if (end == scan->begin)
        return false;
    *found = (struct opaque_run){scan->begin, end, emoji ? OPAQUE_EMOJI : OPAQUE_CODE, NULL};
    return true;
}

/* The end of the part of the text from `at` to white space, a bounded number of bytes; *plain: no run begins in it, for it has
 * nothing but letters, in which no small one stands before a capital, and marks between sentences. */
static size_t chunk_end(const char *text, size_t length, size_t at, bool *plain) {
    size_t most = length - at < MAX_CODE ? length : at + MAX_CODE;
    char before = ' ';
    *plain = true;
    for (; at < most && !is_one_of(text[at], " \n\t\r"); before = text[at++]) {
        char c = text[at];
        bool letter = is_letter(c) && !(is_upper(c) && is_letter(before) && !is_upper(before));
        bool mark = is_one_of(c, ".,!?;'\"-()") && !(c == '.' && is_letter(before) && at + 1 < length && is_word(text[at + 1])) &&
                    !(c == ';' && !is_letter(before)) && !(c == '(' && is_letter(before)) && !(c == '-' && before == '-') &&
                    !(c == '.' && before == ' ');
        *plain = *plain && (letter || mark);
    }
    return at;
}

bool opaque_next(enum opaque_scope scope, const char *text, size_t length, size_t *at, struct opaque_run *found) {
    bool plain;
    for (size_t begin = *at, end; scope != OPAQUE_NOTHING && begin < length; begin = end) {
        end = chunk_end(text, length, begin, &plain);
        if (end == begin) { /* white space */
            end++;
            continue;
        }
        for (struct scan scan = {text, length, begin}; !plain && scan.begin < end; scan.begin++)
            if (((unsigned char)text[scan.begin] & 0xc0) != 0x80 && find_at(&scan, scope, found)) {
                *at = found->end;
                return true;
            }
    }
    *at = length;
    return false;
}

/* ---- around what cannot be read ---- */

static bool is_written(int32_t c) {
    return c >= 0 && (u_isalpha(c) || (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0 || c == 0x200c || c == 0x200d);
}

/* Letters, and hyphens between letters. */
static struct opaque_run word_around(const char *text, size_t length, size_t begin, size_t end) {
    struct opaque_run run = {begin, end, OPAQUE_WORD, NULL};
    for (size_t at = begin; at > 0; run.begin = at) {
        size_t before = at;
        int32_t c = character_previous(text, &before);
        if (c == '-' && before > 0 && at == run.begin) {
            size_t letter = before;
            if (!is_written(character_previous(text, &letter)))
                break;
            before = letter;
        } else if (!is_written(c) && !u_isdigit(c)) {
            break;
        }
        at = before;
    }
    for (size_t at = end; at < length; run.end = at) {
        size_t behind = at;
        int32_t c = character_next(text, length, &behind);
        if (c == '-' && behind < length) {
            if (!is_written(character_next(text, length, &behind)))
                break;
        } else if (!is_written(c) && !u_isdigit(c)) {
            break;
        }
        at = behind;
    }
    return run;
}

static bool is_narrow_space(int32_t c) {
    return c == ' ' || c == 0xa0 || c == 0x202f || c == 0x2009;
}

/* The end of the number that begins at text[at], digits in groups with a mark or a space between them; at: there is none. */
static size_t number_end(const char *text, size_t length, size_t at) {
    const struct scan scan = {text, length, at};
    size_t end = skip_digits(&scan, at);
    while (end > at && end < length) {
        size_t next = end;
        int32_t c = character_next(text, length, &next);
        size_t group = skip_digits(&scan, next) - next;
        if (!(is_one_of(peek(&scan, end), ".,'") ? group > 0 : is_narrow_space(c) && group == 3))
            break;
        end = next + group;
    }
    return end;
}

/* Where the number that ends before text[end] begins. */
static size_t number_begin(const char *text, size_t end) {
    size_t begin = end, group = 0;
    for (size_t at = end; at > 0;) {
        size_t before = at;
        int32_t c = character_previous(text, &before);
        bool separates = group > 0 && before > 0 && is_digit(text[before - 1]) &&
                         (c == '.' || c == ',' || c == '\'' || (is_narrow_space(c) && group == 3));
        if (c >= '0' && c <= '9') {
            begin = before;
            group++;
        } else if (separates) {
            group = 0;
        } else {
            break;
        }
        at = before;
    }
    return begin;
}

/* A currency sign and the number beside it: $5, 5 €, US$1,250.50, £20k, -€5. */
static struct opaque_run amount_around(const char *text, size_t length, size_t begin, size_t end) {
    struct opaque_run run = {begin, end, OPAQUE_SYMBOL, NULL};
    size_t at = end, next = end;
    if (at < length && is_narrow_space(character_next(text, length, &next)) && next < length && is_digit(text[next]))
        at = next;
    size_t behind = number_end(text, length, at), before = begin;
    if (behind > at) {
        run.kind = OPAQUE_NUMBER;
        run.end = behind;
        size_t letters = behind;
        while (letters < length && letters < behind + 3 && is_letter(text[letters]))
            letters++;
        if (letters > behind && (letters == length || !is_word(text[letters])))
            run.end = letters;
        while (run.begin > 0 && begin - run.begin < 3 && is_upper(text[run.begin - 1]))
            run.begin--;
        if (run.begin > 0 && is_one_of(text[run.begin - 1], "-+"))
            run.begin--;
        return run;
    }
    if (before > 0) {
        size_t space = before;
        if (is_narrow_space(character_previous(text, &space)))
            before = space;
        size_t first = number_begin(text, before);
        if (first < before) {
            run.kind = OPAQUE_NUMBER;
            run.begin = first > 0 && is_one_of(text[first - 1], "-+") ? first - 1 : first;
        }
    }
    return run;
}

/* Symbols side by side, dashes that belong to arrows, and a whole number that they touch. */
static struct opaque_run symbols_around(const char *text, size_t length, size_t begin, size_t end) {
    struct opaque_run run = {begin, end, OPAQUE_SYMBOL, NULL};
    for (size_t before = run.begin; run.begin > 0; run.begin = before) {
        int32_t c = character_previous(text, &before);
        if ((U_GET_GC_MASK(c) & U_GC_SM_MASK) == 0 && c != '-')
            break;
    }
    for (size_t behind = run.end; run.end < length; run.end = behind) {
        int32_t c = character_next(text, length, &behind);
        if ((U_GET_GC_MASK(c) & U_GC_SM_MASK) == 0 && c != '-')
            break;
    }
    size_t digits = run.end;
    while (digits < length && is_digit(text[digits])) /* ±5 */
        digits++;
    bool fraction = digits + 1 < length && is_one_of(text[digits], ".,") && is_digit(text[digits + 1]);
    run.end = fraction || (digits < length && is_word(text[digits])) ? run.end : digits;
    return run;
}

struct opaque_run opaque_around(const char *text, size_t length, size_t begin, size_t end) {
    size_t next = begin;
    int32_t c = character_next(text, length, &next);
    if (is_written(c))
        return word_around(text, length, begin, end);
    if (u_charType(c) == U_CURRENCY_SYMBOL)
        return amount_around(text, length, begin, end);
    if (u_charType(c) == U_MATH_SYMBOL)
        return symbols_around(text, length, begin, end);
    return (struct opaque_run){begin, end, OPAQUE_SYMBOL, NULL};
}

/* ---- lists ---- */

/* The first that ends after this byte. */
static size_t first_after(const struct opaque_runs *held, size_t at) {
    size_t first = 0, end = held->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (held->all[middle].end <= at)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

int opaque_within(const struct opaque_runs *held, size_t begin, size_t end, struct arena *arena, struct opaque_runs *out,
                  struct error *err) {
    size_t first = first_after(held, begin), last = first;
    while (last < held->count && held->all[last].end <= end)
        last++;
    first += first < last && held->all[first].begin < begin;
    struct opaque_run *all = arena_alloc(arena, last - first, sizeof *all);
    if (!all)
        return error_memory(err);
    for (size_t i = first; i < last; i++) {
        all[i - first] = held->all[i];
        all[i - first].begin -= begin;
        all[i - first].end -= begin;
    }
    *out = (struct opaque_runs){all, last - first};
    return 0;
}

static bool only_spaces(const char *text, size_t begin, size_t end) {
    while (begin < end && text[begin] == ' ')
        begin++;
    return begin == end;
}

int opaque_merge(struct opaque_runs *held, const char *text, const struct opaque_run *more, size_t count, struct arena *arena,
                 struct error *err) {
    struct opaque_run *all = arena_alloc(arena, held->count + count, sizeof *all);
    size_t merged = 0;
    if (!all)
        return error_memory(err);
    for (size_t i = 0, j = 0; i < held->count || j < count;) {
        bool old = j == count || (i < held->count && held->all[i].begin <= more[j].begin);
        struct opaque_run next = old ? held->all[i++] : more[j++];
        struct opaque_run *last = merged > 0 ? &all[merged - 1] : NULL;
        bool words = last && last->kind == OPAQUE_WORD && next.kind == OPAQUE_WORD && only_spaces(text, last->end, next.begin);
        if (last && (next.begin < last->end || words || (next.begin == last->end && !old && !last->written))) {
            last->end = next.end > last->end ? next.end : last->end;
            last->kind = next.kind == OPAQUE_WORD ? next.kind : last->kind;
        } else {
            all[merged++] = next;
        }
    }
    *held = (struct opaque_runs){all, merged};
    return 0;
}
