/* POST /documents translates a file of a form in its own format and replies with the translated
 * file. LibreTranslate's POST /translate_file does the same, but keeps the file and replies with
 * its URL. DeepL's POST /v2/document replies before the file is translated, and keeps the file,
 * too. */
#include "server/api/documents.h"
#include "model/base/utf8.h"
#include "server/api/access.h"
#include "server/api/answer.h"
#include "server/api/call.h"
#include "server/api/decode.h"
#include "server/api/dialect.h"
#include "server/api/fields.h"
#include "server/api/order.h"
#include "server/api/plan.h"
#include "server/api/reply.h"
#include "server/api/terms.h"
#include "server/api/value.h"
#include "server/api/wait.h"
#include "server/api/warnings.h"
#include "server/base/clock.h"
#include "server/base/strings.h"
#include "server/documents/document.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BASE_BYTES = 280 /* a host name has at most 255 bytes */, API_MOST_KEYS = KEY_GLOBS_MOST };

/* Holds the parts of the answer that the plan lacks. order->own points to this structure. */
struct document_order {
    char file_name[API_FILE_NAME_BYTES];
    char base[BASE_BYTES];         /* beginning of URLs, such as "https://host"; "" if unknown */
    char id[KEPT_ID_BYTES];        /* for DeepL: the id of the order in service->files */
    const struct dialect *dialect; /* dialect of the reply that is sent before decoding */
    uint64_t ignored;              /* fields that this reply names as ignored */
};

/* ---- names ---- */

/* Makes "film.fr.srt" from "film.srt", using only the last part of a path. Replaces bytes that are
 * not UTF-8, or that a file system may refuse, with '_'. */
static void make_name(const char *sent, const char *target, const struct document_format *format,
                      char name[API_FILE_NAME_BYTES]) {
    const char *base = sent && *sent ? sent : "document";
    for (const char *c = base; *c; c++)
        base = *c == '/' || *c == '\\' ? c + 1 : base;
    const char *dot = strrchr(base, '.');
    size_t most = API_FILE_NAME_BYTES / 2,
           stem = dot && dot > base ? (size_t)(dot - base) : strlen(base);
    size_t first = strcspn(format->extensions, " ");
    bool known = dot && dot > base && strlen(dot) < 32;
    stem = utf8_clip(base, stem, most);
    snprintf(name, API_FILE_NAME_BYTES, "%.*s.%.16s.%.*s", (int)stem, base, target,
             known ? (int)strlen(dot + 1) : (int)first, known ? dot + 1 : format->extensions);
    for (char *c = name; *c;) {
        bool valid;
        size_t bytes = utf8_first(c, strlen(c), &valid);
        for (; bytes > 0; bytes--, c++)
            if (!valid || (unsigned char)*c < ' ' || *c == 0x7f || strchr("/\\:*?\"<>|", *c))
                *c = '_';
    }
}

/* ---- fields ---- */

enum field_kind {
    FILE_FIELD,
    SOURCE_FIELD,
    TARGET_FIELD,
    FORMAT_FIELD,
    PROTECT_FIELD,
    KEYS_FIELD,
    STREAM_FIELD,
    WARNINGS_FIELD,
    BILINGUAL_FIELD,
    NAME_FIELD,
    GLOSSARY_FIELD,
    GLOSSARIES_FIELD,
    FORMALITY_FIELD,
    COLUMNS_FIELD,
    HEADER_FIELD,
    OUTPUT_FIELD,
    MERGE_FIELD,
    FIELDS
};

/* The table has the fields' names in alignd's own dialect, which refuses unknown fields, in
 * LibreTranslate's and in DeepL's. A name is "" if the dialect lacks the field. */
enum document_dialect { OWN, LIBRE, DEEPL };
static const char *const names_of[][FIELDS] = {
    [OWN] = {"file", "source", "target", "format", "protect", "keys", "stream", "warnings",
             "bilingual", "", "", "", "formality", "columns", "header", "output", "merge"},
    [LIBRE] = {"file", "source", "target", "format", "protect", "keys", "", "", "", "", "", "", "",
               "", "", "", ""},
    [DEEPL] = {"file", "source_lang", "target_lang", "output_format", "", "", "", "", "",
               "filename", "glossary_id", "glossary_ids", "formality", "", "", "", ""}};

/* Finds the fields and checks that they are text. The file is checked when it is decoded, since the
 * decoder's error has the position. sent [FIELDS] keeps NULL for a missing field. keys may be
 * repeated; sent has its first value. */
static int find_fields(const struct call *call, enum document_dialect dialect,
                       const struct api_field **sent, struct reply *reply) {
    const char *const *names = names_of[dialect];
    if (!call->form)
        return reply_fail(reply, STATUS_MEDIA_TYPE, NULL,
                          "send the document as the part file of a form (multipart/form-data)");
    for (size_t i = 0; i < call->field_count; i++) {
        struct call field = {.fields = &call->fields[i], .field_count = 1};
        if (strcmp(call->fields[i].name, "file") != 0 && call_check_fields(&field, reply) != 0)
            return -1;
    }
    for (size_t i = 0; i < call->field_count; i++) {
        const struct api_field *field = &call->fields[i];
        size_t known = 0;
        while (known < FIELDS && (!*names[known] || strcmp(names[known], field->name) != 0))
            known++;
        struct field search;
        if (dialect == OWN && known == FIELDS && !access_is_key(field->name) &&
            !fields_find(field->name, API_DOCUMENT, &search))
            return reply_refuse(reply, field->name, "unknown field \"%.60s\"", field->name);
        if (known < FIELDS && sent[known] && known != KEYS_FIELD)
            return reply_refuse(reply, field->name, "%s must be given only once", field->name);
        if (known < FIELDS && !sent[known])
            sent[known] = field;
    }
    return sent[FILE_FIELD]
               ? 0
               : reply_refuse(reply, "file", "file is missing: send it as a part of the form");
}

static const char *value_of(const struct api_field *field) {
    return field && field->length > 0 ? field->value : NULL;
}

static int read_format(const struct api_field *const *sent, enum document_dialect dialect,
                       struct order *order, struct reply *reply) {
    const struct api_field *file = sent[FILE_FIELD];
    const char *name = value_of(sent[FORMAT_FIELD]), *file_name = value_of(sent[NAME_FIELD]);
    char all[DOCUMENT_NAMES_BYTES];
    if (!file_name)
        file_name = file->file_name;
    order->document = name && dialect != DEEPL ? document_find(name)
                                               : document_guess(file_name, file->media_type);
    document_names(all);
    if (!order->document && name && dialect != DEEPL)
        return reply_refuse(reply, "format", "format must be one of %s, got \"%.60s\"", all, name);
    if (order->document) /* DeepL's clients send the format of the result, which must be that of the
                            file */
        return !name || dialect != DEEPL || document_find(name) == order->document ||
                       document_guess(name, NULL) == order->document
                   ? 0
                   : reply_refuse(reply, "output_format",
                                  "output_format must be that of the file, %s, got \"%.60s\"",
                                  order->document->name, name);
    const char *dot = file_name ? strrchr(file_name, '.') : NULL,
               *why = document_refusal(file_name);
    if (why)
        return reply_refuse(reply, "file", "%s", why);
    if (dot && dot[1])
        return reply_refuse(
            reply, "file",
            "a file with the file extension \"%.*s\" cannot be translated; supported types: %s",
            (int)utf8_clip(dot, strlen(dot), 20), dot, all);
    return reply_refuse(reply, "file",
                        "the file's name has no known extension: set %s to one of %s",
                        dialect == DEEPL ? "filename" : "format", all);
}

/* Reads all fields named keys into order->keys. */
static int read_keys(const struct call *call, const struct api_field *first, struct order *order,
                     struct arena *arena, struct reply *reply) {
    const char *texts[API_MOST_KEYS];
    size_t count = 0;
    struct error error = {0};
    if (!first)
        return 0;
    if (!document_takes(order->document->options, "keys"))
        return reply_refuse(reply, "keys", "keys is not possible in %s files",
                            order->document->name);
    for (size_t i = 0; i < call->field_count; i++)
        if (strcmp(call->fields[i].name, "keys") == 0) {
            if (count == API_MOST_KEYS)
                return reply_refuse(reply, "keys", "keys may be given at most %d times",
                                    API_MOST_KEYS);
            texts[count++] = call->fields[i].value;
        }
    order->keys = key_globs_parse(texts, count, arena, &error);
    if (order->keys)
        return 0;
    if (error.code != ERROR_MEMORY)
        return reply_refuse(reply, "keys", "keys: %s", error.message);
    return reply_fail_memory(reply);
}

/* Reads a flag, which has the value `usual` if the field is missing. */
static int read_flag(const struct api_field *field, bool usual, bool *out, struct reply *reply) {
    const char *value = value_of(field);
    *out = value ? strcmp(value, "true") == 0 : usual;
    if (!value || *out || strcmp(value, "false") == 0)
        return 0;
    return reply_refuse(reply, field->name, "%s must be true or false", field->name);
}

/* Reads protect, which is JSON as in other requests. */
static int read_protect(const struct api_field *field, struct request *request,
                        struct reply *reply) {
    if (!value_of(field))
        return 0;
    json_t *value =
        value_parse(field->value, field->length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
    int result = -1;
    if (value_lacked_memory())
        reply_fail_memory(reply);
    else if (!value)
        reply_fail(reply, STATUS_INVALID, "protect", "protect must be an array in JSON");
    else
        result = terms_read_protect(value, request, reply);
    json_decref(value);
    return result;
}

/* Reads how to search. */
static int read_search(const struct service *service, const struct call *call, struct order *order,
                       struct arena *arena, struct reply *reply) {
    struct search_options search, *kept = arena_alloc(arena, 1, sizeof *kept);
    if (!kept)
        return reply_fail_memory(reply);
    if (fields_read_search(call, &search, reply) != 0 ||
        fields_check_search(&search, service->options->rows, reply) != 0)
        return -1;
    search.max_steps = service->options->search.max_steps;
    *kept = search;
    order->search = kept;
    return 0;
}

/* Reads DeepL's glossary_ids, which commas separate. */
static int read_glossaries(const struct api_field *field, struct order *order, struct arena *arena,
                           struct reply *reply) {
    const char *value = value_of(field);
    if (!value)
        return 0;
    const char **all = arena_alloc(arena, PLAN_MOST_GLOSSARIES, sizeof *all);
    char *copy = arena_copy(arena, value, strlen(value));
    if (!all || !copy)
        return reply_fail_memory(reply);
    if (order->glossary)
        return reply_refuse(reply, field->name, "glossary_id and glossary_ids exclude each other");
    for (char *id, *rest = copy; (id = strsep(&rest, ", ")) != NULL;) {
        if (!*id)
            continue;
        if (order->glossary_count == PLAN_MOST_GLOSSARIES)
            return reply_refuse(reply, field->name, "glossary_ids must have at most %d ids",
                                PLAN_MOST_GLOSSARIES);
        all[order->glossary_count++] = id;
    }
    order->glossaries = all;
    order->glossary = order->glossary_count > 0 ? all[0] : NULL;
    return 0;
}

/* Reads where translations stand, and which columns of a table are translated. */
static int read_places(const struct api_field *const *sent, struct order *order,
                       struct arena *arena, struct reply *reply) {
    static const enum field_kind of_tables[] = {COLUMNS_FIELD, HEADER_FIELD};
    struct error error = {0};
    if (document_bilingual(order->document, value_of(sent[BILINGUAL_FIELD]), &order->bilingual,
                           &error) != 0)
        return reply_refuse(reply, "bilingual", "bilingual %s", error.message);
    const char *columns = value_of(sent[COLUMNS_FIELD]);
    if (columns)
        order->columns = arena_copy(arena, columns, strlen(columns));
    if (columns && !order->columns)
        return reply_fail_memory(reply);
    for (size_t i = 0; i < sizeof of_tables / sizeof *of_tables; i++)
        if (value_of(sent[of_tables[i]]) &&
            !document_takes(order->document->options, sent[of_tables[i]]->name))
            return reply_refuse(reply, sent[of_tables[i]]->name, "%s is not possible in %s files",
                                sent[of_tables[i]]->name, order->document->name);
    return 0;
}

/* Reads whether a review is wanted, or is to be merged into the document. */
static int read_review(const struct api_field *const *sent, struct order *order,
                       struct arena *arena, struct reply *reply) {
    const char *output = value_of(sent[OUTPUT_FIELD]), *merge = value_of(sent[MERGE_FIELD]);
    order->review = output && strcmp(output, "review") == 0;
    if (output && !order->review && strcmp(output, "document") != 0)
        return reply_refuse(reply, "output", "output must be document or review, got \"%.60s\"",
                            output);
    if (order->review && merge)
        return reply_refuse(reply, "merge", "merge and output=review exclude each other");
    if (!merge)
        return 0;
    order->merge = (struct bytes){arena_copy(arena, merge, sent[MERGE_FIELD]->length),
                                  sent[MERGE_FIELD]->length};
    return order->merge.start ? 0 : reply_fail_memory(reply);
}

/* Reads the fields and the file into order, which already has the dialect's field names. */
static int read_order(const struct service *service, const struct call *call,
                      enum document_dialect dialect, struct order *order, struct request *request,
                      struct reply *reply) {
    const struct api_field *sent[FIELDS] = {NULL};
    if (find_fields(call, dialect, sent, reply) != 0)
        return -1;
    struct arena *arena = &request->arena;
    struct document_order *own = order->own = arena_zalloc(arena, 1, sizeof *own);
    order->notes = arena_zalloc(arena, 1, sizeof *order->notes);
    if (!own || !order->notes)
        return reply_fail_memory(reply);
    own->dialect = reply->dialect;
    own->ignored = reply->ignored;
    order->notes->arena = arena;
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.:-_[]";
    const char *host = call->host ? call->host : "";
    size_t length = strspn(host, plain);
    if (length > 0 && host[length] == '\0' && length < BASE_BYTES - sizeof "https://")
        snprintf(own->base, BASE_BYTES, "http%s://%s", call->secure ? "s" : "", host);

    order->source = value_of(sent[SOURCE_FIELD]);
    order->targets[0] = value_of(sent[TARGET_FIELD]);
    order->glossary = value_of(sent[GLOSSARY_FIELD]);
    if (!order->targets[0])
        return reply_refuse(reply, order->target_name,
                            "%s is missing: the code of the language to translate to",
                            order->target_name);
    const char *formality = value_of(sent[FORMALITY_FIELD]);
    if (formality && !formality_read(formality, &order->formality))
        return reply_refuse(reply, "formality",
                            "formality must be " FORMALITY_NAMES ", got \"%.60s\"", formality);
    if (read_glossaries(sent[GLOSSARIES_FIELD], order, arena, reply) != 0)
        return -1;
    if (order->glossary && !order->source)
        return reply_refuse(reply, order->source_name, "%s is required with glossary_id",
                            order->source_name);
    bool warned = true;
    if (read_format(sent, dialect, order, reply) != 0 ||
        read_keys(call, sent[KEYS_FIELD], order, arena, reply) != 0 ||
        read_protect(sent[PROTECT_FIELD], request, reply) != 0 ||
        (dialect != DEEPL && read_search(service, call, order, arena, reply) != 0) ||
        read_flag(sent[STREAM_FIELD], false, &request->wanted.streamed, reply) != 0 ||
        read_flag(sent[WARNINGS_FIELD], true, &warned, reply) != 0 ||
        read_flag(sent[HEADER_FIELD], false, &order->header, reply) != 0 ||
        read_places(sent, order, arena, reply) != 0 || read_review(sent, order, arena, reply) != 0)
        return -1;
    order->unwarned = !warned;

    /* the length of a text bounds the work of reading it; an archive has its own limits */
    const struct api_field *file = sent[FILE_FIELD];
    struct document document = {.format = order->document,
                                .source = file->value,
                                .length = file->length,
                                .notes = order->notes};
    struct error error = {0};
    size_t most = service->options->max_body_bytes;
    if (!order->document->archive && file->length > most)
        return reply_fail(reply, STATUS_TOO_LARGE, "file",
                          "file must have at most %zu bytes, got %zu", most, file->length);
    if (document_decode(&document, file->media_type, order->source, arena, &error) != 0)
        return error.code == ERROR_MEMORY ? reply_fail_memory(reply)
                                          : reply_refuse(reply, "file", "file: %s", error.message);
    order->file = (struct bytes){document.source, document.length};
    order->encoding = document.encoding;

    const char *name = value_of(sent[NAME_FIELD]);
    make_name(name ? name : file->file_name, order->targets[0], order->document, own->file_name);
    size_t named = strlen(own->file_name);
    if (order->review)
        snprintf(own->file_name + named, sizeof own->file_name - named, ".xlf");
    if (order->glossary)
        order->glossary = arena_copy(arena, order->glossary, strlen(order->glossary));
    return 0;
}

static void start(const struct service *service, const struct call *call,
                  enum document_dialect dialect, struct request *request, struct reply *reply) {
    const struct dialect_fields fields = {NULL, call};
    if (!access_admit(service, request, reply) || !wait_finds_models(service, request, reply))
        return;
    const struct order begun = {.text_name = "file",
                                .source_name = names_of[dialect][SOURCE_FIELD],
                                .target_name = names_of[dialect][TARGET_FIELD],
                                .count = 1,
                                .target_count = 1,
                                .markup = true};
    request->queued.window = decode_window(service);
    struct order *order = order_create(request, &begun, reply);
    if (order && (!reply->dialect || dialect_judge_fields(reply->dialect, &fields, reply) == 0) &&
        read_order(service, call, dialect, order, request, reply) == 0)
        order_start(order, NULL, service, NULL, request, reply);
}

void documents_start(const struct service *service, const struct call *call,
                     struct request *request, struct reply *reply) {
    start(service, call, OWN, request, reply);
}

void documents_file_start(const struct service *service, const struct call *call,
                          struct request *request, struct reply *reply) {
    start(service, call, LIBRE, request, reply);
}

void documents_deepl_start(const struct service *service, const struct call *call,
                           struct request *request, struct reply *reply) {
    start(service, call, DEEPL, request, reply);
}

/* ---- the answer ---- */

/* Encodes bytes as base64 (RFC 4648). Returns NULL if memory or the arena's budget runs out. */
static char *encode_base64(const char *bytes, size_t length, struct arena *arena) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = arena_alloc(arena, length / 3 + 2, 4), *out = text;
    for (size_t at = 0; text && at < length; at += 3) {
        size_t left = length - at;
        unsigned value = (unsigned)(unsigned char)bytes[at] << 16;
        value |= left > 1 ? (unsigned)(unsigned char)bytes[at + 1] << 8 : 0;
        value |= left > 2 ? (unsigned)(unsigned char)bytes[at + 2] : 0;
        *out++ = digits[value >> 18];
        *out++ = digits[value >> 12 & 63];
        *out++ = left > 1 ? digits[value >> 6 & 63] : '=';
        *out++ = left > 2 ? digits[value & 63] : '=';
        if (!budget_step(arena->budget, at % 192 == 0))
            return NULL;
    }
    if (text)
        *out = '\0';
    return text;
}

/* Makes the translated file. Returns NULL after setting the reply. */
static const struct plan_answer *take_answer(struct request *request, struct reply *reply) {
    if (decode_fail(request, reply))
        return NULL;
    struct plan *plan = request->plan;
    bool warned = warnings_of_plan(request, NULL) == 0;
    const struct plan_answers *answers = warned ? plan_answers(plan, &request->arena) : NULL;
    if (answers)
        return &answers->all[0];
    reply_fail_memory(reply);
    return NULL;
}

/* Returns the header's bits for the warnings about the document itself. */
static unsigned codes_of(const struct document_notes *notes) {
    unsigned codes = 0;
    for (size_t i = 0; i < notes->count; i++)
        for (size_t code = 0; warnings_name(code); code++)
            if (strcmp(warnings_name(code), notes->all[i].code) == 0)
                codes |= 1u << code;
    return codes;
}

void documents_finish(const struct service *service, struct request *request, struct reply *reply) {
    const struct plan_answer *file = take_answer(request, reply);
    const struct plan *plan = request->plan;
    if (!file)
        return;
    const struct order *order = plan->order;
    const struct document_order *own = order->own;
    if (*own->id && !plan->items[0].chosen.model) { /* as DeepL answers */
        reply_fail(reply, STATUS_INVALID, NULL, "Source and target language are equal.");
        return;
    }
    if (request->wanted.streamed) { /* the last event is one line, so a file that is not UTF-8 is
                                sent in base64 */
        bool binary = !order->review && (order->document->archive || order->encoding);
        const char *encoded =
            binary ? encode_base64(file->text, file->length, &request->arena) : NULL;
        if (binary && !encoded) {
            reply_fail_memory(reply);
            return;
        }
        struct writer w = answer_begin(service);
        writer_begin_object(&w, NULL);
        writer_strings(&w, "file_name", own->file_name, "format", order->document->name, NULL);
        if (encoded)
            writer_string(&w, "base64", encoded);
        else
            writer_string_of(&w, "text", file->text, file->length);
        writer_end_object(&w);
        answer_reply(service, reply, &w);
    } else if (file->length > service->options->max_reply_bytes) {
        reply_fail_length(service, file->length, reply);
    } else {
        char *body = malloc(file->length + 1);
        if (!body) {
            reply_fail_memory(reply);
            return;
        }
        memcpy(body, file->text, file->length);
        *reply = (struct reply){.status = STATUS_OK,
                                .content_type =
                                    order->review ? "application/xliff+xml; charset=utf-8"
                                                  : document_type(order->document, order->encoding),
                                .body = body,
                                .length = file->length};
        memcpy(reply->file_name, own->file_name, sizeof reply->file_name);
    }
    if (reply->status == STATUS_OK)
        reply->warnings = plan->warnings->codes | codes_of(order->notes);
}

/* ---- files that clients download later ---- */

/* Reads the id at the beginning of the path's variable part. The rest of that part is only for
 * people. */
static void read_id(const struct route *route, const char *path, char id[KEPT_ID_BYTES]) {
    size_t length;
    const char *sent = route_part(route, path, &length);
    snprintf(id, KEPT_ID_BYTES, "%.*s", (int)length, sent);
}

/* Marks a file as sent once the kernel has accepted all of it. The client may still lose the file,
 * and can download it again for a while unless the file belongs to an order. */
static void note_sent(const struct service *service, const struct route *route, const char *path) {
    char id[KEPT_ID_BYTES];
    read_id(route, path, id);
    kept_files_sent(service->files, id);
}

/* Replies with a kept file and takes over its text. */
static void reply_kept(const struct kept_view *view, char *text, struct reply *reply) {
    *reply = (struct reply){.status = STATUS_OK,
                            .content_type = view->file.content_type,
                            .body = text,
                            .length = view->file.length,
                            .sent = note_sent};
    memcpy(reply->file_name, view->file.name, sizeof reply->file_name);
}

void documents_file(const struct service *service, const struct call *call, struct request *request,
                    struct reply *reply) {
    (void)request;
    char id[KEPT_ID_BYTES], *text;
    struct kept_view view;
    struct error error = {0};
    read_id(call->route, call->path, id);
    if (kept_files_find(service->files, &(struct kept_query){.id = id}, &view, &text, &error) == 0)
        reply_kept(&view, text, reply);
    else if (error.code == ERROR_MEMORY)
        reply_fail_memory(reply);
    else
        reply_fail(reply, STATUS_NOT_FOUND, NULL, "%s", error.message);
}

void documents_file_finish(const struct service *service, struct request *request,
                           struct reply *reply) {
    const struct plan_answer *answer = take_answer(request, reply);
    if (!answer)
        return;
    const struct plan *plan = request->plan;
    const struct document_order *own = plan->order->own;
    struct kept_file file = {.owner = request->account.client,
                             .content_type =
                                 document_type(plan->order->document, plan->order->encoding),
                             .length = answer->length};
    struct error error = {0};
    char id[KEPT_ID_BYTES];
    memcpy(file.name, own->file_name, sizeof file.name);
    if (kept_files_add(service->files, &file, answer->text, id, &error) == 0) {
        char encoded[3 * API_FILE_NAME_BYTES],
            address[BASE_BYTES + KEPT_ID_BYTES + sizeof encoded + 32];
        percent_encode(own->file_name, encoded);
        snprintf(address, sizeof address, "%s/download_file/%s.%s", own->base, id, encoded);
        struct writer w = answer_begin(service);
        writer_begin_object(&w, NULL);
        writer_string(&w, "translatedFileUrl", address);
        writer_end_object(&w);
        answer_reply(service, reply, &w);
        reply->warnings =
            reply->status == STATUS_OK ? plan->warnings->codes | codes_of(plan->order->notes) : 0;
    } else if (error.code == ERROR_MEMORY) {
        reply_fail_memory(reply);
    } else {
        reply_fail(reply, STATUS_TOO_LARGE, "file", "%s", error.message);
    }
}

/* ---- the list of formats ---- */

/* Writes words that spaces separate (NULL: none) as an array. */
static void put_words(struct writer *w, const char *key, const char *words) {
    writer_begin_array(w, key);
    for (const char *at = words ? words + strspn(words, " ") : ""; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        writer_string_of(w, NULL, at, length);
        at += length;
    }
    writer_end_array(w);
}

void documents_formats(const struct service *service, const struct call *call,
                       struct request *request, struct reply *reply) {
    (void)call;
    (void)request;
    size_t texts = service->options->max_body_bytes, archives = service->options->document_bytes;
    const struct document_format *format;
    struct writer w = {.most = SIZE_MAX};
    writer_begin_array(&w, NULL);
    for (size_t i = 0; (format = document_nth(i)) != NULL; i++) {
        writer_begin_object(&w, NULL);
        writer_string(&w, "name", format->name);
        put_words(&w, "extensions", format->extensions);
        put_words(&w, "media_types", format->media_types);
        put_words(&w, "bilingual", format->bilingual);
        put_words(&w, "options", format->options);
        writer_count(&w, "max_bytes", format->archive && archives > texts ? archives : texts);
        writer_end_object(&w);
    }
    writer_end_array(&w);
    reply_json(reply, &w);
}

/* ---- DeepL's documents ---- */

/* Replies, before the request is decoded, with the id and the key by which the client asks for the
 * file later. */
void documents_detach(const struct service *service, struct request *request, struct reply *reply) {
    char id[KEPT_ID_BYTES], key[KEPT_KEY_BYTES];
    const struct plan *plan = request->plan;
    struct document_order *own = plan->order->own;
    const struct kept_order order = {request->account.client, &request->pending, request->job_count,
                                     request->account.characters};
    struct error error = {0};
    if (kept_files_order(service->files, &order, id, key, &error) != 0) {
        if (error.code == ERROR_MEMORY)
            reply_fail_memory(reply);
        else
            reply_fail_busy(service, (struct reply_busy){REJECTED_REQUEST_MEMORY, "queue_full", 0},
                            reply, "too many documents of yours are kept");
        return;
    }
    memcpy(own->id, id, sizeof own->id);
    reply->dialect = own->dialect;
    reply->ignored = own->ignored;
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_strings(&w, "document_id", id, "document_key", key, NULL);
    writer_end_object(&w);
    reply_json(reply, &w);
}

void documents_settle(const struct service *service, struct request *request,
                      const struct reply *reply) {
    const struct plan *plan = request->plan;
    const struct document_order *own = plan->order->own;
    struct kept_file file = {.content_type = reply->content_type, .length = reply->length};
    memcpy(file.name, reply->file_name, sizeof file.name);
    bool made = reply->status == STATUS_OK;
    json_t *root = !made && reply->body ? value_parse(reply->body, reply->length, 0, NULL) : NULL;
    const char *message = json_string_value(json_object_get(root, "message"));
    kept_files_end(service->files, own->id, &file, made ? reply->body : NULL,
                   message ? message : "the document could not be translated");
    json_decref(root);
    value_lacked_memory();
}

/* Finds the order, which must be of the same API key, by the id in the path and document_key in the
 * form or the JSON. Sets *text as kept_files_find does. Returns -1 after setting the reply. */
static int find_order(const struct service *service, const struct call *call,
                      const struct request *request, struct kept_view *order, char **text,
                      struct reply *reply) {
    char id[KEPT_ID_BYTES + 1],
        key[KEPT_KEY_BYTES + 1]; /* the extra byte keeps a truncated value from matching */
    struct error error = {0};
    size_t length;
    const char *part = route_part(call->route, call->path, &length), *sent = NULL;
    bool form = call_is_form(call);
    if (form && call_check_fields(call, reply) != 0)
        return -1;
    json_t *root = form ? order_load(call, reply) : call_load(call, reply);
    int result = root ? order_string(root, "document_key", &sent, reply) : -1;
    if (result == 0 && !sent)
        result = reply_refuse(reply, "document_key", "document_key is missing");
    snprintf(id, sizeof id, "%.*s", (int)length, part);
    snprintf(key, sizeof key, "%s", sent ? sent : "");
    json_decref(root);
    const struct kept_query query = {id, key, service->keys ? &request->account.client : NULL};
    if (result != 0 || kept_files_find(service->files, &query, order, text, &error) == 0)
        return result;
    if (error.code == ERROR_MEMORY)
        return reply_fail_memory(reply);
    return reply_fail(reply, STATUS_NOT_FOUND, NULL,
                      "document not found or expired, or the document_key is wrong");
}

void documents_deepl_status(const struct service *service, const struct call *call,
                            struct request *request, struct reply *reply) {
    struct kept_view order;
    if (find_order(service, call, request, &order, NULL, reply) != 0)
        return;
    bool translating = order.state == KEPT_PENDING && order.left < order.total;
    const char *state = order.state == KEPT_READY    ? "done"
                        : order.state == KEPT_FAILED ? "error"
                        : translating                ? "translating"
                                                     : "queued";
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_strings(&w, "document_id", order.id, "status", state, NULL);
    if (translating) { /* estimate the time from the pace so far */
        double passed_s = (double)(clock_us() - order.began_us) * 1e-6,
               left_s = passed_s / (double)(order.total - order.left);
        writer_count(&w, "seconds_remaining", (size_t)(left_s * (double)order.left) + 1);
    }
    if (order.state == KEPT_READY)
        writer_count(&w, "billed_characters", order.characters);
    if (order.state == KEPT_FAILED)
        writer_string(&w, "error_message", order.message);
    writer_end_object(&w);
    reply_json(reply, &w);
}

void documents_deepl_result(const struct service *service, const struct call *call,
                            struct request *request, struct reply *reply) {
    struct kept_view order;
    char *text;
    if (find_order(service, call, request, &order, &text, reply) != 0)
        return;
    if (order.state == KEPT_PENDING) {
        reply_fail(reply, STATUS_UNAVAILABLE, NULL, "the document is not translated yet");
        reply->retry_after_s = 1;
    } else if (order.state == KEPT_FAILED) {
        reply_fail(reply, STATUS_INVALID, NULL, "%s", order.message);
    } else {
        reply_kept(&order, text, reply);
    }
}
