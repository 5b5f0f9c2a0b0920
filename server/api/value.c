/* This file parses JSON. jansson parses with reserved memory, since it does not always report a
 * failed allocation. */
#include "server/api/value.h"
#include "model/base/arena.h"
#include "server/base/strings.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON ---- */

static _Thread_local bool lacked;

static void *json_allocate(size_t bytes) {
    void *block = reserve_alloc(bytes);
    lacked |= !block;
    return block;
}

bool value_lacked_memory(void) {
    bool before = lacked;
    lacked = false;
    return before;
}

json_t *value_parse(const char *text, size_t length, size_t flags, json_error_t *error) {
    if (reserve_fill(NULL) == 0)
        return json_loadb(text, length, flags, error);
    lacked = true;
    return NULL;
}

void value_init(void) {
    json_set_alloc_funcs(json_allocate, free);
    json_object_seed(0); /* otherwise jansson seeds its hash at the first object, on any thread */
}

bool value_integer(const json_t *value, json_int_t *number) {
    double real = json_is_real(value) ? json_real_value(value) : 0;
    *number = json_is_integer(value) ? json_integer_value(value) : 0;
    if (!json_is_real(value))
        return json_is_integer(value);
    if (real != trunc(real) || fabs(real) >= 9223372036854775808.0)
        return false;
    *number = (json_int_t)real;
    return true;
}

const char *value_type_name(const json_t *value) {
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

void value_put_place(struct writer *out, const char *key, struct value_place begin,
                     struct value_place end) {
    writer_begin_object(out, key);
    writer_count(out, "start", begin.bytes);
    writer_count(out, "end", end.bytes);
    writer_count(out, "start_utf16", begin.units);
    writer_count(out, "end_utf16", end.units);
    writer_end_object(out);
}
