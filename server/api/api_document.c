/* POST /documents: a file of a form, translated as its format has it, and answered with the translated file. LibreTranslate's POST
 * /translate_file: the same, but that the file is kept, and the answer tells where. */
#include "model/base/utf8.h"
#include "server/api/api_plan.h"
#include "server/api/api_warnings.h"
#include "server/base/hex.h"
#include "server/documents/json_document.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BASE_BYTES = 280 /* names of hosts have 255 at most */, API_MOST_KEYS = KEY_GLOBS_MOST };

/* What the answer needs, beside the plan; order->own. */
struct document_order {
    char file_name[API_FILE_NAME_BYTES];
    char base[BASE_BYTES]; /* of addresses: "https://host"; "": unknown */
};

/* ---- names ---- */

/* "film.srt" -> "film.fr.srt"; of a name that has a path, the last part. What is no UTF-8, and what a file system may refuse,
 * becomes '_'. */
static void make_name(const char *sent, const char *target, const struct document_format *format, char name[API_FILE_NAME_BYTES]) {
    const char *base = sent && *sent ? sent : "document";
    for (const char *c = base; *c; c++)
        base = *c == '/' || *c == '\\' ? c + 1 : base;
    const char *dot = strrchr(base, '.');
    size_t most = API_FILE_NAME_BYTES / 2, stem = dot && dot > base ? (size_t)(dot - base) : strlen(base);
    size_t first = strcspn(format->extensions, " ");
    bool known = dot && dot > base && strlen(dot) < 32;
    stem = utf8_clip(base, stem, most);
    snprintf(name, API_FILE_NAME_BYTES, "%.*s.%.16s.%.*s", (int)stem, base, target, known ? (int)strlen(dot + 1) : (int)first,
             known ? dot + 1 : format->extensions);
    for (char *c = name; *c;) {
        bool valid;
        size_t bytes = utf8_first(c, strlen(c), &valid);
        for (; bytes > 0; bytes--, c++)
            if (!valid || (unsigned char)*c < ' ' || *c == 0x7f || strchr("/\\:*?\"<>|", *c))
                *c = '_';
    }
}

/* ---- fields ---- */

enum { FILE_FIELD, SOURCE_FIELD, TARGET_FIELD, FORMAT_FIELD, STREAM_FIELD, PROTECT_FIELD, WARNINGS_FIELD, KEYS_FIELD, FIELDS };
static const char *const names[FIELDS] = {"file", "source", "target", "format", "stream", "protect", "warnings", "keys"};

/* sent [FIELDS]: NULL where there is none; of keys, which may be given several times, the first. own: alignd's own dialect, in
 * which no other field may be there. */
static int find_fields(const struct call *call, bool own, const struct api_field **sent, struct reply *reply) {
    for (size_t i = 0; i < call->field_count; i++) {
        const struct api_field *field = &call->fields[i];
        size_t known = 0;
        while (known < FIELDS && strcmp(names[known], field->name) != 0)
            known++;
        if (own && known == FIELDS && !api_is_key(field->name))
            return api_refuse(reply, field->name, "unknown field \"%.60s\"", field->name);
        if (known < FIELDS && sent[known] && known != KEYS_FIELD)
            return api_refuse(reply, field->name, "%s must be given only once", field->name);
        if (known < FIELDS && !sent[known])
            sent[known] = field;
    }
    return 0;
}

static const char *value_of(const struct api_field *field) {
    return field && field->length > 0 ? field->value : NULL;
}

static int read_format(const struct api_field *const *sent, struct order *order, struct reply *reply) {
    const struct api_field *file = sent[FILE_FIELD];
    const char *name = value_of(sent[FORMAT_FIELD]);
    char all[DOCUMENT_NAMES_BYTES];
    order->document = name ? document_find(name) : document_guess(file->file_name, file->media_type);
    if (order->document)
        return 0;
    document_names(all);
    if (name)
        return api_refuse(reply, names[FORMAT_FIELD], "format must be one of %s, got \"%.60s\"", all, name);
    const char *dot = file->file_name ? strrchr(file->file_name, '.') : NULL;
    if (dot && dot[1])
        return api_refuse(reply, names[FILE_FIELD], "a file of the type \"%.*s\" cannot be translated; supported types: %s",
                          (int)utf8_clip(dot, strlen(dot), 20), dot, all);
    return api_refuse(reply, names[FILE_FIELD], "the file's name tells no format: name it in format, one of %s", all);
}

/* All fields of this name together. */
static int read_keys(const struct call *call, const struct api_field *first, struct order *order, struct arena *arena,
                     struct reply *reply) {
    const char *texts[API_MOST_KEYS];
    size_t count = 0;
    struct error error = {0};
    if (!first)
        return 0;
    if (strcmp(order->document->name, "json") != 0)
        return api_refuse(reply, names[KEYS_FIELD], "keys selects values of JSON files only, and this file is %s",
                          order->document->name);
    for (size_t i = 0; i < call->field_count; i++)
        if (strcmp(call->fields[i].name, names[KEYS_FIELD]) == 0) {
            if (count == API_MOST_KEYS)
                return api_refuse(reply, names[KEYS_FIELD], "keys may be given at most %d times", API_MOST_KEYS);
            texts[count++] = call->fields[i].value;
        }
    order->keys = key_globs_parse(texts, count, arena, &error);
    if (order->keys)
        return 0;
    if (error.code != ERROR_MEMORY)
        return api_refuse(reply, names[KEYS_FIELD], "keys: %s", error.message);
    api_fail_memory(reply);
    return -1;
}

static int read_file(const struct api_field *file, struct order *order, struct arena *arena, struct reply *reply) {
    struct document document = {.format = order->document, .source = file->value, .length = file->length, .notes = order->notes};
    struct error error = {0};
    if (document_decode(&document, order->source, arena, &error) == 0) {
        order->file = (struct html_bytes){document.source, document.length};
        return 0;
    }
    if (error.code != ERROR_MEMORY)
        return api_refuse(reply, names[FILE_FIELD], "%s: %s", names[FILE_FIELD], error.message);
    api_fail_memory(reply);
    return -1;
}

/* usual: where the field is not there. */
static int read_flag(const struct api_field *field, bool usual, bool *out, struct reply *reply) {
    const char *value = value_of(field);
    *out = value ? strcmp(value, "true") == 0 : usual;
    if (!value || *out || strcmp(value, "false") == 0)
        return 0;
    return api_refuse(reply, field->name, "%s must be true or false", field->name);
}

/* In JSON, as in other requests. */
static int read_protect(const struct api_field *field, struct request *request, struct reply *reply) {
    if (!value_of(field))
        return 0;
    json_t *value = api_load_json(field->value, field->length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
    int result = -1;
    if (api_lacked_memory())
        api_fail_memory(reply);
    else if (!value)
        api_fail(reply, STATUS_INVALID, names[PROTECT_FIELD], "protect must be an array in JSON");
    else
        result = api_read_protect(value, request, reply);
    json_decref(value);
    return result;
}

/* As the client has it. */
static void make_base(const struct call *call, char base[BASE_BYTES]) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.:-_[]";
    const char *host = call->host ? call->host : "";
    size_t length = strspn(host, plain);
    if (length > 0 && host[length] == '\0' && length < BASE_BYTES - sizeof "https://")
        snprintf(base, BASE_BYTES, "http%s://%s", call->secure ? "s" : "", host);
}

static int read_order(const struct call *call, bool native, struct order *order, struct request *request, struct reply *reply) {
    const struct api_field *sent[FIELDS] = {NULL};
    struct document_order *own = arena_zalloc(&request->arena, 1, sizeof *own);
    if (!own) {
        api_fail_memory(reply);
        return -1;
    }
    bool warned = true;
    make_base(call, own->base);
    if (find_fields(call, native, sent, reply) != 0)
        return -1;
    if (!sent[FILE_FIELD])
        return api_refuse(reply, names[FILE_FIELD], "file is missing: send it as a part of the form");
    order->source = value_of(sent[SOURCE_FIELD]);
    order->targets[0] = value_of(sent[TARGET_FIELD]);
    if (!order->targets[0])
        return api_refuse(reply, names[TARGET_FIELD], "target is missing: the code of the language to translate to");
    if (read_format(sent, order, reply) != 0 || read_keys(call, sent[KEYS_FIELD], order, &request->arena, reply) != 0 ||
        read_protect(sent[PROTECT_FIELD], request, reply) != 0 ||
        (native && (read_flag(sent[STREAM_FIELD], false, &request->streamed, reply) != 0 ||
                    read_flag(sent[WARNINGS_FIELD], true, &warned, reply) != 0)))
        return -1;
    if (read_file(sent[FILE_FIELD], order, &request->arena, reply) != 0)
        return -1;
    make_name(sent[FILE_FIELD]->file_name, order->targets[0], order->document, own->file_name);
    order->own = own;
    order->unwarned = !warned;
    return 0;
}

/* The file itself is checked where it is read, which tells where it is wrong. */
static int check_fields(const struct call *call, struct reply *reply) {
    if (!call->form) {
        api_fail(reply, STATUS_MEDIA_TYPE, NULL, "send the document as the part file of a form (multipart/form-data)");
        return -1;
    }
    for (size_t i = 0; i < call->field_count; i++) {
        struct call field = {.fields = &call->fields[i], .field_count = 1};
        if (strcmp(call->fields[i].name, names[FILE_FIELD]) != 0 && api_check_fields(&field, reply) != 0)
            return -1;
    }
    return 0;
}

static int make_notes(struct order *order, struct arena *arena, struct reply *reply) {
    order->notes = arena_zalloc(arena, 1, sizeof *order->notes);
    if (order->notes) {
        order->notes->arena = arena;
        return 0;
    }
    api_fail_memory(reply);
    return -1;
}

static void start(const struct service *service, const struct call *call, bool native, struct request *request,
                  struct reply *reply) {
    if (!api_admit(service, request, reply) || !api_has_models(service, request, reply) || check_fields(call, reply) != 0)
        return;
    const struct order begun = {.text_name = names[FILE_FIELD],
                                .source_name = names[SOURCE_FIELD],
                                .target_name = names[TARGET_FIELD],
                                .count = 1,
                                .target_count = 1,
                                .markup = true};
    struct order *order = order_create(request, &begun, reply);
    if (order && make_notes(order, &request->arena, reply) == 0 && read_order(call, native, order, request, reply) == 0)
        order_start(order, NULL, service, NULL, request, reply);
}

void api_document_start(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    start(service, call, true, request, reply);
}

void api_file_start(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    start(service, call, false, request, reply);
}

/* ---- the answer ---- */

/* The last event of a stream, which is one line. */
static void reply_event(const struct service *service, const struct order *order, const struct plan_answer *file,
                        struct reply *reply) {
    const struct document_order *own = order->own;
    struct writer w = api_begin_answer(service);
    writer_begin_object(&w, NULL);
    writer_strings(&w, "file_name", own->file_name, "format", order->document->name, NULL);
    writer_string_of(&w, "text", file->text, file->length);
    writer_end_object(&w);
    api_reply_answer(service, reply, &w);
}

static void reply_file(const struct service *service, const struct order *order, const struct plan_answer *file,
                       struct reply *reply) {
    const struct document_order *own = order->own;
    if (file->length > service->options.max_reply_bytes) {
        api_fail_length(service, file->length, reply);
        return;
    }
    char *body = malloc(file->length + 1);
    if (!body) {
        api_fail_memory(reply);
        return;
    }
    memcpy(body, file->text, file->length);
    *reply =
        (struct reply){.status = STATUS_OK, .content_type = order->document->content_type, .body = body, .length = file->length};
    memcpy(reply->file_name, own->file_name, sizeof reply->file_name);
}

/* The translated file. NULL: the reply is set. */
static const struct plan_answer *take_answer(struct request *request, struct reply *reply) {
    if (api_fail_decoded(request, reply))
        return NULL;
    const struct plan_answers *answers = plan_answers(request->plan, &request->arena);
    if (answers && plan_warn(request) == 0)
        return &answers->all[0];
    api_fail_memory(reply);
    return NULL;
}

/* The header's bits of what was noted of the document itself. */
static unsigned codes_of(const struct document_notes *notes) {
    unsigned codes = 0;
    for (size_t i = 0; i < notes->count; i++)
        for (size_t code = 0; warning_name(code); code++)
            if (strcmp(warning_name(code), notes->all[i].code) == 0)
                codes |= 1u << code;
    return codes;
}

void api_document_finish(const struct service *service, struct request *request, struct reply *reply) {
    const struct plan_answer *file = take_answer(request, reply);
    const struct plan *plan = request->plan;
    if (!file)
        return;
    (request->streamed ? reply_event : reply_file)(service, plan->order, file, reply);
    if (reply->status == STATUS_OK)
        reply->warnings = plan->warnings->codes | codes_of(plan->order->notes);
}

/* ---- warnings as events ---- */

enum { LINE_WORD_BYTES = 32, LINE_WINDOW = 16 * 1024 };

/* A place in a document, which moves on from text to text. */
struct line_cursor {
    const char *at, *end;
    size_t line; /* of at, from 1 */
};

/* Moves to where a text begins, as far as its first word stands in the file as it does in the text; a file may write it another
 * way, or be packed. False: it was not found near by, and the cursor stays. */
static bool line_seek(struct line_cursor *cursor, const char *text, size_t length) {
    size_t begin = segmenter_trim(text, length).begin, bytes = 0;
    while (begin + bytes < length && bytes < LINE_WORD_BYTES && !strchr(" \t\r\n&<>\"\\", text[begin + bytes]))
        bytes++;
    size_t window = (size_t)(cursor->end - cursor->at);
    window = window < LINE_WINDOW ? window : LINE_WINDOW;
    const char *found = bytes > 0 ? memmem(cursor->at, window, text + begin, bytes) : NULL;
    if (!found)
        return false;
    for (const char *c = cursor->at; c < found; c++)
        cursor->line += *c == '\n';
    cursor->at = found;
    return true;
}

void api_put_document_warnings(const struct request *request, struct writer *w) {
    const struct plan *plan = request->plan;
    const struct plan_item *item = &plan->items[0];
    const struct warning *warning = plan->warnings->first;
    struct line_cursor cursor = {item->source, item->source + item->length, 1};
    const struct document_notes *notes = plan->order->notes;
    for (size_t i = 0; i < notes->count; i++) {
        writer_put(w, "event: warning\ndata: ", 21);
        writer_begin_object(w, NULL);
        writer_strings(w, "code", notes->all[i].code, "message", notes->all[i].message, NULL);
        writer_count(w, "line", notes->all[i].line);
        writer_end_object(w);
        writer_put(w, "\n\n", 2);
    }
    for (size_t i = 0; warning && i < request->text_count; i++) {
        bool found = line_seek(&cursor, request->texts[i].source, request->texts[i].source_length);
        for (; warning && warning->text == i; warning = warning->next) {
            writer_put(w, "event: warning\ndata: ", 21);
            warning_begin(w, warning);
            if (found)
                writer_count(w, "line", cursor.line);
            writer_end_object(w);
            writer_put(w, "\n\n", 2);
        }
        cursor.at += found;
    }
}

/* ---- files to be fetched ---- */

static void reply_address(const struct service *service, const struct document_order *own, const char *id, struct reply *reply) {
    char encoded[3 * API_FILE_NAME_BYTES], address[BASE_BYTES + KEPT_ID_BYTES + sizeof encoded + 32];
    percent_encode(own->file_name, encoded);
    snprintf(address, sizeof address, "%s/download_file/%s.%s", own->base, id, encoded);
    struct writer w = api_begin_answer(service);
    writer_begin_object(&w, NULL);
    writer_string(&w, "translatedFileUrl", address);
    writer_end_object(&w);
    api_reply_answer(service, reply, &w);
}

void api_file_finish(const struct service *service, struct request *request, struct reply *reply) {
    const struct plan_answer *answer = take_answer(request, reply);
    if (!answer)
        return;
    const struct plan *plan = request->plan;
    const struct document_order *own = plan->order->own;
    struct kept_file file = {.content_type = plan->document->content_type, .length = answer->length};
    struct error error = {0};
    char id[KEPT_ID_BYTES];
    memcpy(file.name, own->file_name, sizeof file.name);
    if (kept_files_add(service->files, &file, answer->text, id, &error) == 0) {
        reply_address(service, own, id, reply);
        reply->warnings = reply->status == STATUS_OK ? plan->warnings->codes | codes_of(plan->order->notes) : 0;
    } else if (error.code == ERROR_MEMORY) {
        api_fail_memory(reply);
    } else {
        api_fail(reply, STATUS_TOO_LARGE, names[FILE_FIELD], "%s", error.message);
    }
}

/* The name begins with the id; what stands behind it is for people. */
static void read_id(const char *path, char id[KEPT_ID_BYTES]) {
    size_t length, index;
    const char *sent = api_path_part(api_find(path, "GET", &index), path, &length);
    snprintf(id, KEPT_ID_BYTES, "%.*s", (int)length, sent);
}

/* A file counts as sent when the kernel has taken it. The client may still lose it, and can fetch it again for a while. */
static void note_sent(const struct service *service, const char *path) {
    char id[KEPT_ID_BYTES];
    read_id(path, id);
    kept_files_sent(service->files, id);
}

void api_file(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)request;
    char id[KEPT_ID_BYTES];
    struct kept_file file;
    struct error error = {0};
    read_id(call->path, id);
    char *text = kept_files_find(service->files, id, &file, &error);
    if (text) {
        *reply = (struct reply){
            .status = STATUS_OK, .content_type = file.content_type, .body = text, .length = file.length, .sent = note_sent};
        memcpy(reply->file_name, file.name, sizeof reply->file_name);
    } else if (error.code == ERROR_MEMORY) {
        api_fail_memory(reply);
    } else {
        api_fail(reply, STATUS_NOT_FOUND, NULL, "%s", error.message);
    }
}
