/* This module hides JSON-RPC and the tools: how the arguments of each become a request of alignd's
 * own API, and how the reply to that becomes the result that an agent reads. */
#include "server/dialects/mcp.h"
#include "server/api/access.h"
#include "server/api/call.h"
#include "server/api/decode.h"
#include "server/api/documents.h"
#include "server/api/page.h"
#include "server/api/reply.h"
#include "server/api/value.h"
#include "server/api/wait.h"
#include "server/api/warnings.h"
#include "server/base/clock.h"
#include "server/base/strings.h"
#include "server/dialects/plain.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* JSON-RPC 2.0, section 5.1. */
enum {
    RPC_REQUEST = -32600,
    RPC_METHOD = -32601,
    RPC_PARAMS = -32602,
    RPC_SERVER = -32000 /* the server cannot answer now, or does not let the client ask */
};

enum { ID_BYTES = 256, MOST_FIELDS = 6 };
enum { DUMPED = JSON_COMPACT | JSON_REAL_PRECISION(DECIMAL_DIGITS) };

/* The newest is the one that is offered to clients that ask for none of these. 2025-03-26 is not
 * among them, because it has batches. */
static const char *const versions[] = {"2025-06-18", "2025-11-25"};

struct tool;

/* A message that is being answered; in the request's arena. */
struct message {
    const char *id; /* JSON */
    const struct tool *tool;
    const struct dialect *dialect; /* dialect of the tool's request; NULL: a document's */
    const char *text;              /* align: the text, whose words the result names */
};

/* ---- replies ---- */

static void put_rpc(struct writer *w, const char *id) {
    writer_begin_object(w, NULL);
    writer_string(w, "jsonrpc", "2.0");
    if (id)
        writer_json(w, "id", id);
}

static void put_rpc_error(struct writer *w, const char *id, int code, const char *message) {
    put_rpc(w, id);
    writer_begin_object(w, "error");
    writer_integer(w, "code", code);
    writer_string(w, "message", message);
    writer_end_object(w);
    writer_end_object(w);
}

/* An error that concerns no message, or one whose id is not known here. */
static void mcp_put_error(struct writer *w, const struct dialect_error *error) {
    put_rpc_error(w, NULL, error->status == STATUS_INVALID ? RPC_REQUEST : RPC_SERVER,
                  error->message);
}

const struct dialect dialect_mcp = {
    .name = "mcp", .key = "Authorization: Bearer KEY", .put_error = mcp_put_error};

static void refuse(struct reply *reply, const char *id, int code, const char *message) {
    struct writer w = {.most = SIZE_MAX};
    put_rpc_error(&w, id, code, message);
    reply_json(reply, &w);
}

/* Answers with a result, which it takes over. NULL: memory has run out. */
static void answer(struct reply *reply, const char *id, json_t *result) {
    char *text = result && !value_lacked_memory() ? json_dumps(result, DUMPED) : NULL;
    struct writer w = {.most = SIZE_MAX};
    json_decref(result);
    if (!text || value_lacked_memory()) {
        free(text);
        reply_fail_memory(reply);
        return;
    }
    put_rpc(&w, id);
    writer_json(&w, "result", text);
    writer_end_object(&w);
    free(text);
    reply_json(reply, &w);
}

/* The result of a tool. A client that does not know structured content reads the same as text. */
static json_t *result_of(json_t *structured, bool failed, const char *message) {
    char *text = structured ? json_dumps(structured, DUMPED) : NULL;
    json_t *result = json_pack("{s:[{s:s,s:s}],s:b}", "content", "type", "text", "text",
                               text      ? text
                               : message ? message
                                         : "",
                               "isError", failed);
    if (structured)
        json_object_set_new(result, "structuredContent", structured);
    free(text);
    return result;
}

/* ---- arguments ---- */

/* Copies members that are present and not null to an object under other names: NULL-terminated
 * pairs. */
static void copy_members(json_t *to, const json_t *from, const char *const (*names)[2]) {
    for (; (*names)[0]; names++) {
        json_t *value = json_object_get(from, (*names)[0]);
        if (value && !json_is_null(value))
            json_object_set(to, (*names)[1], value);
    }
}

/* ---- the tools ---- */

struct tool {
    const char *name; /* mcp_tools.json describes it, its arguments and its structured content */
    /* Makes jobs or sets the reply. */
    void (*start)(const struct service *service, const struct call *call, const json_t *arguments,
                  struct message *message, struct request *request, struct reply *reply);
    /* Makes the structured content of a successful reply; reply->body is JSON in `inner` unless the
     * tool answers with a file. NULL: memory has run out. */
    json_t *(*shape)(const struct message *message, const struct reply *reply, const json_t *inner);
};

static void start_dialect(const struct dialect *dialect, const struct service *service,
                          json_t *root, struct message *message, struct request *request,
                          struct reply *reply) {
    message->dialect = dialect;
    reply->dialect = NULL; /* errors become results: they are read as alignd's own */
    if (root && !value_lacked_memory())
        dialect->start(dialect, service, root, request, reply);
    else
        reply_fail_memory(reply);
    json_decref(root);
}

/* translate */

static void translate_start(const struct service *service, const struct call *call,
                            const json_t *arguments, struct message *message,
                            struct request *request, struct reply *reply) {
    static const char *const names[][2] = {
        {"texts", "text"},    {"source", "source"},       {"target", "target"},
        {"model", "model"},   {"glossary", "glossary"},   {"protect", "protect"},
        {"format", "format"}, {"formality", "formality"}, {NULL, NULL}};
    (void)call;
    json_t *root = json_pack("{s:[]}", "include");
    copy_members(root, arguments, names);
    start_dialect(&dialect_translate, service, root, message, request, reply);
}

static json_t *translate_shape(const struct message *message, const struct reply *reply,
                               const json_t *inner) {
    static const char *const names[][2] = {
        {"text", "text"}, {"detected", "detected"}, {"warnings", "warnings"}, {NULL, NULL}};
    static const char *const whole[][2] = {
        {"model", "model"}, {"source", "source"}, {"target", "target"}, {NULL, NULL}};
    (void)message;
    (void)reply;
    json_t *out = json_object(), *translations = json_array();
    size_t i;
    json_t *one;
    copy_members(out, inner, whole);
    json_array_foreach(json_object_get(inner, "translations"), i, one) {
        json_t *translation = json_object();
        copy_members(translation, one, names);
        if (!json_object_get(translation, "warnings"))
            json_object_set_new(translation, "warnings", json_array());
        json_array_append_new(translations, translation);
    }
    json_object_set_new(out, "translations", translations);
    return out;
}

/* align */

static void align_start(const struct service *service, const struct call *call,
                        const json_t *arguments, struct message *message, struct request *request,
                        struct reply *reply) {
    static const char *const names[][2] = {{"text", "text"},     {"translation", "translation"},
                                           {"source", "source"}, {"target", "target"},
                                           {"model", "model"},   {NULL, NULL}};
    (void)call;
    const json_t *text = json_object_get(arguments, "text");
    json_t *root = json_object();
    copy_members(root, arguments, names);
    if (json_is_string(text))
        message->text =
            arena_copy(&request->arena, json_string_value(text), json_string_length(text));
    if (json_is_string(text) && !message->text) {
        json_decref(root);
        reply_fail_memory(reply);
    } else if (json_is_string(text)) {
        start_dialect(&dialect_align, service, root, message, request, reply);
    } else {
        json_decref(root);
        reply_fail(reply, STATUS_INVALID, "text", "text must be a string");
    }
}

/* The part of a text at a place, or an empty string. */
static json_t *part_of(const char *text, const json_t *place) {
    size_t begin = (size_t)json_integer_value(json_object_get(place, "start")),
           end = (size_t)json_integer_value(json_object_get(place, "end"));
    return begin <= end && end <= strlen(text) ? json_stringn(text + begin, end - begin)
                                               : json_string("");
}

static json_t *align_shape(const struct message *message, const struct reply *reply,
                           const json_t *inner) {
    static const char *const whole[][2] = {
        {"model", "model"}, {"source", "source"}, {"target", "target"}, {NULL, NULL}};
    static const char *const names[][2] = {
        {"links", "links"}, {"detected", "detected"}, {"warnings", "warnings"}, {NULL, NULL}};
    (void)reply;
    const json_t *one = json_array_get(json_object_get(inner, "results"), 0),
                 *words = json_object_get(one, "words"), *quality = json_object_get(one, "quality");
    const char *translation = json_string_value(json_object_get(one, "text"));
    json_t *out = json_object(), *phrases = json_array(), *missing = json_array(), *place;
    size_t i;
    copy_members(out, inner, whole);
    json_object_set_new(out, "words",
                        json_pack("{s:O,s:O}", "source", json_object_get(words, "source"), "target",
                                  json_object_get(words, "target")));
    copy_members(out, one, names);
    json_array_foreach(json_object_get(one, "phrases"), i, place) {
        json_array_append_new(
            phrases, json_pack("{s:o,s:o}", "source",
                               part_of(message->text, json_object_get(place, "source")), "target",
                               part_of(translation, json_object_get(place, "target"))));
    }
    json_array_foreach(json_object_get(one, "missing"), i, place) {
        json_array_append_new(missing, part_of(message->text, place));
    }
    json_object_set_new(out, "phrases", phrases);
    json_object_set_new(out, "missing", missing);
    if (quality)
        json_object_set(out, "quality", json_object_get(quality, "sentence"));
    return out;
}

/* detect */

static void detect_start(const struct service *service, const struct call *call,
                         const json_t *arguments, struct message *message, struct request *request,
                         struct reply *reply) {
    (void)call;
    const json_t *text = json_object_get(arguments, "text");
    if (!json_is_string(text))
        reply_fail(reply, STATUS_INVALID, "text", "text must be a string");
    else
        start_dialect(&dialect_libre_detect, service, json_pack("{s:O}", "q", text), message,
                      request, reply);
}

static json_t *detect_shape(const struct message *message, const struct reply *reply,
                            const json_t *inner) {
    (void)message;
    (void)reply;
    const json_t *first = json_array_get(inner, 0);
    double percent = json_number_value(json_object_get(first, "confidence"));
    return json_pack("{s:O,s:f}", "language", json_object_get(first, "language"), "confidence",
                     percent / 100);
}

/* languages */

static void languages_start(const struct service *service, const struct call *call,
                            const json_t *arguments, struct message *message,
                            struct request *request, struct reply *reply) {
    (void)arguments;
    (void)message;
    const struct call plain = {.path = call->path, .route = call->route};
    reply->dialect = NULL;
    plain_languages(service, &plain, request, reply);
}

static json_t *languages_shape(const struct message *message, const struct reply *reply,
                               const json_t *inner) {
    (void)message;
    (void)reply;
    return json_pack("{s:O}", "languages", inner);
}

/* translate_file */

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Decodes base64, in which white space counts as nothing. Returns -1 if it is something else. */
static int base64_decode(const char *text, size_t length, char *out, size_t *bytes) {
    unsigned held = 0, bits = 0;
    size_t used = 0, end = length;
    while (end > 0 && strchr("= \t\r\n", text[end - 1]))
        end--;
    for (size_t i = 0; i < end; i++) {
        const char *digit = text[i] ? strchr(base64_digits, text[i]) : NULL;
        if (!digit && text[i] && strchr(" \t\r\n", text[i]))
            continue;
        if (!digit)
            return -1;
        held = held << 6 | (unsigned)(digit - base64_digits);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            out[used++] = (char)(held >> bits & 0xff);
        }
    }
    *bytes = used;
    return 0;
}

/* Returns the text, malloc'ed; NULL if memory runs out. */
static char *base64_encode(const char *bytes, size_t length) {
    char *text = malloc((length + 2) / 3 * 4 + 1), *at = text;
    for (size_t i = 0; text && i < length; i += 3) {
        unsigned held = (unsigned)(unsigned char)bytes[i] << 16 |
                        (i + 1 < length ? (unsigned)(unsigned char)bytes[i + 1] << 8 : 0) |
                        (i + 2 < length ? (unsigned)(unsigned char)bytes[i + 2] : 0);
        for (size_t k = 0; k < 4; k++)
            *at++ = k > 1 && i + k > length ? '=' : base64_digits[held >> (18 - 6 * k) & 63];
    }
    if (text)
        *at = '\0';
    return text;
}

static void file_start(const struct service *service, const struct call *call,
                       const json_t *arguments, struct message *message, struct request *request,
                       struct reply *reply) {
    static const char *const strings[] = {"source", "target", "format", "bilingual"};
    (void)message;
    const json_t *name = json_object_get(arguments, "name"),
                 *content = json_object_get(arguments, "content"),
                 *base64 = json_object_get(arguments, "content_base64"),
                 *sent = content ? content : base64;
    struct arena *arena = &request->arena;
    struct api_field fields[MOST_FIELDS];
    size_t count = 1, length = json_string_length(sent);
    reply->dialect = NULL;
    if (!json_is_string(name) || !json_is_string(sent) || (content && base64)) {
        reply_fail(reply, STATUS_INVALID, "content",
                   "name must be a string, and either content or content_base64 another");
        return;
    }
    char *bytes = arena_copy(arena, json_string_value(sent), length);
    const char *file = arena_copy(arena, json_string_value(name), json_string_length(name));
    if (!bytes || !file) {
        reply_fail_memory(reply);
        return;
    }
    if (base64 && base64_decode(json_string_value(sent), length, bytes, &length) != 0) {
        reply_fail(reply, STATUS_INVALID, "content_base64", "content_base64 must be base64");
        return;
    }
    bytes[length] = '\0';
    fields[0] =
        (struct api_field){.name = "file", .value = bytes, .length = length, .file_name = file};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        const json_t *value = json_object_get(arguments, strings[i]);
        if (!value || json_is_null(value))
            continue;
        if (!json_is_string(value)) {
            reply_fail(reply, STATUS_INVALID, strings[i], "%s must be a string", strings[i]);
            return;
        }
        char *copy = arena_copy(arena, json_string_value(value), json_string_length(value));
        if (!copy) {
            reply_fail_memory(reply);
            return;
        }
        fields[count++] = (struct api_field){
            .name = strings[i], .value = copy, .length = json_string_length(value)};
    }
    const struct call form = {.path = call->path,
                              .route = call->route,
                              .form = true,
                              .fields = fields,
                              .field_count = count};
    documents_start(service, &form, request, reply);
}

static json_t *file_shape(const struct message *message, const struct reply *reply,
                          const json_t *inner) {
    (void)message;
    (void)inner;
    bool text = utf8_valid(reply->body, reply->length) && !memchr(reply->body, 0, reply->length);
    char *base64 = text ? NULL : base64_encode(reply->body, reply->length);
    json_t *out = json_pack("{s:s,s:s,s:[]}", "name", reply->file_name, "media_type",
                            reply->content_type, "warnings");
    json_t *warnings = json_object_get(out, "warnings");
    if (text)
        json_object_set_new(out, "content", json_stringn(reply->body, reply->length));
    else
        json_object_set_new(out, "content_base64", json_string(base64 ? base64 : ""));
    for (size_t code = 0; warnings_name(code); code++)
        if (reply->warnings & 1u << code)
            json_array_append_new(warnings, json_string(warnings_name(code)));
    if (!text && !base64) {
        json_decref(out);
        out = NULL;
    }
    free(base64);
    return out;
}

static const struct tool tools[] = {
    {"translate", translate_start, translate_shape},
    {"align", align_start, align_shape},
    {"detect", detect_start, detect_shape},
    {"languages", languages_start, languages_shape},
    {"translate_file", file_start, file_shape},
};

enum { TOOLS = sizeof tools / sizeof *tools };

/* Returns what tools/list says: mcp_tools.json. NULL: memory has run out. */
static json_t *list_tools(void) {
    const struct page_file *file = page_find("/mcp_tools.json");
    return json_pack("{s:o}", "tools",
                     value_parse((const char *)file->bytes, file->length, 0, NULL));
}

/* Returns the schema of a tool's arguments, by which they are checked. NULL: memory has run out. */
static json_t *schema_of(const struct tool *tool) {
    json_t *list = list_tools(), *about, *schema = NULL;
    size_t i;
    json_array_foreach(
        json_object_get(list, "tools"), i,
        about) if (strcmp(json_string_value(json_object_get(about, "name")), tool->name) == 0)
        schema = json_incref(json_object_get(about, "inputSchema"));
    json_decref(list);
    return schema;
}

/* ---- calls ---- */

/* Turns the reply of what a tool asked for into the result of the tool. */
static void answer_call(const struct message *message, struct reply *reply) {
    struct reply inner = *reply;
    *reply = (struct reply){.dialect = &dialect_mcp};
    bool failed = inner.status >= 300, file = !failed && message->tool->shape == file_shape;
    json_t *body =
        file || !inner.body ? NULL : value_parse(inner.body, inner.length, JSON_DECODE_ANY, NULL);
    if (failed) {
        const char *error = json_string_value(json_object_get(body, "error"));
        char text[REPLY_MESSAGE_BYTES + 64], wait[48] = "";
        if (inner.retry_after_s > 0)
            snprintf(wait, sizeof wait, " (try again in %u seconds)", inner.retry_after_s);
        snprintf(text, sizeof text, "%s%s", error ? error : "the tool failed", wait);
        answer(reply, message->id, result_of(NULL, true, text));
    } else {
        json_t *structured = message->tool->shape(message, &inner, body);
        answer(reply, message->id, structured ? result_of(structured, false, NULL) : NULL);
    }
    json_decref(body);
    free(inner.body);
}

/* Returns the tool, or NULL after answering that the parameters are wrong. */
static const struct tool *find_tool(const json_t *params, const char *id, struct reply *reply) {
    const char *name = json_string_value(json_object_get(params, "name"));
    const json_t *arguments = json_object_get(params, "arguments");
    size_t i = 0;
    while (name && i < TOOLS && strcmp(tools[i].name, name) != 0)
        i++;
    if (name && i < TOOLS && (!arguments || json_is_object(arguments)))
        return &tools[i];
    refuse(reply, id, RPC_PARAMS,
           name && i < TOOLS ? "arguments must be an object" : "there is no tool of this name");
    return NULL;
}

/* Refuses arguments that the tool does not have, and the lack of those that it needs. */
static int check_arguments(const struct tool *tool, json_t *arguments, struct reply *reply) {
    json_t *schema = schema_of(tool), *value;
    const char *name;
    size_t i;
    int result = schema ? 0 : reply_fail_memory(reply);
    if (result == 0)
        json_object_foreach(arguments, name, value) {
            if (result == 0 && !json_object_get(json_object_get(schema, "properties"), name))
                result = reply_refuse(reply, name, "unknown argument \"%.60s\"", name);
        }
    json_array_foreach(json_object_get(schema, "required"), i, value) {
        if (result == 0 && !json_object_get(arguments, json_string_value(value)))
            result = reply_refuse(reply, json_string_value(value), "%s is missing",
                                  json_string_value(value));
    }
    json_decref(schema);
    return result;
}

static void call_tool(const struct service *service, const struct call *call, const json_t *params,
                      const char *id, struct request *request, struct reply *reply) {
    const struct tool *tool = find_tool(params, id, reply);
    struct message *message = arena_zalloc(&request->arena, 1, sizeof *message);
    json_t *arguments = json_object_get(params, "arguments");
    if (!tool)
        return;
    if (!message || !(message->id = arena_copy(&request->arena, id, strlen(id)))) {
        reply_fail_memory(reply);
        return;
    }
    message->tool = tool;
    request->message = message;
    int64_t until_us = clock_us() + (int64_t)service->options->deadline_ms * 1000;
    if (tool->start != file_start && request->deadline_us > until_us)
        request->deadline_us = until_us; /* the route's is that of a document */
    reply->dialect = NULL;
    if (access_admit(service, request, reply) && wait_finds_models(service, request, reply) &&
        check_arguments(tool, arguments, reply) == 0)
        tool->start(service, call, arguments, message, request, reply);
    if (reply->status != 0)
        answer_call(message, reply);
    reply->dialect = &dialect_mcp;
}

void mcp_finish(const struct service *service, struct request *request, struct reply *reply) {
    const struct message *message = request->message;
    reply->dialect = message->dialect;
    if (message->dialect)
        decode_finish(service, request, reply);
    else
        documents_finish(service, request, reply);
    answer_call(message, reply);
}

void mcp_name_failure(const struct request *request, struct reply *reply) {
    const struct message *message = request->message;
    if (!message || reply->status < 300)
        return;
    json_t *body = value_parse(reply->body, reply->length, 0, NULL),
           *error = json_object_get(body, "error");
    char text[REPLY_MESSAGE_BYTES];
    const char *said = json_string_value(json_object_get(error, "message"));
    snprintf(text, sizeof text, "%s", said ? said : "the server is out of memory");
    json_decref(body);
    refuse(reply, message->id, RPC_SERVER, text);
}

/* ---- messages ---- */

static const char instructions[] =
    "alignd translates texts and files with models on its own machine, and checks anybody's "
    "translations. Call languages first to see which pairs it has. Read the warnings of every "
    "result: they name what is likely wrong. If a translation matters, call align with it and the "
    "text, and look at missing, warnings and quality.";

static void initialize(const json_t *params, const char *id, struct reply *reply) {
    const char *asked = json_string_value(json_object_get(params, "protocolVersion")),
               *version = versions[0];
    for (size_t i = 0; asked && i < sizeof versions / sizeof *versions; i++)
        version = strcmp(versions[i], asked) == 0 ? versions[i] : version;
    if (asked)
        answer(reply, id,
               json_pack("{s:s,s:{s:{}},s:{s:s,s:s,s:s},s:s}", "protocolVersion", version,
                         "capabilities", "tools", "serverInfo", "name", "alignd", "title", "alignd",
                         "version", ALIGND_VERSION, "instructions", instructions));
    else
        refuse(reply, id, RPC_PARAMS, "protocolVersion is missing");
}

/* Refuses a message with status 400. */
static void refuse_message(struct reply *reply, const char *message) {
    reply_fail(reply, STATUS_INVALID, NULL, "%s", message);
}

/* Writes the id as JSON. Returns false if it is neither a string nor an integer, or too long. */
static bool write_id(const json_t *id, char text[ID_BYTES]) {
    char *dumped = json_is_string(id) || json_is_integer(id)
                       ? json_dumps(id, JSON_COMPACT | JSON_ENCODE_ANY)
                       : NULL;
    bool fits = dumped && strlen(dumped) < ID_BYTES;
    if (fits)
        strcpy(text, dumped);
    free(dumped);
    return fits;
}

static void answer_message(const struct service *service, const struct call *call,
                           const json_t *root, struct request *request, struct reply *reply) {
    const char *version = json_string_value(json_object_get(root, "jsonrpc")),
               *method = json_string_value(json_object_get(root, "method"));
    const json_t *params = json_object_get(root, "params");
    char id[ID_BYTES];
    if (json_is_array(root)) {
        refuse_message(reply, "batches are not part of this version of the protocol: send one "
                              "message at a time");
    } else if (!version || strcmp(version, "2.0") != 0) {
        refuse_message(reply, "the message must be an object with \"jsonrpc\": \"2.0\"");
    } else if (!method && (json_object_get(root, "result") || json_object_get(root, "error"))) {
        reply->status = STATUS_ACCEPTED; /* a response; nothing was asked */
    } else if (!method) {
        refuse_message(reply, "method must be a string");
    } else if (!json_object_get(root, "id")) {
        reply->status = STATUS_ACCEPTED; /* a notification */
    } else if (!write_id(json_object_get(root, "id"), id)) {
        refuse_message(reply, "id must be a string or an integer");
    } else if (params && !json_is_object(params)) {
        refuse(reply, id, RPC_PARAMS, "params must be an object");
    } else if (strcmp(method, "initialize") == 0) {
        initialize(params, id, reply);
    } else if (strcmp(method, "ping") == 0) {
        answer(reply, id, json_object());
    } else if (strcmp(method, "tools/list") == 0) {
        answer(reply, id, list_tools());
    } else if (strcmp(method, "tools/call") == 0) {
        call_tool(service, call, params, id, request, reply);
    } else {
        refuse(reply, id, RPC_METHOD, "unknown method");
    }
}

void mcp_start(const struct service *service, const struct call *call, struct request *request,
               struct reply *reply) {
    size_t known = 0, count = sizeof versions / sizeof *versions;
    reply->dialect = &dialect_mcp;
    while (call->protocol_version && known < count &&
           strcmp(versions[known], call->protocol_version) != 0)
        known++;
    if (known == count) {
        reply_fail(reply, STATUS_INVALID, NULL,
                   "MCP-Protocol-Version must be %s or %s, got \"%.30s\"", versions[0], versions[1],
                   call->protocol_version);
        return;
    }
    json_t *root = call_load_value(call, reply);
    if (root)
        answer_message(service, call, root, request, reply);
    json_decref(root);
}
