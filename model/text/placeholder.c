#include "model/text/placeholder.h"
#include "model/text/character.h"

#include <string.h>

/* Any scheme is shorter; the bound keeps the time proportional to the length of the text. */
enum { MAX_SCHEME = 30 };

/* A text, and where a placeholder may begin in it. */
struct scan {
    const char *text;
    size_t length, begin;
};

static char peek(const struct scan *scan, size_t at) {
    return at < scan->length ? scan->text[at] : '\0';
}

/* Not <ctype.h>'s, which know locales. */
static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}

static bool is_letter(char c) {
    return is_upper(c) || (c >= 'a' && c <= 'z');
}

static bool is_one_of(char c, const char *set) {
    return c != '\0' && strchr(set, c);
}

/* A letter or digit, of any alphabet. */
static bool is_word(char c) {
    return is_letter(c) || is_digit(c) || (unsigned char)c >= 0x80;
}

static size_t scan_skip(const struct scan *scan, size_t at, const char *set) {
    while (is_one_of(peek(scan, at), set))
        at++;
    return at;
}

static size_t skip_digits(const struct scan *scan, size_t at) {
    return scan_skip(scan, at, "0123456789");
}

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

static bool begins_word(const struct scan *scan) {
    return scan->begin == 0 || !is_word(scan->text[scan->begin - 1]);
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

/* Ends an address at what is more likely of the sentence: a closing bracket only if it has none to close within. */
static size_t trim_address(const struct scan *scan, size_t first, size_t end) {
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
    at = trim_address(scan, first, at);
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
    at = trim_address(scan, domain, at);
    for (size_t i = domain + 1; i + 2 < at; i++)
        dot = scan->text[i] == '.' ? i : dot;
    return dot > 0 ? at : scan->begin;
}

/* To add a kind: its function, a row, and a line in the header. */
static size_t (*const kinds[])(const struct scan *scan) = {in_braces, as_in_printf, in_brackets, as_address, as_mail};

static size_t end_of(const struct scan *scan) {
    size_t end = scan->begin;
    for (size_t i = 0; end == scan->begin && i < sizeof kinds / sizeof *kinds; i++)
        end = kinds[i](scan);
    return end;
}

bool placeholder_next(const char *text, size_t length, size_t *at, struct span *found) {
    for (struct scan scan = {text, length, *at}; scan.begin < length; scan.begin++) {
        size_t end = end_of(&scan);
        if (end == scan.begin)
            continue;
        *found = (struct span){scan.begin, end};
        *at = end;
        return true;
    }
    *at = length;
    return false;
}

/* The first that ends behind this byte. */
static size_t first_behind(const struct placeholders *held, size_t at) {
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

int placeholders_within(const struct placeholders *held, struct span part, struct arena *arena, struct placeholders *out,
                        struct error *err) {
    size_t first = first_behind(held, part.begin), end = first;
    while (end < held->count && held->all[end].end <= part.end)
        end++;
    first += first < end && held->all[first].begin < part.begin;
    struct span *all = arena_alloc(arena, end - first, sizeof *all);
    if (!all)
        return error_memory(err);
    for (size_t i = first; i < end; i++)
        all[i - first] = (struct span){held->all[i].begin - part.begin, held->all[i].end - part.begin};
    *out = (struct placeholders){all, end - first};
    return 0;
}
