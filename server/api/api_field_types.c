/* The types of fields: JSON -> struct api_form, what /openapi.json says of them, and a form's text -> JSON. */
#include "server/api/api_field.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned bit;
} includes[] = {
    {"tokens", INCLUDE_TOKENS},       {"log_probs", INCLUDE_LOG_PROBS},
    {"attention", INCLUDE_ATTENTION}, {"soft_alignment", INCLUDE_SOFT_ALIGNMENT},
    {"words", INCLUDE_WORDS},         {"alignment", INCLUDE_ALIGNMENT},
    {"offsets", INCLUDE_OFFSETS},     {"entropy", INCLUDE_ENTROPY},
    {"timing", INCLUDE_TIMING},       {"eos", INCLUDE_EOS},
    {"top_k", INCLUDE_TOP_K},         {"beam", INCLUDE_BEAM},
    {"quality", INCLUDE_QUALITY},     {"heads", INCLUDE_HEADS},
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

/* Of /attention, where a translation was once sent by this name. */
static int read_target(const struct field *field, json_t *value, void *out, struct reply *reply) {
    if (json_is_string(value))
        return read_string(field, value, out, reply);
    return api_refuse(reply, field->name, "%s must be a language code, got %s; send your own translation in \"translation\"",
                      field->name, api_type_name(value));
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

static int read_format(const struct field *field, json_t *value, void *out, struct reply *reply) {
    const char *name;
    if (read_string(field, value, &name, reply) != 0)
        return -1;
    if (strcmp(name, "text") != 0 && strcmp(name, "html") != 0 && strcmp(name, "xml") != 0)
        return api_refuse(reply, field->name, "%s must be text, html or xml, got \"%.60s\"", field->name, name);
    *(const char **)out = name;
    return 0;
}

static int read_integer(const struct field *field, json_t *value, void *out, struct reply *reply) {
    json_int_t number;
    if (!api_integer(value, &number))
        return api_refuse(reply, field->name, "%s must be an integer, got %s", field->name, api_type_name(value));
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
    json_int_t number;
    if (!api_integer(value, &number))
        return api_refuse(reply, field->name, "%s must be an integer, got %s", field->name, api_type_name(value));
    if (number < 0)
        return api_refuse(reply, field->name, "%s must be between 0 and 9223372036854775807, got %lld", field->name,
                          (long long)number);
    *(uint64_t *)out = (uint64_t)number;
    return 0;
}

/* Also notes that the field was there: its default depends on another field. */
static int read_split(const struct field *field, json_t *value, void *out, struct reply *reply) {
    struct api_form *form = out;
    form->split_given = true;
    return read_boolean(field, value, &form->split, reply);
}

/* A name, [length] bytes. */
static int read_include_name(const struct field *field, const char *name, size_t length, unsigned *bits, struct reply *reply) {
    static const char all[] = "all";
    if (length == sizeof all - 1 && memcmp(name, all, length) == 0) {
        *bits |= INCLUDE_ALL;
        return 0;
    }
    for (size_t i = 0; i < INCLUDE_COUNT; i++) {
        if (strlen(includes[i].name) == length && memcmp(name, includes[i].name, length) == 0) {
            *bits |= includes[i].bit;
            return 0;
        }
    }
    return api_refuse(reply, field->name,
                      "%s must be all, or any of tokens, log_probs, attention, soft_alignment, alignment, words, offsets, entropy, "
                      "top_k, beam, quality, heads, timing, eos, got \"%.*s\"",
                      field->name, length < 60 ? (int)length : 60, name);
}

/* Names with commas between them. */
static int read_include_list(const struct field *field, const char *names, unsigned *bits, struct reply *reply) {
    for (const char *at = names + strspn(names, ", "); *at; at += strspn(at, ", ")) {
        size_t length = strcspn(at, ", ");
        if (read_include_name(field, at, length, bits, reply) != 0)
            return -1;
        at += length;
    }
    return 0;
}

/* A string or an array of them. */
static int read_include(const struct field *field, json_t *value, void *out, struct reply *reply) {
    size_t count = json_is_array(value) ? json_array_size(value) : 1;
    unsigned bits = 0;
    if (!json_is_array(value) && !json_is_string(value))
        return api_refuse(reply, field->name, "%s must be a string or an array of strings, got %s", field->name,
                          api_type_name(value));
    if (count > INCLUDE_COUNT)
        return api_refuse(reply, field->name, "%s must contain at most %d strings, got %zu", field->name, (int)INCLUDE_COUNT,
                          count);
    for (size_t i = 0; i < count; i++) {
        const json_t *names = json_is_array(value) ? json_array_get(value, i) : value;
        if (!json_is_string(names))
            return api_refuse(reply, field->name, "%s must be a string or an array of strings, got %s at index %zu", field->name,
                              api_type_name(names), i);
        if (read_include_list(field, json_string_value(names), &bits, reply) != 0)
            return -1;
    }
    *(unsigned *)out = bits;
    return 0;
}

/* ---- as JSON schemas ---- */

static bool always(const struct field *field, const void *value) {
    (void)field;
    (void)value;
    return true;
}

static bool is_given(const struct field *field, const void *value) {
    (void)field;
    return *(const char *const *)value != NULL;
}

static void string_schema(struct writer *w, const struct field *field, const void *value) {
    writer_string(w, "type", "string");
    if (is_given(field, value))
        writer_string(w, "default", *(const char *const *)value);
}

static void format_schema(struct writer *w, const struct field *field, const void *value) {
    (void)field;
    api_schema_members(w, "=text,html,xml");
    writer_string(w, "default", *(const char *const *)value);
}

static void strategy_schema(struct writer *w, const struct field *field, const void *value) {
    (void)field;
    const struct search_kind *strategy;
    writer_string(w, "type", "string");
    writer_string(w, "default", search_name(*(const struct search_kind *const *)value));
    writer_begin_array(w, "enum");
    for (size_t i = 0; (strategy = search_nth(i)) != NULL; i++)
        writer_string(w, NULL, search_name(strategy));
    writer_end_array(w);
}

/* A default out of range stands for what is said in words. */
static bool is_in_range(const struct field *field, const void *value) {
    return (int64_t)(*(const size_t *)value) >= (int64_t)field->parameter->minimum;
}

static void integer_schema(struct writer *w, const struct field *field, const void *value) {
    writer_string(w, "type", "integer");
    writer_integer(w, "minimum", (int64_t)field->parameter->minimum);
    writer_integer(w, "maximum", (int64_t)field->parameter->maximum);
    if (is_in_range(field, value))
        writer_count(w, "default", *(const size_t *)value);
}

static bool real_is_in_range(const struct field *field, const void *value) {
    return *(const double *)value >= field->parameter->minimum;
}

static void real_schema(struct writer *w, const struct field *field, const void *value) {
    writer_string(w, "type", "number");
    writer_number(w, "minimum", field->parameter->minimum);
    writer_number(w, "maximum", field->parameter->maximum);
    if (real_is_in_range(field, value))
        writer_number(w, "default", *(const double *)value);
}

static void boolean_schema(struct writer *w, const struct field *field, const void *value) {
    (void)field;
    writer_string(w, "type", "boolean");
    writer_boolean(w, "default", *(const bool *)value);
}

static void split_schema(struct writer *w, const struct field *field, const void *value) {
    (void)field;
    (void)value;
    writer_string(w, "type", "boolean");
}

static void seed_schema(struct writer *w, const struct field *field, const void *value) {
    (void)field;
    (void)value;
    writer_string(w, "type", "integer");
    writer_integer(w, "minimum", 0);
    writer_integer(w, "maximum", INT64_MAX);
}

static void include_schema(struct writer *w, const struct field *field, const void *value) {
    (void)field;
    writer_begin_array(w, "oneOf");
    writer_begin_object(w, NULL);
    writer_string(w, "type", "array");
    writer_begin_object(w, "items");
    writer_string(w, "type", "string");
    writer_begin_array(w, "enum");
    for (size_t i = 0; i < INCLUDE_COUNT; i++)
        writer_string(w, NULL, includes[i].name);
    writer_string(w, NULL, "all");
    writer_end_array(w);
    writer_end_object(w);
    writer_count(w, "maxItems", INCLUDE_COUNT);
    writer_end_object(w);
    writer_begin_object(w, NULL);
    writer_string(w, "type", "string");
    writer_string(w, "description", "names with commas between them, or all");
    writer_end_object(w);
    writer_end_array(w);
    writer_begin_array(w, "default");
    for (size_t i = 0; i < INCLUDE_COUNT; i++)
        if (*(const unsigned *)value & includes[i].bit)
            writer_string(w, NULL, includes[i].name);
    writer_end_array(w);
}

/* Checked elsewhere: api_parse.c, api_force.c, api_glossary.c, api_protect.c. */
static void texts_schema(struct writer *w, const struct field *field, const void *value) {
    (void)field;
    (void)value;
    api_schema_members(w, "Texts");
}

static void forced_schema(struct writer *w, const struct field *field, const void *value) {
    (void)field;
    (void)value;
    api_schema_members(w, "[ForcedStep]");
}

static void glossary_schema(struct writer *w, const struct field *field, const void *value) {
    (void)field;
    (void)value;
    api_glossary_schema(w);
}

static void protect_schema(struct writer *w, const struct field *field, const void *value) {
    (void)field;
    (void)value;
    api_protect_schema(w);
}

/* ---- from the text of a form. NULL: it is none of the type ---- */

static json_t *text_to_real(const char *text, size_t length) {
    char *end;
    double number = strtod(text, &end);
    bool digits = length > 0 && strspn(text, "+-.0123456789eE") == length;
    return digits && *end == '\0' && isfinite(number) ? json_real(number) : NULL;
}

/* With a fraction, 5.0, it is a real number; whether that is an integer is for read to say. */
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
    return api_load_json(text, length, JSON_REJECT_DUPLICATES, NULL);
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

const struct field_type
    field_texts = {.read = read_value, .schema = texts_schema, .apart = always, .several = true},
    field_forced = {.read = read_value, .schema = forced_schema, .from_text = text_to_json, .as_json = true},
    field_glossary = {.read = read_value, .schema = glossary_schema, .from_text = text_to_json, .as_json = true},
    field_protect = {.read = read_value, .schema = protect_schema, .from_text = text_to_json, .as_json = true},
    field_string = {.read = read_string, .schema = string_schema, .apart = is_given},
    field_target = {.read = read_target, .schema = string_schema, .apart = is_given},
    field_format = {.read = read_format, .schema = format_schema, .apart = always},
    field_strategy = {.read = read_strategy, .schema = strategy_schema, .apart = always},
    field_integer = {.read = read_integer, .schema = integer_schema, .apart = is_in_range, .from_text = text_to_integer},
    field_real = {.read = read_real, .schema = real_schema, .apart = real_is_in_range, .from_text = text_to_real},
    field_boolean = {.read = read_boolean, .schema = boolean_schema, .apart = always, .from_text = text_to_boolean},
    field_split = {.read = read_split, .schema = split_schema, .from_text = text_to_boolean},
    field_seed = {.read = read_seed, .schema = seed_schema, .from_text = text_to_integer},
    field_include = {.read = read_include, .schema = include_schema, .apart = always, .from_text = text_to_names, .several = true};
