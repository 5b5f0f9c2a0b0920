/* This module hides how forms are encoded. Names and values are copied to the request's arena, and
 * every count is bounded. */
#include "server/http/form.h"
#include "server/api/call.h"
#include "server/api/reply.h"
#include "server/base/strings.h"
#include "server/http/connection.h"
#include <microhttpd.h>
#include <string.h>
#include <strings.h>

#define URLENCODED "application/x-www-form-urlencoded"
#define MULTIPART  "multipart/form-data"

static bool begins(struct bytes text, const char *with) {
    return text.length >= strlen(with) && strncasecmp(text.start, with, strlen(with)) == 0;
}

static struct bytes bytes_skip(struct bytes text, size_t count) {
    return (struct bytes){text.start + count, text.length - count};
}

static struct bytes skip_blanks(struct bytes text) {
    while (text.length > 0 && (*text.start == ' ' || *text.start == '\t'))
        text = bytes_skip(text, 1);
    return text;
}

static bool is_type(const char *content_type, const char *type) {
    size_t length = content_type ? strcspn(content_type, "; \t") : 0;
    return length == strlen(type) && strncasecmp(content_type, type, length) == 0;
}

bool form_is(const char *content_type) {
    return is_type(content_type, URLENCODED) || is_type(content_type, MULTIPART);
}

/* name, value: copies in the arena; NULL only if the arena had no memory. */
static int form_add(struct form_fields *fields, char *name, size_t name_length, char *value,
                    size_t length, struct error *err) {
    if (arena_failed(fields->arena))
        return error_memory(err);
    if (memchr(name, '\0', name_length))
        return error_set(err, ERROR_INPUT, "the name of a field contains a zero byte");
    if (fields->count == FORM_MOST_FIELDS)
        return error_set(err, ERROR_INPUT, "a form must have at most %d fields", FORM_MOST_FIELDS);
    fields->all[fields->count++] =
        (struct api_field){.name = name, .value = value, .length = length};
    return 0;
}

/* Decodes percent-encoding, and + as a space. A % without two hexadecimal digits stands for itself.
 */
static char *decode(struct bytes text, struct arena *arena, size_t *length) {
    char *out = arena_copy(arena, text.start, text.length);
    *length = 0;
    if (!out)
        return NULL;
    for (char *plus = out; (plus = memchr(plus, '+', (size_t)(out + text.length - plus))) != NULL;)
        *plus = ' ';
    *length = percent_decode(out, text.length, out);
    return out;
}

/* Returns the value of a parameter in a header, written ; name=value or ; name="value". start NULL
 * means that it is missing. */
static struct bytes parameter(struct bytes header, const char *name) {
    for (struct bytes at = header;;) {
        const char *semicolon = memchr(at.start, ';', at.length);
        if (!semicolon)
            return (struct bytes){0};
        at = bytes_skip(at, (size_t)(semicolon - at.start) + 1);
        at = skip_blanks(at);
        const char *next = memchr(at.start, ';', at.length);
        const char *equals = memchr(at.start, '=', next ? (size_t)(next - at.start) : at.length);
        if (!equals)
            continue;
        bool found = begins(at, name) && (size_t)(equals - at.start) == strlen(name);
        at = bytes_skip(at, (size_t)(equals - at.start) + 1);
        bool quoted = at.length > 0 && *at.start == '"';
        at = bytes_skip(at, quoted);
        const char *end = memchr(at.start, quoted ? '"' : ';', at.length);
        struct bytes value = {at.start, end ? (size_t)(end - at.start) : at.length};
        while (!quoted && value.length > 0 &&
               (value.start[value.length - 1] == ' ' || value.start[value.length - 1] == '\t'))
            value.length--;
        if (found)
            return value;
        at = bytes_skip(at, value.length);
    }
}

/* A line that begins with the delimiter separates two parts. */
struct delimiter {
    char text[FORM_MOST_BOUNDARY + 4]; /* "\r\n--BOUNDARY" */
    size_t length;
};

/* Splits the body at the next delimiter, which is followed by "--" or by the end of its line.
 * Returns false if there is none. after: the bytes after the delimiter. */
static bool form_split(struct bytes body, const struct delimiter *delimiter, struct bytes *before,
                       struct bytes *after) {
    for (struct bytes at = body;;) {
        const char *found = memmem(at.start, at.length, delimiter->text, delimiter->length);
        if (!found)
            return false;
        at = bytes_skip(at, (size_t)(found - at.start) + delimiter->length);
        if (begins(at, "--") || begins(skip_blanks(at), "\r\n")) {
            *before = (struct bytes){body.start, (size_t)(found - body.start)};
            *after = at;
            return true;
        }
    }
}

/* Returns the header of this name, which includes the colon. headers: lines separated by CRLF. If
 * it is missing, start is NULL. */
static struct bytes header_of(struct bytes headers, const char *name) {
    while (headers.length > 0) {
        const char *end = memmem(headers.start, headers.length, "\r\n", 2);
        struct bytes line = {headers.start, end ? (size_t)(end - headers.start) : headers.length};
        if (begins(line, name))
            return line;
        headers = bytes_skip(headers, end ? line.length + 2 : line.length);
    }
    return (struct bytes){0};
}

static char *copy_bytes(struct bytes bytes, struct arena *arena) {
    return bytes.start ? arena_copy(arena, bytes.start, bytes.length) : NULL;
}

/* part: the end of the delimiter's line, then headers, an empty line, and the value. */
static int add_part(struct form_fields *fields, struct bytes part, struct error *err) {
    static const char media_type[] = "Content-Type:", encoding[] = "UTF-8''";
    const char *end = memmem(part.start, part.length, "\r\n\r\n", 4);
    if (!end)
        return error_set(err, ERROR_INPUT,
                         "a part of the form has no empty line after its headers");
    struct bytes headers = {part.start, (size_t)(end - part.start)},
                 value = bytes_skip(part, headers.length + 4);
    struct bytes disposition = header_of(headers, "Content-Disposition:");
    struct bytes name = disposition.start ? parameter(disposition, "name") : disposition;
    if (!name.start)
        return error_set(err, ERROR_INPUT, "a part of the form has no name");

    /* Some clients send names that are not ASCII as UTF-8''%e2%82%ac.txt (RFC 8187). */
    struct bytes encoded = parameter(disposition, "filename*");
    char *file_name = NULL;
    if (encoded.start && begins(encoded, encoding)) {
        encoded = bytes_skip(encoded, strlen(encoding));
        file_name = arena_alloc(fields->arena, encoded.length + 1, 1);
        if (file_name)
            percent_decode(encoded.start, encoded.length, file_name);
    }
    if (!file_name)
        file_name = copy_bytes(parameter(disposition, "filename"), fields->arena);
    struct bytes type = header_of(headers, media_type);
    if (type.start)
        type = skip_blanks(bytes_skip(type, strlen(media_type)));
    const char *type_name = copy_bytes(type, fields->arena);
    if (form_add(fields, arena_copy(fields->arena, name.start, name.length), name.length,
                 arena_copy(fields->arena, value.start, value.length), value.length, err) != 0)
        return -1;
    fields->all[fields->count - 1].file_name = file_name;
    fields->all[fields->count - 1].media_type = type_name;
    return 0;
}

/* Bytes before the first delimiter and after the last are ignored. */
static int parse_multipart(struct form_fields *fields, const char *content_type, struct bytes body,
                           struct error *err) {
    struct bytes boundary =
        parameter((struct bytes){content_type, strlen(content_type)}, "boundary");
    struct delimiter delimiter = {"\r\n--", boundary.length + 4}, first;
    struct bytes before, rest;
    if (boundary.length < 1 || boundary.length > FORM_MOST_BOUNDARY)
        return error_set(err, ERROR_INPUT,
                         "the content type " MULTIPART
                         " must have a boundary of 1 to %d characters",
                         FORM_MOST_BOUNDARY);
    memcpy(delimiter.text + 4, boundary.start, boundary.length);
    first.length =
        delimiter.length - 2; /* at the beginning of the body, no line end precedes the delimiter */
    memcpy(first.text, delimiter.text + 2, first.length);
    if (!(form_split(body, &first, &before, &rest) && before.length == 0) &&
        !form_split(body, &delimiter, &before, &rest))
        return error_set(err, ERROR_INPUT,
                         "the form does not contain the boundary given in its content type");
    while (!begins(rest, "--")) {
        struct bytes part = rest;
        if (!form_split(rest, &delimiter, &part, &rest))
            return error_set(err, ERROR_INPUT, "the form ends in the middle of a part");
        if (add_part(fields, part, err) != 0)
            return -1;
    }
    return 0;
}

int form_parse(struct form_fields *fields, const char *content_type, const char *body,
               size_t length, struct error *err) {
    struct bytes rest = {body, length};
    if (is_type(content_type, MULTIPART))
        return parse_multipart(fields, content_type, rest, err);
    while (rest.length > 0 && memchr("\r\n", rest.start[rest.length - 1],
                                     2)) /* line ends after a form do not belong to it */
        rest.length--;
    while (rest.length > 0) {
        const char *amper = memchr(rest.start, '&', rest.length);
        struct bytes field = {rest.start, amper ? (size_t)(amper - rest.start) : rest.length};
        rest = bytes_skip(rest, amper ? field.length + 1 : field.length);
        if (field.length == 0)
            continue;
        const char *equals = memchr(field.start, '=', field.length);
        struct bytes name = {field.start, equals ? (size_t)(equals - field.start) : field.length};
        size_t name_length, value_length;
        char *copy = decode(name, fields->arena, &name_length);
        char *value = decode(bytes_skip(field, equals ? name.length + 1 : name.length),
                             fields->arena, &value_length);
        if (form_add(fields, copy, name_length, value, value_length, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- the fields of a request ---- */

/* The fields of the query string. */
struct arguments {
    struct arena *arena;
    struct api_field *all; /* [CONNECTION_ARGUMENTS] */
    size_t count;
};

static enum MHD_Result take_argument(void *closure, enum MHD_ValueKind kind, const char *name,
                                     size_t name_length, const char *value, size_t length) {
    (void)kind;
    struct arguments *arguments = closure;
    if (arguments->count == CONNECTION_ARGUMENTS)
        return MHD_NO; /* connection_check refuses requests with more */
    arguments->all[arguments->count++] = (struct api_field){
        .name = arena_copy(arguments->arena, name, name_length),
        .value = arena_copy(arguments->arena, value ? value : "", value ? length : 0),
        .length = value ? length : 0};
    return arena_failed(arguments->arena) ? MHD_NO : MHD_YES;
}

int form_read(struct MHD_Connection *connection, struct arena *arena, struct call *call,
              struct reply *reply) {
    struct error err = {0};
    struct form_fields form = {.arena = arena};
    call->form = !call_is_blank(call) && !call_begins_json(call) && form_is(call->content_type);
    if (call->form && form_parse(&form, call->content_type, call->body, call->length, &err) != 0) {
        if (err.code == ERROR_MEMORY)
            reply_fail_memory(reply);
        else
            reply_fail(reply, STATUS_INVALID, NULL, "%s", err.message);
        return -1;
    }
    struct api_field *fields =
        arena_alloc(arena, form.count + CONNECTION_ARGUMENTS, sizeof *fields);
    struct arguments arguments = {.arena = arena, .all = fields ? fields + form.count : NULL};
    if (fields) {
        memcpy(fields, form.all, form.count * sizeof *fields);
        MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, take_argument, &arguments);
    }
    if (arena_failed(arena)) {
        reply_fail_memory(reply);
        return -1;
    }
    call->fields = fields;
    call->field_count = form.count + arguments.count;
    return 0;
}
