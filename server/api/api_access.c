/* Who may call an endpoint. */
#include "server/api/api_json.h"
#include <string.h>

#define SCHEME "Bearer "

/* A key as sent: [length] bytes, any. Length 0: there is none. */
struct secret {
    const char *bytes;
    size_t length;
};

/* Of a header's value: what stands between the blanks around it. */
static struct secret trimmed(const char *value) {
    struct secret secret = {value ? value + strspn(value, " \t") : "", 0};
    secret.length = strlen(secret.bytes);
    while (secret.length > 0 && strchr(" \t", secret.bytes[secret.length - 1]))
        secret.length--;
    return secret;
}

/* None of another scheme, which is a proxy's business. */
static struct secret bearer(const char *authorization) {
    size_t length = sizeof SCHEME - 1;
    bool fits = authorization && strncasecmp(authorization, SCHEME, length) == 0;
    return trimmed(fits ? authorization + length : NULL);
}

static struct secret field(const struct call *call) {
    for (size_t i = 0; i < call->field_count; i++) {
        if (strcmp(call->fields[i].name, "api_key") == 0 && call->fields[i].length > 0)
            return (struct secret){call->fields[i].value, call->fields[i].length};
    }
    return (struct secret){0};
}

/* Looks in the body. What is no string is no key, either: "". What does not parse has none. root keeps it. -1: memory is out. */
static int find_member(const struct call *call, json_t **root, struct secret *secret) {
    if (!api_begins_object(call))
        return 0;
    *root = json_loadb(call->body, call->length, 0, NULL);
    const json_t *value = json_object_get(*root, "api_key");
    *secret = (struct secret){json_string_value(value), json_string_length(value)};
    return api_lacked_memory() ? -1 : 0;
}

/* 1: the key is somebody's; 0: there is none, or it is nobody's; -1: memory is out. sent: there is one. */
static int find_holder(struct keys *keys, const struct call *call, bool *sent, struct key_holder *holder) {
    json_t *root = NULL;
    struct secret secret = bearer(call->authorization);
    if (secret.length == 0)
        secret = trimmed(call->x_api_key);
    if (secret.length == 0)
        secret = field(call);
    /* a body with the key in it is parsed twice: here, where who sends it is not known yet, for nothing else */
    int found = secret.length == 0 ? find_member(call, &root, &secret) : 0;
    *sent = secret.length > 0;
    if (found == 0 && *sent)
        found = keys_find(keys, secret.bytes, secret.length, holder);
    json_decref(root);
    return found;
}

static int refuse_memory(struct reply *reply) {
    api_fail_memory(reply);
    return -1;
}

#define refuse(reply, status, ...) (api_fail(reply, status, NULL, __VA_ARGS__), -1)

int api_authorize(const struct service *service, const struct route *route, const struct call *call, struct request *request,
                  struct reply *reply) {
    struct key_holder holder;
    bool sent;
    if (route->access == ACCESS_OPEN || (route->access == ACCESS_USER && !service->keys) ||
        (route->access == ACCESS_ADMIN && call->administrator))
        return 0;
    if (!service->keys)
        return refuse(reply, STATUS_FORBIDDEN, "this requires an admin API key, and the server was started without --api-keys");
    int found = find_holder(service->keys, call, &sent, &holder);
    if (found < 0)
        return refuse_memory(reply);
    if (!sent)
        return refuse(reply, STATUS_UNAUTHORIZED,
                      "an API key is required: Authorization: Bearer KEY, X-Api-Key, or the field api_key");
    if (!found)
        return refuse(reply, STATUS_FORBIDDEN, "Invalid API key");
    request->key_name = arena_copy(&request->arena, holder.name, strlen(holder.name));
    if (!request->key_name)
        return refuse_memory(reply);
    if (route->access == ACCESS_ADMIN && holder.role != KEY_ADMIN)
        return refuse(reply, STATUS_FORBIDDEN, "this requires an admin API key");
    return 0;
}
