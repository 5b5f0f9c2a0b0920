/* An error is a code and a message. The first error wins; every function that takes a struct error
 * accepts NULL. The functions are in arena.c. */
#ifndef ALIGND_ERROR_H
#define ALIGND_ERROR_H

#include <stddef.h>

enum error_code {
    ERROR_NONE = 0,
    ERROR_INPUT,  /* the caller's text or options cannot be used */
    ERROR_LENGTH, /* the caller's text is too long */
    ERROR_FILE,   /* a file cannot be opened, read or written */
    ERROR_FORMAT, /* a file's content does not follow its format */
    ERROR_MEMORY, /* an allocation failed */
};

enum { ERROR_BYTES = 1024 }; /* enough for a message with two paths */

struct error {
    enum error_code code;
    char message[ERROR_BYTES];
};

/* Formats the message unless err already holds one. Returns -1, so that `return error_set(...)`
 * reads well. */
__attribute__((format(printf, 3, 4))) int error_set(struct error *err, enum error_code code,
                                                    const char *format, ...);

/* Sets ERROR_MEMORY and the message "out of memory". Returns -1. */
int error_memory(struct error *err);

/* ---- tables of names ----
 * Tables whose rows begin with a name, a const char *: kinds of cells, scores, windows, outputs and
 * so on. */

/* Returns the row of this name, or NULL with ERROR_FORMAT, "KEY: NAME is not known". */
const void *error_find_row(const void *rows, size_t count, size_t size, const char *key,
                           const char *name, struct error *err);
#define TABLE_FIND(table, key, name, err)                                                          \
    error_find_row(table, sizeof(table) / sizeof *(table), sizeof *(table), key, name, err)

#endif
