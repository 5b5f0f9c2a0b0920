/* The endpoints: one table has a row for each path and method. openapi.json describes their fields
 * and replies. */
#ifndef ALIGND_ROUTES_H
#define ALIGND_ROUTES_H

#include "server/api/api.h"

/* Returns the i-th row, or NULL after the last. */
const struct route *routes_nth(size_t i);
/* Sets the labels of metrics and log lines: one for each path, and "other". Returns their number.
 */
enum { ROUTES_MOST_LABELS = 128 };
size_t routes_labels(const char *labels[ROUTES_MOST_LABELS]);
/* Returns the row of this path and method; the first row of the path if none has the method; NULL
 * if no such path exists. index: the place of the path's label in routes_labels; unknown paths
 * share the last one. */
const struct route *routes_find(const char *path, const char *method, size_t *index);
/* Writes all methods of the route's path, such as "GET, HEAD, OPTIONS". */
enum { ROUTES_METHODS_BYTES = 64 };
void routes_allowed(const struct route *route, char methods[ROUTES_METHODS_BYTES]);

#endif
