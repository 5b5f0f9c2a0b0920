/* Model folders and their files: finding folders, reading where a model came from (origin.json), and checking whether the files are
 * those that manifest.json lists.
 * weights/model/manifest.py writes it:
 *
 *     {"format": 1, "files": {NAME: {"bytes": N, "sha256": HEXADECIMAL}}}
 *
 * Digests are kept, so that a file that has not changed is read for its digest once, even if its model is loaded again.
 * Thread-safe. */
#ifndef ALIGND_MANIFEST_H
#define ALIGND_MANIFEST_H

#include "model/base/error.h"
#include "server/base/strings.h"
#include <stdbool.h>

enum { SHA256_BYTES = 32, SHA256_DIGITS = 2 * SHA256_BYTES };

/* Adds the paths of the model folders in a directory, DIRECTORY/NAME, sorted by name: everything in it that has a config.json and
 * is not hidden. Returns -1 with ERROR_FILE (the directory cannot be opened) or ERROR_MEMORY; some may have been added then. */
int model_folders_list(struct name_list *list, const char *directory, struct error *err);

/* Removes the folder and all that is in it. */
void model_folder_delete(const char *folder);

/* Where a model came from, and its licence, as `alignd get` and `alignd import` write it to origin.json. */
struct model_origin {
    char from[16];    /* mozilla, opus, hf, argos or url; "": it was not downloaded */
    char asked[2048]; /* its name for `alignd get`; "" likewise */
    char version[64];
    char licence[128];
    char attribution[256];
};

/* Strings that the file lacks, or all of them if there is no file that can be read, are "". Strings that are too long are cut. */
struct model_origin model_origin_read(const char *folder);

/* Computes the SHA-256 of the folder's model.safetensors, in digits. Returns -1 with ERROR_FILE or ERROR_MEMORY. */
int manifest_digest_weights(const char *folder, char sha256[SHA256_DIGITS + 1], struct error *err);

struct integrity;

/* Returns NULL if memory is out. */
struct integrity *integrity_create(void);
/* Accepts NULL. */
void integrity_free(struct integrity *integrity);
/* Makes running and future checks end soon with -1 and no error. */
void integrity_stop(struct integrity *integrity);

enum integrity_extent {
    INTEGRITY_QUICK, /* sizes, and the content of small files and of those whose digests are known */
    INTEGRITY_WHOLE
};

struct integrity_found {
    bool listed, checked;           /* the folder has a manifest; all listed files have been compared */
    char sha256[SHA256_DIGITS + 1]; /* digest of model.safetensors according to the manifest; "": not listed */
};

/* Compares a folder with its manifest; a folder without a manifest is valid. Returns -1 with ERROR_FORMAT (a file is not the one
 * that the manifest lists, or the manifest cannot be read; the message names the file without its folder), ERROR_FILE or
 * ERROR_MEMORY. */
int integrity_check(struct integrity *integrity, const char *folder, enum integrity_extent extent, struct integrity_found *found,
                    struct error *err);

/* Writes the entries of these files [count] anew, after they have changed; all others stay as they are. A folder without a manifest
 * gets none. Returns -1 with ERROR_FORMAT, ERROR_FILE or ERROR_MEMORY; the manifest is then the former one. */
int manifest_update(const char *folder, const char *const *names, size_t count, struct error *err);

#endif
