/* manifest.json of a model folder: the SHA-256 of each of its files, as weights/manifest.py writes it:
 *
 *     {"format": 1, "files": {NAME: {"bytes": N, "sha256": HEXADECIMAL}}}
 */
#ifndef ALIGND_MANIFEST_H
#define ALIGND_MANIFEST_H

#include "model/base/error.h"
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_DIGITS = 2 * SHA256_BYTES };

struct manifest_file {
    char *name; /* in the folder itself */
    uintmax_t bytes;
    unsigned char sha256[SHA256_BYTES];
};

struct manifest {
    struct manifest_file *files; /* [count] */
    size_t count;
};

/* A folder without the file has none: 0, and no files. -1 with ERROR_FILE, ERROR_FORMAT (the message names the file) or
 * ERROR_MEMORY. */
int manifest_read(const char *folder, struct manifest *manifest, struct error *err);
void manifest_done(struct manifest *manifest);

/* The SHA-256 of what the file at path holds. stop: given up with -1 and no error once it is true; NULL: never. -1 with ERROR_FILE
 * or ERROR_MEMORY. */
int manifest_digest(const char *path, const atomic_bool *stop, unsigned char sha256[SHA256_BYTES], struct error *err);
/* That of the folder's model.safetensors, in digits. */
int manifest_digest_weights(const char *folder, char sha256[SHA256_DIGITS + 1], struct error *err);

#endif
