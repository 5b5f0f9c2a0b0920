/* Whether the files of model folders are those that their manifests list: what was computed of a file is kept, so that one that has
 * not changed since is read for it once, however often its model is loaded. Thread-safe. */
#ifndef ALIGND_INTEGRITY_H
#define ALIGND_INTEGRITY_H

#include "server/decode/manifest.h"
#include <stdbool.h>

struct integrity;

/* NULL when memory is out. */
struct integrity *integrity_create(void);
/* NULL allowed. */
void integrity_free(struct integrity *integrity);
/* Checks that run, and those to come, end soon, with -1 and no error. */
void integrity_stop(struct integrity *integrity);

enum integrity_extent {
    INTEGRITY_QUICK, /* sizes, and the content of small files and of those that are known */
    INTEGRITY_WHOLE
};

struct integrity_found {
    bool listed, checked;           /* the folder has a manifest; all that it lists has been compared */
    char sha256[SHA256_DIGITS + 1]; /* of model.safetensors, as the manifest has it; "" : it does not say */
};

/* A folder without a manifest is right. -1 with ERROR_FORMAT: a file is not the one that the manifest lists, or the manifest cannot
 * be read; the message names the file without its folder; ERROR_FILE, ERROR_MEMORY. */
int integrity_check(struct integrity *integrity, const char *folder, enum integrity_extent extent, struct integrity_found *found,
                    struct error *err);

#endif
