/* This module hides how the fields of other services become an order: it reads them, chooses models
 * for the languages by a plan, and writes the answer by the dialect's put. */
#include "server/api/order.h"
#include "server/api/access.h"
#include "server/api/answer.h"
#include "server/api/decode.h"
#include "server/api/dialect.h"
#include "server/api/recall.h"
#include "server/api/reply.h"
#include "server/api/terms.h"
#include "server/api/value.h"
#include "server/api/wait.h"
#include "server/api/warnings.h"
#include "server/base/strings.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- fields of other services ---- */

json_t *order_load(const struct call *call, struct reply *reply) {
    const char *several = reply->dialect->several;
    json_t *root = json_object();
    for (size_t i = 0; root && i < call->field_count; i++) {
        const struct api_field *field = &call->fields[i];
        if (access_is_key(field->name))
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
    if (!value_lacked_memory())
        return root;
    json_decref(root);
    reply_fail_memory(reply);
    return NULL;
}

int order_string(const json_t *root, const char *name, const char **out, struct reply *reply) {
    const json_t *value = json_object_get(root, name);
    if (value && !json_is_null(value) && !json_is_string(value))
        return reply_refuse(reply, name, "Invalid request: %s parameter is not a string", name);
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
               : reply_refuse(reply, name, "%s must be %s, got \"%.60s\"", name, allowed, *out);
}

int order_flag(const json_t *root, const char *name, bool *out, struct reply *reply) {
    static const char *const words[2][4] = {{"0", "false", "off", ""}, {"1", "true", "on", "yes"}};
    const json_t *value = json_object_get(root, name);
    json_int_t number;
    bool integer = value_integer(value, &number);
    *out = json_is_true(value) || number == 1;
    if (!value || json_is_null(value) || json_is_boolean(value) ||
        (integer && (number == 0 || number == 1)))
        return 0;
    for (size_t i = 0; json_is_string(value) && i < 8; i++)
        if (strcasecmp(json_string_value(value), words[i / 4][i % 4]) == 0) {
            *out = i / 4 == 1;
            return 0;
        }
    return reply_refuse(reply, name, "%s must be true or false", name);
}

int order_texts(const json_t *root, struct order *order, size_t most, struct reply *reply) {
    const char *name = order->text_name;
    const json_t *texts = order->texts = json_object_get(root, name);
    order->count = json_is_array(texts) ? json_array_size(texts) : 1;
    if (!texts || json_is_null(texts))
        return reply_refuse(reply, name, "%s is missing", name);
    if (order->count < 1 || order->count > most)
        return reply_refuse(reply, name, "%s must contain between 1 and %zu strings, got %zu", name,
                            most, order->count);
    for (size_t i = 0; i < order->count; i++)
        if (!json_is_string(json_is_array(texts) ? json_array_get(texts, i) : texts))
            return reply_refuse(reply, name, "%s must be a string or an array of strings", name);
    return 0;
}

int order_read(const json_t *root, const char *name, size_t most, struct plan *plan,
               struct arena *arena, struct reply *reply) {
    struct order order = {.text_name = name};
    if (order_texts(root, &order, most, reply) != 0)
        return -1;
    if (plan_read(plan, order.texts, order.count, arena) == 0)
        return 0;
    return reply_fail_memory(reply);
}

/* ---- orders ---- */

struct order *order_create(struct request *request, const struct order *begun,
                           struct reply *reply) {
    struct order *order = arena_alloc(&request->arena, 1, sizeof *order);
    if (arena_failed(&request->arena)) {
        reply_fail_memory(reply);
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
        reply_fail_memory(reply);
    else if (order->refuse)
        order->refuse(refusal, reason, most, reply);
    else if (refusal == PLAN_SOURCE || refusal == PLAN_TARGET)
        reply_fail(reply, STATUS_INVALID, code, "%s: \"%.60s\" is not supported", code,
                   reason->asked);
    else if (refusal == PLAN_PAIR)
        reply_fail(reply, STATUS_INVALID, code,
                   "%s: no model translates from \"%.60s\" to \"%.60s\"", code, reason->source,
                   reason->target);
    else if (refusal == PLAN_MARKUP)
        reply_fail(reply, STATUS_INVALID, text, "%s: %s", text, reason->error.message);
    else
        reply_fail(reply, STATUS_TOO_LARGE, text, "%s must have at most %zu characters, got %zu",
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

/* Refuses a search that needs attention where a model has none. */
static int check_attention(const struct plan *plan, struct reply *reply) {
    const struct search_options *search = plan->order->search;
    for (size_t i = 0; search && search->coverage_penalty > 0 && i < plan->count; i++) {
        const struct text *chosen = &plan->items[i].chosen;
        const struct served_model *last = chosen->second ? chosen->second : chosen->model;
        if (last && !last->info.attention)
            return reply_refuse(reply, "coverage_penalty",
                                "coverage_penalty must be 0: model \"%.60s\" has no attention",
                                last->info.name);
    }
    return 0;
}

void order_start(struct order *order, const struct dialect *dialect, const struct service *service,
                 const json_t *root, struct request *request, struct reply *reply) {
    size_t most = order->document ? SIZE_MAX : service->options->max_text_chars;
    struct arena *arena = &request->arena;
    struct plan_reason reason = {0};

    /* the answer needs these values after the JSON is freed */
    order->array = json_is_array(order->texts);
    if (order->source)
        order->source = arena_copy(arena, order->source, strlen(order->source));
    for (size_t i = 0; i < order->target_count && order->targets[i]; i++)
        order->targets[i] = arena_copy(arena, order->targets[i], strlen(order->targets[i]));

    struct plan *plan = request->plan = arena_zalloc(arena, 1, sizeof *plan);
    if (arena_failed(arena) || read_items(plan, order, arena) != 0) {
        reply_fail_memory(reply);
        return;
    }
    plan->markup = order->markup;
    plan->aligned = order->aligned;
    plan->verbatim = request->parameters.verbatim;
    request->parameters.formality = order->formality;
    plan->alternatives = order->alternatives < service->options->rows ? order->alternatives
                                                                      : service->options->rows - 1;
    if (order->translations > service->options->rows)
        order->translations = service->options->rows;
    if (order->returns > service->options->rows)
        order->returns = service->options->rows;
    plan->order = order;
    plan->pivot = service->options->pivot;
    enum plan_refusal refusal = plan_choose(plan, request, &reason);
    bool languages = refusal == PLAN_SOURCE || refusal == PLAN_TARGET || refusal == PLAN_PAIR;
    if (languages && !order->rewrites &&
        wait_fetch_missing(service, reason.from, reason.to, request, reply))
        return;
    if (fails(refusal, order, &reason, most, reply))
        return;
    if (order->glossary &&
        request->model) { /* the first model translates everything from one source to one target */
        request->parameters.variant = plan->items[0].chosen.variant;
        if (order->glossary_count > 1)
            root = NULL; /* the cache's question has the number of one */
        if (terms_use_glossaries(service, order, request, reply) != 0)
            return;
    }
    if (fails(plan_prepare(plan, most, request, &reason), order, &reason, most, reply) ||
        !request->model)
        return;
    if (check_attention(plan, reply) != 0)
        return;
    request->account.characters = reason.characters;
    plan_search(plan, service->options->rows, request);
    if (!root || !recall_answer(service, dialect->name, root, request, reply))
        decode_prepare(service, order->text_name, request, reply);
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
        order_texts(root, order, dialect->most_texts ? dialect->most_texts : ORDER_MAX_TEXTS,
                    reply) != 0 ||
        order_string(root, order->source_name, &order->source, reply) != 0 ||
        order_string(root, order->target_name, &order->targets[0], reply) != 0 ||
        (dialect->read && dialect->read(root, order, &request->arena, reply) != 0))
        return;
    order->target_count = 1;
    if (order->targets[0] || order->rewrites)
        order_start(order, dialect, service, root, request, reply);
    else
        reply_fail(reply, STATUS_INVALID, order->target_name, "%s is missing", order->target_name);
}

void order_put_text(struct writer *w, const char *key, const struct plan_answer *answer) {
    writer_string_of(w, key, answer->text, answer->length);
}

void order_put_code(struct writer *w, const char *key, const char *code) {
    char upper[VARIANT_CODE_BYTES];
    snprintf(upper, sizeof upper, "%s", code);
    for (char *c = upper; *c; c++)
        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    writer_string(w, key, upper);
}

void order_finish(const struct service *service, struct request *request, struct reply *reply) {
    if (decode_fail(request, reply))
        return;
    const struct plan *plan = request->plan;
    const struct plan_answers *answers = plan_answers(plan, &request->arena);
    struct writer w = answer_begin(service);
    if (answers && warnings_of_plan(request, answers) == 0)
        reply->dialect->put(&w, plan, answers, &request->arena);
    else
        writer_fail(&w);
    answer_reply(service, reply, &w);
    if (reply->status == STATUS_OK)
        reply->warnings = plan->warnings->codes;
}

int order_list(struct request *request, bool sources, bool targets, struct plan_codes *codes,
               struct reply *reply) {
    if (access_is_loading(request, reply))
        return -1;
    return plan_languages(request->models, sources, targets, &request->arena, codes) == 0
               ? 0
               : reply_fail_memory(reply);
}
