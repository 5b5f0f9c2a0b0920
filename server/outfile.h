/* A file that is written either in place or as a whole, so that after any failure it has its old content or the new one.
 *
 * A file that is written as a whole has no name until it is finished (O_TMPFILE; on file systems without that, it has a temporary
 * name beside the file), and then replaces the file by rename. It keeps the old file's permissions, and a symbolic link still
 * points to it. Pipes, devices and /dev/stdout have no content that could be lost: they are written in place. One thread at a time.
 */
#ifndef ALIGND_OUTFILE_H
#define ALIGND_OUTFILE_H

#include "model/base/error.h"
#include <stdbool.h>
#include <stdio.h>

struct outfile {
    FILE *file;
    const char *name; /* the caller's path, which must outlive this */
    char *path;       /* the final path; NULL: the file is written in place */
    char *temporary;  /* the temporary path; NULL: none */
};

/* Opens the file at path to be written as a whole. Returns -1 with ERROR_FILE or ERROR_MEMORY; then nothing is open and nothing has
 * changed. */
int outfile_open(struct outfile *output, const char *path, struct error *err);
/* Opens or creates the file for reading and writing, and keeps its content. */
int outfile_open_in_place(struct outfile *output, const char *path, struct error *err);

/* Closes it. keep: it replaces the file once all of it is on the disk; otherwise the file stays as if it had never been opened,
 * unless it was written in place. Returns -1 with ERROR_FILE or ERROR_MEMORY if it could not be written; the old content is then
 * still there. */
int outfile_close(struct outfile *output, bool keep, struct error *err);

/* Whether both descriptors refer to the same regular file. */
bool outfile_same(int descriptor, int other);

#endif
