/* This file has the notations of codes, signs and pictures, and of lines that are code. */
#include "model/text/notation.h"
#include <unicode/uchar.h>

/* ---- emoji and symbols ---- */

/* Signs that a reader sees and no language inflects: emoji, category So, and numbers such as ½, ²
 * and U+2167, but no digits. */
static bool is_pictured(int32_t c) {
    return c >= 0x80 && (u_hasBinaryProperty(c, UCHAR_EXTENDED_PICTOGRAPHIC) ||
                         u_charType(c) == U_OTHER_SYMBOL || u_charType(c) == U_OTHER_NUMBER ||
                         u_charType(c) == U_LETTER_NUMBER);
}

/* Emoji and symbols side by side, and a whole number that touches the last one: №5, ©2024. The
 * parts of an emoji that follow it are variation selectors, skins, tags, keycaps, and emoji that
 * are joined to it. */
static size_t as_picture(const struct scan *scan) {
    size_t at = scan->begin, next, after;
    for (;;) {
        int32_t c = scan_character(scan, at, &next);
        bool keycap = c >= 0 && c < 0x80 && ascii_among((char)c, "0123456789#*") &&
                      (scan_character(scan, next, &after) == 0x20e3 ||
                       (scan_character(scan, next, &after) == 0xfe0f &&
                        scan_character(scan, after, &after) == 0x20e3));
        bool flag = c >= 0x1f1e6 && c <= 0x1f1ff;
        if (!keycap && !flag && !is_pictured(c))
            break;
        for (bool part = true; part;) {
            at = next;
            c = scan_character(scan, at, &next);
            part = c == 0xfe0e || c == 0xfe0f || c == 0x20e3 || (c >= 0x1f3fb && c <= 0x1f3ff) ||
                   (c >= 0xe0020 && c <= 0xe007f) ||
                   (c == 0x200d && is_pictured(scan_character(scan, next, &next)));
        }
    }
    size_t end = scan_digits(scan, at);
    bool part = ascii_word(scan_peek(scan, end)) ||
                (ascii_among(scan_peek(scan, end), ".,:") && ascii_digit(scan_peek(scan, end + 1)));
    return at == scan->begin || part ? at : end;
}

/* ---- codes: strings for programs, numbers of documents and other notations ---- */

/* Returns the end of what follows a name in code: .member, ->member, ::member, [key], (arguments).
 */
static size_t skip_members(const struct scan *scan, size_t at) {
    for (size_t most = scan->begin + MAX_CODE; at < most;) {
        size_t sign = scan_has(scan, at, "->") || scan_has(scan, at, "::") ? 2
                      : scan_peek(scan, at) == '.'                         ? 1
                                                                           : 0,
               after = at + sign;
        char close = sign > 0                     ? '\0'
                     : scan_peek(scan, at) == '[' ? ']'
                     : scan_peek(scan, at) == '(' ? ')'
                                                  : '\0';
        if (sign > 0 && (ascii_letter(scan_peek(scan, after)) || scan_peek(scan, after) == '_')) {
            at = scan_name(scan, after);
        } else if (close) {
            while (after < most && scan_peek(scan, after) != close &&
                   !ascii_among(scan_peek(scan, after), " \n"))
                after++;
            if (scan_peek(scan, after) != close)
                break;
            at = after + 1;
        } else {
            break;
        }
    }
    return at;
}

/* $name $HOME $user->name, but no currency: US$, $US 5, 5 $CAN. */
static size_t as_variable(const struct scan *scan) {
    size_t begin = scan->begin, at = begin + 1, end = scan_name(scan, at);
    bool capitals = true;
    if (end == at || ascii_digit(scan_peek(scan, at)) || (unsigned char)scan_peek(scan, at) >= 0x80)
        return begin;
    for (size_t i = at; i < end; i++)
        capitals = capitals && !(scan->text[i] >= 'a' && scan->text[i] <= 'z');
    bool amount = scan_follows_digit(scan) ||
                  ascii_digit(scan_peek(scan, end + (scan_peek(scan, end) == ' ')));
    if (capitals && (end < at + 3 || (amount && end < at + 4)))
        return begin;
    return skip_members(scan, end);
}

/* [b] [/b] [url=x] [gallery id="1"]: tags in square brackets, which have an end, a value or an end
 * tag nearby. */
static size_t as_tag(const struct scan *scan) {
    size_t begin = scan->begin, name = begin + 1 + (scan_peek(scan, begin + 1) == '/'), end = name;
    while (end < begin + MAX_NAME &&
           (ascii_letter(scan_peek(scan, end)) || ascii_among(scan_peek(scan, end), "_-*")))
        end++;
    if (end == name)
        return begin;
    if (name > begin + 1)
        return scan_peek(scan, end) == ']' ? end + 1 : begin;
    size_t value = scan_peek(scan, end) == ' ' ? scan_name(scan, end + 1) : end,
           after = scan_nested(scan, begin);
    if (scan_peek(scan, value) == '=' && after > begin)
        return after;
    if (scan_peek(scan, end) != ']')
        return begin;
    char close[MAX_NAME + 4] = "[/";
    memcpy(close + 2, scan->text + name, end + 1 - name);
    size_t left = scan->length - end < 2 * MAX_CODE ? scan->length - end : 2 * MAX_CODE;
    return memmem(scan->text + end, left, close, end + 3 - name) ? end + 1 : begin;
}

/* Skips letters, digits, underscores and these characters, up to MAX_CODE bytes after the
 * beginning. */
static size_t skip_code(const struct scan *scan, size_t at, const char *others) {
    while (at < scan->begin + MAX_CODE &&
           (is_code_word(scan_peek(scan, at)) || ascii_among(scan_peek(scan, at), others)))
        at++;
    return at;
}

static size_t code_end(const struct scan *scan, size_t at) {
    return skip_code(scan, at, "");
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

/* Groups of digits. */
struct digits {
    size_t groups, total, first; /* first: digits of the first group */
    bool thousands; /* at most three digits, then groups of three; all separators are spaces or all
                       full stops */
    bool dotted, slashed, dashed;
};

/* +33 (0)6 12 34, 2024-05-01, 1.2.3, 978-3-16-148410-X: groups of digits, some in brackets, with at
 * most one separator between. */
static size_t skip_groups(const struct scan *scan, size_t at, struct digits *digits) {
    *digits = (struct digits){.thousands = true};
    size_t end = at, most = at + 64 < scan->length ? at + 64 : scan->length;
    char separator = '\0', former = '\0';
    for (;;) {
        size_t opened = scan_peek(scan, at) == '(', after = scan_digits(scan, at + opened),
               size = after - at - opened;
        bool last = size == 0 && digits->groups > 1 && scan_peek(scan, at) == 'X' &&
                    scan_ends_word(scan, at + 1) && separator == '-';
        if (last)
            return at + 1;
        if (size == 0 || after > most)
            return end;
        if (opened && scan_peek(scan, after) != ')')
            return end;
        digits->first = digits->groups == 0 ? size : digits->first;
        digits->thousands =
            digits->thousands && !opened && (digits->groups == 0 ? size <= 3 : size == 3);
        if (digits->groups > 0) { /* a separator precedes this group */
            digits->thousands = digits->thousands && (former == '\0' || former == separator) &&
                                ascii_among(separator, " .");
            digits->dotted |= separator == '.';
            digits->slashed |= separator == '/';
            digits->dashed |= separator == '-';
            former = separator;
        }
        digits->groups++;
        digits->total += size;
        end = at = after + opened;
        char c = scan_peek(scan, at);
        if (!ascii_among(c, opened ? " -./0123456789" : " -./"))
            return end;
        separator = c;
        at += !ascii_digit(c);
    }
}

static size_t as_digits(const struct scan *scan) {
    size_t begin = scan->begin;
    bool plus = scan_peek(scan, begin) == '+';
    if (ascii_word(scan->former) ||
        (ascii_among(scan->former, ".,") && begin > 1 && ascii_digit(scan->text[begin - 2])))
        return begin;
    if (!ascii_digit(scan_peek(scan, begin + plus)) &&
        !(scan_peek(scan, begin + plus) == '(' && ascii_digit(scan_peek(scan, begin + plus + 1))))
        return begin;
    struct digits digits;
    size_t end = skip_groups(scan, begin + plus, &digits);
    if (end == begin + plus || ascii_letter(scan_peek(scan, end)) || scan_peek(scan, end) == '_')
        return begin;
    if (ascii_among(scan_peek(scan, end), ",.:") &&
        ascii_digit(scan_peek(scan, end + 1))) /* a decimal fraction or a time */
        return begin;
    bool years = digits.groups == 2 && digits.total == 8 && digits.first == 4;
    if (digits.groups == 1)
        return digits.total >= 5 && scan_peek(scan, begin) != '(' && !plus ? end : begin;
    if (digits.thousands && !plus)
        return begin;
    if (plus)
        return digits.total >= 7 ? end : begin;
    if (digits.groups >= 3 &&
        (digits.dotted || digits.dashed || digits.slashed || digits.total >= 8))
        return end;
    return digits.groups == 2 && digits.dashed && digits.total >= 7 && !years ? end : begin;
}

/* 00:1b:44:11:3a:b7, 2001:db8::1, ::1: addresses with at least one digit, and with at least four
 * groups or an empty one. */
static size_t as_colons(const struct scan *scan) {
    enum { MOST_GROUPS = 16, LONGEST = 4 };
    static const char hexadecimal[] = "0123456789abcdefABCDEF";
    size_t end = scan->begin, groups = 0, empty = 0, digits = 0;
    while (groups + empty <= MOST_GROUPS) {
        size_t size = 0;
        for (; size <= LONGEST && ascii_among(scan_peek(scan, end + size), hexadecimal); size++)
            digits += ascii_digit(scan_peek(scan, end + size));
        if (size > LONGEST || (size == 0 && groups + empty == 0 &&
                               !(scan_peek(scan, end) == ':' && scan_peek(scan, end + 1) == ':')))
            return scan->begin;
        end += size;
        groups += size > 0;
        bool goes_on = scan_peek(scan, end) == ':' &&
                       (ascii_among(scan_peek(scan, end + 1), hexadecimal) ||
                        (scan_peek(scan, end + 1) == ':' && (size > 0 || end == scan->begin)));
        if (!goes_on)
            break;
        empty += size == 0;
        end++;
    }
    bool address = digits > 0 && (groups >= 4 || (empty > 0 && groups >= 1));
    return address && scan_ends_word(scan, end) ? end : scan->begin;
}

/* v1.2.3 */
static size_t as_version(const struct scan *scan) {
    struct digits digits;
    if (!ascii_digit(scan_peek(scan, scan->begin + 1)))
        return scan->begin;
    size_t end = skip_groups(scan, scan->begin + 1, &digits);
    return digits.dotted && scan_ends_word(scan, end) ? end : scan->begin;
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
    if (changes == 1) /* digits, then letters: 4K, 3D, 12k */
        return letters > 4 || (letters == 1 && digits <= 2 && ascii_upper(text[length - 1])) ||
               (letters == 1 && digits <= 4 && text[length - 1] == 'k');
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

/* Words of letters, digits and underscores, perhaps with hyphens between them: A4, FOO_BAR=1,
 * COVID-19, name(), 3f2a9c. */
static size_t as_identifier(const struct scan *scan) {
    size_t begin = scan->begin, end = code_end(scan, begin);
    if (scan->former == '_' || end == begin || (unsigned char)scan_peek(scan, end) >= 0x80)
        return begin;
    const char *text = scan->text + begin;
    bool underlined =
             memchr(text, '_', end - begin) && text[0] != '_' && text[end - begin - 1] != '_',
         camel = false;
    for (size_t i = 1; text[0] >= 'a' && text[0] <= 'z' && i < end - begin; i++) /* lowerUpper */
        camel = camel || (ascii_upper(text[i]) && !ascii_upper(text[i - 1]) && text[i - 1] != '_');
    bool code = underlined || camel || is_mixed(text, end - begin);
    if (scan_peek(scan, end) == '(' && scan_peek(scan, end + 1) == ')' && !ascii_digit(text[0]))
        return end + 2;
    if (scan_peek(scan, end) == '=' && all_in(text, end - begin, is_code_word) &&
        is_code_word(scan_peek(scan, end + 1)) && (underlined || ascii_upper(text[0]))) {
        size_t after = end + 1;
        while (after < scan->length && after < begin + MAX_CODE &&
               !ascii_among(scan->text[after], " \t\n\r,;"))
            after++;
        return scan_trim(scan, end + 1, after);
    }
    /* with hyphens, either one part is code by itself, or all parts are capitals and digits */
    size_t whole = end, most = begin + MAX_CODE;
    bool capital = all_in(text, end - begin, is_capital_or_digit) && ascii_upper(text[0]),
         numbered = has_digit_in(scan, begin, end);
    while (whole < most && scan_peek(scan, whole) == '-' &&
           is_code_word(scan_peek(scan, whole + 1))) {
        struct scan part = {.text = scan->text, .length = scan->length, .begin = whole + 1};
        size_t after = code_end(&part, part.begin);
        capital =
            capital && all_in(scan->text + part.begin, after - part.begin, is_capital_or_digit);
        numbered = numbered || has_digit_in(scan, part.begin, after);
        code = code || is_mixed(scan->text + part.begin, after - part.begin);
        whole = after;
    }
    if (whole > end && (code || (capital && numbered)))
        return scan_ends_word(scan, whole) ? whole : begin;
    return code && whole == end && !ascii_among(scan_peek(scan, end), "'") ? end : begin;
}

bool scan_names_file(const char *text, size_t length) {
    static const char suffixes[] = " mjs cjs less map env svelte wasm eot txt md rst pdf doc docx "
                                   "xls xlsx ppt pptx odt ods odp rtf csv tsv json xml yaml yml "
                                   "toml ini conf cfg "
                                   "log html htm css scss js mjs ts jsx tsx vue py rb pl php java "
                                   "jar kt go rs c h cc cpp hpp cs sh bash bat "
                                   "exe dll so deb rpm apk dmg iso img zip gz tgz bz2 xz zst tar "
                                   "7z rar png jpg jpeg gif svg webp bmp ico "
                                   "tif tiff mp3 mp4 wav ogg flac mkv avi mov webm srt vtt po mo "
                                   "xliff xlf sql db bin dat bak tmp lock key "
                                   "pem crt epub ttf woff woff2 service tex com org net edu gov io "
                                   "dev eu uk fr de ch at be nl ca ";
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
    bool rooted = false, drive = ascii_letter(scan_peek(scan, at)) &&
                                 scan_peek(scan, at + 1) == ':' && scan_peek(scan, at + 2) == '\\';
    if (drive || (scan_peek(scan, at) == '\\' && scan_peek(scan, at + 1) == '\\' &&
                  is_code_word(scan_peek(scan, at + 2))))
        rooted = true;
    else if (ascii_among(scan_peek(scan, at), "/~."))
        rooted = (scan_peek(scan, at) == '/' && is_code_word(scan_peek(scan, at + 1))) ||
                 (scan_peek(scan, at) == '~' && scan_peek(scan, at + 1) == '/') ||
                 (scan_peek(scan, at) == '.' &&
                  (scan_peek(scan, at + 1) == '/' ||
                   (scan_peek(scan, at + 1) == '.' && scan_peek(scan, at + 2) == '/') ||
                   ascii_letter(scan_peek(scan, at + 1))));
    if (!rooted && !is_code_word(scan_peek(scan, at)))
        return begin;
    while (at < scan->length && at < begin + MAX_CODE &&
           (ascii_word(scan->text[at]) || ascii_among(scan->text[at], "_./~+@-\\:")))
        at++;
    if (at < scan->length && at == begin + MAX_CODE)
        return begin;
    at = scan_trim(scan, begin, at);
    if (at <= begin + 1)
        return begin;
    return rooted || scan_names_file(scan->text + begin, at - begin) ? at : begin;
}

/* ---- words with signs in them ---- */

/* Returns the end of the words that signs join to the word at text[at]: Ctrl+C, R&D, x^2,
 * key=value. Without such a sign: at. */
static size_t skip_joined(const struct scan *scan, size_t at) {
    size_t first = at, end = code_end(scan, at);
    while (ascii_among(scan_peek(scan, end), "&+=^") && is_code_word(scan_peek(scan, end + 1))) {
        size_t second = end + 1, after = code_end(scan, second);
        char sign = scan->text[end], next = scan->text[second];
        bool joins = sign == '&'
                         ? all_in(scan->text + first, end - first, is_capital_or_digit) &&
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

/* Ctrl+C, key=value. */
static size_t as_joined(const struct scan *scan) {
    size_t begin = scan->begin,
           end = ascii_letter(scan_peek(scan, begin)) ? skip_joined(scan, begin) : begin;
    return scan_ends_word(scan, end) ? end : begin;
}

/* \n \t \r\n \N \u00e9 \x41 \": escapes. One of a letter counts only where no name of a command can
 * stand: before a capital or anything but a letter, or touching a word before it. */
static size_t as_escape(const struct scan *scan) {
    size_t end = scan->begin;
    while (end < scan->begin + MAX_CODE && scan_peek(scan, end) == '\\') {
        char c = scan_peek(scan, end + 1), next = scan_peek(scan, end + 2);
        bool touches = end > scan->begin || !ascii_among(scan->former, " \n\t([{");
        size_t digits = c == 'u' ? 4 : c == 'x' ? 2 : c == 'U' ? 8 : 0, at = end + 2;
        while (digits > 0 && ascii_among(scan_peek(scan, at), "0123456789abcdefABCDEF"))
            at++, digits--;
        if (ascii_among(c, "uxU") && digits == 0)
            end = at;
        else if (ascii_among(c, "\"'\\`") ||
                 (ascii_among(c, "nrtNhfbv0") && (ascii_upper(next) || !ascii_letter(next) ||
                                                  (touches && !ascii_upper(scan->former)))))
            end += 2;
        else
            break;
    }
    return end;
}

/* Escapes of line ends and tabs that touch a word. */
static size_t as_break(const struct scan *scan) {
    if (!ascii_among(scan_peek(scan, scan->begin + 1), "nrtN"))
        return scan->begin;
    size_t end = as_escape(scan);
    for (size_t at = scan->begin; at < end; at += 2)
        if (!ascii_among(scan->text[at + 1], "nrtN"))
            return scan->begin;
    bool apart = ascii_among(scan->former, " \n\t\"'`([") &&
                 ascii_among(end < scan->length ? scan->text[end] : ' ', " \n\t\"'`)],.");
    return apart ? scan->begin : end;
}

/* \alpha, \frac{1}{x}, \ref{x}: a command with the arguments that have no spaces. */
static size_t as_command(const struct scan *scan) {
    size_t begin = scan->begin, end = begin + 1;
    while (end < begin + MAX_NAME && ascii_letter(scan_peek(scan, end)))
        end++;
    if (end == begin + 1 || end == begin + MAX_NAME || ascii_word(scan_peek(scan, end)))
        return begin;
    while (ascii_among(scan_peek(scan, end), "{[") && end < begin + MAX_CODE) {
        size_t after = scan_nested(scan, end);
        if (after == end || memchr(scan->text + end, ' ', after - end))
            break;
        end = after;
    }
    return end;
}

/* \begin{equation} x = y \end{equation}: all of an environment of formulas. */
static size_t as_environment(const struct scan *scan) {
    static const char formulas[] =
        " equation align alignat gather multline eqnarray math displaymath array matrix cases ";
    static const char opening[] = "\\begin{";
    size_t begin = scan->begin, name = begin + strlen(opening), end = name;
    if (!scan_has(scan, begin, opening))
        return begin;
    while (end < begin + MAX_NAME && ascii_letter(scan_peek(scan, end)))
        end++;
    char close[MAX_NAME + 8] = "\\end{";
    if (!scan_is_among(scan->text + name, end - name, formulas))
        return begin;
    end += scan_peek(scan, end) == '*';
    size_t length = strlen(close),
           left = scan->length - end < 4 * MAX_CODE ? scan->length - end : 4 * MAX_CODE;
    memcpy(close + length, scan->text + name, end - name);
    close[length + end - name] = '}';
    const char *found = memmem(scan->text + end, left, close, length + end - name + 1);
    return found ? (size_t)(found - scan->text) + length + end - name + 1 : begin;
}

/* A sign that models drop or change: a brace or a backslash by itself, and marks such as ** and ~~.
 */
static size_t as_sign(const struct scan *scan) {
    char c = scan_peek(scan, scan->begin);
    size_t end = scan->begin + 1;
    if (c == '{' && scan_peek(scan, end) == '}')
        return end + 1;
    if (ascii_among(c, "{}\\"))
        return end;
    end = scan_skip(scan, end, (const char[]){c, '\0'});
    bool opens = scan->chunk && !ascii_among(scan_peek(scan, end), " \n\t"),
         closes = !ascii_among(scan->former, " \n\t");
    return end > scan->begin + 1 || (c == '*' && (opens || closes)) ? end : scan->begin;
}

/* A word of Latin letters that is longer than those of any language, or that repeats a letter as
 * none does. */
static size_t as_long_word(const struct scan *scan) {
    size_t at = scan->begin, repeated = 1, most = 1;
    for (; at < scan->length && ascii_letter(scan->text[at]); at++) {
        repeated = at > scan->begin && scan->text[at] == scan->text[at - 1] ? repeated + 1 : 1;
        most = repeated > most ? repeated : most;
    }
    bool strange = at - scan->begin > MAX_LETTERS || most > MAX_REPEATED;
    return strange && scan_ends_word(scan, at) ? at : scan->begin;
}

/* Acme\u2122: a name with its trade mark. */
static size_t as_trade_mark(const struct scan *scan) {
    size_t at = scan->begin, next = at;
    int32_t c = scan_character(scan, at, &next);
    if (!u_isupper(c))
        return at;
    while (next < scan->begin + MAX_NAME && (u_isalnum(c) || c == '-')) {
        at = next;
        c = scan_character(scan, at, &next);
    }
    return character_is_among(c, L"\u2122\u00ae\u00a9\u2120") ? next : scan->begin;
}

/* A variation selector or a joiner that stands alone. */
static size_t as_selector(const struct scan *scan) {
    size_t next, before = scan->begin;
    int32_t c = scan_character(scan, scan->begin, &next);
    bool selects = (c >= 0xfe00 && c <= 0xfe0f) || c == 0x200d || (c >= 0xe0100 && c <= 0xe01ef);
    bool joins = before > 0 && c == 0x200d && u_isalpha(character_previous(scan->text, &before));
    return selects && !joins ? next : scan->begin;
}

/* ---- lines of code ---- */

/* Returns the end of the line, or `at` if it is too long for code. */
static size_t line_end(const struct scan *scan, size_t at) {
    size_t most = scan->length - at < MAX_LINE ? scan->length - at : MAX_LINE;
    const char *end = memchr(scan->text + at, '\n', most);
    return end ? (size_t)(end - scan->text) : most < MAX_LINE ? scan->length : at;
}

/* True if a line is a statement of a program: it ends as one does and has a sign that only programs
 * have, or it is SQL. */
static bool is_statement(const struct scan *scan, size_t begin, size_t end) {
    static const char *const signs[] = {" = ", "+=", "-=", "==", "!=", "++", "()",
                                        "(\"", "('", "->", "::", "=>", "&&", "||"};
    static const char *const opening[] = {"#include", "<?php", "def ", "class ", "async def "};
    while (end > begin && ascii_among(scan->text[end - 1], " \t\r"))
        end--;
    size_t length = end - begin;
    const char *text = scan->text + begin;
    if (opaque_match(SQL, text, length) > 0)
        return true;
    if (length < 2)
        return false;
    for (size_t i = 0; i < sizeof opening / sizeof *opening; i++)
        if (scan_has(scan, begin, opening[i]) &&
            (i < 2 || (text[length - 1] == ':' && ascii_among(text[length - 2], ")"))))
            return true;
    if (!ascii_among(text[length - 1], ";{}"))
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
        if (!inside && !ascii_among(scan_peek(scan, next), "}") && !is_statement(scan, next, last))
            break;
        end = last;
    }
    return end;
}

/* ____ --- ====: equal signs that stand for a blank, a rule or a mark of a notation. Three dots are
 * an ellipsis. */
static size_t as_rule(const struct scan *scan) {
    char sign = scan->text[scan->begin];
    if (scan->former == sign)
        return scan->begin;
    size_t end = scan_skip(scan, scan->begin, (const char[]){sign, '\0'});
    return end - scan->begin >= (sign == '.' ? 4 : 3) ? end : scan->begin;
}

#define FORMULA(open, close) open "(!(" close ").)+" close
#define EYES                 "[:;=8xX]'*[-o^]?"
#define MOUTH                "[)(\\][DPp*|\\\\/O]"
#define UNITS                "(min|mol|m|h|s|l|L|dl|kg|g|K|ha)"

/* Equations begin with a letter that has no number before it, since 5 m is a length: x, 2y, f(x),
 * mc\u00b2, b^2. < <= > >= have spaces around them; = and the signs of two blocks of Unicode,
 * \u2208 to \u220d and \u2240 to \u22bf, need none. */
#define TERM_ENDS   "(&(\xe2[\x86-\x8a])|![\\w'])"
#define POWER       "(\\r+|^-?[\\l\\d]+)"
#define VARIABLE    "(\\d*\\l{1,2}" POWER "|-?\\d*\\l(\\(\\l\\))?)" TERM_ENDS
#define NUMBER      "(-|" MINUS ")?\\d+([.,]\\d+)*"
#define TERM        "(" VARIABLE "|(" NUMBER "|\\{[^{}\n]*}|\xe2\x84.)" TERM_ENDS ")"
#define MINUS       "\xe2\x88\x92"
#define CALCULATION "(( ([-+*/]|" MINUS ") |[-+*/]|" MINUS ")" TERM ")"
#define RELATION    "( [<>]=? | ?(=|\xe2\x88[\x88-\x8d]|\xe2[\x89\x8a].) ?)"
#define ARROW       " ?\xe2(\x86[\x90-\x94]|\x87[\x92\x94]) ?"

static size_t as_equation(const struct scan *scan) {
    size_t first = scan->begin, last;
    while (ascii_digit(scan_peek(scan, first)))
        first++;
    for (last = first; ascii_letter(scan_peek(scan, last)) && last < first + 2;)
        last++;
    char sign = scan_peek(scan, last), next = scan_peek(scan, last + 1);
    bool compares = ascii_among(next, "<>") && ascii_among(scan_peek(scan, last + 2), "= "),
         begins = sign == ' ' ? compares || ascii_among(next, "-+*/=\xe2")
                              : ascii_among(sign, "(^=+*/-\xc2\xe2");
    return last > first && begins
               ? expression_end(scan,
                                "\\a(" VARIABLE CALCULATION "*(" RELATION TERM CALCULATION "*)+"
                                "|&(\\d*\\l{1,2}" POWER ")" VARIABLE CALCULATION "+"
                                "|\\u(" ARROW "\\u" TERM_ENDS "!( \\l))+)")
               : scan->begin;
}

#define SQUARE      "[a-h][1-8]"
#define MOVE_NUMBER "\\d{1,3}[.]([.]{2})? ?"
#define MOVE                                                                                       \
    "(O-O(-O)?|[KQRBNSTLD]?[a-h]?[1-8]?x" SQUARE "|[KQRBNSTLD]?" SQUARE                            \
    "|[KQRBNSTLD][a-h1-8]" SQUARE ")(=\\u)?[+#]?\\b"

const struct notation notation_codes[NOTATION_CODE_ROWS] = {
    {"numbered parameter", NOTATION_CODES, OPAQUE_CODE, CHUNK, "%", NULL, "%\\d{1,2}\\b\\a"},
    {"formula in a line", NOTATION_CODES, OPAQUE_CODE, ANYWHERE, "\\", NULL,
     FORMULA("\\\\\\(", "\\\\\\)")},
    {"formula in brackets", NOTATION_CODES, OPAQUE_CODE, ANYWHERE, "\\", NULL,
     FORMULA("\\\\\\[", "\\\\\\]")},
    {"formula, escaped", NOTATION_CODES, OPAQUE_CODE, ANYWHERE, "\\", NULL,
     FORMULA("\\\\\\\\\\(", "\\\\\\\\\\)")},
    {"formula in brackets, escaped", NOTATION_CODES, OPAQUE_CODE, ANYWHERE, "\\", NULL,
     FORMULA("\\\\\\\\\\[", "\\\\\\\\\\]")},
    {"formula by itself", NOTATION_CODES, OPAQUE_CODE, ANYWHERE, "$", NULL, FORMULA("$$", "$$")},
    {"formula in dollars", NOTATION_CODES, OPAQUE_CODE, WORD, "$", NULL,
     "$![ $\n]&(\\l$|[^$\n\\\\\\^_=<>+]*[\\\\\\^_=<>+])([^ $\n]| +![$ ])+$!$\\b"},
    {"variable", NOTATION_CODES, OPAQUE_CODE, WORD, "$", as_variable, NULL},
    {"environment", NOTATION_CODES, OPAQUE_CODE, ANYWHERE, "\\", as_environment, NULL},
    {"trade mark", NOTATION_CODES, OPAQUE_CODE, WORD, NULL, as_trade_mark, NULL},
    {"selector", NOTATION_CODES, OPAQUE_SYMBOL, ANYWHERE, NULL, as_selector, NULL},
    {"moves of chess", NOTATION_CODES, OPAQUE_CODE, CHUNK, "0123456789", NULL,
     MOVE_NUMBER MOVE "( (" MOVE_NUMBER ")?" MOVE ")*"},
    {"minutes and seconds", NOTATION_CODES, OPAQUE_CODE, WORD, "0123456789", NULL,
     "\\p[^.,]\\d{1,3}(\xc2\xb0\\d{1,2})?('|\xe2\x80\xb2)\\d{1,2}!\\d(\"|''|\xe2\x80\xb3)?([NSEWO]"
     "\\b)?"
     "![\\w']"},
    {"measure", NOTATION_CODES, OPAQUE_NUMBER, WORD, "-+0123456789\xe2", NULL,
     "\\p[^.,]([-+]|\xe2\x88\x92)?&(\\d[0-9.,]{0,11}!\\d)\\d+([.,]\\d+)*(\\s?\xc2\xb0[CFK]\\b|"
     "\xc2\xb0\\b|\\s?\\l{"
     "1,4}"
     "/(\\d{1,3}\\s?)?" UNITS "\\b!/)"},
    {"picture", NOTATION_CODES, OPAQUE_EMOJI, ANYWHERE, NULL, as_picture, NULL},
    {"emoticon", NOTATION_CODES, OPAQUE_EMOJI, CHUNK, ":;=<8xX^", NULL,
     "(<3|^[\\^_]+|" EYES MOUTH "{1,3}!" MOUTH ")&([ \t\n\r.,!?)]|\\z)"},
    {"angle brackets", NOTATION_CODES, OPAQUE_CODE, ANYWHERE, "<", NULL,
     "<(<\\w+>>|/?\\l[\\l\\d-]*/?>|[#@:!=$%&?+*\\^~][^<> \n\t]+>)"},
    {"shortcode", NOTATION_CODES, OPAQUE_EMOJI, WORD, ":", NULL,
     ":&([0-9_]*[\\l+-])[\\c+-]{1,29}:\\b"},
    {"parameter", NOTATION_CODES, OPAQUE_CODE, CHUNK, "!%:", NULL,
     "(:[a-z]\\b|(\\!|:|%\\a)[a-z]([a-z]|[_-]+&[a-z])+![_-]\\b)"},
    {"hashtag", NOTATION_CODES, OPAQUE_CODE, WORD, "#", as_hashtag, NULL},
    {"name of an account", NOTATION_CODES, OPAQUE_CODE, WORD, "@", NULL, "@([./@-]*\\c)+"},
    {"tag in brackets", NOTATION_CODES, OPAQUE_CODE, ANYWHERE, "[", as_tag, NULL},
    {"clause", NOTATION_CODES, OPAQUE_CODE, WORD, "0123456789", NULL,
     "\\p[^.,]\\d+([.]\\d+)*(\\((\\d+|[ivx]+|\\l)\\))+\\b"},
    {"calculation", NOTATION_CODES, OPAQUE_CODE, WORD, "0123456789", NULL,
     "\\p[^.,]\\d+(\\m\\d+)+\\b"},
    {"footnote", NOTATION_CODES, OPAQUE_CODE, ANYWHERE, "[", NULL, "\\[^?(\\d{1,4}|\\l)]"},
    {"flag", NOTATION_CODES, OPAQUE_CODE, CHUNK, "-", NULL, "--\\l[^ \t\n\r]*~"},
    {"break", NOTATION_LAYOUT, OPAQUE_CODE, ANYWHERE, "\\", as_break, NULL},
    {"path", NOTATION_CODES, OPAQUE_CODE, ANYWHERE, NULL, as_path, NULL},
    {"escape", NOTATION_CODES, OPAQUE_CODE, ANYWHERE, "\\", as_escape, NULL},
    {"object", NOTATION_CODES | NOTATION_MARKDOWN, OPAQUE_CODE, ANYWHERE, "{", NULL,
     "&(\\{ *\")\\k"},
    {"command", NOTATION_CODES, OPAQUE_CODE, ANYWHERE, "\\", as_command, NULL},
    {"equation", NOTATION_CODES, OPAQUE_CODE, WORD, NULL, as_equation, NULL},
    {"operator", NOTATION_CODES, OPAQUE_CODE, CHUNK, "&|<>=!:+-*/^~", NULL,
     "(+/-|&([!:+*/\\^~-]*[&|<>=])[&|<>=!:+*/\\^~-]{2,8})&([ \t\n.,;?)]|\\z)"},
    {"statement", NOTATION_CODES, OPAQUE_CODE, WORD, "SIUDCA", NULL,
     "&([^;\na-z(*=]*[a-z(*=])" SQL "[^;\n]*;"},
    {"rule", NOTATION_CODES, OPAQUE_CODE, ANYWHERE, "_-=*~#.", as_rule, NULL},
    {"style", NOTATION_CODES, OPAQUE_CODE, ANYWHERE, "\xc2|", NULL,
     "(\xc2\xa7([a-fk-or]&\\l|\\d&\\u)|\\|(c[0-9a-fA-F]{8}|r))"},
    {"formula of letters", NOTATION_CODES, OPAQUE_CODE, WORD, NULL, NULL,
     "!(\\l[a-z]{3,99}\\r+\\b)&(\\d*\\l)&([\\l\\d]*\\r)([\\l\\d]|\\r)+\\b"},
    {"programming language", NOTATION_CODES, OPAQUE_CODE, WORD, CAPITALS, NULL,
     "\\u(#[+#]?|\\+[+#])![+#]\\b"},
    {"IBAN", NOTATION_CODES, OPAQUE_CODE, WORD, CAPITALS, NULL,
     "\\u{2}\\d{2}( ?[\\u\\d]{4}){2,7}( ?[\\u\\d]{2,3}\\b)?\\b"},
    {"version", NOTATION_CODES, OPAQUE_CODE, WORD, "vV", as_version, NULL},
    {"time stamp", NOTATION_CODES, OPAQUE_CODE, WORD, "0123456789", NULL,
     "(\\d{2}:?\\d{2}Z|"
     "\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}(:\\d{2})?([.,]\\d+)?(Z|[+-]\\d{2}:\\d*)?)\\b"},
    {"groups with colons", NOTATION_CODES, OPAQUE_CODE, WORD, NULL, as_colons, NULL},
    {"groups of digits", NOTATION_CODES, OPAQUE_CODE, ANYWHERE, NULL, as_digits, NULL},
    {"reference", NOTATION_CODES, OPAQUE_CODE, WORD, NULL, NULL,
     "\\l\\c+:&\\d([\\l_./-]*\\d){5,99}[\\c./-]*~"},
    {"identifier", NOTATION_CODES, OPAQUE_CODE, WORD, NULL, as_identifier, NULL},
    {"joined words", NOTATION_CODES, OPAQUE_CODE, WORD, NULL, as_joined, NULL},
    {"long word", NOTATION_CODES, OPAQUE_CODE, WORD, NULL, as_long_word, NULL},
    {"sign", NOTATION_CODES, OPAQUE_SYMBOL, ANYWHERE, "{}\\*~`", as_sign, NULL},
    {"command line", NOTATION_LAYOUT, OPAQUE_CODE, LINE, NULL, NULL,
     "($ [a-z./~_]|>>> &([^\n(=]*[(=])|\\u:\\\\[^\n>]*>|[^\n @]+@[^\n $#]*[$#] ).*&(\n|\\z)"},
    {"code", NOTATION_LAYOUT, OPAQUE_CODE, LINE, NULL, as_code, NULL},
};
