/* The fields of the decoding endpoints: JSON -> struct form. */
#include "server/api_field.h"
#include <stdio.h>
#include <string.h>

enum { BOTH = API_TRANSLATE | API_ATTENTION };

#define FORM(name) offsetof(struct form, name)

static const struct field fields[] = {
    {"text", BOTH, &field_texts, FORM(text), 0, 0, NULL, "what to translate: a string, or an array of 1 to 64"},
    {"model", BOTH, &field_string, FORM(model), 0, 0, NULL, "a name of /models; without it the first that fits source and target"},
    {"source", BOTH, &field_string, FORM(source), 0, 0, NULL, "language code of the text"},
    {"target", API_TRANSLATE, &field_string, FORM(target_language), 0, 0, NULL, "language code of the translation"},
    {"translation", API_ATTENTION, &field_texts, FORM(translation), 0, 0, NULL,
     "the translation to score and align instead of alignd's own: a string if text is one, or an array as long"},
    {"target", API_ATTENTION, &field_texts, FORM(target), 0, 0, NULL, "translation, by its first name; not both"},
    {"strategy", BOTH, &field_strategy, FORM(strategy), 0, 0, NULL, "how to search"},
    {"beam_size", BOTH, &field_integer, FORM(beam_size), 1, REQUEST_MAX_BEAM, NULL, "hypotheses in a beam"},
    {"n_best", BOTH, &field_integer, FORM(n_best), 1, REQUEST_MAX_BEAM, NULL,
     "hypotheses to return: at most beam_size of a beam; greedy has one"},
    {"length_penalty", BOTH, &field_real, FORM(length_penalty), 0, 2, NULL, "score = log_prob / length ^ length_penalty; 0: none"},
    {"min_length", BOTH, &field_integer, FORM(min_length), 0, TRANSLATOR_MAX_TARGET, NULL, "target tokens at least"},
    {"max_length", BOTH, &field_integer, FORM(max_length), 1, TRANSLATOR_MAX_TARGET, NULL,
     "target tokens at most; the default is the model's ratio to the source"},
    {"split_sentences", BOTH, &field_split, 0, 0, 0, NULL,
     "cut texts into sentences; the default is true, with a target to score false"},
    {"replace_unknowns", BOTH, &field_boolean, FORM(replace_unknowns), 0, 0, NULL,
     "print unknown words as the source words most looked at"},
    {"include", BOTH, &field_include, FORM(include), 0, 0, NULL, "what sentences hold beside their text"},
    {"coverage_penalty", BOTH, &field_real, FORM(coverage_penalty), 0, 2, NULL,
     "score += coverage_penalty * sum over the source tokens of log(min(1, attention it got))"},
    {"no_repeat_ngram", BOTH, &field_integer, FORM(no_repeat_ngram), 0, 20, NULL,
     "no sequence of so many tokens comes twice; 0: any may"},
    {"repetition_penalty", BOTH, &field_real, FORM(repetition_penalty), 1, 10, NULL,
     "the log-probability of a token that came before counts so many times"},
    {"prefix", BOTH, &field_string, FORM(prefix), 0, 0, NULL, "the translation of each text begins with this"},
    {"temperature", BOTH, &field_real, FORM(temperature), 0.01, 10, "sample", "log-probabilities are divided by it"},
    {"top_k", BOTH, &field_integer, FORM(top_k), 0, 1000, "sample", "draw from so many of the best tokens; 0: all"},
    {"top_p", BOTH, &field_real, FORM(top_p), 0.01, 1, "sample",
     "draw from the fewest best tokens that have this much of the probability"},
    {"seed", BOTH, &field_seed, 0, 0, 0, "sample", "the same seed gives the same texts; random without it"},
    {"force_attention", API_ATTENTION, &field_forced, FORM(force_attention), 0, 0, NULL,
     "what the decoder looks at in these steps, in place of its own attention"},
    {"stream", BOTH, &field_boolean, FORM(stream), 0, 0, NULL,
     "answer with server-sent events: token, sentence, result last; error"},
    {"glossary", BOTH, &field_glossary, FORM(glossary), 0, 0, NULL,
     "target phrases that must stand where their source phrases are translated"},
};

/* ---- what the table says, as a JSON schema ---- */

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
            json_object_set_new(
                properties, fields[i].name,
                described(&fields[i], fields[i].type->schema(&fields[i], (const char *)&defaults + fields[i].offset)));
    }
    return json_pack("{s:s, s:o, s:[s], s:b}", "type", "object", "properties", properties, "required", "text",
                     "additionalProperties", 0);
}

/* ---- reading ---- */

const struct field *field_find(const char *name, enum api_kind kind) {
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
        const char *needed = field_find(name, kind)->strategy;
        if (needed && strcmp(form->strategy, needed) != 0)
            return api_refuse(reply, name, "%s is for strategy %s, got strategy %s", name, needed, form->strategy);
    }
    return 0;
}

int api_read_form(json_t *root, enum api_kind kind, struct form *form, struct reply *reply) {
    const char *name;
    json_t *value;
    json_object_foreach(root, name, value) {
        const struct field *field = field_find(name, kind);
        if (!field)
            return api_refuse(reply, name, "unknown field \"%.60s\"", name);
        if (field->type->read(field, value, (char *)form + field->offset, reply) != 0)
            return -1;
    }
    if (!form->text)
        return api_refuse(reply, "text", "text is missing");
    return check_strategy(root, kind, form, reply);
}
