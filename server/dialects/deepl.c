/* This file has DeepL's dialect: POST /v2/translate, its languages and usage, and the calls for
 * glossaries. Unknown fields are ignored, since newer clients send fields of later versions. */
#include "server/dialects/deepl.h"
#include "server/api/access.h"
#include "server/api/call.h"
#include "server/api/dialect.h"
#include "server/api/languages.h"
#include "server/api/order.h"
#include "server/api/pairs.h"
#include "server/api/plan.h"
#include "server/api/reply.h"
#include "server/api/terms.h"
#include "server/api/value.h"
#include "server/base/strings.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { QUOTA_STATUS = 456, MOST_TAGS = 64 };

/* ---- errors ---- */

void deepl_put_error(struct writer *w, const struct dialect_error *error) {
    writer_begin_object(w, NULL);
    writer_string(w, "message", error->message);
    writer_end_object(w);
}

/* DeepL's clients do not know 401, and an exhausted quota has its own status. */
unsigned deepl_status(const struct dialect_error *error) {
    if (strcmp(error->code, "quota_exceeded") == 0)
        return QUOTA_STATUS;
    return error->status == STATUS_UNAUTHORIZED ? (unsigned)STATUS_FORBIDDEN : error->status;
}

/* ---- fields ---- */

/* Reads an array of strings, or one string, whose names are separated by commas or spaces, into the
 * arena. */
static int read_names(const json_t *root, const char *field, struct arena *arena,
                      struct xml_names *names, struct reply *reply) {
    const json_t *value = json_object_get(root, field);
    const char **all = arena_alloc(arena, MOST_TAGS, sizeof *all);
    size_t strings = json_is_array(value) ? json_array_size(value) : value && !json_is_null(value);
    names->all = all;
    for (size_t i = 0; all && i < strings; i++) {
        const json_t *string = json_is_array(value) ? json_array_get(value, i) : value;
        if (!json_is_string(string))
            return reply_refuse(reply, field, "%s must be a string or an array of strings", field);
        char *rest = arena_copy(arena, json_string_value(string), json_string_length(string));
        for (char *name; rest && (name = strsep(&rest, ", ")) != NULL;) {
            if (names->count == MOST_TAGS)
                return reply_refuse(reply, field, "%s must have at most %d names", field,
                                    MOST_TAGS);
            if (*name)
                all[names->count++] = name;
        }
    }
    if (!arena_failed(arena))
        return 0;
    return reply_fail_memory(reply);
}

static int read_tags(const json_t *root, struct order *order, struct arena *arena,
                     struct reply *reply) {
    static const char *const known[] = {"xml", "html", NULL};
    const char *handling;
    if (order_word(root, "tag_handling", known, "xml or html", &handling, reply) != 0)
        return -1;
    order->markup = handling != NULL;
    if (!handling || strcmp(handling, "html") == 0)
        return 0;
    struct xml_tags *tags = arena_zalloc(arena, 1, sizeof *tags);
    if (!tags)
        return reply_fail_memory(reply);
    order->tags = tags;
    tags->outline = true;
    tags->doctype = true;
    if ((json_object_get(root, "outline_detection") &&
         order_flag(root, "outline_detection", &tags->outline, reply) != 0) ||
        read_names(root, "ignore_tags", arena, &tags->ignored, reply) != 0 ||
        read_names(root, "splitting_tags", arena, &tags->splitting, reply) != 0)
        return -1;
    return read_names(root, "non_splitting_tags", arena, &tags->inline_names, reply);
}

/* The parts of an order that only this dialect has. */
struct deepl_order {
    bool billed;
    const char *model_type; /* the model type that the reply reports; NULL: not requested */
};

/* Reads glossary_ids: an array, or ids that commas separate. */
static int read_glossaries(const json_t *root, struct order *order, struct arena *arena,
                           struct reply *reply) {
    struct xml_names ids = {0};
    if (read_names(root, "glossary_ids", arena, &ids, reply) != 0)
        return -1;
    if (ids.count == 0)
        return 0;
    if (order->glossary)
        return reply_refuse(reply, "glossary_ids",
                            "glossary_id and glossary_ids exclude each other");
    if (ids.count > PLAN_MOST_GLOSSARIES)
        return reply_refuse(reply, "glossary_ids", "glossary_ids must have at most %d ids, got %zu",
                            PLAN_MOST_GLOSSARIES, ids.count);
    order->glossaries = ids.all;
    order->glossary_count = ids.count;
    order->glossary = ids.all[0];
    return 0;
}

static int deepl_read(const json_t *root, struct order *order, struct arena *arena,
                      struct reply *reply) {
    static const char *const types[] = {"quality_optimized", "prefer_quality_optimized",
                                        "latency_optimized", NULL};
    struct deepl_order *own = order->own;
    const char *type, *formality;
    if (order_string(root, "glossary_id", &order->glossary, reply) != 0 ||
        read_glossaries(root, order, arena, reply) != 0)
        return -1;
    const json_t *split = json_object_get(root, "split_sentences"); /* "0", "1" or "nonewlines" */
    bool splits = true;
    order->joined = json_is_string(split) && strcmp(json_string_value(split), "nonewlines") == 0;
    if (split && !order->joined && order_flag(root, "split_sentences", &splits, reply) != 0)
        return -1;
    order->whole = !splits;
    order->joined |= order->whole;
    if (order_string(root, "formality", &formality, reply) != 0)
        return -1;
    if (formality && !formality_read(formality, &order->formality))
        return reply_refuse(reply, "formality",
                            "formality must be " FORMALITY_NAMES ", got \"%.60s\"", formality);
    if (read_tags(root, order, arena, reply) != 0 ||
        order_flag(root, "show_billed_characters", &own->billed, reply) != 0 ||
        order_word(root, "model_type", types,
                   "quality_optimized, prefer_quality_optimized or latency_optimized", &type,
                   reply) != 0)
        return -1;
    const struct formality_wish *wish = &order->formality;
    if (wish->form != FORMALITY_ANY && !wish->prefers && order->targets[0] &&
        !formality_is_known(order->targets[0]))
        return reply_refuse(reply, "formality",
                            "Target language \"%.60s\" has no forms of address: formality must be "
                            "default, prefer_more or prefer_less",
                            order->targets[0]);
    if (type) /* there is only one kind of model, so the reply reports the type that the client
                 asked for */
        own->model_type = strcmp(type, types[2]) == 0 ? types[2] : types[0];
    if (order->glossary && !order->source)
        return reply_refuse(reply, "source_lang", "source_lang is required with glossary_id");
    return 0;
}

/* ---- answers ---- */

static void put_answers(struct writer *w, const struct plan *plan,
                        const struct plan_answers *answers, struct arena *arena) {
    (void)arena;
    const struct deepl_order *own = plan->order->own;
    writer_begin_object(w, NULL);
    writer_begin_array(w, "translations");
    for (size_t i = 0; i < plan->count; i++) {
        char source[VARIANT_CODE_BYTES]; /* without the region: "EN" for "en-GB" */
        snprintf(source, sizeof source, "%s", plan_source(plan, i));
        while (language_widen(source))
            ;
        writer_begin_object(w, NULL);
        order_put_code(w, "detected_source_language", source);
        order_put_text(w, "text", &answers[i].all[0]);
        if (own->billed)
            writer_count(w, "billed_characters", plan_characters(plan, i));
        if (own->model_type)
            writer_string(w, "model_type_used", own->model_type);
        writer_end_object(w);
    }
    writer_end_array(w);
    writer_end_object(w);
}

/* True if DeepL could have made this id: it is a UUID. */
static bool is_id(const char *id, size_t length) {
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    bool valid = length == sizeof form - 1;
    for (size_t i = 0; valid && i < length; i++)
        valid = form[i] == '-' ? id[i] == '-' : isxdigit((unsigned char)id[i]) != 0;
    return valid;
}

/* Refuses an id of which there is no glossary. Clients distinguish those that cannot be one. */
static int refuse_id(const char *id, size_t length, const char *message, struct reply *reply) {
    return is_id(id, length)
               ? reply_fail(reply, STATUS_NOT_FOUND, "glossary_id", "%s", message)
               : reply_refuse(reply, "glossary_id", "Invalid or missing glossary id: %s", message);
}

/* A glossary of other languages is a third error. */
static int lacks_glossary(bool exists, const char *asked, const char *message,
                          struct reply *reply) {
    return exists ? reply_refuse(reply, "glossary", "No dictionary found for language pair")
                  : refuse_id(asked, strlen(asked), message, reply);
}

static const struct dialect_field deepl_fields[] = {
#define DEEPL(name, fate, usual, example) {name, FIELD_##fate, usual},
#include "server/dialects/fields.def"
    {NULL, FIELD_HONOURED, NULL}};

const struct dialect dialect_deepl = {
    .name = "deepl",
    .key = "Authorization: DeepL-Auth-Key KEY, or the field auth_key",
    .fields = deepl_fields,
    .load = order_load,
    .several = "text",
    .order = {.text_name = "text",
              .source_name = "source_lang",
              .target_name = "target_lang",
              .apart = true},
    .own_bytes = sizeof(struct deepl_order),
    .start = order_begin,
    .read = deepl_read,
    .finish = order_finish,
    .put = put_answers,
    .put_error = deepl_put_error,
    .lacks_glossary = lacks_glossary,
    .status_of = deepl_status};

/* ---- languages and usage ---- */

void deepl_languages(const struct service *service, const struct call *call,
                     struct request *request, struct reply *reply) {
    (void)service;
    const struct api_field *sent = dialect_sent(call, "type");
    const char *type = sent ? sent->value : NULL;
    struct plan_codes codes;
    bool target = type && strcmp(type, "target") == 0;
    if (order_list(request, !target, target, &codes, reply) != 0)
        return;
    if (type && !target && strcmp(type, "source") != 0) {
        reply_fail(reply, STATUS_INVALID, "type", "type must be source or target");
        return;
    }
    struct writer w = {.most = SIZE_MAX};
    writer_begin_array(&w, NULL);
    for (size_t i = 0; i < codes.count; i++) {
        char name[LANGUAGE_NAME_BYTES];
        language_name(codes.all[i], name);
        writer_begin_object(&w, NULL);
        order_put_code(&w, "language", codes.all[i]);
        writer_string(&w, "name", name);
        if (target)
            writer_boolean(&w, "supports_formality", formality_is_known(codes.all[i]));
        writer_end_object(&w);
    }
    writer_end_array(&w);
    reply_json(reply, &w);
}

/* What the languages of a resource of version 3 can do. The resources without features are DeepL's
 * other services, for which there are no languages. */
static const struct {
    const char *name, *features; /* separated by spaces; NULL: it is not offered */
    bool returns;                /* for languages from which models translate and back */
} resources[] = {{"translate_text", "auto_detection formality glossary tag_handling", false},
                 {"translate_document", "auto_detection formality glossary", false},
                 {"glossary", "", false},
                 {"voice", NULL, false},
                 {"write", "auto_detection", true},
                 {"style_rules", NULL, false},
                 {"translation_memory", NULL, false}};
enum { RESOURCES = sizeof resources / sizeof *resources };

static bool has_code(const struct plan_codes *codes, const char *code) {
    for (size_t i = 0; i < codes->count; i++)
        if (language_same(codes->all[i], code))
            return true;
    return false;
}

/* formal: into this language, forms of address can be chosen. */
static void put_features(struct writer *w, const char *features, bool formal) {
    writer_begin_object(w, "features");
    for (const char *at = features; *at; at += strspn(at, " ")) {
        char name[24];
        size_t length = strcspn(at, " ");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        at += length;
        if (strcmp(name, "formality") == 0 && !formal)
            continue;
        writer_begin_object(w, name);
        writer_string(w, "status", "stable");
        writer_end_object(w);
    }
    writer_end_object(w);
}

void deepl_languages_3(const struct service *service, const struct call *call,
                       struct request *request, struct reply *reply) {
    (void)service;
    const struct api_field *asked = dialect_sent(call, "resource");
    struct plan_codes codes, sources, targets;
    size_t resource = 0;
    while (asked && resource < RESOURCES && strcmp(resources[resource].name, asked->value) != 0)
        resource++;
    if (!asked || resource == RESOURCES) {
        reply_fail(reply, STATUS_INVALID, "resource",
                   "resource must be translate_text, translate_document, write or glossary%s",
                   asked ? "" : ", and is missing");
        return;
    }
    if (order_list(request, true, true, &codes, reply) != 0 ||
        order_list(request, true, false, &sources, reply) != 0 ||
        order_list(request, false, true, &targets, reply) != 0)
        return;
    struct writer w = {.most = SIZE_MAX};
    writer_begin_array(&w, NULL);
    for (size_t i = 0; resources[resource].features && i < codes.count; i++) {
        char name[LANGUAGE_NAME_BYTES];
        struct text two;
        if (resources[resource].returns &&
            !pair_find_return(request->models, codes.all[i], codes.all[i], &two))
            continue;
        language_name(codes.all[i], name);
        writer_begin_object(&w, NULL);
        writer_strings(&w, "lang", codes.all[i], "name", name, "status", "stable", NULL);
        writer_boolean(&w, "usable_as_source", has_code(&sources, codes.all[i]));
        bool target = has_code(&targets, codes.all[i]);
        writer_boolean(&w, "usable_as_target", target);
        put_features(&w, resources[resource].features, target && formality_is_known(codes.all[i]));
        writer_end_object(&w);
    }
    writer_end_array(&w);
    reply_json(reply, &w);
}

/* GET /v3/languages/resources: what is offered, and which languages of a request must have a
 * feature for it to be used. */
void deepl_resources(const struct service *service, const struct call *call,
                     struct request *request, struct reply *reply) {
    static const struct {
        const char *name;
        bool source, target;
    } needs[] = {{"auto_detection", true, false},
                 {"formality", false, true},
                 {"glossary", true, true},
                 {"tag_handling", true, true}};
    (void)service;
    (void)call;
    (void)request;
    struct writer w = {.most = SIZE_MAX};
    writer_begin_array(&w, NULL);
    for (size_t i = 0; i < RESOURCES; i++) {
        if (!resources[i].features)
            continue;
        writer_begin_object(&w, NULL);
        writer_string(&w, "name", resources[i].name);
        writer_begin_array(&w, "features");
        for (size_t k = 0; k < sizeof needs / sizeof *needs; k++) {
            if (!strstr(resources[i].features, needs[k].name))
                continue;
            writer_begin_object(&w, NULL);
            writer_string(&w, "name", needs[k].name);
            writer_boolean(&w, "needs_source_support", needs[k].source);
            writer_boolean(&w, "needs_target_support", needs[k].target);
            writer_end_object(&w);
        }
        writer_end_array(&w);
        writer_end_object(&w);
    }
    writer_end_array(&w);
    reply_json(reply, &w);
}

/* DeepL reports this limit for an account without a limit. */
#define NO_LIMIT 1000000000000

void deepl_usage(const struct service *service, const struct call *call, struct request *request,
                 struct reply *reply) {
    (void)call;
    const struct key_holder *key = request->key;
    uint64_t daily = key ? key->limit.daily : 0;
    struct usage_count count = limiter_usage(service->limiter, key ? key->name : "", time(NULL));
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_integer(&w, "character_count", (int64_t)(daily > 0 ? count.today : count.total));
    writer_integer(&w, "character_limit", daily > 0 ? (int64_t)daily : NO_LIMIT);
    writer_end_object(&w);
    reply_json(reply, &w);
}

/* ---- glossaries: dictionaries ----
 *
 * Glossaries that a client makes belong to its key and are kept (server/glossaries/glossaries.h).
 * Version 2 of DeepL's API has glossaries for one pair of languages. Version 3 has glossaries of
 * several dictionaries, each for one pair; the dictionaries are stored here as glossaries that
 * share an id. Such a glossary may have none: it is stored as one without languages and entries. */

enum { MOST_DICTIONARIES = 64 };

/* A key sees its own glossaries, and those of --glossary that are for a pair of languages. */
static bool is_seen(const struct kept_glossary *glossary, const char *owner) {
    const struct glossary_about *about = &glossary->about;
    return about->fixed ? *about->source != '\0' : strcmp(about->owner, owner) == 0;
}

/* True if both are dictionaries of the same glossary. */
static bool are_one(const struct kept_glossary *a, const struct kept_glossary *b) {
    return a->about.fixed == b->about.fixed && strcmp(a->about.id, b->about.id) == 0 &&
           strcmp(a->about.owner, b->about.owner) == 0;
}

/* True if it stands for a glossary without dictionaries. */
static bool is_blank(const struct kept_glossary *glossary) {
    return !glossary->about.fixed && !*glossary->about.source;
}

static bool has_pair(const struct kept_glossary *glossary, const char *source, const char *target) {
    return !is_blank(glossary) && language_same(glossary->about.source, source) &&
           language_same(glossary->about.target, target);
}

static struct kept_glossary *find_pair(const struct glossary_list *dictionaries, const char *source,
                                       const char *target) {
    for (size_t i = 0; i < dictionaries->count; i++)
        if (has_pair(dictionaries->all[i], source, target))
            return dictionaries->all[i];
    return NULL;
}

/* Adds the dictionaries of the glossary that the path names to found. Returns -1 with the reply set
 * if there are none. */
static int find_among(const struct glossary_list *all, const struct call *call,
                      const struct request *request, struct glossary_list *found,
                      struct reply *reply) {
    size_t length;
    const char *id = route_part(call->route, call->path, &length);
    for (size_t i = 0; i < all->count; i++) {
        const struct glossary_about *about = &all->all[i]->about;
        if (strlen(about->id) == length && memcmp(about->id, id, length) == 0 &&
            is_seen(all->all[i], terms_owner(request)) &&
            (found->count == 0 || are_one(found->all[0], all->all[i])) &&
            glossaries_list_add(found, kept_glossary_acquire(all->all[i]), NULL) != 0)
            return reply_fail_memory(reply);
    }
    return found->count > 0 ? 0 : refuse_id(id, length, "glossary not found", reply);
}

/* Like find_among, in all glossaries in service. */
static int find_all(const struct service *service, const struct call *call,
                    const struct request *request, struct glossary_list *found,
                    struct reply *reply) {
    struct glossary_list all;
    if (glossaries_all(service->glossaries, &all, NULL) != 0)
        return reply_fail_memory(reply);
    int result = find_among(&all, call, request, found, reply);
    glossaries_list_done(&all);
    return result;
}

/* True if the call is of version 3. */
static bool is_multilingual(const struct call *call) {
    return strncmp(call->path, "/v3/", 4) == 0;
}

/* ---- glossaries: answers ---- */

static void put_time(struct writer *w, int64_t ms) {
    char text[32], whole[24];
    time_t seconds = (time_t)(ms / 1000);
    struct tm broken;
    gmtime_r(&seconds, &broken);
    strftime(whole, sizeof whole, "%Y-%m-%dT%H:%M:%S", &broken);
    snprintf(text, sizeof text, "%s.%03dZ", whole, (int)(ms % 1000));
    writer_string(w, "creation_time", text);
}

static void put_glossary(struct writer *w, const struct kept_glossary *glossary) {
    const struct glossary_about *about = &glossary->about;
    writer_begin_object(w, NULL);
    writer_strings(w, "glossary_id", about->id, "name", about->name, "source_lang", about->source,
                   "target_lang", about->target, NULL);
    writer_boolean(w, "ready", true);
    put_time(w, about->created_ms);
    writer_count(w, "entry_count", glossary->lexicon.count);
    writer_end_object(w);
}

static void put_about(struct writer *w, const struct kept_glossary *glossary) {
    writer_begin_object(w, NULL);
    writer_strings(w, "source_lang", glossary->about.source, "target_lang", glossary->about.target,
                   NULL);
    writer_count(w, "entry_count", glossary->lexicon.count);
    writer_end_object(w);
}

/* Writes the glossary whose first dictionary is the i-th of the list, with all its dictionaries. */
static void put_multilingual(struct writer *w, const struct glossary_list *list, size_t i) {
    const struct kept_glossary *first = list->all[i];
    writer_begin_object(w, NULL);
    writer_strings(w, "glossary_id", first->about.id, "name", first->about.name, NULL);
    writer_begin_array(w, "dictionaries");
    for (size_t other = i; other < list->count; other++)
        if (are_one(list->all[other], first) && !is_blank(list->all[other]))
            put_about(w, list->all[other]);
    writer_end_array(w);
    put_time(w, first->about.created_ms);
    writer_end_object(w);
}

/* Version 2 does not list glossaries of several dictionaries. */
void deepl_glossaries(const struct service *service, const struct call *call,
                      struct request *request, struct reply *reply) {
    struct glossary_list list;
    if (glossaries_all(service->glossaries, &list, NULL) != 0) {
        reply_fail_memory(reply);
        return;
    }
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_begin_array(&w, "glossaries");
    for (size_t i = 0; i < list.count; i++) {
        const struct kept_glossary *one = list.all[i];
        size_t first = 0, others = 0; /* the first dictionary of the glossary; the number of its
                                         dictionaries after this one */
        while (!are_one(list.all[first], one))
            first++;
        if (first < i || !is_seen(one, terms_owner(request)))
            continue;
        for (size_t other = i + 1; other < list.count; other++)
            others += are_one(list.all[other], one);
        if (is_multilingual(call))
            put_multilingual(&w, &list, i);
        else if (others == 0 && !is_blank(one))
            put_glossary(&w, one);
    }
    writer_end_array(&w);
    writer_end_object(&w);
    glossaries_list_done(&list);
    reply_json(reply, &w);
}

static void reply_glossary(struct reply *reply, unsigned status,
                           const struct glossary_list *dictionaries, bool multilingual) {
    struct writer w = {.most = SIZE_MAX};
    if (multilingual)
        put_multilingual(&w, dictionaries, 0);
    else
        put_glossary(&w, dictionaries->all[0]);
    reply_json_as(reply, status, &w);
}

void deepl_glossary(const struct service *service, const struct call *call, struct request *request,
                    struct reply *reply) {
    struct glossary_list found = {0};
    bool multilingual = is_multilingual(call),
         known = find_all(service, call, request, &found, reply) == 0;
    if (known && !multilingual && is_blank(found.all[0]))
        reply_fail(reply, STATUS_NOT_FOUND, NULL, "glossary not found");
    else if (known)
        reply_glossary(reply, STATUS_OK, &found, multilingual);
    glossaries_list_done(&found);
}

/* Writes a line of TSV; the last line has no line feed. */
static void put_entry(struct writer *w, const char *source, const char *target) {
    if (w->length > 0)
        writer_put(w, "\n", 1);
    writer_put(w, source, strlen(source));
    writer_put(w, "\t", 1);
    writer_put(w, target, strlen(target));
}

/* Writes the entries as TSV. */
static void put_entries(struct writer *w, const struct lexicon *lexicon) {
    for (size_t i = 0; i < lexicon->count; i++)
        put_entry(w, lexicon->entries[i].source, lexicon->entries[i].target);
}

void deepl_entries(const struct service *service, const struct call *call, struct request *request,
                   struct reply *reply) {
    struct glossary_list found = {0};
    if (find_all(service, call, request, &found, reply) == 0) {
        struct writer w = {.most = SIZE_MAX};
        put_entries(&w, &found.all[0]->lexicon);
        reply_json(reply, &w);
        if (reply->status == STATUS_OK)
            reply->content_type = "text/tab-separated-values; charset=utf-8";
    }
    glossaries_list_done(&found);
}

/* Reads the pair of languages in the query string. Returns -1 with the reply set. */
static int read_pair(const struct call *call, const char **source, const char **target,
                     struct reply *reply) {
    const struct api_field *from = dialect_sent(call, "source_lang"),
                           *to = dialect_sent(call, "target_lang");
    if (!from || !to)
        return reply_refuse(reply, from ? "target_lang" : "source_lang", "%s is missing",
                            from ? "target_lang" : "source_lang");
    *source = from->value;
    *target = to->value;
    return 0;
}

static void fail_pair(struct reply *reply) {
    reply_fail(reply, STATUS_NOT_FOUND, NULL, "No dictionary found for language pair");
}

void deepl_dictionary_entries(const struct service *service, const struct call *call,
                              struct request *request, struct reply *reply) {
    struct glossary_list found = {0};
    const char *source, *target;
    bool asked = read_pair(call, &source, &target, reply) == 0 &&
                 find_all(service, call, request, &found, reply) == 0;
    const struct kept_glossary *one = asked ? find_pair(&found, source, target) : NULL;
    struct writer w = {.most = SIZE_MAX}, entries = {.most = SIZE_MAX};
    if (one) {
        put_entries(&entries, &one->lexicon);
        writer_begin_object(&w, NULL);
        writer_begin_array(&w, "dictionaries");
        writer_begin_object(&w, NULL);
        writer_strings(&w, "source_lang", one->about.source, "target_lang", one->about.target,
                       NULL);
        if (!writer_ended(&entries))
            writer_string_of(&w, "entries", entries.bytes, entries.length);
        else
            writer_fail(&w);
        writer_done(&entries);
        writer_string(&w, "entries_format", "tsv");
        writer_end_object(&w);
        writer_end_array(&w);
        writer_end_object(&w);
        reply_json(reply, &w);
    } else if (asked) {
        fail_pair(reply);
    }
    glossaries_list_done(&found);
}

/* ---- glossaries: requests ---- */

/* Loads JSON, or a form whose fields "dictionaries[0].source_lang" become an array. Returns NULL
 * with the reply set. */
static json_t *load_change(const struct call *call, struct reply *reply) {
    bool form = call_is_form(call);
    if (form && call_check_fields(call, reply) != 0)
        return NULL;
    json_t *root = form ? order_load(call, reply) : call_load(call, reply), *all = json_array();
    for (size_t i = 0; root && form && i < call->field_count; i++) {
        const struct api_field *field = &call->fields[i];
        size_t number;
        int at = 0;
        if (sscanf(field->name, "dictionaries[%4zu].%n", &number, &at) < 1 || at == 0 ||
            number >= MOST_DICTIONARIES)
            continue;
        while (json_array_size(all) <= number && json_array_append_new(all, json_object()) == 0)
            ;
        json_object_set_new(json_array_get(all, number), field->name + at,
                            json_stringn(field->value, field->length));
    }
    if (root && json_array_size(all) > 0)
        json_object_set(root, "dictionaries", all);
    json_decref(all);
    if (!root || !value_lacked_memory())
        return root;
    json_decref(root);
    reply_fail_memory(reply);
    return NULL;
}

/* Copies a language code in lower case. */
static int read_code(const json_t *root, const char *field, char code[GLOSSARY_CODE_BYTES],
                     struct reply *reply) {
    const char *value;
    if (order_string(root, field, &value, reply) != 0)
        return -1;
    if (!value)
        return reply_refuse(reply, field, "%s is missing", field);
    size_t length = 0;
    for (; length < GLOSSARY_CODE_BYTES - 1 &&
           (isalnum((unsigned char)value[length]) || value[length] == '-');
         length++)
        code[length] = (char)tolower((unsigned char)value[length]);
    code[length] = '\0';
    return !value[length] ? 0
                          : reply_refuse(reply, field, "%s must be a language code, got \"%.60s\"",
                                         field, value);
}

/* Copies the name, which is part of a line of the file and may not contain control characters. */
static int read_name(const json_t *root, char name[GLOSSARY_NAME_BYTES], struct reply *reply) {
    const char *value;
    if (order_string(root, "name", &value, reply) != 0)
        return -1;
    if (!value)
        return reply_refuse(reply, "name", "name is missing");
    for (const char *c = value; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return reply_refuse(reply, "name", "name must have no control characters");
    if (snprintf(name, GLOSSARY_NAME_BYTES, "%s", value) >= GLOSSARY_NAME_BYTES)
        return reply_refuse(reply, "name", "name must have at most %d bytes, got %zu",
                            GLOSSARY_NAME_BYTES - 1, strlen(value));
    return 0;
}

/* Adds the languages and entries of an object to out, with the owner and name of begun. Returns -1
 * with the reply set. */
static int read_dictionary(const json_t *root, const struct glossary_about *begun,
                           const struct request *request, struct glossary_list *out,
                           struct reply *reply) {
    struct glossary_about about = *begun;
    const char *entries, *format;
    struct error error = {0};
    if (read_code(root, "source_lang", about.source, reply) != 0 ||
        read_code(root, "target_lang", about.target, reply) != 0)
        return -1;

    /* One model must read the first language and one model must write the second, or no request
     * could use the glossary. */
    const struct model_set *models = request->models;
    bool source = !models, target = !models; /* while models load, their languages are unknown */
    for (size_t i = 0; models && i < models->count; i++) {
        const struct translator_info *info = &models->all[i]->info;
        if (!pair_translates(info))
            continue;
        source |= pair_source_distance(info, about.source) < LANGUAGE_FAR;
        target |= pair_variant(info, about.target) ||
                  language_distance(info->target, about.target) < LANGUAGE_FAR;
    }
    if (!source || !target)
        return reply_refuse(reply, source ? "target_lang" : "source_lang",
                            "Value for %s not supported: no model %s \"%s\"",
                            source ? "target_lang" : "source_lang", source ? "writes" : "reads",
                            source ? about.target : about.source);

    if (order_string(root, "entries_format", &format, reply) != 0 ||
        order_string(root, "entries", &entries, reply) != 0)
        return -1;
    bool csv = format && strcmp(format, "csv") == 0;
    if (format && !csv && strcmp(format, "tsv") != 0)
        return reply_refuse(reply, "entries_format",
                            "entries_format must be tsv or csv, got \"%.60s\"", format);
    if (!entries)
        return reply_refuse(reply, "entries", "entries is missing");
    struct kept_glossary *glossary = kept_glossary_create(
        &about, entries, strlen(entries), csv ? GLOSSARY_CSV : GLOSSARY_TSV, &error);
    if (!glossary && error.code == ERROR_INPUT)
        return reply_refuse(reply, "entries", "entries: %s", error.message);
    return glossaries_list_add(out, glossary, NULL) == 0 ? 0 : reply_fail_memory(reply);
}

/* Reads the member "dictionaries". Returns -1 with the reply set. */
static int read_dictionaries(const json_t *root, const struct glossary_about *about,
                             const struct request *request, struct glossary_list *out,
                             struct reply *reply) {
    const json_t *array = json_object_get(root, "dictionaries");
    size_t count = json_array_size(array);
    if (array && !json_is_array(array))
        return reply_refuse(reply, "dictionaries",
                            "dictionaries must be an array of objects, got %s",
                            value_type_name(array));
    if (count > MOST_DICTIONARIES)
        return reply_refuse(reply, "dictionaries",
                            "a glossary may have at most %d dictionaries, got %zu",
                            MOST_DICTIONARIES, count);
    for (size_t i = 0; i < count; i++) {
        if (read_dictionary(json_array_get(array, i), about, request, out, reply) != 0)
            return -1;
        const struct kept_glossary *one = out->all[out->count - 1];
        if (find_pair(out, one->about.source, one->about.target) != one)
            return reply_refuse(reply, "dictionaries",
                                "dictionaries contains two dictionaries from \"%s\" to \"%s\"",
                                one->about.source, one->about.target);
    }
    return 0;
}

/* ---- glossaries: changes ---- */

/* True if clients may not change glossaries; the reply is then set. */
static bool keeps_none(const struct service *service, struct reply *reply) {
    if (glossaries_keep(service->glossaries))
        return false;
    reply_fail(reply, STATUS_FORBIDDEN, NULL,
               "the server was started without --glossaries and cannot keep glossaries");
    return true;
}

/* Sets the reply, unless there is no error because the reply is already set. Retrying does not help
 * if the store is full, but may help if the file cannot be written. */
static void fail_change(const struct error *error, struct reply *reply) {
    if (error->code == ERROR_LENGTH) {
        reply_fail_coded(reply, STATUS_QUEUE_FULL, "quota_exceeded", NULL, error->message);
    } else if (error->code != ERROR_NONE) {
        reply_fail(reply, STATUS_UNAVAILABLE, NULL, "cannot write the glossaries");
        reply->retry_after_s = 10;
    }
}

/* An edit for glossaries_change that adds the list of glossaries in context. */
static int add_made(struct glossary_list *list, void *context, struct error *err) {
    const struct glossary_list *made = context;
    int result = 0;
    for (size_t i = 0; result == 0 && i < made->count; i++)
        result = glossaries_list_add(list, kept_glossary_acquire(made->all[i]), err);
    return result;
}

/* Adds what stands for a glossary without dictionaries. Returns -1 with the reply set. */
static int add_blank(struct glossary_about about, struct glossary_list *list, struct reply *reply) {
    *about.source = *about.target = '\0';
    struct kept_glossary *blank = kept_glossary_create(&about, "", 0, GLOSSARY_TSV, NULL);
    return glossaries_list_add(list, blank, NULL) == 0 ? 0 : reply_fail_memory(reply);
}

/* Makes a glossary of one dictionary, or of several, or none. */
void deepl_make_glossary(const struct service *service, const struct call *call,
                         struct request *request, struct reply *reply) {
    bool multilingual = is_multilingual(call);
    struct glossary_about about = {.fixed = false};
    struct glossary_list made = {0};
    struct error error = {0};
    json_t *root = keeps_none(service, reply) ? NULL : load_change(call, reply);
    snprintf(about.owner, sizeof about.owner, "%s", terms_owner(request));
    int result = root ? read_name(root, about.name, reply) : -1;
    if (result == 0)
        result = glossaries_name(&about, &error);
    if (result == 0)
        result = multilingual ? read_dictionaries(root, &about, request, &made, reply)
                              : read_dictionary(root, &about, request, &made, reply);
    if (result == 0 && made.count == 0)
        result = add_blank(about, &made, reply); /* a form has no empty list, and omits it */
    if (result == 0)
        result = glossaries_change(service->glossaries, add_made, &made, &error);
    if (result == 0)
        reply_glossary(reply, STATUS_CREATED, &made, multilingual);
    else
        fail_change(&error, reply);
    glossaries_list_done(&made);
    json_decref(root);
}

static int compare_phrases(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds a dictionary in the languages of old to the list, with the entries of old that `with` (NULL:
 * empty) does not replace, followed by those of `with`, and with the other properties of about.
 * Returns -1 with the reply set. */
static int merge(const struct kept_glossary *old, const struct kept_glossary *with,
                 struct glossary_about about, struct glossary_list *list, struct reply *reply) {
    memcpy(about.source, old->about.source, sizeof about.source);
    memcpy(about.target, old->about.target, sizeof about.target);
    size_t count = with ? with->lexicon.count : 0;
    const char **phrases = calloc(count + 1, sizeof *phrases);
    struct writer w = {.most = SIZE_MAX};
    struct error error = {0};
    for (size_t i = 0; phrases && i < count; i++)
        phrases[i] = with->lexicon.entries[i].source;
    if (phrases)
        qsort(phrases, count, sizeof *phrases, compare_phrases);
    else
        writer_fail(&w);
    for (size_t i = 0; phrases && i < old->lexicon.count; i++) {
        const struct glossary_entry *entry = &old->lexicon.entries[i];
        if (!bsearch(&entry->source, phrases, count, sizeof *phrases, compare_phrases))
            put_entry(&w, entry->source, entry->target);
    }
    if (with)
        put_entries(&w, &with->lexicon);
    free(phrases);
    size_t length = w.length;
    char *text = length > 0 || writer_ended(&w) ? writer_take(&w) : strdup("");
    struct kept_glossary *merged =
        text ? kept_glossary_create(&about, text, length, GLOSSARY_TSV, &error) : NULL;
    free(text);
    if (!merged && error.code == ERROR_INPUT)
        return reply_refuse(reply, "entries", "entries: %s", error.message);
    return glossaries_list_add(list, merged, NULL) == 0 ? 0 : reply_fail_memory(reply);
}

/* A change of the glossary that a call names. */
struct change {
    const char *name; /* NULL: the name does not change */
    const struct glossary_list *
        given; /* their entries are added to the dictionaries of the same pairs, or replace these */
    bool replaces;
    const char *source, *target; /* the pair of a dictionary to remove; NULL: none */
    bool removes;                /* all dictionaries are removed */

    const struct call *call;
    const struct request *request;
    struct reply *reply;
};

/* Applies the change to the list, in which `now` are the dictionaries of the glossary. Returns -1
 * with the reply set. */
static int change_dictionaries(struct glossary_list *list, const struct glossary_list *now,
                               const struct change *change) {
    struct glossary_about about = now->all[0]->about;
    size_t others = list->count - now->count;
    if (change->name)
        snprintf(about.name, sizeof about.name, "%s", change->name);
    if (change->source && !find_pair(now, change->source, change->target)) {
        fail_pair(change->reply);
        return -1;
    }
    for (size_t i = 0; i < now->count; i++) {
        const struct kept_glossary *one = now->all[i],
                                   *given = find_pair(change->given, one->about.source,
                                                      one->about.target);
        bool goes = change->removes || (is_blank(one) && change->given->count > 0) ||
                    (change->source && has_pair(one, change->source, change->target));
        if (goes || given || change->name)
            glossaries_list_remove(list, one);
        if (goes || (given && change->replaces) || (!given && !change->name))
            continue;
        if (merge(one, given, about, list, change->reply) != 0)
            return -1;
    }
    for (size_t i = 0; i < change->given->count; i++) {
        const struct kept_glossary *one = change->given->all[i];
        if (!change->replaces &&
            find_pair(now, one->about.source, one->about.target)) /* already merged above */
            continue;
        if (merge(one, NULL, about, list, change->reply) != 0)
            return -1;
    }
    if (!change->removes && list->count == others)
        return add_blank(about, list, change->reply);
    return list->count - others <= MOST_DICTIONARIES
               ? 0
               : reply_refuse(change->reply, "dictionaries",
                              "a glossary may have at most %d dictionaries", MOST_DICTIONARIES);
}

/* An edit for glossaries_change that makes the change in context. */
static int edit_glossary(struct glossary_list *list, void *context, struct error *err) {
    const struct change *change = context;
    struct glossary_list now = {0};
    (void)err;
    int result = find_among(list, change->call, change->request, &now, change->reply);
    if (result == 0 && now.all[0]->about.fixed)
        result = reply_fail(change->reply, STATUS_FORBIDDEN, NULL,
                            "this glossary belongs to the server and cannot be %s",
                            change->removes ? "deleted" : "changed");
    if (result == 0)
        result = change_dictionaries(list, &now, change);
    glossaries_list_done(&now);
    return result;
}

/* Returns true on success; otherwise the reply is set. */
static bool change_glossary(const struct service *service, const struct call *call,
                            const struct request *request, struct change change,
                            struct reply *reply) {
    struct error error = {0};
    change.call = call;
    change.request = request;
    change.reply = reply;
    int result = glossaries_change(service->glossaries, edit_glossary, &change, &error);
    if (result != 0)
        fail_change(&error, reply);
    return result == 0;
}

void deepl_change_multilingual(const struct service *service, const struct call *call,
                               struct request *request, struct reply *reply) {
    struct glossary_about about = {.fixed = false};
    struct glossary_list given = {0};
    struct change change = {.given = &given};
    json_t *root = keeps_none(service, reply) ? NULL : load_change(call, reply);
    if (root && json_object_get(root, "name"))
        change.name = about.name;
    if (root && (!change.name || read_name(root, about.name, reply) == 0) &&
        read_dictionaries(root, &about, request, &given, reply) == 0 &&
        change_glossary(service, call, request, change, reply))
        deepl_glossary(service, call, request, reply);
    glossaries_list_done(&given);
    json_decref(root);
}

void deepl_set_dictionary(const struct service *service, const struct call *call,
                          struct request *request, struct reply *reply) {
    const struct glossary_about about = {.fixed = false};
    struct glossary_list given = {0};
    json_t *root = keeps_none(service, reply) ? NULL : load_change(call, reply);
    if (root && read_dictionary(root, &about, request, &given, reply) == 0 &&
        change_glossary(service, call, request, (struct change){.given = &given, .replaces = true},
                        reply)) {
        struct writer w = {.most = SIZE_MAX};
        put_about(&w, given.all[0]);
        reply_json(reply, &w);
    }
    glossaries_list_done(&given);
    json_decref(root);
}

static const struct glossary_list none = {0};

void deepl_remove_glossary(const struct service *service, const struct call *call,
                           struct request *request, struct reply *reply) {
    const struct change change = {.given = &none, .removes = true};
    if (!keeps_none(service, reply) && change_glossary(service, call, request, change, reply))
        reply->status = STATUS_NO_CONTENT;
}

/* A glossary stays after its last dictionary. */
void deepl_remove_dictionary(const struct service *service, const struct call *call,
                             struct request *request, struct reply *reply) {
    struct change change = {.given = &none};
    if (!keeps_none(service, reply) &&
        read_pair(call, &change.source, &change.target, reply) == 0 &&
        change_glossary(service, call, request, change, reply))
        reply->status = STATUS_NO_CONTENT;
}

/* ---- glossaries: languages ---- */

void deepl_glossary_pairs(const struct service *service, const struct call *call,
                          struct request *request, struct reply *reply) {
    (void)service;
    (void)call;
    struct plan_codes sources, targets;
    if (access_is_loading(request, reply))
        return;
    bool failed = plan_languages(request->models, true, false, &request->arena, &sources) != 0;
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_begin_array(&w, "supported_languages");
    for (size_t i = 0; !failed && i < sources.count; i++) {
        failed =
            plan_targets(request->models, sources.all[i], "none", &request->arena, &targets) != 0;
        for (size_t j = 0; !failed && j < targets.count; j++) {
            writer_begin_object(&w, NULL);
            writer_strings(&w, "source_lang", sources.all[i], "target_lang", targets.all[j], NULL);
            writer_end_object(&w);
        }
    }
    writer_end_array(&w);
    writer_end_object(&w);
    if (failed)
        writer_fail(&w);
    reply_json(reply, &w);
}
