/* This file has the notations of placeholders: those of programs, templates and messages, and
 * addresses. */
#include "model/text/notation.h"

/* True if text[at, end), which stands in braces, is an expression or an argument, and not words:
 * $x, -term, name, d, date, long, f(x), date:dd MMMM, name | upper, a == b. */
static bool is_argument(const struct scan *scan, size_t at, size_t end) {
    enum { LEAST_NAME = 4 };
    static const char types[] =
        " number date time spellout ordinal duration list plural select selectordinal choice ";
    while (at < end && scan->text[at] == ' ')
        at++;
    while (end > at && scan->text[end - 1] == ' ')
        end--;
    size_t name = scan_name(scan, at), after = name;
    if (name == at) /* signs that begin no sentence; a quotation mark is not among them */
        return end > at && ascii_among(scan->text[at], "$#%/!?:^&>*=@\\.<+~|-") && end > at + 1 &&
               scan->text[at + 1] != ' ';
    if (name >= end) /* "{ and }" are two braces */
        return end - at >= LEAST_NAME;
    while (after < end && scan->text[after] == ' ')
        after++;
    char sign = scan->text[after], next = after + 1 < end ? scan->text[after + 1] : ' ';
    if (sign == ',') {
        size_t type = after + 1;
        while (type < end && scan->text[type] == ' ')
            type++;
        size_t last = scan_name(scan, type);
        return last <= end && scan_is_among(scan->text + type, last - type, types);
    }
    if (after == name)
        return (ascii_among(sign, ":.([=") && next != ' ') || sign == '|';
    return sign == '|' ||
           (ascii_among(sign, "=!<>&+*/") && (next == ' ' || ascii_among(next, "=&"))) ||
           (sign == '?' && next == ' ' && memchr(scan->text + after, ':', end - after));
}

/* {name} {{ count }} ${name} {$x} { -term } {% if %} {d, date, long}: placeholders, expressions and
 * tags, in one line. */
static size_t in_braces(const struct scan *scan) {
    size_t open = scan->begin + (ascii_among(scan_peek(scan, scan->begin), "$%#@") ? 1 : 0);
    if (scan_peek(scan, open) != '{')
        return scan->begin;
    size_t end = scan_nested(scan, open), at = open + 1;
    if (end <= open + 2)
        return scan->begin;
    if (open > scan->begin || scan_peek(scan, at) == '{' || ascii_among(scan_peek(scan, at), "%#"))
        return end;
    while (at < end - 1 && (ascii_word(scan_peek(scan, at)) ||
                            ascii_among(scan_peek(scan, at), "_.:-+,$@#[]()!?<>=|/*%&'\"\\^~;{}")))
        at++;
    return at == end - 1 || is_argument(scan, open + 1, end - 1) ? end : scan->begin;
}

/* %name% %%name%% @@name@@ __name__ ##name##: a name between equal signs; a single sign only if it
 * is a percent sign. */
static size_t as_wrapped(const struct scan *scan) {
    char sign = scan_peek(scan, scan->begin);
    size_t begin = scan->begin, name = begin;
    while (scan_peek(scan, name) == sign && name < begin + 3)
        name++;
    size_t signs = name - begin, at = name;
    while (at < begin + MAX_NAME &&
           (is_code_word(scan_peek(scan, at)) ? !scan_has(scan, at, "__")
                                              : ascii_among(scan_peek(scan, at), ".-:")))
        at++;
    if (at < name + 2 || !ascii_letter(scan_peek(scan, name)) ||
        !is_code_word(scan->text[at - 1]) || scan->former == sign || signs > 2 ||
        (signs == 1 && sign != '%'))
        return begin;
    for (size_t i = 0; i < signs; i++, at++)
        if (scan_peek(scan, at) != sign)
            return begin;
    return at;
}

/* https://example.com/a?b=c, www.example.com */
static size_t as_address(const struct scan *scan) {
    size_t begin = scan->begin, first = begin, most = begin + MAX_SCHEME;
    if (scan_has(scan, begin, "www.")) {
        first = begin + strlen("www.");
    } else {
        while (first < most &&
               (ascii_letter(scan_peek(scan, first)) ||
                (first > begin && ascii_among(scan_peek(scan, first), "0123456789+.-"))))
            first++;
        if (first == begin || !scan_has(scan, first, "://"))
            return begin;
        first += strlen("://");
    }
    size_t at = first;
    for (size_t next = at; next < scan->length; at = next) {
        int32_t c = character_next(scan->text, scan->length, &next);
        if (character_is_space(c) ||
            (c < 0x80 ? c < ' ' || ascii_among((char)c, "<>\"`\\^|") : character_is_punctuation(c)))
            break;
    }
    at = scan_trim(scan, first, at);
    return at > first ? at : begin;
}

static bool is_local(char c) {
    return ascii_letter(c) || ascii_digit(c) || ascii_among(c, "._%+-");
}

/* jane.doe@example.com */
static size_t as_mail(const struct scan *scan) {
    size_t at = scan->begin;
    if (is_local(scan->former) || !scan->word)
        return scan->begin;
    while (is_local(scan_peek(scan, at)))
        at++;
    if (at == scan->begin || scan_peek(scan, at) != '@')
        return scan->begin;
    size_t domain = ++at;
    while (ascii_letter(scan_peek(scan, at)) || ascii_digit(scan_peek(scan, at)) ||
           ascii_among(scan_peek(scan, at), ".-"))
        at++;
    at = scan_trim(scan, domain, at);
    bool dotted = at > domain + 3 && memchr(scan->text + domain + 1, '.', at - domain - 3);
    return dotted ? at : scan->begin;
}

/* <% x %> <?x?> [% x %] *|x|* [[x]], in one line: what ERB, PHP, Perl and others evaluate. */
static size_t as_template(const struct scan *scan) {
    static const char marks[][2][3] = {
        {"<%", "%>"}, {"<?", "?>"}, {"[%", "%]"}, {"*|", "|*"}, {"[[", "]]"}};
    enum { MARK = 2 };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t first = scan->begin + MARK;
        if (!scan_has(scan, scan->begin, marks[i][0]))
            continue;
        size_t most = scan->begin + MAX_CODE + MARK < scan->length ? scan->begin + MAX_CODE + MARK
                                                                   : scan->length;
        const char *begin = scan->text + first,
                   *close = memmem(begin, most - first, marks[i][1], MARK);
        bool found = close && close > begin && !memchr(begin, '\n', (size_t)(close - begin));
        return found ? (size_t)(close - scan->text) + MARK : scan->begin;
    }
    return scan->begin;
}

/* A word that is longer than a sentence may be, such as encoded data and programs without white
 * space. No part of it is read in another notation. */
static size_t as_endless_word(const struct scan *scan) {
    size_t begin = scan->begin, before = begin, end = begin;
    if (before > 0 && character_joins(character_previous(scan->text, &before)))
        return begin;
    for (size_t next = end;
         next < scan->length && character_joins(character_next(scan->text, scan->length, &next));)
        end = next;
    return end - begin > MAX_WORD && as_address(scan) == begin ? end : begin;
}

#define FLAGS  "[-+#0',]*(I&[\\l\\d])?"
#define WIDTH  "[0-9*$]*([.][0-9*$]*)?"
#define SIZE   "[hlLqjztw]"
#define QUOTED "\"([^\"\\\\\n]|\\\\[^\n])*\"" /* a string, which may have brackets: {"{"} */
#define TYPE   "<[^>\n]*>"                    /* a macro of <inttypes.h>: %<PRIu64> */

/* Formulas with one backslash or two before their brackets. With one, words in the brackets are
 * text unless there is a sign of formulas. No other formula begins within one, so that time is
 * linear. */
#define FORMULA_WITHIN(open, close)                                                                \
    "\\\\" open "(&((!(\\\\(" open "|" close "))(\\\\[^\\l]|[^\\\\^_=+<>{}]))*"                    \
    "([\\^_=+<>{}]|\\\\\\l))(!(\\\\(" open "|" close "))(\\\\(.|\n)|[^\\\\]))+"                    \
    "|(\\l!\\l|[^\\l\\\\])+)\\\\" close
#define FORMULA_WITHIN_TWO(open, close)                                                            \
    "\\\\\\\\" open "(!(\\\\\\\\(" open "|" close "))(.|\n))+\\\\\\\\" close

const struct notation notation_placeholders[NOTATION_PLACEHOLDER_ROWS] = {
    /* formats that a message announces, and the variables of Apple's dictionaries (%#@days@); after
       a space as a flag, a word may follow, as in "50 % of it" */
    {"directive", NOTATION_PERCENT, OPAQUE_CODE, TOUCHING, "%", NULL,
     "%(%|(\\d+$)?(#@[^@ \n]+@|\\{[^}\n]*\\}|<PRI\\c+>|(\\([^)\n]*\\)|<[^>\n]*>)?(" FLAGS WIDTH
     "(" TYPE "|" SIZE "*[\\l@]|" SIZE "+)|[-+ #0',I]*" WIDTH "(" TYPE "|" SIZE
     "*[\\l@]![\\w']))))"},
    {"argument of Qt", NOTATION_QT, OPAQUE_CODE, TOUCHING, "%", NULL, "%(L*\\d+%?|[n%])"},
    {"argument in braces", NOTATION_BRACES, OPAQUE_CODE, TOUCHING, "{}", NULL,
     "(\\{\\{|\\}\\}|\\{([^{}\n]|\\{[^{}\n]{0,30}\\}){0,62}\\})"},
    {"variable of a shell", NOTATION_DOLLAR, OPAQUE_CODE, TOUCHING, "$", NULL,
     "$(\\{[^}\n]*\\}|\\c+)"},

    /* Markdown: OPAQUE_CODE stands for a word of its sentence */
    {"formula of Markdown", NOTATION_MARKDOWN, OPAQUE_CODE, ANYWHERE, "$", NULL,
     "\\p[^\\l\\d$]($`[^`]+`$|$$([^$`\\\\]|\\\\(.|\n))+$$![\\l\\d$]|"
     "$!([ \t\r\n$]|\\d(!( \\l\\l)[^$])* \\l\\l)"
     "([^$`\\\\ \t\r\n]|\\\\(.|\n)|[ \t\r\n]+![$ ])+$![\\l\\d$])"},
    {"formula of TeX", NOTATION_MARKDOWN, OPAQUE_CODE, ANYWHERE, "\\", NULL,
     "(" FORMULA_WITHIN("\\(", "\\)") "|" FORMULA_WITHIN("\\[", "]") ")"},
    {"formula of TeX, escaped", NOTATION_MARKDOWN, OPAQUE_CODE, ANYWHERE, "\\", NULL,
     "(" FORMULA_WITHIN_TWO("\\(", "\\)") "|" FORMULA_WITHIN_TWO("\\[", "]") ")"},
    {"shortcode of Markdown", NOTATION_MARKDOWN, OPAQUE_EMOJI, ANYWHERE, ":", NULL,
     "\\p[^\\l\\d:/]:[\\c+-]{1,48}:![\\l\\d:]"},
    {"tag of a site generator", NOTATION_MARKDOWN, OPAQUE_MARKUP, ANYWHERE, "{", NULL,
     "\\{(\\{(!(}}|\\{\\{).)*}}|%(!(%}|\\{%).)*%}|/(!(\\*/}|\\{/).)*\\*/}|[#:.][^{}\n]*})"},
    {"name of a block", NOTATION_MARKDOWN, OPAQUE_MARKUP, ANYWHERE, "^", NULL,
     "\\p[ \t\r\n]^[\\l\\d-]+&([\r\n]|\\z)"},
    {"page of a wiki", NOTATION_MARKDOWN, OPAQUE_MARKUP, ANYWHERE, "![", NULL,
     "\\!?\\[\\[![\\[\\]](!(]]|\\[\\[).)+]]"},
    {"comment of a wiki", NOTATION_MARKDOWN, OPAQUE_MARKUP, ANYWHERE, "%", NULL,
     "\\p[^\\d]%%!%(!(%%).)+%%"},
    {"begin of a highlight", NOTATION_MARKDOWN, OPAQUE_MARKUP, ANYWHERE, "=", NULL,
     "\\p[^=]==![= \t\r\n]&((!([ \t]{0,8}==).)+==)"},
    {"end of a highlight", NOTATION_MARKDOWN, OPAQUE_MARKUP, ANYWHERE, "=", NULL,
     "\\p[^= \t\r\n]==![=\\w]"},
    {"begin of a text with attributes", NOTATION_MARKDOWN, OPAQUE_MARKUP, ANYWHERE, "[", NULL,
     "\\[&([^\\[\\]\n]+]\\{[.#:][^{}\n]*})"},
    {"end of a text with attributes", NOTATION_MARKDOWN, OPAQUE_MARKUP, ANYWHERE, "]", NULL,
     "]\\{[.#:][^{}\n]*}"},

    /* strings that name other strings or values of a program */
    {"linked message", NOTATION_REFERENCES, OPAQUE_CODE, ANYWHERE, "@", NULL,
     "\\p[^\\l\\d]@&[:.][\\l\\d_.@-]*:(\\([\\l\\d_.-]+\\)|[\\l\\d_.-]+~)"},
    {"name between dollars", NOTATION_REFERENCES, OPAQUE_CODE, ANYWHERE, "$", NULL,
     "$[\\l\\d_.@-]+$!\\l"},
    {"argument after a dollar", NOTATION_DIGIT, OPAQUE_CODE, ANYWHERE, "$", NULL,
     "\\p[^\\w$]$[1-9]!(\\w|%|[.,]\\d| [mb]illion)"},
    {"name after a colon", NOTATION_REFERENCES, OPAQUE_CODE, ANYWHERE, ":", NULL,
     "\\p[ \t(\"'\\[]:\\l[\\l\\d_]*"},

    {"endless word", NOTATION_ALL, OPAQUE_CODE, ANYWHERE, NULL, as_endless_word, NULL},
    {"quoted brace of a message", NOTATION_PLACEHOLDERS, OPAQUE_CODE, ANYWHERE, "'", NULL,
     "'[{}]'(\\c+'[{}]')?"},
    {"braces", NOTATION_PLACEHOLDERS, OPAQUE_CODE, TOUCHING, "{$%#@", in_braces, NULL},
    {"printf", NOTATION_PLACEHOLDERS, OPAQUE_CODE, TOUCHING, "%", NULL,
     "%(%|\\p[^\\d](\\d+$|\\([\\w.-]+\\)|<[\\w.-]+>)?" FLAGS WIDTH SIZE
     "*[diouxXeEfFgGaAcCsSpn@r](\\b|\\a\\j))"},
    {"block", NOTATION_BLOCKS, OPAQUE_CODE, TOUCHING, "{", NULL,
     "\\{(" QUOTED "|[^{}]|\\{(" QUOTED "|[^{}]|\\{(" QUOTED "|[^{}])*\\})*\\})*\\}"},
    {"nesting of i18next", NOTATION_PLACEHOLDERS | NOTATION_REFERENCES, OPAQUE_CODE, ANYWHERE, "$",
     NULL, "$t\\([^)\n]+\\)"},
    {"name between signs", NOTATION_PLACEHOLDERS, OPAQUE_CODE, WORD, "%_@#", as_wrapped, NULL},
    {"template", NOTATION_PLACEHOLDERS, OPAQUE_CODE, ANYWHERE, "<[*", as_template, NULL},
    {"hidden term", NOTATION_PLACEHOLDERS, OPAQUE_CODE, ANYWHERE, "[", NULL, "\\[\\u+\\d+\\u*]"},
    {"address", NOTATION_PLACEHOLDERS, OPAQUE_URL, WORD, NULL, as_address, NULL},
    {"e-mail", NOTATION_PLACEHOLDERS, OPAQUE_EMAIL, ANYWHERE, NULL, as_mail, NULL},
};
