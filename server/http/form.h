/* This module reads the fields of a request: those of a form, as browsers and curl send them,
 * urlencoded (WHATWG URL, 5.1) or multipart/form-data (RFC 7578), and those of the query string. */
#ifndef ALIGND_FORM_H
#define ALIGND_FORM_H

#include "server/api/api.h"

struct MHD_Connection;

enum { FORM_MOST_FIELDS = 256, FORM_MOST_BOUNDARY = 70 /* RFC 2046, 5.1.1 */ };

struct form_fields {
    struct arena *arena; /* the arena of all names and values */
    struct api_field all[FORM_MOST_FIELDS];
    size_t count;
};

/* Returns true if this is the content type of a form; NULL: none. */
bool form_is(const char *content_type);

/* Appends the fields of a form's body in their order. Returns -1 with ERROR_INPUT (the body is not
 * a form, or has too many fields) or ERROR_MEMORY. */
int form_parse(struct form_fields *fields, const char *content_type, const char *body,
               size_t length, struct error *err);

/* Sets call->fields: first those of the form, if the body is one (urlencoded or multipart) and does
 * not begin like JSON, then those of the query string. All are in the arena. Returns -1 after
 * setting the reply. */
int form_read(struct MHD_Connection *connection, struct arena *arena, struct call *call,
              struct reply *reply);

#endif
