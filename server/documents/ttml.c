/* This file translates Timed Text (TTML, DFXP): the texts of paragraphs. Elements in them go where
 * their words go, a line break stays between its words, and everything else stays. */
#include "server/documents/cues.h"
#include "server/documents/values.h"
#include "server/markup/xml.h"

/* Elements of a paragraph that are not shown. */
static const char beside[] = "metadata set animate title desc copyright agent";

/* A value_put. */
static void put_text(struct span_writer *writer, const struct value *value, struct bytes text,
                     bool sound) {
    (void)sound;
    cues_put(writer, value, text, "<br/>");
}

/* Adds text between tags; its white space is that of XML. label: it may begin with the label of
 * who speaks, which stays. */
static int add_text(struct values *values, const struct xml_token *token, bool label) {
    static const struct directive_notation notation = {0, lines_escape_markup};
    struct bytes decoded;
    struct bytes_buffer text = {.arena = values->builder.arena}, lead = {.arena = text.arena};
    if (xml_decode(values->document->source, token, text.arena, &decoded, values->err) != 0)
        return -1;
    for (size_t i = 0; i < decoded.length; i++) {
        bool space = byte_is_space(decoded.start[i]);
        if (!space)
            bytes_put(&text, decoded.start + i, 1);
        else if (i == 0 || !byte_is_space(decoded.start[i - 1]))
            bytes_put(&text, " ", 1);
    }
    if (text.failed)
        return error_memory(values->err);
    size_t begin = label && text.length > 0 && *text.bytes == ' ',
           stop = label ? begin + lines_label(text.bytes + begin, text.length - begin) : 0;
    if (stop > begin) {
        lines_escape_markup(&lead, text.bytes, stop);
        if (lead.failed)
            return error_memory(values->err);
        piece_add_break(&values->builder, (struct bytes){lead.bytes, lead.length});
    } else {
        stop = 0;
    }
    if (text.length > stop)
        directives_add_lines(&values->builder,
                             bytes_between(text.bytes + stop, text.bytes + text.length), &notation,
                             NULL);
    return 0;
}

/* Notes where the root states its language. */
static int restate_language(struct values *values, const struct xml_token *root) {
    struct bytes own;
    if (!bytes_are(xml_local_name(root->name), "tt"))
        return markup_error_at(values->err, values->document->source, root->begin,
                               "the root of Timed Text must be tt");
    if (xml_attribute(root, "xml:lang", &own))
        values_restate(values, own.start, own.start + own.length,
                       bytes_of(values->document->language));
    return 0;
}

/* Reads a paragraph ahead, whose start tag has been read: *raw is its content without the white
 * space around it, which is for the layout of the file; *says has its words. Returns false if there
 * is nothing to translate, or if it has times of words, which cannot follow words that change
 * places. */
static bool read_ahead(const struct values *values, struct xml_scan scan, const char *begin,
                       struct bytes *raw, struct bytes *says) {
    struct bytes_buffer text = {.arena = values->builder.arena};
    struct xml_token token;
    size_t depth = scan.depth, timed = 0, hidden = 0; /* hidden: depth of what is not shown */
    bytes_put(&text, "", 0);
    while (xml_next(&scan, &token, NULL) == 1 && scan.depth >= depth) {
        struct bytes decoded, time, name = xml_local_name(token.name);
        timed += token.kind == XML_START && xml_attribute(&token, "begin", &time);
        if (hidden > 0) {
            hidden = token.kind == XML_END && scan.depth < hidden ? 0 : hidden;
            continue;
        }
        if (token.kind == XML_START && bytes_among(name, beside)) {
            hidden = scan.depth;
        } else if (token.kind == XML_TEXT || token.kind == XML_CDATA) {
            if (xml_decode(values->document->source, &token, text.arena, &decoded, NULL) != 0)
                return false;
            for (size_t i = 0; i < decoded.length; i++)
                bytes_put(&text, byte_is_space(decoded.start[i]) ? " " : decoded.start + i, 1);
        } else if (bytes_are(name, "br")) {
            bytes_put_string(&text, "\n");
        }
    }
    *says = text.failed ? nothing : bytes_trimmed((struct bytes){text.bytes, text.length});
    *raw = scan.depth < depth ? bytes_trimmed(bytes_between(begin, token.begin)) : nothing;
    if (timed > 1)
        document_note(values->document, begin, "untranslated",
                      "the paragraph has times of words and stays as it is");
    return says->length > 0 && raw->length > 0 && timed < 2;
}

int ttml_read(const struct document *document, struct arena *arena, struct markup *out,
              struct error *err) {
    struct values *values = values_open(document, arena, put_text, err);
    struct cue_texts texts = {.values = values};
    struct xml_token token;
    struct xml_scan scan;
    struct bytes own = nothing, says;    /* of the current paragraph */
    size_t depth = 0, metadata = 0;      /* depth: of the paragraph; 0: none */
    size_t first = 0;                    /* its first piece, if there are */
    bool speakers = false, line = false; /* several, each with a line; it begins */
    int found;
    if (!values)
        return -1;
    values->escape = lines_escape_markup;
    struct piece_builder *builder = &values->builder;
    xml_scan_begin(&scan, (struct bytes){document->source, document->length}, true, NULL);
    while ((found = xml_next(&scan, &token, err)) == 1 && !builder->failed) {
        struct bytes name = xml_local_name(token.name), raw = bytes_between(token.begin, token.end);
        bool starts = token.kind == XML_START, ends = token.kind == XML_END;
        if (starts && scan.depth == 1 && restate_language(values, &token) != 0)
            return -1;
        if (depth == 0) {
            if (!starts || !bytes_are(name, "p") ||
                !read_ahead(values, scan, token.end, &own, &says))
                continue;
            speakers = cues_have_speakers(says);
            line = true;
            if (speakers) {
                cues_end(&texts);
                first = builder->markup.piece_count;
            }
            if (speakers ? values_begin(values, &(struct value){.begin = own.start,
                                                                .end = own.start + own.length,
                                                                .text = own}) != NULL
                         : cues_begin(&texts, own, says))
                depth = scan.depth;
        } else if (ends && scan.depth < depth) {
            depth = 0;
            if (speakers)
                spans_end_text(&values->spans, builder, first);
        } else if (metadata > 0) {
            metadata = ends && scan.depth < metadata ? 0 : metadata;
            piece_add_unit(builder, raw);
        } else if (starts && bytes_among(name, beside)) {
            metadata = scan.depth;
            piece_add_unit(builder, raw);
        } else if (bytes_are(name, "br") && !ends && speakers) {
            piece_add_break(builder, raw);
            line = true;
        } else if (bytes_are(name, "br") && !ends) {
            piece_add_space(builder, raw);
        } else if (starts) {
            piece_add_open(builder, raw);
        } else if (ends && !bytes_are(name, "br")) {
            piece_add_close(builder, raw);
        } else if (token.kind == XML_TEXT || token.kind == XML_CDATA) {
            const char *stop = own.start + own.length;
            token.begin = token.begin < own.start ? own.start : token.begin;
            token.end = token.end > stop ? stop : token.end;
            if (token.begin < token.end && add_text(values, &token, speakers && line) != 0)
                return -1;
            line = false;
        } else {
            piece_add_unit(builder, raw);
        }
    }
    if (found < 0)
        return -1;
    cues_end(&texts);
    return values_build(values, out, err);
}
