/* This file reads the rows of the table of routes: which paths, methods and dialects are theirs. */
#include "server/api/dialect.h"
#include "server/api/value.h"
#include <string.h>

/* ---- paths and methods ---- */

const char *route_method(const char *method) {
    static const char *const known[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(method, known[i]) == 0)
            return known[i];
    }
    return "other";
}

/* Compares segment by segment. Unless part is NULL, sets it to the segment that matches the braces.
 */
static bool path_fits(const char *pattern, const char *path, const char **part, size_t *length) {
    while (*pattern && *path) {
        if (*pattern == '{') {
            size_t bytes = strcspn(path, "/");
            if (bytes == 0)
                return false;
            if (part) {
                *part = path;
                *length = bytes;
            }
            pattern += strcspn(pattern, "}") + 1;
            path += bytes;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return *pattern == *path;
}

const char *route_part(const struct route *route, const char *path, size_t *length) {
    const char *part = NULL;
    return path_fits(route->path, path, &part, length) ? part : NULL;
}

bool route_fits(const struct route *route, const char *path) {
    return path_fits(route->path, path, NULL, NULL);
}

bool route_takes(const struct route *route, const char *method) {
    return strcmp(method, route->method) == 0 ||
           (strcmp(method, "HEAD") == 0 && strcmp(route->method, "GET") == 0);
}

/* ---- dialects ---- */

const struct api_field *dialect_sent(const struct call *call, const char *name) {
    for (size_t i = 0; i < call->field_count; i++)
        if (strcmp(call->fields[i].name, name) == 0)
            return &call->fields[i];
    return NULL;
}

bool dialect_has(const struct dialect_fields *fields, const char *name) {
    return fields->root ? json_object_get(fields->root, name) != NULL
                        : dialect_sent(fields->call, name) != NULL;
}

const struct dialect *route_dialect(const struct route *route) {
    return route && route->dialects ? route->dialects[0] : NULL;
}

const struct dialect *route_spoken(const struct route *route, const struct dialect_fields *fields) {
    for (size_t i = 0; route->dialects && route->dialects[i]; i++)
        if (route->dialects[i]->speaks && route->dialects[i]->speaks(fields))
            return route->dialects[i];
    return route_dialect(route);
}

void route_choose_dialect(const struct route *route, const struct call *call, struct reply *reply) {
    if (route->dialects && route->dialects[1] && call->field_count > 0)
        reply->dialect = route_spoken(route, &(struct dialect_fields){.call = call});
}
