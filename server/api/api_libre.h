/* What the two halves of the LibreTranslate dialect share. Included by api_libre*.c only. */
#ifndef ALIGND_API_LIBRE_H
#define ALIGND_API_LIBRE_H

#include "server/api/api_json.h"
#include "server/html/html.h"

/* One string of q: a text of the request, or, as markup, one for each of its segments. */
struct item {
    const char *source; /* [length] */
    size_t length;
    struct text *texts; /* [count] */
    size_t count;
    struct html html;
};

/* How the texts make the answer. */
struct plan {
    struct item *items; /* [count] */
    size_t count;
    bool array, markup, same; /* same: source and target are one language */
    bool asked_alternatives;
    size_t alternatives;
    const char *detected; /* NULL: source was given */
    double confidence;
};

#endif
