/* This file translates YAML: the scalars that are values, as far as they are prose. libyaml reads
 * the file and gives the place of each scalar; keys, comments, anchors, tags, order, and the style
 * of each scalar stay, unless a translation cannot be written in it. In files of Rails, whose root
 * is one language, the root becomes the language of the translation. */
#include "model/base/utf8.h"
#include "server/documents/values.h"
#include "server/documents/yaml_text.h"
#include <ctype.h>
#include <stdio.h>

enum {
    MOST_DEPTH = 64,
    KEY_BYTES = 64, /* of a key in a path; longer ones are cut */
    MOST_NUMBER = 24
};

struct level {
    bool mapping, flow, value; /* value: a value follows, of this key */
    char key[KEY_BYTES];
    size_t key_length, index;
    unsigned present;            /* categories of plurals among the keys, as bits */
    bool mixed;                  /* there are other keys, too */
    struct plural_branch *other; /* NULL: there is none */
};

struct reader {
    struct values *values;
    struct level levels[MOST_DEPTH];
    size_t depth;
    const char *at, *end; /* the byte of the character with this index: libyaml counts characters */
    size_t index;
    struct value *root; /* the root that is a language; NULL: none */
    size_t roots;       /* keys of the outermost mapping so far */
    char path[MOST_DEPTH * (KEY_BYTES + 1)];
};

/* How a scalar is written. */
struct style {
    yaml_scalar_style_t style;
    bool flow, root; /* within brackets; the whole document */
    size_t indent;   /* of the lines of a block */
};

static const char words[] = "true false yes no on off null y n ~"; /* are not strings */

/* ---- writing ---- */

/* True if what is written is read as this text, as a value of a mapping or the whole document,
 * before this white space. */
static bool reads_as(struct bytes written, struct bytes text, struct bytes space,
                     const struct style *style, struct arena *arena) {
    struct bytes_buffer line = {.arena = arena};
    yaml_parser_t parser;
    yaml_event_t event;
    size_t scalars = 0, wanted = style->root ? 1 : 2;
    bool same = false, whole = false;
    bytes_put_string(&line, style->root ? "" : style->flow ? "{a: " : "a: ");
    bytes_put(&line, written.start, written.length);
    bytes_put(&line, space.start, space.length);
    bytes_put_string(&line, style->flow ? "}\n" : "\n");
    if (line.failed || !yaml_text_open(&parser, line.bytes, line.length))
        return false;
    for (bool more = true; more && yaml_parser_parse(&parser, &event); yaml_event_delete(&event)) {
        if (event.type == YAML_SCALAR_EVENT && ++scalars == wanted)
            same = bytes_same(text, (struct bytes){(const char *)event.data.scalar.value,
                                                   event.data.scalar.length});
        whole = event.type == YAML_STREAM_END_EVENT;
        more = !whole && event.type != YAML_SEQUENCE_START_EVENT && scalars < 3;
    }
    yaml_parser_delete(&parser);
    return same && whole && scalars == wanted;
}

/* True for a character that libyaml refuses, or reads as a line end, where it is not escaped. */
static bool is_special(int32_t c) {
    return (c < 0x20 && c != '\t' && c != '\n') || (c >= 0x7f && c < 0xa0) || c == 0x2028 ||
           c == 0x2029 || c == 0xfeff || c == 0xfffe || c == 0xffff;
}

static bool has_special(struct bytes text) {
    bool special = false;
    for (size_t at = 0; at < text.length && !special;)
        special = is_special(character_next(text.start, text.length, &at));
    return special;
}

/* Puts text in quotation marks. Single ones must not hold special characters. */
static void put_quoted(struct bytes_buffer *out, struct bytes text, char mark) {
    bytes_put(out, &mark, 1);
    for (size_t at = 0, next = 0; at < text.length; at = next) {
        int32_t c = character_next(text.start, text.length, &next);
        char number[16];
        if (c == '\'' && mark == '\'')
            bytes_put_string(out, "''");
        else if (mark == '"' && (c == '"' || c == '\\'))
            bytes_put(out, (const char[]){'\\', (char)c}, 2);
        else if (mark == '"' && (c == '\n' || c == '\t'))
            bytes_put_string(out, c == '\n' ? "\\n" : "\\t");
        else if (mark == '"' && is_special(c))
            bytes_put(out, number, (size_t)snprintf(number, sizeof number, "\\u%04x", (unsigned)c));
        else
            bytes_put(out, text.start + at, next - at);
    }
    bytes_put(out, &mark, 1);
}

/* Puts a line of a block, which has no escapes. */
static void put_line(struct bytes_buffer *out, struct bytes text) {
    for (size_t at = 0, next = 0; at < text.length; at = next) {
        bool special = is_special(character_next(text.start, text.length, &next));
        bytes_put(out, special ? " " : text.start + at, special ? 1 : next - at);
    }
}

/* Puts the lines of a block, whose first character sets the indentation and so is no space. In a
 * folded one, a line end of the text is written twice. */
static void put_block(struct bytes_buffer *out, struct bytes text, const struct style *style) {
    bool folded = style->style == YAML_FOLDED_SCALAR_STYLE, first = true;
    size_t begin = 0, next = 0;
    while (begin < text.length) {
        int32_t c = character_next(text.start, text.length, &next);
        if (!is_special(c) && !character_is_space(c))
            break;
        begin = next;
    }
    struct line line = {.next = text.start + begin};
    while (lines_next(&line, text.start + text.length)) {
        bytes_put_string(out, first ? "" : folded && line.end > line.begin ? "\n\n" : "\n");
        for (size_t i = 0; !first && line.end > line.begin && i < style->indent; i++)
            bytes_put(out, " ", 1);
        put_line(out, bytes_between(line.begin, line.end));
        first = false;
    }
}

/* A value_put. */
static void put_scalar(struct span_writer *writer, const struct value *value, struct bytes text,
                       bool sound) {
    const struct style *own = value->about;
    struct bytes_buffer made = {.arena = writer->out.arena}, *out = &writer->out;
    bool plain = own->style == YAML_PLAIN_SCALAR_STYLE,
         single = own->style == YAML_SINGLE_QUOTED_SCALAR_STYLE;
    (void)sound;
    if (own->style == YAML_LITERAL_SCALAR_STYLE || own->style == YAML_FOLDED_SCALAR_STYLE) {
        put_block(out, text, own);
        return;
    }
    if (plain)
        bytes_put(&made, text.start, text.length);
    else
        put_quoted(&made, text, single ? '\'' : '"');
    struct bytes written = {made.bytes, made.length};
    const char *stop = writer->document->source + writer->document->length, *after = value->end;
    while (after < stop && byte_is_space(*after))
        after++;
    struct bytes space = bytes_between(value->end, after);
    bool kept = !made.failed && !has_special(text) &&
                !(plain && bytes_among_any_case(text, words)) &&
                reads_as(written, text, space, own, out->arena);
    if (!kept && !made.failed) {
        made.length = 0;
        put_quoted(&made, text, '"');
        written = (struct bytes){made.bytes, made.length};
        if (!reads_as(written, text, space, own, out->arena)) { /* tabs may follow no quotation */
            document_note(writer->document, value->begin, "untranslated",
                          "a value keeps its text, because its translation needs quotation marks, "
                          "which tabs cannot follow");
            written = bytes_between(value->begin, value->end);
        }
    }
    bytes_put(out, written.start, written.length);
    out->failed |= made.failed;
}

/* ---- reading ---- */

static const char *place_of(struct reader *reader, size_t index) {
    for (size_t next = 0; reader->index < index && reader->at < reader->end;
         reader->at += next, reader->index++, next = 0)
        character_next(reader->at, (size_t)(reader->end - reader->at), &next);
    return reader->at;
}

/* Skips an anchor and a tag, which precede the scalar. */
static const char *skip_properties(const char *at, const char *end) {
    while (at < end && (*at == '&' || *at == '!')) {
        while (at < end && !byte_is_space(*at))
            at++;
        while (at < end && byte_is_space(*at))
            at++;
    }
    return at;
}

/* Returns the path of the value that comes next: keys and numbers with dots between them. */
static struct bytes path_of(struct reader *reader) {
    size_t length = 0;
    for (size_t i = 0; i < reader->depth; i++) {
        const struct level *level = &reader->levels[i];
        if (i > 0)
            reader->path[length++] = '.';
        if (level->mapping)
            memcpy(reader->path + length, level->key, level->key_length);
        length += level->mapping
                      ? level->key_length
                      : (size_t)snprintf(reader->path + length, MOST_NUMBER, "%zu", level->index);
    }
    return (struct bytes){reader->path, length};
}

/* Narrows [*begin, *end) of a block scalar to its text: from the first character of its first line
 * to the end of the last one that is not blank. Returns false if the text has lines that a
 * translation could not keep: those that are indented further in a folded one. */
static bool find_block(const char **begin, const char **end, struct bytes *text,
                       struct style *style) {
    const char *stop = *end, *line = memchr(*begin, '\n', (size_t)(stop - *begin)), *first = line;
    bool stated = false;
    for (const char *c = *begin; line && c < line && *c != '#'; c++)
        stated |= isdigit((unsigned char)*c);
    for (const char *c = line; c && c < stop && byte_is_space(*c); c++)
        first = *c == '\n' ? c : first;
    if (!first || stated)
        return false;
    const char *at = first + 1;
    while (at < stop && *at == ' ')
        at++;
    while (stop > at && byte_is_space(stop[-1]))
        stop--;
    while (text->length > 0 && byte_is_space(text->start[text->length - 1]))
        text->length--;
    if (stop <= at || text->length == 0 || text->start[0] != *at)
        return false;
    style->indent = (size_t)(at - first - 1);
    for (size_t i = 0; style->style == YAML_FOLDED_SCALAR_STYLE && i + 1 < text->length; i++)
        if (text->start[i] == '\n' && (text->start[i + 1] == ' ' || text->start[i + 1] == '\t'))
            return false;
    *begin = at;
    *end = stop;
    return true;
}

static void add_scalar(struct reader *reader, const yaml_event_t *event) {
    struct values *values = reader->values;
    struct arena *arena = values->builder.arena;
    struct bytes text = {(const char *)event->data.scalar.value, event->data.scalar.length};
    const char *tag = (const char *)event->data.scalar.tag;
    const char *begin = place_of(reader, event->start_mark.index),
               *end = place_of(reader, event->end_mark.index);
    struct style style = {event->data.scalar.style,
                          reader->depth > 0 && reader->levels[reader->depth - 1].flow,
                          reader->depth == 0, 0};
    bool plain = style.style == YAML_PLAIN_SCALAR_STYLE,
         block =
             style.style == YAML_LITERAL_SCALAR_STYLE || style.style == YAML_FOLDED_SCALAR_STYLE;
    struct bytes path = path_of(reader);
    begin = skip_properties(begin, end);
    if ((plain && bytes_among_any_case(text, words)) ||
        (tag && strcmp(tag, "!") != 0 && strcmp(tag, YAML_STR_TAG) != 0) ||
        (block && !find_block(&begin, &end, &text, &style)) || !values_want(values, text, path))
        return;
    struct style *kept = arena_alloc(arena, 1, sizeof *kept);
    const char *copy = arena_copy(arena, text.start, text.length);
    if (!kept || !copy)
        return;
    *kept = style;
    text.start = copy;
    values_add(values, &(struct value){.begin = begin,
                                       .end = end,
                                       .text = text,
                                       .name = path,
                                       .notations = values_percents(text),
                                       .about = kept});
}

/* True for a code such as en or pt-BR. */
static bool is_language(struct bytes key) {
    bool code = key.length >= 2 && islower((unsigned char)key.start[0]) &&
                islower((unsigned char)key.start[1]);
    for (size_t i = 2; i < key.length && code; i++)
        code = i == 2 ? key.start[i] == '-' || key.start[i] == '_'
                      : isalnum((unsigned char)key.start[i]) || key.start[i] == '-';
    return code && key.length != 3;
}

/* True if the file has one root at most. A line in the first column begins one, unless it is a
 * comment, a list's item or a mark of the document. */
static bool has_one_root(const struct document *document) {
    struct line line = {.next = document->source};
    size_t roots = 0;
    while (roots < 2 && lines_next(&line, document->source + document->length))
        roots +=
            line.begin < line.end && !byte_is_space(*line.begin) && !strchr("#-.%", *line.begin);
    return roots < 2;
}

/* Notes a key, which may be the category of a plural. Its branch begins with its line or, within
 * braces, with the key. */
static void note_category(struct reader *reader, struct level *level, struct bytes key,
                          struct bytes written) {
    struct values *values = reader->values;
    size_t category = plurals_category(key);
    const char *begin = written.start;
    bool quoted = *begin == '"' || *begin == '\'';
    level->present |= category < PLURAL_CATEGORIES ? 1U << category : 0;
    level->mixed |= category == PLURAL_CATEGORIES;
    while (!level->flow && begin > values->document->source && begin[-1] == ' ')
        begin--;
    if (category != PLURAL_OTHER || level->other ||
        (!level->flow && begin > values->document->source && begin[-1] != '\n'))
        return;
    level->other = spans_begin_plural(&values->spans, &values->builder, begin);
    if (level->other) {
        level->other->name = (struct bytes){written.start + quoted, written.length - 2 * quoted};
        level->other->separator = level->flow ? ", " : "\n";
    }
}

/* Ends the branch whose value ends there, perhaps with white space. */
static void end_branch(struct reader *reader, struct level *level, const char *end) {
    if (!level->other || level->other->end)
        return;
    while (end > level->other->begin && byte_is_space(end[-1]))
        end--;
    spans_end_plural(&reader->values->spans, &reader->values->builder, level->other, end);
}

static void take_key(struct reader *reader, const yaml_event_t *event) {
    struct level *level = &reader->levels[reader->depth - 1];
    struct bytes key = {(const char *)event->data.scalar.value, event->data.scalar.length};
    const char *begin = place_of(reader, event->start_mark.index),
               *end = place_of(reader, event->end_mark.index);
    const char *language = reader->values->document->language;
    bool word = bytes_among_any_case(bytes_of(language), words);
    level->key_length = utf8_clip(key.start, key.length, KEY_BYTES);
    memcpy(level->key, key.start, level->key_length);
    note_category(reader, level, key, bytes_between(begin, end));
    if (reader->depth != 1 || ++reader->roots > 1 || !is_language(key))
        return;
    if (has_one_root(reader->values->document))
        reader->values->named = false; /* all below it is a user interface's */
    bool quoted = *begin == '"' || *begin == '\'';
    struct bytes_buffer name = {.arena = reader->values->builder.arena};
    bytes_put_string(&name, word && !quoted ? "\"" : "");
    bytes_put_string(&name, language);
    bytes_put_string(&name, word && !quoted ? "\"" : "");
    if (!name.failed)
        reader->root = values_restate(reader->values, begin + quoted, end - quoted,
                                      (struct bytes){name.bytes, name.length});
}

/* Follows the structure to the value after this event. */
static void step(struct reader *reader) {
    struct level *level = reader->depth > 0 ? &reader->levels[reader->depth - 1] : NULL;
    if (level && level->mapping)
        level->value = !level->value;
    else if (level)
        level->index++;
}

static int take_event(struct reader *reader, const yaml_event_t *event) {
    struct level *level = reader->depth > 0 ? &reader->levels[reader->depth - 1] : NULL;
    bool mapping = event->type == YAML_MAPPING_START_EVENT;
    bool key = level && level->mapping && !level->value;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        if (key)
            take_key(reader, event);
        else
            add_scalar(reader, event);
        if (reader->root && reader->depth == 1 && !key)
            reader->root->fixed.start = NULL; /* the root is not a language's mapping */
        if (level && !key)
            end_branch(reader, level, place_of(reader, event->end_mark.index));
        step(reader);
        return 0;
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
        if (reader->depth == MOST_DEPTH)
            return error_set(reader->values->err, ERROR_INPUT,
                             "line %zu: mappings and sequences nest deeper than %d",
                             event->start_mark.line + 1, MOST_DEPTH);
        if (key)
            level->key_length = 0;
        reader->levels[reader->depth++] = (struct level){
            .mapping = mapping,
            .flow = mapping ? event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE
                            : event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE};
        return 0;
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        if (level->other && !level->mixed && (level->present & (level->present - 1)) != 0)
            level->other->present = level->present;
        else if (level->other)
            level->other->name.start = NULL;
        reader->depth--;
        step(reader);
        return 0;
    case YAML_ALIAS_EVENT:
        step(reader);
        return 0;
    default:
        return 0;
    }
}

int yaml_document_read(const struct document *document, struct arena *arena, struct markup *out,
                       struct error *err) {
    struct reader *reader = arena_zalloc(arena, 1, sizeof *reader);
    struct values *values = values_open(document, arena, put_scalar, err);
    yaml_parser_t parser;
    yaml_event_t event;
    bool ended = false;
    int result = 0;
    if (!reader || !values || !yaml_text_open(&parser, document->source, document->length))
        return error_memory(err);
    values->judged = values->named = true;
    *reader = (struct reader){
        .values = values, .at = document->source, .end = document->source + document->length};
    while (!ended && result == 0 && !values->builder.failed) {
        if (!yaml_parser_parse(&parser, &event)) {
            result = parser.error == YAML_MEMORY_ERROR
                         ? error_memory(err)
                         : error_set(err, ERROR_INPUT, "line %zu, column %zu: %s",
                                     parser.problem_mark.line + 1, parser.problem_mark.column + 1,
                                     parser.problem ? parser.problem : "it is not YAML");
            break;
        }
        ended = event.type == YAML_STREAM_END_EVENT;
        result = take_event(reader, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    if (reader->root && reader->roots > 1)
        reader->root->fixed.start = NULL;
    return result == 0 ? values_build(values, out, err) : -1;
}
