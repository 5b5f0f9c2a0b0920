/* glossary: {"source phrase": "target phrase", ...}. */
#include "server/api/api_form.h"
#include <string.h>

enum { MAX_ENTRIES = 50, MAX_PHRASE_BYTES = 200 };

static const char name[] = "glossary";

static bool is_blank(const char *text) {
    return text[strspn(text, " \t\r\n")] == '\0';
}

static int check_length(const char *phrase, struct reply *reply) {
    size_t length = strlen(phrase);
    if (length <= MAX_PHRASE_BYTES)
        return 0;
    return api_refuse(reply, name, "a phrase of %s must have at most %d bytes, got %zu", name, MAX_PHRASE_BYTES, length);
}

static int check_entry(const char *source, const json_t *target, struct reply *reply) {
    if (is_blank(source))
        return api_refuse(reply, name, "%s must not contain empty phrases", name);
    if (check_length(source, reply) != 0)
        return -1;
    if (!json_is_string(target))
        return api_refuse(reply, name, "%s must map phrases to strings, got %s for \"%.60s\"", name, api_type_name(target), source);
    if (is_blank(json_string_value(target)))
        return api_refuse(reply, name, "%s must not contain empty phrases, got one for \"%.60s\"", name, source);
    return check_length(json_string_value(target), reply);
}

static int copy_entries(json_t *value, struct request *request, struct glossary_entry *entries, struct reply *reply) {
    const char *source;
    json_t *target;
    size_t count = 0;
    json_object_foreach(value, source, target) {
        if (check_entry(source, target, reply) != 0)
            return -1;
        struct glossary_entry *entry = &entries[count++];
        entry->source = arena_copy(&request->arena, source, strlen(source));
        entry->target = arena_copy(&request->arena, json_string_value(target), json_string_length(target));
    }
    if (!arena_failed(&request->arena) && glossary_init(&request->glossary, entries, count, &request->arena, NULL) == 0)
        return 0;
    api_fail_memory(reply);
    return -1;
}

void api_glossary_schema(struct writer *w) {
    writer_string(w, "type", "object");
    writer_count(w, "maxProperties", MAX_ENTRIES);
    writer_begin_object(w, "additionalProperties");
    writer_string(w, "type", "string");
    writer_count(w, "minLength", 1);
    writer_count(w, "maxLength", MAX_PHRASE_BYTES);
    writer_end_object(w);
}

int api_read_glossary(json_t *value, struct request *request, struct reply *reply) {
    if (!json_is_object(value))
        return api_refuse(reply, name, "%s must be an object, got %s", name, api_type_name(value));
    size_t count = json_object_size(value);
    if (count > MAX_ENTRIES)
        return api_refuse(reply, name, "%s must contain at most %d entries, got %zu", name, MAX_ENTRIES, count);
    struct glossary_entry *entries = arena_alloc(&request->arena, count, sizeof *entries);
    if (!entries) {
        api_fail_memory(reply);
        return -1;
    }
    return copy_entries(value, request, entries, reply);
}
