/* This file reads the rows of the table of routes: which paths, methods and dialects are theirs. */
#include "server/api/dialect.h"
#include "server/api/reply.h"
#include "server/api/value.h"
#include <stdio.h>
#include <string.h>

enum { DIALECT_NAME_BYTES = 128 };

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

/* True if the word is among others, with spaces between them. */
static bool is_among(const char *word, const char *all) {
    size_t length = strlen(word);
    for (const char *at = all; length > 0 && (at = strstr(at, word)) != NULL; at += length)
        if ((at == all || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* True if a value asks for something: it is neither usual nor empty. */
static bool value_asks(const json_t *value, const char *usual) {
    const char *text = json_is_string(value)    ? json_string_value(value)
                       : json_is_true(value)    ? "true"
                       : json_is_false(value)   ? "false"
                       : json_is_integer(value) ? (json_integer_value(value) == 0 ? "0" : "1")
                                                : NULL;
    if (!value || json_is_null(value) || (text && !*text))
        return false;
    if (json_is_array(value) || json_is_object(value))
        return json_is_array(value) ? json_array_size(value) > 0 : json_object_size(value) > 0;
    return !text || (*usual ? !is_among(text, usual) : !json_is_false(value));
}

/* True if the members of this name, within the object or in all objects of the array, ask for
 * something. */
static bool member_asks(const json_t *root, const char *name, const char *usual) {
    char part[DIALECT_NAME_BYTES];
    const char *dot = strchr(name, '.');
    size_t i;
    const json_t *item;
    json_array_foreach(root, i, item) {
        if (member_asks(item, name, usual))
            return true;
    }
    snprintf(part, sizeof part, "%.*s", (int)(dot ? dot - name : (long)strlen(name)), name);
    const json_t *value = json_object_get(root, part);
    return dot ? value && member_asks(value, dot + 1, usual) : value_asks(value, usual);
}

/* A form or a query string may repeat a field, of which the object may have only the first. */
static bool field_asks(const struct dialect_fields *fields, const struct dialect_field *field) {
    if (fields->root && member_asks(fields->root, field->name, field->usual))
        return true;
    for (size_t i = 0; i < fields->call->field_count; i++) {
        const struct api_field *sent = &fields->call->fields[i];
        if (strcmp(sent->name, field->name) == 0 && *sent->value &&
            !is_among(sent->value, field->usual))
            return true;
    }
    return false;
}

/* Refuses a field, and says what it may be. */
static int refuse_field(const struct dialect_field *field, struct reply *reply) {
    char all[DIALECT_NAME_BYTES] = "";
    size_t length = 0;
    for (const char *at = field->usual; *at; at += strspn(at, " ")) {
        size_t word = strcspn(at, " ");
        const char *before = length == 0 ? "" : at[word] ? ", " : " or ";
        length +=
            (size_t)snprintf(all + length, sizeof all - length, "%s%.*s", before, (int)word, at);
        at += word;
    }
    return *all ? reply_refuse(reply, field->name, "%s must be %s", field->name, all)
                : reply_refuse(reply, field->name, "%s is not supported", field->name);
}

int dialect_judge_fields(const struct dialect *dialect, const struct dialect_fields *fields,
                         struct reply *reply) {
    uint64_t ignored = 0;
    for (size_t i = 0; dialect->fields && dialect->fields[i].name; i++) {
        const struct dialect_field *field = &dialect->fields[i];
        if (field->fate == FIELD_HONOURED || !field_asks(fields, field))
            continue;
        if (field->fate == FIELD_REFUSED)
            return refuse_field(field, reply);
        ignored |= UINT64_C(1) << i;
    }
    reply->ignored = ignored;
    return 0;
}

void dialect_list_ignored(const struct reply *reply, char text[DIALECT_IGNORED_BYTES]) {
    size_t length = 0;
    *text = '\0';
    for (size_t i = 0; i < DIALECT_MOST_FIELDS && length < DIALECT_IGNORED_BYTES; i++)
        if (reply->ignored >> i & 1)
            length += (size_t)snprintf(text + length, DIALECT_IGNORED_BYTES - length, "%s%s",
                                       length > 0 ? ", " : "", reply->dialect->fields[i].name);
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
