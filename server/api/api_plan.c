/* Strings in a pair of languages: the model that fits, and the texts of the request. */
#include "server/api/api_plan.h"
#include "model/base/utf8.h"
#include "server/api/language.h"
#include "server/decode/parameters.h"
#include "server/html/html_marks.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int plan_read(struct plan *plan, const json_t *strings, size_t count, struct arena *arena) {
    plan->count = plan->strings = count;
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

static void add_code(const char *code, struct plan_codes *codes) {
    for (size_t i = 0; i < codes->count; i++)
        if (language_same(codes->all[i], code))
            return;
    snprintf(codes->all[codes->count++], VARIANT_CODE_BYTES, "%s", code);
}

/* source NULL: of all. */
static void add_targets(const struct model_set *models, const char *source, struct plan_codes *codes) {
    char code[VARIANT_CODE_BYTES];
    for (size_t i = 0; i < models->count; i++) {
        const struct translator_info *info = &models->all[i]->info;
        bool several = variant_must_be(info);
        if (!plan_translates(info) || (source && !language_same(info->source, source)))
            continue;
        for (size_t v = 0; several && v < info->variant_count; v++) {
            variant_code(info->variants[v], code);
            add_code(code, codes);
        }
        if (!several)
            add_code(info->target, codes);
    }
}

/* Room for all that there can be. */
static int make_codes(const struct model_set *models, struct arena *arena, struct plan_codes *codes) {
    size_t most = 0;
    for (size_t i = 0; i < models->count; i++)
        most += 2 + models->all[i]->info.variant_count;
    *codes = (struct plan_codes){.all = arena_alloc(arena, most, sizeof *codes->all)};
    return codes->all ? 0 : -1;
}

int plan_languages(const struct model_set *models, bool sources, bool targets, struct arena *arena, struct plan_codes *codes) {
    if (make_codes(models, arena, codes) != 0)
        return -1;
    for (size_t i = 0; sources && i < models->count; i++)
        if (plan_translates(&models->all[i]->info))
            add_code(models->all[i]->info.source, codes);
    if (targets)
        add_targets(models, NULL, codes);
    return 0;
}

/* What two models come to, but for where they began. */
static void add_pivots(const struct model_set *models, const char *source, const char *pivot, struct plan_codes *codes) {
    size_t direct = codes->count;
    for (size_t i = 0; i < direct; i++)
        if (!pivot || language_distance(codes->all[i], pivot) < LANGUAGE_FAR)
            add_targets(models, codes->all[i], codes);
    for (size_t i = direct; i < codes->count; i++)
        if (language_same(codes->all[i], source))
            memmove(codes->all[i], codes->all[--codes->count], VARIANT_CODE_BYTES);
}

int plan_targets(const struct model_set *models, const char *source, const char *pivot, struct arena *arena,
                 struct plan_codes *codes) {
    if (make_codes(models, arena, codes) != 0)
        return -1;
    add_targets(models, source, codes);
    add_pivots(models, source, pivot, codes);
    return 0;
}

/* The variant of a model that writes this language among others. */
static const char *find_variant(const struct model_set *models, const char *code) {
    const char *variant = NULL;
    for (size_t i = 0; !variant && i < models->count; i++)
        if (plan_translates(&models->all[i]->info))
            variant = variant_for(&models->all[i]->info, code);
    return variant;
}

/* The models' code that is nearest to the one asked for. NULL: no model knows the language. */
static const char *find_language(const struct model_set *models, const char *asked) {
    const char *nearest = NULL;
    int least = LANGUAGE_FAR;
    for (size_t i = 0; i < 2 * models->count; i++) {
        const struct translator_info *info = &models->all[i / 2]->info;
        const char *code = i % 2 == 0 ? info->source : info->target;
        int far = plan_translates(info) ? language_distance(code, asked) : LANGUAGE_FAR;
        if (far < least) {
            least = far;
            nearest = code;
        }
    }
    const char *variant = least > 0 ? find_variant(models, asked) : NULL;
    return variant ? variant : nearest;
}

/* All items, a line feed behind each, malloc'ed. */
static char *join_items(const struct plan_item *items, size_t count, size_t *length) {
    *length = 0;
    for (size_t i = 0; i < count; i++)
        *length += items[i].length + 1;
    char *text = malloc(*length), *end = text;
    for (size_t i = 0; text && i < count; i++)
        end = mempcpy(mempcpy(end, items[i].source, items[i].length), "\n", 1);
    return text;
}

/* Each once, malloc'ed [*count]. */
static const char **source_codes(const struct model_set *models, size_t *count) {
    const char **codes = calloc(models->count + 1, sizeof *codes);
    *count = 0;
    for (size_t i = 0; codes && i < models->count; i++) {
        const struct translator_info *info = &models->all[i]->info;
        size_t j = 0;
        while (j < *count && !language_same(codes[j], info->source))
            j++;
        if (plan_translates(info) && j == *count)
            codes[(*count)++] = info->source;
    }
    return codes;
}

struct plan_guess plan_detect(const struct plan_item *items, size_t item_count, bool markup, const struct model_set *models) {
    size_t count, length;
    const char **codes = source_codes(models, &count);
    char *text = codes ? join_items(items, item_count, &length) : NULL;
    struct plan_guess found = {0};
    if (text && count == 0) {
        found = (struct plan_guess){"en", 0};
    } else if (text) {
        struct language_guess guess = language_detect(text, length - 1, markup, codes, count);
        found = (struct plan_guess){guess.failed ? NULL : codes[guess.index], guess.confidence};
    }
    free(text);
    free(codes);
    return found;
}

/* How far a model is from a pair of codes. One that writes several languages has its own only as a variant. */
static int pair_distance(const struct translator_info *info, const char *source, const char *target) {
    if (!plan_translates(info))
        return 2 * LANGUAGE_FAR;
    int from = language_distance(info->source, source), to = LANGUAGE_FAR;
    if (variant_for(info, target))
        to = 0;
    else if (!variant_must_be(info))
        to = language_distance(info->target, target);
    return from < LANGUAGE_FAR && to < LANGUAGE_FAR ? from + to : 2 * LANGUAGE_FAR;
}

/* The nearest to the pair of languages; of several models the first. */
static enum plan_refusal choose_model(const struct model_set *models, const char *source, const char *target,
                                      const struct plan_reason *reason, struct plan_item *item) {
    int least = 2 * LANGUAGE_FAR;
    item->model = NULL;
    for (size_t i = 0; i < models->count; i++) {
        int far = pair_distance(&models->all[i]->info, source, target);
        if (far < least) {
            least = far;
            item->model = models->all[i];
        }
    }
    item->variant = item->model ? variant_for(&item->model->info, target) : NULL;
    return item->model || language_same(reason->source, reason->target) ? PLAN_OK : PLAN_PAIR;
}

/* The same of two, where there is not one. */
static enum plan_refusal choose_models(const struct model_set *models, const char *pivot, const char *source, const char *target,
                                       const struct plan_reason *reason, struct plan_item *item) {
    struct api_pivot found;
    enum plan_refusal refusal = choose_model(models, source, target, reason, item);
    item->second = NULL;
    if (refusal != PLAN_PAIR || !api_find_pivot(models, pivot, source, target, &found))
        return refusal;
    item->model = found.first;
    item->variant = found.first_variant;
    item->second = found.second;
    item->second_variant = variant_for(&found.second->info, target);
    return PLAN_OK;
}

/* The items' guesses: one for all strings, or each its own. */
static enum plan_refusal guess_sources(struct plan *plan, const struct model_set *models) {
    size_t together = plan->apart ? 1 : plan->strings;
    for (size_t i = 0; i < plan->strings; i++) {
        struct plan_item *item = &plan->items[i];
        bool tags = (plan->markup && !plan->document) || html_is_marked((struct html_bytes){item->source, item->length});
        item->guess = i % together == 0 ? plan_detect(item, together, tags, models) : plan->items[0].guess;
        if (!item->guess.code)
            return PLAN_MEMORY;
    }
    return PLAN_OK;
}

/* An item of each string for each target. */
static int repeat_items(struct plan *plan, size_t targets, struct arena *arena) {
    struct plan_item *items = arena_alloc(arena, targets, plan->strings * sizeof *items);
    if (!items)
        return -1;
    for (size_t i = 0; i < targets; i++)
        memcpy(items + i * plan->strings, plan->items, plan->strings * sizeof *items);
    plan->items = items;
    plan->count = targets * plan->strings;
    return 0;
}

static enum plan_refusal choose_item(struct plan_item *item, const char *source, const char *target, const struct model_set *models,
                                     const char *pivot, struct plan_reason *reason) {
    reason->source = find_language(models, source);
    reason->asked = reason->source ? target : source;
    if (!reason->source)
        return PLAN_SOURCE;
    reason->target = find_language(models, target);
    if (!reason->target)
        return PLAN_TARGET;
    return choose_models(models, pivot, source, target, reason, item);
}

const char *plan_source(const struct plan *plan, size_t i) {
    return plan->guessed ? plan->items[i].guess.code : plan->order->source;
}

/* An item before this one, of the same target, whose source is the same, too. There are few languages: it stands near the front. */
static const struct plan_item *chosen_before(const struct plan *plan, size_t i) {
    for (size_t j = i - i % plan->strings; j < i; j++)
        if (plan_source(plan, j) == plan_source(plan, i))
            return &plan->items[j];
    return NULL;
}

enum plan_refusal plan_choose(struct plan *plan, struct request *request, struct plan_reason *reason) {
    const struct order *order = plan->order;
    plan->guessed = !order->source || language_same(order->source, "auto");
    enum plan_refusal refusal = plan->guessed ? guess_sources(plan, request->models) : PLAN_OK;
    if (refusal == PLAN_OK && repeat_items(plan, order->target_count, &request->arena) != 0)
        refusal = PLAN_MEMORY;
    for (size_t i = 0; refusal == PLAN_OK && i < plan->count; i++) {
        struct plan_item *item = &plan->items[i];
        const struct plan_item *before = chosen_before(plan, i);
        item->source_language = plan_source(plan, i);
        item->target_language = order->targets[i / plan->strings];
        item->model = before ? before->model : NULL;
        item->variant = before ? before->variant : NULL;
        item->second = before ? before->second : NULL;
        item->second_variant = before ? before->second_variant : NULL;
        if (!before)
            refusal = choose_item(item, item->source_language, item->target_language, request->models, plan->pivot, reason);
        if (!request->model)
            request->model = item->model;
    }
    return refusal;
}

/* ---- texts ---- */

size_t plan_characters(const struct plan *plan, size_t index) {
    const struct plan_item *item = &plan->items[index];
    size_t characters = 0;
    if (!plan->markup && !item->marked)
        return utf8_count(item->source, item->length);
    for (size_t i = 0; i < item->html.count; i++)
        characters += utf8_count(item->html.segments[i].text, item->html.segments[i].length);
    return characters;
}

struct document plan_document(const struct plan *plan, const struct plan_item *item) {
    const struct order *order = plan->order;
    return (struct document){.format = plan->document,
                             .source = item->source,
                             .length = item->length,
                             .language = order->targets[0],
                             .bilingual = order->bilingual,
                             .keys = order->keys,
                             .notes = order->notes};
}

static int parse_item(const struct plan *plan, struct plan_item *item, struct arena *arena, struct error *err) {
    if (plan->document) {
        struct document document = plan_document(plan, item);
        return document_read(&document, arena, &item->html, err);
    }
    if (plan->tags)
        return html_parse_xml(item->source, item->length, plan->tags, arena, &item->html, err);
    return html_parse(item->source, item->length, arena, &item->html, err);
}

/* Each string once, whatever it is translated to. */
int plan_parse(struct plan *plan, struct arena *arena, struct error *err) {
    for (size_t i = 0; i < plan->count && (plan->markup || (!plan->aligned && !plan->verbatim)); i++) {
        struct plan_item *item = &plan->items[i];
        int read = 0;
        if (i >= plan->strings) {
            item->html = plan->items[i % plan->strings].html;
            item->marked = plan->items[i % plan->strings].marked;
        } else {
            read = plan->markup ? parse_item(plan, item, arena, err)
                                : document_read_text(item->source, item->length, arena, &item->html, &item->marked, err);
        }
        if (read != 0)
            return -1;
        if (plan->markup || item->marked)
            item->count = item->html.count;
    }
    return 0;
}

/* An item of the same string for an earlier target, which the same model reads as the first of two; NULL: none. */
static const struct plan_item *find_twin(const struct plan *plan, size_t i) {
    const struct plan_item *item = &plan->items[i];
    for (size_t j = i % plan->strings; item->second && j < i; j += plan->strings) {
        const struct plan_item *before = &plan->items[j];
        if (before->second && before->model == item->model && before->variant == item->variant)
            return before;
    }
    return NULL;
}

/* One text of the request for each string, or for each segment of markup. */
static int make_texts(struct plan *plan, struct request *request) {
    size_t count = 0;
    for (size_t i = 0; i < plan->count; i++) {
        struct plan_item *item = &plan->items[i];
        item->count = item->model ? item->count : 0;
        count += item->count;
    }
    struct text *text = request->texts = arena_zalloc(&request->arena, count, sizeof *request->texts);
    if (!text)
        return -1;
    for (size_t i = 0; i < plan->count; i++) {
        struct plan_item *item = &plan->items[i];
        const struct plan_item *twin = find_twin(plan, i);
        item->texts = text;
        for (size_t j = 0; j < item->count; j++, text++) {
            text->model = item->model;
            text->variant = item->variant;
            text->second = item->second;
            text->second_variant = item->second_variant;
            text->twin = twin ? &twin->texts[j] : NULL;
            bool segment = plan->markup || item->marked;
            text->source = segment ? item->html.segments[j].text : item->source;
            text->source_length = segment ? item->html.segments[j].length : item->length;
        }
    }
    request->text_count = count;
    return 0;
}

enum plan_refusal plan_prepare(struct plan *plan, size_t max_characters, struct request *request, struct plan_reason *reason) {
    if (plan_parse(plan, &request->arena, &reason->error) != 0)
        return reason->error.code == ERROR_INPUT ? PLAN_MARKUP : PLAN_MEMORY;
    for (size_t i = 0; i < plan->count; i++)
        reason->characters += plan_characters(plan, i);
    if (reason->characters > max_characters)
        return PLAN_LENGTH;
    return make_texts(plan, request) == 0 ? PLAN_OK : PLAN_MEMORY;
}

void plan_search(const struct plan *plan, size_t rows, struct request *request) {
    struct search_options *search = &request->search;
    size_t most = rows < REQUEST_MAX_BEAM ? rows : REQUEST_MAX_BEAM;
    request->split = !plan->whole;
    request->warns = !plan->order->unwarned;
    request->replace_unknowns = true;
    request->aligns = plan->markup || plan->aligned;
    for (size_t i = 0; i < plan->count; i++)
        request->aligns |= plan->items[i].marked;
    *search = parameters_default();
    search->max_rows = rows;
    parameters_settle(search, &request->model->info, most);
    search->n_best = plan->markup ? 1 : plan->alternatives + 1;
    if (search->beam_size < search->n_best)
        search->beam_size = search->n_best;
}
