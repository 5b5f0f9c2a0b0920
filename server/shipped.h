/* Hides how alignd serves users who name no folders: it finds the models that came with it, finds models by name or by languages,
 * and prints on a terminal which models it serves and where. */
#ifndef ALIGND_SHIPPED_H
#define ALIGND_SHIPPED_H

#include "model/base/error.h"
#include "server/base/strings.h"
#include "server/options.h"

/* ---- the models that came with alignd ---- */

/* They are found relative to the program, so that an installation, a checkout and a container need no option. */
struct shipped {
    char *directory;          /* contains all of them */
    struct name_list folders; /* paths, in the order in which they are served: en-fr first, then the others by name */
    char *downloaded;  /* the folder of downloaded models, which go before these (models_find); NULL: it was not looked for */
    const char *usual; /* the model for requests that name neither a model nor languages: en-fr; NULL: it is missing */
};

/* Returns -1 with ERROR_FILE if there are none, and a message that names the searched folders; or with ERROR_MEMORY. The struct is
 * then zeroed. */
int shipped_find(struct shipped *shipped, struct error *err);
/* The same for the program at this path. */
int shipped_find_beside(const char *program, struct shipped *shipped, struct error *err);
/* The same with the folder of downloaded models, which may be missing; -1 if there are models in neither. */
int models_find(struct shipped *shipped, struct error *err);
void shipped_done(struct shipped *shipped);

/* ---- models by name ---- */

/* Replaces names in options->models by folders. A name that is neither a model folder nor a path is a model's name, or languages
 * such as "en-fr"; it is looked up in options->directory, or else among the models that were downloaded and those that came with
 * alignd. If options->from and options->to are set, the models must translate from one to the other. If no models are given, the
 * nearest model that does is chosen in the same way as by the daemon, and options->variant is set if it writes several languages.
 * Returns -1 with ERROR_INPUT and a message that lists the models; or with ERROR_FILE or ERROR_MEMORY. */
int named_models_find(struct options *options, struct error *err);

/* ---- the greeting ---- */

/* Prints on a terminal, once alignd serves: the addresses, the models, and a first command. */
struct greeting {
    const char *address;       /* as http_address returns it: "127.0.0.1:8080", "unix:/run/alignd.socket" */
    bool tls, keys;            /* TCP speaks HTTPS; requests need an API key */
    const char *directory;     /* folder of the models; NULL: each was named */
    bool gets;                 /* models that are downloaded will be served */
    const char *const *models; /* [model_count] names; the first dozen is listed */
    size_t model_count;
    const char *usual; /* the model for requests that name none; NULL: requests must name one */
};

/* The i-th line; the caller frees it. NULL after the last, or if memory is out. */
char *greeting_line(const struct greeting *greeting, size_t i);

#endif
