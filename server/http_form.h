/* The fields of a request outside JSON: the query string's and a form's. */
#ifndef ALIGND_HTTP_FORM_H
#define ALIGND_HTTP_FORM_H

#include "server/api.h"

struct MHD_Connection;

/* Fills call->fields: first the form's, when the body is one (urlencoded or multipart) and does not begin as a JSON object does,
 * then the query string's. All in the arena. -1 when memory is out. */
int form_read(struct MHD_Connection *connection, struct arena *arena, struct call *call);

#endif
