/* What tags say. libxml2 knows HTML 4's elements and character references; a table here has what differs and what came later. */
#include "server/html_piece.h"
#include <libxml/HTMLparser.h>
#include <string.h>
#include <strings.h>

enum { NAME_BYTES = 32, LAST_CHARACTER = 0x10FFFF, REPLACEMENT = 0xFFFD };

static const struct row {
    const char *name;
    unsigned flags;
    enum tag_family family;
    int rank;
} table[] = {
    {"article", TAG_BLOCK, FAMILY_NONE, 0},
    {"aside", TAG_BLOCK, FAMILY_NONE, 0},
    {"br", TAG_VOID | TAG_BREAK, FAMILY_NONE, 0},
    {"caption", TAG_BLOCK | TAG_CELL, FAMILY_TABLE, 1},
    {"code", TAG_OPAQUE, FAMILY_NONE, 0},
    {"dd", TAG_BLOCK, FAMILY_DEFINITION, 1},
    {"details", TAG_BLOCK, FAMILY_NONE, 0},
    {"dialog", TAG_BLOCK, FAMILY_NONE, 0},
    {"dt", TAG_BLOCK, FAMILY_DEFINITION, 1},
    {"embed", TAG_VOID, FAMILY_NONE, 0},
    {"figcaption", TAG_BLOCK, FAMILY_NONE, 0},
    {"figure", TAG_BLOCK, FAMILY_NONE, 0},
    {"footer", TAG_BLOCK, FAMILY_NONE, 0},
    {"header", TAG_BLOCK, FAMILY_NONE, 0},
    {"hgroup", TAG_BLOCK, FAMILY_NONE, 0},
    {"iframe", TAG_OPAQUE | TAG_RAW, FAMILY_NONE, 0},
    {"li", TAG_BLOCK, FAMILY_ITEM, 1},
    {"main", TAG_BLOCK, FAMILY_NONE, 0},
    {"math", TAG_OPAQUE, FAMILY_NONE, 0},
    {"nav", TAG_BLOCK, FAMILY_NONE, 0},
    {"noembed", TAG_OPAQUE | TAG_RAW, FAMILY_NONE, 0},
    {"noframes", TAG_OPAQUE | TAG_RAW, FAMILY_NONE, 0},
    {"optgroup", TAG_BLOCK, FAMILY_OPTION, 2},
    {"option", TAG_BLOCK, FAMILY_OPTION, 1},
    {"p", TAG_BLOCK, FAMILY_PARAGRAPH, 1},
    {"pre", TAG_BLOCK | TAG_OPAQUE, FAMILY_NONE, 0},
    {"script", TAG_OPAQUE | TAG_RAW, FAMILY_NONE, 0},
    {"search", TAG_BLOCK, FAMILY_NONE, 0},
    {"section", TAG_BLOCK, FAMILY_NONE, 0},
    {"source", TAG_VOID, FAMILY_NONE, 0},
    {"style", TAG_OPAQUE | TAG_RAW, FAMILY_NONE, 0},
    {"summary", TAG_BLOCK, FAMILY_NONE, 0},
    {"svg", TAG_OPAQUE, FAMILY_NONE, 0},
    {"tbody", TAG_BLOCK | TAG_CELL, FAMILY_TABLE, 3},
    {"td", TAG_BLOCK | TAG_CELL, FAMILY_TABLE, 1},
    {"template", TAG_OPAQUE, FAMILY_NONE, 0},
    {"textarea", TAG_OPAQUE | TAG_RAW, FAMILY_NONE, 0},
    {"tfoot", TAG_BLOCK | TAG_CELL, FAMILY_TABLE, 3},
    {"th", TAG_BLOCK | TAG_CELL, FAMILY_TABLE, 1},
    {"thead", TAG_BLOCK | TAG_CELL, FAMILY_TABLE, 3},
    {"title", TAG_BLOCK | TAG_RAW, FAMILY_NONE, 0},
    {"tr", TAG_BLOCK | TAG_CELL, FAMILY_TABLE, 2},
    {"track", TAG_VOID, FAMILY_NONE, 0},
    {"wbr", TAG_VOID, FAMILY_NONE, 0},
    {"xmp", TAG_BLOCK | TAG_OPAQUE | TAG_RAW, FAMILY_NONE, 0},
};

static int compare_row(const void *key, const void *row) {
    return strcmp(key, ((const struct row *)row)->name);
}

/* An element that nobody knows is inline, as browsers show it. */
static void look_up(struct html_tag *tag) {
    char name[NAME_BYTES];
    if (tag->name_length >= NAME_BYTES)
        return;
    for (size_t i = 0; i < tag->name_length; i++)
        name[i] = tag->name[i] >= 'A' && tag->name[i] <= 'Z' ? (char)(tag->name[i] | 0x20) : tag->name[i];
    name[tag->name_length] = '\0';
    const struct row *row = bsearch(name, table, sizeof table / sizeof *table, sizeof *table, compare_row);
    if (row) {
        tag->flags = row->flags;
        tag->family = row->family;
        tag->rank = row->rank;
        return;
    }
    const htmlElemDesc *known = htmlTagLookup((const xmlChar *)name);
    if (known)
        tag->flags = (known->isinline ? 0 : TAG_BLOCK) | (known->empty ? TAG_VOID : 0);
}

void html_read_name(const char *text, size_t length, size_t at, struct html_tag *tag) {
    size_t end = at;
    while (end < length && !html_is_space(text[end]) && text[end] != '/' && text[end] != '>')
        end++;
    *tag = (struct html_tag){.name = text + at, .name_length = (uint32_t)(end - at)};
    look_up(tag);
}

bool html_same_name(const struct html_tag *a, const struct html_tag *b) {
    return a->name_length == b->name_length && strncasecmp(a->name, b->name, a->name_length) == 0;
}

static bool equals(struct span span, const char *text, const char *word) {
    size_t length = strlen(word);
    return span.end - span.begin == length && strncasecmp(text + span.begin, word, length) == 0;
}

static bool has_word(struct span span, const char *text, const char *word) {
    for (size_t at = span.begin; at < span.end;) {
        size_t begin = at;
        while (at < span.end && !html_is_space(text[at]))
            at++;
        if (equals((struct span){begin, at}, text, word))
            return true;
        at += at < span.end;
    }
    return false;
}

static size_t skip_space(const char *text, size_t length, size_t at) {
    while (at < length && html_is_space(text[at]))
        at++;
    return at;
}

/* The value behind '=': quoted, or up to white space or '>'. Returns what is behind it, or SIZE_MAX. */
static size_t read_value(const char *text, size_t length, size_t at, struct span *value) {
    at = skip_space(text, length, at);
    if (at < length && (text[at] == '"' || text[at] == '\'')) {
        const char *quote = memchr(text + at + 1, text[at], length - at - 1);
        *value = (struct span){at + 1, quote ? (size_t)(quote - text) : length};
        return quote ? value->end + 1 : SIZE_MAX;
    }
    value->begin = at;
    while (at < length && !html_is_space(text[at]) && text[at] != '>')
        at++;
    value->end = at;
    return at;
}

static size_t read_attribute(const char *text, size_t length, size_t at, struct html_tag *tag) {
    struct span name = {at, at + 1}, value = {0}; /* a '=' may begin a name */
    while (name.end < length && !html_is_space(text[name.end]) && !memchr("/>=", text[name.end], 3))
        name.end++;
    size_t next = skip_space(text, length, name.end);
    if (next == length || text[next] != '=')
        return next;
    next = read_value(text, length, next + 1, &value);
    if ((equals(name, text, "translate") && equals(value, text, "no")) ||
        (equals(name, text, "class") && has_word(value, text, "notranslate")))
        tag->flags |= TAG_OPAQUE;
    return next;
}

size_t html_read_tag(const char *text, size_t length, size_t at, struct html_tag *tag) {
    html_read_name(text, length, at + 1, tag);
    at += 1 + tag->name_length;
    while (at < length) {
        if (text[at] == '>') {
            tag->self_closing = text[at - 1] == '/';
            return at + 1;
        }
        if (html_is_space(text[at]) || text[at] == '/')
            at++;
        else
            at = read_attribute(text, length, at, tag);
    }
    return SIZE_MAX;
}

static int32_t read_number(const char *digits, size_t count) {
    bool hexadecimal = count > 0 && (digits[0] == 'x' || digits[0] == 'X');
    int32_t value = 0;
    size_t i = hexadecimal;
    if (i == count)
        return -1;
    for (; i < count; i++) {
        static const char known[] = "0123456789abcdef";
        const char *digit = memchr(known, digits[i] >= 'A' ? digits[i] | 0x20 : digits[i], hexadecimal ? 16 : 10);
        if (!digit)
            return -1;
        value = value > LAST_CHARACTER ? value : value * (hexadecimal ? 16 : 10) + (int32_t)(digit - known);
    }
    bool usable = value > 0 && value <= LAST_CHARACTER && (value & 0x1FF800) != 0xD800;
    return usable ? value : REPLACEMENT;
}

static int32_t read_named(const char *letters, size_t count) {
    char name[NAME_BYTES];
    memcpy(name, letters, count);
    name[count] = '\0';
    for (size_t i = 0; i < count; i++) {
        bool letter = (name[i] | 0x20) >= 'a' && (name[i] | 0x20) <= 'z';
        if (!letter && (i == 0 || name[i] < '0' || name[i] > '9'))
            return -1;
    }
    if (strcmp(name, "apos") == 0) /* of XML and HTML 5 */
        return '\'';
    const htmlEntityDesc *known = htmlEntityLookup((const xmlChar *)name);
    return known ? (int32_t)known->value : 0;
}

int32_t html_read_reference(const char *text, size_t length, size_t at, size_t *end) {
    size_t most = length - at < NAME_BYTES ? length - at : NAME_BYTES;
    const char *semicolon = memchr(text + at, ';', most);
    if (!semicolon || semicolon == text + at + 1)
        return -1;
    size_t count = (size_t)(semicolon - text) - at - 1;
    *end = at + count + 2;
    return text[at + 1] == '#' ? read_number(text + at + 2, count - 1) : read_named(text + at + 1, count);
}
