/* The types of fields: JSON -> struct form, what /openapi.json says of them, and a form's text -> JSON. */
#include "server/api/api_field.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned bit;
} includes[] = {
    {"tokens", INCLUDE_TOKENS},   {"log_probs", INCLUDE_LOG_PROBS}, {"attention", INCLUDE_ATTENTION},
    {"words", INCLUDE_WORDS},     {"alignment", INCLUDE_ALIGNMENT}, {"offsets", INCLUDE_OFFSETS},
    {"entropy", INCLUDE_ENTROPY}, {"timing", INCLUDE_TIMING},       {"eos", INCLUDE_EOS},
    {"top_k", INCLUDE_TOP_K},     {"beam", INCLUDE_BEAM},
};
enum { INCLUDE_COUNT = sizeof includes / sizeof includes[0] };

static int read_value(const struct field *field, json_t *value, void *out, struct reply *reply) {
    (void)field;
    (void)reply;
    *(json_t **)out = value;
    return 0;
}

static int read_string(const struct field *field, json_t *value, void *out, struct reply *reply) {
    if (!json_is_string(value))
        return api_refuse(reply, field->name, "%s must be a string, got %s", field->name, api_type_name(value));
    *(const char **)out = json_string_value(value);
    return 0;
}

static int read_strategy(const struct field *field, json_t *value, void *out, struct reply *reply) {
    const char *name;
    if (read_string(field, value, &name, reply) != 0)
        return -1;
    const struct search_kind *found = search_find(name);
    if (!found)
        return api_refuse(reply, field->name, "%s must be " PARAMETERS_STRATEGIES ", got \"%.60s\"", field->name, name);
    *(const struct search_kind **)out = found;
    return 0;
}

static int read_integer(const struct field *field, json_t *value, void *out, struct reply *reply) {
    if (!json_is_integer(value))
        return api_refuse(reply, field->name, "%s must be an integer, got %s", field->name, api_type_name(value));
    json_int_t number = json_integer_value(value);
    if (number < (json_int_t)field->parameter->minimum || number > (json_int_t)field->parameter->maximum)
        return api_refuse(reply, field->name, "%s must be between %.0f and %.0f, got %lld", field->name, field->parameter->minimum,
                          field->parameter->maximum, (long long)number);
    *(size_t *)out = (size_t)number;
    return 0;
}

static int read_real(const struct field *field, json_t *value, void *out, struct reply *reply) {
    if (!json_is_number(value))
        return api_refuse(reply, field->name, "%s must be a number, got %s", field->name, api_type_name(value));
    double number = json_number_value(value);
    if (!(number >= field->parameter->minimum && number <= field->parameter->maximum))
        return api_refuse(reply, field->name, "%s must be between %g and %g, got %g", field->name, field->parameter->minimum,
                          field->parameter->maximum, number);
    *(double *)out = number;
    return 0;
}

static int read_boolean(const struct field *field, json_t *value, void *out, struct reply *reply) {
    if (!json_is_boolean(value))
        return api_refuse(reply, field->name, "%s must be true or false, got %s", field->name, api_type_name(value));
    *(bool *)out = json_is_true(value);
    return 0;
}

/* Up to 2^63 - 1, which no double holds. */
static int read_seed(const struct field *field, json_t *value, void *out, struct reply *reply) {
    if (!json_is_integer(value))
        return api_refuse(reply, field->name, "%s must be an integer, got %s", field->name, api_type_name(value));
    if (json_integer_value(value) < 0)
        return api_refuse(reply, field->name, "%s must be between 0 and 9223372036854775807, got %lld", field->name,
                          (long long)json_integer_value(value));
    *(uint64_t *)out = (uint64_t)json_integer_value(value);
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
        return api_refuse(reply, field->name, "%s must be an array of strings", field->name);
    for (size_t i = 0; i < INCLUDE_COUNT; i++) {
        if (strcmp(json_string_value(value), includes[i].name) == 0) {
            *bits |= includes[i].bit;
            return 0;
        }
    }
    return api_refuse(reply, field->name,
                      "%s must be any of tokens, log_probs, attention, alignment, words, offsets, entropy, top_k, beam, timing, "
                      "eos, got \"%.60s\"",
                      field->name, json_string_value(value));
}

static int read_include(const struct field *field, json_t *value, void *out, struct reply *reply) {
    if (!json_is_array(value))
        return api_refuse(reply, field->name, "%s must be an array of strings, got %s", field->name, api_type_name(value));
    unsigned bits = 0;
    if (json_array_size(value) > INCLUDE_COUNT)
        return api_refuse(reply, field->name, "%s must hold at most %d strings, got %zu", field->name, (int)INCLUDE_COUNT,
                          json_array_size(value));
    for (size_t i = 0; i < json_array_size(value); i++) {
        if (read_include_name(field, json_array_get(value, i), &bits, reply) != 0)
            return -1;
    }
    *(unsigned *)out = bits;
    return 0;
}

/* ---- as JSON schemas ---- */

static json_t *string_schema(const struct field *field, const void *value) {
    (void)field;
    const char *text = *(const char *const *)value;
    return text ? json_pack("{s:s, s:s}", "type", "string", "default", text) : json_pack("{s:s}", "type", "string");
}

static json_t *strategy_schema(const struct field *field, const void *value) {
    (void)field;
    json_t *names = json_array();
    const struct search_kind *strategy;
    for (size_t i = 0; (strategy = search_nth(i)) != NULL; i++)
        json_array_append_new(names, json_string(search_name(strategy)));
    return json_pack("{s:s, s:s, s:o}", "type", "string", "default", search_name(*(const struct search_kind *const *)value), "enum",
                     names);
}

/* A default out of range stands for what is said in words. */
static json_t *integer_schema(const struct field *field, const void *value) {
    json_int_t number = (json_int_t)(*(const size_t *)value);
    json_t *schema = json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)field->parameter->minimum, "maximum",
                               (json_int_t)field->parameter->maximum);
    if (number >= (json_int_t)field->parameter->minimum)
        json_object_set_new(schema, "default", json_integer(number));
    return schema;
}

static json_t *real_schema(const struct field *field, const void *value) {
    return json_pack("{s:s, s:f, s:f, s:f}", "type", "number", "minimum", field->parameter->minimum, "maximum",
                     field->parameter->maximum, "default", *(const double *)value);
}

static json_t *boolean_schema(const struct field *field, const void *value) {
    (void)field;
    return json_pack("{s:s, s:b}", "type", "boolean", "default", (int)*(const bool *)value);
}

static json_t *split_schema(const struct field *field, const void *value) {
    (void)field;
    (void)value;
    return json_pack("{s:s}", "type", "boolean");
}

static json_t *seed_schema(const struct field *field, const void *value) {
    (void)field;
    (void)value;
    return json_pack("{s:s, s:i, s:I}", "type", "integer", "minimum", 0, "maximum", (json_int_t)INT64_MAX);
}

static json_t *include_schema(const struct field *field, const void *value) {
    (void)field;
    json_t *names = json_array(), *defaults = json_array();
    for (size_t i = 0; i < INCLUDE_COUNT; i++) {
        json_array_append_new(names, json_string(includes[i].name));
        if (*(const unsigned *)value & includes[i].bit)
            json_array_append_new(defaults, json_string(includes[i].name));
    }
    return json_pack("{s:s, s:{s:s, s:o}, s:i, s:o}", "type", "array", "items", "type", "string", "enum", names, "maxItems",
                     (int)INCLUDE_COUNT, "default", defaults);
}

/* Checked elsewhere: api_parse.c, api_force.c, api_glossary.c. */
static json_t *texts_schema(const struct field *field, const void *value) {
    (void)field;
    (void)value;
    return api_schema("Texts");
}

static json_t *forced_schema(const struct field *field, const void *value) {
    (void)field;
    (void)value;
    return api_schema("[ForcedStep]");
}

static json_t *glossary_schema(const struct field *field, const void *value) {
    (void)field;
    (void)value;
    return api_glossary_schema();
}

/* ---- from the text of a form. NULL: it is none of the type ---- */

static json_t *text_to_integer(const char *text, size_t length) {
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    bool digits = length > 0 && strspn(text, "-0123456789") == length;
    return digits && *end == '\0' && errno == 0 ? json_integer(number) : NULL;
}

static json_t *text_to_real(const char *text, size_t length) {
    char *end;
    double number = strtod(text, &end);
    bool digits = length > 0 && strspn(text, "+-.0123456789eE") == length;
    return digits && *end == '\0' && isfinite(number) ? json_real(number) : NULL;
}

static json_t *text_to_boolean(const char *text, size_t length) {
    (void)length;
    bool yes = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    return yes || strcmp(text, "false") == 0 || strcmp(text, "0") == 0 ? json_boolean(yes) : NULL;
}

static json_t *text_to_json(const char *text, size_t length) {
    return json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
}

/* Names with ',' between them. */
static json_t *text_to_names(const char *text, size_t length) {
    json_t *names = json_array();
    for (const char *end = text + length; text < end;) {
        size_t bytes = strcspn(text, ",");
        json_array_append_new(names, json_stringn(text, bytes));
        text += bytes + (text + bytes < end);
    }
    return names;
}

const struct field_type field_texts = {.read = read_value, .schema = texts_schema, .several = true},
                        field_forced = {.read = read_value, .schema = forced_schema, .from_text = text_to_json},
                        field_glossary = {.read = read_value, .schema = glossary_schema, .from_text = text_to_json},
                        field_string = {.read = read_string, .schema = string_schema},
                        field_strategy = {.read = read_strategy, .schema = strategy_schema},
                        field_integer = {.read = read_integer, .schema = integer_schema, .from_text = text_to_integer},
                        field_real = {.read = read_real, .schema = real_schema, .from_text = text_to_real},
                        field_boolean = {.read = read_boolean, .schema = boolean_schema, .from_text = text_to_boolean},
                        field_split = {.read = read_split, .schema = split_schema, .from_text = text_to_boolean},
                        field_seed = {.read = read_seed, .schema = seed_schema, .from_text = text_to_integer},
                        field_include = {
                            .read = read_include, .schema = include_schema, .from_text = text_to_names, .several = true};
