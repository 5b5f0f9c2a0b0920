/* This file translates Android's string resources: string, items of string-array and of plurals.
 * Elements go where their words go, the content of xliff:g and of translatable="false" stays, and
 * so do references to other resources. aapt2 removes quotation marks, collapses white space outside
 * of them, and reads escapes with a backslash. */
#include "server/documents/values.h"
#include "server/markup/xml.h"
#include <ctype.h>

static const struct value_escapes escapes = {.names = "nt",
                                             .means = "\n\t",
                                             .written = "'\"\\\n\t"},
                                  unquoted = {.names = "nt", .means = "\n\t", .written = "'\\\n\t"};

/* How a value is written, as bits. */
enum {
    STYLE_WRITTEN = 1 << 0, /* it has elements, and its pieces are written as they are to stand in
                               the file */
    STYLE_CDATA = 1 << 1,
    STYLE_UNQUOTED = 1 << 2 /* its quotation marks have no backslash, and stay so */
};

/* A markup_escape. */
static void put_escaped(struct bytes_buffer *out, const char *text, size_t length) {
    struct bytes_buffer marked = {.arena = out->arena};
    values_escape(&marked, (struct bytes){text, length}, &escapes, false);
    out->failed |= marked.failed;
    lines_escape_markup(out, marked.bytes, marked.length);
}

/* Puts a text; aapt2 removes a space at either end of it that is outside of quotation marks and
 * not written as an escape. */
static void put_spaced(struct bytes_buffer *out, struct bytes text, const struct value *value) {
    bool spaced = value->begin[-1] != '"' && !(value->style & STYLE_CDATA);
    bool head = spaced && text.length > 0 && *text.start == ' ',
         tail = spaced && text.length > 1 && text.start[text.length - 1] == ' ';
    bytes_put_string(out, head ? "\\u0020" : "");
    values_escape(out, bytes_between(text.start + head, text.start + text.length - tail),
                  value->style & STYLE_UNQUOTED ? &unquoted : &escapes, false);
    bytes_put_string(out, tail ? "\\u0020" : "");
}

/* A value_put. A leading @ or ? would be a reference. */
static void put_text(struct span_writer *writer, const struct value *value, struct bytes text,
                     bool sound) {
    (void)sound;
    bytes_put(&writer->out, "\\", text.length > 0 && (*text.start == '@' || *text.start == '?'));
    struct bytes_buffer made = {.arena = writer->out.arena};
    if (value->style & STYLE_WRITTEN)
        bytes_put(&made, text.start, text.length);
    else
        put_spaced(&made, text, value);
    if (value->style & (STYLE_WRITTEN | STYLE_CDATA))
        bytes_put(&writer->out, made.bytes, made.length);
    else
        lines_escape_markup(&writer->out, made.bytes, made.length);
    writer->out.failed |= made.failed;
}

/* Decodes text as aapt2 does, except that quotation marks stay: white space outside of them is one
 * space. *inside: it begins and ends within quotation marks. */
static bool decode(struct bytes raw, bool *inside, struct arena *arena, struct bytes *out) {
    struct bytes_buffer plain = {.arena = arena};
    bytes_put(&plain, "", 0);
    for (const char *at = raw.start, *end = at + raw.length; at < end; at++) {
        *inside ^= *at == '"';
        bool space = !*inside && byte_is_space(*at);
        if (*at == '\\' && at + 1 < end)
            bytes_put(&plain, at++, 2);
        else if (!space)
            bytes_put(&plain, at, 1);
        else if (at + 1 == end || !byte_is_space(at[1]))
            bytes_put(&plain, " ", 1);
    }
    return !plain.failed &&
           values_unescape((struct bytes){plain.bytes, plain.length}, &escapes, arena, out);
}

/* True if there are quotation marks, none of which has a backslash. */
static bool is_unquoted(struct bytes raw) {
    bool any = false, escaped = false;
    for (size_t i = 0; i < raw.length; i++) {
        any |= raw.start[i] == '"';
        if (raw.start[i] == '\\' && i + 1 < raw.length)
            escaped |= raw.start[++i] == '"';
    }
    return any && !escaped;
}

/* True for a reference to another resource: @string/name, ?attr/name. */
static bool is_reference(struct bytes text) {
    return text.length > 1 && (*text.start == '@' || *text.start == '?') &&
           !memchr(text.start, ' ', text.length);
}

/* Adds text without references to entities of the file, whose lines are texts. */
static bool add_text(struct values *values, const struct xml_token *token, bool *inside) {
    const struct directive_notation notation = {directive_all(bytes_of("c-format")), put_escaped};
    struct piece_builder *builder = &values->builder;
    struct bytes decoded, text;
    if (xml_decode(values->document->source, token, builder->arena, &decoded, NULL) != 0 ||
        !decode(decoded, inside, builder->arena, &text))
        return false;
    for (const char *at = text.start, *end = at + text.length; at < end;) {
        const char *line = memchr(at, '\n', (size_t)(end - at)), *stop = line ? line : end;
        if (stop > at)
            directives_add_lines(builder, bytes_between(at, stop), &notation, NULL);
        if (line)
            piece_add_break(builder, bytes_of("\\n"));
        at = stop + (line != NULL);
    }
    return true;
}

/* Returns the end of a reference to an entity that the file declares, &name;, or NULL. */
static const char *entity_end(const char *at, const char *end) {
    const char *past = at + 1;
    while (past < end && (isalnum((unsigned char)*past) || strchr("_-.", *past)))
        past++;
    bool known = bytes_among(bytes_between(at + 1, past), "amp lt gt quot apos");
    return past < end && *past == ';' && past > at + 1 && !known ? past + 1 : NULL;
}

/* Adds the text between two tags. References to entities of the file are words of it. */
static bool add_run(struct values *values, const struct xml_token *token, bool *inside) {
    struct xml_token part = *token;
    for (const char *at = token->begin; at < token->end;) {
        const char *mark = memchr(at, '&', (size_t)(token->end - at)),
                   *after = mark ? entity_end(mark, token->end) : NULL;
        at = after ? after : mark ? mark + 1 : token->end;
        part.end = after ? mark : token->end;
        if ((after || at == token->end) && part.begin < part.end &&
            !add_text(values, &part, inside))
            return false;
        if (after) {
            piece_add_code(&values->builder, nothing, bytes_between(mark, after), nothing);
            part.begin = after;
        }
    }
    return true;
}

/* Adds a value with elements: [raw] is XML. Returns false if it cannot be read. */
static bool add_elements(struct values *values, struct bytes raw) {
    struct piece_builder *builder = &values->builder;
    size_t depth = 0; /* of an element that stays as a whole */
    bool inside = false, empty = true;
    struct xml_token token, opened = {.kind = XML_OTHER};
    struct xml_scan scan;
    int found;

    /* The scan reads the elements of a document: the tag before the value is its root. */
    const char *open =
        memrchr(values->document->source, '<', (size_t)(raw.start - values->document->source));
    const char *close = memchr(raw.start + raw.length, '>',
                               values->document->length -
                                   (size_t)(raw.start + raw.length - values->document->source));
    xml_scan_begin(&scan, bytes_between(open, close + 1), false, NULL);
    if (xml_next(&scan, &token, NULL) != 1)
        return false;
    while ((found = xml_next(&scan, &token, NULL)) == 1 && scan.depth > 0) {
        struct bytes whole = bytes_between(token.begin, token.end);
        bool kept = token.kind == XML_START && bytes_are(xml_local_name(token.name), "g");
        if (depth > 0) { /* the content represents the element in its sentence */
            empty &= token.kind != XML_TEXT;
            if (token.kind == XML_END && scan.depth < depth) {
                struct bytes content = bytes_between(opened.end, token.begin);
                if (memchr(content.start, '<', content.length) || empty)
                    piece_add_unit(builder, bytes_between(opened.begin, token.end));
                else
                    piece_add_code(builder, bytes_between(opened.begin, opened.end), content,
                                   whole);
                depth = 0;
            }
        } else if (kept) {
            opened = token;
            depth = scan.depth;
            empty = true;
        } else if (bytes_are(token.name, "br")) { /* <br/> or <br></br> */
            piece_add_break(builder, whole);
        } else if (token.kind == XML_START) {
            piece_add_open(builder, whole);
        } else if (token.kind == XML_END) {
            piece_add_close(builder, whole);
        } else if (token.kind == XML_TEXT) {
            if (!add_run(values, &token, &inside))
                return false;
        } else if (token.kind == XML_CDATA) {
            return false;
        } else {
            piece_add_unit(builder, whole);
        }
    }
    return found == 1;
}

/* Adds the value between two tags. */
static void add_value(struct values *values, struct bytes raw, struct bytes name) {
    static const char data[] = "<![CDATA[", data_end[] = "]]>";
    struct arena *arena = values->builder.arena;
    const char *end = raw.start + raw.length;
    struct bytes decoded, text, plain = raw;
    struct value value = {.name = name, .notations = values_percents(raw)};
    bool inside = false;
    while (plain.length > 0 && byte_is_space(*plain.start))
        plain = bytes_between(plain.start + 1, end);
    while (plain.length > 0 && byte_is_space(plain.start[plain.length - 1]))
        plain.length--;
    const char *last = plain.start + plain.length;
    bool is_data = bytes_begin(plain.start, last, data) &&
                   memmem(plain.start, plain.length, data_end, 3) == last - 3;
    if (is_data)
        plain = bytes_between(plain.start + strlen(data), last - strlen(data_end));
    else if (plain.length > 1 && *plain.start == '"' && last[-1] == '"' && last[-2] != '\\')
        plain = bytes_between(plain.start + 1, last - 1), inside = true;
    value.begin = plain.start;
    value.end = plain.start + plain.length;
    value.style = is_data ? STYLE_CDATA : 0;
    if (is_data)
        decoded = plain;
    if (is_data || values_decode_xml(values->document->source, plain, arena, &decoded)) {
        if (!decode(decoded, &inside, arena, &text) || is_reference(text))
            return;
        value.style |= is_unquoted(decoded) ? STYLE_UNQUOTED : 0;
        value.text = text;
        values_add(values, &value);
        return;
    }

    /* There are elements. The tags do not tell whether there are words, but they may be texts. */
    value = (struct value){.begin = raw.start,
                           .end = end,
                           .text = raw,
                           .name = name,
                           .notations = value.notations,
                           .style = STYLE_WRITTEN};
    size_t pieces = values->builder.markup.piece_count, spans = values->spans.count;
    if (values->builder.failed || !values_want(values, raw, name) || !values_begin(values, &value))
        return;
    if (add_elements(values, raw)) {
        spans_end_text(&values->spans, &values->builder, pieces);
    } else {
        values->builder.markup.piece_count = pieces;
        values->builder.depth = 0;
        values->spans.count = spans;
    }
}

static bool stays(const struct xml_token *tag) {
    struct bytes value;
    return xml_attribute(tag, "translatable", &value) && bytes_are(value, "false");
}

int android_read(const struct document *document, struct arena *arena, struct markup *out,
                 struct error *err) {
    enum { STRING = 2, ITEM = 3 }; /* depths */
    struct values *values = values_open(document, arena, put_text, err);
    struct xml_scan scan;
    struct xml_token token;
    struct bytes name = nothing;
    const char *begin = NULL, *before = document->source; /* before: the end of the last tag */
    struct plural_branch *other = NULL;                   /* of the current plurals */
    unsigned present = 0;
    bool array = false, branch = false;
    size_t inside = 0;
    int found;
    if (!values)
        return -1;
    values->judged = true;
    values->escape = put_escaped;
    xml_scan_begin(&scan, (struct bytes){document->source, document->length}, true, NULL);
    while ((found = xml_next(&scan, &token, err)) == 1 && !values->builder.failed) {
        if (token.kind == XML_START && scan.depth == 1 && !bytes_are(token.name, "resources"))
            return markup_error_at(err, document->source, token.begin,
                                   "the root of a file of Android's strings must be resources");
        if (token.kind == XML_START && scan.depth == STRING) {
            bool kept = stays(&token);
            array = !kept && bytes_among(token.name, "string-array plurals");
            begin = !kept && bytes_are(token.name, "string") ? token.end : NULL;
            inside = STRING;
            other = NULL;
            present = 0;
            if (!xml_attribute(&token, "name", &name))
                name = nothing;
        } else if (token.kind == XML_START && scan.depth == ITEM && array &&
                   bytes_are(token.name, "item")) {
            begin = stays(&token) ? NULL : token.end;
            inside = ITEM;
            struct bytes quantity = nothing;
            size_t category = xml_attribute(&token, "quantity", &quantity)
                                  ? plurals_category(quantity)
                                  : PLURAL_CATEGORIES;
            present |= 1U << category;
            branch = begin && category == PLURAL_OTHER && !other;
            if (branch && (other = spans_begin_plural(&values->spans, &values->builder, before)))
                other->name = quantity;
        } else if (token.kind == XML_END && begin && scan.depth + 1 == inside) {
            add_value(values, bytes_between(begin, token.begin), name);
            begin = NULL;
            if (branch && inside == ITEM && other)
                spans_end_plural(&values->spans, &values->builder, other, token.end);
            branch = false;
        }
        if (other)
            other->present = present;
        if (token.kind != XML_TEXT)
            before = token.end;
    }
    return found < 0 ? -1 : values_build(values, out, err);
}
