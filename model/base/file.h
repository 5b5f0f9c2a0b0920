/* This module reads and writes whole files, such as models, keys and certificates. It reads only
 * regular files of a bounded size: the daemon reads some again while it serves, and must not wait
 * for the writer of a pipe or read a device forever. */
#ifndef ALIGND_FILE_H
#define ALIGND_FILE_H

#include "model/base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opens the file for reading, follows links, and sets size to its number of bytes. Returns the
 * descriptor, or -1 with ERROR_FILE if it cannot be opened, is not a regular file, or is larger
 * than most. Waits only for a file that its owner has leased (fcntl's F_SETLEASE, as Samba does),
 * and only as long as the kernel lets the lease last. */
int file_open(const char *path, size_t most, size_t *size, struct error *err);

/* Reads the whole file into memory from malloc, which the caller owns, and adds a NUL. Returns -1
 * with ERROR_FILE, as file_open does, or ERROR_MEMORY. */
int file_read(const char *path, size_t most, char **bytes, size_t *size, struct error *err);

/* True if the paths are equal, or both files can be read and hold the same bytes, at most `most`.
 */
bool file_same(const char *path, const char *other, size_t most);

/* Writes all of the bytes at the descriptor's position. Returns -1 with errno set. */
int file_write_all(int descriptor, const void *bytes, size_t size);

/* A part of a file's content. */
struct file_part {
    const void *bytes; /* [size] */
    size_t size;
};

/* Creates the file or replaces its content; only its owner may read it. The bytes are written to
 * PATH.new, which is renamed once it is on the disk, so that after a crash the file has either its
 * old or its new content. Returns -1 with ERROR_FILE or ERROR_MEMORY. Only one caller at a time may
 * replace a file. */
int file_replace(const char *path, const char *bytes, size_t size, struct error *err);
/* Does the same with parts [count], end to end, but the umask decides who may read the file. */
int file_replace_parts(const char *path, const struct file_part *parts, size_t count,
                       struct error *err);

/* A checksum that shows whether bytes [count] have changed by accident, through a disk error or an
 * incomplete copy. It costs little more than reading them and gives no protection against
 * deliberate changes. sum: 0, or the checksum of the preceding bytes. Changing one aligned group of
 * eight bytes always changes the checksum, any other change almost always. */
uint64_t file_checksum(uint64_t sum, const void *bytes, size_t count);

#endif
