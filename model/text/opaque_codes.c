#include "model/text/opaque_codes.h"

#include <unicode/uchar.h>

/* Shortcodes are no longer. */
enum { MAX_SHORTCODE = 30 };

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
    for (; at < scan->begin + MAX_SHORTCODE && (is_code_word(peek(scan, at)) || is_one_of(peek(scan, at), "+-")); at++)
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

/* The end of so many digits; at: there are fewer, or more. */
static size_t skip_exactly(const struct scan *scan, size_t at, size_t count) {
    size_t end = skip_digits(scan, at);
    return end - at == count ? end : at;
}

/* 2024-05-01T10:00:00Z, 2024-05-01T10:00+02:00 */
static size_t as_timestamp(const struct scan *scan) {
    size_t day = scan->begin + strlen("2024-05-01"), minutes = day + strlen("T10:00");
    if (!begins_word(scan) || minutes > scan->length || scan->text[day] != 'T' || scan->text[day + 3] != ':' ||
        skip_exactly(scan, scan->begin, 4) == scan->begin || skip_exactly(scan, day + 1, 2) == day + 1 ||
        skip_exactly(scan, day + 4, 2) == day + 4)
        return scan->begin;
    size_t end = minutes;
    if (peek(scan, end) == ':' && skip_exactly(scan, end + 1, 2) > end + 1)
        end += strlen(":00");
    if (is_one_of(peek(scan, end), ".,") && is_digit(peek(scan, end + 1)))
        end = skip_digits(scan, end + 1);
    if (peek(scan, end) == 'Z')
        end++;
    else if (is_one_of(peek(scan, end), "+-") && skip_exactly(scan, end + 1, 2) > end + 1 && peek(scan, end + 3) == ':')
        end = skip_digits(scan, end + 4);
    return ends_word(scan, end) ? end : scan->begin;
}

static bool is_hexadecimal(char c) {
    return is_digit(c) || is_one_of(c, "abcdefABCDEF");
}

/* 00:1b:44:11:3a:b7, 2001:db8::1, ::1: addresses of four groups or more, or with an empty one, and a digit. */
static size_t as_colons(const struct scan *scan) {
    enum { MOST_GROUPS = 16, LONGEST = 4 };
    size_t end = scan->begin, groups = 0, empty = 0, digits = 0;
    if (!begins_word(scan))
        return end;
    while (groups + empty <= MOST_GROUPS) {
        size_t size = 0;
        for (; size <= LONGEST && is_hexadecimal(peek(scan, end + size)); size++)
            digits += is_digit(peek(scan, end + size));
        if (size > LONGEST || (size == 0 && groups + empty == 0 && !(peek(scan, end) == ':' && peek(scan, end + 1) == ':')))
            return scan->begin;
        end += size;
        groups += size > 0;
        bool goes_on = peek(scan, end) == ':' &&
                       (is_hexadecimal(peek(scan, end + 1)) || (peek(scan, end + 1) == ':' && (size > 0 || end == scan->begin)));
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
    if (changes == 1) /* digits, then letters: 4K, 3D */
        return letters > 4 || (letters == 1 && is_upper(text[length - 1]) && digits <= 2);
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

static bool is_constant(char c) {
    return is_capital_or_digit(c) || c == '_';
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
        return scan_trim(&value, value.begin, behind);
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
    return scan_trim(scan, scan->begin + 2, at);
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
    at = scan_trim(scan, begin, at);
    if (at <= begin + 1)
        return begin;
    return rooted || has_suffix(scan->text + begin, at - begin) ? at : begin;
}

/* ---- words with signs in them ---- */

static bool is_raised(int32_t c) {
    return c == 0xb2 || c == 0xb3 || c == 0xb9 || (c >= 0x2070 && c <= 0x209f);
}

/* H₂O, mc², m²: letters with raised or lowered digits among them. */
static size_t as_formula(const struct scan *scan) {
    size_t at = scan->begin, letters = 0, raised = 0;
    if (!begins_word(scan))
        return at;
    for (size_t next; at < scan->begin + MAX_CODE; at = next) {
        int32_t c = character_at(scan, at, &next);
        bool plain = c >= 0 && c < 0x80 && (is_letter((char)c) || is_digit((char)c));
        if (!plain && !is_raised(c))
            break;
        letters += plain && is_letter((char)c);
        raised += !plain;
    }
    return letters > 0 && raised > 0 && ends_word(scan, at) ? at : scan->begin;
}

/* True if a sign joins the two words that it stands between: Ctrl+C, R&D, x^2, key=value. */
static bool joins(const struct scan *scan, char sign, size_t begin, size_t end, size_t after) {
    const char *first = scan->text + begin, *second = scan->text + end + 1;
    switch (sign) {
    case '&':
        return all_in(first, end - begin, is_capital_or_digit) && all_in(second, after - end - 1, is_capital_or_digit);
    case '+':
        return is_upper(*first) && (is_upper(*second) || is_digit(*second));
    default:
        return true;
    }
}

/* The end of the words that signs join to the one at text[at]; at: none does. */
static size_t skip_joined(const struct scan *scan, size_t at) {
    size_t first = at, end = code_end(scan, at);
    while (is_one_of(peek(scan, end), "&+=^") && is_code_word(peek(scan, end + 1))) {
        size_t after = code_end(scan, end + 1);
        if (after == end + 1 || !joins(scan, scan->text[end], first, end, after))
            break;
        first = end + 1;
        end = after;
    }
    return first > at ? end : at;
}

/* Also x^2 + y^2 = 1: an equation continues after a sign between spaces with a joined word, a letter or a number. */
static size_t as_joined(const struct scan *scan) {
    size_t begin = scan->begin, end = begins_word(scan) && is_letter(peek(scan, begin)) ? skip_joined(scan, begin) : begin;
    while (end > begin && peek(scan, end) == ' ' && is_one_of(peek(scan, end + 1), "+-*/=<>") && peek(scan, end + 2) == ' ') {
        size_t next = end + 3, word = code_end(scan, next), joined = skip_joined(scan, next);
        bool operand = joined > next || word == next + 1 || (word > next && all_in(scan->text + next, word - next, is_digit));
        if (!operand)
            break;
        end = joined > next ? joined : word;
    }
    return ends_word(scan, end) ? end : begin;
}

/* doi:10.1000/182, arXiv:1706.03762 */
static size_t as_reference(const struct scan *scan) {
    size_t begin = scan->begin, end = code_end(scan, begin), digits = 0, at = end + 1;
    if (!begins_word(scan) || !is_letter(peek(scan, begin)) || end < begin + 2 || peek(scan, end) != ':' ||
        !is_digit(peek(scan, at)))
        return begin;
    for (; at < begin + MAX_CODE && (is_code_word(peek(scan, at)) || is_one_of(peek(scan, at), "./-")); at++)
        digits += is_digit(scan->text[at]);
    return digits >= 5 ? scan_trim(scan, end + 1, at) : begin;
}

/* \alpha, \n, $HOME */
static size_t as_command(const struct scan *scan) {
    size_t begin = scan->begin, end = code_end(scan, begin + 1), length = end - begin - 1;
    bool command = peek(scan, begin) == '\\' && is_letter(peek(scan, begin + 1));
    bool variable = peek(scan, begin) == '$' && length >= 3 && !is_digit(peek(scan, begin + 1)) &&
                    all_in(scan->text + begin + 1, length, is_constant);
    return begins_word(scan) && (command || variable) && ends_word(scan, end) ? end : begin;
}

/* && != => ||: between white space. */
static size_t as_operator(const struct scan *scan) {
    size_t begin = scan->begin, end = begin, signs = 0;
    if (!begins_chunk(scan))
        return begin;
    for (; end < begin + MAX_CODE && is_one_of(peek(scan, end), "&|<>=!:+-*/^~"); end++)
        signs += is_one_of(scan->text[end], "&|<>=") != 0;
    bool apart = end == scan->length || is_one_of(peek(scan, end), " \t\n.,;?)");
    return signs > 0 && end >= begin + 2 && apart ? end : begin;
}

/* {"a": 1}: braces that begin with a quotation mark, on one line. */
static size_t as_object(const struct scan *scan) {
    size_t begin = scan->begin, at = begin + 1, open = 1;
    at = peek(scan, begin) == '{' ? scan_skip(scan, at, " ") : at;
    if (peek(scan, begin) != '{' || peek(scan, at) != '"')
        return begin;
    for (; open > 0 && at < begin + MAX_CODE && at < scan->length && scan->text[at] != '\n'; at++)
        open += (size_t)(scan->text[at] == '{') - (size_t)(scan->text[at] == '}');
    return open == 0 ? at : begin;
}

/* 20°, 20°C */
static size_t as_degrees(const struct scan *scan) {
    static const char sign[] = "\xc2\xb0";
    size_t begin = scan->begin, at = skip_digits(scan, begin), end = at + strlen(sign);
    if (!begins_word(scan) || at == begin || at > begin + 4 || (begin > 0 && is_one_of(scan->text[begin - 1], ".,")) ||
        end > scan->length || memcmp(scan->text + at, sign, strlen(sign)) != 0)
        return begin;
    end += is_one_of(peek(scan, end), "CF");
    return ends_word(scan, end) ? end : begin;
}

/* ---- finding them ---- */

/* To add a kind: its function, a row, and a line in opaque.h. Of kinds that begin together the first that finds something counts.
 */
static const struct {
    size_t (*end)(const struct scan *scan);
    bool emoji;
} kinds[] = {
    {as_emoticon, true},   {as_shortcode, true}, {as_hashtag, false},  {as_name, false},      {as_footnote, false},
    {as_flag, false},      {as_path, false},     {as_object, false},   {as_command, false},   {as_operator, false},
    {as_formula, false},   {as_degrees, false},  {as_language, false}, {as_iban, false},      {as_version, false},
    {as_timestamp, false}, {as_colons, false},   {as_digits, false},   {as_reference, false}, {as_identifier, false},
    {as_joined, false},
};

size_t opaque_code(const struct scan *scan, bool *emoji) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t end = kinds[i].end(scan);
        if (end > scan->begin) {
            *emoji = kinds[i].emoji;
            return end;
        }
    }
    return scan->begin;
}
