/* A file that is written as a whole, so that it has either its old content or the new one whatever happens, or in place.
 *
 * A file that is written as a whole has no name until it is finished (O_TMPFILE; on file systems without that, a name of its own
 * beside the file), and then replaces the file by rename. It keeps the old file's permissions, and a symbolic link still points to
 * it. Pipes, devices and /dev/stdout have no content that could be lost: they are written in place. One thread at a time. */
#ifndef ALIGND_OUTFILE_H
#define ALIGND_OUTFILE_H

#include "model/base/error.h"
#include <stdbool.h>
#include <stdio.h>

struct outfile {
    FILE *file;
    const char *name; /* as it was given, which must outlive this */
    char *path;       /* the path that it will have; NULL: it is written in place */
    char *temporary;  /* the path that it has until then; NULL: none */
};

/* Opens the file of this name to be written as a whole. -1 with ERROR_FILE or ERROR_MEMORY: nothing is open, nothing has changed.
 */
int outfile_open(struct outfile *output, const char *name, struct error *err);

/* Closes it. keep: it replaces the file, once all of it is on the disk; otherwise the file stays as if it had never been opened,
 * unless it was written in place. -1 with ERROR_FILE or ERROR_MEMORY: it could not be written, and the old content is there. */
int outfile_close(struct outfile *output, bool keep, struct error *err);

#endif
