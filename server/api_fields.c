/* The fields of the decoding endpoints: JSON -> struct form. */
#include "server/api_form.h"
#include <string.h>

enum { BOTH = API_TRANSLATE | API_ATTENTION };

struct field {
    const char *name;
    int kinds; /* enum api_kind: endpoints that know it */
    int (*read)(const struct field *field, json_t *value, void *out, struct reply *reply);
    size_t offset; /* in struct form */
    double minimum, maximum;
    const char *strategy; /* the only one that it means something to; NULL: any */
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
    for (size_t i = 0; i < json_array_size(value); i++) {
        if (read_include_name(field, json_array_get(value, i), &bits, reply) != 0)
            return -1;
    }
    *(unsigned *)out = bits;
    return 0;
}

#define FORM(name) offsetof(struct form, name)

static const struct field fields[] = {
    {"text", BOTH, read_value, FORM(text), 0, 0, NULL},
    {"model", BOTH, read_string, FORM(model), 0, 0, NULL},
    {"source", BOTH, read_string, FORM(source), 0, 0, NULL},
    {"target", API_TRANSLATE, read_string, FORM(target_language), 0, 0, NULL},
    {"target", API_ATTENTION, read_value, FORM(target), 0, 0, NULL},
    {"strategy", BOTH, read_strategy, FORM(strategy), 0, 0, NULL},
    {"beam_size", BOTH, read_integer, FORM(beam_size), 1, REQUEST_MAX_BEAM, NULL},
    {"n_best", BOTH, read_integer, FORM(n_best), 1, REQUEST_MAX_BEAM, NULL},
    {"length_penalty", BOTH, read_real, FORM(length_penalty), 0, 2, NULL},
    {"min_length", BOTH, read_integer, FORM(min_length), 0, TRANSLATOR_MAX_TARGET, NULL},
    {"max_length", BOTH, read_integer, FORM(max_length), 1, TRANSLATOR_MAX_TARGET, NULL},
    {"split_sentences", BOTH, read_split, 0, 0, 0, NULL},
    {"replace_unknowns", BOTH, read_boolean, FORM(replace_unknowns), 0, 0, NULL},
    {"include", BOTH, read_include, FORM(include), 0, 0, NULL},
    {"coverage_penalty", BOTH, read_real, FORM(coverage_penalty), 0, 2, NULL},
    {"no_repeat_ngram", BOTH, read_integer, FORM(no_repeat_ngram), 0, 20, NULL},
    {"repetition_penalty", BOTH, read_real, FORM(repetition_penalty), 1, 10, NULL},
    {"prefix", BOTH, read_string, FORM(prefix), 0, 0, NULL},
    {"temperature", BOTH, read_real, FORM(temperature), 0.01, 10, "sample"},
    {"top_k", BOTH, read_integer, FORM(top_k), 0, 1000, "sample"},
    {"top_p", BOTH, read_real, FORM(top_p), 0.01, 1, "sample"},
    {"seed", BOTH, read_seed, 0, 0, 0, "sample"},
    {"force_attention", API_ATTENTION, read_value, FORM(force_attention), 0, 0, NULL},
    {"glossary", BOTH, read_value, FORM(glossary), 0, 0, NULL},
};

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
