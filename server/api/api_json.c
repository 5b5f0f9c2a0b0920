#include "server/api/api_json.h"
#include "model/base/reserve.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local bool lacked;

static void *json_allocate(size_t bytes) {
    void *block = reserve_alloc(bytes);
    lacked |= !block;
    return block;
}

bool api_lacked_memory(void) {
    bool before = lacked;
    lacked = false;
    return before;
}

json_t *api_load_json(const char *text, size_t length, size_t flags, json_error_t *error) {
    if (reserve_fill(NULL) == 0)
        return json_loadb(text, length, flags, error);
    lacked = true;
    return NULL;
}

void api_init(void) {
    json_set_alloc_funcs(json_allocate, free);
    json_object_seed(0); /* jansson would do it at the first object, in whatever thread that is */
}

static void reply_set(struct reply *reply, unsigned status, char *text, size_t length) {
    free(reply->body);
    *reply = (struct reply){.status = status,
                            .content_type = "application/json; charset=utf-8",
                            .body = text,
                            .length = length,
                            .dialect = reply->dialect};
}

void api_reply_text(struct reply *reply, unsigned status, char *text) {
    reply_set(reply, status, text, text ? strlen(text) : 0);
}

void api_reply_status(struct reply *reply, unsigned status, struct writer *w) {
    size_t length = w->length;
    char *text = writer_take(w);
    if (text)
        reply_set(reply, status, text, length);
    else
        api_fail_memory(reply);
}

void api_reply_json(struct reply *reply, struct writer *w) {
    api_reply_status(reply, STATUS_OK, w);
}

void api_fail_memory(struct reply *reply) {
    api_lacked_memory();
    api_reply_text(reply, STATUS_UNAVAILABLE, strdup("{\"error\":\"the server is out of memory\",\"code\":\"unavailable\"}"));
    reply->retry_after_s = 1;
}

bool api_integer(const json_t *value, json_int_t *number) {
    double real = json_is_real(value) ? json_real_value(value) : 0;
    *number = json_is_integer(value) ? json_integer_value(value) : 0;
    if (!json_is_real(value))
        return json_is_integer(value);
    if (real != trunc(real) || fabs(real) >= 9223372036854775808.0)
        return false;
    *number = (json_int_t)real;
    return true;
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
