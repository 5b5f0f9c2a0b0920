/* This file hides the notation of a document's front matter: YAML between two lines of dashes, or
 * TOML between two lines of pluses. Its texts for people are translated if each stands in one line;
 * a translation that would not read as the same text is quoted. */
#include "model/base/utf8.h"
#include "server/documents/document.h"
#include "server/documents/yaml_text.h"
#include "server/markup/segment.h"

enum {
    MOST_BYTES = 1 << 14, /* longer front matter stays */
    MOST_DEPTH = 32
};

static const char read_keys[] =
    "title subtitle linktitle sidebar_label description summary excerpt";

/* How a value is written. The empty end of its piece is a place of `ends`, so that
 * front_matter_close knows it. */
enum style {
    STYLE_PLAIN,
    STYLE_SINGLE,
    STYLE_DOUBLE,
    STYLE_LITERAL /* a literal string of TOML, without escapes */,
    STYLES
};
static const char ends[STYLES];

struct front_matter {
    struct piece_builder *builder;
    const char *done, *end; /* up to `done` it is in pieces */
    const struct key_globs *keys;
};

/* True if the value of this key is translated. */
static bool is_wanted(const struct front_matter *matter, struct bytes key) {
    bool usual = bytes_among_any_case(key, read_keys);
    struct key_state state, next;
    if (!matter->keys)
        return usual;
    key_globs_begin(matter->keys, &state);
    key_globs_step(matter->keys, &state, key.start, key.length, &next);
    enum key_choice choice = key_globs_choose(matter->keys, &next);
    return choice == KEY_ASKED_FOR || (choice == KEY_IN && usual);
}

/* Adds the text of a value that is written in [begin,end), without its quotation marks. */
static void add_value(struct front_matter *matter, struct bytes text, const char *begin,
                      const char *end, enum style style) {
    struct piece_builder *builder = matter->builder;
    struct bytes raw = bytes_between(begin, end), own = raw;
    if (!bytes_same(text, raw))
        own = (struct bytes){arena_copy(builder->arena, text.start, text.length), text.length};
    if (!own.start || text.length == 0)
        return;
    piece_add_break(builder, bytes_between(matter->done, begin));
    size_t first = builder->markup.piece_count;
    piece_add_part(builder);
    piece_add_text(builder, own, raw);
    piece_add_close(builder, (struct bytes){&ends[style], 0});
    for (size_t i = first; i < builder->markup.piece_count; i++)
        builder->markup.pieces[i].notation = PIECE_AS_IT_IS;
    matter->done = end;
}

/* ---- YAML ---- */

/* A walk over the keys and values of the outermost mapping. */
struct walk {
    struct front_matter *matter;
    size_t depth;
    bool value, read; /* a value follows, which is for people */
    const char *at;   /* the byte of the character with this index: libyaml counts characters */
    size_t index;
};

static const char *place_of(struct walk *walk, size_t index) {
    for (size_t next = 0; walk->index < index && walk->at < walk->matter->end;
         walk->at += next, walk->index++, next = 0)
        character_next(walk->at, (size_t)(walk->matter->end - walk->at), &next);
    return walk->at;
}

static void take_scalar(struct walk *walk, const yaml_event_t *event) {
    struct bytes text = {(const char *)event->data.scalar.value, event->data.scalar.length};
    if (!walk->value) {
        walk->read = is_wanted(walk->matter, text);
        return;
    }
    yaml_scalar_style_t written = event->data.scalar.style;
    enum style style = written == YAML_PLAIN_SCALAR_STYLE           ? STYLE_PLAIN
                       : written == YAML_SINGLE_QUOTED_SCALAR_STYLE ? STYLE_SINGLE
                       : written == YAML_DOUBLE_QUOTED_SCALAR_STYLE ? STYLE_DOUBLE
                                                                    : STYLES;
    bool one_line = event->start_mark.line == event->end_mark.line && messages_can_hold(text);
    if (!walk->read || style == STYLES || !one_line || event->data.scalar.anchor ||
        event->data.scalar.tag || memchr(text.start, '\n', text.length))
        return;
    const char *begin = place_of(walk, event->start_mark.index),
               *end = place_of(walk, event->end_mark.index);
    bool quoted = style != STYLE_PLAIN;
    if (end - begin > 2)
        add_value(walk->matter, text, begin + quoted, end - quoted, style);
}

/* Goes through the text. Returns false if it is not a mapping of keys and values that libyaml can
 * read. */
static bool walk_yaml(struct walk *walk, bool take) {
    const char *text = walk->at;
    yaml_parser_t parser;
    yaml_event_t event;
    bool ended = false;
    if (!yaml_text_open(&parser, text, (size_t)(walk->matter->end - text)))
        return false;
    for (bool more = true; more && yaml_parser_parse(&parser, &event); yaml_event_delete(&event)) {
        bool opens =
            event.type == YAML_MAPPING_START_EVENT || event.type == YAML_SEQUENCE_START_EVENT;
        bool closes = event.type == YAML_MAPPING_END_EVENT || event.type == YAML_SEQUENCE_END_EVENT;
        bool first = walk->depth == 0 && opens, scalar = event.type == YAML_SCALAR_EVENT;
        bool block = event.type == YAML_MAPPING_START_EVENT &&
                     event.data.mapping_start.style != YAML_FLOW_MAPPING_STYLE;
        if (scalar && walk->depth == 1 && take)
            take_scalar(walk, &event);
        walk->depth += opens;
        walk->depth -= closes;
        if (!first && walk->depth == 1 && (scalar || closes || event.type == YAML_ALIAS_EVENT))
            walk->value = !walk->value;
        ended = event.type == YAML_STREAM_END_EVENT;
        more = walk->depth < MOST_DEPTH && !ended && (!first || block);
    }
    yaml_parser_delete(&parser);
    return ended;
}

/* The text is read to its end before anything is taken from it. */
static void read_yaml(struct front_matter *matter) {
    const struct walk begin = {.matter = matter, .at = matter->done};
    struct walk walk = begin;
    if (!walk_yaml(&walk, false))
        return;
    walk = begin;
    walk_yaml(&walk, true);
}

/* True if the text is read as itself where it follows a key without quotation marks. */
static bool reads_as_itself(struct bytes text, struct arena *arena) {
    static const char key[] = "a: ", words[] = "true false yes no on off null y n";
    struct bytes_buffer line = {.arena = arena};
    yaml_parser_t parser;
    yaml_event_t event;
    size_t scalars = 0;
    bool itself = false, whole = false;
    bytes_put_string(&line, key);
    bytes_put(&line, text.start, text.length);
    if (line.failed || bytes_among_any_case(text, words) ||
        !segment_has_letters(text.start, 0, text.length) ||
        !yaml_text_open(&parser, line.bytes, line.length))
        return false;
    for (bool more = true; more && yaml_parser_parse(&parser, &event); yaml_event_delete(&event)) {
        scalars += event.type == YAML_SCALAR_EVENT;
        if (event.type == YAML_SCALAR_EVENT && scalars == 2)
            itself = event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
                     bytes_same(text, (struct bytes){(const char *)event.data.scalar.value,
                                                     event.data.scalar.length});
        whole = event.type == YAML_STREAM_END_EVENT;
        more = !whole && scalars < 3 && event.type != YAML_SEQUENCE_START_EVENT;
    }
    yaml_parser_delete(&parser);
    return itself && whole && scalars == 2;
}

/* ---- TOML ---- */

/* Values of keys before the first table; those with other escapes than \" and \\ stay. */
static void read_toml(struct front_matter *matter) {
    struct line line = {.next = matter->done};
    while (lines_next(&line, matter->end)) {
        struct bytes says = lines_trimmed(&line);
        const char *end = says.start + says.length, *equals = memchr(says.start, '=', says.length),
                   *at = equals;
        struct bytes_buffer text = {.arena = matter->builder->arena};
        if (says.length > 0 && *says.start == '[')
            return;
        if (!equals)
            continue;
        while (at > says.start && byte_is_space(at[-1]))
            at--;
        if (!is_wanted(matter, bytes_between(says.start, at)))
            continue;
        for (at = equals + 1; at < end && byte_is_space(*at);)
            at++;
        char quote = at < end ? *at : ' ';
        const char *begin = at + 1;
        if ((quote != '"' && quote != '\'') || (end - at > 2 && at[1] == quote))
            continue;
        for (at = begin; at < end && *at != quote; at++) {
            at += quote == '"' && *at == '\\' && at + 1 < end;
            if (at[-1] == '\\' && at > begin && quote == '"' && *at != '"' && *at != '\\')
                break;
            bytes_put(&text, at, 1);
        }
        if (at < end && *at == quote && text.length > 0 && !text.failed)
            add_value(matter, (struct bytes){text.bytes, text.length}, begin, at,
                      quote == '"' ? STYLE_DOUBLE : STYLE_LITERAL);
    }
}

/* ---- the interface ---- */

const char *front_matter_read(struct piece_builder *builder, struct bytes document, bool translated,
                              const struct key_globs *keys) {
    const char *end = document.start + document.length, *after = document.start;
    struct line line = {.next = document.start};
    struct bytes mark = lines_next(&line, end) ? lines_trimmed(&line) : nothing;
    struct front_matter matter = {.builder = builder, .done = line.next, .keys = keys};
    bool yaml = bytes_are(mark, "---");
    while ((yaml || bytes_are(mark, "+++")) && after == document.start && lines_next(&line, end)) {
        if (!bytes_same(lines_trimmed(&line), mark))
            continue;
        matter.end = line.begin;
        after = line.next;
    }
    if (after > document.start && translated && matter.end - matter.done <= MOST_BYTES) {
        piece_add_break(builder, bytes_between(document.start, matter.done));
        (yaml ? read_yaml : read_toml)(&matter);
    } else {
        matter.done = document.start;
    }
    piece_add_break(builder, bytes_between(matter.done, after));
    return after;
}

bool front_matter_close(struct bytes_buffer *out, const struct markup_end *end) {
    uintptr_t place = (uintptr_t)end->written - (uintptr_t)ends;
    if (place >= STYLES)
        return false;
    struct bytes text = {
        arena_copy(out->arena, out->bytes + end->inside, out->length - end->inside),
        out->length - end->inside};
    bool plain = place == STYLE_PLAIN,
         quoted = plain && text.start && !reads_as_itself(text, out->arena);
    if (!text.start || (plain && !quoted))
        return true;
    out->length = end->inside;
    if (quoted)
        bytes_put_string(out, "\"");
    for (size_t i = 0; i < text.length; i++) {
        const char *at = text.start + i;
        bool escaped = (quoted || place == STYLE_DOUBLE) && (*at == '"' || *at == '\\');
        if (escaped || (place == STYLE_SINGLE && *at == '\''))
            bytes_put_string(out, escaped ? "\\" : "'");
        if (place == STYLE_LITERAL && *at == '\'') /* which has no escapes */
            bytes_put_string(out, "\u2019");
        else
            bytes_put(out, at, 1);
    }
    if (quoted)
        bytes_put_string(out, "\"");
    return true;
}
