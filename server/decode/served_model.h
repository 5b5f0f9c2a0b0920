/* A model folder in service, whether its model is loaded or not: what the folder told when it was read, which never changes; and
 * its state, which is the residence's (server/decode/residence.h). Counted: a set holds one reference, and the residence one while
 * it loads the model or keeps it. */
#ifndef ALIGND_SERVED_MODEL_H
#define ALIGND_SERVED_MODEL_H

#include "server/decode/loaded_model.h"

enum model_state { MODEL_COLD, MODEL_LOADING, MODEL_READY, MODEL_FAILED, MODEL_STATES };

struct served_model {
    char *folder;                 /* without a slash at the end */
    struct translator_card *card; /* NULL: the folder cannot be read; state is MODEL_FAILED for good */
    struct translator_info info;  /* translator_card_info; of such a folder its name alone, the other strings are "" */
    struct model_metrics *metrics;
    atomic_size_t references;

    /* guarded by the residence's lock; before the model is in service, its maker's */
    enum model_state state;
    struct loaded_model *loaded;           /* MODEL_READY: one reference */
    const char *compute;                   /* that it was loaded with; NULL: not yet */
    size_t bytes;                          /* that it takes loaded, or is expected to take */
    struct error error;                    /* MODEL_FAILED: why, without the folder's name */
    int64_t asked_us;                      /* when it was last asked for, or loaded */
    int64_t changed_us;                    /* when it failed; while it is ordered: since when */
    bool ordered;                          /* to be loaded, or being loaded */
    bool left;                             /* in service no more */
    bool unchecked;                        /* MODEL_READY: its larger files are yet to be compared with its manifest */
    struct served_model *next, *next_kept; /* in its lists */
};

/* Reads the folder, loads nothing. NULL with ERROR_MEMORY, and, unless broken is allowed, as translator_card_read: the message
 * names the folder. The caller has a reference. */
struct served_model *served_model_read(const char *folder, bool broken, const struct loading *loading, struct error *err);
struct served_model *served_model_acquire(struct served_model *model);
/* NULL allowed. */
void served_model_release(struct served_model *model);

/* Loads the model, beside what the state says: for as long as it takes the model is untouched. NULL: why, without the folder's
 * name. compute: NULL: the loading's. */
struct loaded_model *served_model_open(const struct served_model *model, const char *compute, const struct loading *loading,
                                       struct error *err);
/* It is loaded: takes the reference over. */
void served_model_set(struct served_model *model, struct loaded_model *loaded);
/* Keeps an error, without what it tells of the folder's place: that is nobody's business. */
void served_model_fail(struct served_model *model, const struct error *error);

/* "cold", "loading", "ready", "failed" */
const char *model_state_name(enum model_state state);

#endif
