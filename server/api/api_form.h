/* The fields of POST /translate and POST /attention as sent: one table (api_fields.c) gives each its type, range and place; that of
 * the searches' parameters (parameters.c) goes on with it. */
#ifndef ALIGND_API_FORM_H
#define ALIGND_API_FORM_H

#include "server/api/api_json.h"

/* Strings and values are borrowed from the JSON. */
struct api_form {
    json_t *text, *translation, *target, *force_attention, *glossary; /* target: on /attention, translation by another name */
    const char *target_name;                                          /* by which it was sent; then target is set */
    const char *model, *source, *target_language, *prefix;
    struct search_options search; /* its parameters: server/decode/parameters.h */
    bool split, split_given, stream, replace_unknowns;
    unsigned include;
};

/* Fills what is there, over the defaults. Strict: an unknown field is an error, so that a typo is not silently ignored, and so is
 * one that means nothing to the strategy. -1: the reply is set. */
int api_read_form(json_t *root, enum api_kind kind, struct api_form *form, struct reply *reply);

/* What a body without fields has. rows: of a worker. */
struct api_form api_default_form(size_t rows, enum api_kind kind);

/* The JSON schema of a body, made from the table. rows: of a worker. */
void api_fields_schema(struct writer *w, const char *key, enum api_kind kind, size_t rows);

/* A form or a query string as the JSON object that api_read_form reads: each text as what its field's type makes of it, several
 * as an array where the field takes one. NULL: the reply is set. */
json_t *api_native_load(const struct call *call, enum api_kind kind, struct reply *reply);
/* True if it has a text. */
bool api_native_speaks(const struct call *call);
/* The refusal of one that has none. */
void api_native_fail(struct reply *reply);

/* force_attention -> request->forced. -1: the reply is set. */
int api_read_forced(json_t *value, struct request *request, struct reply *reply);

/* glossary -> request->glossary. -1: the reply is set. */
int api_read_glossary(json_t *value, struct request *request, struct reply *reply);
/* What it may be: the members of a JSON schema. */
void api_glossary_schema(struct writer *w);

/* Always -1. */
#define api_refuse(reply, field, ...) (api_fail(reply, STATUS_INVALID, field, __VA_ARGS__), -1)

#endif
