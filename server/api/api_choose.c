#include "server/api/api_choose.h"
#include "server/api/language.h"
#include "server/models/variant.h"
#include <stdio.h>
#include <string.h>

enum { MISFIT = 2 * LANGUAGE_FAR, PAIRS_BYTES = 240 };

static int target_distance(const struct translator_info *info, const char *code) {
    return variant_for(info, code) ? 0 : language_distance(info->target, code);
}

/* How far a model is from what is asked for; what is not said fits any. A folder that cannot be read has no languages. */
static int misfit(const struct translator_info *info, const struct api_form *form) {
    if (form->model ? strcmp(form->model, info->name) != 0 : !*info->source)
        return MISFIT;
    if (form->variant && !variant_for(info, form->variant))
        return MISFIT;
    int source = form->source ? language_distance(info->source, form->source) : 0;
    int target = form->target_language ? target_distance(info, form->target_language) : 0;
    return source < LANGUAGE_FAR && target < LANGUAGE_FAR ? source + target : MISFIT;
}

static bool matches(const struct translator_info *info, const struct api_form *form) {
    return misfit(info, form) < MISFIT;
}

/* The model that fits best; of several the default one or, where it is none of them, the first. */
static struct served_model *find_model(const struct model_set *models, const char *usual, const struct api_form *form) {
    struct served_model *model = NULL;
    int least = MISFIT;
    for (size_t i = 0; i < models->count; i++) {
        int far = misfit(&models->all[i]->info, form);
        bool preferred = model && far == least && usual && strcmp(models->all[i]->info.name, usual) == 0;
        if (far < least || (far < MISFIT && preferred)) {
            least = far;
            model = models->all[i];
        }
    }
    return model;
}

/* ---- refusals ---- */

/* "en-fr, fr-en": the pairs of the models that match, each once, as many as there is room for. Returns how many pairs there are. */
static size_t list_pairs(const struct model_set *models, const struct api_form *form, char text[PAIRS_BYTES]) {
    size_t pairs = 0, length = 0, left_out = 0;
    *text = '\0';
    for (size_t i = 0; i < models->count; i++) {
        const struct translator_info *info = &models->all[i]->info;
        size_t j = 0;
        while (j < i && !(matches(&models->all[j]->info, form) && language_same(models->all[j]->info.source, info->source) &&
                          language_same(models->all[j]->info.target, info->target)))
            j++;
        if (!matches(info, form) || j < i)
            continue;
        pairs++;
        char pair[2 * LANGUAGE_CODE_BYTES];
        size_t bytes = (size_t)snprintf(pair, sizeof pair, "%s%.15s-%.15s", length > 0 ? ", " : "", info->source, info->target);
        if (left_out > 0 || length + bytes + sizeof ", and 4294967295 more" > PAIRS_BYTES)
            left_out++;
        else
            length += (size_t)snprintf(text + length, PAIRS_BYTES - length, "%s", pair);
    }
    if (left_out > 0)
        snprintf(text + length, PAIRS_BYTES - length, ", and %zu more", left_out);
    return pairs;
}

/* What is said of the languages fits models for several pairs, and none of these is the default one. */
static int fail_pairs(const struct api_form *form, const char *pairs, struct reply *reply) {
    return form->source
               ? api_refuse(reply, "target", "target is missing: the models from \"%.60s\" are for %s", form->source, pairs)
               : api_refuse(reply, "target", "source and target are missing, and so is model: the models are for %s", pairs);
}

/* No model fits, and perhaps one would without the variant. */
static int fail_variant(const struct model_set *models, const struct api_form *form, struct reply *reply);

/* Which of the fields that choose a model is to blame for there being none. */
static int fail_model(const struct model_set *models, const struct api_form *form, struct reply *reply) {
    bool known_model = !form->model, known_source = !form->source;
    for (size_t i = 0; i < models->count; i++) {
        known_model |= matches(&models->all[i]->info, &(struct api_form){.model = form->model});
        known_source |= matches(&models->all[i]->info, &(struct api_form){.model = form->model, .source = form->source});
    }
    if (!known_model)
        return api_refuse(reply, "model", "no model \"%.60s\" is loaded", form->model);
    if (form->variant)
        return fail_variant(models, form, reply);
    const char *which = form->model ? "this model does not translate" : "no model translates";
    if (!known_source)
        return api_refuse(reply, "source", "%s from \"%.60s\"", which, form->source);
    if (!form->source)
        return api_refuse(reply, "target", "%s to \"%.60s\"", which, form->target_language);
    return api_refuse(reply, "target", "%s from \"%.60s\" to \"%.60s\"", which, form->source, form->target_language);
}

static int fail_variant(const struct model_set *models, const struct api_form *form, struct reply *reply) {
    struct api_form other = *form;
    other.variant = NULL;
    struct served_model *model = find_model(models, NULL, &other);
    if (!model)
        return fail_model(models, &other, reply);
    return api_refuse(reply, "variant", "model \"%.60s\" has no variant \"%.60s\"", model->info.name, form->variant);
}

/* /attention once took a translation by this name: whoever sends one still is told so. */
static int check_target(const struct model_set *models, const struct api_form *form, struct reply *reply) {
    char codes[PAIRS_BYTES] = "";
    size_t length = 0;
    for (size_t i = 0; i < models->count; i++) {
        const struct translator_info *info = &models->all[i]->info;
        if (*info->source && target_distance(info, form->target_language) < LANGUAGE_FAR)
            return 0;
        size_t j = 0;
        while (j < i && !language_same(models->all[j]->info.target, info->target))
            j++;
        if (*info->target && j == i && length + LANGUAGE_CODE_BYTES + 2 < sizeof codes)
            length += (size_t)snprintf(codes + length, sizeof codes - length, "%s%.15s", length > 0 ? ", " : "", info->target);
    }
    return api_refuse(reply, "target",
                      "target must be a language code, one of %s, got \"%.60s\"; send your own translation in "
                      "\"translation\"",
                      codes, form->target_language);
}

/* ---- choices ---- */

/* The model or the two for form->source and form->target_language. */
static int choose(const struct service *service, const struct api_form *form, const struct model_set *models, struct choice *choice,
                  struct reply *reply) {
    bool pair = !form->model && !form->variant && form->source && form->target_language;
    struct api_pivot pivot;
    struct served_model *last = choice->model = find_model(models, service->options.default_model, form);
    choice->second = NULL;
    if (!last && pair && api_find_pivot(models, service->options.pivot, form->source, form->target_language, &pivot)) {
        choice->model = pivot.first;
        choice->variant = pivot.first_variant;
        last = choice->second = pivot.second;
    }
    if (!last)
        return fail_model(models, form, reply);

    /* What says nothing else gets the variant of the model's own target. */
    const char *code = form->variant ? form->variant : form->target_language;
    const char *variant = code ? variant_for(&last->info, code) : NULL;
    if (!variant)
        variant = variant_usual(&last->info);
    *(choice->second ? &choice->second_variant : &choice->variant) = variant;
    if (variant || !variant_must_be(&last->info))
        return 0;
    return api_refuse(reply, "variant", "variant is missing: model \"%.60s\" writes %zu languages, such as %.60s", last->info.name,
                      last->info.variant_count, last->info.variants[0]);
}

static void add_code(const char **codes, size_t *count, const char *code) {
    for (size_t i = 0; i < *count; i++)
        if (language_same(codes[i], code))
            return;
    codes[(*count)++] = code;
}

/* The languages from which the request's target can be reached, by one model, then by two; in the arena. NULL: memory is out. */
static const char **find_sources(const struct service *service, const struct api_form *form, const struct model_set *models,
                                 struct arena *arena, size_t *count) {
    const char **codes = arena_alloc(arena, 2 * models->count + 1, sizeof *codes);
    struct api_pivot pivot;
    *count = 0;
    for (size_t i = 0; codes && i < models->count; i++)
        if (matches(&models->all[i]->info, form))
            add_code(codes, count, models->all[i]->info.source);
    for (size_t i = 0; codes && !form->model && !form->variant && form->target_language && i < models->count; i++) {
        const char *source = models->all[i]->info.source;
        if (*source && api_find_pivot(models, service->options.pivot, source, form->target_language, &pivot))
            add_code(codes, count, source);
    }
    return codes;
}

/* The texts may be in several languages, and then have several models. */
static int choose_detected(const struct service *service, struct api_form *form, size_t count, struct request *request,
                           struct reply *reply) {
    size_t code_count;
    const char **codes = find_sources(service, form, request->models, &request->arena, &code_count);
    struct choice *chosen = arena_zalloc(&request->arena, code_count + 1, sizeof *chosen); /* of each code; model NULL: not yet */
    if (!codes || !chosen) {
        api_fail_memory(reply);
        return -1;
    }
    if (code_count == 0)
        return fail_model(request->models, form, reply);
    for (size_t i = 0; i < count; i++) {
        const json_t *text = json_is_array(form->text) ? json_array_get(form->text, i) : form->text;
        struct language_guess guess = language_detect(json_string_value(text), json_string_length(text), false, codes, code_count);
        if (guess.failed) {
            api_fail_memory(reply);
            return -1;
        }
        form->source = codes[guess.index];
        if (!chosen[guess.index].model && choose(service, form, request->models, &chosen[guess.index], reply) != 0)
            return -1;
        form->choices[i] = chosen[guess.index];
        form->choices[i].detected = form->source;
        form->choices[i].confidence = guess.confidence / 100;
    }
    return 0;
}

int choose_models(const struct service *service, struct api_form *form, size_t count, struct request *request,
                  struct reply *reply) {
    char pairs[PAIRS_BYTES];
    const char *usual = service->options.default_model;
    bool automatic = form->source && language_same(form->source, "auto");
    if (automatic)
        form->source = NULL;
    form->choices = arena_zalloc(&request->arena, count, sizeof *form->choices);
    if (!form->choices) {
        api_fail_memory(reply);
        return -1;
    }
    if (form->attention && form->target_language && check_target(request->models, form, reply) != 0)
        return -1;

    bool usual_fits = false;
    for (size_t i = 0; usual && i < request->models->count; i++)
        usual_fits |= strcmp(request->models->all[i]->info.name, usual) == 0 && matches(&request->models->all[i]->info, form);
    if (!form->model && !form->target_language && !form->variant) {
        if (!usual_fits && list_pairs(request->models, form, pairs) > 1)
            return fail_pairs(form, pairs, reply);
        form->model = usual_fits ? usual : NULL;
    }
    bool detects = !form->source && (automatic || (form->target_language && !form->model));
    if (detects ? choose_detected(service, form, count, request, reply) != 0
                : choose(service, form, request->models, &form->choices[0], reply) != 0)
        return -1;
    for (size_t i = 1; !detects && i < count; i++)
        form->choices[i] = form->choices[0];
    request->model = form->choices[0].second ? form->choices[0].second : form->choices[0].model;
    request->variant = form->choices[0].second ? form->choices[0].second_variant : form->choices[0].variant;
    return 0;
}
