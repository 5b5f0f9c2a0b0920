/* The fields of the decoding endpoints: JSON -> struct form. */
#include "server/api_form.h"
#include <stdio.h>
#include <string.h>

enum { BOTH = API_TRANSLATE | API_ATTENTION };

struct field {
    const char *name;
    int kinds; /* enum api_kind: endpoints that know it */
    int (*read)(const struct field *field, json_t *value, void *out, struct reply *reply);
    size_t offset; /* in struct form */
    double minimum, maximum;
    const char *strategy; /* the only one that it means something to; NULL: any */
    const char *text;     /* what it means, for /openapi.json */
};

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

const char *api_type_name(const json_t *value) {
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
        return api_refuse(reply, field->name, "%s must be a string, got %s", field->name, api_type_name(value));
    *(const char **)out = json_string_value(value);
    return 0;
}

static int read_strategy(const struct field *field, json_t *value, void *out, struct reply *reply) {
    const char *name;
    if (read_string(field, value, &name, reply) != 0)
        return -1;
    const char *known = request_strategy(name); /* the request outlives the JSON */
    if (!known)
        return api_refuse(reply, field->name, "%s must be " REQUEST_STRATEGIES ", got \"%.60s\"", field->name, name);
    *(const char **)out = known;
    return 0;
}

static int read_integer(const struct field *field, json_t *value, void *out, struct reply *reply) {
    if (!json_is_integer(value))
        return api_refuse(reply, field->name, "%s must be an integer, got %s", field->name, api_type_name(value));
    json_int_t number = json_integer_value(value);
    if (number < (json_int_t)field->minimum || number > (json_int_t)field->maximum)
        return api_refuse(reply, field->name, "%s must be between %.0f and %.0f, got %lld", field->name, field->minimum,
                          field->maximum, (long long)number);
    *(size_t *)out = (size_t)number;
    return 0;
}

static int read_real(const struct field *field, json_t *value, void *out, struct reply *reply) {
    if (!json_is_number(value))
        return api_refuse(reply, field->name, "%s must be a number, got %s", field->name, api_type_name(value));
    double number = json_number_value(value);
    if (!(number >= field->minimum && number <= field->maximum))
        return api_refuse(reply, field->name, "%s must be between %g and %g, got %g", field->name, field->minimum, field->maximum,
                          number);
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
    struct form *form = out;
    if (!json_is_integer(value))
        return api_refuse(reply, field->name, "%s must be an integer, got %s", field->name, api_type_name(value));
    if (json_integer_value(value) < 0)
        return api_refuse(reply, field->name, "%s must be between 0 and 9223372036854775807, got %lld", field->name,
                          (long long)json_integer_value(value));
    form->seed = (size_t)json_integer_value(value);
    form->seed_given = true;
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

#define FORM(name) offsetof(struct form, name)

static const struct field fields[] = {
    {"text", BOTH, read_value, FORM(text), 0, 0, NULL, "what to translate: a string, or an array of 1 to 64"},
    {"model", BOTH, read_string, FORM(model), 0, 0, NULL, "a name of /models; without it the first that fits source and target"},
    {"source", BOTH, read_string, FORM(source), 0, 0, NULL, "language code of the text"},
    {"target", API_TRANSLATE, read_string, FORM(target_language), 0, 0, NULL, "language code of the translation"},
    {"target", API_ATTENTION, read_value, FORM(target), 0, 0, NULL,
     "the translation to score and align instead of alignd's own: a string if text is one, or an array as long"},
    {"strategy", BOTH, read_strategy, FORM(strategy), 0, 0, NULL, "how to search"},
    {"beam_size", BOTH, read_integer, FORM(beam_size), 1, REQUEST_MAX_BEAM, NULL, "hypotheses in a beam"},
    {"n_best", BOTH, read_integer, FORM(n_best), 1, REQUEST_MAX_BEAM, NULL,
     "hypotheses to return: at most beam_size of a beam; greedy has one"},
    {"length_penalty", BOTH, read_real, FORM(length_penalty), 0, 2, NULL, "score = log_prob / length ^ length_penalty; 0: none"},
    {"min_length", BOTH, read_integer, FORM(min_length), 0, TRANSLATOR_MAX_TARGET, NULL, "target tokens at least"},
    {"max_length", BOTH, read_integer, FORM(max_length), 1, TRANSLATOR_MAX_TARGET, NULL,
     "target tokens at most; the default is the model's ratio to the source"},
    {"split_sentences", BOTH, read_split, 0, 0, 0, NULL,
     "cut texts into sentences; the default is true, with a target to score false"},
    {"replace_unknowns", BOTH, read_boolean, FORM(replace_unknowns), 0, 0, NULL,
     "print unknown words as the source words most looked at"},
    {"include", BOTH, read_include, FORM(include), 0, 0, NULL, "what sentences hold beside their text"},
    {"coverage_penalty", BOTH, read_real, FORM(coverage_penalty), 0, 2, NULL,
     "score += coverage_penalty * sum over the source tokens of log(min(1, attention it got))"},
    {"no_repeat_ngram", BOTH, read_integer, FORM(no_repeat_ngram), 0, 20, NULL,
     "no sequence of so many tokens comes twice; 0: any may"},
    {"repetition_penalty", BOTH, read_real, FORM(repetition_penalty), 1, 10, NULL,
     "the log-probability of a token that came before counts so many times"},
    {"prefix", BOTH, read_string, FORM(prefix), 0, 0, NULL, "the translation of each text begins with this"},
    {"temperature", BOTH, read_real, FORM(temperature), 0.01, 10, "sample", "log-probabilities are divided by it"},
    {"top_k", BOTH, read_integer, FORM(top_k), 0, 1000, "sample", "draw from so many of the best tokens; 0: all"},
    {"top_p", BOTH, read_real, FORM(top_p), 0.01, 1, "sample",
     "draw from the fewest best tokens that have this much of the probability"},
    {"seed", BOTH, read_seed, 0, 0, 0, "sample", "the same seed gives the same texts; random without it"},
    {"force_attention", API_ATTENTION, read_value, FORM(force_attention), 0, 0, NULL,
     "what the decoder looks at in these steps, in place of its own attention"},
    {"stream", BOTH, read_boolean, FORM(stream), 0, 0, NULL, "answer with server-sent events: token, sentence, result last; error"},
    {"glossary", BOTH, read_value, FORM(glossary), 0, 0, NULL,
     "target phrases that must stand where their source phrases are translated"},
};

/* ---- what the table says, as JSON schemas ---- */

static json_t *string_schema(const struct field *field, const void *value) {
    (void)field;
    const char *text = *(const char *const *)value;
    return text ? json_pack("{s:s, s:s}", "type", "string", "default", text) : json_pack("{s:s}", "type", "string");
}

static json_t *strategy_schema(const struct field *field, const void *value) {
    json_t *schema = string_schema(field, value), *names = json_array();
    const char *name;
    for (size_t i = 0; (name = request_strategy_name(i)) != NULL; i++)
        json_array_append_new(names, json_string(name));
    json_object_set_new(schema, "enum", names);
    return schema;
}

/* A default out of range stands for what is said in words. */
static json_t *integer_schema(const struct field *field, const void *value) {
    json_int_t number = (json_int_t)(*(const size_t *)value);
    json_t *schema = json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)field->minimum, "maximum",
                               (json_int_t)field->maximum);
    if (number >= (json_int_t)field->minimum)
        json_object_set_new(schema, "default", json_integer(number));
    return schema;
}

static json_t *real_schema(const struct field *field, const void *value) {
    return json_pack("{s:s, s:f, s:f, s:f}", "type", "number", "minimum", field->minimum, "maximum", field->maximum, "default",
                     *(const double *)value);
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
static json_t *value_schema(const struct field *field, const void *value) {
    (void)value;
    if (strcmp(field->name, "glossary") == 0)
        return api_glossary_schema();
    return api_schema(strcmp(field->name, "force_attention") == 0 ? "[ForcedStep]" : "Texts");
}

static json_t *field_schema(const struct field *field, const struct form *defaults) {
    static const struct {
        int (*read)(const struct field *field, json_t *value, void *out, struct reply *reply);
        json_t *(*schema)(const struct field *field, const void *value);
    } types[] = {{read_value, value_schema},     {read_string, string_schema}, {read_strategy, strategy_schema},
                 {read_integer, integer_schema}, {read_real, real_schema},     {read_boolean, boolean_schema},
                 {read_split, split_schema},     {read_seed, seed_schema},     {read_include, include_schema}};
    size_t i = 0;
    while (types[i].read != field->read)
        i++;
    return types[i].schema(field, (const char *)defaults + field->offset);
}

static json_t *described(const struct field *field, json_t *schema) {
    char text[300];
    snprintf(text, sizeof text, "%s%s%s", field->text, field->strategy ? "; only for strategy " : "",
             field->strategy ? field->strategy : "");
    return api_described(schema, text);
}

json_t *api_fields_schema(enum api_kind kind, size_t rows) {
    struct form defaults = api_default_form(rows, kind);
    json_t *properties = json_object();
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i].kinds & (int)kind)
            json_object_set_new(properties, fields[i].name, described(&fields[i], field_schema(&fields[i], &defaults)));
    }
    return json_pack("{s:s, s:o, s:[s], s:b}", "type", "object", "properties", properties, "required", "text",
                     "additionalProperties", 0);
}

/* ---- reading ---- */

static const struct field *find_field(const char *name, enum api_kind kind) {
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if ((fields[i].kinds & (int)kind) && strcmp(fields[i].name, name) == 0)
            return &fields[i];
    }
    return NULL;
}

/* Once the strategy is known, wherever in the object it stands. */
static int check_strategy(json_t *root, enum api_kind kind, const struct form *form, struct reply *reply) {
    const char *name;
    json_t *value;
    json_object_foreach(root, name, value) {
        const char *needed = find_field(name, kind)->strategy;
        if (needed && strcmp(form->strategy, needed) != 0)
            return api_refuse(reply, name, "%s is for strategy %s, got strategy %s", name, needed, form->strategy);
    }
    return 0;
}

int api_read_form(json_t *root, enum api_kind kind, struct form *form, struct reply *reply) {
    const char *name;
    json_t *value;
    json_object_foreach(root, name, value) {
        const struct field *field = find_field(name, kind);
        if (!field)
            return api_refuse(reply, name, "unknown field \"%.60s\"", name);
        if (field->read(field, value, (char *)form + field->offset, reply) != 0)
            return -1;
    }
    if (!form->text)
        return api_refuse(reply, "text", "text is missing");
    return check_strategy(root, kind, form, reply);
}
