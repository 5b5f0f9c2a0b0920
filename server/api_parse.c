/* The body of POST /translate and POST /attention -> struct request. Strict: an unknown field is an error, so that a typo is not
 * silently ignored. */
#include "server/api_json.h"
#include "server/utf8.h"
#include <math.h>
#include <string.h>
#include <strings.h>

enum { MAX_TEXTS = API_MAX_TEXTS, BOTH = API_TRANSLATE | API_ATTENTION, DEFAULT_BEAM_SIZE = 5 };

/* The fields as sent. Strings and values are borrowed from the JSON. */
struct form {
    json_t *text, *target;
    const char *model, *source, *target_language, *strategy;
    size_t beam_size, n_best, min_length, max_length;
    double length_penalty;
    bool split, split_given, replace_unknowns;
    unsigned include;
};

struct field {
    const char *name;
    int kinds; /* enum api_kind: endpoints that know it */
    int (*read)(const struct field *field, json_t *value, void *out, struct reply *reply);
    size_t offset; /* in struct form */
    double minimum, maximum;
};

static const struct {
    const char *name;
    unsigned bit;
} includes[] = {
    {"tokens", INCLUDE_TOKENS},   {"log_probs", INCLUDE_LOG_PROBS}, {"attention", INCLUDE_ATTENTION},
    {"words", INCLUDE_WORDS},     {"alignment", INCLUDE_ALIGNMENT}, {"offsets", INCLUDE_OFFSETS},
    {"entropy", INCLUDE_ENTROPY}, {"timing", INCLUDE_TIMING},       {"eos", INCLUDE_EOS},
};
enum { INCLUDE_COUNT = sizeof includes / sizeof includes[0] };

#define fail(reply, field, ...) (api_fail(reply, STATUS_INVALID, field, __VA_ARGS__), -1)

static const char *type_name(const json_t *value) {
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    default:
        return "null";
    }
}

static int read_value(const struct field *field, json_t *value, void *out, struct reply *reply) {
    (void)field;
    (void)reply;
    *(json_t **)out = value;
    return 0;
}

static int read_string(const struct field *field, json_t *value, void *out, struct reply *reply) {
    if (!json_is_string(value))
        return fail(reply, field->name, "%s must be a string, got %s", field->name, type_name(value));
    *(const char **)out = json_string_value(value);
    return 0;
}

static int read_strategy(const struct field *field, json_t *value, void *out, struct reply *reply) {
    const char *name;
    if (read_string(field, value, &name, reply) != 0)
        return -1;
    /* the request outlives the JSON: it keeps names of its own */
    const char *known = strcmp(name, "greedy") == 0 ? "greedy" : strcmp(name, "beam") == 0 ? "beam" : NULL;
    if (!known)
        return fail(reply, field->name, "%s must be greedy or beam, got \"%.60s\"", field->name, name);
    *(const char **)out = known;
    return 0;
}

static int read_integer(const struct field *field, json_t *value, void *out, struct reply *reply) {
    if (!json_is_integer(value))
        return fail(reply, field->name, "%s must be an integer, got %s", field->name, type_name(value));
    json_int_t number = json_integer_value(value);
    if (number < (json_int_t)field->minimum || number > (json_int_t)field->maximum)
        return fail(reply, field->name, "%s must be between %.0f and %.0f, got %lld", field->name, field->minimum, field->maximum,
                    (long long)number);
    *(size_t *)out = (size_t)number;
    return 0;
}

static int read_real(const struct field *field, json_t *value, void *out, struct reply *reply) {
    if (!json_is_number(value))
        return fail(reply, field->name, "%s must be a number, got %s", field->name, type_name(value));
    double number = json_number_value(value);
    if (!(number >= field->minimum && number <= field->maximum))
        return fail(reply, field->name, "%s must be between %g and %g, got %g", field->name, field->minimum, field->maximum,
                    number);
    *(double *)out = number;
    return 0;
}

static int read_boolean(const struct field *field, json_t *value, void *out, struct reply *reply) {
    if (!json_is_boolean(value))
        return fail(reply, field->name, "%s must be true or false, got %s", field->name, type_name(value));
    *(bool *)out = json_is_true(value);
    return 0;
}

/* Also notes that the field was there: its default depends on another field. */
static int read_split(const struct field *field, json_t *value, void *out, struct reply *reply) {
    struct form *form = out;
    form->split_given = true;
    return read_boolean(field, value, &form->split, reply);
}

static int read_include_name(const struct field *field, const json_t *value, unsigned *bits, struct reply *reply) {
    if (!json_is_string(value))
        return fail(reply, field->name, "%s must be an array of strings", field->name);
    for (size_t i = 0; i < INCLUDE_COUNT; i++) {
        if (strcmp(json_string_value(value), includes[i].name) == 0) {
            *bits |= includes[i].bit;
            return 0;
        }
    }
    return fail(reply, field->name,
                "%s must be any of tokens, log_probs, attention, alignment, words, offsets, entropy, timing, eos, got \"%.60s\"",
                field->name, json_string_value(value));
}

static int read_include(const struct field *field, json_t *value, void *out, struct reply *reply) {
    if (!json_is_array(value))
        return fail(reply, field->name, "%s must be an array of strings, got %s", field->name, type_name(value));
    unsigned bits = 0;
    for (size_t i = 0; i < json_array_size(value); i++) {
        if (read_include_name(field, json_array_get(value, i), &bits, reply) != 0)
            return -1;
    }
    *(unsigned *)out = bits;
    return 0;
}

#define FORM(name) offsetof(struct form, name)

static const struct field fields[] = {
    {"text", BOTH, read_value, FORM(text), 0, 0},
    {"model", BOTH, read_string, FORM(model), 0, 0},
    {"source", BOTH, read_string, FORM(source), 0, 0},
    {"target", API_TRANSLATE, read_string, FORM(target_language), 0, 0},
    {"target", API_ATTENTION, read_value, FORM(target), 0, 0},
    {"strategy", BOTH, read_strategy, FORM(strategy), 0, 0},
    {"beam_size", BOTH, read_integer, FORM(beam_size), 1, REQUEST_MAX_BEAM},
    {"n_best", BOTH, read_integer, FORM(n_best), 1, REQUEST_MAX_BEAM},
    {"length_penalty", BOTH, read_real, FORM(length_penalty), 0, 2},
    {"min_length", BOTH, read_integer, FORM(min_length), 0, TRANSLATOR_MAX_TARGET},
    {"max_length", BOTH, read_integer, FORM(max_length), 1, TRANSLATOR_MAX_TARGET},
    {"split_sentences", BOTH, read_split, 0, 0, 0},
    {"replace_unknowns", BOTH, read_boolean, FORM(replace_unknowns), 0, 0},
    {"include", BOTH, read_include, FORM(include), 0, 0},
};

static const struct field *find_field(const char *name, enum api_kind kind) {
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if ((fields[i].kinds & (int)kind) && strcmp(fields[i].name, name) == 0)
            return &fields[i];
    }
    return NULL;
}

static int read_form(json_t *root, enum api_kind kind, struct form *form, struct reply *reply) {
    const char *name;
    json_t *value;
    json_object_foreach(root, name, value) {
        const struct field *field = find_field(name, kind);
        if (!field)
            return fail(reply, name, "unknown field \"%.60s\"", name);
        if (field->read(field, value, (char *)form + field->offset, reply) != 0)
            return -1;
    }
    if (!form->text)
        return fail(reply, "text", "text is missing");
    return 0;
}

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

/* A body that begins with { is JSON whatever its content type says, so that plain `curl -d` works. */
bool api_begins_object(const struct call *call) {
    size_t blank = count_blanks(call);
    return blank < call->length && call->body[blank] == '{';
}

bool api_is_blank(const struct call *call) {
    return count_blanks(call) == call->length;
}

bool api_is_form(const struct call *call) {
    return (call->form || call->field_count > 0) && !api_begins_object(call);
}

json_t *api_load(const struct call *call, struct reply *reply) {
    if (api_is_blank(call)) {
        api_fail(reply, STATUS_INVALID, NULL, "the body is empty: a JSON object is needed");
        return NULL;
    }
    if (!api_begins_object(call) && !is_json_type(call->content_type)) {
        api_fail(reply, STATUS_MEDIA_TYPE, NULL, "the body must be a JSON object (content type application/json)");
        return NULL;
    }
    json_error_t error;
    json_t *root = json_loadb(call->body, call->length, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        const char *what = json_error_code(&error) == json_error_invalid_utf8 ? "UTF-8" : "JSON";
        api_fail(reply, STATUS_INVALID, NULL, "the body is not valid %s: line %d, column %d: %s", what, error.line, error.column,
                 error.text);
    } else if (!json_is_object(root)) {
        api_fail(reply, STATUS_INVALID, NULL, "the body must be a JSON object, got %s", type_name(root));
        json_decref(root);
        root = NULL;
    }
    return root;
}

static bool matches(const struct translator_info *info, const struct form *form) {
    return (!form->model || strcmp(form->model, info->name) == 0) &&
           (!form->source || strcasecmp(form->source, info->source) == 0) &&
           (!form->target_language || strcasecmp(form->target_language, info->target) == 0);
}

/* Which of the fields that choose a model is to blame for there being none. */
static int fail_model(const struct models *models, const struct form *form, struct reply *reply) {
    bool known_model = !form->model, known_source = !form->source;
    for (size_t i = 0; i < models->count; i++) {
        known_model |= matches(&models->infos[i], &(struct form){.model = form->model});
        known_source |= matches(&models->infos[i], &(struct form){.model = form->model, .source = form->source});
    }
    if (!known_model)
        return fail(reply, "model", "no model \"%.60s\" is loaded", form->model);
    const char *which = form->model ? "this model does not translate" : "no model translates";
    if (!known_source)
        return fail(reply, "source", "%s from \"%.60s\"", which, form->source);
    if (!form->source)
        return fail(reply, "target", "%s to \"%.60s\"", which, form->target_language);
    return fail(reply, "target", "%s from \"%.60s\" to \"%.60s\"", which, form->source, form->target_language);
}

/* The first loaded model that fits: with nothing said, the first of all. */
static int choose_model(const struct models *models, const struct form *form, size_t *model, struct reply *reply) {
    for (size_t i = 0; i < models->count; i++) {
        if (matches(&models->infos[i], form)) {
            *model = i;
            return 0;
        }
    }
    return fail_model(models, form, reply);
}

static json_t *item(json_t *value, size_t i) {
    return json_is_array(value) ? json_array_get(value, i) : value;
}

static int check_texts(const char *field, const json_t *value, size_t *count, struct reply *reply) {
    if (!json_is_string(value) && !json_is_array(value))
        return fail(reply, field, "%s must be a string or an array of strings, got %s", field, type_name(value));
    *count = json_is_array(value) ? json_array_size(value) : 1;
    if (*count < 1 || *count > MAX_TEXTS)
        return fail(reply, field, "%s must hold between 1 and %d strings, got %zu", field, MAX_TEXTS, *count);
    for (size_t i = 0; json_is_array(value) && i < *count; i++) {
        if (!json_is_string(json_array_get(value, i)))
            return fail(reply, field, "%s must be a string or an array of strings, got %s at index %zu", field,
                        type_name(json_array_get(value, i)), i);
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

static int check_strings(const struct service *service, const struct form *form, size_t *count, struct reply *reply) {
    size_t targets = 0, most = service->options->max_text_chars;
    if (check_texts("text", form->text, count, reply) != 0 ||
        (form->target && check_texts("target", form->target, &targets, reply) != 0))
        return -1;
    if (form->target && (targets != *count || json_is_array(form->target) != json_is_array(form->text)))
        return fail(reply, "target", "target must be a string if text is one, or an array as long as text (%zu), got %zu", *count,
                    targets);
    if (check_characters("text", form->text, *count, most, reply) != 0)
        return -1;
    return form->target ? check_characters("target", form->target, *count, most, reply) : 0;
}

static int copy_texts(const struct form *form, size_t count, struct request *request, struct reply *reply) {
    request->texts = arena_zalloc(&request->arena, count, sizeof *request->texts);
    bool copied = request->texts != NULL;
    for (size_t i = 0; copied && i < count; i++) {
        struct text *text = &request->texts[i];
        json_t *source = item(form->text, i), *target = form->target ? item(form->target, i) : NULL;
        text->source_length = json_string_length(source);
        text->source = arena_copy(&request->arena, json_string_value(source), text->source_length);
        text->target_length = json_string_length(target);
        text->target = target ? arena_copy(&request->arena, json_string_value(target), text->target_length) : NULL;
        copied = text->source && (!target || text->target);
    }
    if (!copied) {
        api_fail(reply, STATUS_INTERNAL, NULL, "out of memory");
        return -1;
    }
    request->text_count = count;
    return 0;
}

/* Limits of one field that another sets. */
static int check_numbers(const struct form *form, size_t rows, struct reply *reply) {
    bool beam = strcmp(form->strategy, "beam") == 0;
    if (beam && form->beam_size > rows)
        return fail(reply, "beam_size", "beam_size must be between 1 and %zu, got %zu", rows, form->beam_size);
    if (form->target && form->n_best > 1)
        return fail(reply, "n_best", "n_best must be 1 where target is given, got %zu", form->n_best);
    if (!beam && form->n_best > 1)
        return fail(reply, "n_best", "n_best must be 1 where strategy is greedy, got %zu", form->n_best);
    if (form->n_best > form->beam_size)
        return fail(reply, "n_best", "n_best must be between 1 and beam_size (%zu), got %zu", form->beam_size, form->n_best);
    if (form->max_length > 0 && form->min_length > form->max_length)
        return fail(reply, "min_length", "min_length must be between 0 and max_length (%zu), got %zu", form->max_length,
                    form->min_length);
    return 0;
}

/* What some models have nothing for. */
static int check_include(const struct translator_info *info, const struct form *form, struct reply *reply) {
    if (info->attention || !(form->include & (INCLUDE_ATTENTION | INCLUDE_ALIGNMENT | INCLUDE_WORDS)))
        return 0;
    return fail(reply, "include", "include must be without attention, alignment and words: model \"%.60s\" has no attention",
                info->name);
}

static struct form default_form(size_t rows, enum api_kind kind) {
    return (struct form){
        .strategy = "beam",
        .beam_size = rows < DEFAULT_BEAM_SIZE ? rows : DEFAULT_BEAM_SIZE,
        .n_best = 1,
        .length_penalty = 1,
        .replace_unknowns = true,
        .include = kind == API_TRANSLATE
                       ? INCLUDE_TOKENS
                       : INCLUDE_TOKENS | INCLUDE_ATTENTION | INCLUDE_ALIGNMENT | INCLUDE_OFFSETS | INCLUDE_ENTROPY | INCLUDE_EOS,
    };
}

static void fill_options(const struct form *form, struct request *request) {
    request->include = form->include;
    request->replace_unknowns = form->replace_unknowns;
    request->split = form->split_given ? form->split : !form->target;
    request->search = (struct search_options){
        .strategy = form->strategy,
        .beam_size = form->beam_size,
        .n_best = form->n_best,
        .length_penalty = form->length_penalty,
        .min_length = form->min_length,
        .max_length = form->max_length,
    };
}

int api_parse(const struct service *service, json_t *root, enum api_kind kind, struct request *request, struct reply *reply) {
    size_t rows = service->options->rows, count;
    struct form form = default_form(rows, kind);
    int result = -1;
    if (read_form(root, kind, &form, reply) == 0 && check_strings(service, &form, &count, reply) == 0 &&
        check_numbers(&form, rows, reply) == 0 && choose_model(&service->models, &form, &request->model, reply) == 0 &&
        check_include(&service->models.infos[request->model], &form, reply) == 0 && copy_texts(&form, count, request, reply) == 0) {
        fill_options(&form, request);
        result = 0;
    }
    return result;
}
