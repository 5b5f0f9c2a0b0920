/* Strings in a pair of languages: the model that fits, and the texts of the request. */
#include "server/api/api_plan.h"
#include "model/base/utf8.h"
#include "server/api/language.h"
#include "server/decode/parameters.h"
#include "server/decode/variant.h"
#include <stdlib.h>
#include <string.h>

enum { CODE_BYTES = 32 };

int plan_read(struct plan *plan, const json_t *strings, size_t count, struct arena *arena) {
    plan->count = count;
    plan->items = arena_zalloc(arena, count, sizeof *plan->items);
    for (size_t i = 0; plan->items && i < count; i++) {
        const json_t *string = json_is_array(strings) ? json_array_get(strings, i) : strings;
        plan->items[i] = (struct plan_item){.length = json_string_length(string), .count = 1};
        plan->items[i].source = arena_copy(arena, json_string_value(string), plan->items[i].length);
    }
    return arena_failed(arena) ? -1 : 0;
}

/* ---- languages ---- */

bool plan_translates(const struct translator_info *info) {
    return strcmp(info->task, "translation") == 0;
}

/* The variant of a model that writes this language among others. */
static const char *find_variant(const struct model_set *models, const char *code) {
    const char *variant = NULL;
    for (size_t i = 0; !variant && i < models->count; i++)
        if (plan_translates(&models->all[i].info))
            variant = variant_for(&models->all[i].info, code);
    return variant;
}

/* A code as the models have it: the one asked for or, "en" for "en-US", a wider one. NULL: no model knows it. */
static const char *find_language(const struct model_set *models, const char *asked) {
    char code[CODE_BYTES];
    if (strlen(asked) >= sizeof code)
        return NULL;
    strcpy(code, asked);
    do {
        for (size_t i = 0; i < models->count; i++) {
            const struct translator_info *info = &models->all[i].info;
            if (plan_translates(info) && language_same(info->source, code))
                return info->source;
            if (plan_translates(info) && language_same(info->target, code))
                return info->target;
        }
        const char *variant = find_variant(models, code);
        if (variant)
            return variant;
    } while (language_widen(code));
    return NULL;
}

/* All items, a line feed behind each, malloc'ed. */
static char *join_items(const struct plan *plan, size_t *length) {
    *length = 0;
    for (size_t i = 0; i < plan->count; i++)
        *length += plan->items[i].length + 1;
    char *text = malloc(*length), *end = text;
    for (size_t i = 0; text && i < plan->count; i++)
        end = mempcpy(mempcpy(end, plan->items[i].source, plan->items[i].length), "\n", 1);
    return text;
}

struct plan_guess plan_detect(const struct plan *plan, const struct model_set *models) {
    const char *codes[MODEL_SET_MAX];
    size_t count = 0, length;
    for (size_t i = 0; i < models->count; i++) {
        if (plan_translates(&models->all[i].info))
            codes[count++] = models->all[i].info.source;
    }
    if (count == 0)
        return (struct plan_guess){"en", 0};
    char *text = join_items(plan, &length);
    if (!text)
        return (struct plan_guess){0};
    struct language_guess guess = language_detect(text, length - 1, plan->markup, codes, count);
    free(text);
    return (struct plan_guess){guess.failed ? NULL : codes[guess.index], guess.confidence};
}

/* By the pair of languages; of several models the first. */
static enum plan_refusal choose_model(struct plan *plan, const char *source, const char *target, struct request *request) {
    const struct model_set *models = request->models;
    plan->same = language_same(source, target);
    for (size_t i = 0; i < models->count; i++) {
        const struct translator_info *info = &models->all[i].info;
        const char *variant = variant_for(info, target);
        bool writes = variant || (language_same(info->target, target) && !variant_must_be(info));
        if (plan_translates(info) && language_same(info->source, source) && writes) {
            request->model = &models->all[i];
            request->variant = variant;
            return PLAN_OK;
        }
    }
    return plan->same ? PLAN_OK : PLAN_PAIR;
}

enum plan_refusal plan_choose(struct plan *plan, const char *source, const char *target, struct request *request,
                              struct plan_reason *reason) {
    plan->guessed = language_same(source, "auto");
    if (plan->guessed) {
        plan->guess = plan_detect(plan, request->models);
        source = plan->guess.code;
    }
    if (!source)
        return PLAN_MEMORY;
    reason->source = find_language(request->models, source);
    reason->target = find_language(request->models, target);
    if (!reason->source || !reason->target)
        return reason->source ? PLAN_TARGET : PLAN_SOURCE;
    return choose_model(plan, reason->source, reason->target, request);
}

/* ---- texts ---- */

static size_t count_characters(const struct plan_item *item, bool markup) {
    size_t characters = 0;
    if (!markup)
        return utf8_count(item->source, item->length);
    for (size_t i = 0; i < item->html.count; i++)
        characters += utf8_count(item->html.segments[i].text, item->html.segments[i].length);
    return characters;
}

static int parse_items(struct plan *plan, struct arena *arena, struct error *err) {
    for (size_t i = 0; plan->markup && i < plan->count; i++) {
        struct plan_item *item = &plan->items[i];
        if (html_parse(item->source, item->length, arena, &item->html, err) != 0)
            return -1;
        item->count = item->html.count;
    }
    return 0;
}

/* One text of the request for each string, or for each segment of markup. */
static int make_texts(struct plan *plan, struct request *request) {
    size_t count = 0;
    for (size_t i = 0; i < plan->count; i++)
        count += plan->items[i].count;
    struct text *text = request->texts = arena_zalloc(&request->arena, count, sizeof *request->texts);
    if (!text)
        return -1;
    for (size_t i = 0; i < plan->count; i++) {
        struct plan_item *item = &plan->items[i];
        item->texts = text;
        for (size_t j = 0; j < item->count; j++, text++) {
            text->source = plan->markup ? item->html.segments[j].text : item->source;
            text->source_length = plan->markup ? item->html.segments[j].length : item->length;
        }
    }
    request->text_count = count;
    return 0;
}

enum plan_refusal plan_prepare(struct plan *plan, size_t max_characters, struct request *request, struct plan_reason *reason) {
    if (parse_items(plan, &request->arena, &reason->error) != 0)
        return reason->error.code == ERROR_INPUT ? PLAN_MARKUP : PLAN_MEMORY;
    for (size_t i = 0; i < plan->count; i++)
        reason->characters += count_characters(&plan->items[i], plan->markup);
    if (reason->characters > max_characters)
        return PLAN_LENGTH;
    return plan->same || make_texts(plan, request) == 0 ? PLAN_OK : PLAN_MEMORY;
}

void plan_search(const struct plan *plan, size_t rows, struct request *request) {
    struct search_options *search = &request->search;
    size_t most = rows < REQUEST_MAX_BEAM ? rows : REQUEST_MAX_BEAM;
    request->split = true;
    request->replace_unknowns = true;
    request->aligns = plan->markup;
    *search = parameters_default();
    if (!plan->same)
        parameters_settle(search, &request->model->info, most);
    search->n_best = plan->markup ? 1 : plan->alternatives + 1;
    if (search->beam_size < search->n_best)
        search->beam_size = search->n_best;
}
