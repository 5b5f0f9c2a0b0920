#include "model/import/mapping.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { SHOWN_ITEMS = 20 };

struct reader {
    yaml_parser_t parser;
    struct arena *arena;
    struct mapping found;
    size_t room;
    struct error *err;
};

static int fail(struct reader *reader, const yaml_event_t *event, const char *what) {
    return error_set(reader->err, ERROR_FORMAT, "line %zu: %s", event->start_mark.line + 1, what);
}

/* The next event, which the caller deletes. */
static int next(struct reader *reader, yaml_event_t *event) {
    if (yaml_parser_parse(&reader->parser, event))
        return 0;
    const yaml_parser_t *parser = &reader->parser;
    if (parser->error == YAML_MEMORY_ERROR)
        return error_memory(reader->err);
    return error_set(reader->err, ERROR_FORMAT, "line %zu: cannot be read: %s",
                     (parser->error == YAML_READER_ERROR ? parser->mark.line : parser->problem_mark.line) + 1,
                     parser->problem ? parser->problem : "it is damaged");
}

/* A scalar's text; NULL after an error. The event is deleted. */
static const char *take_scalar(struct reader *reader, yaml_event_t *event) {
    const char *text = (const char *)event->data.scalar.value, *copy = NULL;
    size_t length = event->data.scalar.length;
    if (event->data.scalar.anchor)
        fail(reader, event, "anchors are not read");
    else if (strlen(text) != length)
        fail(reader, event, "a NUL");
    else if (!(copy = arena_copy(reader->arena, text, length)))
        error_memory(reader->err);
    yaml_event_delete(event);
    return copy;
}

static int read_list(struct reader *reader, struct mapping_pair *pair) {
    size_t room = 0;
    for (;;) {
        yaml_event_t event;
        if (next(reader, &event) != 0)
            return -1;
        if (event.type == YAML_SEQUENCE_END_EVENT) {
            yaml_event_delete(&event);
            return 0;
        }
        if (event.type != YAML_SCALAR_EVENT) {
            fail(reader, &event, "only lists of plain values are read");
            yaml_event_delete(&event);
            return -1;
        }
        const char *item = take_scalar(reader, &event);
        const char **items = item ? arena_grow(reader->arena, pair->items, pair->count, &room, 1, sizeof *items) : NULL;
        if (!item)
            return -1;
        if (!items)
            return error_memory(reader->err);
        pair->items = items;
        pair->items[pair->count++] = item;
    }
}

/* Returns 1 at the end of the mapping. */
static int read_pair(struct reader *reader) {
    yaml_event_t event;
    struct mapping_pair pair = {0};
    if (next(reader, &event) != 0)
        return -1;
    if (event.type == YAML_MAPPING_END_EVENT) {
        yaml_event_delete(&event);
        return 1;
    }
    if (event.type != YAML_SCALAR_EVENT) {
        fail(reader, &event, "a key must be a plain value");
        yaml_event_delete(&event);
        return -1;
    }
    if (!(pair.key = take_scalar(reader, &event)) || next(reader, &event) != 0)
        return -1;
    if (event.type == YAML_SCALAR_EVENT) {
        if (!(pair.value = take_scalar(reader, &event)))
            return -1;
    } else {
        int result =
            event.type == YAML_SEQUENCE_START_EVENT ? 0 : fail(reader, &event, "only plain values and lists of them are read");
        yaml_event_delete(&event);
        if (result != 0 || read_list(reader, &pair) != 0)
            return -1;
    }
    struct mapping_pair *pairs =
        arena_grow(reader->arena, reader->found.pairs, reader->found.count, &reader->room, 1, sizeof *pairs);
    if (!pairs)
        return error_memory(reader->err);
    reader->found.pairs = pairs;
    pairs[reader->found.count++] = pair;
    return 0;
}

static int read_document(struct reader *reader) {
    int result = 0;
    for (bool done = false; result == 0 && !done;) {
        yaml_event_t event;
        if (next(reader, &event) != 0)
            return -1;
        switch (event.type) {
        case YAML_STREAM_START_EVENT:
        case YAML_DOCUMENT_START_EVENT:
        case YAML_DOCUMENT_END_EVENT:
            break;
        case YAML_STREAM_END_EVENT:
            done = true;
            break;
        case YAML_MAPPING_START_EVENT:
            if (reader->found.pairs)
                result = fail(reader, &event, "only one mapping is read");
            while (result == 0)
                result = read_pair(reader);
            result = result == 1 ? 0 : result;
            break;
        default:
            result = fail(reader, &event, "a mapping of keys and values is expected here");
        }
        yaml_event_delete(&event);
    }
    return result;
}

static int by_key(const void *a, const void *b) {
    const struct mapping_pair *const *one = a, *const *other = b;
    return strcmp((*one)->key, (*other)->key);
}

static int refuse_twins(const struct reader *reader) {
    size_t count = reader->found.count;
    const struct mapping_pair **sorted = malloc((count + 1) * sizeof *sorted);
    if (!sorted)
        return error_memory(reader->err);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &reader->found.pairs[i];
    qsort(sorted, count, sizeof *sorted, by_key);
    int result = 0;
    for (size_t i = 1; i < count && result == 0; i++)
        if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0)
            result = error_set(reader->err, ERROR_FORMAT, "'%s' occurs twice", sorted[i]->key);
    free(sorted);
    return result;
}

int mapping_read(const char *text, size_t length, struct arena *arena, struct mapping *out, struct error *err) {
    struct reader reader = {.arena = arena, .err = err};
    if (!yaml_parser_initialize(&reader.parser))
        return error_memory(err);
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, length);
    int result = read_document(&reader);
    yaml_parser_delete(&reader.parser);
    if (result == 0)
        result = refuse_twins(&reader);
    if (result == 0)
        *out = reader.found;
    return result;
}

const struct mapping_pair *mapping_find(const struct mapping *mapping, const char *key) {
    for (size_t i = 0; i < mapping->count; i++)
        if (strcmp(mapping->pairs[i].key, key) == 0)
            return &mapping->pairs[i];
    return NULL;
}

const char *mapping_shown(struct arena *arena, const struct mapping_pair *pair) {
    if (pair->value)
        return pair->value;
    const char *text = "[";
    for (size_t i = 0; i < pair->count && i < SHOWN_ITEMS && text; i++)
        text = import_say(arena, "%s%s%s", text, i ? ", " : "", pair->items[i]);
    text = text ? import_say(arena, "%s%s]", text, pair->count > SHOWN_ITEMS ? ", ..." : "") : NULL;
    return text ? text : "";
}
