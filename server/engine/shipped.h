/* The models that came with alignd, and models by name. */
#ifndef ALIGND_SHIPPED_H
#define ALIGND_SHIPPED_H

#include "server/models/folders.h"
#include "server/options/options.h"

/* They are found relative to the program, so that an installation, a checkout and a container need
 * no option. */
struct shipped {
    char *directory;          /* contains all of them */
    struct name_list folders; /* paths, in the order in which they are served: en-fr first, then the
                                 others by name */
    char *downloaded;         /* the folder of downloaded models, which precede these
                                 (shipped_find_downloaded); NULL:         not searched */
    const char *usual; /* the model for requests that name neither a model nor languages: en-fr;
                          NULL: it is missing */
};

/* Returns -1 with ERROR_FILE if there are none, and a message that names the searched folders; or
 * with ERROR_MEMORY. The struct is then zeroed. */
int shipped_find(struct shipped *shipped, struct error *err);
/* Finds those of the program at this path in the same way. */
int shipped_find_beside(const char *program, struct shipped *shipped, struct error *err);
/* Finds them and the folder of downloaded models, which may be missing. Returns -1 if neither has
 * models. beside: the file beside which the shipped models are; NULL: the program. */
int shipped_find_downloaded(const char *beside, struct shipped *shipped, struct error *err);
/* Returns the name of the model for requests that name neither a model nor languages, or NULL. A
 * downloaded model replaces the shipped one for its languages. downloaded: outlives the name. */
const char *shipped_usual(const struct shipped *shipped, const struct installed_list *downloaded);
void shipped_done(struct shipped *shipped);

/* Replaces names in options->models by folders. A name that is neither a model folder nor a path is
 * a model's name, or languages such as "en-fr"; it is looked up in options->directory, or else
 * among the models that were downloaded and those that came with alignd. If options->from and
 * options->to are set, the models must translate from one to the other. If no models are given, the
 * nearest model that does is chosen in the same way as by the daemon, and options->variant is set
 * if it writes several languages. Returns -1 with ERROR_INPUT and a message that lists the models;
 * or with ERROR_FILE or ERROR_MEMORY. */
int shipped_find_named(struct options *options, struct error *err);

#endif
