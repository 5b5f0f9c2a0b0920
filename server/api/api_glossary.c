/* glossary: {"source phrase": "target phrase", ...}, or the name of one that is kept. */
#include "server/api/api_form.h"
#include "server/api/language.h"
#include "server/decode/variant.h"
#include <stdio.h>
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
    struct lexicon *lexicon = arena_alloc(&request->arena, 1, sizeof *lexicon);
    if (arena_failed(&request->arena) || lexicon_init(lexicon, entries, count, &request->arena, NULL) != 0) {
        api_fail_memory(reply);
        return -1;
    }
    glossary_init(&request->glossary, lexicon, &request->arena);
    return 0;
}

/* ---- one that is kept ---- */

/* What a glossary must be. */
struct wanted {
    const char *name, *owner, *source, *target;
    int far; /* that its languages may be from these (language_distance) */
};

static bool speaks(const char *has, const char *asked, int far) {
    return *has == '\0' || language_distance(has, asked) <= far;
}

static bool is_named(const struct kept_glossary *glossary, const void *context) {
    const struct wanted *wanted = context;
    const struct glossary_about *about = &glossary->about;
    return (strcmp(about->id, wanted->name) == 0 || strcmp(about->name, wanted->name) == 0) &&
           (about->fixed || strcmp(about->owner, wanted->owner) == 0);
}

static bool fits(const struct kept_glossary *glossary, const void *context) {
    const struct wanted *wanted = context;
    return is_named(glossary, wanted) && speaks(glossary->about.source, wanted->source, wanted->far) &&
           speaks(glossary->about.target, wanted->target, wanted->far);
}

const char *api_glossary_owner(const struct request *request) {
    return request->key ? request->key->name : "";
}

int api_use_glossary(const struct service *service, const char *asked, struct request *request, struct reply *reply) {
    const struct translator_info *info = &request->model->info;
    char target[VARIANT_CODE_BYTES];
    snprintf(target, sizeof target, "%s", info->target);
    if (request->variant)
        variant_code(request->variant, target);
    struct wanted wanted = {asked, api_glossary_owner(request), info->source, target, 0};
    request->kept = glossaries_find(service->glossaries, fits, &wanted); /* of several dictionaries the one for this very pair */
    wanted.far = LANGUAGE_FAR - 1;
    if (!request->kept)
        request->kept = glossaries_find(service->glossaries, fits, &wanted);
    if (!request->kept && reply->dialect == &dialect_deepl) { /* its clients tell the two cases apart */
        struct kept_glossary *other = glossaries_find(service->glossaries, is_named, &wanted);
        kept_glossary_release(other);
        if (other)
            return api_refuse(reply, name, "No dictionary found for language pair");
    }
    if (!request->kept) {
        api_fail(reply, reply->dialect == &dialect_deepl ? STATUS_NOT_FOUND : STATUS_INVALID, name,
                 "there is no glossary \"%.60s\" from \"%s\" to \"%s\"", asked, info->source, target);
        return -1;
    }
    glossary_init(&request->glossary, &request->kept->lexicon, &request->arena);
    return 0;
}

/* ---- the field ---- */

void api_glossary_schema(struct writer *w) {
    writer_begin_array(w, "oneOf");
    writer_begin_object(w, NULL);
    writer_string(w, "type", "object");
    writer_count(w, "maxProperties", MAX_ENTRIES);
    writer_begin_object(w, "additionalProperties");
    writer_string(w, "type", "string");
    writer_count(w, "minLength", 1);
    writer_count(w, "maxLength", MAX_PHRASE_BYTES);
    writer_end_object(w);
    writer_end_object(w);
    api_schema(w, NULL, "string");
    writer_end_array(w);
}

int api_read_glossary(const struct service *service, json_t *value, struct request *request, struct reply *reply) {
    if (json_is_string(value))
        return api_use_glossary(service, json_string_value(value), request, reply);
    if (!json_is_object(value))
        return api_refuse(reply, name, "%s must be an object or the name of a glossary, got %s", name, api_type_name(value));
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
