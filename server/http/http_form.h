/* The fields of a request outside JSON: a form's and the query string's. */
#ifndef ALIGND_HTTP_FORM_H
#define ALIGND_HTTP_FORM_H

#include "server/api/api.h"

struct MHD_Connection;

/* Fills call->fields: first the form's, when the body is one (urlencoded or multipart) and does not begin as a JSON object does,
 * then the query string's. All in the arena. -1: the reply is set. */
int form_read(struct MHD_Connection *connection, struct arena *arena, struct call *call, struct reply *reply);

#endif
