/* This file translates Fluent (ftl): the texts of messages, their attributes and the variants of
 * selectors. Placeables stay. Terms, which are names of products and the like, stay, too, and so do
 * keys of the keyboard. Text has no escapes, so that it stands in the file as it is read. */
#include "server/documents/values.h"
#include <ctype.h>

enum { MOST_DEPTH = 32, MOST_NAME = 128 };

struct reader {
    struct values *values;
    const char *at, *end;
    struct bytes name; /* of the message or attribute */
    bool stays;
};

/* The variants of a selector. */
struct variants {
    unsigned present;            /* categories among them, as bits */
    bool numbers;                /* all are categories or numbers */
    struct plural_branch *other; /* NULL: none */
    bool open;                   /* the branch has not ended */
};

/* A value_put. A line that began with one of these marks would not be read as text. */
static void put_text(struct span_writer *writer, const struct value *value, struct bytes text,
                     bool sound) {
    bool first = true, wrong = false;
    struct line line = {.next = text.start};
    (void)sound;
    while (lines_next(&line, text.start + text.length)) {
        struct bytes says = lines_trimmed(&line);
        wrong |= !first && says.length > 0 && memchr("[*.}", *says.start, 4);
        first = false;
    }
    if (wrong)
        text = value->text;
    bytes_put(&writer->out, text.start, text.length);
}

/* Adds the text [begin,end) of a pattern, without the white space around it. */
static void add_text(struct reader *reader, const char *begin, const char *end) {
    while (begin < end && byte_is_space(*begin))
        begin++;
    while (end > begin && byte_is_space(end[-1]))
        end--;
    if (begin < end && !reader->stays)
        values_add(reader->values, &(struct value){.begin = begin,
                                                   .end = end,
                                                   .text = bytes_between(begin, end),
                                                   .name = reader->name,
                                                   .notations = NOTATION_BLOCKS});
}

/* Returns the place after a string, whose first quotation mark is at `at`. It ends in its line. */
static const char *skip_string(const char *at, const char *end) {
    for (at++; at < end && *at != '"' && *at != '\n'; at++)
        at += *at == '\\' && at + 1 < end;
    return at < end && *at == '"' ? at + 1 : at;
}

/* Returns the end of a placeable that begins at `at`, or of the file. *selects: it has variants. */
static const char *skip_placeable(const char *at, const char *end, bool *selects) {
    size_t depth = 0;
    *selects = false;
    while (at < end) {
        if (*at == '"') {
            at = skip_string(at, end);
            continue;
        }
        *selects |= depth == 1 && bytes_begin(at, end, "->");
        depth += *at == '{';
        depth -= *at == '}';
        at++;
        if (depth == 0 || *selects)
            return at;
    }
    return end;
}

/* Returns the first character of the next lines that is not white space, if they belong to the
 * entry: they are indented. NULL: the entry ends. */
static const char *next_line(const char *at, const char *end) {
    const char *line = at;
    for (; at < end && byte_is_space(*at); at++)
        line = *at == '\n' ? at + 1 : line;
    return at < end && at > line ? at : NULL;
}

/* Reads an attribute's name and the equals sign after it. */
static bool read_name(struct reader *reader, const char *at, const char **after) {
    const char *begin = at, *end = reader->end;
    while (at < end && at - begin < MOST_NAME &&
           (isalnum((unsigned char)*at) || *at == '-' || *at == '_'))
        at++;
    const char *stop = at;
    while (at < end && *at == ' ')
        at++;
    if (stop == begin || at == end || *at != '=')
        return false;
    reader->name = bytes_between(begin, stop);
    *after = at + 1;
    return true;
}

/* Notes the variant whose key is between [begin, close), with its bracket and the star of the
 * default. */
static void open_variant(struct reader *reader, struct variants *variants, const char *begin,
                         const char *close) {
    struct values *values = reader->values;
    const char *name = begin + (*begin == '*') + 1, *stop = close, *before = begin;
    while (name < stop && byte_is_space(*name))
        name++;
    while (stop > name && byte_is_space(stop[-1]))
        stop--;
    size_t category = plurals_category(bytes_between(name, stop));
    variants->present |= category < PLURAL_CATEGORIES ? 1U << category : 0;
    variants->numbers &= category < PLURAL_CATEGORIES || isdigit((unsigned char)*name);
    while (byte_is_space(before[-1]))
        before--;
    if (category != PLURAL_OTHER || variants->other || reader->stays)
        return;
    variants->other = spans_begin_plural(&values->spans, &values->builder, before);
    variants->open = variants->other != NULL;
    if (variants->other) {
        variants->other->name = bytes_between(begin, stop);
        variants->other->lead = *begin == '*' ? " [" : "[";
    }
}

/* Ends the variant whose text ends there, with white space. */
static void close_variant(struct reader *reader, struct variants *variants, const char *text,
                          const char *end) {
    while (end > text && byte_is_space(end[-1]))
        end--;
    if (variants->open)
        spans_end_plural(&reader->values->spans, &reader->values->builder, variants->other, end);
    variants->open = false;
}

/* Ends a selector. Only that of a number has forms. */
static void close_selector(struct variants *variants) {
    bool plural = variants->numbers && (variants->present & (variants->present - 1)) != 0;
    if (variants->other && plural)
        variants->other->present = variants->present;
    else if (variants->other)
        variants->other->name.start = NULL;
}

/* Reads a pattern and its selectors, from reader->at on. Returns -1 if they nest too deep. */
static int read_pattern(struct reader *reader) {
    const char *at = reader->at, *end = reader->end, *text = at;
    bool code[MOST_DEPTH] = {false}; /* inside of a selector, between its variants */
    struct variants variants[MOST_DEPTH];
    size_t depth = 0;
    while (at < end) {
        const char *next = *at == '\n' ? next_line(at, end) : at;
        if (code[depth]) {
            bool variant = *at == '[' || (*at == '*' && at + 1 < end && at[1] == '[');
            const char *close = variant ? memchr(at, ']', (size_t)(end - at)) : NULL;
            if (close && depth + 1 < MOST_DEPTH) {
                open_variant(reader, &variants[depth], at, close);
                text = at = close + 1;
                code[++depth] = false;
            } else if (*at == '}') {
                close_selector(&variants[depth]);
                text = at = at + 1;
                depth--;
                code[depth] = false;
            } else if (close) {
                return markup_error_at(reader->values->err, reader->values->document->source, at,
                                       "selectors nest deeper than %d", MOST_DEPTH / 2);
            } else {
                at = *at == '"' ? skip_string(at, end) : at + 1;
            }
        } else if (*at == '{') {
            bool selects;
            const char *after = skip_placeable(at, end, &selects);
            if (selects && depth + 1 == MOST_DEPTH)
                return markup_error_at(reader->values->err, reader->values->document->source, at,
                                       "selectors nest deeper than %d", MOST_DEPTH / 2);
            if (selects) {
                add_text(reader, text, at);
                code[++depth] = true;
                variants[depth] = (struct variants){.numbers = true};
            }
            at = after;
        } else if (depth > 0 && (*at == '}' || (*at == '\n' && next && memchr("[*}", *next, 3)) ||
                                 (*at == '\n' && !next))) {
            /* a variant ends */
            add_text(reader, text, at);
            depth--;
            close_variant(reader, &variants[depth], text, at);
            at = *at == '\n' ? (next ? next : at + 1) : at;
        } else if (depth == 0 && *at == '\n' && (!next || *next == '.' || *next == '}')) {
            break;
        } else {
            at = *at == '\n' ? next : at + 1;
        }
    }
    add_text(reader, text, at);
    for (; depth > 0; depth--) /* the file ends within a selector */
        if (code[depth]) {
            close_variant(reader, &variants[depth], text, at);
            close_selector(&variants[depth]);
        }
    reader->at = at;
    return 0;
}

int fluent_read(const struct document *document, struct arena *arena, struct markup *out,
                struct error *err) {
    struct values *values = values_open(document, arena, put_text, err);
    const char *end = document->source + document->length;
    struct reader reader = {.values = values, .at = document->source, .end = end};
    if (!values)
        return -1;
    values->judged = values->named = true;
    bool inside = false; /* a message has begun, which may have attributes */
    while (reader.at < end && !values->builder.failed) {
        const char *line = reader.at, *at = line, *after;
        while (at < end && *at == ' ')
            at++;
        bool indented = at > line, term = !indented && at < end && *at == '-',
             attribute = inside && indented && at < end && *at == '.';
        if ((attribute || !indented) && read_name(&reader, at + (term || attribute), &after)) {
            reader.stays =
                term || (attribute && (reader.stays ||
                                       bytes_among(reader.name, "accesskey key commandkey style")));
            inside = true;
            reader.at = after;
            if (read_pattern(&reader) != 0)
                return -1;
        } else {
            inside &= indented || at == end || *at == '\n' || *at == '\r';
        }
        const char *feed = memchr(reader.at, '\n', (size_t)(end - reader.at));
        reader.at = feed ? feed + 1 : end;
    }
    return values_build(values, out, err);
}
