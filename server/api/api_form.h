/* The fields of POST /translate and POST /attention as sent: one table (api_fields.c) gives each its type, range and place; that of
 * the searches' parameters (parameters.c) goes on with it. */
#ifndef ALIGND_API_FORM_H
#define ALIGND_API_FORM_H

#include "server/api/api_json.h"

struct choice;

/* In `include`: everything that the model has, except heads and beam. */
#define INCLUDE_ALL (1u << 31)

/* Strings and values are borrowed from the JSON. */
struct api_form {
    json_t *text, *translation, *force_attention, *glossary, *protect;
    const char *model, *source, *target_language, *variant, *prefix, *format;
    struct search_options search; /* its parameters: server/decode/parameters.h */
    bool split, split_given, stream, replace_unknowns, warns, verbatim;
    unsigned include;
    size_t digits;          /* significant, of weights */
    bool attention;         /* of /attention */
    struct choice *choices; /* of each text (api_choose.h); in the request's arena */
};

/* Fills what is there, over the defaults. Strict: an unknown field is an error, so that a typo is not silently ignored, and so is
 * one that means nothing to the strategy. -1: the reply is set. */
int api_read_form(json_t *root, enum api_kind kind, struct api_form *form, struct reply *reply);

/* What a body without fields has; the model has the rest (parameters_settle). */
struct api_form api_default_form(enum api_kind kind);

/* The JSON schema of a body, made from the table. */
void api_fields_schema(struct writer *w, const char *key, enum api_kind kind);
/* The same fields as parameters of a query string: an array of OpenAPI's parameter objects. */
void api_fields_parameters(struct writer *w, const char *key, enum api_kind kind);

/* Texts with tags or marks -> request->texts, a text for each segment, and request->plan, if there are any. -1: the reply is set.
 */
int api_read_markup(const struct api_form *form, struct request *request, struct reply *reply);

/* force_attention -> request->forced. -1: the reply is set. */
int api_read_forced(json_t *value, struct request *request, struct reply *reply);

/* glossary -> request->glossary, once the request has its model. -1: the reply is set. */
int api_read_glossary(const struct service *service, json_t *value, struct request *request, struct reply *reply);
/* What it may be: the members of a JSON schema. */
void api_glossary_schema(struct writer *w);

/* The same of what is not to be translated. */
void api_protect_schema(struct writer *w);

#endif
