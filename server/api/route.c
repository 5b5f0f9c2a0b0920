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

/* Compares a path with the route's. A name in braces matches what comes before the next slash, or
 * before the character that follows the braces. Unless part is NULL, sets it to what the last
 * braces match. */
static bool path_fits(const struct route *route, const char *path, const char **part,
                      size_t *length) {
    const char *pattern = route->path;
    while (*pattern && *path) {
        if (*pattern == '{') {
            const char *after = pattern + strcspn(pattern, "}") + 1;
            const char ends[] = {'/', *after, '\0'};
            bool rest = !*after && route->traits & ROUTE_REST;
            size_t bytes = rest ? strlen(path) : strcspn(path, ends);
            if (bytes == 0)
                return false;
            if (part) {
                *part = path;
                *length = bytes;
            }
            pattern = after;
            path += bytes;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return *pattern == *path;
}

const char *route_part(const struct route *route, const char *path, size_t *length) {
    const char *part = NULL;
    return path_fits(route, path, &part, length) ? part : NULL;
}

bool route_fits(const struct route *route, const char *path) {
    return path_fits(route, path, NULL, NULL);
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
    for (size_t i = 1; route->dialects && route->dialects[0] && route->dialects[i]; i++)
        if (route->dialects[i]->speaks && route->dialects[i]->speaks(fields))
            return route->dialects[i];
    return route_dialect(route);
}

void route_choose_dialect(const struct route *route, const struct call *call, struct reply *reply) {
    if (route->dialects && route->dialects[1] && call->field_count > 0)
        reply->dialect = route_spoken(route, &(struct dialect_fields){.call = call});
}
