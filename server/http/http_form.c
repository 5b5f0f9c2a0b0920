#include "server/http/http_form.h"
#include "server/api/form.h"
#include "server/http/http_head.h"
#include <microhttpd.h>
#include <string.h>

/* The query string's fields on their way to call->fields. */
struct arguments {
    struct arena *arena;
    struct api_field *all; /* [HEAD_MOST_ARGUMENTS] */
    size_t count;
};

static enum MHD_Result form_take(void *closure, enum MHD_ValueKind kind, const char *name, size_t name_length, const char *value,
                                 size_t length) {
    (void)kind;
    struct arguments *arguments = closure;
    if (arguments->count == HEAD_MOST_ARGUMENTS)
        return MHD_NO; /* http_head.h has refused more */
    struct api_field field = {.name = arena_copy(arguments->arena, name, name_length),
                              .value = arena_copy(arguments->arena, value ? value : "", value ? length : 0),
                              .length = value ? length : 0};
    arguments->all[arguments->count++] = field;
    return arena_failed(arguments->arena) ? MHD_NO : MHD_YES;
}

int form_read(struct MHD_Connection *connection, struct arena *arena, struct call *call, struct reply *reply) {
    struct error err = {0};
    struct form_fields form = {.arena = arena};
    call->form = !api_is_blank(call) && !api_begins_json(call) && form_is(call->content_type);
    if (call->form && form_parse(&form, call->content_type, call->body, call->length, &err) != 0) {
        if (err.code == ERROR_MEMORY)
            api_fail_memory(reply);
        else
            api_fail(reply, STATUS_INVALID, NULL, "%s", err.message);
        return -1;
    }
    struct api_field *fields = arena_alloc(arena, form.count + HEAD_MOST_ARGUMENTS, sizeof *fields);
    struct arguments arguments = {.arena = arena, .all = fields ? fields + form.count : NULL};
    if (fields) {
        memcpy(fields, form.all, form.count * sizeof *fields);
        MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, form_take, &arguments);
    }
    if (arena_failed(arena)) {
        api_fail_memory(reply);
        return -1;
    }
    call->fields = fields;
    call->field_count = form.count + arguments.count;
    return 0;
}
