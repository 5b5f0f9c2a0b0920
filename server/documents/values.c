/* This module hides what files of strings share: which strings are texts, how their placeholders
 * and branches are kept, and what happens to a translation that lacks something. */
#include "server/documents/values.h"
#include "model/base/utf8.h"
#include "model/text/spans.h"
#include "server/markup/xml.h"
#include <ctype.h>
#include <stdio.h>

/* ---- reading ---- */

/* A span_put. */
static void put_value(struct span_writer *writer, const struct document_span *span,
                      const struct span_written *text) {
    const struct value *value = span->about;
    const struct values *values = writer->about;
    if (!value || (span->count == 0 && !value->fixed.start))
        return;
    if (value->fixed.start) {
        span_keep(writer, span->begin);
        bytes_put(&writer->out, value->fixed.start, value->fixed.length);
        span_skip(writer, span->end);
        return;
    }
    struct span_written made = *text;
    if (!made.translated)
        return;
    directives_settle(writer, value->text, value->notations, &span->texts[0], &made);
    if (!made.sound && !values->states) {
        document_note(writer->document, span->begin, "untranslated",
                      "the translation lacks something that the text has, so the text is "
                      "unchanged");
        return;
    }
    if (!values->states && (made.unchanged || bytes_same(made.text, value->text)))
        return; /* it stays as it is written */
    span_keep(writer, span->begin);
    values->put(writer, value, made.text, made.sound);
    span_skip(writer, span->end);
}

struct values *values_open(const struct document *document, struct arena *arena, value_put *put,
                           struct error *err) {
    struct values *values = arena_zalloc(arena, 1, sizeof *values);
    char *scratch = arena_alloc(arena, document->length + 1, 1);
    if (!values || !scratch)
        return error_memory(err), NULL;
    *values = (struct values){.document = document,
                              .builder = document_builder(document, arena),
                              .put = put,
                              .lead = lines_label,
                              .scratch = scratch,
                              .err = err};
    values->spans.about = values;
    values->spans.put = put_value;
    return values;
}

/* Returns the choice of the request's globs, for which a name's parts between dots are names. */
static enum key_choice choose(const struct values *values, struct bytes name) {
    const struct key_globs *globs = values->document->keys;
    struct key_state state, next;
    if (!globs)
        return KEY_IN;
    name = name.start ? name : nothing;
    key_globs_begin(globs, &state);
    for (const char *at = name.start, *end = at + name.length; at <= end;) {
        const char *dot = memchr(at, '.', (size_t)(end - at)), *stop = dot ? dot : end;
        key_globs_step(globs, &state, at, (size_t)(stop - at), &next);
        state = next;
        at = stop + 1;
    }
    return key_globs_choose(globs, &state);
}

bool values_want(const struct values *values, struct bytes text, struct bytes name) {
    enum key_choice choice = choose(values, name);
    struct prose_place place = {nothing, nothing};
    const char *dot = values->named ? memrchr(name.start, '.', name.length) : NULL;
    if (choice == KEY_LEFT_OUT || text.length == 0 || !messages_can_hold(text))
        return false;
    if (!values->judged || icu_message_is(text.start, text.length))
        return true;
    place.name = values->named ? name : nothing;
    if (dot) {
        place.name = bytes_between(dot + 1, name.start + name.length);
        place.parent = bytes_between(name.start, dot);
        dot = memrchr(place.parent.start, '.', place.parent.length);
        if (dot)
            place.parent = bytes_between(dot + 1, place.name.start - 1);
    }
    enum prose prose = prose_judge(text, &place, values->scratch);
    return prose == PROSE_LANGUAGE || (prose == PROSE_DOUBTFUL && choice == KEY_ASKED_FOR);
}

struct value *values_begin(struct values *values, const struct value *value) {
    struct value *kept = arena_alloc(values->builder.arena, 1, sizeof *kept);
    if (kept)
        *kept = *value;
    else
        values->builder.failed = ERROR_MEMORY;
    spans_add(&values->spans, &values->builder, value->begin, value->end, kept);
    return kept;
}

void values_add(struct values *values, const struct value *value) {
    if (values->builder.failed || !values_want(values, value->text, value->name))
        return;
    if (!values_begin(values, value))
        return;
    size_t first = values->builder.markup.piece_count;
    directives_add(&values->spans, &values->builder, value->text, value->notations, values->lead);
    for (size_t i = first; i < values->builder.markup.piece_count; i++)
        values->builder.markup.pieces[i].notation = PIECE_AS_IT_IS; /* `put` escapes all of it */
}

struct value *values_restate(struct values *values, const char *begin, const char *end,
                             struct bytes text) {
    return values_begin(values, &(struct value){.begin = begin, .end = end, .fixed = text});
}

int values_build(struct values *values, struct markup *out, struct error *err) {
    if (arena_failed(values->builder.arena))
        return error_memory(err);
    return spans_build(&values->spans, &values->builder, values->escape, out, err);
}

unsigned values_percents(struct bytes text) {
    return memmem(text.start, text.length, "% ", 2) ? 0 : directive_all(bytes_of("c-format"));
}

/* ---- XML ---- */

bool values_decode_xml(const char *document, struct bytes raw, struct arena *arena,
                       struct bytes *out) {
    static const char open[] = "<![CDATA[", close[] = "]]>";
    struct bytes_buffer text = {.arena = arena};
    bytes_put(&text, "", 0);
    for (const char *at = raw.start, *end = at + raw.length; at < end;) {
        const char *mark = memchr(at, '<', (size_t)(end - at)), *stop = mark ? mark : end;
        bool data = bytes_begin(at, end, open), comment = bytes_begin(at, end, "<!--");
        struct xml_token token = {.kind = XML_TEXT, .begin = at, .end = stop};
        struct bytes decoded = nothing;
        if (data || comment) {
            const char *last = memmem(at, (size_t)(end - at), data ? close : "-->", 3);
            if (!last)
                return false;
            decoded = data ? bytes_between(at + strlen(open), last) : nothing;
            stop = last + 3;
        } else if (mark == at) {
            return false;
        } else if (xml_decode(document, &token, arena, &decoded, NULL) != 0) {
            return false;
        }
        bytes_put(&text, decoded.start, decoded.length);
        at = stop;
    }
    *out = (struct bytes){text.bytes, text.length};
    return !text.failed;
}

/* ---- escapes ---- */

static int32_t read_hex(const char *at, const char *end) {
    int32_t value = 0;
    for (size_t i = 0; i < 4; i++, at++) {
        int digit = at < end && isxdigit((unsigned char)*at) ? *at : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + (isdigit(digit) ? digit - '0' : tolower(digit) - 'a' + 10);
    }
    return value;
}

/* Reads \u and four digits, or two of them for a character beyond the first plane. Returns its
 * bytes; 0: it is not a character that a text may have. */
static size_t read_number(const char *at, const char *end, int32_t *character) {
    int32_t high = read_hex(at + 2, end), low = -1;
    if (high >= 0xd800 && high < 0xdc00 && end - at > 7 && at[6] == '\\' && at[7] == at[1])
        low = read_hex(at + 8, end);
    bool pair = low >= 0xdc00 && low < 0xe000;
    *character = pair ? 0x10000 + (high - 0xd800) * 0x400 + (low - 0xdc00) : high;
    return pair ? 12 : high > 0 && (high < 0xd800 || high >= 0xe000) ? 6 : 0;
}

bool values_unescape(struct bytes raw, const struct value_escapes *escapes, struct arena *arena,
                     struct bytes *out) {
    *out = raw;
    if (!memchr(raw.start, '\\', raw.length))
        return true;
    char *to = arena_alloc(arena, raw.length + 1, 1), *text = to;
    if (!to)
        return false;
    for (const char *at = raw.start, *end = at + raw.length; at < end;) {
        const char *name = at + 1 < end && at[1] ? strchr(escapes->names, at[1]) : NULL;
        int32_t character;
        if (*at != '\\') {
            *to++ = *at++;
        } else if (at + 1 == end) {
            return false;
        } else if (at[1] == 'u' || (at[1] == 'U' && escapes->capital)) {
            size_t bytes = read_number(at, end, &character);
            if (bytes == 0)
                return false;
            to += character_put(character, to);
            at += bytes;
        } else if (escapes->continues && (at[1] == '\n' || at[1] == '\r')) {
            at += at[1] == '\r' && at + 2 < end && at[2] == '\n' ? 3 : 2;
            while (at < end && (*at == ' ' || *at == '\t' || *at == '\f'))
                at++;
        } else {
            *to++ = name ? escapes->means[name - escapes->names] : at[1];
            at += 2;
        }
    }
    *out = bytes_between(text, to);
    return true;
}

void values_escape(struct bytes_buffer *out, struct bytes text, const struct value_escapes *escapes,
                   bool ascii) {
    for (size_t at = 0, next = 0; at < text.length; at = next) {
        int32_t c = character_next(text.start, text.length, &next);
        const char *mark = c > 0 && c < 0x80 ? strchr(escapes->written, c) : NULL;
        const char *name = mark ? strchr(escapes->means, c) : NULL;
        char number[32];
        if (mark) {
            const char escape[] = {'\\', name ? escapes->names[name - escapes->means] : (char)c};
            bytes_put(out, escape, sizeof escape);
        } else if (ascii && c >= 0x80) {
            int32_t high = 0xd800 + (c - 0x10000) / 0x400, low = 0xdc00 + (c - 0x10000) % 0x400;
            if (c < 0x10000)
                snprintf(number, sizeof number, "\\u%04x", (unsigned)c);
            else
                snprintf(number, sizeof number, "\\u%04x\\u%04x", (unsigned)high, (unsigned)low);
            bytes_put_string(out, number);
        } else {
            bytes_put(out, text.start + at, next - at);
        }
    }
}
