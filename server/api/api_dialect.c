/* The decoding endpoints: each request is answered in the dialect that it speaks. */
#include "server/api/api_dialect.h"
#include <string.h>

/* Of one path the first is what is taken where none speaks for itself. */
static const struct dialect *const dialects[] = {&dialect_translate, &dialect_attention, &dialect_libre};

bool dialect_has(const struct dialect_fields *fields, const char *name) {
    if (fields->root)
        return json_object_get(fields->root, name) != NULL;
    for (size_t i = 0; i < fields->call->field_count; i++)
        if (strcmp(fields->call->fields[i].name, name) == 0)
            return true;
    return false;
}

const struct dialect *api_dialect(const char *path) {
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++)
        if (strcmp(dialects[i]->path, path) == 0)
            return dialects[i];
    return NULL;
}

static const struct dialect *dialect_find(const struct dialect_fields *fields) {
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++)
        if (strcmp(dialects[i]->path, fields->call->path) == 0 && dialects[i]->speaks(fields))
            return dialects[i];
    return api_dialect(fields->call->path);
}

/* Sets the reply's dialect. NULL: the reply is set. */
static json_t *dialect_load(const struct call *call, struct reply *reply) {
    bool form = api_is_form(call);
    json_t *root = form ? NULL : api_load(call, reply);
    if (form ? api_check_fields(call, reply) != 0 : !root)
        return NULL;
    reply->dialect = dialect_find(&(struct dialect_fields){root, call});
    return form ? reply->dialect->load(call, reply) : root;
}

void api_decode_start(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    if (!api_admit(service, request, reply))
        return;
    json_t *root = dialect_load(call, reply);
    if (root)
        reply->dialect->start(reply->dialect, service, root, request, reply);
    json_decref(root);
}

void api_decode_finish(const struct service *service, struct request *request, struct reply *reply) {
    reply->dialect->finish(service, request, reply);
    api_remember(service, request, reply);
}
