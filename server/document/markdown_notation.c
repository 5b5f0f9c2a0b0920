#include "server/document/markdown_notation.h"
#include "model/text/character.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REFERENCE = 40 };

bool markdown_is_mark(char c) {
    return ispunct((unsigned char)c) != 0;
}

size_t markdown_reference_length(const char *at, const char *end) {
    const char *c = at + 1;
    while (c < end && c - at < MOST_REFERENCE && (isalnum((unsigned char)*c) || *c == '#'))
        c++;
    return c < end && *c == ';' && c > at + 1 ? (size_t)(c + 1 - at) : 0;
}

const char *markdown_decode(const char *reference, size_t bytes, char buffer[4], size_t *length) {
    static const char *const known[][2] = {
        {"amp", "&"},        {"lt", "<"},         {"gt", ">"},         {"quot", "\""},      {"apos", "'"},
        {"nbsp", "\u00a0"},  {"copy", "\u00a9"},  {"reg", "\u00ae"},   {"trade", "\u2122"}, {"hellip", "\u2026"},
        {"mdash", "\u2014"}, {"ndash", "\u2013"}, {"laquo", "\u00ab"}, {"raquo", "\u00bb"}, {"lsquo", "\u2018"},
        {"rsquo", "\u2019"}, {"ldquo", "\u201c"}, {"rdquo", "\u201d"}, {"bull", "\u2022"},  {"middot", "\u00b7"},
        {"times", "\u00d7"}, {"deg", "\u00b0"},   {"euro", "\u20ac"},  {"shy", "\u00ad"},
    };
    const char *name = reference + 1;
    size_t name_length = bytes - 2;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i][0]) == name_length && memcmp(known[i][0], name, name_length) == 0) {
            *length = strlen(known[i][1]);
            return known[i][1];
        }
    bool hexadecimal = name_length > 2 && (name[1] == 'x' || name[1] == 'X');
    long number = *name == '#' && name_length < 10 ? strtol(name + 1 + hexadecimal, NULL, hexadecimal ? 16 : 10) : 0;
    if (number < ' ' || number > 0x10ffff || (number >= 0xd800 && number < 0xe000))
        return NULL;
    *length = character_put((int32_t)number, buffer);
    return buffer;
}

const char *markdown_skip_marks(const char *at, const char *end, char mark, size_t count) {
    for (; count > 0; count--, at++)
        if (at == end || *at != mark)
            return NULL;
    return at;
}

const char *markdown_skip_space(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

const char *markdown_skip_line_end(const char *at, const char *end) {
    at = markdown_skip_space(at, end);
    if (at == end || (*at != '\n' && *at != '\r'))
        return NULL;
    at += *at == '\r' && at + 1 < end && at[1] == '\n' ? 2 : 1;
    while (at < end && (*at == ' ' || *at == '\t' || *at == '>'))
        at++;
    return at;
}

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && isspace((unsigned char)*at))
        at++;
    return at;
}

const char *markdown_skip_until(const char *at, const char *end, char mark) {
    for (; at < end; at++) {
        if (*at == '\\' && at + 1 < end)
            at++;
        else if (*at == mark)
            return at + 1;
    }
    return NULL;
}

/* An address in parentheses that nest, or in angles. */
static const char *skip_address(const char *at, const char *end) {
    size_t depth = 0;
    if (at < end && *at == '<')
        return markdown_skip_until(at + 1, end, '>');
    for (; at < end && !isspace((unsigned char)*at) && (*at != ')' || depth > 0); at++) {
        if (*at == '\\' && at + 1 < end)
            at++;
        else if (*at == '(')
            depth++;
        else if (*at == ')')
            depth--;
    }
    return at;
}

/* (address "title"); NULL: it is none. */
static const char *skip_target(const char *at, const char *end) {
    const char *address = at < end && *at == '(' ? skip_address(skip_blanks(at + 1, end), end) : NULL;
    if (!address)
        return NULL;
    at = skip_blanks(address, end);
    if (at < end && at > address && strchr("\"'(", *at)) {
        const char *behind = markdown_skip_until(at + 1, end, *at == '(' ? ')' : *at);
        at = behind ? skip_blanks(behind, end) : end;
    }
    return at < end && *at == ')' ? at + 1 : NULL;
}

const char *markdown_skip_link_end(const char *at, const char *end) {
    at = markdown_skip_marks(at, end, ']', 1);
    const char *target = at ? skip_target(at, end) : NULL;
    if (target || !at || at == end || *at != '[')
        return target ? target : at;
    const char *name = markdown_skip_until(at + 1, end, ']');
    return name ? name : at;
}

/* ---- text as Markdown ---- */

/* Only indentation and marks of blocks stand before it in its line. */
static bool begins_block(const struct html_buffer *out) {
    size_t at = out->length;
    while (at > 0 && strchr(" \t>*+-#.)0123456789|", out->bytes[at - 1]))
        at--;
    return at == 0 || out->bytes[at - 1] == '\n' || out->bytes[at - 1] == '\r';
}

/* Of text that begins a block: the byte before which an escape keeps it from being a list, a heading or a quotation; length: none.
 */
static size_t block_mark(const char *text, size_t length) {
    size_t digits = 0;
    while (digits < length && isdigit((unsigned char)text[digits]))
        digits++;
    if (length > 0 && strchr("#>+-=", *text))
        return 0;
    return digits > 0 && digits < length && (text[digits] == '.' || text[digits] == ')') ? digits : length;
}

/* Of ASCII letters and digits; every other character counts as one. */
static bool is_of_word(char c) {
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

static bool is_marked(const char *text, size_t length, size_t at) {
    bool inside = at > 0 && at + 1 < length && is_of_word(text[at - 1]) && is_of_word(text[at + 1]);
    switch (text[at]) {
    case '\\':
    case '`':
    case '*':
    case '[':
    case ']':
    case '<':
    case '|':
        return true;
    case '_':
        return !inside;
    case '~':
        return at + 1 < length ? text[at + 1] == '~' : at > 0 && text[at - 1] == '~';
    case '&':
        return markdown_reference_length(text + at, text + length) > 0;
    default:
        return false;
    }
}

void markdown_escape(struct html_buffer *out, const char *text, size_t length) {
    size_t first = length > 0 && begins_block(out) ? block_mark(text, length) : length;
    for (size_t at = 0, plain = 0; at <= length; at++) {
        bool marked = at < length && (at == first || is_marked(text, length, at));
        if (!marked && at < length)
            continue;
        html_put(out, text + plain, at - plain);
        if (marked)
            html_put(out, "\\", 1);
        plain = at;
    }
}
