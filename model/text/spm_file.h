/* A SentencePiece model file, checked for what the library believes without looking. */
#ifndef ALIGND_SPM_FILE_H
#define ALIGND_SPM_FILE_H

#include "model/base/error.h"
#include <stddef.h>

/* Reads the whole file into malloc'd bytes, owned by the caller. -1 with ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY. */
int spm_file_read(const char *path, char **bytes, size_t *size, struct error *err);

/* Hands each piece of such a file to take, in the order of ids, until it returns other than 0. -1 with the errors of spm_file_read,
 * or because take did, which has told err why. */
typedef int spm_take(void *context, int id, const char *piece, size_t length);
int spm_file_pieces(const char *path, spm_take *take, void *context, struct error *err);

#endif
