/* DeepL's calls for glossaries (version 2 of its API): what a client makes is its key's, and kept (server/glossaries/glossaries.h).
 */
#include "server/api/api_plan.h"
#include "server/api/language.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- answers ---- */

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
    writer_strings(w, "glossary_id", about->id, "name", about->name, "source_lang", about->source, "target_lang", about->target,
                   NULL);
    writer_boolean(w, "ready", true);
    put_time(w, about->created_ms);
    writer_count(w, "entry_count", glossary->lexicon.count);
    writer_end_object(w);
}

/* ---- which ---- */

/* What a key may see: its own, and those of options that are for a pair of languages. */
struct seen {
    const char *id, *owner; /* [length] bytes of the id; NULL: any */
    size_t length;
};

static bool is_seen(const struct kept_glossary *glossary, const void *context) {
    const struct seen *seen = context;
    const struct glossary_about *about = &glossary->about;
    bool named = !seen->id || (strlen(about->id) == seen->length && memcmp(about->id, seen->id, seen->length) == 0);
    return named && (about->fixed ? *about->source != '\0' : strcmp(about->owner, seen->owner) == 0);
}

/* The one that the path names, with a reference for the caller; NULL: the reply is set. */
static struct kept_glossary *find(const struct service *service, const struct call *call, const struct request *request,
                                  struct reply *reply) {
    size_t index;
    struct seen seen = {.owner = api_glossary_owner(request)};
    seen.id = api_path_part(api_find(call->path, "GET", &index), call->path, &seen.length);
    struct kept_glossary *found = glossaries_find(service->glossaries, is_seen, &seen);
    if (!found)
        api_fail(reply, STATUS_NOT_FOUND, NULL, "there is no such glossary");
    return found;
}

void api_deepl_glossaries(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)call;
    struct seen seen = {.owner = api_glossary_owner(request)};
    size_t count;
    struct kept_glossary **all = glossaries_all(service->glossaries, &count);
    if (!all) {
        api_fail_memory(reply);
        return;
    }
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_begin_array(&w, "glossaries");
    for (size_t i = 0; i < count; i++) {
        if (is_seen(all[i], &seen))
            put_glossary(&w, all[i]);
        kept_glossary_release(all[i]);
    }
    writer_end_array(&w);
    writer_end_object(&w);
    free(all);
    api_reply_json(reply, &w);
}

void api_deepl_glossary(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    struct kept_glossary *glossary = find(service, call, request, reply);
    if (!glossary)
        return;
    struct writer w = {.most = SIZE_MAX};
    put_glossary(&w, glossary);
    kept_glossary_release(glossary);
    api_reply_json(reply, &w);
}

/* A line of TSV; the last has no end. */
static void put_entry(struct writer *w, const char *source, const char *target) {
    if (w->length > 0)
        writer_put(w, "\n", 1);
    writer_put(w, source, strlen(source));
    writer_put(w, "\t", 1);
    writer_put(w, target, strlen(target));
}

void api_deepl_entries(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    struct kept_glossary *glossary = find(service, call, request, reply);
    if (!glossary)
        return;
    struct writer w = {.most = SIZE_MAX};
    for (size_t i = 0; i < glossary->lexicon.count; i++)
        put_entry(&w, glossary->lexicon.entries[i].source, glossary->lexicon.entries[i].target);
    kept_glossary_release(glossary);
    api_reply_json(reply, &w);
    if (reply->status == STATUS_OK)
        reply->content_type = "text/tab-separated-values; charset=utf-8";
}

/* ---- one more ---- */

/* A language code in small letters. */
static int read_code(const json_t *root, const char *field, char code[GLOSSARY_CODE_BYTES], struct reply *reply) {
    const char *value;
    if (order_string(root, field, &value, reply) != 0)
        return -1;
    if (!value)
        return api_refuse(reply, field, "%s is missing", field);
    size_t length = strlen(value);
    for (size_t i = 0; i < length && i < GLOSSARY_CODE_BYTES - 1; i++) {
        if (!isalnum((unsigned char)value[i]) && value[i] != '-')
            return api_refuse(reply, field, "%s must be a language code, got \"%.60s\"", field, value);
        code[i] = (char)tolower((unsigned char)value[i]);
    }
    return length < GLOSSARY_CODE_BYTES ? 0 : api_refuse(reply, field, "%s must be a language code, got \"%.60s\"", field, value);
}

/* A line of the file has it: no control characters. */
static int read_name(const json_t *root, char name[GLOSSARY_NAME_BYTES], struct reply *reply) {
    const char *value;
    if (order_string(root, "name", &value, reply) != 0)
        return -1;
    if (!value)
        return api_refuse(reply, "name", "name is missing");
    for (const char *c = value; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return api_refuse(reply, "name", "name must have no control characters");
    if (snprintf(name, GLOSSARY_NAME_BYTES, "%s", value) >= GLOSSARY_NAME_BYTES)
        return api_refuse(reply, "name", "name must have at most %d bytes, got %zu", GLOSSARY_NAME_BYTES - 1, strlen(value));
    return 0;
}

static int read_format(const json_t *root, enum glossary_format *format, struct reply *reply) {
    const char *value;
    if (order_string(root, "entries_format", &value, reply) != 0)
        return -1;
    *format = value && strcmp(value, "csv") == 0 ? GLOSSARY_CSV : GLOSSARY_TSV;
    return !value || *format == GLOSSARY_CSV || strcmp(value, "tsv") == 0
               ? 0
               : api_refuse(reply, "entries_format", "entries_format must be tsv or csv, got \"%.60s\"", value);
}

/* A model reads the one language, and a model writes the other: otherwise nothing would ever use it. */
static int check_languages(const struct glossary_about *about, const struct model_set *models, struct reply *reply) {
    bool source = !models, target = !models; /* while they load, nothing is known of them */
    for (size_t i = 0; models && i < models->count; i++) {
        const struct translator_info *info = &models->all[i]->info;
        if (!plan_translates(info))
            continue;
        source |= language_distance(info->source, about->source) < LANGUAGE_FAR;
        target |= variant_for(info, about->target) || language_distance(info->target, about->target) < LANGUAGE_FAR;
    }
    if (!source)
        return api_refuse(reply, "source_lang", "Value for source_lang not supported: no model reads \"%s\"", about->source);
    return target ? 0
                  : api_refuse(reply, "target_lang", "Value for target_lang not supported: no model writes \"%s\"", about->target);
}

/* NULL: the reply is set. */
static struct kept_glossary *read_glossary(const json_t *root, const struct request *request, struct reply *reply) {
    struct glossary_about about = {.fixed = false};
    enum glossary_format format;
    const char *entries;
    struct error error = {0};
    snprintf(about.owner, sizeof about.owner, "%s", api_glossary_owner(request));
    if (read_name(root, about.name, reply) != 0 || read_code(root, "source_lang", about.source, reply) != 0 ||
        read_code(root, "target_lang", about.target, reply) != 0 || check_languages(&about, request->models, reply) != 0 ||
        read_format(root, &format, reply) != 0 || order_string(root, "entries", &entries, reply) != 0)
        return NULL;
    if (!entries) {
        api_fail(reply, STATUS_INVALID, "entries", "entries is missing");
        return NULL;
    }
    struct kept_glossary *glossary = kept_glossary_create(&about, entries, strlen(entries), format, &error);
    if (!glossary && error.code == ERROR_MEMORY)
        api_fail_memory(reply);
    else if (!glossary)
        api_fail(reply, STATUS_INVALID, "entries", "entries: %s", error.message);
    return glossary;
}

/* What is full is full for good: no try again will do. What cannot be written may be soon. */
static void fail_change(enum glossaries_verdict verdict, const struct error *error, struct reply *reply) {
    if (verdict == GLOSSARIES_FULL) {
        api_fail_coded(reply, STATUS_QUEUE_FULL, "quota_exceeded", NULL, error->message);
    } else if (verdict == GLOSSARIES_UNKNOWN) {
        api_fail(reply, STATUS_NOT_FOUND, NULL, "there is no such glossary");
    } else {
        api_fail(reply, STATUS_UNAVAILABLE, NULL, "the glossaries cannot be written");
        reply->retry_after_s = 10;
    }
}

static void make_glossary(const struct service *service, const json_t *root, const struct request *request, struct reply *reply) {
    struct kept_glossary *glossary = read_glossary(root, request, reply);
    struct error error = {0};
    if (!glossary)
        return;
    enum glossaries_verdict verdict = glossaries_add(service->glossaries, glossary, &error);
    struct writer w = {.most = SIZE_MAX};
    if (verdict == GLOSSARIES_DONE) {
        put_glossary(&w, glossary);
        api_reply_status(reply, STATUS_CREATED, &w);
    } else {
        fail_change(verdict, &error, reply);
    }
    kept_glossary_release(glossary);
}

/* True, and the reply is set: clients may make none. */
static bool keeps_none(const struct service *service, struct reply *reply) {
    if (glossaries_keep(service->glossaries))
        return false;
    api_fail(reply, STATUS_FORBIDDEN, NULL, "the server was started without --glossaries, and keeps none");
    return true;
}

void api_deepl_make_glossary(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    bool form = api_is_form(call);
    if (keeps_none(service, reply) || (form && api_check_fields(call, reply) != 0))
        return;
    json_t *root = form ? order_load(call, reply) : api_load(call, reply);
    if (root)
        make_glossary(service, root, request, reply);
    json_decref(root);
}

void api_deepl_remove_glossary(const struct service *service, const struct call *call, struct request *request,
                               struct reply *reply) {
    struct kept_glossary *glossary = keeps_none(service, reply) ? NULL : find(service, call, request, reply);
    struct error error = {0};
    if (!glossary)
        return;
    if (glossary->about.fixed) {
        api_fail(reply, STATUS_FORBIDDEN, NULL, "this glossary is the server's, and stays");
    } else {
        enum glossaries_verdict verdict =
            glossaries_remove(service->glossaries, glossary->about.id, api_glossary_owner(request), &error);
        if (verdict == GLOSSARIES_DONE)
            reply->status = STATUS_NO_CONTENT;
        else
            fail_change(verdict, &error, reply);
    }
    kept_glossary_release(glossary);
}

/* ---- languages ---- */

static void put_pairs(struct writer *w, const char *source, const struct plan_codes *targets) {
    for (size_t i = 0; i < targets->count; i++) {
        writer_begin_object(w, NULL);
        writer_strings(w, "source_lang", source, "target_lang", targets->all[i], NULL);
        writer_end_object(w);
    }
}

void api_deepl_glossary_pairs(const struct service *service, const struct call *call, struct request *request,
                              struct reply *reply) {
    (void)service;
    (void)call;
    struct plan_codes sources, targets;
    if (api_is_loading(request, reply))
        return;
    bool failed = plan_languages(request->models, true, false, &request->arena, &sources) != 0;
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_begin_array(&w, "supported_languages");
    for (size_t i = 0; !failed && i < sources.count; i++) {
        failed = plan_targets(request->models, sources.all[i], "none", &request->arena, &targets) != 0;
        if (!failed)
            put_pairs(&w, sources.all[i], &targets);
    }
    writer_end_array(&w);
    writer_end_object(&w);
    if (failed)
        writer_fail(&w);
    api_reply_json(reply, &w);
}
