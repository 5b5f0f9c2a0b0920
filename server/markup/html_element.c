/* Elements. libxml2 knows those of HTML 4; a table here has what came later, and what is not translated. */
#include "server/markup/html_piece.h"
#include <libxml/HTMLparser.h>
#include <stdlib.h>
#include <string.h>

static const struct row {
    const char *name;
    unsigned flags;
} table[] = {
    {"article", ELEMENT_BLOCK},
    {"aside", ELEMENT_BLOCK},
    {"br", ELEMENT_BLOCK | ELEMENT_VOID},
    {"code", ELEMENT_OPAQUE},
    {"details", ELEMENT_BLOCK},
    {"dialog", ELEMENT_BLOCK},
    {"embed", ELEMENT_VOID},
    {"figcaption", ELEMENT_BLOCK},
    {"figure", ELEMENT_BLOCK},
    {"footer", ELEMENT_BLOCK},
    {"header", ELEMENT_BLOCK},
    {"hgroup", ELEMENT_BLOCK},
    {"iframe", ELEMENT_OPAQUE | ELEMENT_CODE},
    {"main", ELEMENT_BLOCK},
    {"math", ELEMENT_OPAQUE},
    {"nav", ELEMENT_BLOCK},
    {"noembed", ELEMENT_OPAQUE | ELEMENT_CODE},
    {"noframes", ELEMENT_OPAQUE | ELEMENT_CODE},
    {"pre", ELEMENT_BLOCK | ELEMENT_OPAQUE},
    {"script", ELEMENT_OPAQUE | ELEMENT_CODE},
    {"search", ELEMENT_BLOCK},
    {"section", ELEMENT_BLOCK},
    {"source", ELEMENT_VOID},
    {"style", ELEMENT_OPAQUE | ELEMENT_CODE},
    {"summary", ELEMENT_BLOCK},
    {"svg", ELEMENT_OPAQUE},
    {"template", ELEMENT_OPAQUE},
    {"textarea", ELEMENT_OPAQUE | ELEMENT_CODE},
    {"track", ELEMENT_VOID},
    {"wbr", ELEMENT_VOID},
    {"xmp", ELEMENT_BLOCK | ELEMENT_OPAQUE | ELEMENT_CODE},
};

static int compare_row(const void *key, const void *row) {
    return strcmp(key, ((const struct row *)row)->name);
}

/* An element that nobody knows is inline, as browsers show it. */
unsigned html_element(const char *name) {
    const struct row *row = bsearch(name, table, sizeof table / sizeof *table, sizeof *table, compare_row);
    if (row)
        return row->flags;
    const htmlElemDesc *known = htmlTagLookup((const xmlChar *)name);
    return known ? (known->isinline ? 0 : (unsigned)ELEMENT_BLOCK) | (known->empty ? (unsigned)ELEMENT_VOID : 0) : 0;
}

bool html_is_known(const char *name) {
    return htmlTagLookup((const xmlChar *)name) || html_element(name) != 0;
}

int32_t html_entity(const char *name) {
    const htmlEntityDesc *known = htmlEntityLookup((const xmlChar *)name);
    return known ? (int32_t)known->value : -1;
}
