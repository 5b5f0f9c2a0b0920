/* This file matches the expressions in which notations are written, and hides how. */
#include "model/text/notation.h"
#include <unicode/uchar.h>

enum { NONE = -1 };

bool scan_follows_digit(const struct scan *scan) {
    size_t at = scan->begin;
    while (at > 0 && scan->begin - at < 4 &&
           (scan->text[at - 1] == ' ' || (unsigned char)scan->text[at - 1] >= 0x80))
        at--;
    return at > 0 && ascii_digit(scan->text[at - 1]);
}

size_t scan_name(const struct scan *scan, size_t at) {
    size_t end = at;
    while (end < at + MAX_NAME && (ascii_word(scan_peek(scan, end)) || scan_peek(scan, end) == '_'))
        end++;
    return end < at + MAX_NAME ? end : at;
}

size_t scan_nested(const struct scan *scan, size_t open) {
    size_t depth = 0, most = scan->length - open < MAX_CODE ? scan->length - open : MAX_CODE;
    const char *text = scan->text + open, closing = *text == '{' ? '}' : ']',
               *first = memchr(text, closing, most);
    if (!first || memchr(text, '\n', (size_t)(first - text)))
        return open;
    for (size_t i = 0; i < most && text[i] != '\n'; i++) {
        depth += text[i] == *text;
        if (text[i] == closing && --depth == 0)
            return open + i + 1;
    }
    return open;
}

size_t scan_affix(const struct scan *scan, size_t at) {
    static const char units[] = " min sec hour hrs mol deg rad dpi ppi rem ";
    enum {
        MOST_BYTES = 8,
        MOST_LETTERS = 2,
        MOST_CAPITALS = 3,
        MOST_CONSONANTS = 4,
        OTHERS = 0x590
    };
    size_t end = at, next = at, letters = 0, capitals = 0, vowels = 0, small_after = 0;
    bool digits = false;
    for (int32_t c; end < scan->length; end = next) {
        c = scan_character(scan, end, &next);
        bool letter = character_is_letter(c) && c < OTHERS,
             digit = c < 0x80 && ascii_digit((char)c);
        if (!letter && !digit)
            break;
        digits = digits || digit;
        letters += letter;
        capitals += c < 0x80 && ascii_upper((char)c);
        vowels += c >= 0x80 || ascii_among((char)c, "aeiouAEIOU");
        small_after += letters == 2 && letter && c < 0x80 && !ascii_upper((char)c);
        if (letters > MOST_CONSONANTS && next - at > MOST_BYTES)
            return at; /* a word, however long */
    }
    char after = scan_peek(scan, end);
    if (after == '_' || (ascii_among(after, "'") && ascii_letter(scan_peek(scan, end + 1))))
        return at;
    bool begins = capitals == 1 && letters == 2 && small_after > 0 && vowels > 0; /* "No", "On" */
    bool affix = (digits && end - at <= MOST_BYTES) || (letters <= MOST_LETTERS && !begins) ||
                 (letters == capitals && letters <= MOST_CAPITALS) ||
                 (letters <= MOST_CONSONANTS && vowels == 0) ||
                 scan_is_among(scan->text + at, end - at, units) ||
                 opaque_match("[kKMGTP]iB", scan->text + at, end - at) == end - at;
    return affix ? end : at;
}

bool scan_is_among(const char *text, size_t length, const char *words) {
    char word[MAX_NAME + 3] = " ";
    if (length == 0 || length > MAX_NAME)
        return false;
    memcpy(word + 1, text, length);
    word[length + 1] = ' ';
    return strstr(words, word) != NULL;
}

size_t scan_trim(const struct scan *scan, size_t first, size_t end) {
    static const char opening[] = "([{", closing[] = ")]}";
    size_t excess[sizeof closing - 1] = {0}; /* closing brackets less opening ones, modulo 2^64 */
    for (size_t i = first; i < end; i++)
        for (size_t kind = 0; kind < sizeof closing - 1; kind++)
            excess[kind] +=
                (size_t)(scan->text[i] == closing[kind]) - (size_t)(scan->text[i] == opening[kind]);
    for (; end > first; end--) {
        const char *bracket =
            ascii_among(scan->text[end - 1], closing) ? strchr(closing, scan->text[end - 1]) : NULL;
        bool excessive = bracket && excess[bracket - closing] - 1 < scan->length;
        if (!excessive && !ascii_among(scan->text[end - 1], ".,;:!?'*"))
            break;
        if (excessive)
            excess[bracket - closing]--;
    }
    return end;
}

/* ---- expressions: each function returns where a match that begins at text[at] ends, or NONE ----
 */

static ptrdiff_t match_choice(const struct scan *scan, const char *from, const char *to, size_t at);

/* Returns the end of the part of an expression that begins there, without its quantifier. */
static const char *part_end(const char *from) {
    if (*from == '&' || *from == '!')
        return part_end(from + 1);
    if (*from == '\\')
        return from[1] == '<'   ? strchr(from, '>') + 1
               : from[1] == 'p' ? part_end(from + 2)
                                : from + 2;
    if (*from == '[') {
        for (from++; *from != ']'; from++)
            from += *from == '\\';
    } else if (*from == '(') {
        for (from++; *from != ')';)
            from = part_end(from);
    }
    return from + 1;
}

/* True if a byte is of a class, or is the byte itself. */
static bool is_of_class(char class, char c) {
    switch (class) {
    case 'd':
        return ascii_digit(c);
    case 'l':
        return ascii_letter(c);
    case 'u':
        return ascii_upper(c);
    case 'c':
        return is_code_word(c);
    case 'w':
        return ascii_word(c) || c == '_';
    default:
        return c == class;
    }
}

/* True if a byte is in the set that begins there. */
static bool is_in_set(const char *set, char c) {
    bool without = *++set == '^', found = false;
    for (set += without; *set != ']'; set++) {
        bool range = set[1] == '-' && set[2] != ']';
        if (*set == '\\')
            found = is_of_class(*++set, c) || found;
        else
            found = (range ? c >= set[0] && c <= set[2] : c == *set) || found;
        set += range ? 2 : 0;
    }
    return found != without;
}

/* words: with a space before and after each, up to '>'. */
static ptrdiff_t match_words(const struct scan *scan, const char *words, size_t at) {
    size_t longest = 0, left = scan->length - at;
    for (const char *word = words + 1, *end; *word != '>'; word = end + 1) {
        end = strchr(word, ' ');
        size_t length = (size_t)(end - word);
        if (length > longest && length <= left && *word == scan->text[at] &&
            memcmp(word, scan->text + at, length) == 0)
            longest = length;
    }
    return longest > 0 ? (ptrdiff_t)(at + longest) : NONE;
}

static ptrdiff_t match_escape(const struct scan *scan, char class, size_t at) {
    size_t next = at;
    int32_t c = ascii_among(class, "smr") ? scan_character(scan, at, &next) : -1;
    bool found = false;
    switch (class) {
    case 's':
        found = c == ' ' || c == 0xa0 || c == 0x202f || c == 0x2009;
        break;
    case 'm':
        found = c >= 0 && u_charType(c) == U_MATH_SYMBOL && !character_is_among(c, L"+=<>");
        break;
    case 'r':
        found = c == 0xb2 || c == 0xb3 || c == 0xb9 || (c >= 0x2070 && c <= 0x209f);
        break;
    case 'k':
        next = ascii_among(scan_peek(scan, at), "{[") ? scan_nested(scan, at) : at;
        found = next > at;
        break;
    case 'b':
        found = scan_ends_word(scan, at);
        break;
    case 'j':
        found = scan_affix(scan, at) > at;
        break;
    case 'z':
        found = at == scan->length;
        break;
    case 'a':
        found = !scan_follows_digit(scan);
        break;
    default:
        found = at < scan->length && is_of_class(class, scan->text[at]);
        next = at + 1;
    }
    return found ? (ptrdiff_t)next : NONE;
}

static ptrdiff_t match_part(const struct scan *scan, const char *from, const char *to, size_t at) {
    size_t end;
    bool more = at < scan->length, found = false;
    switch (*from) {
    case '&':
    case '!':
        found = match_part(scan, from + 1, to, at) != NONE;
        return found == (*from == '&') ? (ptrdiff_t)at : NONE;
    case '(':
        return match_choice(scan, from + 1, to - 1, at);
    case '\\':
        if (from[1] == 'p')
            return is_in_set(from + 2, scan->former) ? (ptrdiff_t)at : NONE;
        return from[1] == '<' ? match_words(scan, from + 2, at) : match_escape(scan, from[1], at);
    case '[':
        found = more && is_in_set(from, scan->text[at]);
        break;
    case '~':
        end = scan_trim(scan, scan->begin + 1, at);
        return end > scan->begin + 1 ? (ptrdiff_t)end : NONE;
    case '.':
        found = more && scan->text[at] != '\n';
        break;
    default:
        found = more && scan->text[at] == *from;
    }
    return found ? (ptrdiff_t)at + 1 : NONE;
}

/* Reads the quantifier of a part. */
static const char *read_quantifier(const char *from, const char *to, size_t *least, size_t *most) {
    *least = *most = 1;
    if (from == to || !ascii_among(*from, "*+?{"))
        return from;
    *least = *from == '+';
    *most = *from == '?' ? 1 : SIZE_MAX;
    if (*from++ != '{')
        return from;
    for (*least = 0; ascii_digit(*from); from++)
        *least = 10 * *least + (size_t)(*from - '0');
    *most = *least;
    if (*from == ',')
        for (*most = 0, from++; ascii_digit(*from); from++)
            *most = 10 * *most + (size_t)(*from - '0');
    return from + 1;
}

/* Matches parts up to '|'. Moves *at to the end of the match; returns NULL, or the part that does
 * not match. */
static const char *match_sequence(const struct scan *scan, const char *from, const char *to,
                                  size_t *at) {
    while (from < to && *from != '|') {
        const char *end = part_end(from);
        size_t least, most, count = 0,
                            last = scan->begin + (scan->room     ? scan->room
                                                  : *from == '.' ? MAX_LINE
                                                                 : MAX_CODE);
        const char *next = read_quantifier(end, to, &least, &most);
        for (ptrdiff_t after; count < most; *at = (size_t)after, count++) {
            bool inside = *at < scan->length && ((unsigned char)scan->text[*at] & 0xc0) == 0x80;
            after = count < least || *at < last || inside ? match_part(scan, from, end, *at) : NONE;
            if (after == NONE || ((size_t)after == *at && count >= least))
                break;
        }
        if (count < least)
            return from;
        from = next;
    }
    return NULL;
}

static ptrdiff_t match_choice(const struct scan *scan, const char *from, const char *to,
                              size_t at) {
    for (;; from++) {
        size_t end = at;
        from = match_sequence(scan, from, to, &end);
        if (!from)
            return (ptrdiff_t)end;
        while (from < to && *from != '|')
            from = part_end(from);
        if (from == to)
            return NONE;
    }
}

size_t expression_end(const struct scan *scan, const char *expression) {
    size_t end = scan->begin;
    return match_sequence(scan, expression, expression + strlen(expression), &end) ? scan->begin
                                                                                   : end;
}

size_t opaque_match(const char *expression, const char *text, size_t length) {
    struct scan scan = {.text = text, .length = length, .former = ' ', .room = length};
    return expression_end(&scan, expression);
}
