/* This file plans the translation of strings or a document, mostly for the dialects of other
 * services. A plan chooses one or two models for each string and target, makes the request's texts
 * from the strings, and makes the answers from the translated texts. */
#include "server/api/plan.h"
#include "model/base/utf8.h"
#include "server/api/languages.h"
#include "server/api/pairs.h"
#include "server/api/value.h"
#include "server/decode/outcome.h"
#include "server/decode/parameters.h"
#include "server/decode/render.h"
#include "server/documents/document.h"
#include "server/markup/marks.h"
#include "server/markup/markup.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists of languages ---- */

/* Adds a code unless the list has it. Copies the code to the arena, or keeps the pointer if arena
 * is NULL. */
static void add_code(const char *code, struct arena *arena, struct plan_codes *codes) {
    for (size_t i = 0; i < codes->count; i++)
        if (language_same(codes->all[i], code))
            return;
    const char *kept = arena ? arena_copy(arena, code, strlen(code)) : code;
    if (kept)
        codes->all[codes->count++] = kept;
}

void plan_add_sources(const struct translator_info *info, struct arena *arena,
                      struct plan_codes *codes) {
    char code[VARIANT_CODE_BYTES];
    bool several = pair_lists_sources(info);
    for (size_t i = 0; several && i < info->variant_count; i++) {
        if (!info->languages) /* those are codes */
            variant_code(info->variants[i], code);
        add_code(info->languages ? info->variants[i] : code, info->languages ? NULL : arena, codes);
    }
    if (!several)
        add_code(info->source, NULL, codes);
}

/* Adds the targets of a source, or of all sources if source is NULL. If pairs is set, skips models
 * that read many languages. */
static void add_targets(const struct model_set *models, const char *source, bool pairs,
                        struct arena *arena, struct plan_codes *codes) {
    char code[VARIANT_CODE_BYTES];
    for (size_t i = 0; i < models->count; i++) {
        const struct translator_info *info = &models->all[i]->info;
        bool several = pair_needs_variant(info);
        bool reads =
            !source || (pair_lists_sources(info) ? pair_source_variant(info, source) != NULL
                                                 : language_same(info->source, source));
        if (!pair_translates(info) || !reads || (pairs && info->languages))
            continue;
        for (size_t v = 0; several && v < info->variant_count; v++) {
            variant_code(info->variants[v], code);
            add_code(code, arena, codes);
        }
        if (!several)
            add_code(info->target, NULL, codes);
    }
}

size_t plan_most_codes(const struct model_set *models) {
    size_t most = 0;
    for (size_t i = 0; i < models->count; i++)
        most += 2 + 2 * models->all[i]->info.variant_count;
    return most;
}

int plan_languages(const struct model_set *models, bool sources, bool targets, struct arena *arena,
                   struct plan_codes *codes) {
    *codes =
        (struct plan_codes){.all = arena_alloc(arena, plan_most_codes(models), sizeof *codes->all)};
    for (size_t i = 0; codes->all && sources && i < models->count; i++)
        if (pair_translates(&models->all[i]->info))
            plan_add_sources(&models->all[i]->info, arena, codes);
    if (codes->all && targets)
        add_targets(models, NULL, false, arena, codes);
    return arena_failed(arena) ? -1 : 0;
}

int plan_targets(const struct model_set *models, const char *source, const char *pivot,
                 struct arena *arena, struct plan_codes *codes) {
    *codes =
        (struct plan_codes){.all = arena_alloc(arena, plan_most_codes(models), sizeof *codes->all)};
    if (!codes->all)
        return -1;
    add_targets(models, source, false, arena, codes);

    /* add the languages that two models reach, except the source itself */
    size_t direct = codes->count;
    for (size_t i = 0; i < direct; i++)
        if (!pivot || language_distance(codes->all[i], pivot) < LANGUAGE_FAR)
            add_targets(models, codes->all[i], true, arena, codes);
    for (size_t i = direct; i < codes->count; i++)
        if (language_same(codes->all[i], source))
            codes->all[i] = codes->all[--codes->count];
    return arena_failed(arena) ? -1 : 0;
}

/* Returns the models' code that is nearest to the requested one, or NULL if no model knows the
 * language. */
static const char *find_language(const struct model_set *models, const char *asked) {
    const char *nearest = NULL;
    int least = LANGUAGE_FAR;
    for (size_t i = 0; i < 2 * models->count; i++) {
        const struct translator_info *info = &models->all[i / 2]->info;
        const char *code = i % 2 == 0 ? info->source : info->target;
        int far = pair_translates(info) ? language_distance(code, asked) : LANGUAGE_FAR;
        if (far < least) {
            least = far;
            nearest = code;
        }
    }
    const char *variant = NULL; /* the matching variant of a model that writes several languages */
    for (size_t i = 0; least > 0 && !variant && i < models->count; i++)
        if (pair_translates(&models->all[i]->info))
            variant = pair_variant(&models->all[i]->info, asked);
    for (size_t i = 0; !variant && !nearest && i < models->count; i++) {
        const struct translator_info *info = &models->all[i]->info;
        if (pair_translates(info) && pair_source_distance(info, asked) < LANGUAGE_FAR)
            return asked; /* a model reads any language */
    }
    return variant ? variant : nearest;
}

struct plan_guess plan_detect(const struct plan_item *items, size_t item_count, bool markup,
                              struct request *request) {
    const struct model_set *models = request->models;
    /* collect the models' source languages without duplicates */
    struct plan_codes codes = {.all = calloc(plan_most_codes(models) + 1, sizeof *codes.all)};
    size_t length = 0;
    for (size_t i = 0; codes.all && i < models->count; i++)
        if (pair_translates(&models->all[i]->info))
            plan_add_sources(&models->all[i]->info, &request->arena, &codes);

    /* join all items, each with a line feed after it */
    for (size_t i = 0; i < item_count; i++)
        length += items[i].length + 1;
    char *text = codes.all ? malloc(length) : NULL, *end = text;
    for (size_t i = 0; text && i < item_count; i++)
        end = mempcpy(mempcpy(end, items[i].source, items[i].length), "\n", 1);

    struct plan_guess found = {0};
    if (text && codes.count == 0) {
        found = (struct plan_guess){.code = "en"};
    } else if (text) {
        struct language_guess guess =
            language_detect(text, length - 1, markup, codes.all, codes.count);
        found = (struct plan_guess){.code = codes.all[guess.index],
                                    .confidence = guess.confidence,
                                    .unread = *guess.other != '\0'};
        if (found.unread)
            found.code = arena_copy(&request->arena, guess.other, strlen(guess.other));
        if (guess.failed)
            found.code = NULL;
    }
    free(text);
    free(codes.all);
    return found;
}

/* ---- the models of a pair of languages ---- */

/* Returns the model that is nearest to the pair of languages, or NULL if none fits. At equal
 * distance, prefers a model of one pair to one of many languages, and then the first model. */
static struct served_model *nearest_model(const struct model_set *models, const char *source,
                                          const char *target) {
    struct served_model *nearest = NULL;
    int least = 4 * LANGUAGE_FAR;
    for (size_t i = 0; i < models->count; i++) {
        const struct translator_info *info = &models->all[i]->info;
        int from = pair_translates(info) ? pair_source_distance(info, source) : LANGUAGE_FAR;
        int to = from < LANGUAGE_FAR ? pair_target_distance(info, target) : LANGUAGE_FAR;
        int far = 2 * (from + to) + (info->languages != NULL);
        if (from < LANGUAGE_FAR && to < LANGUAGE_FAR && far < least) {
            least = far;
            nearest = models->all[i];
        }
    }
    return nearest;
}

/* Chooses the model of the item's pair of languages or, if no model fits, two models. */
static enum plan_refusal choose_item(const struct plan *plan, struct plan_item *item,
                                     const struct model_set *models, struct plan_reason *reason) {
    const char *source = item->source_language, *target = item->target_language;
    struct text *chosen = &item->chosen;
    reason->from = source;
    reason->to = target;
    reason->source = find_language(models, source);
    reason->asked = reason->source ? target : source;
    if (!reason->source)
        return PLAN_SOURCE;
    reason->target = find_language(models, target);
    if (!reason->target)
        return PLAN_TARGET;
    bool rewrites = plan->order->rewrites;
    chosen->model = rewrites ? NULL : nearest_model(models, source, target);
    if (chosen->model) {
        chosen->variant = pair_variant(&chosen->model->info, target);
        chosen->language = pair_source_variant(&chosen->model->info, source);
        return PLAN_OK;
    }
    if (!rewrites && language_same(reason->source, reason->target))
        return PLAN_OK;
    if (!(rewrites ? pair_find_return(models, source, target, chosen)
                   : pair_find_pivot(models, plan->pivot, source, target, chosen)))
        return PLAN_PAIR;
    chosen->second_variant = pair_variant(&chosen->second->info, target);
    return PLAN_OK;
}

/* Returns the language from which an item is translated. What no model reads is decoded by the
 * first model that writes the target, and its warnings say what is wrong. */
static const char *decoded_language(const struct plan_item *item, const char *source,
                                    const struct model_set *models) {
    const char *any = NULL;
    for (size_t i = 0; item->guess.unread && i < models->count; i++) {
        const struct translator_info *info = &models->all[i]->info;
        if (!pair_translates(info))
            continue;
        if (pair_target_distance(info, item->target_language) < LANGUAGE_FAR)
            return info->source;
        any = any ? any : info->source;
    }
    return any ? any : source;
}

/* Chooses the model by which the translations of a dictionary are translated back. A model of many
 * languages would have to know which one it reads, as a second model does not. */
static enum plan_refusal choose_return(struct plan_item *item, const struct model_set *models) {
    struct text *chosen = &item->chosen;
    if (!chosen->model || chosen->second)
        return PLAN_PAIR;
    struct served_model *back = nearest_model(models, item->target_language, item->source_language);
    if (back && !back->info.languages) {
        chosen->second = back;
        chosen->second_variant = pair_variant(&back->info, item->source_language);
    }
    return PLAN_OK;
}

/* ---- strings ---- */

int plan_read(struct plan *plan, const json_t *strings, size_t count, struct arena *arena) {
    plan->count = plan->strings = count;
    plan->items = arena_zalloc(arena, count, sizeof *plan->items);
    for (size_t i = 0; plan->items && i < count; i++) {
        const json_t *string = json_is_array(strings) ? json_array_get(strings, i) : strings;
        plan->items[i] =
            (struct plan_item){.length = json_string_length(string), .count = 1, .string = i};
        plan->items[i].source = arena_copy(arena, json_string_value(string), plan->items[i].length);
    }
    return arena_failed(arena) ? -1 : 0;
}

/* Returns the language that the request gives for a string; NULL: it is detected. */
static const char *given_source(const struct order *order, size_t string) {
    const char *source = order->strings ? order->strings[string].source : order->source;
    return source && !language_same(source, "auto") ? source : NULL;
}

const char *plan_source(const struct plan *plan, size_t i) {
    const struct plan_item *item = &plan->items[i];
    const char *given = given_source(plan->order, item->string);
    return given ? given : item->guess.code;
}

static struct document document_of(const struct plan *plan, const struct plan_item *item) {
    const struct order *order = plan->order;
    return (struct document){.format = order->document,
                             .source = item->source,
                             .length = item->length,
                             .encoding = order->encoding,
                             .language = order->targets[0],
                             .bilingual = order->bilingual,
                             .keys = order->keys,
                             .columns = order->columns,
                             .header = order->header,
                             .notes = order->notes};
}

static int parse_item(const struct plan *plan, struct plan_item *item, struct arena *arena,
                      struct error *err) {
    int read = 0;
    if (plan->order->document) {
        struct document document = document_of(plan, item);
        read = document_read(&document, arena, &item->markup, err);
        if (read == 0 && plan->order->merge.length > 0) {
            item->merged = arena_zalloc(arena, item->markup.count + 1, sizeof *item->merged);
            read = item->merged ? review_read(plan->order->merge, &document, &item->markup, arena,
                                              item->merged, err)
                                : error_memory(err);
        }
    } else if (plan_is_markup(plan, item) && plan->order->tags) {
        read = markup_parse_xml(item->source, item->length, plan->order->tags, arena, &item->markup,
                                err);
    } else if (plan_is_markup(plan, item)) {
        read = markup_parse_html(item->source, item->length, arena, &item->markup, err);
    } else {
        read = document_read_text((struct bytes){item->source, item->length}, plan->order->joined,
                                  arena, &item->markup, &item->marked, err);
    }
    if (read != 0)
        return -1;
    item->parsed = true;
    if (plan_is_markup(plan, item) || item->marked)
        item->count = item->markup.count;
    return 0;
}

static enum plan_refusal refusal_of(const struct error *err) {
    return err->code == ERROR_INPUT ? PLAN_MARKUP : PLAN_MEMORY;
}

/* Guesses one language for all strings, or one for each without a given language if order->apart is
 * set. Unpacks an archive
 * and guesses its language from the beginning of its text. */
static enum plan_refusal guess_sources(struct plan *plan, struct request *request,
                                       struct plan_reason *reason) {
    enum { MOST_BYTES = 64 * 1024 };
    size_t together = plan->order->apart ? 1 : plan->strings;
    if (plan->order->document && plan->order->document->archive) {
        if (given_source(plan->order, 0))
            return PLAN_OK;
        plan->guessed = true;
        struct plan_item *item = &plan->items[0], text = {0};
        if (parse_item(plan, item, &request->arena, &reason->error) != 0)
            return refusal_of(&reason->error);
        char *joined = malloc(MOST_BYTES);
        if (!joined)
            return PLAN_MEMORY;
        for (size_t i = 0; i < item->markup.count && text.length < MOST_BYTES; i++) {
            const struct markup_segment *segment = &item->markup.segments[i];
            size_t taken = utf8_clip(segment->text, segment->length, MOST_BYTES - text.length - 1);
            memcpy(joined + text.length, segment->text, taken);
            joined[text.length + taken] = '\n';
            text.length += taken + 1;
        }
        text.source = joined;
        item->guess = plan_detect(&text, 1, false, request);
        free(joined);
        return item->guess.code ? PLAN_OK : PLAN_MEMORY;
    }
    for (size_t i = 0; i < plan->strings; i++) {
        struct plan_item *item = &plan->items[i];
        if (given_source(plan->order, i))
            continue;
        plan->guessed = true;
        bool tags = (plan_is_markup(plan, item) && !plan->order->document) ||
                    marks_are_in((struct bytes){item->source, item->length}, NULL);
        item->guess =
            i % together == 0 ? plan_detect(item, together, tags, request) : plan->items[0].guess;
        if (!item->guess.code)
            return PLAN_MEMORY;
    }
    return PLAN_OK;
}

/* Makes one item for each string and target. Returns -1 if memory runs out. */
static int spread_items(struct plan *plan, struct arena *arena) {
    const struct order *order = plan->order;
    size_t count = order->strings ? 0 : plan->strings * order->target_count;
    for (size_t i = 0; order->strings && i < plan->strings; i++)
        count += order->strings[i].target_count;
    struct plan_item *items = arena_alloc(arena, count, sizeof *items);
    plan->count = 0;
    for (size_t i = 0; items && i < plan->strings; i++) {
        const struct order_string *own = order->strings ? &order->strings[i] : NULL;
        size_t targets = own ? own->target_count : order->target_count;
        for (size_t k = 0; k < targets; k++) {
            struct plan_item *item = &items[plan->count++];
            *item = plan->items[i];
            item->target_language = own ? own->targets[k] : order->targets[k];
        }
    }
    plan->items = items;
    return items ? 0 : -1;
}

enum plan_refusal plan_choose(struct plan *plan, struct request *request,
                              struct plan_reason *reason) {
    const struct order *order = plan->order;
    for (size_t i = 0; order->strings && i < plan->strings; i++)
        plan->items[i].tagged = order->strings[i].markup;
    enum plan_refusal refusal = guess_sources(plan, request, reason);
    if (refusal != PLAN_OK)
        return refusal;
    if (spread_items(plan, &request->arena) != 0)
        return PLAN_MEMORY;

    /* Items of the same pair have the same models; pairs are few. */
    const struct plan_item **first = NULL; /* [pairs] of each pair */
    size_t pairs = 0, room = 0;
    for (size_t i = 0; refusal == PLAN_OK && i < plan->count; i++) {
        struct plan_item *item = &plan->items[i];
        size_t pair = 0;
        if (!item->target_language)
            item->target_language = plan_source(plan, i);
        item->source_language = decoded_language(item, plan_source(plan, i), request->models);
        while (pair < pairs && (first[pair]->source_language != item->source_language ||
                                first[pair]->target_language != item->target_language))
            pair++;
        if (pair < pairs) {
            item->chosen = first[pair]->chosen;
            continue;
        }
        refusal = choose_item(plan, item, request->models, reason);
        if (refusal == PLAN_OK && order->translations > 0)
            refusal = choose_return(item, request->models);
        const struct plan_item **grown =
            arena_grow(&request->arena, first, pairs, &room, 1, sizeof *grown);
        if (!grown)
            return PLAN_MEMORY;
        first = grown;
        first[pairs++] = item;
        if (!request->model)
            request->model = item->chosen.model;
    }
    return refusal;
}

size_t plan_characters(const struct plan *plan, size_t index) {
    const struct plan_item *item = &plan->items[index];
    size_t characters = 0;
    if (!plan_is_markup(plan, item) && !item->marked)
        return utf8_count(item->source, item->length);
    for (size_t i = 0; i < item->markup.count; i++)
        characters += utf8_count(item->markup.segments[i].text, item->markup.segments[i].length);
    return characters;
}

int plan_parse(struct plan *plan, struct arena *arena, struct error *err) {
    for (size_t i = 0; i < plan->count; i++) {
        struct plan_item *item = &plan->items[i];
        const struct plan_item *before = i > 0 ? item - 1 : NULL;
        bool marks = !plan->aligned && !plan->verbatim && plan->order->translations == 0;
        if (!plan_is_markup(plan, item) && !marks)
            continue;
        if (before && before->string == item->string && before->parsed) { /* in another language */
            item->markup = before->markup;
            item->marked = before->marked;
            item->count = before->count;
            item->parsed = true;
        } else if (!item->parsed && parse_item(plan, item, arena, err) != 0) {
            return -1;
        }
    }
    return 0;
}

int plan_cut(struct plan *plan, struct request *request) {
    size_t count = 0;
    for (size_t i = 0; i < plan->count; i++) {
        struct plan_item *item = &plan->items[i];
        item->count = item->chosen.model && !item->merged ? item->count : 0;
        if (plan->order->translations > 0 && item->chosen.second)
            item->count = plan->order->translations;
        count += item->count;
    }
    struct text *text = arena_zalloc(&request->arena, count, sizeof *text);
    if (!text)
        return -1;
    request->texts = text;
    request->text_count = count;
    for (size_t i = 0; i < plan->count; i++) {
        struct plan_item *item = &plan->items[i];
        item->texts = text;
        for (size_t j = 0; j < item->count; j++, text++) {
            bool segment = plan_is_markup(plan, item) || item->marked;
            *text = item->chosen;
            if (plan->order->translations > 0 && item->chosen.second) {
                text->rank = j;
                text->ranks = item->count;
            }
            text->source = segment ? item->markup.segments[j].text : item->source;
            text->source_length = segment ? item->markup.segments[j].length : item->length;
            text->placed = segment && markup_is_placed(&item->markup, &item->markup.segments[j]);
        }
    }
    return 0;
}

enum plan_refusal plan_prepare(struct plan *plan, size_t max_characters, struct request *request,
                               struct plan_reason *reason) {
    if (plan_parse(plan, &request->arena, &reason->error) != 0)
        return refusal_of(&reason->error);
    for (size_t i = 0; i < plan->count; i++)
        reason->characters += plan_characters(plan, i);
    if (reason->characters > max_characters)
        return PLAN_LENGTH;
    return plan_cut(plan, request) == 0 ? PLAN_OK : PLAN_MEMORY;
}

void plan_search(const struct plan *plan, size_t rows, struct request *request) {
    struct search_options *search = &request->parameters.search;
    const struct order *order = plan->order;
    size_t most = rows < REQUEST_MAX_BEAM ? rows : REQUEST_MAX_BEAM;
    request->parameters.split = !order->whole;
    request->wanted.warns = !order->unwarned;
    request->parameters.replace_unknowns = true;
    request->keeps =
        plan->aligned || (plan->alternatives > 0 && !plan->markup) || order->translations > 0;
    request->wanted.aligns = plan->markup || plan->aligned;
    for (size_t i = 0; i < plan->count; i++)
        request->wanted.aligns |= plan->items[i].marked || plan->items[i].tagged;
    *search = plan->order->search ? *plan->order->search : parameters_default();
    search->max_rows = rows;
    parameters_settle(search, &request->model->info, most);
    search->n_best = plan->markup ? 1 : plan->alternatives + 1;
    if (order->translations > 0)
        search->n_best = plan->items[0].chosen.second ? order->returns : order->translations;
    if (search->beam_size < search->n_best)
        search->beam_size = search->n_best;
}

/* ---- answers ---- */

/* Renders the translation of a text, or the text itself if the translation is blank, since some
 * clients treat an empty answer as a failure. */
static int render_item(const struct text *text, struct arena *arena, struct rendered *out,
                       struct plan_answer *answer) {
    if (outcome_text(text, arena, out, NULL) != 0)
        return -1;
    bool lost = segmenter_trim(out->text, out->length).begin == out->length;
    *answer = lost ? (struct plan_answer){text->source, text->source_length}
                   : (struct plan_answer){out->text, out->length};
    return 0;
}

/* Writes an item. places: set to those of the translations of markup, [item->count][length of the
 * translation], in the arena; NULL: not wanted. */
static int write_item(const struct plan *plan, const struct plan_item *item,
                      struct markup_place ***places, struct arena *arena,
                      struct plan_answer *answer) {
    struct markup markup = item->markup;
    markup.language = item->target_language;
    markup.from = item->source_language;
    *answer = (struct plan_answer){item->source, item->length};
    struct markup_translation *translations =
        arena_zalloc(arena, item->count, sizeof *translations);
    for (size_t i = 0; i < item->count; i++) {
        if (!translations || document_translate(&item->texts[i], arena, &translations[i]) != 0)
            return -1;
    }
    struct markup_place **all = places ? arena_zalloc(arena, item->count, sizeof *all) : NULL;
    for (size_t i = 0; all && i < item->count; i++)
        all[i] = arena_zalloc(arena, translations[i].length + 1, sizeof **all);
    if (places && arena_failed(arena))
        return -1;

    size_t length;
    const char *written;
    if (plan->order->document) {
        struct document document = document_of(plan, item);
        written =
            plan->order->review
                ? review_write(&markup, translations, item->texts, arena, &length, NULL)
                : document_write(&document, &markup, item->merged ? item->merged : translations,
                                 arena, &length, NULL);
    } else if (plan_is_markup(plan, item)) {
        written = markup_write_places(&markup, translations, all, arena, &length, NULL);
    } else {
        written = document_write_text((struct bytes){item->source, item->length}, &markup,
                                      translations, arena, &length, NULL);
    }
    if (!written)
        return -1;
    if (places)
        *places = all;
    if (length > 0) /* markup without text ("</b>") is its own translation, like a blank text */
        *answer = (struct plan_answer){written, length};
    return 0;
}

int plan_write(const struct plan *plan, const struct plan_item *item, struct arena *arena,
               struct plan_answer *answer) {
    return write_item(plan, item, NULL, arena, answer);
}

static void answers_add(struct plan_answers *answers, const struct plan_answer *answer) {
    for (size_t i = 0; i < answers->count; i++) {
        if (answers->all[i].length == answer->length &&
            memcmp(answers->all[i].text, answer->text, answer->length) == 0)
            return;
    }
    answers->all[answers->count++] = *answer;
}

const struct plan_answers *plan_answers(const struct plan *plan, struct arena *arena) {
    struct plan_answers *all = arena_alloc(arena, plan->count, sizeof *all);
    for (size_t i = 0; all && i < plan->count; i++) {
        const struct plan_item *item = &plan->items[i];
        bool segments = plan_is_markup(plan, item) || item->marked;
        size_t others = segments || !item->chosen.model ? 0 : plan->alternatives;
        struct plan_answer answer = {item->source, item->length};
        struct rendered rendered;
        all[i] = (struct plan_answers){.all = arena_alloc(arena, 1 + others, sizeof *all[i].all)};
        if (!all[i].all)
            return NULL;
        if (item->chosen.model &&
            (segments ? plan_write(plan, item, arena, &answer)
                      : render_item(&item->texts[0], arena, &rendered, &answer)) != 0)
            return NULL;
        answers_add(&all[i], &answer);
        for (size_t rank = 1; rank <= others; rank++) {
            /* make a text from the hypotheses of this rank; a sentence with fewer hypotheses
             * contributes its last */
            struct text ranked = item->texts[0];
            struct sentence *sentences = ranked.sentences =
                arena_alloc(arena, ranked.count, sizeof *ranked.sentences);
            for (size_t s = 0; sentences && s < ranked.count; s++) {
                sentences[s] = item->texts[0].sentences[s]; /* the shared members are only read */
                sentences[s].hypotheses +=
                    rank < sentences[s].count ? rank : sentences[s].count - 1;
            }
            if (!sentences || render_item(&ranked, arena, &rendered, &answer) != 0)
                return NULL;
            answers_add(&all[i], &answer);
        }
    }
    return all;
}

/* ---- alignment ---- */

static struct span shifted(struct span span, size_t by) {
    return (struct span){by + span.begin, by + span.end};
}

/* The places of the bytes of a text and of its translation in the item's source and answer; NULL:
 * these are the text and its translation. */
struct text_places {
    const struct markup_place *source, *target;
};

/* Moves a span that is not empty to where it stands. Returns false if that is unknown. */
static bool move_span(const struct markup_place *places, struct span *span) {
    if (!places)
        return true;
    struct markup_place first = places[span->begin], last = places[span->end - 1];
    *span = (struct span){first.begin, last.end};
    return first.end > 0 && last.end > first.begin;
}

/* Adds the aligned words of a text. rendered: its translation. */
static int align_words(const struct text *text, const struct rendered *rendered,
                       struct text_places places, struct arena *arena, size_t *room,
                       struct plan_alignment *out) {
    for (size_t i = 0; i < text->count; i++) {
        const struct sentence *sentence = &text->sentences[i];
        const struct hypothesis *hypothesis = &sentence->hypotheses[0];
        struct word_sides sides;
        struct word_matrix matrix;
        if (!translator_info(sentence->translator).attention)
            continue;
        if (render_words(&(struct rendered_sentence){sentence, hypothesis, &rendered->sentences[i]},
                         WORDS_UNICODE, arena, &sides, NULL) != 0 ||
            render_merge(&sides, hypothesis->alignment, arena, &matrix, NULL) != 0)
            return -1;
        struct plan_pair *words = arena_grow(arena, out->words, out->word_count, room,
                                             matrix.target_count, sizeof *words);
        if (!words)
            return -1;
        out->words = words;
        for (size_t word = 0, source; word < matrix.target_count; word++) {
            if (!render_aligned(matrix.weights + word * matrix.source_count, matrix.source_count,
                                matrix.ends[word], &source))
                continue;
            struct plan_pair pair = {shifted(sides.source.words[source], sentence->source.begin),
                                     shifted(sides.target.words[word], rendered->begins[i])};
            if (move_span(places.source, &pair.source) && move_span(places.target, &pair.target))
                words[out->word_count++] = pair;
        }
    }
    return 0;
}

/* Adds a sentence that begins at these places, and ends the one before. */
static void begin_sentence(struct plan_alignment *out, size_t source, size_t target) {
    struct plan_pair *before =
        out->sentence_count > 0 ? &out->sentences[out->sentence_count - 1] : NULL;
    if (before && (source <= before->source.begin || target < before->target.begin))
        return;
    if (before) {
        before->source.end = source;
        before->target.end = target;
    }
    out->sentences[out->sentence_count++] =
        (struct plan_pair){{before ? source : 0, 0}, {before ? target : 0, 0}};
}

/* Adds the sentences of a text, each of which extends to the beginning of the next. */
static void align_sentences(const struct text *text, const struct rendered *rendered,
                            struct text_places places, struct plan_alignment *out) {
    for (size_t i = 0; i < text->count; i++) {
        size_t source = text->jobs[i].source.begin, target = rendered->begins[i];
        if (places.source) {
            source = places.source[source].begin;
            target = places.target[target].begin;
        }
        begin_sentence(out, source, target);
    }
}

int plan_align(const struct plan *plan, const struct plan_item *item, struct arena *arena,
               struct plan_alignment *out) {
    bool markup = plan_is_markup(plan, item);
    struct plan_answer answer = {item->source, item->length};
    struct markup_place **sources = NULL, **targets = NULL;
    size_t room = 0, sentences = 1;
    *out = (struct plan_alignment){0};
    if (markup && item->chosen.model &&
        (!(sources = markup_find_places(&item->markup, item->source, item->length, arena)) ||
         write_item(plan, item, &targets, arena, &answer) != 0))
        return -1;
    for (size_t i = 0; i < item->count; i++)
        sentences += item->texts[i].count;
    out->sentences = arena_zalloc(arena, sentences, sizeof *out->sentences);
    if (!out->sentences)
        return -1;
    for (size_t i = 0; i < item->count; i++) {
        const struct text *text = &item->texts[i];
        const struct text_places places = {markup ? sources[i] : NULL, markup ? targets[i] : NULL};
        struct rendered rendered;
        struct plan_answer own = {0};
        if (render_item(text, arena, &rendered, &own) != 0)
            return -1;
        if (!markup)
            answer = own;
        if (own.text == text->source) /* it is its own translation */
            continue;
        if (align_words(text, &rendered, places, arena, &room, out) != 0)
            return -1;
        align_sentences(text, &rendered, places, out);
    }
    if (out->sentence_count == 0)
        begin_sentence(out, 0, 0);
    out->sentences[out->sentence_count - 1].source.end = item->length;
    out->sentences[out->sentence_count - 1].target.end = answer.length;
    return 0;
}
