/* This file reads the fields of alignd's own dialect from JSON into struct api_form and struct
 * request. A reader checks the type and the range, and its error lists the allowed values; native.c
 * checks combinations of fields. openapi.json describes the same table, and a test compares the
 * two. */
#include "server/api/fields.h"
#include "server/api/dialect.h"
#include "server/api/languages.h"
#include "server/api/reply.h"
#include "server/api/value.h"
#include "server/decode/links.h"
#include "server/decode/parameters.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- types ---- */

static const struct {
    const char *name;
    unsigned bit;
} includes[] = {
#define PART(name, NAME, bit, text) {#name, INCLUDE_##NAME},
#include "server/decode/reply.def"
};

static const char include_names[] =
#define PART(name, NAME, bit, text) #name ", "
#include "server/decode/reply.def"
    ;

enum { INCLUDE_COUNT = sizeof includes / sizeof includes[0] };

const char *fields_include_name(size_t i) {
    return i < INCLUDE_COUNT ? includes[i].name : NULL;
}

static int read_value(const struct field *field, json_t *value, void *out, struct reply *reply) {
    (void)field;
    (void)reply;
    *(json_t **)out = value;
    return 0;
}

static int read_string(const struct field *field, json_t *value, void *out, struct reply *reply) {
    if (!json_is_string(value))
        return reply_refuse(reply, field->name, "%s must be a string, got %s", field->name,
                            value_type_name(value));
    *(const char **)out = json_string_value(value);
    return 0;
}

/* Refuses a translation, which /attention took in this field in earlier versions. */
static int read_target(const struct field *field, json_t *value, void *out, struct reply *reply) {
    if (json_is_string(value))
        return read_string(field, value, out, reply);
    return reply_refuse(
        reply, field->name,
        "%s must be a language code, got %s; send your own translation in \"translation\"",
        field->name, value_type_name(value));
}

static int read_strategy(const struct field *field, json_t *value, void *out, struct reply *reply) {
    const char *name;
    if (read_string(field, value, &name, reply) != 0)
        return -1;
    const struct search_kind *found = search_find(name);
    if (!found)
        return reply_refuse(reply, field->name,
                            "%s must be " PARAMETERS_STRATEGIES ", got \"%.60s\"", field->name,
                            name);
    *(const struct search_kind **)out = found;
    return 0;
}

static int read_format(const struct field *field, json_t *value, void *out, struct reply *reply) {
    const char *name;
    if (read_string(field, value, &name, reply) != 0)
        return -1;
    if (strcmp(name, "text") != 0 && strcmp(name, "html") != 0 && strcmp(name, "xml") != 0)
        return reply_refuse(reply, field->name, "%s must be text, html or xml, got \"%.60s\"",
                            field->name, name);
    *(const char **)out = name;
    return 0;
}

static int read_formality(const struct field *field, json_t *value, void *out,
                          struct reply *reply) {
    const char *name;
    if (read_string(field, value, &name, reply) != 0)
        return -1;
    return formality_read(name, out)
               ? 0
               : reply_refuse(reply, field->name, "%s must be " FORMALITY_NAMES ", got \"%.60s\"",
                              field->name, name);
}

static int read_links(const struct field *field, json_t *value, void *out, struct reply *reply) {
    const char *name;
    if (read_string(field, value, &name, reply) != 0)
        return -1;
    const struct links_kind *found = links_kind_find(name);
    if (!found)
        return reply_refuse(reply, field->name, "%s must be " LINKS_KINDS ", got \"%.60s\"",
                            field->name, name);
    *(const struct links_kind **)out = found;
    return 0;
}

static int read_integer(const struct field *field, json_t *value, void *out, struct reply *reply) {
    json_int_t number;
    if (!value_integer(value, &number))
        return reply_refuse(reply, field->name, "%s must be an integer, got %s", field->name,
                            value_type_name(value));
    if (number < (json_int_t)field->parameter->minimum ||
        number > (json_int_t)field->parameter->maximum)
        return reply_refuse(reply, field->name, "%s must be between %.0f and %.0f, got %lld",
                            field->name, field->parameter->minimum, field->parameter->maximum,
                            (long long)number);
    *(size_t *)out = (size_t)number;
    return 0;
}

static int read_real(const struct field *field, json_t *value, void *out, struct reply *reply) {
    if (!json_is_number(value))
        return reply_refuse(reply, field->name, "%s must be a number, got %s", field->name,
                            value_type_name(value));
    double number = json_number_value(value);
    if (!(number >= field->parameter->minimum && number <= field->parameter->maximum))
        return reply_refuse(reply, field->name, "%s must be between %g and %g, got %g", field->name,
                            field->parameter->minimum, field->parameter->maximum, number);
    *(double *)out = number;
    return 0;
}

static int read_boolean(const struct field *field, json_t *value, void *out, struct reply *reply) {
    if (!json_is_boolean(value))
        return reply_refuse(reply, field->name, "%s must be true or false, got %s", field->name,
                            value_type_name(value));
    *(bool *)out = json_is_true(value);
    return 0;
}

/* Reads a seed up to 2^63 - 1, which a double cannot represent exactly. */
static int read_seed(const struct field *field, json_t *value, void *out, struct reply *reply) {
    json_int_t number;
    if (!value_integer(value, &number))
        return reply_refuse(reply, field->name, "%s must be an integer, got %s", field->name,
                            value_type_name(value));
    if (number < 0)
        return reply_refuse(reply, field->name,
                            "%s must be between 0 and 9223372036854775807, got %lld", field->name,
                            (long long)number);
    *(uint64_t *)out = (uint64_t)number;
    return 0;
}

/* Also sets split_given, since the default of this field depends on another field. */
static int read_split(const struct field *field, json_t *value, void *out, struct reply *reply) {
    struct api_form *form = out;
    form->split_given = true;
    return read_boolean(field, value, &form->split, reply);
}

/* Reads a string or an array of strings, each with names separated by commas. */
static int read_include(const struct field *field, json_t *value, void *out, struct reply *reply) {
    size_t count = json_is_array(value) ? json_array_size(value) : 1;
    unsigned bits = 0;
    if (!json_is_array(value) && !json_is_string(value))
        return reply_refuse(reply, field->name,
                            "%s must be a string or an array of strings, got %s", field->name,
                            value_type_name(value));
    if (count > INCLUDE_COUNT)
        return reply_refuse(reply, field->name, "%s must contain at most %d strings, got %zu",
                            field->name, (int)INCLUDE_COUNT, count);
    for (size_t i = 0; i < count; i++) {
        const json_t *names = json_is_array(value) ? json_array_get(value, i) : value;
        if (!json_is_string(names))
            return reply_refuse(reply, field->name,
                                "%s must be a string or an array of strings, got %s at index %zu",
                                field->name, value_type_name(names), i);
        for (const char *at = json_string_value(names) + strspn(json_string_value(names), ", ");
             *at; at += strspn(at, ", ")) {
            size_t length = strcspn(at, ", "), known = 0;
            bool all = length == 3 && memcmp(at, "all", length) == 0;
            while (known < INCLUDE_COUNT && (strlen(includes[known].name) != length ||
                                             memcmp(at, includes[known].name, length) != 0))
                known++;
            if (!all && known == INCLUDE_COUNT)
                return reply_refuse(reply, field->name, "%s must be all, or any of %sgot \"%.*s\"",
                                    field->name, include_names, length < 60 ? (int)length : 60, at);
            bits |= all ? INCLUDE_ALL : includes[known].bit;
            at += length;
        }
    }
    *(unsigned *)out = bits;
    return 0;
}

/* ---- values in forms ---- */

static json_t *text_to_real(const char *text, size_t length) {
    char *end;
    double number = strtod(text, &end);
    bool digits = length > 0 && strspn(text, "+-.0123456789eE") == length;
    return digits && *end == '\0' && isfinite(number) ? json_real(number) : NULL;
}

/* Converts a number with a fraction, such as 5.0, to a real; read then checks that its value is an
 * integer. */
static json_t *text_to_integer(const char *text, size_t length) {
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    bool digits = length > 0 && strspn(text, "-0123456789") == length;
    if (digits)
        return *end == '\0' && errno == 0 ? json_integer(number) : NULL;
    return strspn(text, "-.0123456789") == length ? text_to_real(text, length) : NULL;
}

static json_t *text_to_boolean(const char *text, size_t length) {
    (void)length;
    bool yes = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    return yes || strcmp(text, "false") == 0 || strcmp(text, "0") == 0 ? json_boolean(yes) : NULL;
}

static json_t *text_to_json(const char *text, size_t length) {
    return value_parse(text, length, JSON_REJECT_DUPLICATES, NULL);
}

/* Splits names at commas. */
static json_t *text_to_names(const char *text, size_t length) {
    json_t *names = json_array();
    for (const char *end = text + length; text < end;) {
        size_t bytes = strcspn(text, ",");
        json_array_append_new(names, json_stringn(text, bytes));
        text += bytes + (text + bytes < end);
    }
    return names;
}

static const struct field_type field_texts = {.read = read_value, .several = true},
                               field_json = {.read = read_value, .from_text = text_to_json},
                               field_string = {.read = read_string},
                               field_target = {.read = read_target},
                               field_format = {.read = read_format},
                               field_strategy = {.read = read_strategy},
                               field_formality = {.read = read_formality},
                               field_links = {.read = read_links},
                               field_integer = {.read = read_integer, .from_text = text_to_integer},
                               field_real = {.read = read_real, .from_text = text_to_real},
                               field_boolean = {.read = read_boolean, .from_text = text_to_boolean},
                               field_split = {.read = read_split, .from_text = text_to_boolean},
                               field_seed = {.read = read_seed, .from_text = text_to_integer},
                               field_include = {.read = read_include,
                                                .from_text = text_to_names,
                                                .several = true};

/* ---- the table ---- */

enum { BOTH = API_TRANSLATE | API_ATTENTION, ALL = BOTH | API_ALIGN, WEIGHT_DIGITS = 4 };

#define FORM(name) offsetof(struct api_form, name)

static const struct parameter digits = {.minimum = 1, .maximum = DECIMAL_MOST};

static const struct field fields[] = {
    {"text", ALL, &field_texts, FORM(text), NULL},
    {"model", ALL, &field_string, FORM(model), NULL},
    {"source", ALL, &field_string, FORM(source), NULL},
    {"target", API_TRANSLATE, &field_string, FORM(target_language), NULL},
    {"target", API_ATTENTION | API_ALIGN, &field_target, FORM(target_language), NULL},
    {"variant", ALL, &field_string, FORM(variant), NULL},
    {"translation", API_ATTENTION | API_ALIGN, &field_texts, FORM(translation), NULL},
    {"split_sentences", ALL, &field_split, 0, NULL},
    {"replace_unknowns", BOTH, &field_boolean, FORM(replace_unknowns), NULL},
    {"format", API_TRANSLATE, &field_format, FORM(format), NULL},
    {"include", ALL, &field_include, FORM(include), NULL},
    {"digits", ALL, &field_integer, FORM(digits), &digits},
    {"links", ALL, &field_links, FORM(links), NULL},
    {"prefix", BOTH, &field_string, FORM(prefix), NULL},
    {"suffix", BOTH, &field_string, FORM(suffix), NULL},
    {"force_attention", API_ATTENTION, &field_json, FORM(force_attention), NULL},
    {"stream", BOTH, &field_boolean, FORM(stream), NULL},
    {"warnings", ALL, &field_boolean, FORM(warns), NULL},
    {"formality", BOTH, &field_formality, FORM(formality), NULL},
    {"verbatim", BOTH, &field_boolean, FORM(verbatim), NULL},
    {"glossary", BOTH, &field_json, FORM(glossary), NULL},
    {"protect", BOTH, &field_json, FORM(protect), NULL},
};

enum { FIELDS = sizeof fields / sizeof *fields };

bool fields_nth(size_t i, struct field *field) {
    static const struct field_type *const types[PARAMETER_TYPES] = {
        [PARAMETER_STRATEGY] = &field_strategy,
        [PARAMETER_INTEGER] = &field_integer,
        [PARAMETER_REAL] = &field_real,
        [PARAMETER_SEED] = &field_seed};
    const struct parameter *p = i < FIELDS ? NULL : parameters_nth(i - FIELDS);
    if (i < FIELDS)
        *field = fields[i];
    else if (p)
        *field = (struct field){p->name,
                                (p->setters & PARAMETER_REQUEST ? BOTH : 0) |
                                    (p->setters & PARAMETER_DOCUMENT ? API_DOCUMENT : 0),
                                types[p->type], FORM(search) + p->offset, p};
    return i < FIELDS || p;
}

bool fields_find(const char *name, enum api_kind kind, struct field *field) {
    for (size_t i = 0; fields_nth(i, field); i++)
        if ((field->kinds & (int)kind) && strcmp(field->name, name) == 0)
            return true;
    return false;
}

struct api_form fields_default(enum api_kind kind) {
    return (struct api_form){
        .search = parameters_default(),
        .prefix = "",
        .suffix = "",
        .attention = kind != API_TRANSLATE,
        .reversible = kind == API_ALIGN,
        .format = "text",
        .replace_unknowns = true,
        .warns = true,
        .digits = WEIGHT_DIGITS,
        .links = kind == API_ALIGN ? links_kind_find("several") : NULL,
        .include = kind == API_TRANSLATE ? INCLUDE_TOKENS
                   : kind == API_ATTENTION
                       ? INCLUDE_TOKENS | INCLUDE_ATTENTION | INCLUDE_ALIGNMENT | INCLUDE_OFFSETS |
                             INCLUDE_ENTROPY | INCLUDE_EOS
                       : 0,
    };
}

static int read_values(json_t *root, enum api_kind kind, struct api_form *form,
                       struct reply *reply) {
    const char *name;
    json_t *value;
    struct field field;
    json_object_foreach(root, name, value) {
        if (!fields_find(name, kind, &field))
            return reply_refuse(reply, name, "unknown field \"%.60s\"", name);
        if (field.type->read(&field, value, (char *)form + field.offset, reply) != 0)
            return -1;
    }
    return 0;
}

/* Refuses fields that the strategy does not use. It is known only after all have been read. */
static int check_strategy(json_t *root, enum api_kind kind, const struct search_options *search,
                          struct reply *reply) {
    const char *name;
    json_t *value;
    struct field field;
    json_object_foreach(root, name, value) {
        const struct search_kind *only =
            fields_find(name, kind, &field) && field.parameter ? field.parameter->only : NULL;
        if (only && only != search->strategy)
            return reply_refuse(reply, name, "%s requires strategy %s, got %s", name,
                                search_name(only), search_name(search->strategy));
    }
    return 0;
}

int fields_read(json_t *root, enum api_kind kind, struct api_form *form, struct reply *reply) {
    if (read_values(root, kind, form, reply) != 0)
        return -1;
    if (!form->text)
        return reply_refuse(reply, "text", "text is missing");
    if (kind == API_ALIGN && !form->translation)
        return reply_refuse(reply, "translation",
                            "translation is missing: the translation, or translations, of text");
    return check_strategy(root, kind, &form->search, reply);
}

json_t *fields_value(const struct field_type *type, const char *text, size_t length) {
    json_t *value = type && type->from_text ? type->from_text(text, length) : NULL;
    return value ? value : json_stringn(text, length);
}

int fields_read_search(const struct call *call, struct search_options *search,
                       struct reply *reply) {
    struct api_form form = fields_default(API_DOCUMENT);
    json_t *root = json_object();
    int result = 0;
    form.search.sampling.seed = parameters_seed();
    for (size_t i = 0; result == 0 && i < call->field_count; i++) {
        const struct api_field *sent = &call->fields[i];
        struct field field;
        if (!fields_find(sent->name, API_DOCUMENT, &field))
            continue;
        if (json_object_get(root, sent->name))
            result = reply_refuse(reply, sent->name, "%s must be given only once", sent->name);
        else
            json_object_set_new(root, sent->name,
                                fields_value(field.type, sent->value, sent->length));
    }
    if (value_lacked_memory())
        result = reply_fail_memory(reply);
    if (result == 0 && (read_values(root, API_DOCUMENT, &form, reply) != 0 ||
                        check_strategy(root, API_DOCUMENT, &form.search, reply) != 0))
        result = -1;
    json_decref(root);
    *search = form.search;
    return result;
}

int fields_check_search(const struct search_options *search, size_t rows, struct reply *reply) {
    if (parameters_beam(search) && search->beam_size > rows)
        return reply_refuse(reply, "beam_size", "beam_size must be between 1 and %zu, got %zu",
                            rows, search->beam_size);
    if (search->max_length > 0 && search->min_length > search->max_length)
        return reply_refuse(reply, "min_length",
                            "min_length must be between 0 and max_length (%zu), got %zu",
                            search->max_length, search->min_length);
    return 0;
}

/* ---- force_attention: [{"step": 0, "weights": [0.2, 0.8]}, ...] ---- */

/* Reads one step with its weights. The limit of a weight ensures that a float32 can hold the sum
 * for every model. */
static int read_step(json_t *item, size_t i, struct request *request, struct reply *reply) {
    static const char name[] = "force_attention";
    struct forced_step *out = &request->parameters.forced[i];
    const char *key;
    json_t *value;
    if (!json_is_object(item))
        return reply_refuse(reply, name, "%s must be an array of objects, got %s at index %zu",
                            name, value_type_name(item), i);
    json_object_foreach(item, key, value) {
        if (strcmp(key, "step") != 0 && strcmp(key, "weights") != 0)
            return reply_refuse(reply, name, "unknown field \"%.60s\" in %s[%zu]", key, name, i);
    }

    json_int_t number;
    value = json_object_get(item, "step");
    if (!value_integer(value, &number))
        return reply_refuse(reply, name, "%s[%zu].step must be an integer, got %s", name, i,
                            value ? value_type_name(value) : "none");
    if (number < 0 || number > TRANSLATOR_MAX_TARGET)
        return reply_refuse(reply, name, "%s[%zu].step must be between 0 and %d, got %lld", name, i,
                            (int)TRANSLATOR_MAX_TARGET, (long long)number);
    out->step = (size_t)number;

    const json_t *array = json_object_get(item, "weights");
    if (!json_is_array(array))
        return reply_refuse(reply, name, "%s[%zu].weights must be an array of numbers, got %s",
                            name, i, array ? value_type_name(array) : "none");
    double sum = 0;
    out->count = json_array_size(array);
    out->weights = arena_alloc(&request->arena, out->count, sizeof *out->weights);
    if (!out->weights)
        return reply_fail_memory(reply);
    for (size_t j = 0; j < out->count; j++) {
        value = json_array_get(array, j);
        if (!json_is_number(value))
            return reply_refuse(reply, name, "%s[%zu].weights[%zu] must be a number, got %s", name,
                                i, j, value_type_name(value));
        double weight = out->weights[j] = json_number_value(value);
        if (!(weight >= 0 && weight <= 1e9))
            return reply_refuse(reply, name,
                                "%s[%zu].weights[%zu] must be between 0 and 1e+09, got %g", name, i,
                                j, weight);
        sum += weight;
    }
    if (!(sum > 0))
        return reply_refuse(reply, name, "%s[%zu].weights must not all be 0", name, i);
    for (size_t other = 0; other < i; other++)
        if (request->parameters.forced[other].step == out->step)
            return reply_refuse(reply, name, "%s[%zu].step: step %zu occurs twice", name, i,
                                out->step);
    return 0;
}

int fields_read_forced(json_t *value, struct request *request, struct reply *reply) {
    static const char name[] = "force_attention";
    if (!json_is_array(value))
        return reply_refuse(reply, name, "%s must be an array of objects, got %s", name,
                            value_type_name(value));
    size_t count = json_array_size(value);
    if (count > TRANSLATOR_MAX_TARGET + 1)
        return reply_refuse(reply, name, "%s must contain at most %d steps, got %zu", name,
                            TRANSLATOR_MAX_TARGET + 1, count);
    request->parameters.forced =
        arena_alloc(&request->arena, count, sizeof *request->parameters.forced);
    if (!request->parameters.forced)
        return reply_fail_memory(reply);
    for (size_t i = 0; i < count; i++) {
        if (read_step(json_array_get(value, i), i, request, reply) != 0)
            return -1;
    }
    request->parameters.forced_count = count;
    return 0;
}
