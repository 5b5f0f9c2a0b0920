/* Parses bodies of forms, urlencoded and multipart, into fields. Names and values are copied to the request's arena, and every
 * count is bounded. */
#include "server/api/form.h"
#include "server/base/strings.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

#define URLENCODED "application/x-www-form-urlencoded"
#define MULTIPART  "multipart/form-data"

/* Bytes that belong to somebody else. */
struct bytes {
    const char *start;
    size_t length;
};

static bool begins(struct bytes text, const char *with) {
    return text.length >= strlen(with) && strncasecmp(text.start, with, strlen(with)) == 0;
}

static struct bytes bytes_skip(struct bytes text, size_t count) {
    return (struct bytes){text.start + count, text.length - count};
}

static bool is_type(const char *content_type, const char *type) {
    size_t length = content_type ? strcspn(content_type, "; \t") : 0;
    return length == strlen(type) && strncasecmp(content_type, type, length) == 0;
}

bool form_is(const char *content_type) {
    return is_type(content_type, URLENCODED) || is_type(content_type, MULTIPART);
}

/* ---- fields ---- */

/* name, value: copies in the arena; NULL only if the arena had no memory. */
static int form_add(struct form_fields *fields, char *name, size_t name_length, char *value, size_t length, struct error *err) {
    if (arena_failed(fields->arena))
        return error_memory(err);
    if (memchr(name, '\0', name_length))
        return error_set(err, ERROR_INPUT, "the name of a field contains a zero byte");
    if (fields->count == FORM_MOST_FIELDS)
        return error_set(err, ERROR_INPUT, "a form must have at most %d fields", FORM_MOST_FIELDS);
    fields->all[fields->count++] = (struct api_field){.name = name, .value = value, .length = length};
    return 0;
}

/* ---- urlencoded ---- */

static int digit(char c) {
    return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* A % without two hexadecimal digits stands for itself. */
static char *decode(struct bytes text, struct arena *arena, size_t *length) {
    char *out = arena_alloc(arena, text.length + 1, 1);
    size_t count = 0;
    for (size_t i = 0; out && i < text.length; i++) {
        const char *c = text.start + i;
        if (*c == '%' && text.length - i > 2 && isxdigit((unsigned char)c[1]) && isxdigit((unsigned char)c[2])) {
            out[count++] = (char)(digit(c[1]) * 16 + digit(c[2]));
            i += 2;
        } else {
            out[count++] = *c == '+' ? ' ' : *c;
        }
    }
    if (out)
        out[count] = '\0';
    *length = count;
    return out;
}

/* Blank lines after the form do not belong to it. */
static struct bytes without_line_end(struct bytes text) {
    while (text.length > 0 && strchr("\r\n", text.start[text.length - 1]) && text.start[text.length - 1])
        text.length--;
    return text;
}

static int parse_urlencoded(struct form_fields *fields, struct bytes body, struct error *err) {
    struct bytes rest = without_line_end(body);
    while (rest.length > 0) {
        const char *amper = memchr(rest.start, '&', rest.length);
        struct bytes field = {rest.start, amper ? (size_t)(amper - rest.start) : rest.length};
        rest = bytes_skip(rest, amper ? field.length + 1 : field.length);
        if (field.length == 0)
            continue;
        const char *equals = memchr(field.start, '=', field.length);
        struct bytes name = {field.start, equals ? (size_t)(equals - field.start) : field.length};
        size_t name_length, length;
        char *copy = decode(name, fields->arena, &name_length);
        char *value = decode(bytes_skip(field, equals ? name.length + 1 : name.length), fields->arena, &length);
        if (form_add(fields, copy, name_length, value, length, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- multipart ---- */

/* The value of a parameter of a header's value: ; name=value or ; name="value". Bytes NULL: the parameter is missing. */
static struct bytes parameter(struct bytes header, const char *name) {
    for (struct bytes at = header;;) {
        const char *semicolon = memchr(at.start, ';', at.length);
        if (!semicolon)
            return (struct bytes){0};
        at = bytes_skip(at, (size_t)(semicolon - at.start) + 1);
        while (at.length > 0 && (*at.start == ' ' || *at.start == '\t'))
            at = bytes_skip(at, 1);
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
        while (!quoted && value.length > 0 && (value.start[value.length - 1] == ' ' || value.start[value.length - 1] == '\t'))
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

static int make_delimiter(const char *content_type, struct delimiter *delimiter, struct error *err) {
    struct bytes boundary = parameter((struct bytes){content_type, strlen(content_type)}, "boundary");
    if (boundary.length < 1 || boundary.length > FORM_MOST_BOUNDARY)
        return error_set(err, ERROR_INPUT, "the content type " MULTIPART " must have a boundary of 1 to %d characters",
                         FORM_MOST_BOUNDARY);
    memcpy(delimiter->text, "\r\n--", 4);
    memcpy(delimiter->text + 4, boundary.start, boundary.length);
    delimiter->length = boundary.length + 4;
    return 0;
}

/* Skips the rest of a delimiter's line: blanks, or "--" after the last part. */
static bool ends_line(struct bytes rest) {
    while (rest.length > 0 && (*rest.start == ' ' || *rest.start == '\t'))
        rest = bytes_skip(rest, 1);
    return begins(rest, "\r\n");
}

/* Splits the body at the next delimiter. False: there is no delimiter. after: the bytes after it. */
static bool form_split(struct bytes body, const struct delimiter *delimiter, struct bytes *before, struct bytes *after) {
    for (struct bytes at = body;;) {
        const char *found = memmem(at.start, at.length, delimiter->text, delimiter->length);
        if (!found)
            return false;
        at = bytes_skip(at, (size_t)(found - at.start) + delimiter->length);
        if (begins(at, "--") || ends_line(at)) {
            *before = (struct bytes){body.start, (size_t)(found - body.start)};
            *after = at;
            return true;
        }
    }
}

/* The header line of this name; name includes the colon. headers: lines with their ends. Bytes NULL: the header is missing. */
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

static const char *copy_bytes(struct bytes bytes, struct arena *arena) {
    return bytes.start ? arena_copy(arena, bytes.start, bytes.length) : NULL;
}

static struct bytes media_type(struct bytes headers) {
    static const char name[] = "Content-Type:";
    struct bytes line = header_of(headers, name), type = line;
    if (!line.start)
        return line;
    type = bytes_skip(line, strlen(name));
    while (type.length > 0 && (*type.start == ' ' || *type.start == '\t'))
        type = bytes_skip(type, 1);
    return type;
}

/* Decodes UTF-8\'\'%e2%82%ac.txt (RFC 8187), which some clients use for names that are not ASCII. NULL: the value does not have
 * this form. */
static const char *encoded_name(struct bytes value, struct arena *arena) {
    static const char begin[] = "UTF-8\'\'";
    if (!value.start || value.length < strlen(begin) || strncasecmp(value.start, begin, strlen(begin)) != 0)
        return NULL;
    struct bytes name = bytes_skip(value, strlen(begin));
    char *out = arena_alloc(arena, name.length + 1, 1);
    if (out)
        percent_decode(name.start, name.length, out);
    return out;
}

/* part: the end of the delimiter's line, then headers, an empty line, and the value. */
static int add_part(struct form_fields *fields, struct bytes part, struct error *err) {
    const char *end = memmem(part.start, part.length, "\r\n\r\n", 4);
    if (!end)
        return error_set(err, ERROR_INPUT, "a part of the form has no empty line after its headers");
    struct bytes headers = {part.start, (size_t)(end - part.start)}, value = bytes_skip(part, headers.length + 4);
    struct bytes disposition = header_of(headers, "Content-Disposition:");
    struct bytes name = disposition.start ? parameter(disposition, "name") : disposition;
    if (!name.start)
        return error_set(err, ERROR_INPUT, "a part of the form has no name");
    const char *file_name = encoded_name(parameter(disposition, "filename*"), fields->arena);
    if (!file_name)
        file_name = copy_bytes(parameter(disposition, "filename"), fields->arena);
    const char *type = copy_bytes(media_type(headers), fields->arena);
    if (form_add(fields, arena_copy(fields->arena, name.start, name.length), name.length,
                 arena_copy(fields->arena, value.start, value.length), value.length, err) != 0)
        return -1;
    fields->all[fields->count - 1].file_name = file_name;
    fields->all[fields->count - 1].media_type = type;
    return 0;
}

/* Bytes before the first delimiter and after the last are ignored. */
static int parse_multipart(struct form_fields *fields, const char *content_type, struct bytes body, struct error *err) {
    struct delimiter delimiter = {0}, first;
    struct bytes before, rest;
    if (make_delimiter(content_type, &delimiter, err) != 0)
        return -1;
    first.length = delimiter.length - 2; /* at the beginning of the body, no line end precedes the delimiter */
    memcpy(first.text, delimiter.text + 2, first.length);
    if (!(form_split(body, &first, &before, &rest) && before.length == 0) && !form_split(body, &delimiter, &before, &rest))
        return error_set(err, ERROR_INPUT, "the form does not contain the boundary given in its content type");
    while (!begins(rest, "--")) {
        struct bytes part = rest;
        if (!form_split(rest, &delimiter, &part, &rest))
            return error_set(err, ERROR_INPUT, "the form ends in the middle of a part");
        if (add_part(fields, part, err) != 0)
            return -1;
    }
    return 0;
}

int form_parse(struct form_fields *fields, const char *content_type, const char *body, size_t length, struct error *err) {
    struct bytes whole = {body, length};
    return is_type(content_type, MULTIPART) ? parse_multipart(fields, content_type, whole, err)
                                            : parse_urlencoded(fields, whole, err);
}
