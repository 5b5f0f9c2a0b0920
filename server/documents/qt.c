/* This file translates Qt's translation sources (ts): messages whose translation is unfinished.
 * Sound translations are finished; those that lack something stay unfinished, and so do those with
 * forms for numbers, because all forms get the same text. */
#include "server/documents/values.h"
#include "server/markup/xml.h"

/* The parts of a message. */
struct message {
    struct bytes source;  /* between its tags; start NULL: none */
    struct xml_token tag; /* that of the translation */
    const char *end;      /* the end of the translation, with its end tag */
    size_t form_count;
    bool numerus, unfinished;
    bool stated; /* the file states its language, of which it has the forms */
};

/* Puts a text as XML. */
static void put_xml(struct bytes_buffer *out, struct bytes text) {
    bytes_put_escaped(out, text.start, text.length, "&<>\"");
}

/* Puts the start tag of the translation, without its type if it is finished. */
static void put_tag(struct span_writer *writer, const struct message *message, bool finished) {
    struct bytes_buffer *out = &writer->out;
    struct xml_attribute attribute;
    bytes_put_string(out, "<translation");
    for (const char *at = NULL; xml_next_attribute(&message->tag, &at, &attribute);)
        if (!finished || !bytes_are(attribute.name, "type"))
            bytes_put(out, attribute.begin, (size_t)(attribute.end - attribute.begin));
    bytes_put_string(out, ">");
}

/* A value_put. */
static void put_translation(struct span_writer *writer, const struct value *value,
                            struct bytes text, bool sound) {
    const struct message *message = value->about;
    struct bytes_buffer *out = &writer->out;
    put_tag(writer, message, sound && !message->numerus);
    if (message->numerus) {
        const char *line = "\n            ", *last = "\n        ";
        size_t forms = message->stated ? message->form_count
                                       : plurals_forms(writer->document->language)->forms;
        for (size_t i = 0; i < forms; i++) {
            bytes_put_string(out, line);
            bytes_put_string(out, "<numerusform>");
            put_xml(out, text);
            bytes_put_string(out, "</numerusform>");
        }
        bytes_put_string(out, last);
    } else {
        put_xml(out, text);
    }
    bytes_put_string(out, "</translation>");
}

/* Adds a message that has ended. */
static void add_message(struct values *values, const struct message *message) {
    struct arena *arena = values->builder.arena;
    struct message *kept = arena_alloc(arena, 1, sizeof *kept);
    struct bytes text;
    if (!kept || !message->unfinished || !message->source.start || !message->end ||
        (message->numerus && message->form_count == 0) ||
        !values_decode_xml(values->document->source, message->source, arena, &text))
        return;
    *kept = *message;
    values_add(values, &(struct value){.begin = message->tag.begin,
                                       .end = message->end,
                                       .text = text,
                                       .notations = directive_all(bytes_of("qt-format")),
                                       .about = kept});
}

/* Notes the language of the file (*known: it is the target), or refuses a file in another one. */
static int read_root(struct values *values, const struct xml_token *tag, bool *known) {
    const char *language = values->document->language;
    struct bytes own = nothing, name = bytes_of(language);
    struct bytes_buffer attribute = {.arena = values->builder.arena};
    if (!bytes_are(tag->name, "TS"))
        return markup_error_at(values->err, values->document->source, tag->begin,
                               "the root of a translation source of Qt must be TS");
    bool stated = xml_attribute(tag, "language", &own);
    struct bytes source = bytes_of("en");
    xml_attribute(tag, "sourcelanguage", &source);
    *known = own.length > 0 && bytes_same_language(own, name);
    if (*known)
        return 0;
    if (own.length > 0 && !bytes_same_language(own, source)) /* a template has its sources' */
        return markup_error_at(values->err, values->document->source, tag->begin,
                               "the file's language is %.*s, and the target is %s",
                               (int)(own.length < 20 ? own.length : 20), own.start, language);
    if (!stated)
        bytes_put_string(&attribute, " language=\"");
    for (const char *c = language; *c; c++)
        bytes_put(&attribute, *c == '-' ? "_" : c, 1);
    if (!stated)
        bytes_put_string(&attribute, "\"");
    const char *place = stated ? own.start : tag->end - 1;
    if (attribute.failed)
        return error_memory(values->err);
    values_restate(values, place, place + own.length,
                   (struct bytes){attribute.bytes, attribute.length});
    return 0;
}

int qt_read(const struct document *document, struct arena *arena, struct markup *out,
            struct error *err) {
    struct values *values = values_open(document, arena, put_translation, err);
    struct message message = {.numerus = false};
    struct xml_token token, open = {.kind = XML_OTHER};
    struct xml_scan scan;
    struct bytes value;
    const char *at = document->source, *end = at + document->length;
    bool known = false;
    int found;
    if (!values)
        return -1;
    while (at < end && byte_is_space(*at))
        at++;
    if (at < end && *at != '<') /* TypeScript has the same extension */
        return markup_error_at(err, document->source, at, "this is not XML, as Qt's files are; %s",
                               DOCUMENT_CODE_REFUSAL);
    values->states = true;
    xml_scan_begin(&scan, (struct bytes){document->source, document->length}, true, NULL);
    while ((found = xml_next(&scan, &token, err)) == 1 && !values->builder.failed) {
        bool starts = token.kind == XML_START || token.kind == XML_EMPTY;
        if (token.kind == XML_START && scan.depth == 1 && read_root(values, &token, &known) != 0)
            return -1;
        if (starts && bytes_are(token.name, "message")) {
            message = (struct message){.stated = known,
                                       .numerus = xml_attribute(&token, "numerus", &value) &&
                                                  bytes_are(value, "yes")};
        } else if (starts && bytes_are(token.name, "translation")) {
            message.tag = token;
            message.unfinished =
                xml_attribute(&token, "type", &value) && bytes_are(value, "unfinished") &&
                !(xml_attribute(&token, "variants", &value) && bytes_are(value, "yes"));
            message.end = token.kind == XML_EMPTY ? token.end : NULL;
        } else if (starts && bytes_are(token.name, "numerusform")) {
            message.form_count++;
        }
        if (token.kind == XML_START)
            open = token;
        if (token.kind != XML_END)
            continue;
        if (bytes_are(token.name, "source") && bytes_are(open.name, "source"))
            message.source = bytes_between(open.end, token.begin);
        else if (bytes_are(token.name, "translation"))
            message.end = token.end;
        else if (bytes_are(token.name, "message"))
            add_message(values, &message);
    }
    return found < 0 ? -1 : values_build(values, out, err);
}
