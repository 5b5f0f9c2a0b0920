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

void plan_add_sources(const struct translator_info *info, struct plan_codes *codes) {
    for (size_t i = 0; i < (info->languages ? info->variant_count : 1); i++)
        add_code(info->languages ? info->variants[i] : info->source, NULL, codes);
}

/* Adds the targets of a source, or of all sources if source is NULL. If pairs is set, skips models
 * that read many languages. */
static void add_targets(const struct model_set *models, const char *source, bool pairs,
                        struct arena *arena, struct plan_codes *codes) {
    char code[VARIANT_CODE_BYTES];
    for (size_t i = 0; i < models->count; i++) {
        const struct translator_info *info = &models->all[i]->info;
        bool several = pair_needs_variant(info);
        bool reads = !source || (info->languages ? pair_source_variant(info, source) != NULL
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
            plan_add_sources(&models->all[i]->info, codes);
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
    return variant ? variant : nearest;
}

struct plan_guess plan_detect(const struct plan_item *items, size_t item_count, bool markup,
                              const struct model_set *models) {
    /* collect the models' source languages without duplicates */
    struct plan_codes codes = {.all = calloc(plan_most_codes(models) + 1, sizeof *codes.all)};
    size_t length = 0;
    for (size_t i = 0; codes.all && i < models->count; i++)
        if (pair_translates(&models->all[i]->info))
            plan_add_sources(&models->all[i]->info, &codes);

    /* join all items, each with a line feed after it */
    for (size_t i = 0; i < item_count; i++)
        length += items[i].length + 1;
    char *text = codes.all ? malloc(length) : NULL, *end = text;
    for (size_t i = 0; text && i < item_count; i++)
        end = mempcpy(mempcpy(end, items[i].source, items[i].length), "\n", 1);

    struct plan_guess found = {0};
    if (text && codes.count == 0) {
        found = (struct plan_guess){"en", 0};
    } else if (text) {
        struct language_guess guess =
            language_detect(text, length - 1, markup, codes.all, codes.count);
        found = (struct plan_guess){guess.failed ? NULL : codes.all[guess.index], guess.confidence};
    }
    free(text);
    free(codes.all);
    return found;
}

/* ---- the models of a pair of languages ---- */

/* Chooses the model that is nearest to the pair of languages or, if no model fits, two models. At
 * equal distance, prefers a model of one pair to one of many languages, and then the first model.
 */
static enum plan_refusal choose_item(struct plan_item *item, const char *source, const char *target,
                                     const struct model_set *models, const char *pivot,
                                     struct plan_reason *reason) {
    int least = 4 * LANGUAGE_FAR;
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
    for (size_t i = 0; i < models->count; i++) {
        const struct translator_info *info = &models->all[i]->info;
        int from = pair_translates(info) ? pair_source_distance(info, source) : LANGUAGE_FAR;
        int to = from < LANGUAGE_FAR ? pair_target_distance(info, target) : LANGUAGE_FAR;
        int far = 2 * (from + to) + (info->languages != NULL);
        if (from < LANGUAGE_FAR && to < LANGUAGE_FAR && far < least) {
            least = far;
            chosen->model = models->all[i];
        }
    }
    if (chosen->model) {
        chosen->variant = pair_variant(&chosen->model->info, target);
        chosen->language = pair_source_variant(&chosen->model->info, source);
        return PLAN_OK;
    }
    if (language_same(reason->source, reason->target))
        return PLAN_OK;
    if (!pair_find_pivot(models, pivot, source, target, chosen))
        return PLAN_PAIR;
    chosen->second_variant = pair_variant(&chosen->second->info, target);
    return PLAN_OK;
}

/* ---- strings ---- */

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

const char *plan_source(const struct plan *plan, size_t i) {
    return plan->guessed ? plan->items[i].guess.code : plan->order->source;
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
                             .notes = order->notes};
}

static int parse_item(const struct plan *plan, struct plan_item *item, struct arena *arena,
                      struct error *err) {
    int read = 0;
    if (plan->order->document) {
        struct document document = document_of(plan, item);
        read = document_read(&document, arena, &item->markup, err);
    } else if (plan->markup && plan->order->tags) {
        read = markup_parse_xml(item->source, item->length, plan->order->tags, arena, &item->markup,
                                err);
    } else if (plan->markup) {
        read = markup_parse_html(item->source, item->length, arena, &item->markup, err);
    } else {
        read = document_read_text(item->source, item->length, plan->order->joined, arena,
                                  &item->markup, &item->marked, err);
    }
    if (read != 0)
        return -1;
    item->parsed = true;
    if (plan->markup || item->marked)
        item->count = item->markup.count;
    return 0;
}

static enum plan_refusal refusal_of(const struct error *err) {
    return err->code == ERROR_INPUT ? PLAN_MARKUP : PLAN_MEMORY;
}

/* Guesses one language for all strings, or one for each if order->apart is set. Unpacks an archive
 * and guesses its language from the beginning of its text. */
static enum plan_refusal guess_sources(struct plan *plan, struct request *request,
                                       struct plan_reason *reason) {
    enum { MOST_BYTES = 64 * 1024 };
    size_t together = plan->order->apart ? 1 : plan->strings;
    if (plan->order->document && plan->order->document->archive) {
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
        item->guess = plan_detect(&text, 1, false, request->models);
        free(joined);
        return item->guess.code ? PLAN_OK : PLAN_MEMORY;
    }
    for (size_t i = 0; i < plan->strings; i++) {
        struct plan_item *item = &plan->items[i];
        bool tags = (plan->markup && !plan->order->document) ||
                    marks_are_in((struct bytes){item->source, item->length});
        item->guess = i % together == 0 ? plan_detect(item, together, tags, request->models)
                                        : plan->items[0].guess;
        if (!item->guess.code)
            return PLAN_MEMORY;
    }
    return PLAN_OK;
}

enum plan_refusal plan_choose(struct plan *plan, struct request *request,
                              struct plan_reason *reason) {
    const struct order *order = plan->order;
    plan->guessed = !order->source || language_same(order->source, "auto");
    enum plan_refusal refusal = plan->guessed ? guess_sources(plan, request, reason) : PLAN_OK;
    if (refusal != PLAN_OK)
        return refusal;

    /* make one item for each string and target */
    struct plan_item *items =
        arena_alloc(&request->arena, order->target_count, plan->strings * sizeof *items);
    if (!items)
        return PLAN_MEMORY;
    for (size_t i = 0; i < order->target_count; i++)
        memcpy(items + i * plan->strings, plan->items, plan->strings * sizeof *items);
    plan->items = items;
    plan->count = order->target_count * plan->strings;

    for (size_t i = 0; refusal == PLAN_OK && i < plan->count; i++) {
        struct plan_item *item = &items[i];
        item->source_language = plan_source(plan, i);
        item->target_language = order->targets[i / plan->strings];

        /* find an earlier item with the same target and source, which is near the front, since
         * languages are few */
        size_t before = i - i % plan->strings;
        while (before < i && items[before].source_language != item->source_language)
            before++;
        if (before == i)
            refusal = choose_item(item, item->source_language, item->target_language,
                                  request->models, plan->pivot, reason);
        else
            item->chosen = items[before].chosen;
        if (!request->model)
            request->model = item->chosen.model;
    }
    return refusal;
}

size_t plan_characters(const struct plan *plan, size_t index) {
    const struct plan_item *item = &plan->items[index];
    size_t characters = 0;
    if (!plan->markup && !item->marked)
        return utf8_count(item->source, item->length);
    for (size_t i = 0; i < item->markup.count; i++)
        characters += utf8_count(item->markup.segments[i].text, item->markup.segments[i].length);
    return characters;
}

int plan_parse(struct plan *plan, struct arena *arena, struct error *err) {
    for (size_t i = 0; i < plan->count && (plan->markup || (!plan->aligned && !plan->verbatim));
         i++) {
        struct plan_item *item = &plan->items[i];
        const struct plan_item *same =
            &plan->items[i % plan->strings]; /* each string is parsed once for all its targets */
        if (i >= plan->strings) {
            item->markup = same->markup;
            item->marked = same->marked;
            item->count = same->count;
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
        item->count = item->chosen.model ? item->count : 0;
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
            bool segment = plan->markup || item->marked;
            *text = item->chosen;
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
    struct search_options *search = &request->search;
    size_t most = rows < REQUEST_MAX_BEAM ? rows : REQUEST_MAX_BEAM;
    request->split = !plan->order->whole;
    request->warns = !plan->order->unwarned;
    request->replace_unknowns = true;
    request->keeps = plan->aligned || (plan->alternatives > 0 && !plan->markup);
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

int plan_write(const struct plan *plan, const struct plan_item *item, struct arena *arena,
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

    size_t length;
    const char *written;
    if (plan->order->document) {
        struct document document = document_of(plan, item);
        written = document_write(&document, &markup, translations, arena, &length, NULL);
    } else {
        written = plan->markup ? markup_write(&markup, translations, arena, &length, NULL)
                               : document_write_text(item->source, item->length, &markup,
                                                     translations, arena, &length, NULL);
    }
    if (!written)
        return -1;
    if (length > 0) /* markup without text ("</b>") is its own translation, like a blank text */
        *answer = (struct plan_answer){written, length};
    return 0;
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
        bool segments = plan->markup || item->marked;
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

/* Extends each sentence to the beginning of the next. */
static int cut_sentences(const struct text *text, const struct rendered *rendered,
                         struct arena *arena, struct plan_alignment *out) {
    size_t count = text->count > 0 ? text->count : 1;
    struct plan_pair *sentences = out->sentences = arena_zalloc(arena, count, sizeof *sentences);
    if (!sentences)
        return -1;
    for (size_t i = 1; i < count; i++) {
        sentences[i - 1].source.end = sentences[i].source.begin = text->jobs[i].source.begin;
        sentences[i - 1].target.end = sentences[i].target.begin = rendered->begins[i];
    }
    sentences[count - 1].source.end = text->source_length;
    sentences[count - 1].target.end = rendered->length;
    out->sentence_count = count;
    return 0;
}

int plan_align(const struct plan_item *item, struct arena *arena, struct plan_alignment *out) {
    const struct text itself = {.source = item->source, .source_length = item->length};
    const struct text *text =
        item->count > 0 ? &item->texts[0] : &itself; /* itself stands for an untranslated item */
    struct rendered rendered = {.length = item->length};
    struct plan_answer answer = {.length = item->length};
    size_t room = 0;
    *out = (struct plan_alignment){0};
    if (item->count > 0 && render_item(text, arena, &rendered, &answer) != 0)
        return -1;
    if (answer.text == text->source) /* the text is its own translation */
        return cut_sentences(&itself, &(struct rendered){.length = answer.length}, arena, out);
    for (size_t i = 0; i < text->count; i++) {
        const struct sentence *sentence = &text->sentences[i];
        const struct hypothesis *hypothesis = &sentence->hypotheses[0];
        struct word_sides sides;
        struct word_matrix matrix;
        if (!translator_info(sentence->translator).attention)
            continue;
        if (render_words(sentence, WORDS_UNICODE, hypothesis, &rendered.sentences[i], arena, &sides,
                         NULL) != 0 ||
            render_merge(&sides, hypothesis->alignment, arena, &matrix, NULL) != 0)
            return -1;
        struct plan_pair *words = arena_grow(arena, out->words, out->word_count, &room,
                                             matrix.target_count, sizeof *words);
        if (!words)
            return -1;
        out->words = words;
        for (size_t word = 0, source; word < matrix.target_count; word++)
            if (render_aligned(matrix.weights + word * matrix.source_count, matrix.source_count,
                               matrix.ends[word], &source))
                words[out->word_count++] =
                    (struct plan_pair){shifted(sides.source.words[source], sentence->source.begin),
                                       shifted(sides.target.words[word], rendered.begins[i])};
    }
    return cut_sentences(text, &rendered, arena, out);
}
