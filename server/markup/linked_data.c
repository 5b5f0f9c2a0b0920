/* This file reads JSON-LD as far as it is needed to know the members of its objects. */
#include "server/markup/linked_data.h"
#include <stdio.h>
#include <stdlib.h>

enum { MOST_DEPTH = 32, ESCAPE_BYTES = 6 };

static const char read_names[] = "name description headline alternativeHeadline";
/* An object whose type ends so has a name of its own. */
static const char *const named_types[] = {
    "Person",  "Organization", "Corporation", "Business", "Brand", "Place", "Address",
    "Country", "City",         "WebSite",     "Store",    "Team",  "Group", "Application"};

struct object {
    bool array, proper;
    struct bytes member; /* the name of the current member; of an array, the member that holds it */
    size_t first;        /* the first text found in the object */
};

struct linked_walk {
    struct arena *arena;
    struct object open[MOST_DEPTH];
    size_t depth;
    struct linked_text *texts; /* [count] */
    size_t *owners;            /* [count] the depth of the object whose name it is; 0: of none */
    size_t count, room, owner_room;
};

/* Returns the end of the string that begins after `at`, or NULL. */
static const char *string_end(const char *at, const char *end) {
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\' && at + 1 < end;
    return at < end ? at : NULL;
}

/* Decodes a string. Returns false for halves of pairs and other escapes than JSON's. */
static bool decode(struct bytes raw, struct arena *arena, struct bytes *out) {
    static const char names[] = "\"\\/bfnrt", means[] = "\"\\/  \n  ";
    struct bytes_buffer text = {.arena = arena};
    for (const char *at = raw.start, *end = at + raw.length; at < end; at++) {
        char digits[5] = "", bytes[4];
        if (*at != '\\') {
            bytes_put(&text, at, 1);
            continue;
        }
        const char *name = at + 1 < end && at[1] ? strchr(names, at[1]) : NULL;
        if (name) {
            bytes_put(&text, means + (name - names), 1);
            at++;
            continue;
        }
        if (end - at < ESCAPE_BYTES || at[1] != 'u')
            return false;
        memcpy(digits, at + 2, 4);
        int32_t c = (int32_t)strtol(digits, NULL, 16);
        if (strspn(digits, "0123456789abcdefABCDEF") != 4 || c < ' ' || (c >= 0xd800 && c < 0xe000))
            return false;
        bytes_put(&text, bytes, character_put(c, bytes));
        at += ESCAPE_BYTES - 1;
    }
    *out = (struct bytes){text.bytes, text.length};
    return !text.failed && text.length > 0;
}

static void take_value(struct linked_walk *walk, struct bytes raw) {
    struct object *object = &walk->open[walk->depth - 1];
    struct bytes text;
    if (bytes_are(object->member, "@type"))
        for (size_t i = 0; i < sizeof named_types / sizeof *named_types; i++) {
            size_t length = strlen(named_types[i]);
            struct object *owner = object->array && walk->depth > 1 ? object - 1 : object;
            owner->proper |= raw.length >= length &&
                             memcmp(raw.start + raw.length - length, named_types[i], length) == 0;
        }
    if (object->array || !bytes_among(object->member, read_names) ||
        !decode(raw, walk->arena, &text))
        return;
    struct linked_text *texts =
        arena_grow(walk->arena, walk->texts, walk->count, &walk->room, 1, sizeof *texts);
    size_t *owners =
        arena_grow(walk->arena, walk->owners, walk->count, &walk->owner_room, 1, sizeof *owners);
    if (!texts || !owners)
        return;
    walk->texts = texts;
    walk->owners = owners;
    owners[walk->count] = bytes_are(object->member, "name") ? walk->depth : 0;
    texts[walk->count++] = (struct linked_text){raw, text};
}

/* Ends an object, whose own name goes if its type says so. */
static void end_object(struct linked_walk *walk) {
    const struct object *object = &walk->open[walk->depth - 1];
    size_t kept = object->first;
    for (size_t i = object->first; i < walk->count; i++) {
        if (object->proper && walk->owners[i] == walk->depth)
            continue;
        walk->texts[kept] = walk->texts[i];
        walk->owners[kept++] = walk->owners[i] == walk->depth ? 0 : walk->owners[i];
    }
    walk->count = kept;
    walk->depth--;
}

size_t linked_data_find(struct bytes json, struct arena *arena, struct linked_text **out) {
    struct linked_walk walk = {.arena = arena};
    const char *end = json.start + json.length, *stop;
    for (const char *at = json.start; at < end; at++) {
        struct object *object = walk.depth > 0 ? &walk.open[walk.depth - 1] : NULL;
        if (*at == '{' || *at == '[') {
            if (walk.depth == MOST_DEPTH)
                return 0;
            walk.open[walk.depth++] =
                (struct object){.array = *at == '[',
                                .member = object && *at == '[' ? object->member : nothing,
                                .first = walk.count};
        } else if (*at == '}' || *at == ']') {
            if (!object || object->array != (*at == ']'))
                return 0;
            end_object(&walk);
        } else if (*at == '"') {
            if (!object || !(stop = string_end(at, end)))
                return 0;
            struct bytes raw = bytes_between(at + 1, stop);
            for (at = stop + 1; at < end && byte_is_space(*at);)
                at++;
            bool name = at < end && *at == ':';
            if (name && !object->array)
                object->member = raw;
            else if (!name)
                take_value(&walk, raw);
            at = name ? at : stop;
        }
    }
    *out = walk.texts;
    return walk.depth == 0 && !arena_failed(arena) ? walk.count : 0;
}

void linked_data_put(struct bytes_buffer *out, struct bytes text) {
    for (const char *at = text.start, *end = at + text.length; at < end; at++) {
        char number[8];
        if (*at == '"' || *at == '\\')
            bytes_put(out, "\\", 1);
        if ((unsigned char)*at < ' ' || *at == '<') /* "</script" would end the script */
            bytes_put(out, number,
                      (size_t)snprintf(number, sizeof number, "\\u%04x", (unsigned)*at));
        else
            bytes_put(out, at, 1);
    }
}
