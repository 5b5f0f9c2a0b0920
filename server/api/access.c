/* This file decides whether a request may be answered: by the state of the server, its key and what
 * that may use, and its rate and quota. */
#include "server/api/access.h"
#include "server/api/call.h"
#include "server/api/dialect.h"
#include "server/api/reply.h"
#include "server/api/value.h"
#include "server/base/clock.h"
#include <string.h>
#include <strings.h>
#include <time.h>

/* ---- the state of the server ---- */

bool access_is_loading(const struct request *request, struct reply *reply) {
    if (request->models)
        return false;
    reply_fail_unready(SERVICE_LOADING, reply);
    return true;
}

bool access_admit(const struct service *service, const struct request *request,
                  struct reply *reply) {
    enum service_state state = request->models ? service_state(service) : SERVICE_LOADING;
    if (state == SERVICE_READY || (state == SERVICE_DRAINING && request->waits.accepted))
        return true;
    metrics_rejected(service->metrics,
                     state == SERVICE_LOADING ? REJECTED_LOADING : REJECTED_DRAINING);
    reply_fail_unready(state, reply);
    return false;
}

/* ---- the key of a request ---- */

const char *const access_key_headers[ACCESS_KEY_HEADERS] = {
    "X-Api-Key", "Ocp-Apim-Subscription-Key", "X-Goog-Api-Key", "X-Api-Token"};

/* How the key is sent to endpoints that have no dialect. */
static const char usual_key[] = "Authorization: Bearer KEY, X-Api-Key: KEY, or the field api_key";

static const char *const schemes[] = {"Bearer ", "DeepL-Auth-Key "};

static const char *const key_fields[] = {"api_key", "api_token", "auth_key",
                                         "key",     "token",     "Subscription-Key"};

/* Holds a key as sent: [length] bytes of any value. Length 0 means that no key was sent. */
struct secret {
    const char *bytes;
    size_t length;
};

/* Returns the value of a header without surrounding blanks. */
static struct secret trimmed(const char *value) {
    struct secret secret = {value ? value + strspn(value, " \t") : "", 0};
    secret.length = strlen(secret.bytes);
    while (secret.length > 0 && strchr(" \t", secret.bytes[secret.length - 1]))
        secret.length--;
    return secret;
}

bool access_is_key(const char *name) {
    for (size_t i = 0; i < sizeof key_fields / sizeof *key_fields; i++)
        if (strcmp(key_fields[i], name) == 0)
            return true;
    return false;
}

/* Returns the key that is sent in a header or a field; length 0 if there is none. */
static struct secret shown_key(const struct call *call) {
    struct secret secret = {0};
    for (size_t i = 0;
         call->authorization && secret.length == 0 && i < sizeof schemes / sizeof *schemes; i++)
        if (strncasecmp(call->authorization, schemes[i], strlen(schemes[i])) ==
            0) /* other schemes are meant for a proxy */
            secret = trimmed(call->authorization + strlen(schemes[i]));
    if (call->authorization && secret.length == 0 && !strchr(call->authorization, ' '))
        secret = trimmed(call->authorization); /* a key without a scheme */
    for (size_t i = 0; secret.length == 0 && i < ACCESS_KEY_HEADERS; i++)
        secret = trimmed(call->api_keys[i]);
    for (size_t i = 0; secret.length == 0 && i < call->field_count; i++)
        if (access_is_key(call->fields[i].name))
            secret = (struct secret){call->fields[i].value, call->fields[i].length};
    return secret;
}

/* Returns 1 if the key has a holder, 0 if it is missing or unknown, and -1 if memory runs out.
 * *sent is true if the call has a key. spoken is set to the dialect of a body that was parsed. */
static int find_holder(struct keys *keys, const struct call *call, bool *sent,
                       const struct dialect **spoken, struct key_holder *holder) {
    struct secret secret = shown_key(call);
    json_t *root = NULL;
    int found = 0;

    /* A body that may contain the key is parsed twice: here only for the key, since the sender is
     * not known yet. */
    if (secret.length == 0 && call->route && route_has(call->route, ROUTE_KEYED) &&
        call_begins_json(call)) {
        root = value_parse(call->body, call->length, 0, NULL);
        const json_t *value = json_object_get(root, "api_key");
        value = value ? value : json_object_get(root, "auth_key");
        secret = (struct secret){json_string_value(value), json_string_length(value)};
        found = value_lacked_memory() ? -1 : 0;
        *spoken = root ? route_spoken(call->route, &(struct dialect_fields){root, call}) : *spoken;
    }
    *sent = secret.length > 0;
    if (found == 0 && *sent)
        found = keys_find(keys, secret.bytes, secret.length, holder);
    json_decref(root);
    return found;
}

bool access_shows_key(const struct service *service, const struct route *route,
                      const struct call *call) {
    bool needed = service->keys && route->access >= ACCESS_USER;
    return !needed || !route_has(route, ROUTE_KEYED) || shown_key(call).length > 0;
}

int access_authorize(const struct service *service, const struct route *route,
                     const struct call *call, struct request *request, struct reply *reply) {
    struct key_holder holder;
    bool sent, lists = route->access == ACCESS_LIST;
    if (route->access == ACCESS_OPEN || (route->access < ACCESS_ADMIN && !service->keys) ||
        ((route->access == ACCESS_ADMIN || lists) && call->administrator))
        return 0;
    if (!service->keys)
        return reply_fail(
            reply, STATUS_FORBIDDEN, NULL,
            "this requires an admin API key, and the server was started without --api-keys");
    int found = find_holder(service->keys, call, &sent, &reply->dialect, &holder);
    if (found < 0)
        return reply_fail_memory(reply);
    if (lists && !found)
        return 0;
    if (!sent)
        return reply_fail(reply, STATUS_UNAUTHORIZED, NULL, "an API key is required: %s",
                          reply->dialect && reply->dialect->key ? reply->dialect->key : usual_key);
    if (!found)
        return reply_fail(reply, STATUS_FORBIDDEN, NULL, "Invalid API key");
    struct key_holder *key = arena_alloc(&request->arena, 1, sizeof *key);
    if (!key)
        return reply_fail_memory(reply);
    *key = holder;
    request->key = key;
    if (route->access == ACCESS_ADMIN && !holder.admin)
        return reply_fail(reply, STATUS_FORBIDDEN, NULL, "this requires an admin API key");
    return 0;
}

bool access_is_administrator(const struct service *service, const struct call *call) {
    struct key_holder holder;
    const struct dialect *spoken = NULL;
    bool sent;
    if (call->administrator || !service->keys)
        return call->administrator;
    return find_holder(service->keys, call, &sent, &spoken, &holder) == 1 && holder.admin;
}

int access_take_models(const struct service *service, const struct route *route,
                       struct request *request, struct reply *reply) {
    struct model_set *all = request->models = catalog_acquire(service->catalog);
    if (!all || !request->key || !*request->key->models)
        return 0;
    struct model_set *allowed = model_set_create(all->generation, NULL);
    for (size_t i = 0; allowed && i < all->count; i++) {
        struct served_model *model = all->all[i];
        if (keys_allow(request->key, model->info.name) &&
            model_set_add(allowed, served_model_acquire(model), NULL) != 0) {
            model_set_release(allowed);
            allowed = NULL;
        }
    }
    model_set_release(all);
    request->models = allowed;
    if (!allowed)
        return reply_fail_memory(reply);
    return allowed->count > 0 || route->access == ACCESS_LIST
               ? 0
               : reply_fail(reply, STATUS_FORBIDDEN, NULL,
                            "this API key has access to no loaded model");
}

/* ---- charging a request to its key and its client ---- */

static struct charge charge_of(const struct request *request, size_t sentences) {
    return (struct charge){.client = request->account.client,
                           .name = request->key ? request->key->name : "",
                           .sentences = sentences,
                           .characters = request->account.characters,
                           .now_us = clock_us(),
                           .now_s = time(NULL)};
}

/* Takes the charge from the allowance of the request's client and its key. False: it is used up,
 * and the reply is set. */
static bool take(const struct service *service, const struct request *request,
                 const struct charge *charge, struct reply *reply) {
    struct limit limit = request->key ? request->key->limit : (struct limit){0};
    if (limit.rate <= 0)
        limit.rate = service->options->rate;
    if (limit.burst == 0)
        limit.burst = service->options->burst;
    double wait_s;
    enum limiter_verdict verdict = limiter_take(service->limiter, charge, &limit, &wait_s);
    if (verdict == LIMITER_RATE) {
        reply_fail_busy(service, (struct reply_busy){REJECTED_RATE, "rate_limited", wait_s}, reply,
                        "at most %g sentences per second are allowed for each client", limit.rate);
    } else if (verdict == LIMITER_DAILY) {
        reply_fail_busy(
            service, (struct reply_busy){REJECTED_QUOTA, "quota_exceeded", 0}, reply,
            "this API key may translate %llu characters a day, and has no room for this text today",
            (unsigned long long)limit.daily);
        reply->retry_after_s =
            (unsigned)wait_s; /* the wait may be longer than reply_fail_busy allows */
    } else if (verdict == LIMITER_MEMORY) {
        reply_fail_memory(reply);
    }
    return verdict == LIMITER_TAKEN;
}

bool access_charge(const struct service *service, const struct request *request,
                   struct reply *reply) {
    const struct charge charge = charge_of(request, request->job_count);
    return take(service, request, &charge, reply);
}

void access_check_allowance(const struct service *service, const struct route *route,
                            const struct request *request, struct reply *reply) {
    if (!route->finish || route->access != ACCESS_USER) /* it does not decode */
        return;
    const struct charge least = charge_of(request, 1);
    if (take(service, request, &least, reply))
        limiter_return(service->limiter, &least);
}

void access_refund(const struct service *service, const struct request *request, size_t sentences) {
    const struct charge charge = charge_of(request, sentences);
    limiter_return(service->limiter, &charge);
}
