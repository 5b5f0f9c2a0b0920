/* Temporary files for tests. */
#ifndef ALIGND_TESTS_FILES_H
#define ALIGND_TESTS_FILES_H

#include <stddef.h>

/* Writes a new file. Returns its path, to be ended with file_remove. A test that cannot write
 * fails. */
char *file_write(const void *data, size_t length);
/* A safetensors container: the length of the header, the header, the data. */
char *container_write(const char *header, const void *data, size_t length);
void file_remove(char *path);

#endif
