#include "server/api/api_json.h"
#include "server/base/utf8.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 400, FIELD_BYTES = 64 };

static const struct {
    unsigned status;
    const char *code;
} codes[] = {
    {STATUS_INVALID, "invalid_request"},    {STATUS_NOT_FOUND, "not_found"},
    {STATUS_UNAUTHORIZED, "unauthorized"},  {STATUS_FORBIDDEN, "forbidden"},
    {STATUS_CONFLICT, "reload_failed"},     {STATUS_METHOD, "method_not_allowed"},
    {STATUS_TOO_LARGE, "too_large"},        {STATUS_MEDIA_TYPE, "unsupported_media_type"},
    {STATUS_QUEUE_FULL, "queue_full"},      {STATUS_UNAVAILABLE, "unavailable"},
    {STATUS_DEADLINE, "deadline_exceeded"},
};

static const char *code_of(unsigned status) {
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (codes[i].status == status)
            return codes[i].code;
    }
    return "internal_error";
}

void api_init(void) {
    splice_init();
    json_object_seed(0); /* jansson would do it at the first object, in whatever thread that is */
}

char *api_dump(json_t *root, const struct splices *splices) {
    char *text = splice_dump(splices, root);
    json_decref(root);
    return text;
}

void api_reply_text(struct reply *reply, unsigned status, char *text) {
    free(reply->body);
    *reply = (struct reply){
        .status = status, .content_type = "application/json; charset=utf-8", .body = text, .length = text ? strlen(text) : 0};
}

void api_reply_json(struct reply *reply, unsigned status, json_t *root) {
    api_reply_spliced(reply, status, root, &(struct splices){0});
}

void api_reply_spliced(struct reply *reply, unsigned status, json_t *root, const struct splices *splices) {
    char *body = api_dump(root, splices);
    if (body)
        api_reply_text(reply, status, body);
    else
        api_fail_memory(reply);
}

void api_fail_memory(struct reply *reply) {
    splice_lacked();
    api_reply_text(reply, STATUS_UNAVAILABLE, strdup("{\"error\":\"the server is out of memory\",\"code\":\"unavailable\"}"));
    reply->retry_after_s = 1;
}

/* A message that quotes a client and was cut within a character could not be written as JSON. */
static void mend(char *message) {
    if (characters_valid(message, strlen(message)))
        return;
    for (char *c = message; *c; c++) {
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    }
}

void api_fail_coded(struct reply *reply, unsigned status, const char *code, const char *field, const char *message) {
    json_t *root = json_pack("{s:s, s:s}", "error", message, "code", code);
    if (field)
        json_object_set_new(root, "field", json_stringn(field, utf8_clip(field, strlen(field), FIELD_BYTES)));
    api_reply_json(reply, status, root);
}

void api_fail(struct reply *reply, unsigned status, const char *field, const char *format, ...) {
    char message[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    mend(message);
    api_fail_coded(reply, status, code_of(status), field, message);
}

const char *api_type_name(const json_t *value) {
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    default:
        return "null";
    }
}
