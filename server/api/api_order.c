/* What a request of another service's dialect asks for, and its way: fields -> plan -> jobs -> answers. */
#include "server/api/api_plan.h"
#include "server/api/api_warnings.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- fields ---- */

/* A further value of a field that may be there several times. */
static void add_value(json_t *root, const char *name, json_t *value) {
    json_t *all = json_object_get(root, name);
    if (!all) {
        all = json_array();
        json_object_set_new(root, name, all);
    }
    json_array_append_new(all, value);
}

json_t *order_load(const struct call *call, struct reply *reply) {
    const char *several = reply->dialect->several;
    json_t *root = json_object();
    for (size_t i = 0; root && i < call->field_count; i++) {
        const struct api_field *field = &call->fields[i];
        if (api_is_key(field->name))
            continue;
        if (several && strcmp(field->name, several) == 0)
            add_value(root, field->name, json_stringn(field->value, field->length));
        else if (!json_object_get(root, field->name)) /* the first one counts */
            json_object_set_new(root, field->name, json_stringn(field->value, field->length));
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

int order_flag(const json_t *root, const char *name, bool *out, struct reply *reply) {
    static const char *const words[2][4] = {{"0", "false", "off", ""}, {"1", "true", "on", "yes"}};
    const json_t *value = json_object_get(root, name);
    json_int_t number;
    bool integer = api_integer(value, &number);
    *out = json_is_true(value) || number == 1;
    if (!value || json_is_null(value) || json_is_boolean(value) || (integer && (number == 0 || number == 1)))
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
        return api_refuse(reply, name, "%s must contain between 1 and %zu strings, got %zu", name, most, order->count);
    for (size_t i = 0; i < order->count; i++)
        if (!json_is_string(json_is_array(texts) ? json_array_get(texts, i) : texts))
            return api_refuse(reply, name, "%s must be a string or an array of strings", name);
    return 0;
}

int order_read(const json_t *root, const char *name, size_t most, struct plan *plan, struct arena *arena, struct reply *reply) {
    struct order order = {.text_name = name};
    if (order_texts(root, &order, most, reply) != 0)
        return -1;
    if (plan_read(plan, order.texts, order.count, arena) == 0)
        return 0;
    api_fail_memory(reply);
    return -1;
}

/* ---- to the jobs ---- */

struct order *order_create(struct request *request, const struct order *begun, struct reply *reply) {
    struct order *order = arena_alloc(&request->arena, 1, sizeof *order);
    if (arena_failed(&request->arena)) {
        api_fail_memory(reply);
        return NULL;
    }
    *order = *begun;
    return order;
}

static void refuse(enum plan_refusal refusal, const struct order *order, const struct plan_reason *reason, size_t most,
                   struct reply *reply) {
    switch (refusal) {
    case PLAN_SOURCE:
        api_fail(reply, STATUS_INVALID, order->source_name, "%s: \"%.60s\" is not supported", order->source_name, reason->asked);
        break;
    case PLAN_TARGET:
        api_fail(reply, STATUS_INVALID, order->target_name, "%s: \"%.60s\" is not supported", order->target_name, reason->asked);
        break;
    case PLAN_PAIR:
        api_fail(reply, STATUS_INVALID, order->target_name, "%s: no model translates from \"%.60s\" to \"%.60s\"",
                 order->target_name, reason->source, reason->target);
        break;
    case PLAN_MARKUP:
        api_fail(reply, STATUS_INVALID, order->text_name, "%s: %s", order->text_name, reason->error.message);
        break;
    default: /* PLAN_LENGTH */
        api_fail(reply, STATUS_TOO_LARGE, order->text_name, "%s must have at most %zu characters, got %zu", order->text_name, most,
                 reason->characters);
    }
}

/* True, and the reply is set, if it is one. */
static bool fails(enum plan_refusal refusal, const struct order *order, const struct plan_reason *reason, size_t most,
                  struct reply *reply) {
    if (refusal == PLAN_MEMORY)
        api_fail_memory(reply);
    else if (refusal != PLAN_OK)
        (order->refuse ? order->refuse : refuse)(refusal, order, reason, most, reply);
    return refusal != PLAN_OK;
}

/* Lines become one, byte for byte. -1: memory. */
static int join_lines(struct plan_item *item, struct arena *arena) {
    char *text = arena_copy(arena, item->source, item->length);
    for (size_t i = 0; text && i < item->length; i++)
        text[i] = text[i] == '\n' || text[i] == '\r' ? ' ' : text[i];
    item->source = text;
    return text ? 0 : -1;
}

/* For the answer, when the JSON is gone. What fails shows in the arena. */
static void keep_codes(struct order *order, struct arena *arena) {
    order->array = json_is_array(order->texts);
    if (order->source)
        order->source = arena_copy(arena, order->source, strlen(order->source));
    for (size_t i = 0; i < order->target_count; i++)
        order->targets[i] = arena_copy(arena, order->targets[i], strlen(order->targets[i]));
}

static int read_texts(struct plan *plan, const struct order *order, struct arena *arena) {
    if (!order->document)
        return plan_read(plan, order->texts, order->count, arena);
    plan->count = plan->strings = 1;
    plan->items = arena_zalloc(arena, 1, sizeof *plan->items);
    if (plan->items)
        *plan->items = (struct plan_item){.source = order->file.start, .length = order->file.length};
    return plan->items ? 0 : -1;
}

static struct plan *create_plan(const struct order *order, const char *pivot, struct request *request, struct reply *reply) {
    struct plan *plan = arena_zalloc(&request->arena, 1, sizeof *plan);
    if (arena_failed(&request->arena) || !plan || read_texts(plan, order, &request->arena) != 0) {
        api_fail_memory(reply);
        return NULL;
    }
    for (size_t i = 0; order->joined && i < plan->count; i++)
        if (join_lines(&plan->items[i], &request->arena) != 0) {
            api_fail_memory(reply);
            return NULL;
        }
    plan->markup = order->markup;
    plan->tags = order->tags;
    plan->document = order->document;
    plan->whole = order->whole;
    plan->aligned = order->aligned && !order->markup;
    plan->verbatim = request->verbatim;
    plan->apart = order->apart;
    plan->alternatives = order->alternatives;
    plan->order = order;
    plan->pivot = pivot;
    return plan;
}

/* An order with a glossary has one source and one target: all of it is the first model's. */
static int use_glossary(const struct order *order, const struct service *service, struct request *request, struct reply *reply) {
    const struct plan *plan = request->plan;
    request->variant = plan->items[0].variant;
    return api_use_glossary(service, order->glossary, request, reply);
}

void order_start(struct order *order, const struct dialect *dialect, const struct service *service, const json_t *root,
                 struct request *request, struct reply *reply) {
    size_t rows = service->options.rows, most = order->document ? SIZE_MAX : service->options.max_text_chars;
    struct plan_reason reason = {0};
    keep_codes(order, &request->arena);
    struct plan *plan = request->plan = create_plan(order, service->options.pivot, request, reply);
    if (!plan || fails(plan_choose(plan, request, &reason), order, &reason, most, reply) ||
        (order->glossary && request->model && use_glossary(order, service, request, reply) != 0) ||
        fails(plan_prepare(plan, most, request, &reason), order, &reason, most, reply) || !request->model)
        return;
    request->characters = reason.characters;
    plan_search(plan, rows, request);
    if (!root || !api_recall(service, dialect->name, root, request, reply))
        api_prepare(service, order->text_name, request, reply);
}

/* ---- to the answer ---- */

void order_put_code(struct writer *w, const char *key, const char *code) {
    char upper[VARIANT_CODE_BYTES];
    snprintf(upper, sizeof upper, "%s", code);
    for (char *c = upper; *c; c++)
        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    writer_string(w, key, upper);
}

int plan_warn(struct request *request) {
    struct plan *plan = request->plan;
    struct warnings *warnings = arena_zalloc(&request->arena, 1, sizeof *warnings);
    plan->warnings = warnings;
    return warnings ? warnings_of_plan(request, plan, &request->arena, warnings) : -1;
}

void order_finish(const struct service *service, struct request *request, struct reply *reply) {
    if (api_fail_decoded(request, reply))
        return;
    const struct plan *plan = request->plan;
    const struct plan_answers *answers = plan_answers(plan, &request->arena);
    struct writer w = api_begin_answer(service);
    if (answers && plan_warn(request) == 0)
        reply->dialect->put(&w, plan, answers, &request->arena);
    else
        writer_fail(&w);
    api_reply_answer(service, reply, &w);
    if (reply->status == STATUS_OK)
        reply->warnings = plan->warnings->codes;
}
