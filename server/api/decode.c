/* This file takes a decoding request from its body to its answer. It finds the dialect, reads other
 * services' fields into an order, gets the models for the languages into memory, and makes the jobs
 * and the answer. */
#include "server/api/dialect.h"
#include "server/api/endpoint.h"
#include "server/api/json.h"
#include "server/api/languages.h"
#include "server/api/pairs.h"
#include "server/api/plan.h"
#include "server/api/warnings.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/strings.h"
#include "server/decode/outcome.h"
#include "server/get/get.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- a body becomes jobs ---- */

void api_decode_start(const struct service *service, const struct call *call,
                      struct request *request, struct reply *reply) {
    if (!api_admit(service, request, reply) || !api_has_models(service, request, reply))
        return;
    bool form = api_is_form(call);
    json_t *body = form ? NULL : api_load_value(call, reply), *root = NULL;
    if (form ? api_check_fields(call, reply) != 0 : !body)
        return;
    const struct dialect *dialect = reply->dialect =
        route_spoken(call->route, &(struct dialect_fields){body, call});
    if (form)
        root = dialect->load(call, reply);
    else if (dialect->merge)
        root = dialect->merge(call, body, reply);
    else if (json_is_object(body))
        root = json_incref(body);
    else
        api_fail(reply, STATUS_INVALID, NULL, "the body must be a JSON object, got %s",
                 api_type_name(body));
    json_decref(body);
    if (root)
        dialect->start(dialect, service, root, request, reply);
    json_decref(root);
}

/* ---- fields of other services ---- */

json_t *order_load(const struct call *call, struct reply *reply) {
    const char *several = reply->dialect->several;
    json_t *root = json_object();
    for (size_t i = 0; root && i < call->field_count; i++) {
        const struct api_field *field = &call->fields[i];
        if (api_is_key(field->name))
            continue;
        json_t *former = json_object_get(root, field->name);
        if (several && strcmp(field->name, several) == 0) {
            if (!former) {
                former = json_array();
                json_object_set_new(root, field->name, former);
            }
            json_array_append_new(former, json_stringn(field->value, field->length));
        } else if (!former) { /* the first value counts */
            json_object_set_new(root, field->name, json_stringn(field->value, field->length));
        }
    }
    if (!api_lacked_memory())
        return root;
    json_decref(root);
    api_fail_memory(reply);
    return NULL;
}

int order_string(const json_t *root, const char *name, const char **out, struct reply *reply) {
    const json_t *value = json_object_get(root, name);
    if (value && !json_is_null(value) && !json_is_string(value))
        return api_refuse(reply, name, "Invalid request: %s parameter is not a string", name);
    *out = json_is_string(value) && json_string_length(value) > 0 ? json_string_value(value) : NULL;
    return 0;
}

int order_word(const json_t *root, const char *name, const char *const *words, const char *allowed,
               const char **out, struct reply *reply) {
    if (order_string(root, name, out, reply) != 0)
        return -1;
    while (*out && *words && strcmp(*words, *out) != 0)
        words++;
    return !*out || *words
               ? 0
               : api_refuse(reply, name, "%s must be %s, got \"%.60s\"", name, allowed, *out);
}

int order_flag(const json_t *root, const char *name, bool *out, struct reply *reply) {
    static const char *const words[2][4] = {{"0", "false", "off", ""}, {"1", "true", "on", "yes"}};
    const json_t *value = json_object_get(root, name);
    json_int_t number;
    bool integer = api_integer(value, &number);
    *out = json_is_true(value) || number == 1;
    if (!value || json_is_null(value) || json_is_boolean(value) ||
        (integer && (number == 0 || number == 1)))
        return 0;
    for (size_t i = 0; json_is_string(value) && i < 8; i++)
        if (strcasecmp(json_string_value(value), words[i / 4][i % 4]) == 0) {
            *out = i / 4 == 1;
            return 0;
        }
    return api_refuse(reply, name, "%s must be true or false", name);
}

int order_texts(const json_t *root, struct order *order, size_t most, struct reply *reply) {
    const char *name = order->text_name;
    const json_t *texts = order->texts = json_object_get(root, name);
    order->count = json_is_array(texts) ? json_array_size(texts) : 1;
    if (!texts || json_is_null(texts))
        return api_refuse(reply, name, "%s is missing", name);
    if (order->count < 1 || order->count > most)
        return api_refuse(reply, name, "%s must contain between 1 and %zu strings, got %zu", name,
                          most, order->count);
    for (size_t i = 0; i < order->count; i++)
        if (!json_is_string(json_is_array(texts) ? json_array_get(texts, i) : texts))
            return api_refuse(reply, name, "%s must be a string or an array of strings", name);
    return 0;
}

int order_read(const json_t *root, const char *name, size_t most, struct plan *plan,
               struct arena *arena, struct reply *reply) {
    struct order order = {.text_name = name};
    if (order_texts(root, &order, most, reply) != 0)
        return -1;
    if (plan_read(plan, order.texts, order.count, arena) == 0)
        return 0;
    return api_fail_memory(reply);
}

/* ---- orders ---- */

struct order *order_create(struct request *request, const struct order *begun,
                           struct reply *reply) {
    struct order *order = arena_alloc(&request->arena, 1, sizeof *order);
    if (arena_failed(&request->arena)) {
        api_fail_memory(reply);
        return NULL;
    }
    *order = *begun;
    return order;
}

/* Returns true after setting the reply if the request is refused. */
static bool fails(enum plan_refusal refusal, const struct order *order,
                  const struct plan_reason *reason, size_t most, struct reply *reply) {
    const char *code = refusal == PLAN_SOURCE ? order->source_name : order->target_name,
               *text = order->text_name;
    if (refusal == PLAN_OK)
        return false;
    if (refusal == PLAN_MEMORY)
        api_fail_memory(reply);
    else if (order->refuse)
        order->refuse(refusal, reason, most, reply);
    else if (refusal == PLAN_SOURCE || refusal == PLAN_TARGET)
        api_fail(reply, STATUS_INVALID, code, "%s: \"%.60s\" is not supported", code,
                 reason->asked);
    else if (refusal == PLAN_PAIR)
        api_fail(reply, STATUS_INVALID, code, "%s: no model translates from \"%.60s\" to \"%.60s\"",
                 code, reason->source, reason->target);
    else if (refusal == PLAN_MARKUP)
        api_fail(reply, STATUS_INVALID, text, "%s: %s", text, reason->error.message);
    else
        api_fail(reply, STATUS_TOO_LARGE, text, "%s must have at most %zu characters, got %zu",
                 text, most, reason->characters);
    return true;
}

/* Makes the plan's items from the order's document or strings. Returns -1 if memory runs out. */
static int read_items(struct plan *plan, const struct order *order, struct arena *arena) {
    if (!order->document && plan_read(plan, order->texts, order->count, arena) != 0)
        return -1;
    if (order->document) {
        plan->count = plan->strings = 1;
        plan->items = arena_zalloc(arena, 1, sizeof *plan->items);
        if (!plan->items)
            return -1;
        *plan->items =
            (struct plan_item){.source = order->file.start, .length = order->file.length};
    }
    return 0;
}

void order_start(struct order *order, const struct dialect *dialect, const struct service *service,
                 const json_t *root, struct request *request, struct reply *reply) {
    size_t most = order->document ? SIZE_MAX : service->options.max_text_chars;
    struct arena *arena = &request->arena;
    struct plan_reason reason = {0};

    /* the answer needs these values after the JSON is freed */
    order->array = json_is_array(order->texts);
    if (order->source)
        order->source = arena_copy(arena, order->source, strlen(order->source));
    for (size_t i = 0; i < order->target_count; i++)
        order->targets[i] = arena_copy(arena, order->targets[i], strlen(order->targets[i]));

    struct plan *plan = request->plan = arena_zalloc(arena, 1, sizeof *plan);
    if (arena_failed(arena) || read_items(plan, order, arena) != 0) {
        api_fail_memory(reply);
        return;
    }
    plan->markup = order->markup;
    plan->aligned = order->aligned && !order->markup;
    plan->verbatim = request->verbatim;
    plan->alternatives = order->alternatives < service->options.rows ? order->alternatives
                                                                     : service->options.rows - 1;
    plan->order = order;
    plan->pivot = service->options.pivot;
    enum plan_refusal refusal = plan_choose(plan, request, &reason);
    bool languages = refusal == PLAN_SOURCE || refusal == PLAN_TARGET || refusal == PLAN_PAIR;
    if (languages && api_fetch_missing(service, reason.from, reason.to, request, reply))
        return;
    if (fails(refusal, order, &reason, most, reply))
        return;
    if (order->glossary &&
        request->model) { /* the first model translates everything from one source to one target */
        request->variant = plan->items[0].chosen.variant;
        if (api_use_glossary(service, order->glossary, request, reply) != 0)
            return;
    }
    if (fails(plan_prepare(plan, most, request, &reason), order, &reason, most, reply) ||
        !request->model)
        return;
    request->characters = reason.characters;
    plan_search(plan, service->options.rows, request);
    if (!root || !api_recall(service, dialect->name, root, request, reply))
        api_prepare(service, order->text_name, request, reply);
}

void order_begin(const struct dialect *dialect, const struct service *service, json_t *root,
                 struct request *request, struct reply *reply) {
    struct order begun = dialect->order, *order;
    if (dialect->several && json_object_get(root, dialect->several))
        begun.text_name = dialect->several;
    if (dialect->own_bytes > 0)
        begun.own = arena_zalloc(&request->arena, 1,
                                 dialect->own_bytes); /* order_create reports a failed allocation */
    if (!(order = order_create(request, &begun, reply)) ||
        order_texts(root, order, dialect->most_texts ? dialect->most_texts : API_MAX_TEXTS,
                    reply) != 0 ||
        order_string(root, order->source_name, &order->source, reply) != 0 ||
        order_string(root, order->target_name, &order->targets[0], reply) != 0 ||
        (dialect->read && dialect->read(root, order, &request->arena, reply) != 0))
        return;
    order->target_count = 1;
    if (order->targets[0])
        order_start(order, dialect, service, root, request, reply);
    else
        api_fail(reply, STATUS_INVALID, order->target_name, "%s is missing", order->target_name);
}

void order_put_code(struct writer *w, const char *key, const char *code) {
    char upper[VARIANT_CODE_BYTES];
    snprintf(upper, sizeof upper, "%s", code);
    for (char *c = upper; *c; c++)
        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    writer_string(w, key, upper);
}

void order_finish(const struct service *service, struct request *request, struct reply *reply) {
    if (api_fail_decoded(request, reply))
        return;
    const struct plan *plan = request->plan;
    const struct plan_answers *answers = plan_answers(plan, &request->arena);
    struct writer w = api_begin_answer(service);
    if (answers && warnings_of_plan(request, answers) == 0)
        reply->dialect->put(&w, plan, answers, &request->arena);
    else
        writer_fail(&w);
    api_reply_answer(service, reply, &w);
    if (reply->status == STATUS_OK)
        reply->warnings = plan->warnings->codes;
}

/* ---- cached answers ---- */

/* Converts a real such as 1.0 to an integer. Returns NULL for other values and from 2^53 on, where
 * integers may share a double. */
static json_t *simpler(const json_t *value) {
    double number = json_is_real(value) ? json_real_value(value) : NAN;
    return number == trunc(number) && fabs(number) < 9007199254740992.0
               ? json_integer((json_int_t)number)
               : NULL;
}

static void simplify(json_t *value) {
    const char *name;
    size_t i;
    json_t *item, *simple;
    json_object_foreach(value, name, item) {
        simplify(item);
        if ((simple = simpler(item)) != NULL)
            json_object_set_new(value, name, simple);
    }
    json_array_foreach(value, i, item) {
        simplify(item);
        if ((simple = simpler(item)) != NULL)
            json_array_set_new(value, i, simple);
    }
}

static struct question question_of(const struct request *request) {
    return (struct question){request->question, strlen(request->question),
                             request->models->generation};
}

/* The question consists of the dialect, the key's models, the glossary's number, and the object in
 * canonical form: sorted fields without white space. It omits the key, which the cache must not
 * store. The key's models may change the answer, and so may a kept glossary, whose entries may
 * change under its name. If memory runs out, the cache is not used. */
bool api_recall(const struct service *service, const char *dialect, const json_t *root,
                struct request *request, struct reply *reply) {
    /* the cache omits answers that are random, timed or streamed */
    bool random = request->search.strategy == &search_sample && !json_object_get(root, "seed");
    if (!service->cache || random || request->streamed || request->include & INCLUDE_TIMING ||
        request->question) /* the request was looked up before it waited for its model */
        return false;
    json_t *copy = json_deep_copy(root);
    json_object_del(copy, "api_key");
    simplify(copy);
    char *text = json_dumps(copy, JSON_COMPACT | JSON_SORT_KEYS), *whole = NULL;
    json_decref(copy);
    bool lacked =
        api_lacked_memory(); /* a part may be missing, which would make a different question */
    const char *models = request->key ? request->key->models : "";
    size_t glossary = request->kept ? request->kept->number : 0;
    if (lacked || !text || asprintf(&whole, "%s %s %zu %s", dialect, models, glossary, text) < 0)
        whole = NULL;
    request->question = whole ? arena_copy(&request->arena, whole, strlen(whole)) : NULL;
    free(whole);
    free(text);
    if (!request->question)
        return false;

    struct question question = question_of(request);
    unsigned warnings = 0;
    char *answer = cache_find(service->cache, &question, &warnings);
    metrics_cache_asked(service->metrics, request->model->metrics, answer != NULL);
    if (answer) {
        api_reply_text(reply, STATUS_OK, answer);
        reply->warnings = warnings;
    }
    return answer != NULL;
}

void api_decode_finish(const struct service *service, struct request *request,
                       struct reply *reply) {
    if (pivot_compose(request, NULL) != 0) {
        api_fail_memory(reply);
        return;
    }
    reply->dialect->finish(service, request, reply);
    if (request->question && reply->status == STATUS_OK) {
        struct question question = question_of(request);
        cache_keep(service->cache, &question, reply->body, reply->warnings);
    }
}

/* ---- missing models: a request waits for the download (server/get/get.h) or gets its progress
 * ---- */

enum {
    ANSWER_US = 300 * 1000, /* time before the deadline that is reserved for the reply that a model
                               is still missing */
    MOST_WAIT_S = 60,
    RETRY_S = 5
};

/* Releases the request's models, which lack the new model. The request gets the current models when
 * it is prepared again. */
static void finish_fetch(struct fetch_wait *wait) {
    struct request *request = wait->owner;
    request->fetch = NULL;
    model_set_release(request->models);
    request->models = NULL;
    request->finish(request);
}

bool api_fetches(const struct service *service, const struct request *request) {
    return fetcher_is_on(service->fetcher) && !(request->key && *request->key->models);
}

/* Returns true if a model for these languages is being downloaded: either the request waits for it
 * (api_waits), or the reply is set to 503. Returns false if no such model can be downloaded. */
static bool fetch(const struct service *service, const char *source, const char *target,
                  struct request *request, struct reply *reply) {
    double progress;
    char pair[FETCH_ASKED_BYTES];
    if (!api_fetches(service, request))
        return false;
    if (!request->fetches) {
        if (!fetcher_could(service->fetcher, source, target))
            return false;
        api_fail(reply, STATUS_UNAVAILABLE, NULL,
                 "no model from %.60s to %.60s is here yet; send the text by POST as "
                 "application/json, which downloads it",
                 source, target);
        return true;
    }
    enum fetch_answer answer = fetcher_ask(service->fetcher, source, target, &progress);
    if (answer == FETCH_NONE)
        return false;
    snprintf(pair, sizeof pair, "%.60s-%.60s", source, target);
    int64_t now_us = clock_us(), most_us = now_us + (int64_t)MOST_WAIT_S * 1000000;
    int64_t until_us = request->deadline_us < most_us ? request->deadline_us - ANSWER_US : most_us;
    if (answer == FETCH_BUSY || until_us <= now_us) {
        char message[API_MESSAGE_BYTES];
        snprintf(message, sizeof message,
                 "the model for %.60s is being downloaded: try again later", pair);
        metrics_rejected(service->metrics, REJECTED_FETCHING);
        api_fail_progress(reply, STATUS_UNAVAILABLE, "fetching", message, progress);
        reply->retry_after_s = RETRY_S;
        return true;
    }
    struct fetch_wait *wait = request->fetch = arena_zalloc(&request->arena, 1, sizeof *wait);
    if (wait) {
        *wait = (struct fetch_wait){.deadline_us = until_us,
                                    .cancelled = &request->cancelled,
                                    .finish = finish_fetch,
                                    .owner = request};
        strcpy(wait->pair, pair);
    } else {
        api_fail_memory(reply);
    }
    return true;
}

/* Returns true if a model in service translates from source to target. */
static bool has_leg(const struct model_set *models, const char *source, const char *target) {
    for (size_t i = 0; i < models->count; i++) {
        const struct translator_info *info = &models->all[i]->info;
        if (strcmp(info->task, "translation") == 0 &&
            language_distance(info->source, source) < LANGUAGE_FAR &&
            (language_distance(info->target, target) < LANGUAGE_FAR || pair_variant(info, target)))
            return true;
    }
    return false;
}

/* Replies 503 if the download of a model for these languages has failed: that is not the client's
 * fault. */
static bool fail_fetched(const struct service *service, const char *source, const char *target,
                         struct reply *reply) {
    char message[API_MESSAGE_BYTES];
    unsigned retry_s;
    if (!fetcher_failed(service->fetcher, source, target, &retry_s))
        return false;
    snprintf(message, sizeof message,
             "the model for %.60s-%.60s could not be downloaded: the server's log has the reason",
             source, target);
    metrics_rejected(service->metrics, REJECTED_FETCHING);
    api_fail_coded(reply, STATUS_UNAVAILABLE, "fetch_failed", NULL, message);
    reply->retry_after_s = retry_s;
    return true;
}

bool api_fetch_missing(const struct service *service, const char *source, const char *target,
                       struct request *request, struct reply *reply) {
    if (!source || !target || !api_fetches(service, request))
        return false;
    if (has_leg(request->models, source, target))
        return false;
    if (fetch(service, source, target, request, reply))
        return true;

    /* try two models via a pivot, each of which is in service or can be downloaded */
    const char *middle = service->options.pivot ? service->options.pivot : "en";
    bool pivots = strcmp(middle, "none") != 0 &&
                  language_distance(middle, source) == LANGUAGE_FAR &&
                  language_distance(middle, target) == LANGUAGE_FAR;
    bool first = pivots && has_leg(request->models, source, middle),
         second = pivots && has_leg(request->models, middle, target);
    if (first && second)
        return false;
    if (pivots && (first || fetcher_could(service->fetcher, source, middle)) &&
        (second || fetcher_could(service->fetcher, middle, target)) &&
        ((!first && fetch(service, source, middle, request, reply)) ||
         (!second && fetch(service, middle, target, request, reply))))
        return true;
    return fail_fetched(service, source, target, reply) ||
           (pivots && !first && fail_fetched(service, source, middle, reply)) ||
           (pivots && !second && fail_fetched(service, middle, target, reply));
}

/* ---- models in memory ---- */

bool api_has_models(const struct service *service, const struct request *request,
                    struct reply *reply) {
    if (request->models->count > 0 || api_fetches(service, request))
        return true;
    metrics_rejected(service->metrics, REJECTED_MODEL);
    api_fail_modelless(reply);
    return false;
}

static struct held_model *find_held(const struct request *request,
                                    const struct served_model *model) {
    struct held_model *held = request->held;
    while (held && held->model != model)
        held = held->next;
    return held;
}

/* If wait has no model and no error, the request has ended or the daemon is stopping; preparing it
 * again finds out which. */
static void finish_wait(struct model_wait *wait) {
    struct request *request = wait->owner;
    find_held(request, wait->model)->loaded = wait->loaded;
    if (wait->error.code == ERROR_NONE)
        request->wait = NULL;
    request->finish(request);
}

/* Replies 503 with Retry-After, since the client is not to blame and the failure may be temporary.
 */
static void fail_model(const struct service *service, const struct served_model *model,
                       const struct error *error, struct reply *reply) {
    metrics_rejected(service->metrics, REJECTED_MODEL);
    api_fail(reply, STATUS_UNAVAILABLE, NULL, "model \"%.60s\" cannot be loaded: %s",
             model->info.name, error->message);
    reply->retry_after_s = 10;
}

bool api_waits(const struct request *request) {
    return request->fetch || (request->wait && request->wait->error.code == ERROR_NONE);
}

/* Returns true if the request holds the model in memory. Otherwise sets the reply or makes the
 * request wait for the model. */
static bool has_model(const struct service *service, struct served_model *model,
                      struct request *request, struct reply *reply) {
    struct error error = {0};
    struct held_model *held = find_held(request, model);
    if (!held && (held = arena_zalloc(&request->arena, 1, sizeof *held)) != NULL) {
        held->model = model;
        held->next = request->held;
        request->held = held;
    }
    if (!held) {
        api_fail_memory(reply);
        return false;
    }
    if (held->loaded)
        return true;
    switch (catalog_take(service->catalog, model, &held->loaded, &error)) {
    case CATALOG_READY:
        return true;
    case CATALOG_FAILED:
        fail_model(service, model, &error, reply);
        return false;
    case CATALOG_NOT_YET:
        break;
    }
    size_t held_bytes = 0;
    for (const struct held_model *other = request->held; other; other = other->next)
        held_bytes += other->loaded ? other->loaded->bytes : 0;
    request->wait = arena_zalloc(&request->arena, 1, sizeof *request->wait);
    if (request->wait)
        *request->wait = (struct model_wait){.model = model,
                                             .deadline_us = request->deadline_us,
                                             .room_us = request->deadline_us - ANSWER_US,
                                             .held_bytes = held_bytes,
                                             .cancelled = &request->cancelled,
                                             .finish = finish_wait,
                                             .owner = request};
    else
        api_fail_memory(reply);
    return false;
}

/* Does the same as has_model for all models of the request's texts. */
static bool has_models(const struct service *service, struct request *request,
                       struct reply *reply) {
    if (request->wait) { /* loading has failed with an error */
        fail_model(service, request->wait->model, &request->wait->error, reply);
        return false;
    }
    if (!request->loaded) {
        if (!has_model(service, request->model, request, reply))
            return false;
        request->loaded = loaded_model_acquire(find_held(request, request->model)->loaded);
    }
    for (size_t i = 0; i < request->text_count; i++) {
        struct text *text = &request->texts[i];
        if (text->model && !has_model(service, text->model, request, reply))
            return false;
        text->loaded = text->model ? find_held(request, text->model)->loaded : NULL;
        if (text->second && !has_model(service, text->second, request, reply))
            return false;
        text->second_loaded = text->second ? find_held(request, text->second)->loaded : NULL;
    }
    return true;
}

/* ---- jobs ---- */

static void fail_internal(const struct request *request, const struct error *error,
                          struct reply *reply) {
    if (error->code == ERROR_MEMORY) {
        api_fail_memory(reply);
        return;
    }
    log_event(LOG_ERROR, "internal_error", log_text("id", request->id),
              log_text("message", error->message));
    api_fail(reply, STATUS_INTERNAL, NULL, "internal error, request id %s", request->id);
}

void api_prepare(const struct service *service, const char *field, struct request *request,
                 struct reply *reply) {
    const char *const names[] = {[REQUEST_TEXT] = field,
                                 [REQUEST_TARGET] = request->target_name,
                                 [REQUEST_SPLIT] = "split_sentences",
                                 [REQUEST_PREFIX] = "prefix",
                                 [REQUEST_FORCE] = "force_attention",
                                 [REQUEST_HEADS] = "include",
                                 [REQUEST_GLOSSARY] = "glossary",
                                 [REQUEST_PROTECT] = "protect"};
    enum request_input input = REQUEST_TEXT;
    struct error error = {0};
    enum scheduler_verdict verdict = scheduler_judge(service->scheduler, request);
    if (verdict != SCHEDULER_ACCEPTED) { /* this check is the cheapest, and under overload most
                                            requests end here */
        api_fail_refused(service, verdict, request, reply);
        return;
    }
    if (!has_models(service, request, reply))
        return;
    int result = request_prepare(request, request->loaded->translator, &input, &error);
    if (result != 0 && request->budget.spent == BUDGET_SENTENCES)
        api_fail(reply, STATUS_TOO_LARGE, field, "%s must have at most %zu sentences", field,
                 request->budget.most_sentences);
    else if (error.code == ERROR_LENGTH)
        api_fail(reply, STATUS_TOO_LARGE, names[input], "%s", error.message);
    else if (error.code == ERROR_INPUT)
        api_fail(reply, STATUS_INVALID, names[input], "%s", error.message);
    else if (error.code != ERROR_NONE)
        fail_internal(request, &error, reply);
    if (result != 0 || error.code != ERROR_NONE)
        return;

    /* refuse a request that could never be accepted */
    const struct scheduler_limits *limits = scheduler_limits(service->scheduler);
    size_t work = request_work(request), least = api_least_bytes(request);
    size_t bytes = request_decoding_bytes(request), most = service->options.decode_memory;
    size_t kept = request_answer_bytes(request);
    if (request_window(request) > limits->jobs)
        api_fail(reply, STATUS_TOO_LARGE, field, "%s must have at most %zu sentences, got %zu",
                 field, limits->jobs, request->job_count);
    else if (work > limits->work)
        api_fail(reply, STATUS_TOO_LARGE, field, "%s must have at most %zu tokens x rows, got %zu",
                 field, limits->work, work);
    else if (most > 0 && bytes > most)
        api_fail(reply, STATUS_TOO_LARGE, field,
                 "%s has a sentence that could need %zu bytes of memory while it is decoded, and "
                 "at most %zu are allowed: ask for "
                 "fewer hypotheses (beam_size, n_best) or a smaller max_length",
                 field, bytes, most);
    else if (kept > service->options.request_memory)
        api_fail(reply, STATUS_TOO_LARGE, field,
                 "%s would need about %zu bytes of memory for its translation, and at most %zu are "
                 "allowed: send it in parts",
                 field, kept, service->options.request_memory);
    else if (least > service->options.max_reply_bytes)
        api_fail_length(service, least, reply);
    api_bound_answer(service, request);
}

/* Replies with the reason why the second of two models cannot translate the output of the first. */
static void fail_second(const struct request *request, const struct error *error,
                        struct reply *reply) {
    if (error->code == ERROR_MEMORY)
        api_fail_memory(reply);
    else
        api_fail(reply, error->code == ERROR_LENGTH ? STATUS_TOO_LARGE : STATUS_INVALID, "text",
                 "what model \"%.60s\" makes of the text cannot be translated further: %s",
                 request->texts[0].model->info.name, error->message);
}

bool api_fail_decoded(const struct request *request, struct reply *reply) {
    if (atomic_load(&request->failed)) {
        const struct error *failure = request->failure;
        bool refused = failure->code == ERROR_LENGTH || failure->code == ERROR_INPUT;
        (request->texts[0].second && refused ? fail_second : fail_internal)(request, failure,
                                                                            reply);
        return true;
    }
    for (size_t i = 0; i < request->job_count && !request->lean; i++) {
        const struct error *error = request->jobs[i].sentence->error;
        if (!error)
            continue;
        fail_internal(request, error, reply);
        return true;
    }
    return false;
}

int api_go_on(struct request *request, struct reply *reply) {
    struct error error = {0};
    if (pivot_go_on(request, &error) == 0)
        return 0;
    fail_second(request, &error, reply);
    return -1;
}

enum scheduler_verdict api_submit(const struct service *service, struct request *request) {
    if (request->reload)
        return catalog_reload(service->catalog, request->reload) ? SCHEDULER_ACCEPTED
                                                                 : SCHEDULER_CLOSED;
    if (request->fetch)
        return fetcher_await(service->fetcher, request->fetch) ? SCHEDULER_ACCEPTED
                                                               : SCHEDULER_FULL;
    if (!api_waits(request))
        return scheduler_submit(service->scheduler, request);
    if (catalog_await(service->catalog, request->wait)) /* the request may have been freed */
        return SCHEDULER_ACCEPTED;
    return service_state(service) == SERVICE_DRAINING ? SCHEDULER_CLOSED : SCHEDULER_FULL;
}
