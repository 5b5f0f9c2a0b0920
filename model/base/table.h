/* Tables whose rows begin with their name, a const char *: kinds of cells, scores, windows, outputs and so on. */
#ifndef ALIGND_TABLE_H
#define ALIGND_TABLE_H

#include "model/base/error.h"
#include <stddef.h>

/* The row of this name. NULL with ERROR_FORMAT, "KEY: NAME is not known", if there is none. */
const void *table_find(const void *rows, size_t count, size_t size, const char *key, const char *name, struct error *err);

#define TABLE_FIND(table, key, name, err) table_find(table, sizeof(table) / sizeof *(table), sizeof *(table), key, name, err)

#endif
