/* The body, the form and the query string of a call. */
#ifndef ALIGND_CALL_H
#define ALIGND_CALL_H

#include "server/api/api.h"
#include <jansson.h>

/* Returns true if the body's first character that is not blank is { or [: such a body counts as
 * JSON regardless of its content type. */
bool call_begins_json(const struct call *call);
bool call_is_blank(const struct call *call);
/* Returns true if the request is a form, or entirely in the query string. */
bool call_is_form(const struct call *call);

/* Parse the body as any JSON value, or as an object. NULL: the reply is set. */
json_t *call_load_value(const struct call *call, struct reply *reply);
json_t *call_load(const struct call *call, struct reply *reply);
/* Returns -1 after setting the reply if a field of a form or of the query string is not text. */
int call_check_fields(const struct call *call, struct reply *reply);

#endif
