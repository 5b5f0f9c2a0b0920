/* A file that is written: as a whole, so that whatever happens meanwhile it has its old content or the new, or in place.
 *
 * A file that is written as a whole has no name until it is finished (O_TMPFILE; where the file system cannot do that, a name of
 * its own beside the file), then takes the place of the file by rename. It keeps the permissions of the file before it, and
 * a symbolic link goes on to point to it. Pipes, devices and /dev/stdout have no content that could be lost: they are written in
 * place. One thread at a time. */
#ifndef ALIGND_OUTFILE_H
#define ALIGND_OUTFILE_H

#include "model/base/error.h"
#include <stdbool.h>
#include <stdio.h>

struct outfile {
    FILE *file;
    const char *name; /* as it was given, which must outlive this */
    char *path;       /* that it will have; NULL: it is written in place */
    char *temporary;  /* the path that it has until then; NULL: none */
};

/* Opens the file at path for writing as a whole. -1 with ERROR_FILE or ERROR_MEMORY: nothing is open, nothing has changed. */
int outfile_open(struct outfile *output, const char *path, struct error *err);
/* Opens it, or makes it, for reading and writing, and leaves what is in it. */
int outfile_open_in_place(struct outfile *output, const char *path, struct error *err);

/* Closes it. keep: it takes its place, once all of it is on the disk; otherwise it is as if it had never been opened, unless it was
 * written in place. -1 with ERROR_FILE or ERROR_MEMORY: it could not be written, and the old content is there. */
int outfile_close(struct outfile *output, bool keep, struct error *err);

/* Both descriptors are of the same regular file. */
bool outfile_same(int descriptor, int other);

#endif
