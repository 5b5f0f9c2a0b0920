/* POST /translate in LibreTranslate's dialect: its fields, its words for errors, its answers. Unknown fields are ignored, since
 * its clients send some of their own. */
#include "server/api/api_libre.h"
#include "model/base/utf8.h"
#include "server/api/language.h"
#include "server/decode/parameters.h"
#include <errno.h>
#include <string.h>

enum { CODE_BYTES = 32 };

/* The fields as sent; strings are borrowed from the JSON. */
struct libre_form {
    const json_t *q;
    const char *source, *target, *format;
};

#define fail(reply, field, ...) (api_fail(reply, STATUS_INVALID, field, __VA_ARGS__), -1)

/* ---- fields ---- */

/* Without text it is LibreTranslate's where only its clients would send such a thing. */
bool api_libre_speaks(const json_t *root) {
    if (json_object_get(root, "text"))
        return false;
    return json_object_get(root, "q") || (json_object_get(root, "source") && json_object_get(root, "target")) ||
           json_object_get(root, "format") || json_object_get(root, "alternatives") || json_object_get(root, "api_key");
}

json_t *api_libre_load(const struct call *call, struct reply *reply) {
    if (api_check_fields(call, reply) != 0)
        return NULL;
    json_t *root = json_object();
    for (size_t i = 0; root && i < call->field_count; i++) {
        const struct api_field *field = &call->fields[i];
        if (!json_object_get(root, field->name)) /* the first one counts */
            json_object_set_new(root, field->name, json_stringn(field->value, field->length));
    }
    if (!api_lacked_memory())
        return root;
    json_decref(root);
    api_fail_memory(reply);
    return NULL;
}

const json_t *api_libre_item(const json_t *q, size_t i) {
    return json_is_array(q) ? json_array_get(q, i) : q;
}

int api_libre_count(const json_t *q, size_t *count, struct reply *reply) {
    *count = json_is_array(q) ? json_array_size(q) : 1;
    if (!q || json_is_null(q) || *count == 0 || (json_is_string(q) && json_string_length(q) == 0))
        return fail(reply, "q", "Invalid request: missing q parameter");
    if (*count > API_MAX_TEXTS)
        return fail(reply, "q", "Invalid request: request (%zu) exceeds text limit (%d)", *count, API_MAX_TEXTS);
    for (size_t i = 0; i < *count; i++) {
        if (!json_is_string(api_libre_item(q, i)))
            return fail(reply, "q", "Invalid request: q parameter is not a string or an array of strings");
    }
    return 0;
}

static int read_string(const json_t *root, const char *name, const char **out, struct reply *reply) {
    const json_t *value = json_object_get(root, name);
    if (value && !json_is_null(value) && !json_is_string(value))
        return fail(reply, name, "Invalid request: %s parameter is not a string", name);
    *out = json_is_string(value) && json_string_length(value) > 0 ? json_string_value(value) : NULL;
    return 0;
}

static int read_code(const json_t *root, const char *name, const char **out, struct reply *reply) {
    if (read_string(root, name, out, reply) != 0)
        return -1;
    return *out ? 0 : fail(reply, name, "Invalid request: missing %s parameter", name);
}

/* A number, or one in a string as forms have it. */
static int read_alternatives(const json_t *root, size_t most, struct plan *plan, struct reply *reply) {
    const char *name = "alternatives";
    const json_t *value = json_object_get(root, name);
    if (!value || json_is_null(value) || (json_is_string(value) && json_string_length(value) == 0))
        return 0;
    long long number = json_integer_value(value);
    char *end = NULL;
    errno = 0;
    if (json_is_string(value))
        number = strtoll(json_string_value(value), &end, 10);
    if (errno != 0 || (json_is_string(value) ? *end != '\0' : !json_is_integer(value)))
        return fail(reply, name, "Invalid request: alternatives parameter is not a number");
    if (number > (long long)most)
        return fail(reply, name, "Invalid request: alternatives parameter must be <= %zu", most);
    plan->alternatives = number > 0 ? (size_t)number : 0;
    plan->asked_alternatives = number > 0;
    return 0;
}

static size_t max_beam(const struct service *service) {
    return service->options.rows < REQUEST_MAX_BEAM ? service->options.rows : REQUEST_MAX_BEAM;
}

static int read_form(const struct service *service, const json_t *root, struct libre_form *form, struct plan *plan,
                     struct reply *reply) {
    form->q = json_object_get(root, "q");
    if (api_libre_count(form->q, &plan->count, reply) != 0 || read_code(root, "source", &form->source, reply) != 0 ||
        read_code(root, "target", &form->target, reply) != 0 || read_string(root, "format", &form->format, reply) != 0 ||
        read_alternatives(root, max_beam(service) - 1, plan, reply) != 0)
        return -1;
    if (form->format && strcmp(form->format, "text") != 0 && strcmp(form->format, "html") != 0)
        return fail(reply, "format", "%.60s format is not supported", form->format);
    plan->array = json_is_array(form->q);
    plan->markup = form->format && strcmp(form->format, "html") == 0;
    return 0;
}

/* ---- languages ---- */

static bool translates(const struct translator_info *info) {
    return strcmp(info->task, "translation") == 0;
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
            if (translates(info) && language_same(info->source, code))
                return info->source;
            if (translates(info) && language_same(info->target, code))
                return info->target;
        }
    } while (language_widen(code));
    return NULL;
}

struct api_guess api_libre_detect(const struct model_set *models, const json_t *q, bool markup) {
    const char *codes[MODEL_SET_MAX];
    size_t count = 0, length = 0, items = json_is_array(q) ? json_array_size(q) : 1;
    for (size_t i = 0; i < models->count; i++) {
        if (translates(&models->all[i].info))
            codes[count++] = models->all[i].info.source;
    }
    for (size_t i = 0; i < items; i++)
        length += json_string_length(api_libre_item(q, i)) + 1;
    char *text = count > 0 ? malloc(length) : NULL, *end = text;
    if (!text)
        return (struct api_guess){count > 0 ? NULL : "en", 0};
    for (size_t i = 0; i < items; i++) {
        const json_t *item = api_libre_item(q, i);
        end = mempcpy(mempcpy(end, json_string_value(item), json_string_length(item)), "\n", 1);
    }
    struct language_guess guess = language_detect(text, length - 1, markup, codes, count);
    free(text);
    return (struct api_guess){guess.failed ? NULL : codes[guess.index], guess.confidence};
}

static int fail_pair(const char *source, const char *target, struct reply *reply) {
    char from[LANGUAGE_NAME_BYTES], to[LANGUAGE_NAME_BYTES];
    language_name(source, from);
    language_name(target, to);
    return fail(reply, "target", "%s (%s) is not available as a target language from %s (%s)", to, target, from, source);
}

/* By the pair of languages; of several models the first. */
static int choose_model(const struct model_set *models, const char *source, const char *target, struct plan *plan,
                        struct request *request, struct reply *reply) {
    plan->same = language_same(source, target);
    for (size_t i = 0; i < models->count; i++) {
        const struct translator_info *info = &models->all[i].info;
        if (translates(info) && language_same(info->source, source) && language_same(info->target, target)) {
            request->model = &models->all[i];
            return 0;
        }
    }
    return plan->same ? 0 : fail_pair(source, target, reply);
}

static int choose_languages(const struct libre_form *form, struct plan *plan, struct request *request, struct reply *reply) {
    const struct model_set *models = request->models;
    const char *source = form->source, *target = find_language(models, form->target);
    if (language_same(source, "auto")) {
        struct api_guess guess = api_libre_detect(models, form->q, plan->markup);
        if (!guess.code) {
            api_fail_memory(reply);
            return -1;
        }
        source = plan->detected = guess.code;
        plan->confidence = guess.confidence;
    }
    const char *known = find_language(models, source);
    if (!known)
        return fail(reply, "source", "%.60s is not supported", form->source);
    if (!target)
        return fail(reply, "target", "%.60s is not supported", form->target);
    return choose_model(models, known, target, plan, request, reply);
}

/* ---- texts ---- */

static int add_segments(struct item *item, struct arena *arena, struct error *err) {
    if (html_parse(item->source, item->length, arena, &item->html, err) != 0)
        return -1;
    item->count = item->html.count;
    return 0;
}

static size_t count_characters(const struct item *item, bool markup) {
    size_t characters = 0;
    if (!markup)
        return utf8_count(item->source, item->length);
    for (size_t i = 0; i < item->html.count; i++)
        characters += utf8_count(item->html.segments[i].text, item->html.segments[i].length);
    return characters;
}

static int copy_items(const struct libre_form *form, struct plan *plan, struct request *request, size_t *characters,
                      struct error *err) {
    plan->items = arena_zalloc(&request->arena, plan->count, sizeof *plan->items);
    for (size_t i = 0; plan->items && i < plan->count; i++) {
        const json_t *string = api_libre_item(form->q, i);
        struct item *item = &plan->items[i];
        item->length = json_string_length(string);
        item->source = arena_copy(&request->arena, json_string_value(string), item->length);
        item->count = 1;
        if (!item->source)
            return error_memory(err);
        if (plan->markup && add_segments(item, &request->arena, err) != 0)
            return -1;
        *characters += count_characters(item, plan->markup);
    }
    return plan->items ? 0 : error_memory(err);
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
        struct item *item = &plan->items[i];
        item->texts = text;
        for (size_t j = 0; j < item->count; j++, text++) {
            text->source = plan->markup ? item->html.segments[j].text : item->source;
            text->source_length = plan->markup ? item->html.segments[j].length : item->length;
        }
    }
    request->text_count = count;
    return 0;
}

static int read_texts(const struct service *service, const struct libre_form *form, struct plan *plan, struct request *request,
                      struct reply *reply) {
    size_t characters = 0, most = service->options.max_text_chars;
    struct error error = {0};
    if (copy_items(form, plan, request, &characters, &error) != 0) {
        if (error.code == ERROR_INPUT)
            return fail(reply, "q", "Invalid request: %s", error.message);
        api_fail_memory(reply);
        return -1;
    }
    if (characters > most) {
        api_fail(reply, STATUS_TOO_LARGE, "q", "Invalid request: request (%zu) exceeds text limit (%zu)", characters, most);
        return -1;
    }
    if (!plan->same && make_texts(plan, request) != 0) {
        api_fail_memory(reply);
        return -1;
    }
    return 0;
}

static void fill_options(const struct service *service, const struct plan *plan, struct request *request) {
    struct search_options *search = &request->search;
    request->split = true;
    request->replace_unknowns = true;
    *search = parameters_default(max_beam(service));
    search->n_best = plan->markup ? 1 : plan->alternatives + 1;
    if (search->beam_size < search->n_best)
        search->beam_size = search->n_best;
}

void api_libre_start(const struct service *service, const json_t *root, struct request *request, struct reply *reply) {
    struct libre_form form = {0};
    struct plan *plan = arena_zalloc(&request->arena, 1, sizeof *plan);
    request->plan = plan;
    if (!plan) {
        api_fail_memory(reply);
        return;
    }
    if (read_form(service, root, &form, plan, reply) != 0 || choose_languages(&form, plan, request, reply) != 0 ||
        read_texts(service, &form, plan, request, reply) != 0)
        return;
    fill_options(service, plan, request);
    if (!plan->same && !api_recall(service, "libre", root, request, reply))
        api_prepare(service, "q", request, reply);
}
