#include "model/base/table.h"

#include <string.h>

const void *table_find(const void *rows, size_t count, size_t size, const char *key, const char *name, struct error *err) {
    for (const char *row = rows, *end = row + count * size; row < end; row += size) {
        const char *own;
        memcpy(&own, row, sizeof own);
        if (strcmp(own, name) == 0)
            return row;
    }
    error_set(err, ERROR_FORMAT, "%s: %s is not known", key, name);
    return NULL;
}
