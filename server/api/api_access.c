/* Who may call an endpoint. */
#include "server/api/api_json.h"
#include <string.h>

const char *const api_key_headers[API_KEY_HEADERS] = {"X-Api-Key", "Ocp-Apim-Subscription-Key", "X-Goog-Api-Key"};
static const char *const schemes[] = {"Bearer ", "DeepL-Auth-Key "};
static const char *const key_fields[] = {"api_key", "auth_key", "key", "token", "Subscription-Key"};

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
static struct secret of_scheme(const char *authorization) {
    for (size_t i = 0; authorization && i < sizeof schemes / sizeof *schemes; i++)
        if (strncasecmp(authorization, schemes[i], strlen(schemes[i])) == 0)
            return trimmed(authorization + strlen(schemes[i]));
    return (struct secret){0};
}

bool api_is_key(const char *name) {
    for (size_t i = 0; i < sizeof key_fields / sizeof *key_fields; i++)
        if (strcmp(key_fields[i], name) == 0)
            return true;
    return false;
}

static struct secret field(const struct call *call) {
    for (size_t i = 0; i < call->field_count; i++) {
        if (api_is_key(call->fields[i].name) && call->fields[i].length > 0)
            return (struct secret){call->fields[i].value, call->fields[i].length};
    }
    return (struct secret){0};
}

/* Looks in the body. What is no string is no key, either: "". What does not parse has none. root keeps it. -1: memory is out. */
static int find_member(const struct call *call, json_t **root, struct secret *secret) {
    if (!api_begins_json(call))
        return 0;
    *root = api_load_json(call->body, call->length, 0, NULL);
    const json_t *value = json_object_get(*root, "api_key");
    *secret = (struct secret){json_string_value(value), json_string_length(value)};
    return api_lacked_memory() ? -1 : 0;
}

/* 1: the key is somebody's; 0: there is none, or it is nobody's; -1: memory is out. sent: there is one. */
static int find_holder(struct keys *keys, const struct call *call, bool *sent, struct key_holder *holder) {
    json_t *root = NULL;
    struct secret secret = of_scheme(call->authorization);
    for (size_t i = 0; secret.length == 0 && i < API_KEY_HEADERS; i++)
        secret = trimmed(call->api_keys[i]);
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
    struct key_holder *key = arena_alloc(&request->arena, 1, sizeof *key);
    if (!key)
        return refuse_memory(reply);
    *key = holder;
    request->key = key;
    if (route->access == ACCESS_ADMIN && holder.role != KEY_ADMIN)
        return refuse(reply, STATUS_FORBIDDEN, "this requires an admin API key");
    return 0;
}

bool api_is_administrator(const struct service *service, const struct call *call) {
    struct key_holder holder;
    bool sent;
    if (call->administrator || !service->keys)
        return call->administrator;
    return find_holder(service->keys, call, &sent, &holder) == 1 && holder.role == KEY_ADMIN;
}

/* ---- models ---- */

/* Those that the key may use. NULL: memory is out. */
static struct model_set *select_models(const struct model_set *all, const struct key_limits *limits) {
    struct model_set *models = model_set_create(all->generation, NULL);
    for (size_t i = 0; models && i < all->count; i++) {
        struct served_model *model = all->all[i];
        if (keys_allow(limits, model->info.name) && model_set_add(models, served_model_acquire(model), NULL) != 0) {
            model_set_release(models);
            models = NULL;
        }
    }
    return models;
}

int api_take_models(const struct service *service, struct request *request, struct reply *reply) {
    request->models = catalog_acquire(service->catalog);
    if (!request->models || !request->key || !*request->key->limits.models)
        return 0;
    struct model_set *all = request->models;
    request->models = select_models(all, &request->key->limits);
    model_set_release(all);
    if (!request->models)
        return refuse_memory(reply);
    return request->models->count > 0 ? 0 : refuse(reply, STATUS_FORBIDDEN, "this API key may use none of the models in service");
}
