/* Tables whose rows begin with their name, a const char *: kinds of cells, scores, windows, outputs and so on. */
#ifndef ALIGND_TABLE_H
#define ALIGND_TABLE_H

#include "model/base/error.h"
#include <stddef.h>
#include <string.h>

/* Returns the row of this name, or NULL with ERROR_FORMAT, "KEY: NAME is not known". */
static inline const void *table_find(const void *rows, size_t count, size_t size, const char *key, const char *name,
                                     struct error *err) {
    for (const char *row = rows, *end = row + count * size; row < end; row += size) {
        const char *own;
        memcpy(&own, row, sizeof own);
        if (strcmp(own, name) == 0)
            return row;
    }
    error_set(err, ERROR_FORMAT, "%s: %s is not known", key, name);
    return NULL;
}

#define TABLE_FIND(table, key, name, err) table_find(table, sizeof(table) / sizeof *(table), sizeof *(table), key, name, err)

#endif
