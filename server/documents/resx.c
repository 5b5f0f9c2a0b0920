/* This file translates .NET's resources (resx): the values of data elements that are strings. Those
 * of types, files and programs' own names stay. */
#include "server/documents/values.h"
#include "server/markup/xml.h"

/* A value_put. */
static void put_text(struct span_writer *writer, const struct value *value, struct bytes text,
                     bool sound) {
    (void)value;
    (void)sound;
    lines_escape_markup(&writer->out, text.start, text.length);
}

/* True if the data of this tag is a string for people. Visual Studio's names of controls begin with
 * ">>". */
static bool is_string(const struct document *document, const struct xml_token *tag,
                      struct arena *arena, struct bytes *name) {
    struct bytes raw, ignored;
    if (!xml_attribute(tag, "name", &raw) || xml_attribute(tag, "type", &ignored) ||
        xml_attribute(tag, "mimetype", &ignored) ||
        !values_decode_xml(document->source, raw, arena, name))
        return false;
    return !bytes_begin(name->start, name->start + name->length, ">>");
}

int resx_read(const struct document *document, struct arena *arena, struct markup *out,
              struct error *err) {
    enum { DATA = 2, VALUE = 3 }; /* depths */
    struct values *values = values_open(document, arena, put_text, err);
    struct xml_scan scan;
    struct xml_token token;
    struct bytes name = nothing, text;
    const char *begin = NULL;
    bool string = false;
    int found;
    if (!values)
        return -1;
    values->judged = true;
    xml_scan_begin(&scan, (struct bytes){document->source, document->length}, false, NULL);
    while ((found = xml_next(&scan, &token, err)) == 1 && !values->builder.failed) {
        if (token.kind == XML_START && scan.depth == DATA)
            string = bytes_are(token.name, "data") && is_string(document, &token, arena, &name);
        else if (token.kind == XML_START && scan.depth == VALUE)
            begin = string && bytes_are(token.name, "value") ? token.end : NULL;
        if (token.kind != XML_END || scan.depth != DATA || !begin)
            continue;
        struct bytes raw = bytes_between(begin, token.begin);
        begin = NULL;
        if (values_decode_xml(document->source, raw, arena, &text))
            values_add(values,
                       &(struct value){.begin = raw.start,
                                       .end = raw.start + raw.length,
                                       .text = text,
                                       .name = name,
                                       .notations = directive_all(bytes_of("csharp-format"))});
    }
    return found < 0 ? -1 : values_build(values, out, err);
}
