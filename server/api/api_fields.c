/* The fields of the decoding endpoints: JSON -> struct api_form. */
#include "server/api/api_field.h"
#include "server/base/writer.h"
#include <stdio.h>
#include <string.h>

enum { BOTH = API_TRANSLATE | API_ATTENTION, WEIGHT_DIGITS = 4 };

#define FORM(name) offsetof(struct api_form, name)

static const struct parameter digits = {.minimum = 1, .maximum = DECIMAL_MOST};

static const struct field fields[] = {
    {"text", BOTH, &field_texts, FORM(text), "text to translate: a string, or an array of 1 to 64 strings", NULL},
    {"model", BOTH, &field_string, FORM(model), "a model name from /models; by default the first that fits source and target",
     NULL},
    {"source", BOTH, &field_string, FORM(source),
     "language code of the text; without it, or auto: detected, of each text by itself, if target is given", NULL},
    {"target", API_TRANSLATE, &field_string, FORM(target_language), "language code of the translation", NULL},
    {"target", API_ATTENTION, &field_target, FORM(target_language),
     "language code of the translation; your own translation goes into translation", NULL},
    {"variant", BOTH, &field_string, FORM(variant),
     "of a model that writes several languages: which one, as variants of /models names it; by default that of target", NULL},
    {"translation", API_ATTENTION, &field_texts, FORM(translation),
     "the translation to score and align instead of alignd's own: a string if text is a string, otherwise an array as long as text",
     NULL},
    {"split_sentences", BOTH, &field_split, 0, "split texts into sentences; default true, or false when a translation is given",
     NULL},
    {"replace_unknowns", BOTH, &field_boolean, FORM(replace_unknowns),
     "replace unknown words by the source words that they are aligned with", NULL},
    {"format", API_TRANSLATE, &field_format, FORM(format),
     "what the text is: text, html or xml; well-formed markup in text stays as it is, too", NULL},
    {"include", BOTH, &field_include, FORM(include),
     "what each sentence contains besides its text; all: everything that the model has, except heads and beam", NULL},
    {"digits", BOTH, &field_integer, FORM(digits), "significant digits of the weights of attention and alignment", &digits},
    {"prefix", BOTH, &field_string, FORM(prefix), "text that each translation must begin with", NULL},
    {"force_attention", API_ATTENTION, &field_forced, FORM(force_attention),
     "attention weights for these steps, instead of the decoder's own", NULL},
    {"stream", BOTH, &field_boolean, FORM(stream), "reply with server-sent events: token, sentence, and finally result or error",
     NULL},
    {"warnings", BOTH, &field_boolean, FORM(warns), "false: leave out the warning doubtful", NULL},
    {"verbatim", BOTH, &field_boolean, FORM(verbatim),
     "true: exactly what the model does; nothing is kept but what protect names, no number is checked, nothing is estimated "
     "unasked",
     NULL},
    {"glossary", BOTH, &field_glossary, FORM(glossary),
     "target phrases that must be used to translate these source phrases; or the name of a glossary that the server keeps", NULL},
    {"protect", BOTH, &field_protect, FORM(protect),
     "what is not translated and stays as it is: strings, found as whole words, and patterns in RE2's syntax", NULL},
};

enum { FIELDS = sizeof fields / sizeof *fields };

/* A parameter that requests may set. */
static struct field field_of(const struct parameter *p) {
    static const struct field_type *const types[PARAMETER_TYPES] = {[PARAMETER_STRATEGY] = &field_strategy,
                                                                    [PARAMETER_INTEGER] = &field_integer,
                                                                    [PARAMETER_REAL] = &field_real,
                                                                    [PARAMETER_SEED] = &field_seed};
    return (struct field){p->name, p->setters & PARAMETER_REQUEST ? BOTH : 0, types[p->type], FORM(search) + p->offset, p->text, p};
}

/* The i-th; false: there are no more. */
static bool field_nth(size_t i, struct field *field) {
    const struct parameter *p = i < FIELDS ? NULL : parameters_nth(i - FIELDS);
    if (i < FIELDS)
        *field = fields[i];
    else if (p)
        *field = field_of(p);
    return i < FIELDS || p;
}

/* ---- what the table says, as a JSON schema ---- */

enum { FIELD_TEXT_BYTES = 300 };
static const char needed[] = "text"; /* the one that has no default */

static void describe(const struct field *field, char text[FIELD_TEXT_BYTES]) {
    const struct search_kind *only = field->parameter ? field->parameter->only : NULL;
    snprintf(text, FIELD_TEXT_BYTES, "%s%s%s", field->text, only ? "; only for strategy " : "", only ? search_name(only) : "");
}

static void put_field(struct writer *w, const struct field *field, const void *value) {
    char text[FIELD_TEXT_BYTES];
    describe(field, text);
    bool apart = field->type->apart && field->type->apart(field, value);
    api_begin_described(w, field->name, text, apart);
    field->type->schema(w, field, value);
    api_end_described(w, text, apart);
}

struct api_form api_default_form(enum api_kind kind) {
    return (struct api_form){
        .search = parameters_default(),
        .prefix = "",
        .attention = kind == API_ATTENTION,
        .format = "text",
        .replace_unknowns = true,
        .warns = true,
        .digits = WEIGHT_DIGITS,
        .include = kind == API_TRANSLATE
                       ? INCLUDE_TOKENS
                       : INCLUDE_TOKENS | INCLUDE_ATTENTION | INCLUDE_ALIGNMENT | INCLUDE_OFFSETS | INCLUDE_ENTROPY | INCLUDE_EOS,
    };
}

void api_fields_schema(struct writer *w, const char *key, enum api_kind kind) {
    struct api_form defaults = api_default_form(kind);
    struct field field;
    writer_begin_object(w, key);
    writer_string(w, "type", "object");
    writer_begin_object(w, "properties");
    for (size_t i = 0; field_nth(i, &field); i++)
        if (field.kinds & (int)kind)
            put_field(w, &field, (const char *)&defaults + field.offset);
    api_end_properties(w, needed);
    writer_end_object(w);
}

static void put_parameter(struct writer *w, const struct field *field, const void *value) {
    char text[FIELD_TEXT_BYTES];
    describe(field, text);
    writer_begin_object(w, NULL);
    writer_strings(w, "name", field->name, "in", "query", "description", text, NULL);
    writer_boolean(w, "required", strcmp(field->name, needed) == 0);
    if (field->type->as_json) {
        writer_begin_object(w, "content");
        writer_begin_object(w, "application/json");
    }
    writer_begin_object(w, "schema");
    field->type->schema(w, field, value);
    writer_end_object(w);
    if (field->type->as_json) {
        writer_end_object(w);
        writer_end_object(w);
    }
    writer_end_object(w);
}

void api_fields_parameters(struct writer *w, const char *key, enum api_kind kind) {
    struct api_form defaults = api_default_form(kind);
    struct field field;
    writer_begin_array(w, key);
    for (size_t i = 0; field_nth(i, &field); i++)
        if (field.kinds & (int)kind)
            put_parameter(w, &field, (const char *)&defaults + field.offset);
    writer_end_array(w);
}

/* ---- reading ---- */

bool field_find(const char *name, enum api_kind kind, struct field *field) {
    for (size_t i = 0; field_nth(i, field); i++)
        if ((field->kinds & (int)kind) && strcmp(field->name, name) == 0)
            return true;
    return false;
}

/* Once the strategy is known, wherever in the object it stands. */
static int check_strategy(json_t *root, enum api_kind kind, const struct api_form *form, struct reply *reply) {
    const char *name;
    json_t *value;
    json_object_foreach(root, name, value) {
        struct field field;
        const struct search_kind *only = field_find(name, kind, &field) && field.parameter ? field.parameter->only : NULL;
        if (only && only != form->search.strategy)
            return api_refuse(reply, name, "%s requires strategy %s, got %s", name, search_name(only),
                              search_name(form->search.strategy));
    }
    return 0;
}

int api_read_form(json_t *root, enum api_kind kind, struct api_form *form, struct reply *reply) {
    const char *name;
    json_t *value;
    json_object_foreach(root, name, value) {
        struct field field;
        if (!field_find(name, kind, &field))
            return api_refuse(reply, name, "unknown field \"%.60s\"", name);
        if (field.type->read(&field, value, (char *)form + field.offset, reply) != 0)
            return -1;
    }
    if (!form->text)
        return api_refuse(reply, "text", "text is missing");
    return check_strategy(root, kind, form, reply);
}
