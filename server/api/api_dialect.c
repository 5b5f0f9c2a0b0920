/* The decoding endpoints: each request is answered in the dialect that it speaks. */
#include "server/api/api_dialect.h"
#include "server/decode/pivot.h"
#include <string.h>

/* Of one path the first is what is taken where none speaks for itself. */
static const struct dialect *const dialects[] = {&dialect_translate, &dialect_attention,    &dialect_libre,
                                                 &dialect_microsoft, &dialect_libre_detect, &dialect_microsoft_detect};

bool dialect_has(const struct dialect_fields *fields, const char *name) {
    return fields->root ? json_object_get(fields->root, name) != NULL : dialect_sent(fields->call, name) != NULL;
}

const struct api_field *dialect_sent(const struct call *call, const char *name) {
    for (size_t i = 0; i < call->field_count; i++)
        if (strcmp(call->fields[i].name, name) == 0)
            return &call->fields[i];
    return NULL;
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

void api_choose_dialect(const struct route *route, const struct call *call, struct reply *reply) {
    if (!route->dialect && api_dialect(call->path))
        reply->dialect = dialect_find(&(struct dialect_fields){.call = call});
}

/* A JSON body as the object that start takes; body is taken over. */
static json_t *dialect_take(const struct call *call, json_t *body, struct reply *reply) {
    json_t *root = reply->dialect->merge ? reply->dialect->merge(call, body, reply) : json_incref(body);
    if (!reply->dialect->merge && !json_is_object(body)) {
        api_fail(reply, STATUS_INVALID, NULL, "the body must be a JSON object, got %s", api_type_name(body));
        json_decref(root);
        root = NULL;
    }
    json_decref(body);
    return root;
}

/* Sets the reply's dialect. NULL: the reply is set. */
static json_t *dialect_load(const struct call *call, struct reply *reply) {
    bool form = api_is_form(call);
    json_t *body = form ? NULL : api_load_value(call, reply);
    if (form ? api_check_fields(call, reply) != 0 : !body)
        return NULL;
    if (!reply->dialect || reply->dialect->path)
        reply->dialect = dialect_find(&(struct dialect_fields){body, call});
    return form ? reply->dialect->load(call, reply) : dialect_take(call, body, reply);
}

void api_decode_start(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    if (!api_admit(service, request, reply) || !api_has_models(service, request, reply))
        return;
    json_t *root = dialect_load(call, reply);
    if (root)
        reply->dialect->start(reply->dialect, service, root, request, reply);
    json_decref(root);
}

void api_decode_finish(const struct service *service, struct request *request, struct reply *reply) {
    if (pivot_compose(request, NULL) != 0) {
        api_fail_memory(reply);
        return;
    }
    reply->dialect->finish(service, request, reply);
    api_remember(service, request, reply);
}
