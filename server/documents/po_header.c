#include "server/documents/po_header.h"
#include <string.h>
#include <strings.h>

/* ---- forms ---- */

/* GNU gettext's manual, "Plural forms", and its table of languages (plural-table.c). */
static const struct {
    const char *languages; /* separated by spaces; first that fits */
    struct po_plurals plurals;
} table[] = {
    {"ja zh ko vi th id ms lo my km", {1, 0, "nplurals=1; plural=0;"}},
    {"fr pt_br oc", {2, 0, "nplurals=2; plural=(n > 1);"}},
    {"lv", {3, 0, "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2);"}},
    {"ga", {3, 0, "nplurals=3; plural=n==1 ? 0 : n==2 ? 1 : 2;"}},
    {"ro", {3, 0, "nplurals=3; plural=n==1 ? 0 : (n==0 || (n%100 > 0 && n%100 < 20)) ? 1 : 2;"}},
    {"lt", {3, 0, "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && (n%100<10 || n%100>=20) ? 1 : 2);"}},
    {"ru uk be sr hr bs",
     {3, 0, "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);"}},
    {"cs sk", {3, 0, "nplurals=3; plural=(n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2;"}},
    {"pl", {3, 0, "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);"}},
    {"sl", {4, 0, "nplurals=4; plural=(n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3);"}},
    {"ar", {6, 1, "nplurals=6; plural=n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5;"}},
};
static const struct po_plurals usual = {2, 0, "nplurals=2; plural=(n != 1);"};

/* '-' and '_' are the same, and so are letters of either case. */
static bool is_code(const char *listed, size_t length, const char *code, size_t code_length) {
    if (length != code_length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (strncasecmp(listed + i, code + i, 1) != 0 && !(listed[i] == '_' && code[i] == '-'))
            return false;
    return true;
}

/* The whole code is in the list, or its language alone. */
static bool is_listed(const char *list, const char *code, size_t length) {
    for (const char *at = list; *at; at += strspn(at, " ")) {
        size_t bytes = strcspn(at, " ");
        if (is_code(at, bytes, code, length))
            return true;
        at += bytes;
    }
    return false;
}

const struct po_plurals *po_plurals_of(const char *language) {
    size_t lengths[] = {strlen(language), strcspn(language, "-_@")};
    for (size_t whole = 0; whole < 2; whole++)
        for (size_t i = 0; i < sizeof table / sizeof *table; i++)
            if (is_listed(table[i].languages, language, lengths[whole]))
                return &table[i].plurals;
    return &usual;
}

/* ---- fields ---- */

static const char language_field[] = "Language", type_field[] = "Content-Type", plural_field[] = "Plural-Forms";

static bool is_field(const struct line *line, const char *name) {
    size_t length = strlen(name), bytes = (size_t)(line->end - line->begin);
    return bytes > length && strncasecmp(line->begin, name, length) == 0 && line->begin[length] == ':';
}

/* False: there is none. */
static bool find_line(struct html_bytes header, const char *name, struct line *line) {
    *line = (struct line){.next = header.start};
    while (line_next(line, header.start + header.length))
        if (is_field(line, name))
            return true;
    return false;
}

/* Length 0: there is none, or it is empty. */
static struct html_bytes find_field(struct html_bytes header, const char *name) {
    struct line line;
    if (!find_line(header, name, &line))
        return (struct html_bytes){"", 0};
    line.begin += strlen(name) + 1;
    return line_trimmed(&line);
}

/* What stands behind `name=` in a field, up to a semicolon or white space. */
static struct html_bytes find_parameter(struct html_bytes field, const char *name) {
    size_t length = strlen(name);
    const char *end = field.start + field.length;
    for (const char *at = field.start; (size_t)(end - at) > length; at++) {
        if (strncasecmp(at, name, length) != 0 || at[length] != '=')
            continue;
        const char *behind = at + length + 1;
        while (behind < end && !strchr("; \t", *behind))
            behind++;
        return bytes_between(at + length + 1, behind);
    }
    return (struct html_bytes){end, 0};
}

size_t po_header_forms(struct html_bytes header) {
    struct html_bytes number = find_parameter(find_field(header, plural_field), "nplurals");
    size_t forms = 0;
    for (size_t i = 0; i < number.length && i < 3; i++) {
        if (number.start[i] < '0' || number.start[i] > '9')
            return 0;
        forms = forms * 10 + (size_t)(number.start[i] - '0');
    }
    return forms <= PO_MOST_FORMS ? forms : 0;
}

static bool is_charset(struct html_bytes charset, const char *name) {
    return charset.length == strlen(name) && strncasecmp(charset.start, name, charset.length) == 0;
}

bool po_header_is_utf8(struct html_bytes header, struct html_bytes *charset) {
    static const char *const known[] = {"UTF-8", "UTF8", "US-ASCII", "ASCII", "CHARSET" /* of a template */};
    *charset = find_parameter(find_field(header, type_field), "charset");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is_charset(*charset, known[i]))
            return true;
    return charset->length == 0;
}

/* Two rules are written alike, but for white space, brackets and the final semicolon. */
static bool is_same_rule(struct html_bytes a, struct html_bytes b) {
    static const char ignored[] = " \t();";
    size_t i = 0, j = 0;
    for (;; i++, j++) {
        while (i < a.length && strchr(ignored, a.start[i]))
            i++;
        while (j < b.length && strchr(ignored, b.start[j]))
            j++;
        if (i == a.length || j == b.length)
            return i == a.length && j == b.length;
        if (a.start[i] != b.start[j])
            return false;
    }
}

/* The header has a rule that holds for the language. A header that names no language may have been copied from a file in another:
 * its rule holds if it is the one that this language has. */
static bool has_rule(struct html_bytes header, const char *language) {
    struct html_bytes field = find_field(header, language_field);
    if (po_header_forms(header) == 0)
        return false;
    if (field.length > 0)
        return bytes_are_language(field, language);
    const char *own = po_plurals_of(language)->rule;
    return is_same_rule(find_field(header, plural_field), (struct html_bytes){own, strlen(own)});
}

struct po_plurals po_header_plurals(struct html_bytes header, const char *language) {
    struct po_plurals plurals = *po_plurals_of(language);
    size_t forms = po_header_forms(header);
    if (has_rule(header, language) && forms != plurals.forms)
        return (struct po_plurals){forms, 0, NULL};
    return plurals;
}

/* ---- out ---- */

static void put_field(struct html_buffer *out, const char *name, const char *value, size_t length) {
    html_put_string(out, name);
    html_put_string(out, ": ");
    html_put(out, value, length);
    html_put_string(out, "\n");
}

/* A locale's name has '_'. */
static void put_language(struct html_buffer *out, const char *language) {
    put_field(out, language_field, language, strlen(language));
    for (size_t i = out->length; !out->failed && i-- > out->length - strlen(language) - 1;)
        if (out->bytes[i] == '-')
            out->bytes[i] = '_';
}

static void put_type(struct html_buffer *out) {
    static const char type[] = "text/plain; charset=UTF-8";
    put_field(out, type_field, type, sizeof type - 1);
}

/* What is in it, as far as it matters. */
struct known {
    const char *language, *rule;
    bool in_language, has_rule, utf8;
};

/* A field that is there: what must be otherwise is. */
static void put_known(struct html_buffer *out, const struct known *known, const struct line *line) {
    if (is_field(line, language_field) && !known->in_language)
        put_language(out, known->language);
    else if (is_field(line, plural_field) && !known->has_rule)
        put_field(out, plural_field, known->rule, strlen(known->rule));
    else if (is_field(line, type_field) && !known->utf8)
        put_type(out);
    else
        html_put(out, line->begin, (size_t)(line->next - line->begin));
}

static bool has_field(struct html_bytes header, const char *name) {
    struct line line;
    return find_line(header, name, &line);
}

void po_header_put(struct html_buffer *out, struct html_bytes header, const char *language) {
    const char *rule = po_plurals_of(language)->rule;
    struct line line = {.next = header.start};
    struct html_bytes charset;
    struct known known = {.language = language,
                          .rule = rule,
                          .in_language = bytes_are_language(find_field(header, language_field), language),
                          .has_rule = has_rule(header, language),
                          .utf8 = po_header_is_utf8(header, &charset) && is_charset(charset, "UTF-8")};
    while (line_next(&line, header.start + header.length))
        put_known(out, &known, &line);
    if (header.length > 0 && header.start[header.length - 1] != '\n')
        html_put_string(out, "\n");
    if (!has_field(header, language_field))
        put_language(out, language);
    if (!has_field(header, "MIME-Version"))
        put_field(out, "MIME-Version", "1.0", 3);
    if (!has_field(header, type_field))
        put_type(out);
    if (!has_field(header, "Content-Transfer-Encoding"))
        put_field(out, "Content-Transfer-Encoding", "8bit", 4);
    if (!has_field(header, plural_field))
        put_field(out, plural_field, rule, strlen(rule));
}
