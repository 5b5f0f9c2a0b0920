/* Files that are read to the end: models, keys, certificates; and those that are written whole. Only regular ones, of a bounded
 * size: what is read again while the daemon serves never waits for a pipe's writer, or reads a device for ever. */
#ifndef ALIGND_FILE_H
#define ALIGND_FILE_H

#include "model/base/error.h"
#include <stdbool.h>
#include <stddef.h>

/* Opens the file for reading, links followed; size: its bytes. Returns the descriptor, or -1 with ERROR_FILE: it cannot be opened,
 * is not a regular file, or is larger than most. Waits only for a file that its owner has leased (fcntl's F_SETLEASE, as Samba
 * does), and at most as long as the kernel leaves it leased. */
int file_open(const char *path, size_t most, size_t *size, struct error *err);

/* The whole file and a NUL behind it, malloc'ed, the caller's. -1 with ERROR_FILE as file_open, or ERROR_MEMORY. */
int file_read(const char *path, size_t most, char **bytes, size_t *size, struct error *err);

/* Both can be read and hold the same bytes, at most so many. */
bool file_same(const char *path, const char *other, size_t most);

/* Some of a file's bytes. */
struct file_part {
    const void *bytes; /* [size] */
    size_t size;
};

/* Puts these parts [count], end to end, in the place of the file, or makes it, for everybody to read as far as the umask lets them:
 * as file_replace. */
int file_replace_parts(const char *path, const struct file_part *parts, size_t count, struct error *err);

/* Puts these bytes in the place of the file, or makes it, readable by its owner alone: written to PATH.new, which is renamed once
 * all of it is on the disk. Whatever happens meanwhile, the file has its old content or the new. -1 with ERROR_FILE or
 * ERROR_MEMORY. One caller at a time. */
int file_replace(const char *path, const char *bytes, size_t size, struct error *err);

#endif
