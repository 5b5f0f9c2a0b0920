/* The body of POST /translate and POST /attention -> struct request. */
#include "model/base/utf8.h"
#include "server/api/api_choose.h"
#include "server/api/api_form.h"
#include "server/base/clock.h"
#include "server/decode/parameters.h"
#include <math.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

static bool is_json_type(const char *content_type) {
    size_t length = content_type ? strcspn(content_type, "; \t") : 0;
    return (length == 16 && strncasecmp(content_type, "application/json", length) == 0) ||
           (length > 5 && strncasecmp(content_type + length - 5, "+json", 5) == 0);
}

static size_t count_blanks(const struct call *call) {
    size_t blank = 0;
    while (blank < call->length && strchr(" \t\r\n", call->body[blank]) && call->body[blank])
        blank++;
    return blank;
}

/* A body that begins with { or [ is JSON whatever its content type says, so that plain `curl -d` works. */
bool api_begins_json(const struct call *call) {
    size_t blank = count_blanks(call);
    return blank < call->length && (call->body[blank] == '{' || call->body[blank] == '[');
}

bool api_is_blank(const struct call *call) {
    return count_blanks(call) == call->length;
}

bool api_is_form(const struct call *call) {
    return (call->form || call->field_count > 0) && !api_begins_json(call);
}

json_t *api_load_value(const struct call *call, struct reply *reply) {
    if (api_is_blank(call)) {
        api_fail(reply, STATUS_INVALID, NULL, "the body is empty: send a JSON object, or the fields in the query string");
        return NULL;
    }
    if (!api_begins_json(call) && !is_json_type(call->content_type)) {
        api_fail(reply, STATUS_MEDIA_TYPE, NULL, "the body must be a JSON object (content type application/json)");
        return NULL;
    }
    if (memchr(call->body, '\0', call->length)) { /* jansson passes over one behind a number or a word */
        api_fail(reply, STATUS_INVALID, NULL, "the body is not valid JSON: it contains a zero byte");
        return NULL;
    }
    json_error_t error;
    json_t *root = api_load_json(call->body, call->length, JSON_REJECT_DUPLICATES, &error);
    if (api_lacked_memory()) { /* characters of a string may be missing */
        json_decref(root);
        root = NULL;
        api_fail_memory(reply);
    } else if (!root) {
        const char *what = json_error_code(&error) == json_error_invalid_utf8 ? "UTF-8" : "JSON";
        api_fail(reply, STATUS_INVALID, NULL, "the body is not valid %s: line %d, column %d: %s", what, error.line, error.column,
                 error.text);
    }
    return root;
}

json_t *api_load(const struct call *call, struct reply *reply) {
    json_t *root = api_load_value(call, reply);
    if (!root || json_is_object(root))
        return root;
    api_fail(reply, STATUS_INVALID, NULL, "the body must be a JSON object, got %s", api_type_name(root));
    json_decref(root);
    return NULL;
}

int api_check_fields(const struct call *call, struct reply *reply) {
    for (size_t i = 0; i < call->field_count; i++) {
        const struct api_field *field = &call->fields[i];
        if (utf8_valid(field->name, strlen(field->name)) && utf8_valid(field->value, field->length) &&
            !memchr(field->value, '\0', field->length))
            continue;
        api_fail(reply, STATUS_INVALID, NULL, "the fields are not valid UTF-8");
        return -1;
    }
    return 0;
}

static json_t *item(json_t *value, size_t i) {
    return json_is_array(value) ? json_array_get(value, i) : value;
}

static int check_texts(const char *field, const json_t *value, size_t *count, struct reply *reply) {
    if (!json_is_string(value) && !json_is_array(value))
        return api_refuse(reply, field, "%s must be a string or an array of strings, got %s", field, api_type_name(value));
    *count = json_is_array(value) ? json_array_size(value) : 1;
    if (*count < 1 || *count > API_MAX_TEXTS)
        return api_refuse(reply, field, "%s must contain between 1 and %d strings, got %zu", field, API_MAX_TEXTS, *count);
    for (size_t i = 0; json_is_array(value) && i < *count; i++) {
        if (!json_is_string(json_array_get(value, i)))
            return api_refuse(reply, field, "%s must be a string or an array of strings, got %s at index %zu", field,
                              api_type_name(json_array_get(value, i)), i);
    }
    return 0;
}

static int check_characters(const char *field, json_t *value, size_t count, size_t most, struct reply *reply) {
    size_t characters = 0;
    for (size_t i = 0; i < count; i++)
        characters += utf8_count(json_string_value(item(value, i)), json_string_length(item(value, i)));
    if (characters <= most)
        return 0;
    api_fail(reply, STATUS_TOO_LARGE, field, "%s must have at most %zu characters, got %zu", field, most, characters);
    return -1;
}

static int check_strings(const struct service *service, const struct api_form *form, size_t *count, struct reply *reply) {
    size_t targets = 0, most = service->options.max_text_chars;
    if (check_texts("text", form->text, count, reply) != 0 ||
        (form->translation && check_texts("translation", form->translation, &targets, reply) != 0))
        return -1;
    if (form->translation && (targets != *count || json_is_array(form->translation) != json_is_array(form->text)))
        return api_refuse(reply, "translation",
                          "translation must be a string if text is a string, or an array as long as text (%zu), got %zu", *count,
                          targets);
    if (check_characters("text", form->text, *count, most, reply) != 0)
        return -1;
    return form->translation ? check_characters("translation", form->translation, *count, most, reply) : 0;
}

static int check_prefix(const struct api_form *form, size_t most, struct reply *reply) {
    size_t characters = utf8_count(form->prefix, strlen(form->prefix));
    if (form->translation && characters > 0)
        return api_refuse(reply, "prefix", "prefix must be empty when translation is given");
    if (characters <= most)
        return 0;
    api_fail(reply, STATUS_TOO_LARGE, "prefix", "prefix must have at most %zu characters, got %zu", most, characters);
    return -1;
}

static int check_phrases(const struct api_form *form, const char *name, const json_t *value, struct reply *reply) {
    if (!value)
        return 0;
    if (form->translation)
        return api_refuse(reply, name, "%s must be omitted when translation is given", name);
    return 0;
}

static int copy_texts(const struct api_form *form, size_t count, struct request *request, struct reply *reply) {
    request->texts = arena_zalloc(&request->arena, count, sizeof *request->texts);
    request->characters = 0; /* it may have waited for its model, and be read again */
    for (size_t i = 0; request->texts && i < count; i++) {
        struct text *text = &request->texts[i];
        const struct choice *choice = &form->choices[i];
        json_t *source = item(form->text, i), *target = form->translation ? item(form->translation, i) : NULL;
        text->source_length = json_string_length(source);
        text->source = arena_copy(&request->arena, json_string_value(source), text->source_length);
        request->characters += utf8_count(json_string_value(source), text->source_length);
        text->target_length = json_string_length(target);
        text->model = choice->model;
        text->variant = choice->variant;
        text->second = choice->second;
        text->second_variant = choice->second_variant;
        text->detected = choice->detected;
        text->confidence = choice->confidence;
        text->target = target ? arena_copy(&request->arena, json_string_value(target), text->target_length) : NULL;
    }
    request->prefix_length = strlen(form->prefix);
    request->prefix = arena_copy(&request->arena, form->prefix, request->prefix_length);
    if (arena_failed(&request->arena)) {
        api_fail_memory(reply);
        return -1;
    }
    request->text_count = count;
    return 0;
}

/* How many hypotheses there can be: a beam, samples and an exact search have several. */
static int check_n_best(const struct api_form *form, size_t rows, struct reply *reply) {
    const struct search_options *search = &form->search;
    if (form->translation && search->n_best > 1)
        return api_refuse(reply, "n_best", "n_best must be 1 when translation is given, got %zu", search->n_best);
    if (search->strategy == &search_greedy && search->n_best > 1)
        return api_refuse(reply, "n_best", "n_best must be 1 when strategy is greedy, got %zu", search->n_best);
    if (search->strategy == &search_beam && search->n_best > search->beam_size)
        return api_refuse(reply, "n_best", "n_best must be between 1 and beam_size (%zu), got %zu", search->beam_size,
                          search->n_best);
    if (search->strategy == &search_sample && search->n_best > rows)
        return api_refuse(reply, "n_best", "n_best must be between 1 and %zu, got %zu", rows, search->n_best);
    return 0;
}

/* Limits of one field that another sets. */
static int check_numbers(const struct api_form *form, size_t rows, struct reply *reply) {
    const struct search_options *search = &form->search;
    if (parameters_beam(search) && search->beam_size > rows)
        return api_refuse(reply, "beam_size", "beam_size must be between 1 and %zu, got %zu", rows, search->beam_size);
    if (search->max_length > 0 && search->min_length > search->max_length)
        return api_refuse(reply, "min_length", "min_length must be between 0 and max_length (%zu), got %zu", search->max_length,
                          search->min_length);
    return check_n_best(form, rows, reply);
}

/* What some models have nothing for. */
static int check_model(const struct translator_info *info, const struct api_form *form, struct reply *reply) {
    if (form->include & INCLUDE_QUALITY && !info->quality)
        return api_refuse(reply, "include", "include must not contain quality: model \"%.60s\" does not estimate it", info->name);
    if (form->include & INCLUDE_HEADS && !info->heads)
        return api_refuse(reply, "include", "include must not contain heads: model \"%.60s\" has no heads", info->name);
    if (info->attention)
        return 0;
    if (form->include & (INCLUDE_ATTENTION | INCLUDE_SOFT_ALIGNMENT | INCLUDE_ALIGNMENT | INCLUDE_WORDS))
        return api_refuse(
            reply, "include",
            "include must not contain attention, soft_alignment, alignment or words: model \"%.60s\" has no attention", info->name);
    if (form->search.coverage_penalty > 0)
        return api_refuse(reply, "coverage_penalty", "coverage_penalty must be 0: model \"%.60s\" has no attention", info->name);
    if (form->force_attention)
        return api_refuse(reply, "force_attention", "model \"%.60s\" has no attention to force", info->name);
    return 0;
}

/* No more bits than a JavaScript number holds: any client can send it back. */
static uint64_t random_seed(void) {
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        seed = (uint64_t)clock_us();
    return seed >> 11;
}

static void fill_options(const struct api_form *form, const struct service_options *options, struct request *request) {
    request->include = form->include;
    request->digits = (int)form->digits;
    request->aligns = (form->include & (INCLUDE_SOFT_ALIGNMENT | INCLUDE_ALIGNMENT | INCLUDE_WORDS | INCLUDE_QUALITY)) != 0;
    request->replace_unknowns = form->replace_unknowns;
    request->verbatim = request->verbatim || form->verbatim;
    request->streamed = form->stream;
    request->warns = form->warns;
    request->target_name = "translation";
    request->split = form->split_given ? form->split : !form->translation;
    request->search = form->search;
    request->search.max_steps = options->max_steps;
    request->search.alternatives = (form->include & (INCLUDE_TOP_K | INCLUDE_QUALITY)) != 0;
    request->search.tree = (form->include & INCLUDE_BEAM) != 0;
    request->search.max_rows = options->rows;
}

/* Two models: what is said of one model's work has no meaning for theirs. */
static int check_pivot(const struct api_form *form, const struct choice *choice, struct reply *reply) {
    const struct {
        const char *field;
        bool given;
    } fields[] = {{"translation", form->translation != NULL},
                  {"force_attention", form->force_attention != NULL},
                  {"glossary", form->glossary != NULL},
                  {"prefix", *form->prefix != '\0'},
                  {"stream", form->stream}};
    const char *first = choice->model->info.name, *second = choice->second->info.name;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].given)
            return api_refuse(reply, fields[i].field,
                              "%s must be omitted: the text is translated by two models, \"%.60s\" and \"%.60s\"", fields[i].field,
                              first, second);
    if (form->include & (INCLUDE_HEADS | INCLUDE_QUALITY))
        return api_refuse(
            reply, "include",
            "include must not contain heads or quality: the text is translated by two models, \"%.60s\" and \"%.60s\"", first,
            second);
    return 0;
}

/* "all" is what the models have. */
static void settle_include(struct api_form *form, size_t count) {
    if (!(form->include & INCLUDE_ALL))
        return;
    form->include |= ((INCLUDE_HEADS << 1) - 1) & ~(unsigned)(INCLUDE_HEADS | INCLUDE_BEAM);
    for (size_t i = 0; i < count; i++) {
        const struct choice *choice = &form->choices[i];
        const struct translator_info *first = &choice->model->info, *second = choice->second ? &choice->second->info : first;
        if (choice->second || !first->quality)
            form->include &= ~(unsigned)INCLUDE_QUALITY;
        if (!first->attention || !second->attention)
            form->include &= ~(unsigned)(INCLUDE_ATTENTION | INCLUDE_SOFT_ALIGNMENT | INCLUDE_ALIGNMENT | INCLUDE_WORDS);
    }
    form->include &= ~INCLUDE_ALL;
}

/* What the models of the texts do not go together with. */
static int check_choices(const struct api_form *form, size_t count, struct reply *reply) {
    for (size_t i = 0; i < count; i++) {
        const struct choice *choice = &form->choices[i];
        if (i > 0 && choice->model == choice[-1].model && choice->second == choice[-1].second)
            continue;
        if (i > 0 && form->glossary)
            return api_refuse(reply, "glossary", "glossary requires texts in one language, or source: they look like %s and %s",
                              choice[-1].detected, choice->detected);
        if ((choice->second && check_pivot(form, choice, reply) != 0) || check_model(&choice->model->info, form, reply) != 0 ||
            (choice->second && check_model(&choice->second->info, form, reply) != 0))
            return -1;
    }
    return 0;
}

/* Everything that can be said without the model's tokenizers. */
static int check_form(const struct service *service, struct api_form *form, size_t *count, struct request *request,
                      struct reply *reply) {
    if (check_strings(service, form, count, reply) != 0 || check_prefix(form, service->options.max_text_chars, reply) != 0 ||
        check_phrases(form, "glossary", form->glossary, reply) != 0 || check_phrases(form, "protect", form->protect, reply) != 0 ||
        choose_models(service, form, *count, request, reply) != 0)
        return -1;
    settle_include(form, *count);
    parameters_settle(&form->search, &request->model->info, service->options.rows);
    if (check_numbers(form, service->options.rows, reply) != 0)
        return -1;
    if (form->force_attention && *count > 1)
        return api_refuse(reply, "force_attention", "force_attention must be used with one text only, got %zu", *count);
    if (form->include & INCLUDE_HEADS && *count > 1)
        return api_refuse(reply, "include", "include: heads must be used with one text only, got %zu", *count);
    return check_choices(form, *count, reply);
}

int api_parse(const struct service *service, json_t *root, enum api_kind kind, struct request *request, struct reply *reply) {
    size_t count;
    struct api_form form = api_default_form(kind);
    int result = -1;
    form.search.sampling.seed = random_seed();
    if (api_read_form(root, kind, &form, reply) == 0 && check_form(service, &form, &count, request, reply) == 0 &&
        (!form.force_attention || api_read_forced(form.force_attention, request, reply) == 0) &&
        (!form.glossary || api_read_glossary(service, form.glossary, request, reply) == 0) &&
        (!form.protect || api_read_protect(form.protect, request, reply) == 0) && copy_texts(&form, count, request, reply) == 0) {
        fill_options(&form, &service->options, request);
        result = kind == API_TRANSLATE ? api_read_markup(&form, request, reply) : 0;
    }
    return result;
}
