/* An XLIFF document with its targets: each in its place, with what its schema has to say of it. */
#include "server/documents/messages.h"
#include "server/documents/xliff.h"
#include "server/markup/build.h"
#include <string.h>

struct xliff_writer {
    struct xliff xliff;
    const char *language;
    const char *done; /* the document up to here is out */
    struct html_buffer out;
};

static void put_until(struct xliff_writer *writer, const char *to) {
    html_put(&writer->out, writer->done, (size_t)(to - writer->done));
    writer->done = to;
}

/* ---- tags ---- */

static void put_attribute(struct xliff_writer *writer, const char *name, const char *value) {
    html_put_string(&writer->out, " ");
    html_put_string(&writer->out, name);
    html_put_string(&writer->out, "=\"");
    html_put_escaped(&writer->out, value, strlen(value), "&<\"");
    html_put_string(&writer->out, "\"");
}

/* Behind the last attribute, or the name. */
static const char *content_end(const struct html_piece *tag) {
    const char *end = tag->raw + tag->length - 1;
    while (html_is_space(end[-1]) || end[-1] == '/')
        end--;
    return end;
}

/* The tag up to its last attribute: `name` has this value, and `without` is not in it (NULL: nothing). */
static void put_tag(struct xliff_writer *writer, const struct html_piece *tag, const char *name, const char *value,
                    const char *without) {
    struct xliff_attribute attribute;
    bool found = false;
    for (const char *at = NULL; xliff_next_attribute(tag, &at, &attribute);) {
        if (bytes_are(attribute.name, name)) {
            put_until(writer, attribute.value.start);
            html_put_escaped(&writer->out, value, strlen(value), "&<\"");
            writer->done = attribute.value.start + attribute.value.length;
            found = true;
        } else if (without && bytes_are(attribute.name, without)) {
            put_until(writer, attribute.begin);
            writer->done = attribute.end;
        }
    }
    put_until(writer, content_end(tag));
    if (!found)
        put_attribute(writer, name, value);
}

/* A tag of a target that is new, with the prefix of its source. */
static void put_new_tag(struct xliff_writer *writer, const char *mark, const struct html_piece *source) {
    const char *begin = source->raw + 1, *end = begin;
    while (!html_is_space(*end) && *end != '>' && *end != '/' && *end != ':')
        end++;
    html_put_string(&writer->out, mark);
    html_put(&writer->out, begin, *end == ':' ? (size_t)(end + 1 - begin) : 0);
    html_put_string(&writer->out, "target");
}

/* Prefixes that the source declares, and the target's tag (NULL: a new one) does not: what is inside may use them. */
static void put_namespaces(struct xliff_writer *writer, const struct html_piece *source, const struct html_piece *target) {
    struct xliff_attribute attribute, there;
    for (const char *at = NULL; xliff_next_attribute(source, &at, &attribute);) {
        struct html_bytes name = attribute.name;
        bool declares = name.length >= 5 && memcmp(name.start, "xmlns", 5) == 0 && (name.length == 5 || name.start[5] == ':');
        bool declared = false;
        for (const char *other = NULL; declares && target && !declared && xliff_next_attribute(target, &other, &there);)
            declared = there.name.length == name.length && memcmp(there.name.start, name.start, name.length) == 0;
        if (!declares || declared)
            continue;
        html_put_string(&writer->out, " ");
        html_put(&writer->out, name.start, (size_t)(attribute.end - name.start));
    }
}

/* ---- units ---- */

/* What the unit says is in its translation, but for words. */
static bool is_sound(const struct xliff_writer *writer, const struct xliff_unit *unit, struct html_bytes message) {
    const struct html_piece *content = &writer->xliff.pieces[unit->content];
    struct html_bytes source = bytes_between(content->raw + content->length, writer->xliff.pieces[content->pair].raw);
    return html_same_marks(source, message, false);
}

static void put_language(struct xliff_writer *writer, const struct xliff_unit *unit) {
    const struct html_piece *tag = &writer->xliff.pieces[unit->language];
    struct xliff_attribute found;
    const char *name = unit->segment ? "trgLang" : "target-language";
    if (tag->raw >= writer->done && (!xliff_find(tag, name, &found) || found.value.length == 0))
        put_tag(writer, tag, name, writer->language, NULL);
}

/* On a line of its own, if the source is. */
static void put_new_target(struct xliff_writer *writer, const struct xliff_unit *unit, struct html_bytes message,
                           const char *state) {
    const struct xliff *xliff = &writer->xliff;
    const struct html_piece *source = &xliff->pieces[unit->source];
    size_t behind = xliff_behind(xliff, unit->content);
    struct html_bytes before = xliff_is_blank(source - 1) ? xliff_written(xliff, unit->source - 1) : (struct html_bytes){"", 0};
    struct html_bytes last = xliff_written(xliff, behind - 1);
    put_until(writer, last.start + last.length);
    html_put(&writer->out, before.start, before.length);
    put_new_tag(writer, "<", source);
    if (!unit->segment)
        put_attribute(writer, "state", state);
    put_namespaces(writer, &xliff->pieces[unit->content], NULL);
    html_put_string(&writer->out, ">");
    messages_put(&writer->out, message);
    put_new_tag(writer, "</", source);
    html_put_string(&writer->out, ">");
}

/* "<target/>" becomes two tags. */
static void put_target(struct xliff_writer *writer, const struct xliff_unit *unit, struct html_bytes message, const char *state) {
    const struct html_piece *target = &writer->xliff.pieces[unit->target];
    bool is_void = target->kind == PIECE_UNIT;
    if (unit->segment)
        put_until(writer, content_end(target));
    else
        put_tag(writer, target, "state", state, NULL);
    put_namespaces(writer, &writer->xliff.pieces[unit->content], target);
    html_put_string(&writer->out, ">");
    messages_put(&writer->out, message);
    writer->done = is_void ? target->raw + target->length : writer->xliff.pieces[target->pair].raw;
    if (is_void) {
        put_new_tag(writer, "</", target);
        html_put_string(&writer->out, ">");
    }
}

/* A message in ICU's notation as it is to be written, from how it was. False: it is not translated, and stays as it was. */
static bool settle(struct xliff_writer *writer, struct html_bytes source, struct html_bytes *message) {
    static const char *const references[][2] = {{"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}};
    struct html_buffer text = {.arena = writer->out.arena}, out = {.arena = writer->out.arena};
    struct html_bytes settled;
    html_put(&text, "", 0);
    html_put(&out, "", 0);
    for (const char *at = message->start, *end = at + message->length; at < end;) {
        size_t length = 1;
        const char *says = at;
        for (size_t i = 0; *at == '&' && i < sizeof references / sizeof *references; i++) {
            size_t bytes = strlen(references[i][0]);
            if ((size_t)(end - at) < bytes || memcmp(at, references[i][0], bytes) != 0)
                continue;
            length = bytes;
            says = references[i][1];
        }
        if (*at != MESSAGE_TRANSLATED)
            html_put(&text, says, 1);
        at += length;
    }
    bool sound = messages_settle_icu(source, (struct html_bytes){text.bytes, text.length}, out.arena, &settled);
    text_escape_markup(&out, settled.start, settled.length);
    writer->out.failed |= text.failed || out.failed;
    if (!writer->out.failed)
        *message = (struct html_bytes){out.bytes, out.length};
    return sound;
}

/* The state of XLIFF 2 is the segment's, and what a tool adds to it (subState) held for the former one. */
static void put_unit(struct xliff_writer *writer, const struct xliff_unit *unit, struct html_bytes message) {
    struct html_bytes source;
    bool sound = xliff_message(&writer->xliff, unit, &source) ? settle(writer, source, &message) : is_sound(writer, unit, message);
    const char *state = sound ? "translated" : "needs-review-translation";
    put_language(writer, unit);
    if (unit->segment)
        put_tag(writer, &writer->xliff.pieces[unit->unit], "state", "translated", "subState");
    if (unit->segment && !sound)
        put_attribute(writer, "subState", "alignd:needs-review-translation");
    if (unit->target == XLIFF_NONE)
        put_new_target(writer, unit, message, state);
    else
        put_target(writer, unit, message, state);
}

char *xliff_write(const struct document *document, const char *written, size_t written_length, struct arena *arena,
                  size_t *out_length, struct error *err) {
    struct html_bytes messages = {written, written_length};
    struct xliff_writer writer = {.language = document->language, .done = document->source, .out.arena = arena};
    if (xliff_open(document, arena, &writer.xliff, err) != 0)
        return NULL;
    html_put(&writer.out, "", 0);
    for (size_t i = 0; i < writer.xliff.count; i++) {
        struct html_bytes message = messages_next(&messages);
        if (messages_translated(message))
            put_unit(&writer, &writer.xliff.units[i], message);
    }
    put_until(&writer, document->source + document->length);
    if (writer.out.failed) {
        error_memory(err);
        return NULL;
    }
    *out_length = writer.out.length;
    return writer.out.bytes;
}
