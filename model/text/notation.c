/* This file is the one reader of what is not language: it finds runs by their characters alone, from one table of notations. A
 * row's function finds the end of a run that begins at a place. Runs are found in one pass, in time proportional to the bytes
 * passed, because a notation of unbounded length is not read again from within. */
#include "model/base/utf8.h"
#include "model/text/spans.h"
#include <stdint.h>
#include <string.h>
#include <unicode/uchar.h>

/* Longer codes, schemes and shortcodes do not occur in practice. Placeholders, addresses and emoji have no limit. */
#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
enum { MAX_CODE = 256, MAX_SCHEME = 30, MAX_SHORTCODE = 30, MAX_NAME = 64, MAX_LETTERS = 45, MAX_REPEATED = 8, MAX_LINE = 1000 };

/* A text, and where a run may begin in it. */
struct scan {
    const char *text;
    size_t length, begin;
    char former;      /* the byte before, or a space at the beginning of the text */
    bool word, chunk; /* the character before is not part of a word; it is white space or opens something */
    bool line;        /* only white space precedes it in its line */
};

/* The search of a caller: bits of notation_set, and a bit for each role. */
struct wanted {
    unsigned sets, roles;
};

static char peek(const struct scan *scan, size_t at) {
    return at < scan->length ? scan->text[at] : '\0';
}

static bool is_one_of(char c, const char *set) {
    return c != '\0' && strchr(set, c);
}

static size_t scan_skip(const struct scan *scan, size_t at, const char *set) {
    while (is_one_of(peek(scan, at), set))
        at++;
    return at;
}

/* True if the text has this string at this place. */
static bool has(const struct scan *scan, size_t at, const char *string) {
    size_t length = strlen(string);
    return at < scan->length && scan->length - at >= length && memcmp(scan->text + at, string, length) == 0;
}

static bool is_code_word(char c) {
    return ascii_letter(c) || ascii_digit(c) || c == '_';
}

static bool ends_word(const struct scan *scan, size_t at) {
    return !ascii_word(peek(scan, at));
}

static size_t skip_digits(const struct scan *scan, size_t at) {
    return scan_skip(scan, at, "0123456789");
}

static int32_t character_at(const struct scan *scan, size_t at, size_t *next) {
    *next = at;
    return at < scan->length ? character_next(scan->text, scan->length, next) : -1;
}

/* ---- placeholders and addresses; each function returns scan->begin if no run begins there ---- */

/* Returns the end of a name of letters, digits and underscores, in any alphabet, or `at`. */
static size_t skip_name(const struct scan *scan, size_t at) {
    size_t end = at;
    while (end < at + MAX_NAME && (ascii_word(peek(scan, end)) || peek(scan, end) == '_'))
        end++;
    return end < at + MAX_NAME ? end : at;
}

/* Returns the end of what follows a name in code: .member, ->member, ::member, [key], (arguments). */
static size_t skip_members(const struct scan *scan, size_t at) {
    for (size_t most = scan->begin + MAX_CODE; at < most;) {
        size_t sign = has(scan, at, "->") || has(scan, at, "::") ? 2 : peek(scan, at) == '.' ? 1 : 0, after = at + sign;
        char close = sign > 0 ? '\0' : peek(scan, at) == '[' ? ']' : peek(scan, at) == '(' ? ')' : '\0';
        if (sign > 0 && (ascii_letter(peek(scan, after)) || peek(scan, after) == '_')) {
            at = skip_name(scan, after);
        } else if (close) {
            while (after < most && peek(scan, after) != close && !is_one_of(peek(scan, after), " \n"))
                after++;
            if (peek(scan, after) != close)
                break;
            at = after + 1;
        } else {
            break;
        }
    }
    return at;
}

/* Returns the place after the bracket that closes the one at text[open], in the same line and nearby, or `open`. */
static size_t skip_nested(const struct scan *scan, size_t open) {
    size_t depth = 0, most = scan->length - open < MAX_CODE ? scan->length - open : MAX_CODE;
    const char *text = scan->text + open, closing = *text == '{' ? '}' : ']', *first = memchr(text, closing, most);
    if (!first || memchr(text, '\n', (size_t)(first - text)))
        return open;
    for (size_t i = 0; i < most && text[i] != '\n'; i++) {
        depth += text[i] == *text;
        if (text[i] == closing && --depth == 0)
            return open + i + 1;
    }
    return open;
}

static bool is_one_of_words(const char *text, size_t length, const char *words) {
    char word[MAX_NAME + 3] = " ";
    if (length == 0 || length > MAX_NAME)
        return false;
    memcpy(word + 1, text, length);
    word[length + 1] = ' ';
    return strstr(words, word) != NULL;
}

/* True if text[at, end), which stands in braces, is an expression or an argument, and not words: $x, -term, name, d, date, long,
 * f(x), date:dd MMMM, name | upper, a == b. */
static bool is_argument(const struct scan *scan, size_t at, size_t end) {
    enum { LEAST_NAME = 4 };
    static const char types[] = " number date time spellout ordinal duration list plural select selectordinal choice ";
    while (at < end && scan->text[at] == ' ')
        at++;
    while (end > at && scan->text[end - 1] == ' ')
        end--;
    size_t name = skip_name(scan, at), after = name;
    if (name == at) /* signs that begin no sentence; a quotation mark is not among them */
        return end > at && is_one_of(scan->text[at], "$#%/!?:^&>*=@\\.<+~|-") && end > at + 1 && scan->text[at + 1] != ' ';
    if (name >= end) /* "{ and }" are two braces */
        return end - at >= LEAST_NAME;
    while (after < end && scan->text[after] == ' ')
        after++;
    char sign = scan->text[after], next = after + 1 < end ? scan->text[after + 1] : ' ';
    if (sign == ',') {
        size_t type = after + 1;
        while (type < end && scan->text[type] == ' ')
            type++;
        size_t last = skip_name(scan, type);
        return last <= end && is_one_of_words(scan->text + type, last - type, types);
    }
    if (after == name)
        return (is_one_of(sign, ":.([=") && next != ' ') || sign == '|';
    return sign == '|' || (is_one_of(sign, "=!<>&+*/") && (next == ' ' || is_one_of(next, "=&"))) ||
           (sign == '?' && next == ' ' && memchr(scan->text + after, ':', end - after));
}

/* {name} {{ count }} ${name} {$x} { -term } {% if %} {d, date, long}: placeholders, expressions and tags, in one line. */
static size_t in_braces(const struct scan *scan) {
    size_t open = scan->begin + (is_one_of(peek(scan, scan->begin), "$%#@") ? 1 : 0);
    if (peek(scan, open) != '{')
        return scan->begin;
    size_t end = skip_nested(scan, open), at = open + 1;
    if (end <= open + 2)
        return scan->begin;
    if (open > scan->begin || peek(scan, at) == '{' || is_one_of(peek(scan, at), "%#"))
        return end;
    while (at < end - 1 && (ascii_word(peek(scan, at)) || is_one_of(peek(scan, at), "_.:-+,$@#[]()!?<>=|/*%&'\"\\^~;{}")))
        at++;
    return at == end - 1 || is_argument(scan, open + 1, end - 1) ? end : scan->begin;
}

/* True if a digit stands before the run, perhaps with spaces between: "50 %de". */
static bool follows_digit(const struct scan *scan) {
    size_t at = scan->begin;
    while (at > 0 && scan->begin - at < 4 && (scan->text[at - 1] == ' ' || (unsigned char)scan->text[at - 1] >= 0x80))
        at--;
    return at > 0 && ascii_digit(scan->text[at - 1]);
}

/* The conversion of a directive: flags, width, precision, size and letter; returns its end, or `at`. spaced: a space is a flag. */
static size_t skip_conversion(const struct scan *scan, size_t at, bool spaced) {
    size_t begin = at, flags = at = scan_skip(scan, at, spaced ? "-+#0' ,I" : "-+#0',I");
    at = scan_skip(scan, skip_digits(scan, at), "*$0123456789");
    if (peek(scan, at) == '.')
        at = scan_skip(scan, skip_digits(scan, at + 1), "*$0123456789");
    at = scan_skip(scan, at, "hlLqjztw");
    bool blank = memchr(scan->text + begin, ' ', flags - begin) != NULL;
    bool letter = is_one_of(peek(scan, at), "diouxXeEfFgGaAcCsSpn@r");
    return letter && !(blank && (ascii_word(peek(scan, at + 1)) || peek(scan, at + 1) == '\'')) ? at + 1 : begin;
}

/* %s %-5.2f %1$s %(total)s %<count>d %%. A space does not count as a flag, since "50 % de" has no placeholder. */
static size_t as_in_printf(const struct scan *scan) {
    size_t begin = scan->begin, at = begin + 1;
    if (peek(scan, at) == '%')
        return at + 1;
    if (ascii_digit(scan->former))
        return begin;
    if (is_one_of(peek(scan, at), "(<")) {
        size_t end = at + 1;
        while (end < begin + MAX_NAME && (ascii_word(peek(scan, end)) || is_one_of(peek(scan, end), "_.-")))
            end++;
        at = is_one_of(peek(scan, end), ")>") && end > at + 1 ? end + 1 : at;
    } else {
        size_t end = skip_digits(scan, at);
        at = end > at && peek(scan, end) == '$' ? end + 1 : at;
    }
    size_t end = skip_conversion(scan, at, false);
    return end > at && !ascii_word(peek(scan, end)) ? end : begin;
}

/* %name% %%name%% @@name@@ __name__ ##name##: a name between equal signs; a single sign only if it is a percent sign. */
static size_t as_wrapped(const struct scan *scan) {
    char sign = peek(scan, scan->begin);
    size_t begin = scan->begin, name = begin;
    while (peek(scan, name) == sign && name < begin + 3)
        name++;
    size_t signs = name - begin, at = name;
    while (at < begin + MAX_NAME && (is_code_word(peek(scan, at)) ? !has(scan, at, "__") : is_one_of(peek(scan, at), ".-:")))
        at++;
    if (at < name + 2 || !ascii_letter(peek(scan, name)) || !is_code_word(scan->text[at - 1]) || scan->former == sign ||
        signs > 2 || (signs == 1 && sign != '%'))
        return begin;
    for (size_t i = 0; i < signs; i++, at++)
        if (peek(scan, at) != sign)
            return begin;
    return at;
}

/* $name $HOME $user->name, but no currency: US$, $US 5, 5 $CAN. */
static size_t as_variable(const struct scan *scan) {
    size_t begin = scan->begin, at = begin + 1, end = skip_name(scan, at);
    bool capitals = true;
    if (end == at || ascii_digit(peek(scan, at)) || (unsigned char)peek(scan, at) >= 0x80)
        return begin;
    for (size_t i = at; i < end; i++)
        capitals = capitals && !(scan->text[i] >= 'a' && scan->text[i] <= 'z');
    bool amount = follows_digit(scan) || ascii_digit(peek(scan, end + (peek(scan, end) == ' ')));
    if (capitals && (end < at + 3 || (amount && end < at + 4)))
        return begin;
    return skip_members(scan, end);
}

/* !link %name :name, as in messages of web sites: a name in small letters after a sign, apart from words. */
static size_t as_parameter(const struct scan *scan) {
    size_t begin = scan->begin, at = begin + 1, end = at;
    while (end < begin + MAX_NAME && ((peek(scan, end) >= 'a' && peek(scan, end) <= 'z') || is_one_of(peek(scan, end), "_-")))
        end++;
    bool shifted = peek(scan, begin) == '%' && follows_digit(scan);
    return end >= at + 2 && ends_word(scan, end) && ascii_letter(scan->text[end - 1]) && ascii_letter(peek(scan, at)) && !shifted
               ? end
               : begin;
}

/* %1 %2, as in messages of Qt. */
static size_t as_numbered(const struct scan *scan) {
    size_t end = skip_digits(scan, scan->begin + 1);
    return end > scan->begin + 1 && end <= scan->begin + 3 && ends_word(scan, end) && !follows_digit(scan) ? end : scan->begin;
}

/* <@12> <#ff0000> <:smile:12> <<name>>: angle brackets around signs and letters, which are not a tag. */
static size_t in_angles(const struct scan *scan) {
    size_t begin = scan->begin, at = begin + 1, end;
    if (peek(scan, at) == '<' && (end = skip_name(scan, at + 1)) > at + 1 && has(scan, end, ">>"))
        return end + 2;
    if (!is_one_of(peek(scan, at), "#@:!=$%&?+*^~"))
        return begin;
    while (at < begin + MAX_NAME && peek(scan, at) != '\0' && !is_one_of(peek(scan, at), "<> \n\t"))
        at++;
    return peek(scan, at) == '>' && at > begin + 2 ? at + 1 : begin;
}

/* [b] [/b] [url=x] [gallery id="1"]: tags in square brackets, which have an end, a value or an end tag nearby. */
static size_t as_tag(const struct scan *scan) {
    size_t begin = scan->begin, name = begin + 1 + (peek(scan, begin + 1) == '/'), end = name;
    while (end < begin + MAX_NAME && (ascii_letter(peek(scan, end)) || is_one_of(peek(scan, end), "_-*")))
        end++;
    if (end == name)
        return begin;
    if (name > begin + 1)
        return peek(scan, end) == ']' ? end + 1 : begin;
    size_t value = peek(scan, end) == ' ' ? skip_name(scan, end + 1) : end, after = skip_nested(scan, begin);
    if (peek(scan, value) == '=' && after > begin)
        return after;
    if (peek(scan, end) != ']')
        return begin;
    char close[MAX_NAME + 4] = "[/";
    memcpy(close + 2, scan->text + name, end + 1 - name);
    size_t left = scan->length - end < 2 * MAX_CODE ? scan->length - end : 2 * MAX_CODE;
    return memmem(scan->text + end, left, close, end + 3 - name) ? end + 1 : begin;
}

/* [X12X] */
static size_t in_brackets(const struct scan *scan) {
    size_t letters = scan_skip(scan, scan->begin + 1, CAPITALS), digits = skip_digits(scan, letters);
    size_t at = scan_skip(scan, digits, CAPITALS);
    return letters > scan->begin + 1 && digits > letters && peek(scan, at) == ']' ? at + 1 : scan->begin;
}

/* Ends a run before characters that more likely belong to the sentence; a closing bracket stays if the run has its opening one. */
static size_t scan_trim(const struct scan *scan, size_t first, size_t end) {
    static const char opening[] = "([{", closing[] = ")]}";
    size_t excess[sizeof closing - 1] = {0}; /* closing brackets less opening ones, modulo 2^64 */
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

/* https://example.com/a?b=c, www.example.com */
static size_t as_address(const struct scan *scan) {
    size_t begin = scan->begin, first = begin, most = begin + MAX_SCHEME;
    if (has(scan, begin, "www.")) {
        first = begin + strlen("www.");
    } else {
        while (first < most &&
               (ascii_letter(peek(scan, first)) || (first > begin && is_one_of(peek(scan, first), "0123456789+.-"))))
            first++;
        if (first == begin || !has(scan, first, "://"))
            return begin;
        first += strlen("://");
    }
    size_t at = first;
    for (size_t next = at; next < scan->length; at = next) {
        int32_t c = character_next(scan->text, scan->length, &next);
        if (character_is_space(c) || (c < 0x80 ? c < ' ' || is_one_of((char)c, "<>\"`\\^|") : character_is_punctuation(c)))
            break;
    }
    at = scan_trim(scan, first, at);
    return at > first ? at : begin;
}

static bool is_local(char c) {
    return ascii_letter(c) || ascii_digit(c) || is_one_of(c, "._%+-");
}

/* jane.doe@example.com */
static size_t as_mail(const struct scan *scan) {
    size_t at = scan->begin;
    if (is_local(scan->former) || !scan->word)
        return scan->begin;
    while (is_local(peek(scan, at)))
        at++;
    if (at == scan->begin || peek(scan, at) != '@')
        return scan->begin;
    size_t domain = ++at;
    while (ascii_letter(peek(scan, at)) || ascii_digit(peek(scan, at)) || is_one_of(peek(scan, at), ".-"))
        at++;
    at = scan_trim(scan, domain, at);
    bool dotted = at > domain + 3 && memchr(scan->text + domain + 1, '.', at - domain - 3);
    return dotted ? at : scan->begin;
}

/* ---- emoji and symbols ---- */

/* Signs that a reader sees and no language inflects: emoji, category So, and numbers such as ½, ² and U+2167, but no digits. */
static bool is_pictured(int32_t c) {
    return c >= 0x80 && (u_hasBinaryProperty(c, UCHAR_EXTENDED_PICTOGRAPHIC) || u_charType(c) == U_OTHER_SYMBOL ||
                         u_charType(c) == U_OTHER_NUMBER || u_charType(c) == U_LETTER_NUMBER);
}

/* Emoji and symbols side by side, and a whole number that touches the last one: №5, ©2024. The parts of an emoji that follow it are
 * variation selectors, skins, tags, keycaps, and emoji that are joined to it. */
static size_t as_picture(const struct scan *scan) {
    size_t at = scan->begin, next, after;
    for (;;) {
        int32_t c = character_at(scan, at, &next);
        bool keycap = c >= 0 && c < 0x80 && is_one_of((char)c, "0123456789#*") &&
                      (character_at(scan, next, &after) == 0x20e3 ||
                       (character_at(scan, next, &after) == 0xfe0f && character_at(scan, after, &after) == 0x20e3));
        bool flag = c >= 0x1f1e6 && c <= 0x1f1ff;
        if (!keycap && !flag && !is_pictured(c))
            break;
        for (bool part = true; part;) {
            at = next;
            c = character_at(scan, at, &next);
            part = c == 0xfe0e || c == 0xfe0f || c == 0x20e3 || (c >= 0x1f3fb && c <= 0x1f3ff) || (c >= 0xe0020 && c <= 0xe007f) ||
                   (c == 0x200d && is_pictured(character_at(scan, next, &next)));
        }
    }
    size_t end = skip_digits(scan, at);
    bool part = ascii_word(peek(scan, end)) || (is_one_of(peek(scan, end), ".,:") && ascii_digit(peek(scan, end + 1)));
    return at == scan->begin || part ? at : end;
}

/* ---- codes: strings for programs, numbers of documents and other notations ---- */

/* Skips letters, digits, underscores and these characters, up to MAX_CODE bytes after the beginning. */
static size_t skip_code(const struct scan *scan, size_t at, const char *others) {
    while (at < scan->begin + MAX_CODE && (is_code_word(peek(scan, at)) || is_one_of(peek(scan, at), others)))
        at++;
    return at;
}

static size_t code_end(const struct scan *scan, size_t at) {
    return skip_code(scan, at, "");
}

/* :-) ;D <3 ^^, apart from words. */
static size_t as_emoticon(const struct scan *scan) {
    size_t at = scan->begin;
    if (has(scan, at, "<3"))
        at += 2;
    else if (peek(scan, at) == '^')
        at = scan_skip(scan, at, "^_");
    else if (is_one_of(peek(scan, at), ":;=8xX")) {
        at = scan_skip(scan, at + 1, "'");
        at += is_one_of(peek(scan, at), "-o^");
        size_t mouth = at;
        at = scan_skip(scan, at, ")(][DPp*|\\/O");
        if (at == mouth || at > mouth + 3)
            return scan->begin;
    }
    bool whole = at >= scan->begin + 2 && (at == scan->length || is_one_of(scan->text[at], " \t\n\r.,!?)"));
    return whole ? at : scan->begin;
}

/* :tada: */
static size_t as_shortcode(const struct scan *scan) {
    size_t at = scan->begin + 1, letters = 0;
    for (; at < scan->begin + MAX_SHORTCODE && (is_code_word(peek(scan, at)) || is_one_of(peek(scan, at), "+-")); at++)
        letters += ascii_letter(scan->text[at]) || is_one_of(scan->text[at], "+-");
    return letters > 0 && peek(scan, at) == ':' && ends_word(scan, at + 1) ? at + 1 : scan->begin;
}

/* #hashtag, in any alphabet; #12. */
static size_t as_hashtag(const struct scan *scan) {
    if (scan->former == '&')
        return scan->begin;
    size_t at = scan->begin + 1;
    for (size_t next = at; next < scan->length && next < scan->begin + MAX_CODE; at = next) {
        int32_t c = character_next(scan->text, scan->length, &next);
        if (c != '_' && !u_isalnum(c) && (U_GET_GC_MASK(c) & U_GC_M_MASK) == 0)
            break;
    }
    return at > scan->begin + 1 ? at : scan->begin;
}

/* @name, @scope/package. */
static size_t as_name(const struct scan *scan) {
    if (scan->former == '@')
        return scan->begin;
    size_t at = skip_code(scan, scan->begin + 1, "./-@");
    while (at > scan->begin && is_one_of(scan->text[at - 1], "./-@"))
        at--;
    return at > scan->begin + 1 ? at : scan->begin;
}

/* [1], [12], [a]. */
static size_t as_footnote(const struct scan *scan) {
    size_t at = scan->begin + 1;
    at += peek(scan, at) == '^';
    size_t digits = skip_digits(scan, at) - at;
    at += digits > 0 ? digits : ascii_letter(peek(scan, at));
    return digits <= 4 && at > scan->begin + 1 && peek(scan, at) == ']' ? at + 1 : scan->begin;
}

/* 9×39, 15±2: numbers with signs of mathematics between them. */
static size_t as_calculation(const struct scan *scan) {
    size_t end = skip_digits(scan, scan->begin), parts = 0, next;
    for (size_t at = end; end < scan->begin + MAX_CODE && u_charType(character_at(scan, at, &next)) == U_MATH_SYMBOL &&
                          !is_one_of(peek(scan, at), "+=<>") && ascii_digit(peek(scan, next));
         at = end) {
        end = skip_digits(scan, next);
        parts++;
    }
    return parts > 0 && !is_one_of(scan->former, ".,") && ends_word(scan, end) ? end : scan->begin;
}

/* 12(3)(b), 4(a)(ii), 587.1(1): parts of a clause of a law. */
static size_t as_clause(const struct scan *scan) {
    size_t end = skip_digits(scan, scan->begin), parts = 0;
    while (peek(scan, end) == '.' && ascii_digit(peek(scan, end + 1)))
        end = skip_digits(scan, end + 1);
    for (size_t at = end; peek(scan, at) == '(' && end < scan->begin + MAX_CODE; at = end) {
        size_t inside = at + 1, after = skip_digits(scan, inside);
        after = after > inside ? after : scan_skip(scan, inside, "ivx");
        after = after > inside ? after : inside + ascii_letter(peek(scan, inside));
        if (after == inside || peek(scan, after) != ')')
            break;
        end = after + 1;
        parts++;
    }
    return parts > 0 && end > scan->begin && !is_one_of(scan->former, ".,") && ends_word(scan, end) ? end : scan->begin;
}

/* C++ C# F# */
static size_t as_language(const struct scan *scan) {
    size_t at = scan->begin, end = scan_skip(scan, at + 1, "+#");
    return end > at + 1 && end <= at + 3 && ends_word(scan, end) && !(end == at + 2 && scan->text[at + 1] == '+') ? end : at;
}

/* Groups of digits. */
struct digits {
    size_t groups, total, first; /* first: digits of the first group */
    bool thousands;              /* at most three digits, then groups of three; all separators are spaces or all full stops */
    bool dotted, slashed, dashed;
};

/* +33 (0)6 12 34, 2024-05-01, 1.2.3, 978-3-16-148410-X: groups of digits, some in brackets, with at most one separator between. */
static size_t skip_groups(const struct scan *scan, size_t at, struct digits *digits) {
    *digits = (struct digits){.thousands = true};
    size_t end = at, most = at + 64 < scan->length ? at + 64 : scan->length;
    char separator = '\0', former = '\0';
    for (;;) {
        size_t opened = peek(scan, at) == '(', after = skip_digits(scan, at + opened), size = after - at - opened;
        bool last = size == 0 && digits->groups > 1 && peek(scan, at) == 'X' && ends_word(scan, at + 1) && separator == '-';
        if (last)
            return at + 1;
        if (size == 0 || after > most)
            return end;
        if (opened && peek(scan, after) != ')')
            return end;
        digits->first = digits->groups == 0 ? size : digits->first;
        digits->thousands = digits->thousands && !opened && (digits->groups == 0 ? size <= 3 : size == 3);
        if (digits->groups > 0) { /* a separator precedes this group */
            digits->thousands = digits->thousands && (former == '\0' || former == separator) && is_one_of(separator, " .");
            digits->dotted |= separator == '.';
            digits->slashed |= separator == '/';
            digits->dashed |= separator == '-';
            former = separator;
        }
        digits->groups++;
        digits->total += size;
        end = at = after + opened;
        char c = peek(scan, at);
        if (!is_one_of(c, opened ? " -./0123456789" : " -./"))
            return end;
        separator = c;
        at += !ascii_digit(c);
    }
}

static size_t as_digits(const struct scan *scan) {
    size_t begin = scan->begin;
    bool plus = peek(scan, begin) == '+';
    if (ascii_word(scan->former) || (is_one_of(scan->former, ".,") && begin > 1 && ascii_digit(scan->text[begin - 2])))
        return begin;
    if (!ascii_digit(peek(scan, begin + plus)) && !(peek(scan, begin + plus) == '(' && ascii_digit(peek(scan, begin + plus + 1))))
        return begin;
    struct digits digits;
    size_t end = skip_groups(scan, begin + plus, &digits);
    if (end == begin + plus || ascii_letter(peek(scan, end)) || peek(scan, end) == '_')
        return begin;
    if (is_one_of(peek(scan, end), ",.:") && ascii_digit(peek(scan, end + 1))) /* a decimal fraction or a time */
        return begin;
    bool years = digits.groups == 2 && digits.total == 8 && digits.first == 4;
    if (digits.groups == 1)
        return digits.total >= 5 && peek(scan, begin) != '(' && !plus ? end : begin;
    if (digits.thousands && !plus)
        return begin;
    if (plus)
        return digits.total >= 7 ? end : begin;
    if (digits.groups >= 3 && (digits.dotted || digits.dashed || digits.slashed || digits.total >= 8))
        return end;
    return digits.groups == 2 && digits.dashed && digits.total >= 7 && !years ? end : begin;
}

static bool has_digits(const struct scan *scan, size_t at, size_t exactly) {
    return skip_digits(scan, at) - at == exactly;
}

/* 2024-05-01T10:00:00Z, 2024-05-01T10:00+02:00 */
static size_t as_timestamp(const struct scan *scan) {
    size_t day = scan->begin + strlen("2024-05-01"), minutes = day + strlen("T10:00");
    if (minutes > scan->length || scan->text[day] != 'T' || scan->text[day + 3] != ':' || !has_digits(scan, scan->begin, 4) ||
        !has_digits(scan, day + 1, 2) || !has_digits(scan, day + 4, 2))
        return scan->begin;
    size_t end = minutes;
    if (peek(scan, end) == ':' && has_digits(scan, end + 1, 2))
        end += strlen(":00");
    if (is_one_of(peek(scan, end), ".,") && ascii_digit(peek(scan, end + 1)))
        end = skip_digits(scan, end + 1);
    if (peek(scan, end) == 'Z')
        end++;
    else if (is_one_of(peek(scan, end), "+-") && has_digits(scan, end + 1, 2) && peek(scan, end + 3) == ':')
        end = skip_digits(scan, end + 4);
    return ends_word(scan, end) ? end : scan->begin;
}

/* 00:1b:44:11:3a:b7, 2001:db8::1, ::1: addresses with at least one digit, and with at least four groups or an empty one. */
static size_t as_colons(const struct scan *scan) {
    enum { MOST_GROUPS = 16, LONGEST = 4 };
    static const char hexadecimal[] = "0123456789abcdefABCDEF";
    size_t end = scan->begin, groups = 0, empty = 0, digits = 0;
    while (groups + empty <= MOST_GROUPS) {
        size_t size = 0;
        for (; size <= LONGEST && is_one_of(peek(scan, end + size), hexadecimal); size++)
            digits += ascii_digit(peek(scan, end + size));
        if (size > LONGEST || (size == 0 && groups + empty == 0 && !(peek(scan, end) == ':' && peek(scan, end + 1) == ':')))
            return scan->begin;
        end += size;
        groups += size > 0;
        bool goes_on = peek(scan, end) == ':' && (is_one_of(peek(scan, end + 1), hexadecimal) ||
                                                  (peek(scan, end + 1) == ':' && (size > 0 || end == scan->begin)));
        if (!goes_on)
            break;
        empty += size == 0;
        end++;
    }
    bool address = digits > 0 && (groups >= 4 || (empty > 0 && groups >= 1));
    return address && ends_word(scan, end) ? end : scan->begin;
}

/* v1.2.3 */
static size_t as_version(const struct scan *scan) {
    struct digits digits;
    if (!ascii_digit(peek(scan, scan->begin + 1)))
        return scan->begin;
    size_t end = skip_groups(scan, scan->begin + 1, &digits);
    return digits.dotted && ends_word(scan, end) ? end : scan->begin;
}

/* DE89 3704 0044 0532 0130 00 */
static size_t as_iban(const struct scan *scan) {
    size_t at = scan->begin;
    if (!ascii_upper(peek(scan, at + 1)) || skip_digits(scan, at + 2) < at + 4)
        return scan->begin;
    size_t end = at + 4, total = 4;
    for (size_t next = end; total <= 34;) {
        next += peek(scan, next) == ' ';
        size_t group = 0;
        while (group < 4 && (ascii_upper(peek(scan, next + group)) || ascii_digit(peek(scan, next + group))))
            group++;
        if (group == 0 || (group < 4 && !ends_word(scan, next + group)))
            break;
        total += group;
        end = next += group;
        if (group < 4)
            break;
    }
    return total >= 14 && ends_word(scan, end) ? end : scan->begin;
}

static bool has_digit_in(const struct scan *scan, size_t begin, size_t end) {
    while (begin < end && !ascii_digit(scan->text[begin]))
        begin++;
    return begin < end;
}

/* True if letters and digits are mixed as in no language; false for 1st, 5km, 10h30, 1980s. */
static bool is_mixed(const char *text, size_t length) {
    size_t letters = 0, digits = 0, changes = 0, underlines = 0;
    for (size_t i = 0; i < length; i++) {
        letters += ascii_letter(text[i]);
        digits += ascii_digit(text[i]);
        underlines += text[i] == '_';
        changes += i > 0 && ascii_letter(text[i]) != ascii_letter(text[i - 1]);
    }
    if (letters == 0 || digits == 0)
        return false;
    if (!ascii_digit(text[0]) || underlines > 0)
        return true;
    if (changes == 1) /* digits, then letters: 4K, 3D */
        return letters > 4 || (letters == 1 && ascii_upper(text[length - 1]) && digits <= 2);
    return !(changes == 2 && letters == 1 && digits <= 4); /* 10h30 */
}

static bool all_in(const char *text, size_t length, bool (*is)(char c)) {
    for (size_t i = 0; i < length; i++)
        if (!is(text[i]))
            return false;
    return length > 0;
}

static bool is_capital_or_digit(char c) {
    return ascii_upper(c) || ascii_digit(c);
}

/* Words of letters, digits and underscores, perhaps with hyphens between them: A4, FOO_BAR=1, COVID-19, name(), 3f2a9c. */
static size_t as_identifier(const struct scan *scan) {
    size_t begin = scan->begin, end = code_end(scan, begin);
    if (scan->former == '_' || end == begin || (unsigned char)peek(scan, end) >= 0x80)
        return begin;
    const char *text = scan->text + begin;
    bool underlined = memchr(text, '_', end - begin) && text[0] != '_' && text[end - begin - 1] != '_', camel = false;
    for (size_t i = 1; text[0] >= 'a' && text[0] <= 'z' && i < end - begin; i++) /* lowerUpper */
        camel = camel || (ascii_upper(text[i]) && !ascii_upper(text[i - 1]) && text[i - 1] != '_');
    bool code = underlined || camel || is_mixed(text, end - begin);
    if (peek(scan, end) == '(' && peek(scan, end + 1) == ')' && !ascii_digit(text[0]))
        return end + 2;
    if (peek(scan, end) == '=' && all_in(text, end - begin, is_code_word) && is_code_word(peek(scan, end + 1)) &&
        (underlined || ascii_upper(text[0]))) {
        size_t after = end + 1;
        while (after < scan->length && after < begin + MAX_CODE && !is_one_of(scan->text[after], " \t\n\r,;"))
            after++;
        return scan_trim(scan, end + 1, after);
    }
    /* with hyphens, either one part is code by itself, or all parts are capitals and digits */
    size_t whole = end, most = begin + MAX_CODE;
    bool capital = all_in(text, end - begin, is_capital_or_digit) && ascii_upper(text[0]),
         numbered = has_digit_in(scan, begin, end);
    while (whole < most && peek(scan, whole) == '-' && is_code_word(peek(scan, whole + 1))) {
        struct scan part = {.text = scan->text, .length = scan->length, .begin = whole + 1};
        size_t after = code_end(&part, part.begin);
        capital = capital && all_in(scan->text + part.begin, after - part.begin, is_capital_or_digit);
        numbered = numbered || has_digit_in(scan, part.begin, after);
        code = code || is_mixed(scan->text + part.begin, after - part.begin);
        whole = after;
    }
    if (whole > end && (code || (capital && numbered)))
        return ends_word(scan, whole) ? whole : begin;
    return code && whole == end && !is_one_of(peek(scan, end), "'") ? end : begin;
}

/* --flag, --flag=value */
static size_t as_flag(const struct scan *scan) {
    size_t at = scan->begin;
    if (peek(scan, at + 1) != '-' || !ascii_letter(peek(scan, at + 2)))
        return scan->begin;
    for (at += 2; at < scan->length && at < scan->begin + MAX_CODE && !is_one_of(scan->text[at], " \t\n\r");)
        at++;
    return scan_trim(scan, scan->begin + 2, at);
}

/* True if the name ends with one of these suffixes: README.md, example.org, archive.tar.gz. */
static bool has_suffix(const char *text, size_t length) {
    static const char suffixes[] =
        " txt md rst pdf doc docx xls xlsx ppt pptx odt ods odp rtf csv tsv json xml yaml yml toml ini conf cfg "
        "log html htm css scss js mjs ts jsx tsx vue py rb pl php java jar kt go rs c h cc cpp hpp cs sh bash bat "
        "exe dll so deb rpm apk dmg iso img zip gz tgz bz2 xz zst tar 7z rar png jpg jpeg gif svg webp bmp ico "
        "tif tiff mp3 mp4 wav ogg flac mkv avi mov webm srt vtt po mo xliff xlf sql db bin dat bak tmp lock key "
        "pem crt epub ttf woff woff2 service tex com org net edu gov io dev eu uk fr de ch at be nl ca ";
    char name[16];
    const char *dot = memrchr(text, '.', length);
    size_t suffix = dot ? (size_t)(text + length - dot - 1) : 0;
    if (dot == text || suffix == 0 || suffix > sizeof name - 3 || memchr(dot + 1, ' ', suffix))
        return false;
    name[0] = name[suffix + 1] = ' ';
    memcpy(name + 1, dot + 1, suffix);
    name[suffix + 2] = '\0';
    return strstr(suffixes, name) != NULL;
}

/* /usr/bin ./x ../x ~/x C:\x, and names of files and hosts. */
static size_t as_path(const struct scan *scan) {
    size_t begin = scan->begin, at = begin;
    if (!scan->chunk && scan->former != '`')
        return begin;
    bool rooted = false, drive = ascii_letter(peek(scan, at)) && peek(scan, at + 1) == ':' && peek(scan, at + 2) == '\\';
    if (drive || (peek(scan, at) == '\\' && peek(scan, at + 1) == '\\' && is_code_word(peek(scan, at + 2))))
        rooted = true;
    else if (is_one_of(peek(scan, at), "/~."))
        rooted = (peek(scan, at) == '/' && is_code_word(peek(scan, at + 1))) ||
                 (peek(scan, at) == '~' && peek(scan, at + 1) == '/') ||
                 (peek(scan, at) == '.' && (peek(scan, at + 1) == '/' || (peek(scan, at + 1) == '.' && peek(scan, at + 2) == '/') ||
                                            ascii_letter(peek(scan, at + 1))));
    if (!rooted && !is_code_word(peek(scan, at)))
        return begin;
    while (at < scan->length && at < begin + MAX_CODE && (ascii_word(scan->text[at]) || is_one_of(scan->text[at], "_./~+@-\\:")))
        at++;
    if (at < scan->length && at == begin + MAX_CODE)
        return begin;
    at = scan_trim(scan, begin, at);
    if (at <= begin + 1)
        return begin;
    return rooted || has_suffix(scan->text + begin, at - begin) ? at : begin;
}

/* ---- words with signs in them ---- */

/* H₂O, mc², m²: letters with raised or lowered digits among them. */
static size_t as_formula(const struct scan *scan) {
    size_t at = scan->begin, letters = 0, raised = 0;
    for (size_t next; at < scan->begin + MAX_CODE; at = next) {
        int32_t c = character_at(scan, at, &next);
        bool plain = c >= 0 && c < 0x80 && (ascii_letter((char)c) || ascii_digit((char)c));
        bool digit = c == 0xb2 || c == 0xb3 || c == 0xb9 || (c >= 0x2070 && c <= 0x209f); /* raised or lowered */
        if (!plain && !digit)
            break;
        letters += plain && ascii_letter((char)c);
        raised += !plain;
    }
    return letters > 0 && raised > 0 && ends_word(scan, at) ? at : scan->begin;
}

/* Returns the end of the words that signs join to the word at text[at]: Ctrl+C, R&D, x^2, key=value. Without such a sign: at. */
static size_t skip_joined(const struct scan *scan, size_t at) {
    size_t first = at, end = code_end(scan, at);
    while (is_one_of(peek(scan, end), "&+=^") && is_code_word(peek(scan, end + 1))) {
        size_t second = end + 1, after = code_end(scan, second);
        char sign = scan->text[end], next = scan->text[second];
        bool joins = sign == '&' ? all_in(scan->text + first, end - first, is_capital_or_digit) &&
                                       all_in(scan->text + second, after - second, is_capital_or_digit)
                     : sign == '+' ? ascii_upper(scan->text[first]) && is_capital_or_digit(next)
                                   : true;
        if (after == second || !joins)
            break;
        first = second;
        end = after;
    }
    return first > at ? end : at;
}

/* Ctrl+C, key=value, and x^2 + y^2 = 1: after a sign between spaces, an equation goes on with a joined word, letter or number. */
static size_t as_joined(const struct scan *scan) {
    size_t begin = scan->begin, end = ascii_letter(peek(scan, begin)) ? skip_joined(scan, begin) : begin;
    while (end > begin && peek(scan, end) == ' ' && is_one_of(peek(scan, end + 1), "+-*/=<>") && peek(scan, end + 2) == ' ') {
        size_t next = end + 3, word = code_end(scan, next), joined = skip_joined(scan, next);
        bool operand = joined > next || word == next + 1 || (word > next && all_in(scan->text + next, word - next, ascii_digit));
        if (!operand)
            break;
        end = joined > next ? joined : word;
    }
    return ends_word(scan, end) ? end : begin;
}

/* doi:10.1000/182, arXiv:1706.03762 */
static size_t as_reference(const struct scan *scan) {
    size_t begin = scan->begin, end = code_end(scan, begin), digits = 0, at = end + 1;
    if (!ascii_letter(peek(scan, begin)) || end < begin + 2 || peek(scan, end) != ':' || !ascii_digit(peek(scan, at)))
        return begin;
    for (size_t last = skip_code(scan, at, "./-"); at < last; at++)
        digits += ascii_digit(scan->text[at]);
    return digits >= 5 ? scan_trim(scan, end + 1, at) : begin;
}

/* \n \t \r\n \N \u00e9 \x41 \": escapes. One of a letter counts only where no name of a command can stand: before a capital or
 * anything but a letter, or touching a word before it. */
static size_t as_escape(const struct scan *scan) {
    size_t end = scan->begin;
    while (end < scan->begin + MAX_CODE && peek(scan, end) == '\\') {
        char c = peek(scan, end + 1), next = peek(scan, end + 2);
        bool touches = end > scan->begin || !is_one_of(scan->former, " \n\t([{");
        size_t digits = c == 'u' ? 4 : c == 'x' ? 2 : c == 'U' ? 8 : 0, at = end + 2;
        while (digits > 0 && is_one_of(peek(scan, at), "0123456789abcdefABCDEF"))
            at++, digits--;
        if (is_one_of(c, "uxU") && digits == 0)
            end = at;
        else if (is_one_of(c, "\"'\\`") || (is_one_of(c, "nrtNhfbv0") &&
                                            (ascii_upper(next) || !ascii_letter(next) || (touches && !ascii_upper(scan->former)))))
            end += 2;
        else
            break;
    }
    return end;
}

/* Escapes of line ends and tabs that touch a word. */
static size_t as_break(const struct scan *scan) {
    if (!is_one_of(peek(scan, scan->begin + 1), "nrtN"))
        return scan->begin;
    size_t end = as_escape(scan);
    for (size_t at = scan->begin; at < end; at += 2)
        if (!is_one_of(scan->text[at + 1], "nrtN"))
            return scan->begin;
    bool apart = is_one_of(scan->former, " \n\t\"'`([") && is_one_of(end < scan->length ? scan->text[end] : ' ', " \n\t\"'`)],.");
    return apart ? scan->begin : end;
}

/* \alpha, \frac{1}{x}, \ref{x}: a command with the arguments that have no spaces. */
static size_t as_command(const struct scan *scan) {
    size_t begin = scan->begin, end = begin + 1;
    while (end < begin + MAX_NAME && ascii_letter(peek(scan, end)))
        end++;
    if (end == begin + 1 || end == begin + MAX_NAME || ascii_word(peek(scan, end)))
        return begin;
    while (is_one_of(peek(scan, end), "{[") && end < begin + MAX_CODE) {
        size_t after = skip_nested(scan, end);
        if (after == end || memchr(scan->text + end, ' ', after - end))
            break;
        end = after;
    }
    return end;
}

/* \begin{equation} x = y \end{equation}: all of an environment of formulas. */
static size_t as_environment(const struct scan *scan) {
    static const char formulas[] = " equation align alignat gather multline eqnarray math displaymath array matrix cases ";
    static const char opening[] = "\\begin{";
    size_t begin = scan->begin, name = begin + strlen(opening), end = name;
    if (!has(scan, begin, opening))
        return begin;
    while (end < begin + MAX_NAME && ascii_letter(peek(scan, end)))
        end++;
    char close[MAX_NAME + 8] = "\\end{";
    if (!is_one_of_words(scan->text + name, end - name, formulas))
        return begin;
    end += peek(scan, end) == '*';
    size_t length = strlen(close), left = scan->length - end < 4 * MAX_CODE ? scan->length - end : 4 * MAX_CODE;
    memcpy(close + length, scan->text + name, end - name);
    close[length + end - name] = '}';
    const char *found = memmem(scan->text + end, left, close, length + end - name + 1);
    return found ? (size_t)(found - scan->text) + length + end - name + 1 : begin;
}

/* $x^2$: a formula between dollar signs, with a sign of formulas in it, or a single letter; "$5 and $6" is none. */
static size_t in_dollars(const struct scan *scan) {
    size_t begin = scan->begin, at = begin + 1;
    bool sign = false;
    if (scan->former == '$' || is_one_of(peek(scan, at), " $\n"))
        return begin;
    for (; at < scan->length && at < begin + MAX_CODE && !is_one_of(scan->text[at], "$\n"); at++)
        sign = sign || is_one_of(scan->text[at], "\\^_=<>+");
    bool closed = peek(scan, at) == '$' && scan->text[at - 1] != ' ' && ends_word(scan, at + 1) && peek(scan, at + 1) != '$';
    return closed && (sign || (at == begin + 2 && ascii_letter(scan->text[begin + 1]))) ? at + 1 : begin;
}

/* A sign that models drop or change: a brace or a backslash by itself, and marks such as ** and ~~. */
static size_t as_sign(const struct scan *scan) {
    char c = peek(scan, scan->begin);
    size_t end = scan->begin + 1;
    if (c == '{' && peek(scan, end) == '}')
        return end + 1;
    if (is_one_of(c, "{}\\"))
        return end;
    end = scan_skip(scan, end, (const char[]){c, '\0'});
    bool opens = scan->chunk && !is_one_of(peek(scan, end), " \n\t"), closes = !is_one_of(scan->former, " \n\t");
    return end > scan->begin + 1 || (c == '*' && (opens || closes)) ? end : scan->begin;
}

/* \u00a7l |cff00ff00 |r: colours and styles of games, before the text that has them. */
static size_t as_style(const struct scan *scan) {
    static const char paragraph[] = "\xc2\xa7";
    size_t begin = scan->begin, at = begin + strlen(paragraph);
    if (has(scan, begin, paragraph)) {
        bool code = is_one_of(peek(scan, at), "0123456789abcdefklmnor");
        bool style = ascii_letter(peek(scan, at + 1)) && (!ascii_digit(peek(scan, at)) || ascii_upper(peek(scan, at + 1)));
        return code && style ? at + 1 : begin;
    }
    at = begin + 2;
    if (peek(scan, begin) != '|' || !is_one_of(peek(scan, begin + 1), "crn"))
        return begin;
    while (peek(scan, begin + 1) == 'c' && at < begin + 10 && is_one_of(peek(scan, at), "0123456789abcdefABCDEF"))
        at++;
    return at == begin + 10 || (at == begin + 2 && peek(scan, begin + 1) == 'r') ? at : begin;
}

/* A word of Latin letters that is longer than those of any language, or that repeats a letter as none does. */
static size_t as_long_word(const struct scan *scan) {
    size_t at = scan->begin, repeated = 1, most = 1;
    for (; at < scan->length && ascii_letter(scan->text[at]); at++) {
        repeated = at > scan->begin && scan->text[at] == scan->text[at - 1] ? repeated + 1 : 1;
        most = repeated > most ? repeated : most;
    }
    bool strange = at - scan->begin > MAX_LETTERS || most > MAX_REPEATED;
    return strange && ends_word(scan, at) ? at : scan->begin;
}

/* Acme\u2122: a name with its trade mark. */
static size_t as_trade_mark(const struct scan *scan) {
    size_t at = scan->begin, next = at;
    int32_t c = character_at(scan, at, &next);
    if (!u_isupper(c))
        return at;
    while (next < scan->begin + MAX_NAME && (u_isalnum(c) || c == '-')) {
        at = next;
        c = character_at(scan, at, &next);
    }
    return character_is_among(c, L"\u2122\u00ae\u00a9\u2120") ? next : scan->begin;
}

/* A variation selector or a joiner that stands alone. */
static size_t as_selector(const struct scan *scan) {
    size_t next, before = scan->begin;
    int32_t c = character_at(scan, scan->begin, &next);
    bool selects = (c >= 0xfe00 && c <= 0xfe0f) || c == 0x200d || (c >= 0xe0100 && c <= 0xe01ef);
    bool joins = before > 0 && c == 0x200d && u_isalpha(character_previous(scan->text, &before));
    return selects && !joins ? next : scan->begin;
}

/* && != => ||, apart from words. */
static size_t as_operator(const struct scan *scan) {
    size_t begin = scan->begin, end = begin, signs = 0;
    for (; end < begin + MAX_REPEATED && is_one_of(peek(scan, end), "&|<>=!:+-*/^~"); end++)
        signs += is_one_of(scan->text[end], "&|<>=") != 0;
    bool apart = end == scan->length || is_one_of(peek(scan, end), " \t\n.,;?)");
    return signs > 0 && end >= begin + 2 && apart ? end : begin;
}

/* {"a": 1}: braces that begin with a quotation mark, on one line. */
static size_t as_object(const struct scan *scan) {
    size_t begin = scan->begin, at = scan_skip(scan, begin + 1, " "), open = 1;
    if (peek(scan, at) != '"')
        return begin;
    for (; open > 0 && at < begin + MAX_CODE && at < scan->length && scan->text[at] != '\n'; at++)
        open += (size_t)(scan->text[at] == '{') - (size_t)(scan->text[at] == '}');
    return open == 0 ? at : begin;
}

/* 20°, 37.5 °C, -18 °F, 5 km/h: a number with a unit that has a sign. */
static size_t as_measure(const struct scan *scan) {
    static const char degree[] = "\xc2\xb0", symbols[] = " h s min m l L dl kg g mol K ha ";
    size_t begin = scan->begin, at = begin + is_one_of(peek(scan, begin), "-+"), digits = at, next;
    if (is_one_of(scan->former, ".,") || !ascii_digit(peek(scan, at)))
        return begin;
    for (at = skip_digits(scan, at); is_one_of(peek(scan, at), ".,") && ascii_digit(peek(scan, at + 1));)
        at = skip_digits(scan, at + 1);
    if (at > digits + 12)
        return begin;
    int32_t c = character_at(scan, at, &next);
    size_t unit = c == ' ' || c == 0xa0 || c == 0x202f || c == 0x2009 ? next : at;
    if (has(scan, unit, degree)) {
        size_t sign = unit + strlen(degree), scale = sign + is_one_of(peek(scan, sign), "CFK");
        return ends_word(scan, scale) && (unit == at || scale > sign) ? scale : begin;
    }
    size_t per = unit;
    while (ascii_letter(peek(scan, per)) && per < unit + 4)
        per++;
    size_t end = per + 1;
    while (ascii_letter(peek(scan, end)) && end < per + 4)
        end++;
    bool ratio = per > unit && peek(scan, per) == '/' && is_one_of_words(scan->text + per + 1, end - per - 1, symbols);
    return ratio && ends_word(scan, end) && peek(scan, end) != '/' ? end : begin;
}

/* Between two strings, in one line: [[x]], *|x|*, <% x %>, \( x \). */
static size_t skip_between(const struct scan *scan, const char *open, const char *close) {
    size_t begin = scan->begin, first = begin + strlen(open);
    if (!has(scan, begin, open))
        return begin;
    size_t most = scan->length - first < 2 * MAX_CODE ? scan->length - first : 2 * MAX_CODE;
    const char *end = memmem(scan->text + first, most, close, strlen(close));
    if (!end || end == scan->text + first || memchr(scan->text + first, '\n', (size_t)(end - scan->text) - first))
        return begin;
    return (size_t)(end - scan->text) + strlen(close);
}

/* ---- lines of code ---- */

/* Returns the end of the line, or `at` if it is too long for code. */
static size_t line_end(const struct scan *scan, size_t at) {
    size_t most = scan->length - at < MAX_LINE ? scan->length - at : MAX_LINE;
    const char *end = memchr(scan->text + at, '\n', most);
    return end ? (size_t)(end - scan->text) : most < MAX_LINE ? scan->length : at;
}

/* $ make install, C:\> dir, jane@host:~$ ls, >>> f(x): a command after a prompt, to the end of its line. */
static size_t as_command_line(const struct scan *scan) {
    size_t begin = scan->begin, at = begin, end = line_end(scan, begin);
    bool drive = ascii_upper(peek(scan, at)) && has(scan, at + 1, ":\\"), host = false;
    if (has(scan, at, "$ "))
        return (peek(scan, at + 2) >= 'a' && peek(scan, at + 2) <= 'z') || is_one_of(peek(scan, at + 2), "./~_") ? end : begin;
    if (has(scan, at, ">>> "))
        return memchr(scan->text + at, '(', end - at) || memchr(scan->text + at, '=', end - at) ? end : begin;
    for (; at < end && at < begin + MAX_NAME && !is_one_of(scan->text[at], drive ? ">" : " "); at++)
        host = host || (scan->text[at] == '@' && at > begin);
    if (drive)
        return peek(scan, at) == '>' ? end : begin;
    return host && at > begin + 1 && peek(scan, at) == ' ' && is_one_of(scan->text[at - 1], "$#") ? end : begin;
}

/* True if a line is a statement of a program: it ends as one does and has a sign that only programs have, or it is SQL. */
static bool is_statement(const struct scan *scan, size_t begin, size_t end) {
    static const char *const signs[] = {" = ", "+=", "-=", "==", "!=", "++", "()", "(\"", "('", "->", "::", "=>", "&&", "||"};
    static const char *const opening[] = {"#include", "<?php", "def ", "class ", "async def "};
    static const char *const statements[][2] = {{"SELECT ", " FROM "}, {"INSERT ", "INTO "},  {"UPDATE ", " SET "},
                                                {"DELETE ", "FROM "},  {"CREATE ", "TABLE "}, {"ALTER ", "TABLE "},
                                                {"DROP ", "TABLE "}};
    while (end > begin && is_one_of(scan->text[end - 1], " \t\r"))
        end--;
    size_t length = end - begin;
    const char *text = scan->text + begin;
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        if (has(scan, begin, statements[i][0]) && memmem(text, length, statements[i][1], strlen(statements[i][1])))
            return true;
    if (length < 2)
        return false;
    for (size_t i = 0; i < sizeof opening / sizeof *opening; i++)
        if (has(scan, begin, opening[i]) && (i < 2 || (text[length - 1] == ':' && is_one_of(text[length - 2], ")"))))
            return true;
    if (!is_one_of(text[length - 1], ";{}"))
        return false;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (memmem(text, length, signs[i], strlen(signs[i])))
            return true;
    return false;
}

/* Statements, and the lines after one that are further indented or close it. */
static size_t as_code(const struct scan *scan) {
    size_t begin = scan->begin, end = line_end(scan, begin), own = begin;
    if (!is_statement(scan, begin, end))
        return begin;
    while (own > 0 && scan->text[own - 1] != '\n')
        own--;
    for (size_t indent = begin - own; end + 1 < scan->length;) {
        size_t next = scan_skip(scan, end + 1, " \t"), last = line_end(scan, next);
        bool inside = next < last && next - end - 1 > indent;
        if (!inside && !is_one_of(peek(scan, next), "}") && !is_statement(scan, next, last))
            break;
        end = last;
    }
    return end;
}

/* ____ --- ====: equal signs that stand for a blank, a rule or a mark of a notation. Three dots are an ellipsis. */
static size_t as_rule(const struct scan *scan) {
    char sign = scan->text[scan->begin];
    if (scan->former == sign)
        return scan->begin;
    size_t end = scan_skip(scan, scan->begin, (const char[]){sign, '\0'});
    return end - scan->begin >= (sign == '.' ? 4 : 3) ? end : scan->begin;
}

/* ---- the table ---- */

/* A notation may begin anywhere, only where scan.word or scan.chunk is true, or only where a line begins (scan.line). */
enum place { ANYWHERE, WORD, CHUNK, LINE };

/* To add a notation, write a row, its function unless it stands between two strings, and a line in the header. If several notations
 * find a run at the same place, the first row counts. */
static const struct notation {
    const char *name;
    unsigned sets;
    enum notation_role role;
    enum opaque_kind kind;
    enum place place;
    const char *first;                      /* the characters with which it begins; NULL: the function decides */
    size_t (*end)(const struct scan *scan); /* returns the run's end, or scan->begin if no run begins there */
    const char *open, *close;               /* without a function: the run stands between these, in one line */
} notations[] = {
    {"braces", NOTATION_PLACEHOLDERS, NOTATION_OPAQUE, OPAQUE_CODE, ANYWHERE, "{$%#@", in_braces, NULL, NULL},
    {"printf", NOTATION_PLACEHOLDERS, NOTATION_OPAQUE, OPAQUE_CODE, ANYWHERE, "%", as_in_printf, NULL, NULL},
    {"name between signs", NOTATION_PLACEHOLDERS, NOTATION_OPAQUE, OPAQUE_CODE, WORD, "%_@#", as_wrapped, NULL, NULL},
    {"numbered parameter", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, CHUNK, "%", as_numbered, NULL, NULL},
    {"template of ERB", NOTATION_PLACEHOLDERS, NOTATION_OPAQUE, OPAQUE_CODE, ANYWHERE, "<", NULL, "<%", "%>"},
    {"template of PHP", NOTATION_PLACEHOLDERS, NOTATION_OPAQUE, OPAQUE_CODE, ANYWHERE, "<", NULL, "<?", "?>"},
    {"template of Perl", NOTATION_PLACEHOLDERS, NOTATION_OPAQUE, OPAQUE_CODE, ANYWHERE, "[", NULL, "[%", "%]"},
    {"merge tag", NOTATION_PLACEHOLDERS, NOTATION_OPAQUE, OPAQUE_CODE, ANYWHERE, "*", NULL, "*|", "|*"},
    {"double brackets", NOTATION_PLACEHOLDERS, NOTATION_OPAQUE, OPAQUE_CODE, ANYWHERE, "[", NULL, "[[", "]]"},
    {"formula in a line", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, ANYWHERE, "\\", NULL, "\\(", "\\)"},
    {"formula in brackets", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, ANYWHERE, "\\", NULL, "\\[", "\\]"},
    {"formula, escaped", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, ANYWHERE, "\\", NULL, "\\\\(", "\\\\)"},
    {"formula in brackets, escaped", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, ANYWHERE, "\\", NULL, "\\\\[", "\\\\]"},
    {"formula by itself", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, ANYWHERE, "$", NULL, "$$", "$$"},
    {"formula in dollars", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, WORD, "$", in_dollars, NULL, NULL},
    {"variable", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, WORD, "$", as_variable, NULL, NULL},
    {"environment", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, ANYWHERE, "\\", as_environment, NULL, NULL},
    {"hidden term", NOTATION_PLACEHOLDERS, NOTATION_OPAQUE, OPAQUE_CODE, ANYWHERE, "[", in_brackets, NULL, NULL},
    {"address", NOTATION_PLACEHOLDERS, NOTATION_OPAQUE, OPAQUE_URL, WORD, NULL, as_address, NULL, NULL},
    {"e-mail", NOTATION_PLACEHOLDERS, NOTATION_OPAQUE, OPAQUE_EMAIL, ANYWHERE, NULL, as_mail, NULL, NULL},
    {"trade mark", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, WORD, NULL, as_trade_mark, NULL, NULL},
    {"selector", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_SYMBOL, ANYWHERE, NULL, as_selector, NULL, NULL},
    {"measure", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_NUMBER, WORD, "-+0123456789", as_measure, NULL, NULL},
    {"picture", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_EMOJI, ANYWHERE, NULL, as_picture, NULL, NULL},
    {"emoticon", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_EMOJI, CHUNK, ":;=<8xX^-", as_emoticon, NULL, NULL},
    {"angle brackets", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, ANYWHERE, "<", in_angles, NULL, NULL},
    {"shortcode", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_EMOJI, WORD, ":", as_shortcode, NULL, NULL},
    {"parameter", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, CHUNK, "!%:", as_parameter, NULL, NULL},
    {"hashtag", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, WORD, "#", as_hashtag, NULL, NULL},
    {"name of an account", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, WORD, "@", as_name, NULL, NULL},
    {"tag in brackets", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, ANYWHERE, "[", as_tag, NULL, NULL},
    {"clause", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, WORD, "0123456789", as_clause, NULL, NULL},
    {"calculation", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, WORD, "0123456789", as_calculation, NULL, NULL},
    {"footnote", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, ANYWHERE, "[", as_footnote, NULL, NULL},
    {"flag", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, CHUNK, "-", as_flag, NULL, NULL},
    {"break", NOTATION_LAYOUT, NOTATION_SEPARATOR, OPAQUE_CODE, ANYWHERE, "\\", as_break, NULL, NULL},
    {"escape", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, ANYWHERE, "\\", as_escape, NULL, NULL},
    {"path", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, ANYWHERE, NULL, as_path, NULL, NULL},
    {"object", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, ANYWHERE, "{", as_object, NULL, NULL},
    {"command", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, ANYWHERE, "\\", as_command, NULL, NULL},
    {"operator", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, CHUNK, NULL, as_operator, NULL, NULL},
    {"rule", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, ANYWHERE, "_-=*~#.", as_rule, NULL, NULL},
    {"style", NOTATION_CODES, NOTATION_PREFIX, OPAQUE_CODE, ANYWHERE, "\xc2|", as_style, NULL, NULL},
    {"formula of letters", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, WORD, NULL, as_formula, NULL, NULL},
    {"programming language", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, WORD, CAPITALS, as_language, NULL, NULL},
    {"IBAN", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, WORD, CAPITALS, as_iban, NULL, NULL},
    {"version", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, WORD, "vV", as_version, NULL, NULL},
    {"time stamp", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, WORD, NULL, as_timestamp, NULL, NULL},
    {"groups with colons", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, WORD, NULL, as_colons, NULL, NULL},
    {"groups of digits", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, ANYWHERE, NULL, as_digits, NULL, NULL},
    {"reference", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, WORD, NULL, as_reference, NULL, NULL},
    {"identifier", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, WORD, NULL, as_identifier, NULL, NULL},
    {"joined words", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, WORD, NULL, as_joined, NULL, NULL},
    {"long word", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_CODE, WORD, NULL, as_long_word, NULL, NULL},
    {"sign", NOTATION_CODES, NOTATION_OPAQUE, OPAQUE_SYMBOL, ANYWHERE, "{}\\*~`", as_sign, NULL, NULL},
    {"command line", NOTATION_LAYOUT, NOTATION_SEPARATOR, OPAQUE_CODE, LINE, NULL, as_command_line, NULL, NULL},
    {"code", NOTATION_LAYOUT, NOTATION_SEPARATOR, OPAQUE_CODE, LINE, NULL, as_code, NULL, NULL},
};

/* ---- finding them ---- */

const char *opaque_name(enum opaque_kind kind) {
    static const char *const names[OPAQUE_KINDS] = {"emoji",  "symbol", "word",  "code",   "number",
                                                    "markup", "url",    "email", "protect"};
    return names[kind];
}

/* True if the character before this place is outside ASCII and not a letter of the Latin script, so that a word may begin here. */
static bool is_other_script(const char *text, size_t at) {
    int32_t c = at > 0 ? character_previous(text, &at) : -1;
    return c >= 0x80 && (!character_is_letter(c) || (c >= 0x0370 && (c < 0x1e00 || c > 0x1eff)));
}

static bool find_at(struct scan *scan, const struct wanted *wanted, struct notation_run *found) {
    size_t before = scan->begin;
    char first = scan->text[before];
    scan->former = before > 0 ? scan->text[before - 1] : ' ';
    scan->word = !ascii_word(scan->former) || is_other_script(scan->text, scan->begin);
    scan->chunk =
        before == 0 || is_one_of(scan->former, "([{\"'<>=,;|") || character_is_space(character_previous(scan->text, &before));
    for (size_t i = 0; i < sizeof notations / sizeof *notations; i++) {
        const struct notation *notation = &notations[i];
        bool here = notation->place == ANYWHERE || (notation->place == WORD    ? scan->word
                                                    : notation->place == CHUNK ? scan->chunk
                                                                               : scan->line && !is_one_of(first, " \t\n\r"));
        if (!here || !(notation->sets & wanted->sets) || !(wanted->roles >> notation->role & 1) ||
            (notation->first && !is_one_of(first, notation->first)))
            continue;
        size_t end = notation->end ? notation->end(scan) : skip_between(scan, notation->open, notation->close), next;
        if (end == scan->begin)
            continue;
        int32_t c = character_at(scan, scan->begin, &next);
        bool symbol = notation->end == as_picture && c > 0x80 && (c < 0x2190 || !u_hasBinaryProperty(c, UCHAR_EMOJI));
        *found = (struct notation_run){scan->begin, end, notation->role, symbol ? OPAQUE_SYMBOL : notation->kind, notation->name};
        return true;
    }
    return false;
}

/* Returns the end of the part that begins there: white space, or at most MAX_NAME bytes up to white space. *plain: no run begins in
 * it, since it consists of letters, without a capital after a lower-case letter, and of marks between sentences. */
static size_t part_end(const char *text, size_t length, size_t begin, bool *plain) {
    size_t most = length - begin < MAX_NAME ? length : begin + MAX_NAME, end = begin;
    size_t repeated = 0;
    char before = ' ';
    *plain = true;
    for (; end < most && !is_one_of(text[end], " \n\t\r"); before = text[end++]) {
        char c = text[end];
        repeated += c == before;
        bool letter = ascii_letter(c) && !(ascii_upper(c) && ascii_letter(before) && !ascii_upper(before));
        bool mark =
            is_one_of(c, ".,!?;'\"-()") && !(c == '.' && ascii_letter(before) && end + 1 < length && ascii_word(text[end + 1])) &&
            !(c == ';' && !ascii_letter(before)) && !(c == '(' && ascii_letter(before)) && !(c == '-' && before == '-') &&
            !(c == '.' && is_one_of(before, " .")) && !(c == '!' && before == ' ' && end + 1 < length && ascii_word(text[end + 1]));
        *plain = *plain && (letter || mark);
    }
    *plain = *plain && repeated < MAX_REPEATED && end - begin <= MAX_LETTERS;
    return end > begin ? end : begin + 1;
}

bool notation_next(unsigned sets, unsigned roles, const char *text, size_t length, size_t *at, struct notation_run *found) {
    const struct wanted wanted = {sets, roles};
    bool layout = (sets & NOTATION_LAYOUT) != 0, line = true;
    for (size_t i = *at; layout && i > 0 && line && text[i - 1] != '\n'; i--)
        line = is_one_of(text[i - 1], " \t\r");
    for (size_t begin = *at, end; sets != NOTATION_NONE && begin < length; begin = end) {
        bool plain, white = is_one_of(text[begin], " \n\t\r");
        end = part_end(text, length, begin, &plain);
        line = line || text[begin] == '\n';
        plain = layout ? plain && !line && !white : plain || white;
        for (struct scan scan = {.text = text, .length = length, .begin = begin, .line = line}; !plain && scan.begin < end;
             scan.begin++, scan.line = false)
            if (((unsigned char)text[scan.begin] & 0xc0) != 0x80 && find_at(&scan, &wanted, found)) {
                *at = found->end;
                return true;
            }
        line = line && white;
    }
    *at = length;
    return false;
}

bool opaque_next(unsigned sets, const char *text, size_t length, size_t *at, struct opaque_run *found) {
    enum { ROLES = 1 << NOTATION_OPAQUE | 1 << NOTATION_PAIR | 1 << NOTATION_PREFIX };
    struct notation_run run;
    if (!notation_next(sets & ~(unsigned)NOTATION_LAYOUT, ROLES, text, length, at, &run))
        return false;
    *found = (struct opaque_run){run.begin, run.end, run.kind, NULL};
    return true;
}

/* ---- lists of runs ---- */

int opaque_within(const struct opaque_runs *held, size_t begin, size_t end, struct arena *arena, struct opaque_runs *out,
                  struct error *err) {
    size_t first = 0; /* the first run that ends after begin */
    for (size_t last = held->count; first < last;) {
        size_t middle = first + (last - first) / 2;
        if (held->all[middle].end <= begin)
            first = middle + 1;
        else
            last = middle;
    }
    size_t last = first;
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
        bool words = last && last->kind == OPAQUE_WORD && next.kind == OPAQUE_WORD;
        for (size_t at = words ? last->end : 0; words && at < next.begin; at++) /* with only spaces between them */
            words = text[at] == ' ';
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
