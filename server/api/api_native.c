/* alignd's own dialect, of both endpoints. A form or a query string becomes JSON, which is then read as any. */
#include "server/api/api_dialect.h"
#include "server/api/api_field.h"
#include "server/api/api_plan.h"
#include <string.h>

static bool native_speaks(const struct dialect_fields *fields) {
    return dialect_has(fields, "text");
}

/* An unknown field stays a string, to be refused with the others. */
static json_t *value_of(const struct field_type *type, const struct api_field *sent) {
    json_t *value = type && type->from_text ? type->from_text(sent->value, sent->length) : NULL;
    return value ? value : json_stringn(sent->value, sent->length);
}

/* Both, in order. */
static json_t *joined(json_t *first, json_t *second) {
    json_t *all = json_array();
    json_t *const parts[] = {first, second};
    for (size_t i = 0; i < 2; i++)
        if (json_is_array(parts[i]))
            json_array_extend(all, parts[i]);
        else
            json_array_append(all, parts[i]);
    json_decref(second);
    return all;
}

static int native_add(json_t *root, enum api_kind kind, const struct api_field *sent, struct reply *reply) {
    struct field field;
    const struct field_type *type = field_find(sent->name, kind, &field) ? field.type : NULL;
    json_t *former = json_object_get(root, sent->name);
    if (former && type && !type->several)
        return api_refuse(reply, sent->name, "%s must be given only once", sent->name);
    json_t *value = value_of(type, sent);
    json_object_set_new(root, sent->name, former ? joined(former, value) : value);
    return 0;
}

static json_t *native_load(const struct call *call, enum api_kind kind, struct reply *reply) {
    if (!native_speaks(&(struct dialect_fields){.call = call})) {
        api_fail(reply, STATUS_INVALID, "text",
                 "text is missing: send a JSON object such as {\"text\": \"Hello.\"} or a form with text; /translate also takes q");
        return NULL;
    }
    json_t *root = json_object();
    for (size_t i = 0; root && i < call->field_count; i++) {
        if (native_add(root, kind, &call->fields[i], reply) != 0) {
            json_decref(root);
            return NULL;
        }
    }
    if (!api_lacked_memory())
        return root;
    json_decref(root);
    api_fail_memory(reply);
    return NULL;
}

static json_t *translate_load(const struct call *call, struct reply *reply) {
    return native_load(call, API_TRANSLATE, reply);
}

static json_t *attention_load(const struct call *call, struct reply *reply) {
    return native_load(call, API_ATTENTION, reply);
}

static void native_start(const struct dialect *dialect, const struct service *service, json_t *root, struct request *request,
                         struct reply *reply) {
    enum api_kind kind = dialect == &dialect_attention ? API_ATTENTION : API_TRANSLATE;
    if (api_parse(service, root, kind, request, reply) == 0 && !api_recall(service, dialect->name, root, request, reply))
        api_prepare(service, "text", request, reply);
}

/* The models that the texts went through. */
static void put_pivot(struct writer *w, const struct request *request) {
    const struct text *text = request->texts;
    if (request->text_count == 0 || !text->second)
        return;
    writer_begin_array(w, "pivot");
    writer_string(w, NULL, text->model->info.name);
    writer_string(w, NULL, text->second->info.name);
    writer_end_array(w);
}

static const char *source_of(const struct request *request) {
    bool two = request->text_count > 0 && request->texts[0].second;
    return two ? request->texts[0].model->info.source : request->model->info.source;
}

/* {"model","source","target", array_name: [{"text","sentences"}]} */
static void native_finish(const struct service *service, const char *array_name, struct request *request, struct reply *reply) {
    if (api_fail_decoded(request, reply))
        return;
    const struct translator_info *info = &request->model->info;
    struct writer w = api_begin_answer(service);
    writer_begin_object(&w, NULL);
    writer_strings(&w, "model", info->name, "source", source_of(request), "target", info->target, NULL);
    put_pivot(&w, request);
    if (request->variant)
        writer_string(&w, "variant", request->variant);
    if (request->search.strategy == &search_sample)
        writer_integer(&w, "seed", (int64_t)request->search.sampling.seed);
    writer_begin_array(&w, array_name);
    const struct plan *plan = request->plan;
    for (size_t i = 0, count = plan ? plan->count : request->text_count;
         i < count && !writer_ended(&w) && !request_is_over(request); i++)
        if (plan)
            api_render_item(request, &plan->items[i], &w);
        else
            api_render_text(request, &request->texts[i], NULL, &w);
    writer_end_array(&w);
    writer_end_object(&w);
    api_reply_answer(service, reply, &w);
}

static void translate_finish(const struct service *service, struct request *request, struct reply *reply) {
    native_finish(service, "translations", request, reply);
}

static void attention_finish(const struct service *service, struct request *request, struct reply *reply) {
    native_finish(service, "results", request, reply);
}

const struct dialect dialect_translate = {.name = "translate",
                                          .path = "/translate",
                                          .speaks = native_speaks,
                                          .load = translate_load,
                                          .start = native_start,
                                          .finish = translate_finish};
const struct dialect dialect_attention = {.name = "attention",
                                          .path = "/attention",
                                          .speaks = native_speaks,
                                          .load = attention_load,
                                          .start = native_start,
                                          .finish = attention_finish};
