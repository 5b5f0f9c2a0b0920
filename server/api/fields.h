/* The fields of POST /translate and POST /attention in alignd's own dialect, as they are sent in JSON, in forms and in query
 * strings. One table (fields.c) has the type, range and place of each; the searches' parameters (parameters.c) continue it. */
#ifndef ALIGND_FIELDS_H
#define ALIGND_FIELDS_H

#include "server/api/endpoint.h"
#include "server/decode/parameters.h"

struct choice;
struct field;

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
    struct choice *choices; /* of each text (native.c); in the request's arena */
};

struct field_type {
    /* Checks the value and writes it to its place in struct api_form. -1: the reply is set. */
    int (*read)(const struct field *field, json_t *value, void *out, struct reply *reply);
    /* The value that a form's text stands for. text: NUL-terminated, without a NUL in it. NULL: the text is not of this type, and
     * read will refuse the string. The member NULL: the value is the string. */
    json_t *(*from_text)(const char *text, size_t length);
    bool several; /* a form may have it several times: an array */
};

struct field {
    const char *name;
    int kinds; /* enum api_kind: endpoints that know it */
    const struct field_type *type;
    size_t offset;                     /* in struct api_form; split_sentences: 0 */
    const struct parameter *parameter; /* its range, and the strategy that it is for; NULL: neither */
};

/* The i-th. False: there are no more. */
bool field_nth(size_t i, struct field *field);
/* False: the endpoint has no such field. */
bool field_find(const char *name, enum api_kind kind, struct field *field);
/* The names that `include` may have, without "all". NULL: there are no more. */
const char *field_include_name(size_t i);

/* A body without fields; the model has the rest (parameters_settle). */
struct api_form api_default_form(enum api_kind kind);
/* Fills the fields that are there, over the defaults. Strict: an unknown field is an error, so that a typo is not silently ignored,
 * and so is one that means nothing to the strategy. -1: the reply is set. */
int api_read_form(json_t *root, enum api_kind kind, struct api_form *form, struct reply *reply);

/* force_attention -> request->forced. -1: the reply is set. */
int api_read_forced(json_t *value, struct request *request, struct reply *reply);
/* glossary -> request->glossary, once the request has its model. -1: the reply is set. */
int api_read_glossary(const struct service *service, json_t *value, struct request *request, struct reply *reply);

#endif
