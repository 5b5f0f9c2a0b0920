#include "server/api/api_json.h"
#include "model/base/utf8.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

static _Thread_local bool lacked;

static void *json_allocate(size_t bytes) {
    void *block = malloc(bytes);
    lacked |= !block;
    return block;
}

bool api_lacked_memory(void) {
    bool before = lacked;
    lacked = false;
    return before;
}

void api_init(void) {
    json_set_alloc_funcs(json_allocate, free);
    json_object_seed(0); /* jansson would do it at the first object, in whatever thread that is */
}

static void reply_set(struct reply *reply, unsigned status, char *text, size_t length) {
    free(reply->body);
    *reply = (struct reply){.status = status, .content_type = "application/json; charset=utf-8", .body = text, .length = length};
}

void api_reply_text(struct reply *reply, unsigned status, char *text) {
    reply_set(reply, status, text, text ? strlen(text) : 0);
}

/* Takes what was written. */
static void reply_with(struct reply *reply, unsigned status, struct writer *w) {
    size_t length = w->length;
    char *text = writer_take(w);
    if (text)
        reply_set(reply, status, text, length);
    else
        api_fail_memory(reply);
}

void api_reply_json(struct reply *reply, struct writer *w) {
    reply_with(reply, STATUS_OK, w);
}

struct writer api_begin_answer(const struct service *service) {
    return (struct writer){.most = service->options.max_reply_bytes};
}

void api_reply_answer(const struct service *service, struct reply *reply, struct writer *w) {
    bool too_long = w->too_long;
    api_reply_json(reply, w);
    if (too_long)
        api_fail_length(service, 0, reply);
}

void api_fail_memory(struct reply *reply) {
    api_lacked_memory();
    api_reply_text(reply, STATUS_UNAVAILABLE, strdup("{\"error\":\"the server is out of memory\",\"code\":\"unavailable\"}"));
    reply->retry_after_s = 1;
}

/* A message that quotes a client and was cut within a character could not be written as JSON. */
static void mend_message(char *message) {
    if (utf8_valid(message, strlen(message)))
        return;
    for (char *c = message; *c; c++) {
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    }
}

void api_fail_coded(struct reply *reply, unsigned status, const char *code, const char *field, const char *message) {
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_strings(&w, "error", message, "code", code, NULL);
    if (field)
        writer_string_of(&w, "field", field, utf8_clip(field, strlen(field), FIELD_BYTES));
    writer_end_object(&w);
    reply_with(reply, status, &w);
}

void api_fail(struct reply *reply, unsigned status, const char *field, const char *format, ...) {
    char message[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    mend_message(message);
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
