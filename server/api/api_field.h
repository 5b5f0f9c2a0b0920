/* A row of the table of fields (api_fields.c) and its type (api_field_types.c). */
#ifndef ALIGND_API_FIELD_H
#define ALIGND_API_FIELD_H

#include "server/api/api_form.h"
#include "server/decode/parameters.h"

struct field;

struct field_type {
    /* Checks the value and writes it to its place in struct api_form. -1: the reply is set. */
    int (*read)(const struct field *field, json_t *value, void *out, struct reply *reply);
    /* Writes the members of its JSON schema. value: the default, at its place. */
    void (*schema)(struct writer *w, const struct field *field, const void *value);
    /* Whether the schema is a reference or has a default (api_begin_described); NULL: never. */
    bool (*apart)(const struct field *field, const void *value);
    /* What a form's text says, NUL-terminated, no NUL within; NULL: nothing of this type, and read will refuse the string. Without
     * it the value is the string. */
    json_t *(*from_text)(const char *text, size_t length);
    bool several; /* a form may have it several times: an array */
    bool as_json; /* a form has it as JSON */
};

extern const struct field_type field_texts, field_forced, field_glossary, field_protect, field_string, field_target, field_format,
    field_strategy, field_integer, field_real, field_boolean, field_split, field_seed, field_include;

struct field {
    const char *name;
    int kinds; /* enum api_kind: endpoints that know it */
    const struct field_type *type;
    size_t offset;                     /* in struct api_form; split: 0 */
    const char *text;                  /* what it means, for /openapi.json */
    const struct parameter *parameter; /* its range, and the strategy that it is for; NULL: neither */
};

/* False: the endpoint has no such field. */
bool field_find(const char *name, enum api_kind kind, struct field *field);

#endif
