/* The fields of alignd's own dialect. JSON, forms and query strings send them. One table (fields.c)
 * has the type, range and destination of each; the searches' parameters (server/decode/request.c)
 * extend it. */
#ifndef ALIGND_FIELDS_H
#define ALIGND_FIELDS_H

#include "server/api/api.h"
#include "server/decode/request.h"
#include <jansson.h>

/* The endpoints. */
enum api_kind {
    API_TRANSLATE = 1 << 0,
    API_ATTENTION = 1 << 1,
    API_ALIGN = 1 << 2,
    API_DOCUMENT =
        1 << 3 /* how to search, in a form with a file; documents.c has its other fields */
};

struct field;

/* `include` "all" means everything that the model has, except heads and beam. */
#define INCLUDE_ALL (1u << 31)

/* Strings and values are borrowed from the JSON. */
struct api_form {
    json_t *text, *translation, *force_attention, *glossary, *protect;
    struct formality_wish formality;
    const char *model, *source, *target_language, *variant, *prefix, *suffix, *format;
    const struct links_kind *links;
    struct search_options search; /* the strategy's parameters: server/decode/request.h */
    bool split, split_given, stream, replace_unknowns, warns, verbatim;
    unsigned include;
    size_t digits;      /* significant digits of weights */
    bool attention;     /* only for /attention and /align */
    bool reversible;    /* only for /align: a model of the opposite pair will do */
    struct text *texts; /* in the request's arena; their models and languages are set first */
};

struct field_type {
    /* Checks the value and writes it to its place in struct api_form. Returns -1 after setting the
     * reply. */
    int (*read)(const struct field *field, json_t *value, void *out, struct reply *reply);
    /* Converts the text of a form's field to a JSON value. text: NUL-terminated, without a NUL in
     * it. Returns NULL if the text does not have this type; read will then refuse the string. If
     * this member is NULL, the value is the string. */
    json_t *(*from_text)(const char *text, size_t length);
    bool several; /* a form may repeat it: an array */
};

struct field {
    const char *name;
    int kinds; /* enum api_kind: the endpoints that accept it */
    const struct field_type *type;
    size_t offset;                     /* in struct api_form; split_sentences: 0 */
    const struct parameter *parameter; /* its range, and the strategy that uses it; NULL: neither */
};

/* Sets *field to the i-th field. Returns false after the last. */
bool fields_nth(size_t i, struct field *field);
/* Returns false if the endpoint has no such field. */
bool fields_find(const char *name, enum api_kind kind, struct field *field);
/* Returns the i-th name that `include` may have, without "all", or NULL after the last. */
const char *fields_include_name(size_t i);

/* Returns the values of a body without fields; the model has the other defaults
 * (parameters_settle). */
struct api_form fields_default(enum api_kind kind);
/* Sets the fields that the object has, over the defaults. It refuses unknown fields, so that a typo
 * is not silently ignored, and fields that the strategy does not use. -1: the reply is set. */
int fields_read(json_t *root, enum api_kind kind, struct api_form *form, struct reply *reply);

/* Returns a value of a form as JSON: a string, unless it has the field's type. type NULL: unknown.
 */
json_t *fields_value(const struct field_type *type, const char *text, size_t length);

/* Sets *search to the fields of API_DOCUMENT that a form has, over the defaults. -1: the reply is
 * set. */
int fields_read_search(const struct call *call, struct search_options *search, struct reply *reply);
/* Checks the limits of numbers that depend on others. rows: of a worker. -1: the reply is set. */
int fields_check_search(const struct search_options *search, size_t rows, struct reply *reply);

/* Sets request->parameters.forced from force_attention. -1: the reply is set. */
int fields_read_forced(json_t *value, struct request *request, struct reply *reply);

#endif
