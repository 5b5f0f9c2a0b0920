/* This file translates Apple's strings files ("key" = "value";) and dictionaries of strings with
 * forms for numbers, devices and widths (stringsdict), which are property lists in XML. */
#include "model/base/utf8.h"
#include "server/documents/values.h"
#include "server/markup/markup.h"
#include "server/markup/xml.h"
#include <ctype.h>

/* ---- strings ---- */

static const struct value_escapes escapes = {
    .names = "ntr", .means = "\n\t\r", .written = "\"\\\n\r\t", .capital = true};

/* A value_put. */
static void put_string(struct span_writer *writer, const struct value *value, struct bytes text,
                       bool sound) {
    (void)value;
    (void)sound;
    values_escape(&writer->out, text, &escapes, false);
}

static int refuse(const struct values *values, const char *at, const char *what) {
    return markup_error_at(values->err, values->document->source, at, "%s", what);
}

/* Skips white space and comments. */
static int skip_space(const struct values *values, const char **at, const char *end) {
    while (*at < end) {
        const char *stop = *at + 1;
        bool line = bytes_begin(*at, end, "//"), comment = bytes_begin(*at, end, "/*");
        if (line)
            stop = memchr(*at, '\n', (size_t)(end - *at));
        else if (comment)
            stop = memmem(*at + 2, (size_t)(end - *at - 2), "*/", 2);
        else if (!byte_is_space(**at))
            return 0;
        if (comment && !stop)
            return refuse(values, *at, "unterminated comment");
        *at = !stop ? end : comment ? stop + 2 : stop;
    }
    return 0;
}

/* Reads a string, with or without quotation marks; *raw has none. */
static int read_string(const struct values *values, const char **at, const char *end,
                       struct bytes *raw, bool *quoted) {
    const char *begin = *at, *stop = begin;
    *quoted = begin < end && *begin == '"';
    if (*quoted) {
        for (stop = ++begin; stop < end && *stop != '"';)
            stop += *stop == '\\' && stop + 1 < end ? 2 : 1;
        if (stop >= end)
            return refuse(values, begin - 1, "unterminated string");
    } else {
        while (stop < end && (isalnum((unsigned char)*stop) || strchr("_-$./:", *stop)))
            stop++;
        if (stop == begin)
            return refuse(values, begin, "a string is expected here");
    }
    *raw = bytes_between(begin, stop);
    *at = stop + *quoted;
    return 0;
}

int apple_read_strings(const struct document *document, struct arena *arena, struct markup *out,
                       struct error *err) {
    const char *at = document->source, *end = at + document->length, *first = at;
    while (first < end && byte_is_space(*first))
        first++;
    if (bytes_begin(first, end, "<?xml") || bytes_begin(first, end, "<!DOCTYPE") ||
        bytes_begin(first, end, "<plist"))
        return apple_read_plist(document, arena, out, err);
    struct values *values = values_open(document, arena, put_string, err);
    if (!values)
        return -1;
    values->judged = true;
    for (;;) {
        struct bytes key, raw = nothing, name, text;
        bool quoted;
        if (skip_space(values, &at, end) != 0)
            return -1;
        if (at == end || values->builder.failed)
            break;
        if (read_string(values, &at, end, &key, &quoted) != 0 || skip_space(values, &at, end) != 0)
            return -1;
        bool assigned = at < end && *at == '=';
        at += assigned;
        if (assigned && (skip_space(values, &at, end) != 0 ||
                         read_string(values, &at, end, &raw, &quoted) != 0 ||
                         skip_space(values, &at, end) != 0))
            return -1;
        if (at == end || *at != ';')
            return refuse(values, at,
                          assigned ? "a semicolon is expected here"
                                   : "an equals sign or a semicolon is expected here");
        at++;
        if (assigned && quoted && values_unescape(key, &escapes, arena, &name) &&
            values_unescape(raw, &escapes, arena, &text))
            values_add(values, &(struct value){.begin = raw.start,
                                               .end = raw.start + raw.length,
                                               .text = text,
                                               .name = bytes_same(name, text) ? nothing : name,
                                               .notations = values_percents(text)});
    }
    return values_build(values, out, err);
}

/* ---- property lists ---- */

/* A value_put. */
static void put_xml(struct span_writer *writer, const struct value *value, struct bytes text,
                    bool sound) {
    (void)value;
    (void)sound;
    lines_escape_markup(&writer->out, text.start, text.length);
}

int apple_read_plist(const struct document *document, struct arena *arena, struct markup *out,
                     struct error *err) {
    struct values *values = values_open(document, arena, put_xml, err);
    struct xml_scan scan;
    struct xml_token token, open = {.kind = XML_OTHER};
    struct bytes key = nothing;
    const char *before = document->source, *key_before = before; /* the end of the last tag */
    struct plural_branch *other = NULL;                          /* of the current dictionary */
    unsigned present = 0;
    int found;
    if (!values)
        return -1;
    values->judged = true;
    xml_scan_begin(&scan, (struct bytes){document->source, document->length}, true, NULL);
    for (; (found = xml_next(&scan, &token, err)) == 1 && !values->builder.failed;
         before = token.kind == XML_TEXT ? before : token.end) {
        if (token.kind == XML_START) {
            open = token;
            key_before = bytes_are(token.name, "key") ? before : key_before;
        }
        if (token.kind == XML_START && bytes_are(token.name, "dict")) {
            other = NULL;
            present = 0;
        }
        if (token.kind != XML_END || open.kind != XML_START || !bytes_same(open.name, token.name))
            continue;
        struct bytes raw = bytes_between(open.end, token.begin), text;
        open.kind = XML_OTHER;
        if (!values_decode_xml(document->source, raw, arena, &text))
            continue;
        if (bytes_are(token.name, "key")) {
            size_t category = plurals_category(text);
            key = text;
            present |= 1U << category;
            if (category == PLURAL_OTHER && present != 1U << PLURAL_CATEGORIES && !other &&
                (other = spans_begin_plural(&values->spans, &values->builder, key_before)))
                other->name = raw;
        } else if (bytes_are(token.name, "string") &&
                   (!bytes_begin(key.start, key.start + key.length, "NSString") ||
                    bytes_are(key, "NSStringLocalizedFormatKey")))
            values_add(values, &(struct value){.begin = raw.start,
                                               .end = raw.start + raw.length,
                                               .text = text,
                                               .name = key,
                                               .notations = values_percents(text)});
        if (other && !other->end && bytes_are(token.name, "string"))
            spans_end_plural(&values->spans, &values->builder, other, token.end);
        if (other)
            other->present = present;
    }
    return found < 0 ? -1 : values_build(values, out, err);
}
