/* The fields of a form as browsers and curl send it: urlencoded (WHATWG URL, 5.1) or multipart/form-data (RFC 7578). */
#ifndef ALIGND_FORM_H
#define ALIGND_FORM_H

#include "server/api/api.h"

enum { FORM_MOST_FIELDS = 256, FORM_MOST_BOUNDARY = 70 /* RFC 2046, 5.1.1 */ };

struct form_fields {
    struct arena *arena; /* of all names and values */
    struct api_field all[FORM_MOST_FIELDS];
    size_t count;
};

/* content_type: the content type of the body; NULL: none. */
bool form_is(const char *content_type);

/* Appends the fields of a form's body in their order. Returns -1 with ERROR_INPUT (the body is not a form, or has too many fields)
 * or ERROR_MEMORY. */
int form_parse(struct form_fields *fields, const char *content_type, const char *body, size_t length, struct error *err);

#endif
