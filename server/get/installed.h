/* The folder that downloaded models are kept in, and what is in it. */
#ifndef ALIGND_INSTALLED_H
#define ALIGND_INSTALLED_H

#include "model/base/error.h"
#include "server/base/strings.h"
#include "server/models/manifest.h"
#include <stdbool.h>
#include <stdint.h>

enum { INSTALLED_PATH_BYTES = 4096 };

/* The folder: `given` if it is not NULL (--models, $ALIGND_MODELS); /var/lib/alignd/models if this process may write there, or if
 * it is only to be read, has models and the next one has none; otherwise ~/.local/share/alignd/models. It need not be there. -1
 * with ERROR_INPUT: there is no home folder. */
int installed_place(const char *given, bool writing, char path[INSTALLED_PATH_BYTES], struct error *err);

/* A model folder. */
struct installed {
    char *folder;     /* owned */
    const char *name; /* the folder's last component */
    char source[32], target[32];
    struct model_origin origin;
    uint64_t bytes;    /* of all its files */
    bool on_demand;    /* a request had it downloaded: it may be deleted to make room for another */
    int64_t marked_us; /* if so, when that was, in time since 1970 */
};

struct installed_list {
    struct installed *models; /* [count] */
    size_t count;
};

/* Reads a model folder. -1 with ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY. */
int installed_read(const char *folder, struct installed *out, struct error *err);
void installed_done(struct installed *model);
/* Makes a model one that was downloaded on demand, or one that stays: a file of its folder, on-demand, says so. -1 with ERROR_FILE.
 */
int installed_mark(const char *folder, bool on_demand, struct error *err);
/* Adds the readable model folders of a directory, sorted by name; one that is not there has none. -1 with ERROR_MEMORY. */
int installed_list(const char *directory, struct installed_list *list, struct error *err);
void installed_list_done(struct installed_list *list);

/* Removes the model folder with this name, or the one for this pair of languages. It disappears at once, and then is deleted.
 * removed: its name, the caller's to free. -1 with ERROR_INPUT (there is none, or several) or ERROR_FILE. */
int installed_remove(const char *directory, const char *name, char **removed, struct error *err);

/* Makes the folder and those that lead to it. */
int installed_make(const char *folder, struct error *err);

#endif
