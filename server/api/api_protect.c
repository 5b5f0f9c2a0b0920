/* protect: ["a string", {"pattern": "[A-Z]{2}-\\\\d+"}, ...]: what is not translated. */
#include "server/api/api_form.h"
#include <string.h>

enum { MAX_ITEMS = 50, MAX_BYTES = 200 };

static const char name[] = "protect", member[] = "pattern";

/* The string that item i is, or has; NULL: the reply is set. */
static const char *read_item(const json_t *item, size_t i, struct reply *reply) {
    const json_t *value = json_is_object(item) ? json_object_get(item, member) : item;
    const char *text = json_string_value(value);
    if (!text || (json_is_object(item) && json_object_size(item) != 1)) {
        api_fail(reply, STATUS_INVALID, name, "%s[%zu] must be a string or {\"%s\": \"...\"}, got %s", name, i, member,
                 api_type_name(item));
        return NULL;
    }
    size_t length = json_string_length(value);
    if (length <= MAX_BYTES && text[strspn(text, " \t\r\n")] != '\0')
        return text;
    api_fail(reply, STATUS_INVALID, name, "%s[%zu] must have between 1 and %d bytes, and not be blank, got %zu", name, i, MAX_BYTES,
             length);
    return NULL;
}

static int check_pattern(const char *expression, size_t i, struct reply *reply) {
    struct error error = {0};
    struct pattern *pattern = pattern_open(expression, &error);
    pattern_free(pattern);
    if (pattern)
        return 0;
    if (error.code == ERROR_INPUT)
        return api_refuse(reply, name, "%s[%zu] is not a pattern that can be used: %s", name, i, error.message);
    api_fail_memory(reply);
    return -1;
}

/* What is read, in the request's arena, with room for all items in either. */
struct items {
    struct protection *protection;
    struct glossary_entry *strings; /* [string_count] */
    const char **patterns;
    size_t string_count;
};

static int read_items(const json_t *value, struct items *items, struct arena *arena, struct reply *reply) {
    size_t i;
    const json_t *item;
    json_array_foreach(value, i, item) {
        const char *text = read_item(item, i, reply);
        if (!text || (json_is_object(item) && check_pattern(text, i, reply) != 0))
            return -1;
        const char *copy = arena_copy(arena, text, strlen(text));
        if (json_is_object(item))
            items->patterns[items->protection->pattern_count++] = copy;
        else
            items->strings[items->string_count++] = (struct glossary_entry){copy, copy};
    }
    items->protection->patterns = items->patterns;
    if (!arena_failed(arena) && lexicon_init(&items->protection->strings, items->strings, items->string_count, arena, NULL) == 0)
        return 0;
    api_fail_memory(reply);
    return -1;
}

int api_read_protect(const json_t *value, struct request *request, struct reply *reply) {
    struct arena *arena = &request->arena;
    if (!json_is_array(value))
        return api_refuse(reply, name, "%s must be an array of strings and patterns, got %s", name, api_type_name(value));
    size_t count = json_array_size(value);
    if (count > MAX_ITEMS)
        return api_refuse(reply, name, "%s must contain at most %d strings and patterns, got %zu", name, MAX_ITEMS, count);
    struct items items = {.protection = arena_zalloc(arena, 1, sizeof *items.protection)};
    items.strings = arena_alloc(arena, count, sizeof *items.strings);
    items.patterns = arena_alloc(arena, count, sizeof *items.patterns);
    if (arena_failed(arena)) {
        api_fail_memory(reply);
        return -1;
    }
    if (read_items(value, &items, arena, reply) != 0)
        return -1;
    request->protection = items.protection;
    return 0;
}

/* The members of a string's schema. */
static void put_string(struct writer *w, const char *key) {
    writer_begin_object(w, key);
    writer_string(w, "type", "string");
    writer_count(w, "minLength", 1);
    writer_count(w, "maxLength", MAX_BYTES);
    writer_end_object(w);
}

void api_protect_schema(struct writer *w) {
    writer_string(w, "type", "array");
    writer_count(w, "maxItems", MAX_ITEMS);
    writer_begin_object(w, "items");
    writer_begin_array(w, "oneOf");
    put_string(w, NULL);
    writer_begin_object(w, NULL);
    writer_string(w, "type", "object");
    writer_begin_object(w, "properties");
    put_string(w, member);
    api_end_properties(w, member);
    writer_end_object(w);
    writer_end_array(w);
    writer_end_object(w);
}
