/* This file translates Advanced SubStation Alpha (ass, ssa): the texts of dialogue lines. Override
 * tags, drawings, comments, styles and everything else stay. Karaoke, whose tags give the time of
 * each syllable, stays, too. */
#include "server/documents/cues.h"
#include "server/documents/values.h"
#include <ctype.h>

enum { MOST_FIELDS = 64 };

/* Text that looks like a tag or an escape would be read as one: ASS has no escape for it. */
static void put_escaped(struct bytes_buffer *out, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        bool tag = text[i] == '{' || text[i] == '}',
             escape = text[i] == '\\' && i + 1 < length && strchr("nNh", text[i + 1]);
        const char *instead = text[i] == '{' ? "(" : text[i] == '}' ? ")" : "/";
        bytes_put(out, tag || escape ? instead : text + i, 1);
    }
}

/* A value_put. */
static void put_text(struct span_writer *writer, const struct value *value, struct bytes text,
                     bool sound) {
    (void)sound;
    cues_put(writer, value, text, "\\N");
}

/* Returns the end of the override block that begins there, or NULL. */
static const char *block_end(const char *at, const char *end) {
    const char *close = *at == '{' ? memchr(at, '}', (size_t)(end - at)) : NULL;
    return close ? close + 1 : NULL;
}

/* Reads the tag \pN in a block: *drawing is true while text is a drawing. Returns true if the block
 * has a tag of karaoke. */
static bool read_block(struct bytes block, bool *drawing) {
    bool karaoke = false;
    for (size_t i = 0; i + 2 < block.length; i++) {
        const char *tag = block.start + i;
        if (*tag != '\\')
            continue;
        if (tag[1] == 'p' && isdigit((unsigned char)tag[2]))
            *drawing = tag[2] != '0';
        karaoke |= (tag[1] == 'k' || tag[1] == 'K');
    }
    return karaoke;
}

/* True if the text has karaoke, or nothing but tags and drawings. */
static bool stays(struct bytes text) {
    bool drawing = false, says = false;
    for (const char *at = text.start, *end = at + text.length; at < end;) {
        const char *after = block_end(at, end);
        if (after && read_block(bytes_between(at, after), &drawing))
            return true;
        says |= !after && !drawing && *at != ' ';
        at = after ? after : at + 1;
    }
    return !says;
}

/* Adds a text: blocks and drawings move with the words beside them, a line end goes where its words
 * go, and a dash after it begins a text of its own. */
static void add_text(struct values *values, struct bytes text) {
    static const struct directive_notation notation = {0, put_escaped};
    struct piece_builder *builder = &values->builder;
    bool drawing = false;
    for (const char *at = text.start, *end = at + text.length, *plain = at; at <= end;) {
        const char *after = at < end ? block_end(at, end) : end;
        bool line = !after && *at == '\\' && at + 1 < end && strchr("nNh", at[1]);
        if (!after && !line) {
            at++;
            continue;
        }
        struct bytes before = bytes_between(plain, at);
        if (before.length > 0 && drawing)
            piece_add_unit(builder, before);
        else if (before.length > 0)
            directives_add_lines(builder, before, &notation, NULL);
        if (at == end)
            break;
        if (line) {
            bool speaker = at + 2 < end && at[2] == '-';
            after = at + 2;
            if (speaker)
                piece_add_break(builder, bytes_between(at, after));
            else
                piece_add_space(builder, bytes_between(at, after));
        } else {
            read_block(bytes_between(at, after), &drawing);
            piece_add_unit(builder, bytes_between(at, after));
        }
        plain = at = after;
    }
}

/* Returns the words of a text. */
static struct bytes without_notation(struct bytes text, struct arena *arena) {
    struct bytes_buffer out = {.arena = arena};
    bytes_put(&out, "", 0);
    for (const char *at = text.start, *end = at + text.length; at < end;) {
        const char *after = block_end(at, end);
        bool line = !after && *at == '\\' && at + 1 < end && strchr("nNh", at[1]);
        if (!after)
            bytes_put(&out, line ? " " : at, 1);
        at = after ? after : at + 1 + line;
    }
    return out.failed ? nothing : bytes_trimmed((struct bytes){out.bytes, out.length});
}

/* Reads the order of fields from a "Format:" line: *fields is the number of those before the text,
 * which is the last. */
static void read_format(struct bytes line, size_t *fields) {
    *fields = 0;
    for (size_t i = 0; i < line.length; i++)
        *fields += line.start[i] == ',';
}

int ass_read(const struct document *document, struct arena *arena, struct markup *out,
             struct error *err) {
    const char *end = document->source + document->length;
    struct values *values = values_open(document, arena, put_text, err);
    struct cue_texts texts = {.values = values};
    struct line line = {.next = document->source};
    bool events = false;
    size_t fields = 9;
    if (!values)
        return -1;
    values->escape = put_escaped;
    while (lines_next(&line, end) && !values->builder.failed) {
        struct bytes says = lines_trimmed(&line);
        if (says.length > 0 && *says.start == '[')
            events = bytes_are_any_case(says, "[Events]");
        if (!events)
            continue;
        if (bytes_begin(says.start, says.start + says.length, "Format:"))
            read_format(says, &fields);
        if (!bytes_begin(says.start, says.start + says.length, "Dialogue:"))
            continue;
        const char *text = says.start, *last = line.end;
        for (size_t i = 0; i < fields && text; i++) {
            const char *comma = memchr(text, ',', (size_t)(last - text));
            text = comma ? comma + 1 : NULL;
        }
        struct bytes own = text ? bytes_between(text, last) : nothing;
        if (own.length == 0 || stays(own) || !messages_can_hold(own)) {
            cues_end(&texts);
            continue;
        }
        struct bytes words = without_notation(own, arena);
        bool several = memmem(own.start, own.length, "\\N-", 3) != NULL; /* speakers */
        if (several)
            cues_end(&texts);
        if (!cues_begin(&texts, own, words))
            break;
        add_text(values, own);
        if (several)
            cues_end(&texts);
    }
    cues_end(&texts);
    return values_build(values, out, err);
}
