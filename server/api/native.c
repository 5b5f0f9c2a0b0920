/* This file implements alignd's own dialect of /translate, /attention and /align: it chooses the
 * model of each text, checks combinations of fields, and writes the answer around the texts. It
 * converts a form or a query string to JSON and reads it like any body. */
#include "model/base/utf8.h"
#include "server/api/align.h"
#include "server/api/answer.h"
#include "server/api/decode.h"
#include "server/api/dialect.h"
#include "server/api/fields.h"
#include "server/api/languages.h"
#include "server/api/members.h"
#include "server/api/pairs.h"
#include "server/api/plan.h"
#include "server/api/recall.h"
#include "server/api/reply.h"
#include "server/api/terms.h"
#include "server/api/value.h"
#include "server/api/wait.h"
#include "server/base/strings.h"
#include "server/decode/parameters.h"
#include "server/documents/document.h"
#include "server/get/get.h"
#include <stdio.h>
#include <string.h>

/* ---- the model of each text: the named one, the one with the nearest languages, or two in
 * sequence ---- */

enum { MISFIT = 4 * LANGUAGE_FAR, PAIRS_BYTES = 240, ADVICE_BYTES = 120 };

static int target_distance(const struct translator_info *info, const char *code) {
    return pair_variant(info, code) ? 0 : language_distance(info->target, code);
}

/* Returns the distance of a model from the requested languages, or MISFIT. A missing field fits any
 * model. A folder that cannot be read has no languages. At equal distance, a model of many
 * languages ranks after a model of one pair. */
static int misfit(const struct translator_info *info, const struct api_form *form) {
    if (form->model ? strcmp(form->model, info->name) != 0 : !*info->source)
        return MISFIT;
    if (form->variant && !pair_variant(info, form->variant))
        return MISFIT;
    int source = form->source ? pair_source_distance(info, form->source) : 0;
    int target = form->target_language ? target_distance(info, form->target_language) : 0;
    return source < LANGUAGE_FAR && target < LANGUAGE_FAR
               ? 2 * (source + target) + (info->languages != NULL)
               : MISFIT;
}

static bool matches(const struct translator_info *info, const struct api_form *form) {
    return misfit(info, form) < MISFIT;
}

/* Returns the model that fits best, or NULL. Among equals, prefers the default model, then the
 * first. */
static struct served_model *find_model(const struct model_set *models, const char *usual,
                                       const struct api_form *form) {
    struct served_model *model = NULL;
    int least = MISFIT;
    for (size_t i = 0; i < models->count; i++) {
        int far = misfit(&models->all[i]->info, form);
        bool preferred =
            model && far == least && usual && strcmp(models->all[i]->info.name, usual) == 0;
        if (far < least || (far < MISFIT && preferred)) {
            least = far;
            model = models->all[i];
        }
    }
    return model;
}

/* Writes the distinct pairs of the matching models, such as "en-fr, fr-en", as far as they fit.
 * Returns the number of pairs. */
static size_t list_pairs(const struct model_set *models, const struct api_form *form,
                         char text[PAIRS_BYTES]) {
    size_t pairs = 0, length = 0, left_out = 0;
    *text = '\0';
    for (size_t i = 0; i < models->count; i++) {
        const struct translator_info *info = &models->all[i]->info;
        size_t j = 0;
        while (j < i && !(matches(&models->all[j]->info, form) &&
                          language_same(models->all[j]->info.source, info->source) &&
                          language_same(models->all[j]->info.target, info->target)))
            j++;
        if (!matches(info, form) || j < i)
            continue;
        pairs++;
        char pair[2 * LANGUAGE_CODE_BYTES];
        size_t bytes = (size_t)snprintf(pair, sizeof pair, "%s%.15s-%.15s", length > 0 ? ", " : "",
                                        info->source, info->target);
        if (left_out > 0 || length + bytes + sizeof ", and 4294967295 more" > PAIRS_BYTES)
            left_out++;
        else
            length += (size_t)snprintf(text + length, PAIRS_BYTES - length, "%s", pair);
    }
    if (left_out > 0)
        snprintf(text + length, PAIRS_BYTES - length, ", and %zu more", left_out);
    return pairs;
}

/* Returns true if the text looks like a language code, so that a command may contain it. */
static bool is_code(const char *text) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-";
    size_t length = text ? strspn(text, letters) : 0;
    return length > 0 && length < LANGUAGE_CODE_BYTES && *text != '-' && !text[length];
}

/* Refuses the request, and blames the field that excludes all models. */
static int fail_model(const struct model_set *models, const struct api_form *form,
                      struct reply *reply) {
    bool known_model = !form->model, known_source = !form->source;
    for (size_t i = 0; i < models->count; i++) {
        known_model |= matches(&models->all[i]->info, &(struct api_form){.model = form->model});
        known_source |= matches(&models->all[i]->info,
                                &(struct api_form){.model = form->model, .source = form->source});
    }
    if (!known_model)
        return reply_refuse(reply, "model", "no model \"%.60s\" is loaded", form->model);
    if (form->variant) { /* a model might fit without the variant */
        struct api_form other = *form;
        other.variant = NULL;
        struct served_model *model = find_model(models, NULL, &other);
        return model ? reply_refuse(reply, "variant", "model \"%.60s\" has no variant \"%.60s\"",
                                    model->info.name, form->variant)
                     : fail_model(models, &other, reply);
    }

    /* advise how to get a missing pair; the command has both codes if they are known */
    const char *which = form->model ? "this model does not translate" : "no model translates";
    char advice[ADVICE_BYTES] = "", pair[2 * LANGUAGE_CODE_BYTES + 1] = "";
    if (is_code(form->source) && is_code(form->target_language))
        snprintf(pair, sizeof pair, " %.15s-%.15s", form->source, form->target_language);
    if (!form->model)
        snprintf(advice, sizeof advice,
                 "; \"alignd get%s\" or an administrator can download one, if it exists", pair);
    if (!known_source)
        return reply_refuse(reply, "source", "%s from \"%.60s\"%s", which, form->source, advice);
    if (!form->source)
        return reply_refuse(reply, "target", "%s to \"%.60s\"%s", which, form->target_language,
                            advice);
    return reply_refuse(reply, "target", "%s from \"%.60s\" to \"%.60s\"%s", which, form->source,
                        form->target_language, advice);
}

/* Refuses a target that no model writes. The message helps clients of earlier versions, which sent
 * a translation in this field. */
static int check_target(const struct service *service, const struct model_set *models,
                        const struct api_form *form, struct reply *reply) {
    char any[1][32];
    if (fetcher_sources(service->fetcher, form->target_language, any, 1) > 0)
        return 0;
    char codes[PAIRS_BYTES] = "";
    size_t length = 0;
    for (size_t i = 0; i < models->count; i++) {
        const struct translator_info *info = &models->all[i]->info;
        if (*info->source && (target_distance(info, form->target_language) < LANGUAGE_FAR ||
                              (form->reversible && form->source &&
                               pair_source_distance(info, form->target_language) < LANGUAGE_FAR)))
            return 0;
        size_t j = 0;
        while (j < i && !language_same(models->all[j]->info.target, info->target))
            j++;
        if (*info->target && j == i && length + LANGUAGE_CODE_BYTES + 2 < sizeof codes)
            length += (size_t)snprintf(codes + length, sizeof codes - length, "%s%.15s",
                                       length > 0 ? ", " : "", info->target);
    }
    return reply_refuse(
        reply, "target",
        "target must be a language code, one of %s, got \"%.60s\"; send your own translation in "
        "\"translation\"",
        codes, form->target_language);
}

/* Sets one or two models of a text, as the form requests. */
static int choose(const struct service *service, const struct api_form *form,
                  struct request *request, struct text *text, struct reply *reply) {
    const struct model_set *models = request->models;
    bool pair = !form->model && !form->variant && form->source && form->target_language;
    struct served_model *last = text->model =
        find_model(models, service->options->default_model, form);
    const struct api_form back = {.source = form->target_language, .target_language = form->source};
    if (!last && pair && form->reversible &&
        (last = text->model = find_model(models, service->options->default_model, &back))) {
        request->parameters.reversed = true;
        form = &back;
    }
    if (!last && pair &&
        pair_find_pivot(models, service->options->pivot, form->source, form->target_language, text))
        last = text->second;
    if (!last && pair &&
        wait_fetch_missing(service, form->source, form->target_language, request, reply))
        return -1;
    if (!last)
        return fail_model(models, form, reply);

    text->language = pair_source_variant(&text->model->info, form->source);
    if (last->info.languages && !text->language)
        return reply_refuse(reply, "source",
                            "source is missing: model \"%.60s\" reads %zu languages, such as %.60s",
                            last->info.name, last->info.variant_count, last->info.variants[0]);

    /* the default is the variant of the model's own target */
    const char *code = form->variant ? form->variant : form->target_language;
    const char *variant = code ? pair_variant(&last->info, code) : NULL;
    if (!variant)
        variant = pair_variant(&last->info, last->info.target);
    *(text->second ? &text->second_variant : &text->variant) = variant;
    if (variant || !pair_needs_variant(&last->info))
        return 0;
    return reply_refuse(reply, "variant",
                        "variant is missing: model \"%.60s\" writes %zu languages, such as %.60s",
                        last->info.name, last->info.variant_count, last->info.variants[0]);
}

static json_t *item(json_t *value, size_t i) {
    return json_is_array(value) ? json_array_get(value, i) : value;
}

/* Detects the language of each text and chooses its models, since the texts may be in several
 * languages. */
static int choose_detected(const struct service *service, struct api_form *form, size_t count,
                           struct request *request, struct reply *reply) {
    /* collect the languages from which one or two models can reach the target */
    const struct model_set *models = request->models;
    struct plan_codes codes = {
        .all = arena_alloc(&request->arena, plan_most_codes(models) + 1, sizeof *codes.all)};
    bool pairs = !form->model && !form->variant && form->target_language;
    for (size_t i = 0; codes.all && i < 2 * models->count; i++) {
        const struct translator_info *info = &models->all[i % models->count]->info;
        struct text two;
        if (i < models->count ? !matches(info, form)
                              : !pairs || !*info->source || info->languages ||
                                    !pair_find_pivot(models, service->options->pivot, info->source,
                                                     form->target_language, &two))
            continue;
        plan_add_sources(info, &request->arena, &codes);
    }
    struct text *chosen =
        arena_zalloc(&request->arena, codes.count + 1, sizeof *chosen); /* one for each code */
    if (!codes.all || !chosen)
        return reply_fail_memory(reply);
    if (codes.count == 0 && pairs && wait_may_fetch(service, request)) {
        /* detect the first text's language among those from which a model to the target can be
         * downloaded */
        enum { MOST_SOURCES = 128 };
        char sources[MOST_SOURCES][32];
        const char *list[MOST_SOURCES];
        const json_t *text = item(form->text, 0);
        size_t source_count =
            fetcher_sources(service->fetcher, form->target_language, sources, MOST_SOURCES);
        for (size_t i = 0; i < source_count; i++)
            list[i] = sources[i];
        if (source_count == 0)
            list[source_count++] =
                "en"; /* assume English while the list is not known or lacks the target */
        struct language_guess guess = language_detect(
            json_string_value(text), json_string_length(text), false, list, source_count);
        if (!guess.failed &&
            wait_fetch_missing(service, list[guess.index], form->target_language, request, reply))
            return -1;
    }
    if (codes.count == 0)
        return fail_model(models, form, reply);
    for (size_t i = 0; i < count; i++) {
        const json_t *text = item(form->text, i);
        struct language_guess guess = language_detect(
            json_string_value(text), json_string_length(text), false, codes.all, codes.count);
        if (guess.failed)
            return reply_fail_memory(reply);
        form->source = codes.all[guess.index];
        if (!chosen[guess.index].model &&
            choose(service, form, request, &chosen[guess.index], reply) != 0)
            return -1;
        form->texts[i] = chosen[guess.index];
        form->texts[i].detected = form->source;
        if (*guess.other && !(form->texts[i].detected =
                                  arena_copy(&request->arena, guess.other, strlen(guess.other))))
            return reply_fail_memory(reply);
        form->texts[i].confidence = guess.confidence / 100;
    }
    return 0;
}

/* Sets form->texts [count] and, from the last model of the first text, the request's model,
 * language and variant. Detects each text's language if source is "auto", or if it is missing and
 * target is given without model or the model reads many. Without model, target and variant, uses
 * the default model or, if all fitting models have one pair, the first. Returns -1 after setting
 * the reply. */
static int choose_models(const struct service *service, struct api_form *form, size_t count,
                         struct request *request, struct reply *reply) {
    char pairs[PAIRS_BYTES];
    const char *usual = service->options->default_model;
    bool automatic = form->source && language_same(form->source, "auto");
    if (automatic)
        form->source = NULL;
    request->parameters.reversed = false;
    form->texts = arena_zalloc(&request->arena, count, sizeof *form->texts);
    if (!form->texts)
        return reply_fail_memory(reply);
    if (form->attention && form->target_language &&
        check_target(service, request->models, form, reply) != 0)
        return -1;

    bool usual_fits = false,
         many = false; /* many is true if the named model reads many languages */
    for (size_t i = 0; i < request->models->count; i++) {
        const struct translator_info *info = &request->models->all[i]->info;
        usual_fits |= usual && strcmp(info->name, usual) == 0 && matches(info, form);
    }
    if (!form->model && !form->target_language && !form->variant) {
        if (!usual_fits && list_pairs(request->models, form, pairs) > 1)
            return form->source
                       ? reply_refuse(reply, "target",
                                      "target is missing: the models from \"%.60s\" are for %s",
                                      form->source, pairs)
                       : reply_refuse(reply, "target",
                                      "source and target are missing, and so is model: the models "
                                      "are for %s",
                                      pairs);
        form->model = usual_fits ? usual : NULL;
    }
    for (size_t i = 0; form->model && i < request->models->count; i++)
        many |= strcmp(request->models->all[i]->info.name, form->model) == 0 &&
                request->models->all[i]->info.languages;
    bool detects = !form->source && (automatic || (form->target_language && !form->model) || many);
    if (detects ? choose_detected(service, form, count, request, reply) != 0
                : choose(service, form, request, &form->texts[0], reply) != 0)
        return -1;
    for (size_t i = 1; !detects && i < count; i++)
        form->texts[i] = form->texts[0];
    request->model = form->texts[0].second ? form->texts[0].second : form->texts[0].model;
    request->parameters.language = form->texts[0].second ? NULL : form->texts[0].language;
    request->parameters.variant =
        form->texts[0].second ? form->texts[0].second_variant : form->texts[0].variant;
    return 0;
}

/* ---- combinations of fields ---- */

/* Checks a string or an array of strings, which may have at most `most` characters together. */
static int check_texts(const char *field, json_t *value, size_t most, size_t *count,
                       struct reply *reply) {
    size_t characters = 0;
    if (!json_is_string(value) && !json_is_array(value))
        return reply_refuse(reply, field, "%s must be a string or an array of strings, got %s",
                            field, value_type_name(value));
    *count = json_is_array(value) ? json_array_size(value) : 1;
    if (*count < 1 || *count > API_MAX_TEXTS)
        return reply_refuse(reply, field, "%s must contain between 1 and %d strings, got %zu",
                            field, API_MAX_TEXTS, *count);
    for (size_t i = 0; i < *count; i++) {
        const json_t *text = item(value, i);
        if (!json_is_string(text))
            return reply_refuse(reply, field,
                                "%s must be a string or an array of strings, got %s at index %zu",
                                field, value_type_name(text), i);
        characters += utf8_count(json_string_value(text), json_string_length(text));
    }
    if (characters <= most)
        return 0;
    return reply_fail(reply, STATUS_TOO_LARGE, field,
                      "%s must have at most %zu characters, got %zu", field, most, characters);
}

/* Checks the limits of numbers that depend on another field. Beam search, sampling and exact search
 * may have several hypotheses. */
static int check_numbers(const struct api_form *form, size_t rows, struct reply *reply) {
    const struct search_options *search = &form->search;
    size_t n_best = search->n_best;
    if (fields_check_search(search, rows, reply) != 0)
        return -1;
    if (form->translation && n_best > 1)
        return reply_refuse(reply, "n_best", "n_best must be 1 when translation is given, got %zu",
                            n_best);
    if (search->strategy == &search_greedy && n_best > 1)
        return reply_refuse(reply, "n_best", "n_best must be 1 when strategy is greedy, got %zu",
                            n_best);
    if (search->strategy == &search_beam && n_best > search->beam_size)
        return reply_refuse(reply, "n_best",
                            "n_best must be between 1 and beam_size (%zu), got %zu",
                            search->beam_size, n_best);
    if (search->strategy == &search_sample && n_best > rows)
        return reply_refuse(reply, "n_best", "n_best must be between 1 and %zu, got %zu", rows,
                            n_best);
    return 0;
}

/* Refuses fields for which this model has no data. */
static int check_model(const struct translator_info *info, const struct api_form *form,
                       enum api_kind kind, struct reply *reply) {
    if (kind == API_ALIGN && !info->attention)
        return reply_refuse(reply, "model", "model \"%.60s\" cannot align: it has no attention",
                            info->name);
    if (form->include & INCLUDE_QUALITY && !info->quality)
        return reply_refuse(
            reply, "include",
            "include must not contain quality: model \"%.60s\" does not estimate it", info->name);
    if (form->include & INCLUDE_HEADS && !info->heads)
        return reply_refuse(reply, "include",
                            "include must not contain heads: model \"%.60s\" has no heads",
                            info->name);
    if (info->attention)
        return 0;
    if (form->include & (INCLUDE_ATTENTION | INCLUDE_SCORES | INCLUDE_SOFT_ALIGNMENT |
                         INCLUDE_ALIGNMENT | INCLUDE_WORDS | INCLUDE_PHRASES))
        return reply_refuse(
            reply, "include",
            "include must not contain attention, scores, soft_alignment, alignment, words or "
            "phrases: "
            "model \"%.60s\" has no attention",
            info->name);
    if (form->search.coverage_penalty > 0)
        return reply_refuse(reply, "coverage_penalty",
                            "coverage_penalty must be 0: model \"%.60s\" has no attention",
                            info->name);
    if (form->force_attention)
        return reply_refuse(reply, "force_attention", "model \"%.60s\" has no attention to force",
                            info->name);
    return 0;
}

/* Refuses fields that apply only to a single model, for a text that two models translate. */
static int check_pivot(const struct api_form *form, const struct text *text, struct reply *reply) {
    const struct {
        const char *field;
        bool given;
    } fields[] = {{"force_attention", form->force_attention != NULL},
                  {"glossary", form->glossary != NULL},
                  {"prefix", *form->prefix != '\0'},
                  {"suffix", *form->suffix != '\0'},
                  {"stream", form->stream}};
    const char *first = text->model->info.name, *second = text->second->info.name;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].given)
            return reply_refuse(
                reply, fields[i].field,
                "%s must be omitted: the text is translated by two models, \"%.60s\" and \"%.60s\"",
                fields[i].field, first, second);
    if (form->include & (INCLUDE_HEADS | INCLUDE_QUALITY | INCLUDE_SCORES))
        return reply_refuse(
            reply, "include",
            "include must not contain heads, quality or scores: the text is translated by "
            "two models, \"%.60s\" and \"%.60s\"",
            first, second);
    return 0;
}

/* Refuses parts of the model's own sentences, which are those of the opposite pair. */
static int check_reversed(const struct api_form *form, const struct text *text,
                          struct reply *reply) {
    if (!(form->include & (INCLUDE_QUALITY | ~(unsigned)ALIGN_PARTS)))
        return 0;
    return reply_refuse(reply, "include",
                        "include must contain only words, phrases, alignment and offsets: the text "
                        "is aligned by a model of the opposite pair, \"%.60s\"",
                        text->model->info.name);
}

/* Checks everything that does not need the models' tokenizers. */
static int check_form(const struct service *service, enum api_kind kind, struct api_form *form,
                      size_t *count, struct request *request, struct reply *reply) {
    size_t translations = 0, most = service->options->max_text_chars,
           given[] = {utf8_count(form->prefix, strlen(form->prefix)),
                      utf8_count(form->suffix, strlen(form->suffix))};
    static const char *const ends[] = {"prefix", "suffix"};
    if (check_texts("text", form->text, most, count, reply) != 0 ||
        (form->translation &&
         check_texts("translation", form->translation, most, &translations, reply) != 0))
        return -1;
    if (form->translation &&
        (translations != *count || json_is_array(form->translation) != json_is_array(form->text)))
        return reply_refuse(reply, "translation",
                            "translation must be a string if text is a string, or an array as long "
                            "as text (%zu), got %zu",
                            *count, translations);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (form->translation && given[i] > 0)
            return reply_refuse(reply, ends[i], "%s must be empty when translation is given",
                                ends[i]);
        if (given[i] > most)
            return reply_fail(reply, STATUS_TOO_LARGE, ends[i],
                              "%s must have at most %zu characters, got %zu", ends[i], most,
                              given[i]);
    }
    const char *phrases = form->glossary ? "glossary" : form->protect ? "protect" : NULL;
    if (form->translation && phrases)
        return reply_refuse(reply, phrases, "%s must be omitted when translation is given",
                            phrases);
    if (form->translation && form->formality.form != FORMALITY_ANY)
        return reply_refuse(reply, "formality",
                            "formality must be omitted when translation is given");
    if (choose_models(service, form, *count, request, reply) != 0)
        return -1;

    if (form->include & INCLUDE_ALL) /* include everything that all models of the request have */
        form->include |= INCLUDE_EVERY & ~(unsigned)(INCLUDE_HEADS | INCLUDE_BEAM);
    for (size_t i = 0; form->include & INCLUDE_ALL && i < *count; i++) {
        const struct text *text = &form->texts[i];
        const struct translator_info *first = &text->model->info,
                                     *second = text->second ? &text->second->info : first;
        if (request->parameters.reversed)
            form->include &= ALIGN_PARTS;
        if (text->second || request->parameters.reversed || !first->quality)
            form->include &= ~(unsigned)INCLUDE_QUALITY;
        if (text->second)
            form->include &= ~(unsigned)INCLUDE_SCORES;
        if (!first->attention || !second->attention)
            form->include &=
                ~(unsigned)(INCLUDE_ATTENTION | INCLUDE_SCORES | INCLUDE_SOFT_ALIGNMENT |
                            INCLUDE_ALIGNMENT | INCLUDE_WORDS | INCLUDE_PHRASES);
    }
    form->include &= ~INCLUDE_ALL;
    parameters_settle(&form->search, &request->model->info, service->options->rows);
    if (check_numbers(form, service->options->rows, reply) != 0)
        return -1;
    if (form->force_attention && *count > 1)
        return reply_refuse(reply, "force_attention",
                            "force_attention must be used with one text only, got %zu", *count);
    if (form->include & INCLUDE_HEADS && *count > 1)
        return reply_refuse(reply, "include",
                            "include: heads must be used with one text only, got %zu", *count);
    for (size_t i = 0; i < *count; i++) {
        const struct text *text = &form->texts[i];
        if (i > 0 && text->model == text[-1].model && text->second == text[-1].second)
            continue;
        if (i > 0 && form->glossary)
            return reply_refuse(
                reply, "glossary",
                "glossary requires texts in one language, or source: they look like %s and %s",
                text[-1].detected, text->detected);
        if ((request->parameters.reversed && check_reversed(form, text, reply) != 0) ||
            (text->second && check_pivot(form, text, reply) != 0) ||
            check_model(&text->model->info, form, kind, reply) != 0 ||
            (text->second && check_model(&text->second->info, form, kind, reply) != 0))
            return -1;
    }
    return 0;
}

/* ---- texts with tags or marks, which are translated in segments ---- */

static bool may_be_marked(const struct request *request) {
    for (size_t i = 0; i < request->text_count; i++)
        if (document_text_may_be_marked(request->texts[i].source, request->texts[i].source_length))
            return true;
    return false;
}

/* If format is not text or a text has marks, sets request->plan and one text per segment. Returns
 * -1 after setting the reply. */
static int read_markup(const struct api_form *form, struct request *request, struct reply *reply) {
    bool text = strcmp(form->format, "text") == 0, marked = !text;
    struct error error = {0};
    request->plan = NULL; /* a request that waited for its model is read again */
    const char *unfit = text              ? NULL
                        : form->stream    ? "stream"
                        : form->prefix[0] ? "prefix"
                        : form->suffix[0] ? "suffix"
                                          : NULL;
    if (unfit)
        return reply_refuse(reply, unfit, "%s must be omitted when format is %s", unfit,
                            form->format);
    if (!text && form->include & INCLUDE_HEADS)
        return reply_refuse(reply, "include", "include must not contain heads when format is %s",
                            form->format);
    if (text && (request->parameters.verbatim || form->attention || form->translation ||
                 form->stream || form->prefix[0] || form->suffix[0] || form->force_attention ||
                 form->include & INCLUDE_HEADS || !may_be_marked(request)))
        return 0;

    /* each text is an item */
    static const struct xml_tags tags = {.outline = true};
    static const struct order markup = {0}, xml = {.tags = &tags};
    struct arena *arena = &request->arena;
    const struct translator_info *info = &request->model->info;
    const char *target = form->target_language ? form->target_language : info->target;
    struct plan *plan = arena_zalloc(arena, 1, sizeof *plan);
    struct plan_item *items = arena_zalloc(arena, request->text_count, sizeof *items);
    target = arena_copy(arena, target, strlen(target));
    if (!plan || !items || !target)
        return reply_fail_memory(reply);
    *plan = (struct plan){.items = items,
                          .count = request->text_count,
                          .strings = request->text_count,
                          .markup = !text,
                          .order = strcmp(form->format, "xml") == 0 ? &xml : &markup};
    for (size_t i = 0; i < plan->count; i++) {
        const struct text *whole = &request->texts[i];
        items[i] = (struct plan_item){
            .source = whole->source,
            .length = whole->source_length,
            .chosen = *whole,
            .source_language = whole->language ? whole->language : whole->model->info.source,
            .target_language = target,
            .string = i,
            .count = 1};
    }
    if (plan_parse(plan, arena, &error) != 0)
        return error.code == ERROR_INPUT ? reply_refuse(reply, "text", "text: %s", error.message)
                                         : reply_fail_memory(reply);
    for (size_t i = 0; i < plan->count; i++)
        marked |= items[i].marked;
    if (!marked)
        return 0;
    if (plan_cut(plan, request) != 0)
        return reply_fail_memory(reply);
    request->plan = plan;
    request->wanted.aligns = true;
    return 0;
}

/* ---- the dialect ---- */

static bool native_speaks(const struct dialect_fields *fields) {
    return dialect_has(fields, "text");
}

static enum api_kind kind_of(const struct dialect *dialect) {
    return dialect == &dialect_attention ? API_ATTENTION
           : dialect == &dialect_align   ? API_ALIGN
                                         : API_TRANSLATE;
}

static json_t *native_load(const struct call *call, struct reply *reply) {
    if (!native_speaks(&(struct dialect_fields){.call = call})) {
        reply_fail(reply, STATUS_INVALID, "text",
                   "text is missing: send a JSON object such as {\"text\": \"Hello.\"} or a form "
                   "with text; /translate also takes q");
        return NULL;
    }
    json_t *root = json_object();
    for (size_t i = 0; root && i < call->field_count; i++) {
        const struct api_field *sent = &call->fields[i];
        struct field field;
        const struct field_type *type =
            fields_find(sent->name, kind_of(reply->dialect), &field) ? field.type : NULL;
        json_t *former = json_object_get(root, sent->name);
        if (former && type && !type->several) {
            reply_fail(reply, STATUS_INVALID, sent->name, "%s must be given only once", sent->name);
            json_decref(root);
            return NULL;
        }
        json_t *value = fields_value(type, sent->value, sent->length); /* unknown fields are refused
                                                                          later */
        if (former) { /* join both values in an array, in order */
            json_t *all = json_array(), *const parts[] = {former, value};
            for (size_t p = 0; p < 2; p++)
                if (json_is_array(parts[p]))
                    json_array_extend(all, parts[p]);
                else
                    json_array_append(all, parts[p]);
            json_decref(value);
            value = all;
        }
        json_object_set_new(root, sent->name, value);
    }
    if (!value_lacked_memory())
        return root;
    json_decref(root);
    reply_fail_memory(reply);
    return NULL;
}

/* Checks all fields without tokenizing, and then looks up the answer or prepares the request. */
static void native_start(const struct dialect *dialect, const struct service *service, json_t *root,
                         struct request *request, struct reply *reply) {
    size_t count;
    enum api_kind kind = kind_of(dialect);
    struct api_form form = fields_default(kind);
    form.search.sampling.seed = parameters_seed();
    if (fields_read(root, kind, &form, reply) != 0 ||
        check_form(service, kind, &form, &count, request, reply) != 0 ||
        (form.force_attention && fields_read_forced(form.force_attention, request, reply) != 0) ||
        (form.glossary && terms_read_glossary(service, form.glossary, request, reply) != 0) ||
        (form.protect && terms_read_protect(form.protect, request, reply) != 0))
        return;

    struct arena *arena = &request->arena;
    request->texts = form.texts;
    request->account.characters = 0; /* a request that waited for its model is read again */
    for (size_t i = 0; i < count; i++) {
        const json_t *source = item(form.text, i),
                     *target = form.translation ? item(form.translation, i) : NULL;
        struct text *text = &request->texts[i];
        text->source_length = json_string_length(source);
        text->source = arena_copy(arena, json_string_value(source), text->source_length);
        text->target_length = json_string_length(target);
        text->target =
            target ? arena_copy(arena, json_string_value(target), text->target_length) : NULL;
        if (request->parameters.reversed) {
            const struct text sent = *text;
            text->source = sent.target;
            text->source_length = sent.target_length;
            text->target = sent.source;
            text->target_length = sent.source_length;
        }
        request->account.characters += utf8_count(json_string_value(source), text->source_length);
    }
    request->parameters.prefix_length = strlen(form.prefix);
    request->parameters.prefix = arena_copy(arena, form.prefix, request->parameters.prefix_length);
    request->parameters.suffix = arena_copy(arena, form.suffix, strlen(form.suffix));
    if (arena_failed(arena)) {
        reply_fail_memory(reply);
        return;
    }
    request->text_count = count;

    request->wanted.include = form.include;
    request->wanted.digits = (int)form.digits;
    request->wanted.links = form.links;
    request->wanted.aligns =
        kind == API_ALIGN ||
        (form.include & (INCLUDE_SOFT_ALIGNMENT | INCLUDE_ALIGNMENT | INCLUDE_WORDS |
                         INCLUDE_PHRASES | INCLUDE_QUALITY)) != 0;
    request->parameters.replace_unknowns = form.replace_unknowns;
    request->parameters.verbatim = request->parameters.verbatim || form.verbatim;
    request->parameters.formality = form.formality;
    request->wanted.streamed = form.stream;
    request->wanted.warns = form.warns;
    request->keeps = true;
    request->show = kind == API_ALIGN || form.stream ? NULL : members_show;
    request->target_name = "translation";
    request->parameters.split = form.split_given ? form.split : !form.translation;
    request->parameters.search = form.search;
    request->parameters.search.max_steps = service->options->search.max_steps;
    request->parameters.search.report.alternatives =
        kind == API_ALIGN || (form.include & (INCLUDE_TOP_K | INCLUDE_QUALITY)) != 0;
    request->parameters.search.report.tree = (form.include & INCLUDE_BEAM) != 0;
    request->parameters.search.max_rows = service->options->rows;
    if (kind == API_ALIGN) {
        bool whole = form.split_given && !form.split;
        request->parameters.split = false; /* each pair of sentences is a text */
        if (align_cut(request, whole, reply) != 0)
            return;
    }
    if ((kind != API_TRANSLATE || read_markup(&form, request, reply) == 0) &&
        !recall_answer(service, dialect->name, root, request, reply))
        decode_prepare(service, "text", request, reply);
}

/* Writes {"model","source","target", "translations" or "results": [{"text","sentences"}]}. */
static void native_finish(const struct service *service, struct request *request,
                          struct reply *reply) {
    if (decode_fail(request, reply))
        return;
    const struct translator_info *info = &request->model->info;
    const struct text *first = request->text_count > 0 && request->texts[0].second
                                   ? request->texts
                                   : NULL; /* set for two models */
    struct writer w = answer_begin(service);
    writer_begin_object(&w, NULL);
    bool many =
        request->parameters.language &&
        request->parameters.variant; /* the reply has the request's languages, not the model's */
    const char *source = first  ? first->model->info.source
                         : many ? request->parameters.language
                                : info->source,
               *target = many ? request->parameters.variant : info->target;
    bool reversed = request->parameters.reversed;
    writer_strings(&w, "model", info->name, "source", reversed ? target : source, "target",
                   reversed ? source : target, NULL);
    if (first)
        answer_put_pivot(first, &w);
    if (request->parameters.variant && !many)
        writer_string(&w, "variant", request->parameters.variant);
    if (request->parameters.search.strategy == &search_sample)
        writer_integer(&w, "seed", (int64_t)request->parameters.search.sampling.seed);
    if (request->pairs) {
        align_put_results(request, &w);
        writer_end_object(&w);
        answer_reply(service, reply, &w);
        return;
    }
    writer_begin_array(&w, kind_of(reply->dialect) == API_ATTENTION ? "results" : "translations");
    const struct plan *plan = request->plan;
    for (size_t i = 0, count = plan ? plan->count : request->text_count;
         i < count && !writer_ended(&w) && !request_is_over(request); i++)
        if (plan)
            answer_put_item(request, &plan->items[i], &w);
        else
            answer_put_text(request, &request->texts[i], NULL, NULL, &w);
    writer_end_array(&w);
    writer_end_object(&w);
    answer_reply(service, reply, &w);
}

static const char own_key[] = "Authorization: Bearer KEY, or X-Api-Key: KEY";

const struct dialect dialect_translate = {.name = "translate",
                                          .key = own_key,
                                          .speaks = native_speaks,
                                          .load = native_load,
                                          .start = native_start,
                                          .finish = native_finish};

const struct dialect dialect_align = {.name = "align",
                                      .key = own_key,
                                      .speaks = native_speaks,
                                      .load = native_load,
                                      .start = native_start,
                                      .finish = native_finish};

const struct dialect dialect_attention = {.name = "attention",
                                          .key = own_key,
                                          .speaks = native_speaks,
                                          .load = native_load,
                                          .start = native_start,
                                          .finish = native_finish};
