/* Who may call an endpoint. */
#include "server/api_json.h"
#include <string.h>

#define SCHEME "Bearer "

/* NULL: none, or of another scheme, which is a proxy's business. */
static const char *bearer(const char *authorization) {
    size_t length = sizeof SCHEME - 1;
    if (!authorization || strncasecmp(authorization, SCHEME, length) != 0)
        return NULL;
    return authorization + length + strspn(authorization + length, " ");
}

static const char *field(const struct call *call) {
    for (size_t i = 0; i < call->field_count; i++) {
        if (strcmp(call->fields[i].name, "api_key") == 0 && call->fields[i].length > 0)
            return call->fields[i].value;
    }
    return NULL;
}

/* What is no string is no key, either: "". What does not parse has none. root keeps it. */
static const char *member(const struct call *call, json_t **root) {
    *root = api_begins_object(call) ? json_loadb(call->body, call->length, 0, NULL) : NULL;
    const json_t *value = json_object_get(*root, "api_key");
    return json_is_string(value) ? json_string_value(value) : NULL;
}

static bool given(const char *secret) {
    return secret && *secret;
}

/* True: the key is somebody's. sent: there is one. */
static bool find_holder(struct keys *keys, const struct call *call, bool *sent, struct key_holder *holder) {
    json_t *root = NULL;
    const char *secret = bearer(call->authorization);
    if (!given(secret))
        secret = call->x_api_key;
    if (!given(secret))
        secret = field(call);
    if (!given(secret)) /* a body with the key in it is parsed twice: here, where who sends it is not known yet, for nothing else */
        secret = member(call, &root);
    *sent = given(secret);
    bool found = *sent && keys_find(keys, secret, holder);
    json_decref(root);
    return found;
}

#define refuse(reply, status, ...) (api_fail(reply, status, NULL, __VA_ARGS__), -1)

int api_authorize(const struct service *service, const struct route *route, const struct call *call, struct request *request,
                  struct reply *reply) {
    struct key_holder holder;
    bool sent;
    if (route->access == ACCESS_OPEN || (route->access == ACCESS_USER && !service->keys))
        return 0;
    if (!service->keys)
        return refuse(reply, STATUS_FORBIDDEN, "this needs an admin's API key, and the server was started without --api-keys");
    bool found = find_holder(service->keys, call, &sent, &holder);
    if (!sent)
        return refuse(reply, STATUS_UNAUTHORIZED,
                      "an API key is needed: Authorization: Bearer KEY, X-Api-Key, or the field api_key");
    if (!found)
        return refuse(reply, STATUS_FORBIDDEN, "Invalid API key");
    request->key_name = arena_copy(&request->arena, holder.name, strlen(holder.name));
    if (!request->key_name)
        return refuse(reply, STATUS_INTERNAL, "out of memory");
    if (route->access == ACCESS_ADMIN && holder.role != KEY_ADMIN)
        return refuse(reply, STATUS_FORBIDDEN, "this needs an admin's API key");
    return 0;
}
