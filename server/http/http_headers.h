/* The headers of replies. */
#ifndef ALIGND_HTTP_HEADERS_H
#define ALIGND_HTTP_HEADERS_H

#include "server/api/api.h"

struct MHD_Response;

/* What they depend on. */
struct heading {
    const struct service *service;
    const struct route *route; /* NULL: no such path */
    const char *method, *id;
    const char *trace;  /* traceparent; "": none */
    const char *origin; /* that the request came from; NULL: it does not tell */
    const struct reply *reply;
};
/* -1: memory is out, and some are missing. */
int headers_add(const struct heading *heading, struct MHD_Response *response);

#endif
