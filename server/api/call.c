/* This file reads the bodies of requests: JSON, or forms. */
#include "server/api/call.h"
#include "server/api/reply.h"
#include "server/api/value.h"
#include <string.h>

static size_t count_blanks(const struct call *call) {
    size_t blank = 0;
    while (blank < call->length && strchr(" \t\r\n", call->body[blank]) && call->body[blank])
        blank++;
    return blank;
}

/* A body that begins with { or [ is JSON regardless of its content type, so that plain `curl -d`
 * works. */
bool call_begins_json(const struct call *call) {
    size_t blank = count_blanks(call);
    return blank < call->length && (call->body[blank] == '{' || call->body[blank] == '[');
}

bool call_is_blank(const struct call *call) {
    return count_blanks(call) == call->length;
}

bool call_is_form(const struct call *call) {
    size_t length;
    bool in_path = call->length == 0 && call->route && route_part(call->route, call->path, &length);
    return (call->form || call->field_count > 0 || in_path) && !call_begins_json(call);
}

json_t *call_load_value(const struct call *call, struct reply *reply) {
    if (call_is_blank(call)) {
        reply_fail(reply, STATUS_INVALID, NULL,
                   "the body is empty: send a JSON object, or the fields in the query string");
        return NULL;
    }
    const char *type = call->content_type;
    size_t length = type ? strcspn(type, "; \t") : 0;
    bool json = (length == 16 && strncasecmp(type, "application/json", length) == 0) ||
                (length > 5 && strncasecmp(type + length - 5, "+json", 5) == 0);
    if (!json && !call_begins_json(call)) {
        reply_fail(reply, STATUS_MEDIA_TYPE, NULL,
                   "the body must be a JSON object (content type application/json)");
        return NULL;
    }
    if (memchr(call->body, '\0',
               call->length)) { /* jansson ignores a zero byte after a number or a word */
        reply_fail(reply, STATUS_INVALID, NULL,
                   "the body is not valid JSON: it contains a zero byte");
        return NULL;
    }
    json_error_t error;
    json_t *root = value_parse(call->body, call->length, JSON_REJECT_DUPLICATES, &error);
    if (value_lacked_memory()) { /* characters of a string may be missing */
        json_decref(root);
        root = NULL;
        reply_fail_memory(reply);
    } else if (!root) {
        const char *what = json_error_code(&error) == json_error_invalid_utf8 ? "UTF-8" : "JSON";
        reply_fail(reply, STATUS_INVALID, NULL, "the body is not valid %s: line %d, column %d: %s",
                   what, error.line, error.column, error.text);
    }
    return root;
}

json_t *call_load(const struct call *call, struct reply *reply) {
    json_t *root = call_load_value(call, reply);
    if (!root || json_is_object(root))
        return root;
    reply_fail(reply, STATUS_INVALID, NULL, "the body must be a JSON object, got %s",
               value_type_name(root));
    json_decref(root);
    return NULL;
}

int call_check_fields(const struct call *call, struct reply *reply) {
    for (size_t i = 0; i < call->field_count; i++) {
        const struct api_field *field = &call->fields[i];
        if (utf8_valid(field->name, strlen(field->name)) &&
            utf8_valid(field->value, field->length) && !memchr(field->value, '\0', field->length))
            continue;
        return reply_fail(reply, STATUS_INVALID, NULL, "the fields are not valid UTF-8");
    }
    return 0;
}
