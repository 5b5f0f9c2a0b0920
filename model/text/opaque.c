#include "model/text/opaque.h"
#include "model/text/character.h"

#include <stdint.h>
#include <string.h>
#include <unicode/uchar.h>

/* Any scheme is shorter; the bound keeps the time proportional to the length of the text. */
enum { MAX_SCHEME = 30 };

/* A text, and where a run may begin in it. */
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

/* ---- codes, with OPAQUE_ALL ---- */

/* No code that people type is longer, but for the words of other kinds; the bound keeps the time proportional to the length. */
enum { MAX_CODE = 256 };

static bool is_code_word(char c) {
    return is_letter(c) || is_digit(c) || c == '_';
}

static size_t code_end(const struct scan *scan, size_t at) {
    size_t most = scan->length - scan->begin < MAX_CODE ? scan->length : scan->begin + MAX_CODE;
    while (at < most && is_code_word(scan->text[at]))
        at++;
    return at;
}

static bool ends_word(const struct scan *scan, size_t at) {
    return !is_word(peek(scan, at));
}

/* The character before text[at]; -1 at the beginning. */
static int32_t character_before(const struct scan *scan, size_t at) {
    return at > 0 ? character_previous(scan->text, &at) : -1;
}

static bool begins_chunk(const struct scan *scan) {
    return scan->begin == 0 || character_is_space(character_before(scan, scan->begin)) ||
           is_one_of(scan->text[scan->begin - 1], "([{\"'<>=,;|");
}

/* :-) ;D <3 ^^, between white space. */
static size_t as_emoticon(const struct scan *scan) {
    size_t at = scan->begin;
    if (!begins_chunk(scan) || !is_one_of(peek(scan, at), ":;=<8xX^-"))
        return scan->begin;
    if (memcmp(scan->text + at, "<3", scan->length - at < 2 ? scan->length - at : 2) == 0 && scan->length - at >= 2)
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
    if (peek(scan, scan->begin) != ':' || (scan->begin > 0 && is_word(scan->text[scan->begin - 1])))
        return scan->begin;
    for (; at < scan->begin + MAX_SCHEME && (is_code_word(peek(scan, at)) || is_one_of(peek(scan, at), "+-")); at++)
        letters += is_letter(scan->text[at]) || is_one_of(scan->text[at], "+-");
    return letters > 0 && peek(scan, at) == ':' && ends_word(scan, at + 1) ? at + 1 : scan->begin;
}

/* #hashtag, in any alphabet; #12. */
static size_t as_hashtag(const struct scan *scan) {
    if (peek(scan, scan->begin) != '#' ||
        (scan->begin > 0 && (is_word(scan->text[scan->begin - 1]) || scan->text[scan->begin - 1] == '&')))
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
    if (peek(scan, scan->begin) != '@' ||
        (scan->begin > 0 && (is_word(scan->text[scan->begin - 1]) || scan->text[scan->begin - 1] == '@')))
        return scan->begin;
    size_t at = scan->begin + 1;
    while (at < scan->length && at < scan->begin + MAX_CODE && (is_code_word(scan->text[at]) || is_one_of(scan->text[at], "./-@")))
        at++;
    while (at > scan->begin && is_one_of(scan->text[at - 1], "./-@"))
        at--;
    return at > scan->begin + 1 ? at : scan->begin;
}

/* [1], [12], [a]. */
static size_t as_footnote(const struct scan *scan) {
    size_t at = scan->begin + 1, digits = 0;
    if (peek(scan, scan->begin) != '[')
        return scan->begin;
    at += peek(scan, at) == '^';
    digits = skip_digits(scan, at) - at;
    at += digits > 0 ? digits : is_letter(peek(scan, at));
    return digits <= 4 && at > scan->begin + 1 && peek(scan, at) == ']' ? at + 1 : scan->begin;
}

/* C++ C# F# */
static size_t as_language(const struct scan *scan) {
    size_t at = scan->begin;
    if (!begins_word(scan) || !is_upper(peek(scan, at)))
        return at;
    size_t end = scan_skip(scan, at + 1, "+#");
    return end > at + 1 && end <= at + 3 && ends_word(scan, end) && !(end == at + 2 && scan->text[at + 1] == '+') ? end : at;
}

/* Digits, where a group of them ends. */
struct digits {
    size_t groups, total, first; /* first: digits of the first group */
    bool thousands;              /* every later group has three digits, and the same separator stands before each */
    bool dotted, slashed, dashed;
};

/* +33 (0)6 12 34, 2024-05-01, 1.2.3, 978-3-16-148410-X: digits with one separator each between the groups, brackets allowed. */
static size_t skip_groups(const struct scan *scan, size_t at, struct digits *digits) {
    *digits = (struct digits){.thousands = true};
    size_t end = at, most = at + 64 < scan->length ? at + 64 : scan->length;
    char separator = '\0', former = '\0';
    for (;;) {
        size_t opened = peek(scan, at) == '(', behind = skip_digits(scan, at + opened), size = behind - at - opened;
        bool last = size == 0 && digits->groups > 1 && peek(scan, at) == 'X' && ends_word(scan, at + 1) && separator == '-';
        if (last)
            return at + 1;
        if (size == 0 || behind > most)
            return end;
        if (opened && peek(scan, behind) != ')')
            return end;
        digits->first = digits->groups == 0 ? size : digits->first;
        digits->thousands = digits->thousands && !opened && (digits->groups == 0 ? size <= 3 : size == 3);
        if (digits->groups > 0) { /* what stood before it was a separator */
            digits->thousands = digits->thousands && (former == '\0' || former == separator) && is_one_of(separator, " .");
            digits->dotted |= separator == '.';
            digits->slashed |= separator == '/';
            digits->dashed |= separator == '-';
            former = separator;
        }
        digits->groups++;
        digits->total += size;
        end = at = behind + opened;
        char c = peek(scan, at);
        if (!is_one_of(c, opened ? " -./0123456789" : " -./"))
            return end;
        separator = c;
        at += !is_digit(c);
    }
}

static size_t as_digits(const struct scan *scan) {
    size_t begin = scan->begin;
    bool plus = peek(scan, begin) == '+';
    if (begin > 0 && (is_word(scan->text[begin - 1]) ||
                      (is_one_of(scan->text[begin - 1], ".,") && begin > 1 && is_digit(scan->text[begin - 2]))))
        return begin;
    if (!is_digit(peek(scan, begin + plus)) && !(peek(scan, begin + plus) == '(' && is_digit(peek(scan, begin + plus + 1))))
        return begin;
    struct digits digits;
    size_t end = skip_groups(scan, begin + plus, &digits);
    if (end == begin + plus || is_letter(peek(scan, end)) || peek(scan, end) == '_')
        return begin;
    if (is_one_of(peek(scan, end), ",.:") && is_digit(peek(scan, end + 1))) /* a decimal fraction or a time */
        return begin;
    bool years = digits.groups == 2 && digits.total == 8 && digits.first == 4;
    if (digits.groups == 1)
        return digits.total >= 5 && peek(scan, begin) != '(' && !plus ? end : begin;
    if (digits.thousands && !plus && digits.first <= 3)
        return begin;
    if (plus)
        return digits.total >= 7 ? end : begin;
    if (digits.groups >= 3 && (digits.dotted || digits.dashed || digits.slashed || digits.total >= 8))
        return end;
    return digits.groups == 2 && digits.dashed && digits.total >= 7 && !years ? end : begin;
}

/* v1.2.3 */
static size_t as_version(const struct scan *scan) {
    struct digits digits;
    if (!begins_word(scan) || !is_one_of(peek(scan, scan->begin), "vV") || !is_digit(peek(scan, scan->begin + 1)))
        return scan->begin;
    size_t end = skip_groups(scan, scan->begin + 1, &digits);
    return digits.dotted && ends_word(scan, end) ? end : scan->begin;
}

/* DE89 3704 0044 0532 0130 00 */
static size_t as_iban(const struct scan *scan) {
    size_t at = scan->begin;
    if (!begins_word(scan) || !is_upper(peek(scan, at)) || !is_upper(peek(scan, at + 1)) || skip_digits(scan, at + 2) < at + 4)
        return scan->begin;
    size_t end = at + 4, total = 4;
    for (size_t next = end; total <= 34;) {
        next += peek(scan, next) == ' ';
        size_t group = 0;
        while (group < 4 && (is_upper(peek(scan, next + group)) || is_digit(peek(scan, next + group))))
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
    while (begin < end && !is_digit(scan->text[begin]))
        begin++;
    return begin < end;
}

/* True if letters and digits are mixed in a way that no language does: not 1st, 5km, 10h30, 1980s. */
static bool is_mixed(const char *text, size_t length) {
    size_t letters = 0, digits = 0, changes = 0, underlines = 0;
    for (size_t i = 0; i < length; i++) {
        letters += is_letter(text[i]);
        digits += is_digit(text[i]);
        underlines += text[i] == '_';
        changes += i > 0 && is_letter(text[i]) != is_letter(text[i - 1]);
    }
    if (letters == 0 || digits == 0)
        return false;
    if (!is_digit(text[0]) || underlines > 0)
        return true;
    if (changes == 1) /* digits, then letters */
        return letters > 4;
    bool time = changes == 2 && letters == 1 && strchr("hHmx'", text[strcspn(text, "hHmx'")]) && digits <= 4;
    return !time;
}

/* lowerUpper: an identifier, or a name that is written so. */
static bool is_camel(const char *text, size_t length) {
    if (!(text[0] >= 'a' && text[0] <= 'z'))
        return false;
    for (size_t i = 1; i < length; i++)
        if (is_upper(text[i]) && !is_upper(text[i - 1]) && text[i - 1] != '_')
            return true;
    return false;
}

static bool all_in(const char *text, size_t length, bool (*is)(char c)) {
    for (size_t i = 0; i < length; i++)
        if (!is(text[i]))
            return false;
    return length > 0;
}

static bool is_capital_or_digit(char c) {
    return is_upper(c) || is_digit(c);
}

/* Words of letters, digits and underlines, hyphens between them: A4, FOO_BAR=1, COVID-19, name(), 3f2a9c. */
static size_t as_identifier(const struct scan *scan) {
    size_t begin = scan->begin, end = code_end(scan, begin);
    if (!begins_word(scan) || (begin > 0 && scan->text[begin - 1] == '_') || end == begin ||
        (end < scan->length && (unsigned char)scan->text[end] >= 0x80))
        return begin;
    const char *text = scan->text + begin;
    bool underlined = memchr(text, '_', end - begin) && text[0] != '_' && text[end - begin - 1] != '_';
    bool code = underlined || is_mixed(text, end - begin) || is_camel(text, end - begin);
    if (peek(scan, end) == '(' && peek(scan, end + 1) == ')' && !is_digit(text[0]))
        return end + 2;
    if (peek(scan, end) == '=' && all_in(text, end - begin, is_code_word) && is_code_word(peek(scan, end + 1)) &&
        (underlined || is_upper(text[0]))) {
        struct scan value = {scan->text, scan->length, end + 1};
        size_t behind = end + 1;
        while (behind < scan->length && behind < begin + MAX_CODE && !is_one_of(scan->text[behind], " \t\n\r,;"))
            behind++;
        return trim_address(&value, value.begin, behind);
    }
    /* parts with hyphens: at least one mixed, or capitals and digits apart */
    size_t whole = end, most = begin + MAX_CODE;
    bool capital = all_in(text, end - begin, is_capital_or_digit) && is_upper(text[0]), numbered = has_digit_in(scan, begin, end);
    while (whole < most && peek(scan, whole) == '-' && is_code_word(peek(scan, whole + 1))) {
        struct scan part = {scan->text, scan->length, whole + 1};
        size_t behind = code_end(&part, part.begin);
        capital = capital && all_in(scan->text + part.begin, behind - part.begin, is_capital_or_digit);
        numbered = numbered || has_digit_in(scan, part.begin, behind);
        code = code || is_mixed(scan->text + part.begin, behind - part.begin);
        whole = behind;
    }
    if (whole > end && (code || (capital && numbered)))
        return ends_word(scan, whole) ? whole : begin;
    return code && whole == end && !is_one_of(peek(scan, end), "'") ? end : begin;
}

/* --flag, --flag=value */
static size_t as_flag(const struct scan *scan) {
    size_t at = scan->begin;
    if (!begins_chunk(scan) || peek(scan, at) != '-' || peek(scan, at + 1) != '-' || !is_letter(peek(scan, at + 2)))
        return scan->begin;
    for (at += 2; at < scan->length && at < scan->begin + MAX_CODE && !is_one_of(scan->text[at], " \t\n\r");)
        at++;
    return trim_address(scan, scan->begin + 2, at);
}

static bool is_one_of_words(const char *const *words, size_t count, const char *text, size_t length) {
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == length && memcmp(words[i], text, length) == 0)
            return true;
    return false;
}

/* The end of a name with one of these suffixes, at or before `end`: README.md, example.org, archive.tar.gz. */
static bool has_suffix(const char *text, size_t length) {
    static const char *const suffixes[] = {
        "txt", "md",   "rst", "pdf",  "doc",   "docx",    "xls",  "xlsx", "ppt", "pptx", "odt",  "ods", "odp",  "rtf",  "csv",
        "tsv", "json", "xml", "yaml", "yml",   "toml",    "ini",  "conf", "cfg", "log",  "html", "htm", "css",  "scss", "js",
        "mjs", "ts",   "jsx", "tsx",  "vue",   "py",      "rb",   "pl",   "php", "java", "jar",  "kt",  "go",   "rs",   "c",
        "h",   "cc",   "cpp", "hpp",  "cs",    "sh",      "bash", "bat",  "exe", "dll",  "so",   "deb", "rpm",  "apk",  "dmg",
        "iso", "img",  "zip", "gz",   "tgz",   "bz2",     "xz",   "zst",  "tar", "7z",   "rar",  "png", "jpg",  "jpeg", "gif",
        "svg", "webp", "bmp", "ico",  "tif",   "tiff",    "mp3",  "mp4",  "wav", "ogg",  "flac", "mkv", "avi",  "mov",  "webm",
        "srt", "vtt",  "po",  "mo",   "xliff", "xlf",     "sql",  "db",   "bin", "dat",  "bak",  "tmp", "lock", "key",  "pem",
        "crt", "epub", "ttf", "woff", "woff2", "service", "tex",  "com",  "org", "net",  "edu",  "gov", "io",   "dev",  "eu",
        "uk",  "fr",   "de",  "ch",   "at",    "be",      "nl",   "ca"};
    const char *dot = NULL;
    for (size_t i = 0; i < length; i++)
        dot = text[i] == '.' ? text + i : dot;
    return dot && dot > text &&
           is_one_of_words(suffixes, sizeof suffixes / sizeof *suffixes, dot + 1, (size_t)(text + length - dot - 1));
}

/* /usr/bin ./x ../x ~/x C:\x, and names of files and hosts. */
static size_t as_path(const struct scan *scan) {
    size_t begin = scan->begin, at = begin;
    if (!begins_chunk(scan) && !(begin > 0 && scan->text[begin - 1] == '`'))
        return begin;
    bool rooted = false, drive = is_letter(peek(scan, at)) && peek(scan, at + 1) == ':' && peek(scan, at + 2) == '\\';
    if (drive || (peek(scan, at) == '\\' && peek(scan, at + 1) == '\\' && is_code_word(peek(scan, at + 2))))
        rooted = true;
    else if (is_one_of(peek(scan, at), "/~."))
        rooted = (peek(scan, at) == '/' && is_code_word(peek(scan, at + 1))) ||
                 (peek(scan, at) == '~' && peek(scan, at + 1) == '/') ||
                 (peek(scan, at) == '.' && (peek(scan, at + 1) == '/' || (peek(scan, at + 1) == '.' && peek(scan, at + 2) == '/') ||
                                            is_letter(peek(scan, at + 1))));
    if (!rooted && !is_code_word(peek(scan, at)))
        return begin;
    while (at < scan->length && at < begin + MAX_CODE && (is_word(scan->text[at]) || is_one_of(scan->text[at], "_./~+@-\\:")))
        at++;
    if (at < scan->length && at == begin + MAX_CODE)
        return begin;
    at = trim_address(scan, begin, at);
    if (at <= begin + 1)
        return begin;
    return rooted || has_suffix(scan->text + begin, at - begin) ? at : begin;
}

/* ---- emoji and symbols ---- */

static int32_t character_at(const struct scan *scan, size_t at, size_t *next) {
    *next = at;
    return at < scan->length ? character_next(scan->text, scan->length, next) : -1;
}

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

static size_t as_picture(const struct scan *scan) {
    size_t at = scan->begin, next, after;
    for (;; at = skip_parts(scan, next)) {
        int32_t c = character_at(scan, at, &next);
        bool keycap = c >= 0 && c < 0x80 && is_one_of((char)c, "0123456789#*") &&
                      (character_at(scan, next, &after) == 0x20e3 ||
                       (character_at(scan, next, &after) == 0xfe0f && character_at(scan, after, &after) == 0x20e3));
        if (!keycap && !is_flag_letter(c) && !is_pictured(c))
            return at;
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
    {in_braces, OPAQUE_CODE, OPAQUE_PLACEHOLDERS},
    {as_in_printf, OPAQUE_CODE, OPAQUE_PLACEHOLDERS},
    {in_brackets, OPAQUE_CODE, OPAQUE_PLACEHOLDERS},
    {as_address, OPAQUE_URL, OPAQUE_PLACEHOLDERS},
    {as_mail, OPAQUE_EMAIL, OPAQUE_PLACEHOLDERS},
    {as_picture, OPAQUE_EMOJI, OPAQUE_ALL},
    {as_emoticon, OPAQUE_EMOJI, OPAQUE_ALL},
    {as_shortcode, OPAQUE_EMOJI, OPAQUE_ALL},
    {as_hashtag, OPAQUE_CODE, OPAQUE_ALL},
    {as_name, OPAQUE_CODE, OPAQUE_ALL},
    {as_footnote, OPAQUE_CODE, OPAQUE_ALL},
    {as_flag, OPAQUE_CODE, OPAQUE_ALL},
    {as_path, OPAQUE_CODE, OPAQUE_ALL},
    {as_language, OPAQUE_CODE, OPAQUE_ALL},
    {as_iban, OPAQUE_CODE, OPAQUE_ALL},
    {as_version, OPAQUE_CODE, OPAQUE_ALL},
    {as_digits, OPAQUE_CODE, OPAQUE_ALL},
    {as_identifier, OPAQUE_CODE, OPAQUE_ALL},
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
    return false;
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

/* Symbols side by side, and dashes that belong to arrows. */
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
