/* Access: finds the key of a request, decides who may call an endpoint with which models, and charges rates and daily quotas. */
#include "server/api/endpoint.h"
#include "server/base/clock.h"
#include <string.h>
#include <time.h>

/* ---- the key of a request ---- */

const char *const api_key_headers[API_KEY_HEADERS] = {"X-Api-Key", "Ocp-Apim-Subscription-Key", "X-Goog-Api-Key"};

static const char *const schemes[] = {"Bearer ", "DeepL-Auth-Key "};

static const char *const key_fields[] = {"api_key", "auth_key", "key", "token", "Subscription-Key"};

/* A key as sent: [length] bytes of any value. Length 0 means that no key was sent. */
struct secret {
    const char *bytes;
    size_t length;
};

/* The value of a header without the blanks around it. */
static struct secret trimmed(const char *value) {
    struct secret secret = {value ? value + strspn(value, " \t") : "", 0};
    secret.length = strlen(secret.bytes);
    while (secret.length > 0 && strchr(" \t", secret.bytes[secret.length - 1]))
        secret.length--;
    return secret;
}

bool api_is_key(const char *name) {
    for (size_t i = 0; i < sizeof key_fields / sizeof *key_fields; i++)
        if (strcmp(key_fields[i], name) == 0)
            return true;
    return false;
}

/* Returns 1 if the key belongs to somebody, 0 if it is missing or unknown, and -1 if memory is out. sent: whether the request has a
 * key. */
static int find_holder(struct keys *keys, const struct call *call, bool *sent, struct key_holder *holder) {
    struct secret secret = {0};
    json_t *root = NULL;
    int found = 0;
    for (size_t i = 0; call->authorization && secret.length == 0 && i < sizeof schemes / sizeof *schemes; i++)
        if (strncasecmp(call->authorization, schemes[i], strlen(schemes[i])) == 0) /* other schemes are meant for a proxy */
            secret = trimmed(call->authorization + strlen(schemes[i]));
    for (size_t i = 0; secret.length == 0 && i < API_KEY_HEADERS; i++)
        secret = trimmed(call->api_keys[i]);
    for (size_t i = 0; secret.length == 0 && i < call->field_count; i++)
        if (api_is_key(call->fields[i].name))
            secret = (struct secret){call->fields[i].value, call->fields[i].length};

    /* A body that contains the key is parsed twice: here only for the key, since the sender is not known yet. */
    if (secret.length == 0 && api_begins_json(call)) {
        root = api_load_json(call->body, call->length, 0, NULL);
        const json_t *value = json_object_get(root, "api_key");
        secret = (struct secret){json_string_value(value), json_string_length(value)};
        found = api_lacked_memory() ? -1 : 0;
    }
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

int api_take_models(const struct service *service, struct request *request, struct reply *reply) {
    struct model_set *all = request->models = catalog_acquire(service->catalog);
    if (!all || !request->key || !*request->key->limits.models)
        return 0;
    struct model_set *allowed = model_set_create(all->generation, NULL);
    for (size_t i = 0; allowed && i < all->count; i++) {
        struct served_model *model = all->all[i];
        if (keys_allow(&request->key->limits, model->info.name) && model_set_add(allowed, served_model_acquire(model), NULL) != 0) {
            model_set_release(allowed);
            allowed = NULL;
        }
    }
    model_set_release(all);
    request->models = allowed;
    if (!allowed)
        return refuse_memory(reply);
    return allowed->count > 0 ? 0 : refuse(reply, STATUS_FORBIDDEN, "this API key has access to no loaded model");
}

/* ---- what a request uses of its key's and its client's allowance ---- */

static const char *account_of(const struct request *request) {
    return request->key ? request->key->name : "";
}

bool api_charge(const struct service *service, const struct request *request, struct reply *reply) {
    const struct key_holder *key = request->key;
    struct limit limit = {service->options.rate, service->options.burst};
    if (key && key->limits.rate > 0)
        limit.rate = key->limits.rate;
    if (key && key->limits.burst > 0)
        limit.burst = key->limits.burst;
    double wait_s = limiter_take(service->limiter, request->client, &limit, request->job_count, clock_us());
    if (wait_s > 0) {
        api_fail_rate(service, limit.rate, wait_s, reply);
        return false;
    }

    uint64_t daily = key ? key->limits.daily : 0;
    int64_t now_s = time(NULL);
    enum usage_verdict verdict = usage_take(service->usage, account_of(request), request->characters, daily, now_s);
    if (verdict == USAGE_EXCEEDED)
        api_fail_quota(service, daily, usage_rest_s(now_s), reply);
    else if (verdict == USAGE_MEMORY)
        api_fail_memory(reply);
    if (verdict != USAGE_TAKEN)
        limiter_return(service->limiter, request->client, request->job_count);
    return verdict == USAGE_TAKEN;
}

void api_refund(const struct service *service, const struct request *request, size_t sentences) {
    limiter_return(service->limiter, request->client, sentences);
    usage_return(service->usage, account_of(request), request->characters, time(NULL));
}
