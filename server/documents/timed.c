/* This file translates two formats of subtitles whose lines have times: SubViewer's (sbv, of
 * YouTube) and songs (lrc). Times and tags of songs stay. */
#include "server/documents/cues.h"
#include "server/documents/values.h"
#include <ctype.h>

/* A value_put. */
static void put_cues(struct span_writer *writer, const struct value *value, struct bytes text,
                     bool sound) {
    const char *own = memchr(value->begin, '\n', (size_t)(value->end - value->begin));
    (void)sound;
    cues_put(writer, value, text, own && own > value->begin && own[-1] == '\r' ? "\r\n" : "\n");
}

/* Returns the place after a time such as 0:00:01.500 or 01:02.30, or NULL. */
static const char *skip_time(const char *at, const char *end) {
    size_t digits = 0, colons = 0;
    for (; at < end && (isdigit((unsigned char)*at) || *at == ':' || *at == '.'); at++) {
        digits += *at != ':' && *at != '.';
        colons += *at == ':';
    }
    return colons > 0 && digits > 2 ? at : NULL;
}

/* Returns the text after the times of a line of a song, or nothing if it has no time, or times of
 * words, <01:02.30>, which cannot follow words that change places. */
static struct bytes song_text(struct bytes says) {
    const char *at = says.start, *last = says.start + says.length, *after;
    bool timed = false;
    while (at < last && *at == '[' && (after = skip_time(at + 1, last)) && after < last &&
           *after == ']') {
        timed = true;
        for (at = after + 1; at < last && *at == ' ';)
            at++;
    }
    const char *angle = memchr(at, '<', (size_t)(last - at));
    bool words = angle && skip_time(angle + 1, last) && *skip_time(angle + 1, last) == '>';
    return timed && !words ? bytes_between(at, last) : nothing;
}

/* A value_put. In both languages the translation is a line with the same times. A text that would
 * be read as times is not written. */
static void put_text(struct span_writer *writer, const struct value *value, struct bytes text,
                     bool sound) {
    const char *line = value->begin, *end = writer->document->source + writer->document->length;
    struct bytes_buffer own = {.arena = writer->out.arena};
    (void)sound;
    while (line > writer->document->source && !strchr("\r\n", line[-1]))
        line--;
    bytes_put(&own, line, (size_t)(value->begin - line));
    bytes_put(&own, text.start, text.length);
    writer->out.failed |= own.failed;
    if (own.failed)
        return;
    if (!bytes_same(song_text(bytes_trimmed((struct bytes){own.bytes, own.length})),
                    bytes_trimmed(text))) {
        document_note(writer->document, value->begin, "untranslated",
                      "a line keeps its text, because its translation would be read as times");
        text = value->text;
    }
    if (writer->document->bilingual && !bytes_same(text, value->text)) {
        bool returns = value->end < end && *value->end == '\r';
        bytes_put(&writer->out, value->text.start, value->text.length);
        bytes_put_string(&writer->out, returns ? "\r\n" : "\n");
        bytes_put(&writer->out, line, (size_t)(value->begin - line));
    }
    bytes_put(&writer->out, text.start, text.length);
}

/* True for a line "0:00:00.599,0:00:04.160". */
static bool is_timing(struct bytes line) {
    const char *end = line.start + line.length, *at = skip_time(line.start, end);
    return at && at < end && *at == ',' && skip_time(at + 1, end) == end;
}

static const struct directive_notation as_it_is = {0, NULL};

/* Adds a cue of several lines, whose ends go where their words go. */
static void add_lines(struct piece_builder *builder, struct bytes text) {
    struct line line = {.next = text.start};
    const char *end = text.start + text.length, *done = text.start;
    while (cues_next_line(&line, end)) {
        if (line.begin > done)
            piece_add_space(builder, bytes_between(done, line.begin));
        if (line.end > line.begin)
            directives_add_lines(builder, bytes_between(line.begin, line.end), &as_it_is, NULL);
        done = line.end;
    }
}

/* Adds a cue of several speakers as a value. */
static void add_speakers(struct values *values, struct bytes text) {
    struct piece_builder *builder = &values->builder;
    size_t first = builder->markup.piece_count;
    const char *at = text.start, *end = at + text.length;
    if (!values_begin(values, &(struct value){.begin = at, .end = end, .text = text}))
        return;
    while (at < end) {
        const char *mark = memmem(at, (size_t)(end - at), CUES_BREAK, strlen(CUES_BREAK));
        directives_add_lines(builder, bytes_between(at, mark ? mark : end), &as_it_is, lines_label);
        if (mark)
            piece_add_break(builder, bytes_of(CUES_BREAK));
        at = mark ? mark + strlen(CUES_BREAK) : end;
    }
    spans_end_text(&values->spans, builder, first);
}

int timed_read_sbv(const struct document *document, struct arena *arena, struct markup *out,
                   struct error *err) {
    const char *end = document->source + document->length;
    struct values *values = values_open(document, arena, put_cues, err);
    struct cue_texts texts = {.values = values};
    struct line line = {.next = document->source};
    bool timed = false;
    if (!values)
        return -1;
    while (lines_next(&line, end) && !values->builder.failed) {
        struct bytes says = lines_trimmed(&line);
        if (says.length == 0 || (!timed && *says.start == '[')) /* a header such as [SUBTITLE] */
            continue;
        timed = is_timing(says);
        if (!timed)
            return markup_error_at(err, document->source, line.begin,
                                   "a line of times such as 0:00:01.000,0:00:04.000 is expected "
                                   "here");
        struct bytes text = nothing;
        while (lines_next(&line, end) && lines_trimmed(&line).length > 0)
            text = bytes_between(text.length > 0 ? text.start : line.begin, line.end);
        bool speakers = text.length > 0 && cues_have_speakers(text);
        size_t lead = text.length > 0 && !speakers ? cues_lead(text) : 0;
        if (lead > 0) { /* another one speaks */
            cues_end(&texts);
            text = bytes_between(text.start + lead, text.start + text.length);
        }
        if (speakers && messages_can_hold(text)) {
            cues_end(&texts);
            add_speakers(values, text);
        } else if (text.length > 0 && messages_can_hold(text) && cues_begin(&texts, text, text)) {
            add_lines(&values->builder, text);
        }
    }
    cues_end(&texts);
    return values_build(values, out, err);
}

int timed_read_lrc(const struct document *document, struct arena *arena, struct markup *out,
                   struct error *err) {
    const char *end = document->source + document->length;
    struct values *values = values_open(document, arena, put_text, err);
    struct line line = {.next = document->source};
    if (!values)
        return -1;
    while (lines_next(&line, end) && !values->builder.failed) {
        struct bytes text = song_text(lines_trimmed(&line));
        if (text.length > 0)
            values_add(values, &(struct value){.begin = text.start,
                                               .end = text.start + text.length,
                                               .text = text});
    }
    return values_build(values, out, err);
}
