/* This module knows where model folders are kept on disk, lists them, and reads where a model came
 * from (origin.json) and whether its files match manifest.json. */
#ifndef ALIGND_FOLDERS_H
#define ALIGND_FOLDERS_H

#include "model/base/error.h"
#include "server/base/strings.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { MODEL_PATH_BYTES = 4096, SHA256_BYTES = 32, SHA256_DIGITS = 2 * SHA256_BYTES };

/* ---- folders of model folders ---- */

/* Writes the path of the folder of downloaded models: `given` if it is not NULL or "" (--models,
 * $ALIGND_MODELS); /var/lib/alignd/models if this process may write there or, for reading, if only
 * this folder has models or there is no home folder; otherwise ~/.local/share/alignd/models. The
 * folder need not exist. Returns -1 with ERROR_INPUT if the path is too long or, for writing, if
 * there is no home folder. */
int installed_place(const char *given, bool writing, char path[MODEL_PATH_BYTES],
                    struct error *err);
/* Makes a folder and those that lead to it. */
int installed_make(const char *folder, struct error *err);

/* Adds the paths of the model folders in a directory, DIRECTORY/NAME, sorted by name: everything in
 * it that has a config.json and is not hidden. Returns -1 with ERROR_FILE (the directory cannot be
 * opened) or ERROR_MEMORY; some may have been added then. */
int folders_list(struct name_list *list, const char *directory, struct error *err);

/* Returns whether the directory has model folders. */
bool folders_any(const char *directory);

/* Removes the folder and all that is in it. */
void folders_delete_model(const char *folder);

/* ---- origin.json ---- */

/* The origin of a model, and its licence, as `alignd get` and `alignd import` write it to
 * origin.json. */
struct model_origin {
    char from[16];    /* mozilla, opus, hf, argos or url; "": it was not downloaded */
    char asked[2048]; /* its name for `alignd get`; "" likewise */
    char version[64];
    char licence[128];
    char attribution[256];
};

/* Strings that the file lacks, or all of them if there is no file that can be read, are "". Strings
 * that are too long are cut. */
struct model_origin folders_read_origin(const char *folder);

/* ---- manifest.json ----
 *
 * weights/model/manifest.py writes it:
 *
 *     {"format": 1, "files": {NAME: {"bytes": N, "sha256": HEXADECIMAL}}}
 *
 * Digests are cached, so that an unchanged file is digested once, even if its model is loaded
 * again. Thread-safe. */

/* Computes the SHA-256 of an open file from its current position; path: for messages. Once *stop is
 * true it returns -1 without an error; NULL: never. Returns -1 with ERROR_FILE or ERROR_MEMORY. */
int folders_digest_file(int file, const char *path, const atomic_bool *stop,
                        unsigned char sha256[SHA256_BYTES], struct error *err);
/* Computes the SHA-256 of the folder's model.safetensors, in digits. Returns -1 with ERROR_FILE or
 * ERROR_MEMORY. */
int manifest_digest_weights(const char *folder, char sha256[SHA256_DIGITS + 1], struct error *err);

struct integrity;

/* Returns NULL if memory runs out. */
struct integrity *integrity_create(void);
/* Accepts NULL. */
void integrity_free(struct integrity *integrity);
/* Makes running and future checks end soon with -1 and no error. */
void integrity_stop(struct integrity *integrity);

enum integrity_extent {
    INTEGRITY_QUICK, /* sizes, and the content of small files and of those whose digests are known
                      */
    INTEGRITY_WHOLE
};

struct integrity_found {
    bool listed, checked; /* the folder has a manifest; all listed files have been compared */
    char sha256[SHA256_DIGITS +
                1]; /* digest of model.safetensors according to the manifest; "": not listed */
};

/* Compares a folder with its manifest; a folder without a manifest is valid. Returns -1 with
 * ERROR_FORMAT (a file is not the one that the manifest lists, or the manifest cannot be read; the
 * message names the file without its folder), ERROR_FILE or ERROR_MEMORY. */
int integrity_check(struct integrity *integrity, const char *folder, enum integrity_extent extent,
                    struct integrity_found *found, struct error *err);

/* Updates the entries of these files [count] after they have changed; all others stay the same. A
 * folder without a manifest gets none. Returns -1 with ERROR_FORMAT, ERROR_FILE or ERROR_MEMORY;
 * the manifest is then the former one. */
int manifest_update(const char *folder, const char *const *names, size_t count, struct error *err);

/* ---- downloaded models ---- */

/* A model folder. */
struct installed {
    char *folder;     /* owned */
    const char *name; /* the folder's last component, by which it is removed */
    char model[64];   /* the name by which the model is served */
    char source[32], target[32];
    struct model_origin origin;
    uint64_t bytes;    /* size of all its files together */
    bool on_demand;    /* a request had it downloaded: it may be deleted to make room for another */
    int64_t marked_us; /* if so, the time of its mark, since 1970 */
};

struct installed_list {
    struct installed *models; /* [count] */
    size_t count;
};

/* Reads a model folder. Returns -1 with ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY. */
int installed_read(const char *folder, struct installed *out, struct error *err);
void installed_done(struct installed *model);
/* Makes a model one that was downloaded on demand, or one that stays: a file of its folder,
 * on-demand, says so. Returns -1 with ERROR_FILE, or with ERROR_INPUT if the path is too long. */
int installed_mark(const char *folder, bool on_demand, struct error *err);
/* Adds the readable model folders of a directory, sorted by name; a directory that does not exist
 * has none. Returns -1 with ERROR_MEMORY. */
int installed_list(const char *directory, struct installed_list *list, struct error *err);
void installed_list_done(struct installed_list *list);

/* Removes the model folder with this name, or the one for this pair of languages. It disappears at
 * once and is then deleted. removed: its name, which the caller frees. Returns -1 with ERROR_INPUT
 * (none or several), ERROR_FILE or ERROR_MEMORY. */
int installed_remove(const char *directory, const char *name, char **removed, struct error *err);

#endif
