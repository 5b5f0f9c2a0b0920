#include "server/documents/po_directive.h"
#include <ctype.h>
#include <string.h>

enum { MOST_BYTES = 64 /* of one in braces */ };

/* ---- flags ---- */

static const struct {
    const char *flag;
    unsigned notations;
} flags[] = {
    {"c-format", PO_PERCENT | PO_NUMBERED},
    {"objc-format", PO_PERCENT | PO_NUMBERED},
    {"php-format", PO_PERCENT | PO_NUMBERED},
    {"perl-format", PO_PERCENT | PO_NUMBERED},
    {"java-printf-format", PO_PERCENT | PO_NUMBERED},
    {"ruby-format", PO_PERCENT | PO_NUMBERED},
    {"awk-format", PO_PERCENT | PO_NUMBERED},
    {"pascal-format", PO_PERCENT},
    {"object-pascal-format", PO_PERCENT},
    {"python-format", PO_PERCENT},
    {"javascript-format", PO_PERCENT},
    {"lua-format", PO_PERCENT},
    {"tcl-format", PO_PERCENT | PO_NUMBERED},
    {"gcc-internal-format", PO_PERCENT | PO_NUMBERED},
    {"gfc-internal-format", PO_PERCENT},
    {"elisp-format", PO_PERCENT},
    {"librep-format", PO_PERCENT},
    {"ycp-format", PO_QT},
    {"boost-format", PO_QT | PO_PERCENT},
    {"qt-format", PO_QT},
    {"qt-plural-format", PO_QT},
    {"kde-format", PO_QT},
    {"kde-kuit-format", PO_QT},
    {"python-brace-format", PO_BRACES},
    {"perl-brace-format", PO_BRACES},
    {"java-format", PO_BRACES},
    {"csharp-format", PO_BRACES},
    {"c++-format", PO_BRACES},
    {"rust-format", PO_BRACES},
    {"sh-format", PO_DOLLAR},
};

static unsigned notations_of(struct html_bytes flag) {
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (bytes_are(flag, flags[i].flag))
            return flags[i].notations;
    return 0;
}

unsigned po_notations(const struct po_message *message) {
    struct html_bytes line, flag;
    unsigned notations = 0;
    for (const char *next = message->begin; po_next_comment(message, &next, &line);)
        for (const char *at = NULL; po_next_flag(line, &at, &flag);)
            notations |= notations_of(flag);
    return notations;
}

/* ---- directives ---- */

static const char *skip(const char *at, const char *end, const char *set) {
    while (at < end && *at && strchr(set, *at))
        at++;
    return at;
}

static const char *skip_name(const char *at, const char *end) {
    while (at < end && (isalnum((unsigned char)*at) || *at == '_'))
        at++;
    return at;
}

static const char digits[] = "0123456789";

/* Behind what two marks hold, such as %(name) and %<PRIu64>; at itself: nothing does. */
static const char *skip_held(const char *at, const char *end, const char *open, const char *close) {
    const char *mark = at < end && *at ? strchr(open, *at) : NULL;
    if (!mark)
        return at;
    size_t most = (size_t)(end - at) < MOST_BYTES ? (size_t)(end - at) : MOST_BYTES;
    const char *behind = memchr(at, close[mark - open], most);
    return behind && !memchr(at, '\n', (size_t)(behind - at)) ? behind + 1 : at;
}

/* "%-5.2lf", "%1$s", "%(name)s", "%<PRIu64>", "%{name}", "%%". Behind it; NULL: it is none. */
static const char *percent_end(const char *at, const char *end) {
    if (++at < end && *at == '%')
        return at + 1;
    const char *number = skip(at, end, digits);
    if (number > at && number < end && *number == '$')
        at = number + 1;
    const char *held = skip_held(at, end, "(<{", ")>}");
    if (held > at && *at == '{')
        return held;
    at = skip(held, end, "-+ #0',I");
    at = skip(at, end, "0123456789*$");
    if (at < end && *at == '.')
        at = skip(at + 1, end, "0123456789*$");
    held = skip_held(at, end, "<", ">");
    if (held > at)
        return held;
    at = skip(at, end, "hlLqjztw");
    if (at < end && (isalpha((unsigned char)*at) || *at == '@'))
        return at + 1;
    return at[-1] != '%' && isalpha((unsigned char)at[-1]) ? at : NULL; /* %l, %t and such without a letter behind */
}

/* "%1", "%L1", "%n", "%1%". */
static const char *qt_end(const char *at, const char *end) {
    const char *number = skip(at + 1, end, "L"), *behind = skip(number, end, digits);
    if (behind > number)
        return behind < end && *behind == '%' ? behind + 1 : behind;
    return at + 1 < end && (at[1] == 'n' || at[1] == '%') ? at + 2 : NULL;
}

/* Braces may hold braces: {:{width}}. "{{" and "}}" stand for one. */
static const char *braces_end(const char *at, const char *end) {
    size_t depth = 0;
    const char *begin = at;
    if (end - at > 1 && at[1] == *at)
        return at + 2;
    for (; *begin == '{' && at < end && at - begin < MOST_BYTES && *at != '\n'; at++) {
        depth += *at == '{';
        depth -= *at == '}';
        if (depth == 0)
            return at + 1;
    }
    return NULL;
}

static const char *dollar_end(const char *at, const char *end) {
    const char *held = skip_held(at + 1, end, "{", "}"), *name = skip_name(at + 1, end);
    return held > at + 1 ? held : name > at + 1 ? name : NULL;
}

size_t po_directive_at(unsigned notations, const char *at, const char *end) {
    const char *behind = NULL;
    if (*at == '%' && notations & PO_PERCENT)
        behind = percent_end(at, end);
    if (*at == '%' && !behind && notations & PO_QT)
        behind = qt_end(at, end);
    if ((*at == '{' || *at == '}') && notations & PO_BRACES)
        behind = braces_end(at, end);
    if (*at == '$' && notations & PO_DOLLAR)
        behind = dollar_end(at, end);
    return behind ? (size_t)(behind - at) : 0;
}

/* Something of the notation stands in what looks like an address. */
static bool holds_directive(const struct po_scan *scan, struct span span) {
    for (size_t i = span.begin; i < span.end; i++)
        if (po_directive_at(scan->notations, scan->text + i, scan->text + scan->length) > 0)
            return true;
    return false;
}

static void find_other(struct po_scan *scan) {
    bool ahead = scan->has_other && scan->other.begin >= scan->at;
    while (!ahead && scan->other_at < scan->length) {
        if (scan->other_at < scan->at)
            scan->other_at = scan->at;
        struct opaque_run run;
        ahead = opaque_next(OPAQUE_PLACEHOLDERS, scan->text, scan->length, &scan->other_at, &run);
        if (ahead)
            scan->other = (struct span){run.begin, run.end};
        ahead = ahead && !holds_directive(scan, scan->other);
    }
    scan->has_other = ahead;
}

bool po_scan_next(struct po_scan *scan, struct span *found) {
    find_other(scan);
    size_t end = scan->has_other ? scan->other.begin : scan->length;
    for (size_t i = scan->at; i < end; i++) {
        size_t length = po_directive_at(scan->notations, scan->text + i, scan->text + scan->length);
        if (length == 0)
            continue;
        *found = (struct span){i, i + length};
        scan->at = i + length;
        return true;
    }
    if (!scan->has_other)
        return false;
    *found = scan->other;
    scan->at = scan->other.end;
    return true;
}

bool po_takes_next(unsigned notations, const char *directive, size_t length) {
    if (*directive == '{')
        return notations & PO_BRACES && length > 1 && (directive[1] == '}' || directive[1] == ':' || directive[1] == '!');
    bool none = length == 2 && strchr("%mn", directive[1]), named = length > 1 && strchr("({<", directive[1]);
    bool of_type = length > 4 && memcmp(directive + 1, "<PRI", 4) == 0;
    bool in_order = notations & PO_PERCENT && !(notations & PO_QT);
    return in_order && *directive == '%' && length > 1 && !none && (!named || of_type) && !memchr(directive, '$', length);
}

bool po_can_be_numbered(const char *directive, size_t length) {
    return *directive == '%' && !memchr(directive, '*', length);
}
