/* This file decides which strings of a data file are language, and which are for programs. The rule
 * goes from certain to doubtful signs: first the whole string (markup without text, a regular
 * expression, CSS, a command), then its words. A string is language if one of its words is, unless
 * programs use such strings in its place. */
#include "model/base/utf8.h"
#include "server/documents/document.h"

enum {
    MOST_LETTERS = 45, /* of a word; the longest German words have about 40 */
    NAME_BYTES = 32    /* of a member's name that is looked up */
};

static const char masked = '1'; /* replaces a placeholder, which is like a number */

#define LIST(name, words) static const char name[] = words;
#include "server/documents/prose.def"

/* ---- bytes ---- */

static bool is_lower(char c) {
    return ascii_letter(c) && !ascii_upper(c);
}

static bool has(struct bytes text, const char *what) {
    return memmem(text.start, text.length, what, strlen(what)) != NULL;
}
static bool begins(struct bytes text, const char *what) {
    return bytes_begin(text.start, text.start + text.length, what);
}
static bool ends(struct bytes text, const char *what) {
    size_t length = strlen(what);
    return text.length >= length && memcmp(text.start + text.length - length, what, length) == 0;
}
static bool ends_in(struct bytes text, const char *set) {
    return text.length > 0 && ascii_among(text.start[text.length - 1], set);
}

static bool all_in(struct bytes text, bool (*is)(char)) {
    for (size_t i = 0; i < text.length; i++)
        if (!is(text.start[i]))
            return false;
    return text.length > 0;
}
static bool any_in(struct bytes text, bool (*is)(char)) {
    for (size_t i = 0; i < text.length; i++)
        if (is(text.start[i]))
            return true;
    return false;
}

static struct bytes trimmed(struct bytes text) {
    while (text.length > 0 && byte_is_space(*text.start))
        text = bytes_between(text.start + 1, text.start + text.length);
    while (text.length > 0 && byte_is_space(text.start[text.length - 1]))
        text.length--;
    return text;
}

/* Takes the next part of *rest, up to one of these characters. Returns false at the end. */
static bool next_part(struct bytes *rest, const char *separators, struct bytes *part) {
    if (!rest->start)
        return false;
    const char *at = rest->start, *end = at + rest->length;
    while (at < end && !ascii_among(*at, separators))
        at++;
    *part = bytes_between(rest->start, at);
    *rest = at < end ? bytes_between(at + 1, end) : (struct bytes){0};
    return true;
}

static bool next_word(struct bytes *rest, struct bytes *word) {
    while (next_part(rest, " \t\n\r\f\v", word))
        if (word->length > 0)
            return true;
    return false;
}

/* ---- parts of a string that are not language ---- */

/* Replaces each tag and character reference by a blank, and each placeholder by a digit. */
static struct bytes mask(struct bytes text, char *out) {
    struct mark_scan scan = {.text = text.start, .length = text.length, .quoted = true};
    struct mark mark;
    struct opaque_run run = {0};
    bool marks = marks_next(&scan, &mark), runs = true;
    char *to = out;
    for (size_t at = 0, next = 0; at < text.length;) {
        while (marks && mark.end <= at)
            marks = marks_next(&scan, &mark);
        while (runs && run.end <= at)
            runs = opaque_next(NOTATION_PLACEHOLDERS | NOTATION_BLOCKS, text.start, text.length,
                               &next, &run);
        bool marked = marks && mark.begin <= at, held = runs && run.begin <= at;
        *to++ = marked ? ' ' : held ? masked : text.start[at];
        at = marked ? mark.end : held ? run.end : at + 1;
    }
    return bytes_between(out, to);
}

/* True if there is a letter of any alphabet. */
static bool has_letter(struct bytes text) {
    for (size_t at = 0; at < text.length;) {
        int32_t c = character_next(text.start, text.length, &at);
        if (character_is_letter(c) && character_digit(c) < 0)
            return true;
    }
    return false;
}

static bool is_other(char c) {
    return (unsigned char)c >= 0x80;
}

/* ---- notations of one word ---- */

enum word {
    WORD_PROGRAM,
    WORD_DOUBTFUL,
    WORD_LOWER,
    WORD_UPPER,
    WORD_OTHER /* "Save", or of another alphabet */
};

static bool is_vowel(char c) {
    return ascii_among(c, "aeiouyAEIOUY");
}

static enum word judge_letters(struct bytes word) {
    bool lower_then_upper = false, other = false;
    size_t uppers = 0;
    for (size_t i = 0; i < word.length; i++) {
        bool upper = ascii_upper(word.start[i]);
        uppers += upper;
        lower_then_upper |= i > 0 && is_lower(word.start[i - 1]) && upper;
        other |= i > 0 && upper;
    }
    bool plural = uppers > 1 && uppers + 1 == word.length && ends(word, "s"); /* PDFs */
    if (lower_then_upper || word.length > MOST_LETTERS ||
        (other && uppers < word.length && !plural))
        return WORD_DOUBTFUL;
    if (bytes_among(word, literals))
        return WORD_PROGRAM;
    if (uppers == word.length && word.length > 1)
        return bytes_among(word, zones) || bytes_among(word, currencies) ? WORD_DOUBTFUL
                                                                         : WORD_UPPER;
    if (uppers > 0)
        return WORD_OTHER;
    return bytes_among(word, languages) || (word.length > 2 && !any_in(word, is_vowel))
               ? WORD_DOUBTFUL
               : WORD_LOWER;
}

/* "text-center", "en-US" and "Content-Type" are doubtful; "Wi-Fi" and "e-mail" are words. */
static enum word judge_hyphens(struct bytes word) {
    struct bytes rest = word, part, first = {0};
    size_t lower = 0, upper = 0, parts = 0;
    while (next_part(&rest, "-", &part)) {
        if (part.length == 0)
            return WORD_PROGRAM; /* --flag */
        if (part.length > MOST_LETTERS && !all_in(part, ascii_upper))
            return WORD_DOUBTFUL;
        first = parts++ == 0 ? part : first;
        lower += all_in(part, is_lower);
        upper += all_in(part, ascii_upper);
    }
    if (lower == parts)
        return bytes_among(first, prefixes) ? WORD_LOWER : WORD_DOUBTFUL;
    if (upper == parts)
        return WORD_UPPER;
    bool code = all_in(first, is_lower) && first.length >= 2 && first.length <= 3;
    if (code && lower == 1)
        return WORD_DOUBTFUL; /* en-US, zh-Hans, zh-Hant-TW */
    return bytes_among(first, "Content X Accept Access Cache If Sec Set Proxy") && lower == 0
               ? WORD_DOUBTFUL
               : WORD_OTHER;
}

/* "foo.bar.baz", "index.js" and "example.com" are not words; "p.m" and "U.S" are. */
static enum word judge_dots(struct bytes word) {
    struct bytes rest = word, part = {0};
    bool initials = true;
    while (next_part(&rest, ".", &part))
        initials &= part.length == 1;
    if (initials)
        return WORD_OTHER;
    return opaque_at(NOTATION_CODES, word.start, word.length, 0) == word.length ? WORD_PROGRAM
                                                                                : WORD_DOUBTFUL;
}

/* "text/html", "Europe/Paris" and "src/index" are not words; "Yes/No" and "and/or" are. */
static enum word judge_slashes(struct bytes word) {
    struct bytes rest = word, part, first = {0};
    size_t lower = 0, parts = 0;
    while (next_part(&rest, "/", &part)) {
        if (part.length == 0 || !all_in(part, ascii_letter))
            return WORD_PROGRAM;
        first = parts++ == 0 ? part : first;
        lower += !ascii_upper(*part.start);
    }
    if (bytes_among(first, regions))
        return WORD_PROGRAM;
    if (lower == 0)
        return WORD_OTHER;
    return bytes_among(word, words_with_slash) ? WORD_LOWER : WORD_DOUBTFUL;
}

/* Forms of one word with bars between them are words, as vue-i18n has them: "car|cars". */
static enum word judge_bars(struct bytes word) {
    struct bytes rest = word, part, first = {0};
    for (size_t parts = 0; next_part(&rest, "|", &part); parts++) {
        size_t stem = first.length > 3 ? first.length - 1 : first.length;
        if (!all_in(part, ascii_letter) ||
            (parts > 0 &&
             (stem < 3 || part.length < stem || memcmp(part.start, first.start, stem) != 0)))
            return WORD_PROGRAM;
        first = parts == 0 ? part : first;
    }
    return WORD_LOWER;
}

/* True for "item(s)", as in labels. */
static bool has_optional_end(struct bytes word) {
    const char *open = memchr(word.start, '(', word.length), *end = word.start + word.length;
    if (!open || open == word.start || end - open < 2)
        return false;
    struct bytes after = bytes_between(open + 1, end[-1] == ')' ? end - 1 : end);
    return all_in(bytes_between(word.start, open), ascii_letter) &&
           bytes_among(after, "s es e n en x er r in");
}

static enum word judge_ascii(struct bytes word) {
    bool digit = false, letter = false, sign = false;
    char other = '\0'; /* ' ': several kinds */
    size_t digits = 0;
    for (size_t i = 0; i < word.length; i++) {
        char c = word.start[i];
        digit |= ascii_digit(c);
        letter |= ascii_letter(c);
        if (ascii_among(c, "\\@=#$^<>{}~`%[]\"*:?!"))
            sign = true;
        else if (!ascii_letter(c) && !ascii_digit(c) && (!other || c != '\''))
            other = other && other != c && other != '\'' ? ' ' : c;
    }
    if (!letter || sign)
        return WORD_PROGRAM;
    if (other == '(' || other == ')')
        return has_optional_end(word) ? WORD_OTHER : WORD_PROGRAM;
    while (digits < word.length && ascii_digit(word.start[digits]))
        digits++;
    if (digits > 0 && bytes_among(bytes_between(word.start + digits, word.start + word.length),
                                  "st nd rd th er re e"))
        return WORD_OTHER;
    if (digit)
        return other && other != '\'' ? WORD_PROGRAM : WORD_DOUBTFUL;
    switch (other) {
    case '\0':
        return judge_letters(word);
    case '\'':
        return is_lower(*word.start) ? WORD_LOWER : WORD_OTHER;
    case '-':
        return judge_hyphens(word);
    case '.':
        return judge_dots(word);
    case '/':
        return judge_slashes(word);
    case '|':
        return judge_bars(word);
    case '&':
        return any_in(word, is_vowel) && word.length > 5 ? WORD_PROGRAM : WORD_OTHER; /* R&D */
    case ',':
        return ascii_upper(*word.start) ? WORD_OTHER : WORD_DOUBTFUL;
    case '_':
    case '+':
    case ';':
        return WORD_DOUBTFUL;
    default:
        return memchr(word.start, '_', word.length) || !memchr(word.start, '-', word.length) ||
                       memchr(word.start, '/', word.length) || memchr(word.start, '.', word.length)
                   ? WORD_PROGRAM
                   : WORD_OTHER;
    }
}

static enum word judge_word(struct bytes raw) {
    static const char *const notations[] = {"^", ".", ":", "-", "/", "#", "@", "~", "\\"};
    static const char *const paths[] = {"/", "./", "../", "~/"};

    /* Remove the punctuation around the word, but not the "()" of a call, nor a dot, colon, hyphen
     * or slash in front, which is a notation. */
    const char *begin = raw.start, *end = begin + raw.length;
    bool call = raw.length > 2 && ends(raw, "()");
    while (begin < end && ascii_among(*begin, "\"'([*"))
        begin++;
    while (end - begin > 2 && begin[0] == '.' && begin[1] == '.')
        for (; begin < end && *begin == '.'; begin++)
            ;
    while (!call && end > begin && ascii_among(end[-1], "\"').,:;!?]*"))
        end--;
    for (size_t next = 0; begin < end && (unsigned char)*begin >= 0x80; begin += next, next = 0)
        if (!character_is_punctuation(character_next(begin, (size_t)(end - begin), &next)))
            break;
    for (size_t length = (size_t)(end - begin), before = length;
         length > 0 && (unsigned char)begin[length - 1] >= 0x80;
         end = begin + before, length = before)
        if (!character_is_punctuation(character_previous(begin, &before)))
            break;
    struct bytes word = bytes_between(begin, end);
    if (!has_letter(word) || ends(raw, ":*"))
        return WORD_PROGRAM;
    bool ascii = !any_in(word, is_other);
    for (size_t i = 0; ascii && i < sizeof notations / sizeof *notations; i++)
        if (begins(word, notations[i]))
            return WORD_PROGRAM;
    if (ascii)
        return judge_ascii(word);

    /* A word with letters beyond ASCII may be a path, an address or the name of a file. */
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (begins(word, paths[i]))
            return WORD_PROGRAM;
    if (has(word, "://") || has(word, "\\") || has(word, "@") || has(word, "_"))
        return WORD_PROGRAM;
    const char *dot = memrchr(begin, '.', word.length);
    bool file = dot && dot > begin && end - dot > 1 &&
                judge_dots(bytes_between(dot - 1, end)) == WORD_PROGRAM;
    return file ? WORD_PROGRAM : WORD_OTHER;
}

/* ---- notations of a whole string ---- */

/* True for a regular expression, code, or a path of Windows. */
static bool is_code(struct bytes text) {
    static const char *const marks[] = {"\\d", "\\w", "\\s", "\\b", "\\.",  "\\/",  "\\(",
                                        "(?:", "(?=", "(?!", "(?<", "[a-z", "[A-Z", "[0-9",
                                        ".*",  ".+)", "=>",  "===", "!==",  "&&",   "||",
                                        "();", "){",  "+=",  "\":"};
    bool braces = (begins(text, "{") && ends(text, "}")) || (begins(text, "[") && ends(text, "]"));
    bool path = text.length > 2 && ascii_letter(*text.start) &&
                (begins(bytes_between(text.start + 1, text.start + text.length), ":\\"));
    if (begins(text, "^") || begins(text, "\\\\") || path ||
        (braces && memchr(text.start, '"', text.length)))
        return true;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (has(text, marks[i]))
            return true;
    return text.length > 3 && begins(text, "/") && memchr(text.start + 1, '/', text.length - 1) &&
           !has(text, " ");
}

/* True for "margin: 0 auto; color: red": all properties are known, or half of them if there is a
 * semicolon. */
static bool is_declarations(struct bytes text) {
    struct bytes rest = text, part;
    size_t count = 0, properties = 0;
    while (next_part(&rest, ";", &part)) {
        part = trimmed(part);
        if (part.length == 0)
            continue;
        const char *colon = memchr(part.start, ':', part.length);
        struct bytes name =
            colon ? trimmed(bytes_between(part.start, colon)) : (struct bytes){part.start, 0};
        for (size_t i = 0; i < name.length; i++)
            if (!is_lower(name.start[i]) && name.start[i] != '-')
                return false;
        if (name.length == 0 || colon + 1 == part.start + part.length)
            return false;
        count++;
        properties += bytes_among(name, css_properties);
    }
    return count > 0 && properties * 2 >= count &&
           (properties == count || memchr(text.start, ';', text.length));
}

/* True for a list of fonts, a length or border, "a=b, c=d", a media query, or the name of a
 * browser. */
static bool is_style(struct bytes text) {
    struct bytes rest = text, word;
    size_t words = 0, pairs = 0, measures = 0, styled = 0, colours = 0;
    if (memchr(text.start, ',', text.length) &&
        (ends(text, "sans-serif") || ends(text, "monospace") || ends(text, " serif")))
        return true;
    if (has(text, "(min-width:") || has(text, "(max-width:") || has(text, "(prefers-") ||
        begins(text, "Mozilla/"))
        return true;
    for (bool number = false; next_word(&rest, &word); words++) {
        const char *equals = memchr(word.start, '=', word.length);
        bool is_unit = number && bytes_among(word, units);
        size_t digits = 0;
        while (digits < word.length &&
               (ascii_digit(word.start[digits]) || ascii_among(word.start[digits], "+-.,")))
            digits++;
        struct bytes unit = bytes_between(word.start + digits, word.start + word.length);
        number = digits > 0 && ascii_digit(word.start[digits - 1]) &&
                 (unit.length == 0 || bytes_among(unit, units));
        pairs += equals && equals > word.start;
        measures += number || is_unit;
        colours += *word.start == '#';
        styled += number || *word.start == '#' || bytes_among(word, keywords);
    }
    return pairs == words || measures == words || (styled == words && measures + colours > 0);
}

/* True for "YYYY-MM-DD" and "h:mm a": groups of repeated letters of dates. */
static bool is_date_pattern(struct bytes text) {
    size_t groups = 0, longest = 0;
    bool separated = false, day_or_hour = false;
    for (size_t at = 0; at < text.length;) {
        char c = text.start[at];
        size_t begin = at;
        if (!ascii_letter(c)) {
            if (!ascii_among(c, " -/.:,'[]TZ"))
                return false;
            separated |= groups > 0;
            at++;
            continue;
        }
        while (at < text.length && text.start[at] == c)
            at++;
        if (!ascii_among(c, "yYMDdHhmsSaAEeQwWzZXxLTGuo") || at - begin > 6)
            return false;
        bool glued = at < text.length && ascii_letter(text.start[at]) &&
                     !ascii_among(text.start[at], "oT") && at - begin < 2;
        if (glued)
            return false;
        groups++;
        longest = at - begin > longest ? at - begin : longest;
        day_or_hour |= ascii_among(c, "yYMDdHh");
    }
    return groups > 1 && longest > 1 && day_or_hour && (separated || longest == 4);
}

/* True for a command line, or a statement of SQL. */
static bool is_command(struct bytes text) {
    struct bytes rest = text, first, word;
    if (opaque_at(NOTATION_SQL, text.start, text.length, 0) > 0)
        return true;
    if (!next_word(&rest, &first) || !is_lower(*first.start) || ends_in(text, ".!?"))
        return ends_in(text, ".") && bytes_among(first, programs);
    bool flags = false, notation = false;
    while (next_word(&rest, &word)) {
        flags |= begins(word, "--")
                     ? word.length > 2 && ascii_letter(word.start[2])
                     : word.length == 2 && *word.start == '-' && ascii_letter(word.start[1]);
        notation |= has_letter(word) && judge_word(word) <= WORD_DOUBTFUL;
    }
    return bytes_among(first, programs) || flags ||
           (notation && bytes_among(first, other_programs)) ||
           (first.length < text.length && begins(first, "./"));
}

/* True for class names of style sheets: "btn btn-primary", "md:flex p-4". */
static bool is_classes(struct bytes text) {
    struct bytes rest = text, word;
    size_t words = 0, marked = 0;
    while (next_word(&rest, &word)) {
        size_t end = 0;
        for (size_t i = 0; i < word.length; i++)
            if (!is_lower(word.start[i]) && !ascii_digit(word.start[i]) &&
                !ascii_among(word.start[i], "-_:/[].%#!"))
                return false;
        while (end < word.length && is_lower(word.start[end]))
            end++;
        bool whole = end == word.length;
        if (!bytes_among((struct bytes){word.start, end}, whole ? classes : class_prefixes))
            return false;
        words++;
        marked += !whole;
    }
    return words > 0 && marked > 0;
}

/* Notations of whole strings. */
#define DAY   "(Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
#define MONTH "(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
static const char *const expressions[] = {
    /* rgba(0, 0, 0, .5), var(--x), print("a"), but not item(s) */
    "!(\\l+\\((es|er|en|ex|in|e|s|n|x|r)\\)\\z)[\\l\\d._-]+\\((!(\\);?\\z)(.|\n))*\\);?\\z",
    /* the path of a drawing: M10 10 L 90 30 Z */
    "[Mm]&(([^\\d]*\\d+){4})[MmZzLlHhVvCcSsQqTtAae+., \\d-]+\\z",
    /* Mon, 01 May 2024 10:00:00 GMT */
    "&(((" DAY "|" MONTH
    "|[A-Z]{3,4}),?&( |\\z)|[\\d+-][^ ]*| +)+\\z)&((!(\\d\\d:\\d\\d).)*\\d)(!" MONTH ".)*" MONTH,
    /* Jane Doe <jane@example.org> (https://example.org) */
    "([^ <(][^ ]* +){0,4}&([^@]*@)(<[^ >@]*@[^ >]*>|\\(http[^ )]*\\)| +)+\\z"};

/* ---- places ---- */

/* Returns the name in lower case without "-", "_", "$" and "@"; length 0 if it is longer than all
 * that are looked up. */
static struct bytes plain_name(struct bytes name, char plain[NAME_BYTES]) {
    size_t length = 0;
    for (size_t i = 0; i < name.length; i++) {
        if (ascii_among(name.start[i], "-_$@"))
            continue;
        if (length == NAME_BYTES)
            return (struct bytes){plain, 0};
        plain[length++] =
            ascii_upper(name.start[i]) ? (char)(name.start[i] - 'A' + 'a') : name.start[i];
    }
    return (struct bytes){plain, length};
}

static bool is_place(const struct prose_place *place, const char *names) {
    char name[NAME_BYTES], parent[NAME_BYTES];
    struct bytes own = plain_name(place->name, name), above = plain_name(place->parent, parent);
    return (own.length > 0 && bytes_among(own, names)) ||
           (above.length > 0 && bytes_among(above, names));
}

/* ---- the whole rule ---- */

enum prose prose_judge(struct bytes text, const struct prose_place *place, char *scratch) {
    static const struct {
        bool (*is)(struct bytes text);
        bool signs; /* only text with signs can be one */
        enum prose means;
    } notations[] = {{is_date_pattern, false, PROSE_PROGRAM}, {is_code, true, PROSE_PROGRAM},
                     {is_declarations, true, PROSE_PROGRAM},  {is_style, true, PROSE_PROGRAM},
                     {is_command, false, PROSE_DOUBTFUL},     {is_classes, true, PROSE_DOUBTFUL}};
    text = trimmed(text);
    struct bytes plain = trimmed(mask(text, scratch));
    if (!has_letter(plain))
        return PROSE_PROGRAM;
    if (begins(place->name, "@") ||
        begins(place->parent, "@")) /* descriptions of a value in ARB and JSON-LD */
        return PROSE_DOUBTFUL;
    bool signs = false;
    for (size_t i = 0; i < plain.length && !signs; i++)
        signs = (unsigned char)plain.start[i] < 0x80 && !ascii_letter(plain.start[i]) &&
                !byte_is_space(plain.start[i]);
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++)
        if (opaque_match(expressions[i], plain.start, plain.length) > 0 ||
            opaque_match(expressions[i], text.start, text.length) > 0)
            return PROSE_PROGRAM;
    for (size_t i = 0; i < sizeof notations / sizeof *notations; i++)
        if ((signs || !notations[i].signs) && notations[i].is(plain))
            return notations[i].means;

    struct bytes rest = plain, word;
    size_t words = 0, language = 0, doubtful = 0, capitals = 0;
    bool capital = false, lower = false;
    while (next_word(&rest, &word)) {
        enum word kind = judge_word(word);
        words++;
        language += kind > WORD_DOUBTFUL;
        doubtful += kind == WORD_DOUBTFUL;
        capital |= kind == WORD_OTHER;
        capitals += kind >= WORD_UPPER;
        lower |= kind == WORD_LOWER;
    }
    if (language == 0)
        return doubtful > 0 ? PROSE_DOUBTFUL : PROSE_PROGRAM;
    bool names_itself = bytes_same_any_case(place->name, plain), whole = ends_in(plain, ".!?:");
    bool words_place = is_place(place, names_of_words), code_place = is_place(place, names_of_code);
    if ((words == 1 && !capital && !names_itself && (words_place || code_place) && !whole) ||
        (words > 1 && words <= 4 && capitals == words &&
         is_place(place, "author authors contributors maintainers")) ||
        (words > 1 && (lower || !capital) && !ascii_upper(*plain.start) &&
         !any_in(plain, is_other) && !whole && code_place))
        return PROSE_DOUBTFUL;
    return PROSE_LANGUAGE;
}
