/* This file reads glossary and protect into struct request, and finds kept glossaries. */
#include "server/api/terms.h"
#include "server/api/dialect.h"
#include "server/api/languages.h"
#include "server/api/plan.h"
#include "server/api/reply.h"
#include "server/api/value.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- protect: ["a string", {"pattern": "[A-Z]{2}-\\d+"}, ...] ---- */

int terms_read_protect(const json_t *value, struct request *request, struct reply *reply) {
    static const char name[] = "protect";
    enum { MAX_ITEMS = 50, MAX_BYTES = 200 };
    struct arena *arena = &request->arena;
    if (!json_is_array(value))
        return reply_refuse(reply, name, "%s must be an array of strings and patterns, got %s",
                            name, value_type_name(value));
    size_t count = json_array_size(value), strings = 0, i;
    if (count > MAX_ITEMS)
        return reply_refuse(reply, name, "%s must contain at most %d strings and patterns, got %zu",
                            name, MAX_ITEMS, count);
    struct protection *protection = arena_zalloc(arena, 1, sizeof *protection);
    struct glossary_entry *entries = arena_alloc(arena, count, sizeof *entries);
    const char **patterns = arena_alloc(arena, count, sizeof *patterns);
    const json_t *item;
    json_array_foreach(arena_failed(arena) ? NULL : value, i, item) {
        bool is_pattern = json_is_object(item);
        const json_t *string = is_pattern ? json_object_get(item, "pattern") : item;
        const char *text = json_string_value(string);
        size_t length = json_string_length(string);
        struct error error = {0};
        if (!text || (is_pattern && json_object_size(item) != 1))
            return reply_refuse(reply, name,
                                "%s[%zu] must be a string or {\"pattern\": \"...\"}, got %s", name,
                                i, value_type_name(item));
        if (length > MAX_BYTES || text[strspn(text, " \t\r\n")] == '\0')
            return reply_refuse(
                reply, name, "%s[%zu] must have between 1 and %d bytes, and not be blank, got %zu",
                name, i, MAX_BYTES, length);
        struct pattern *pattern = is_pattern ? pattern_open(text, &error) : NULL;
        pattern_free(pattern);
        if (is_pattern && !pattern)
            return error.code == ERROR_INPUT
                       ? reply_refuse(reply, name, "%s[%zu] is not a valid pattern: %s", name, i,
                                      error.message)
                       : reply_fail_memory(reply);
        const char *copy = arena_copy(arena, text, strlen(text));
        if (is_pattern)
            patterns[protection->pattern_count++] = copy;
        else
            entries[strings++] = (struct glossary_entry){copy, copy};
    }
    if (arena_failed(arena) ||
        lexicon_init(&protection->strings, entries, strings, arena, NULL) != 0)
        return reply_fail_memory(reply);
    protection->patterns = patterns;
    request->parameters.protection = protection;
    return 0;
}

/* ---- glossary: {"source phrase": "target phrase", ...}, or the name of a kept glossary ---- */

/* Describes the glossary that the request asks for. */
struct wanted {
    const char *name, *owner, *source, *target;
};

/* Finds the first such glossary within the language_distance `far`. LANGUAGE_FAR allows any
 * language. */
static struct kept_glossary *find_glossary(const struct glossary_list *list,
                                           const struct wanted *wanted, int far) {
    for (size_t i = 0; i < list->count; i++) {
        const struct glossary_about *about = &list->all[i]->about;
        if ((strcmp(about->id, wanted->name) == 0 || strcmp(about->name, wanted->name) == 0) &&
            (about->fixed || strcmp(about->owner, wanted->owner) == 0) &&
            ((about->fixed && !*about->source) ||
             language_distance(about->source, wanted->source) <= far) &&
            ((about->fixed && !*about->target) ||
             language_distance(about->target, wanted->target) <= far))
            return list->all[i];
    }
    return NULL;
}

const char *terms_owner(const struct request *request) {
    return request->key ? request->key->name : "";
}

/* Finds the kept glossary of this name or id for the languages of the request's model, and sets
 * request->parameters.glossary and kept. -1: the request may use no such glossary; the reply is
 * set. */
static int use_glossary(const struct service *service, const char *asked, struct request *request,
                        struct reply *reply) {
    const struct translator_info *info = &request->model->info;
    char target[VARIANT_CODE_BYTES];
    snprintf(target, sizeof target, "%s", info->target);
    if (request->parameters.variant)
        variant_code(request->parameters.variant, target);
    const struct wanted wanted = {asked, terms_owner(request), info->source, target};
    struct glossary_list list;
    if (glossaries_all(service->glossaries, &list, NULL) != 0)
        return reply_fail_memory(reply);
    struct kept_glossary *found =
        find_glossary(&list, &wanted, 0); /* prefer a glossary for exactly this pair */
    if (!found)
        found = find_glossary(&list, &wanted, LANGUAGE_FAR - 1);
    bool other_pair = !found && find_glossary(&list, &wanted, LANGUAGE_FAR);
    request->parameters.kept = found ? kept_glossary_acquire(found) : NULL;
    glossaries_list_done(&list);
    if (!found) {
        char message[REPLY_MESSAGE_BYTES];
        snprintf(message, sizeof message, "glossary \"%.60s\" not found for \"%s\" to \"%s\"",
                 asked, info->source, target);
        return reply->dialect && reply->dialect->lacks_glossary
                   ? reply->dialect->lacks_glossary(other_pair, asked, message, reply)
                   : reply_fail(reply, STATUS_INVALID, "glossary", "%s", message);
    }
    glossary_init(&request->parameters.glossary, &request->parameters.kept->lexicon,
                  &request->arena);
    return 0;
}

/* By their source phrases; equal ones in the order in which they were given. */
static int compare_entries(const void *a, const void *b) {
    const struct glossary_entry *x = *(const struct glossary_entry *const *)a,
                                *y = *(const struct glossary_entry *const *)b;
    int order = strcmp(x->source, y->source);
    return order != 0 ? order : x < y ? -1 : x > y;
}

/* Makes one glossary of several, in the request's arena. */
static int join_glossaries(struct kept_glossary *const *all, size_t count, struct request *request,
                           struct reply *reply) {
    struct arena *arena = &request->arena;
    size_t most = 0, given = 0, kept = 0;
    for (size_t i = 0; i < count; i++)
        most += all[i]->lexicon.count;
    if (most > GLOSSARY_MOST_ENTRIES)
        return reply_refuse(reply, "glossary_ids",
                            "the glossaries together must have at most %d entries, got %zu",
                            GLOSSARY_MOST_ENTRIES, most);
    struct glossary_entry *entries = arena_alloc(arena, most + 1, sizeof *entries),
                          *joined = arena_alloc(arena, most + 1, sizeof *joined);
    const struct glossary_entry **sorted = arena_alloc(arena, most + 1, sizeof *sorted);
    struct lexicon *lexicon = arena_alloc(arena, 1, sizeof *lexicon);
    if (arena_failed(arena))
        return reply_fail_memory(reply);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < all[i]->lexicon.count; k++) {
            const struct glossary_entry *entry = &all[i]->lexicon.entries[k];
            entries[given] =
                (struct glossary_entry){arena_copy(arena, entry->source, strlen(entry->source)),
                                        arena_copy(arena, entry->target, strlen(entry->target))};
            sorted[given] = &entries[given];
            given++;
        }
    if (arena_failed(arena))
        return reply_fail_memory(reply);
    qsort(sorted, given, sizeof *sorted, compare_entries);
    for (size_t i = 0; i < given; i++)
        if (i == 0 || strcmp(sorted[i]->source, sorted[i - 1]->source) != 0)
            joined[kept++] = *sorted[i];
    if (lexicon_init(lexicon, joined, kept, arena, NULL) != 0)
        return reply_fail_memory(reply);
    glossary_init(&request->parameters.glossary, lexicon, arena);
    return 0;
}

int terms_use_glossaries(const struct service *service, const struct order *order,
                         struct request *request, struct reply *reply) {
    struct kept_glossary *found[PLAN_MOST_GLOSSARIES];
    size_t count = 0;
    int result = 0;
    if (order->glossary_count < 2)
        return use_glossary(service, order->glossary, request, reply);
    for (; result == 0 && count < order->glossary_count; count += result == 0) {
        result = use_glossary(service, order->glossaries[count], request, reply);
        if (result == 0)
            found[count] = request->parameters.kept;
        request->parameters.kept = NULL;
    }
    if (result == 0)
        result = join_glossaries(found, count, request, reply);
    while (count > 0)
        kept_glossary_release(found[--count]);
    return result;
}

/* Checks and copies a phrase of the entry with this source phrase. Returns NULL after setting the
 * reply. */
static const char *read_phrase(const char *phrase, const char *source, struct arena *arena,
                               struct reply *reply) {
    enum { MAX_BYTES = 200 };
    size_t length = strlen(phrase);
    const char *copy = NULL;
    if (phrase[strspn(phrase, " \t\r\n")] == '\0' && phrase == source)
        reply_fail(reply, STATUS_INVALID, "glossary", "glossary must not contain empty phrases");
    else if (phrase[strspn(phrase, " \t\r\n")] == '\0')
        reply_fail(reply, STATUS_INVALID, "glossary",
                   "glossary must not contain empty phrases, got one for \"%.60s\"", source);
    else if (length > MAX_BYTES)
        reply_fail(reply, STATUS_INVALID, "glossary",
                   "a phrase of glossary must have at most %d bytes, got %zu", MAX_BYTES, length);
    else if (!(copy = arena_copy(arena, phrase, length)))
        reply_fail_memory(reply);
    return copy;
}

int terms_read_glossary(const struct service *service, json_t *value, struct request *request,
                        struct reply *reply) {
    static const char name[] = "glossary";
    enum { MAX_ENTRIES = 50 };
    if (json_is_string(value))
        return use_glossary(service, json_string_value(value), request, reply);
    if (!json_is_object(value))
        return reply_refuse(reply, name, "%s must be an object or the name of a glossary, got %s",
                            name, value_type_name(value));
    size_t most = json_object_size(value), count = 0;
    if (most > MAX_ENTRIES)
        return reply_refuse(reply, name, "%s must contain at most %d entries, got %zu", name,
                            MAX_ENTRIES, most);
    struct arena *arena = &request->arena;
    struct glossary_entry *entries = arena_alloc(arena, most, sizeof *entries);
    struct lexicon *lexicon = arena_alloc(arena, 1, sizeof *lexicon);
    const char *source;
    json_t *target;
    json_object_foreach(arena_failed(arena) ? NULL : value, source, target) {
        struct glossary_entry *entry = &entries[count++];
        if (!(entry->source = read_phrase(source, source, arena, reply)))
            return -1;
        if (!json_is_string(target))
            return reply_refuse(reply, name, "%s must map phrases to strings, got %s for \"%.60s\"",
                                name, value_type_name(target), source);
        if (!(entry->target = read_phrase(json_string_value(target), source, arena, reply)))
            return -1;
    }
    if (arena_failed(arena) || lexicon_init(lexicon, entries, count, arena, NULL) != 0)
        return reply_fail_memory(reply);
    glossary_init(&request->parameters.glossary, lexicon, arena);
    return 0;
}
