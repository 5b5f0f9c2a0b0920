/* Output files are written either in place or as a whole. One that is written as a whole has its
 * old or its new content after any failure.
 *
 * A file that is written as a whole has no name until it is finished (O_TMPFILE; on file systems
 * without that, it has a temporary name beside the file), and then replaces the file by rename. It
 * keeps the old file's permissions, and a symbolic link still points to it. A file that can be
 * written but not replaced, such as a mount point, is overwritten with the finished content, and a
 * failure may then leave a part of it. Pipes, devices and /dev/stdout have no content that could be
 * lost: they are written in place. An outfile belongs to one thread. */
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

/* Opens the file of this name to be written as a whole. Returns -1 with ERROR_FILE or ERROR_MEMORY;
 * then nothing is open and nothing has changed. */
int outfile_open(struct outfile *output, const char *name, struct error *err);

/* Closes the output. keep: it replaces the file once all of it is on the disk; otherwise the file
 * stays as if it had never been opened, unless it was written in place. Returns -1 with ERROR_FILE
 * if it could not be written; a file that can be replaced then still has the old content. */
int outfile_close(struct outfile *output, bool keep, struct error *err);

#endif
