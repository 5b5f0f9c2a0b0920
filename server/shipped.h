/* The models that come with alignd. They are found by where the program is, so that an installed one, one in a checkout and one in
 * a container need not be told. */
#ifndef ALIGND_SHIPPED_H
#define ALIGND_SHIPPED_H

#include "model/base/error.h"
#include "server/base/name_list.h"

struct shipped {
    char *directory;          /* that all of them are in */
    struct name_list folders; /* paths, in the order in which they are served: en-fr first, then the others by name */
    const char *usual;        /* the one for requests that name neither a model nor languages: en-fr; NULL: it is not there */
};

/* Those of this program. -1 with ERROR_FILE: there are none, and the message tells where they were looked for; or ERROR_MEMORY.
 * Zeroed then. */
int shipped_find(struct shipped *shipped, struct error *err);
/* The same of the program at this path. */
int shipped_find_beside(const char *program, struct shipped *shipped, struct error *err);
void shipped_done(struct shipped *shipped);

#endif
