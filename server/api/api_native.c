/* The native dialect as a form or a query string: its fields as JSON, which is then read as any. */
#include "server/api/api_field.h"
#include <string.h>

bool api_native_speaks(const struct call *call) {
    for (size_t i = 0; i < call->field_count; i++)
        if (strcmp(call->fields[i].name, "text") == 0)
            return true;
    return false;
}

void api_native_fail(struct reply *reply) {
    api_fail(reply, STATUS_INVALID, "text",
             "text is missing: send a JSON object such as {\"text\": \"Hello.\"} or a form with text; /translate also takes q");
}

/* An unknown field stays a string, to be refused with the others. */
static json_t *value_of(const struct field_type *type, const struct api_field *sent) {
    json_t *value = type && type->from_text ? type->from_text(sent->value, sent->length) : NULL;
    return value ? value : json_stringn(sent->value, sent->length);
}

/* Both, in order. */
static json_t *joined(json_t *first, json_t *second) {
    json_t *all = json_array();
    json_t *const parts[] = {first, second};
    for (size_t i = 0; i < 2; i++)
        if (json_is_array(parts[i]))
            json_array_extend(all, parts[i]);
        else
            json_array_append(all, parts[i]);
    json_decref(second);
    return all;
}

static int native_add(json_t *root, enum api_kind kind, const struct api_field *sent, struct reply *reply) {
    struct field field;
    const struct field_type *type = field_find(sent->name, kind, &field) ? field.type : NULL;
    json_t *former = json_object_get(root, sent->name);
    if (former && type && !type->several)
        return api_refuse(reply, sent->name, "%s must be given only once", sent->name);
    json_t *value = value_of(type, sent);
    json_object_set_new(root, sent->name, former ? joined(former, value) : value);
    return 0;
}

json_t *api_native_load(const struct call *call, enum api_kind kind, struct reply *reply) {
    if (api_check_fields(call, reply) != 0)
        return NULL;
    if (!api_native_speaks(call)) {
        api_native_fail(reply);
        return NULL;
    }
    json_t *root = json_object();
    for (size_t i = 0; root && i < call->field_count; i++) {
        if (native_add(root, kind, &call->fields[i], reply) != 0) {
            json_decref(root);
            return NULL;
        }
    }
    if (!api_lacked_memory())
        return root;
    json_decref(root);
    api_fail_memory(reply);
    return NULL;
}
