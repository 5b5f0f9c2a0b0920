/* `format` of alignd's own dialect: texts that are HTML or XML, or have marks in them, as the segments that are translated. */
#include "server/api/api_form.h"
#include "server/api/api_plan.h"
#include <string.h>

/* What cannot be said of a text that is cut at its tags. */
static int check(const struct api_form *form, struct reply *reply) {
    const char *name = form->stream ? "stream" : form->prefix[0] ? "prefix" : form->include & INCLUDE_HEADS ? "include" : NULL;
    if (!name)
        return 0;
    return strcmp(name, "include") == 0 ? api_refuse(reply, name, "include must not contain heads when format is %s", form->format)
                                        : api_refuse(reply, name, "%s must be omitted when format is %s", name, form->format);
}

static struct plan *make_plan(const struct api_form *form, struct request *request) {
    static const struct html_tags tags = {.outline = true};
    struct plan *plan = arena_zalloc(&request->arena, 1, sizeof *plan);
    struct plan_item *items = arena_zalloc(&request->arena, request->text_count, sizeof *items);
    if (!plan || !items)
        return NULL;
    const struct translator_info *info = &request->model->info;
    for (size_t i = 0; i < request->text_count; i++) {
        const struct text *text = &request->texts[i];
        items[i] = (struct plan_item){.source = text->source,
                                      .length = text->source_length,
                                      .model = request->model,
                                      .source_language = text->model ? text->model->info.source : info->source,
                                      .target_language = form->target_language ? form->target_language : info->target,
                                      .texts = &request->texts[i],
                                      .count = 1};
        items[i].target_language =
            arena_copy(&request->arena, items[i].target_language, strlen(items[i].target_language)); /* of the JSON, maybe */
    }
    plan->items = items;
    plan->count = plan->strings = request->text_count;
    plan->markup = strcmp(form->format, "text") != 0;
    plan->tags = strcmp(form->format, "xml") == 0 ? &tags : NULL;
    return arena_failed(&request->arena) ? NULL : plan;
}

/* A text of the request for each segment. -1: memory. */
static int cut_texts(struct plan *plan, struct request *request) {
    size_t count = 0;
    for (size_t i = 0; i < plan->count; i++)
        count += plan->items[i].count;
    struct text *texts = arena_zalloc(&request->arena, count, sizeof *texts), *text = texts;
    if (!texts)
        return -1;
    for (size_t i = 0; i < plan->count; i++) {
        struct plan_item *item = &plan->items[i];
        const struct text *whole = item->texts;
        item->texts = text;
        for (size_t j = 0; j < item->count; j++, text++) {
            *text = *whole;
            if (!plan->markup && !item->marked)
                continue;
            text->source = item->html.segments[j].text;
            text->source_length = item->html.segments[j].length;
        }
    }
    request->texts = texts;
    request->text_count = count;
    request->plan = plan;
    return 0;
}

int api_read_markup(const struct api_form *form, struct request *request, struct reply *reply) {
    bool text = strcmp(form->format, "text") == 0, marked = !text;
    struct error error = {0};
    request->plan = NULL; /* it may have waited for its model, and be read again */
    if (!text && check(form, reply) != 0)
        return -1;
    if (text && (request->verbatim || form->attention || form->translation || form->stream || form->prefix[0] ||
                 form->force_attention || form->include & INCLUDE_HEADS))
        return 0;
    struct plan *plan = make_plan(form, request);
    if (!plan || (plan_parse(plan, &request->arena, &error) != 0 && error.code != ERROR_INPUT)) {
        api_fail_memory(reply);
        return -1;
    }
    if (error.code == ERROR_INPUT)
        return api_refuse(reply, "text", "text: %s", error.message);
    for (size_t i = 0; i < plan->count; i++)
        marked |= plan->items[i].marked;
    if (marked && cut_texts(plan, request) != 0) {
        api_fail_memory(reply);
        return -1;
    }
    request->aligns |= marked;
    return 0;
}

/* The segments as one text, a line each, whose sentences are theirs: what is said of a text, warnings for example, is said once.
 * -1: memory. */
static int join(const struct plan_item *item, struct arena *arena, struct text *out) {
    size_t bytes = 0, count = 0;
    for (size_t i = 0; i < item->count; i++) {
        bytes += item->texts[i].source_length + 1;
        count += item->texts[i].count;
    }
    char *joined = arena_alloc(arena, bytes + 1, 1), *at = joined;
    struct sentence *sentences = arena_alloc(arena, count, sizeof *sentences);
    if (!joined || !sentences)
        return -1;
    *out = item->count > 0 ? item->texts[0] : (struct text){.model = item->model};
    out->pivot = NULL;
    out->source = item->count > 0 ? joined : item->source;
    out->source_length = item->count > 0 ? bytes : item->length;
    out->sentences = sentences;
    out->count = 0;
    for (size_t i = 0; i < item->count; i++) {
        const struct text *text = &item->texts[i];
        size_t begin = (size_t)(at - joined);
        for (size_t j = 0; j < text->count; j++) {
            struct sentence *sentence = &sentences[out->count++];
            *sentence = text->sentences[j]; /* to be read only */
            sentence->text = joined;
            sentence->source.begin += begin;
            sentence->source.end += begin;
        }
        at = mempcpy(mempcpy(at, text->source, text->source_length), "\n", 1);
    }
    *at = '\0';
    return 0;
}

void api_render_item(struct request *request, const struct plan_item *item, struct writer *out) {
    const struct plan *plan = request->plan;
    struct arena arena;
    struct plan_answer answer;
    struct text text;
    if (!plan->markup && !item->marked) {
        api_render_text(request, &item->texts[0], NULL, out);
        return;
    }
    arena_init(&arena, 1 << 14);
    if (plan_write(plan, item, &arena, &answer) == 0 && join(item, &arena, &text) == 0)
        api_render_text(request, &text, &(struct html_bytes){answer.text, answer.length}, out);
    else
        writer_fail(out);
    arena_done(&arena);
}
