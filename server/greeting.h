/* What alignd says on a terminal once it serves: where it is, what it serves, and a first command. */
#ifndef ALIGND_GREETING_H
#define ALIGND_GREETING_H

#include <stdbool.h>
#include <stddef.h>

struct greeting {
    const char *address;       /* as http_address names it: "127.0.0.1:8080", "unix:/run/alignd.socket" */
    bool tls, keys;            /* TCP speaks HTTPS; requests need an API key */
    const char *directory;     /* that the models are in; NULL: each was named */
    const char *const *models; /* [model_count] names; after a dozen of them only how many more */
    size_t model_count;
    const char *usual; /* the one for requests that name none; NULL: requests must */
};

/* Its i-th line, to be freed. NULL: there are no more, or memory is out. */
char *greeting_line(const struct greeting *greeting, size_t i);

#endif
