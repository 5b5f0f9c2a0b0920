/* This module hides how requests and replies are written as HTTP messages: which headers count and
 * which values they may have, how clients are identified, how forms are encoded, and how a reply is
 * compressed or sent event by event. */
#include "server/http/message.h"
#include "server/api/access.h"
#include "server/api/answer.h"
#include "server/api/call.h"
#include "server/api/event_stream.h"
#include "server/api/reply.h"
#include "server/api/warnings.h"
#include "server/base/bytes.h"
#include "server/base/clock.h"
#include "server/base/strings.h"
#include "server/decode/events.h"
#include "server/endpoints/routes.h"
#include "server/http/client.h"
#include "server/http/connection.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <limits.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#define ZLIB_CONST /* next_in points to const */
#include <zlib.h>

/* GZIP_WINDOW: + 16 makes zlib write gzip's header. */
enum { BLOCK_BYTES = 16 * 1024, GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8 };
enum { TAG_BYTES = 64 };

#define refuse(reply, status, field, ...) (reply_fail(reply, status, field, __VA_ARGS__), -1)

/* ---- headers of a request ---- */

const char *sent_header(struct MHD_Connection *connection, const char *name) {
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

bool sent_id(struct MHD_Connection *connection, char id[SENT_ID_BYTES]) {
    const char *sent = sent_header(connection, "X-Request-Id");
    size_t length = sent ? strlen(sent) : 0;
    if (length == 0 || length >= SENT_ID_BYTES)
        return false;
    for (size_t i = 0; i < length; i++)
        if (sent[i] < '!' || sent[i] > '~')
            return false;
    strcpy(id, sent);
    return true;
}

/* The header is VERSION-TRACE-PARENT-FLAGS; ids that are all zeros are invalid. */
void sent_trace(struct MHD_Connection *connection, char trace[SENT_TRACE_BYTES]) {
    static const char pattern[] = "00-hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh-hhhhhhhhhhhhhhhh-hh";
    _Static_assert(sizeof pattern == SENT_TRACE_BYTES, "the header has a fixed length");
    const char *sent = sent_header(connection, "traceparent");
    bool valid = sent && strlen(sent) == sizeof pattern - 1;
    for (size_t i = 0; valid && pattern[i]; i++)
        valid =
            pattern[i] == 'h' ? strchr("0123456789abcdef", sent[i]) != NULL : sent[i] == pattern[i];
    valid = valid && strspn(sent + SENT_TRACE_ID, "0") < SENT_TRACE_ID_LENGTH &&
            strspn(sent + SENT_TRACE_ID + SENT_TRACE_ID_LENGTH + 1, "0") < 16;
    strcpy(trace, valid ? sent : "");
}

struct header_search {
    const char *name, *value; /* value: the value of the last header of this name */
    size_t count;
};

static enum MHD_Result note_header(void *closure, enum MHD_ValueKind kind, const char *name,
                                   const char *value) {
    (void)kind;
    struct header_search *search = closure;
    if (strcasecmp(name, search->name) == 0) {
        search->value = value;
        search->count++;
    }
    return MHD_YES;
}

static struct header_search look_up(struct MHD_Connection *connection, const char *name) {
    struct header_search search = {.name = name};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, note_header, &search);
    return search;
}

int sent_length(struct MHD_Connection *connection, size_t *bytes, struct reply *reply) {
    struct header_search length = look_up(connection, "Content-Length"),
                         encoding = look_up(connection, "Transfer-Encoding");
    const char *wrong = NULL;
    if (length.count + encoding.count > 1)
        wrong = encoding.count > 0 ? "Transfer-Encoding" : "Content-Length";
    else if (encoding.count > 0 && (!encoding.value || strcasecmp(encoding.value, "chunked") != 0))
        wrong = "Transfer-Encoding";
    if (!wrong) {
        *bytes = encoding.count > 0                 ? LENGTH_UNKNOWN
                 : length.count > 0 && length.value ? strtoull(length.value, NULL, 10)
                                                    : 0;
        return 0;
    }
    reply_fail(reply, STATUS_INVALID, wrong,
               "the body must have either one Content-Length or Transfer-Encoding: chunked");
    reply->close = true;
    return -1;
}

int sent_as_it_is(struct MHD_Connection *connection, struct reply *reply) {
    static const char name[] = "Content-Encoding";
    struct header_search encoding = look_up(connection, name);
    if (encoding.count == 0 ||
        (encoding.count == 1 && encoding.value && strcasecmp(encoding.value, "identity") == 0))
        return 0;
    return refuse(reply, STATUS_MEDIA_TYPE, name, "the body must be sent without %s, got \"%.60s\"",
                  name, encoding.value ? encoding.value : "");
}

int sent_priority(struct MHD_Connection *connection, enum priority *priority, struct reply *reply) {
    static const char name[] = "X-Priority";
    const char *sent = sent_header(connection, name);
    *priority = PRIORITY_INTERACTIVE;
    if (!sent || priority_find(sent, priority) == 0)
        return 0;
    return refuse(reply, STATUS_INVALID, name, "%s must be interactive or batch, got \"%.60s\"",
                  name, sent);
}

int sent_deadline(struct MHD_Connection *connection, size_t most_ms, size_t *deadline_ms,
                  struct reply *reply) {
    static const char name[] = "X-Deadline-Ms";
    const char *sent = sent_header(connection, name);
    *deadline_ms = most_ms;
    if (!sent)
        return 0;
    char *end;
    unsigned long long number =
        strtoull(sent, &end, 10); /* ULLONG_MAX if it is too large; most_ms bounds it */
    if (isdigit((unsigned char)sent[0]) && *end == '\0' && number >= 1) {
        *deadline_ms = number < most_ms ? (size_t)number : most_ms;
        return 0;
    }
    return refuse(reply, STATUS_INVALID, name,
                  "%s must be a whole number of milliseconds, at least 1, got \"%.60s\"", name,
                  sent);
}

/* ---- the client of a request ---- */

/* A client may send the header, too; the proxy's value follows it, in the same line or in another
 * header. */
uint64_t sent_client(struct MHD_Connection *connection, const char *header) {
    struct header_search sent = {0};
    if (header)
        sent = look_up(connection, header);
    if (sent.value && *sent.value != '\0')
        return client_of_forwarded(sent.value);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return client_of_peer(info ? info->client_addr : NULL);
}

static bool is_loopback(const struct sockaddr *address) {
    if (address && address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 ==
               IN_LOOPBACKNET;
    if (!address || address->sa_family != AF_INET6)
        return false;
    const struct in6_addr *ipv6 = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(ipv6) ||
           (IN6_IS_ADDR_V4MAPPED(ipv6) && ipv6->s6_addr[12] == IN_LOOPBACKNET);
}

struct visit sent_visit(struct MHD_Connection *connection, const char *method) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    struct visit visit = {
        .method = method,
        .host = sent_header(connection, "Host"),
        .origin = sent_header(connection, "Origin"),
        .content_type = sent_header(connection, "Content-Type"),
        .site = sent_header(connection, "Sec-Fetch-Site"),
        .mode = sent_header(connection, "Sec-Fetch-Mode"),
        .dest = sent_header(connection, "Sec-Fetch-Dest"),
        .loopback = info && is_loopback(info->client_addr),
        .secure = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION) != NULL,
        .keyed = sent_header(connection, "Authorization") != NULL};
    for (size_t i = 0; i < ACCESS_KEY_HEADERS; i++)
        visit.keyed |= sent_header(connection, access_key_headers[i]) != NULL;
    return visit;
}

/* ---- the fields of a form: names and values are copied to the request's arena, and every count is
 * bounded ---- */

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

/* ---- headers of a reply ---- */

struct headed {
    struct MHD_Response *response;
    bool failed;
};

/* Adds nothing if value is NULL. */
static void add_header(struct headed *headed, const char *name, const char *value) {
    if (value && MHD_add_response_header(headed->response, name, value) != MHD_YES)
        headed->failed = true;
}

static void add_methods(struct headed *headed, const char *name, const struct route *route) {
    char methods[ROUTES_METHODS_BYTES];
    routes_allowed(route, methods);
    add_header(headed, name, methods);
}

static void add_cors(const struct heading *heading, struct headed *headed) {
    const struct name_list *origins = heading->service->options.cors;
    bool any = name_list_has(origins, "*");
    const char *origin =
        heading->origin && name_list_has(origins, heading->origin) ? heading->origin : NULL;
    const char *allowed = any ? "*" : origin;
    if (origins->count > 0 && !any)
        add_header(headed, "Vary",
                   "Origin"); /* caches must not give one origin's reply to another */
    if (!allowed)
        return;
    add_header(headed, "Access-Control-Allow-Origin", allowed);
    add_header(headed, "Access-Control-Expose-Headers",
               "X-Request-Id, Retry-After, Content-Disposition, X-Alignd-Warnings");
    if (heading->route && strcmp(heading->method, "OPTIONS") == 0) {
        add_methods(headed, "Access-Control-Allow-Methods", heading->route);
        add_header(headed, "Access-Control-Allow-Headers",
                   "Authorization, Content-Type, X-Api-Key, Ocp-Apim-Subscription-Key, "
                   "X-Goog-Api-Key, X-Deadline-Ms, X-Priority, "
                   "X-Request-Id");
        add_header(headed, "Access-Control-Max-Age", "86400");
    }
}

/* Adds the name in ASCII for old clients, and in UTF-8 (RFC 6266). */
static void add_file_name(struct headed *headed, const char *name) {
    char plain[API_FILE_NAME_BYTES], encoded[3 * API_FILE_NAME_BYTES],
        disposition[4 * API_FILE_NAME_BYTES + 64];
    size_t length = 0;
    for (const char *c = name; *c; c++) {
        bool kept = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                    (*c >= '0' && *c <= '9') || strchr("._-", *c);
        if (((unsigned char)*c & 0xc0) != 0x80) /* one byte for each character of UTF-8 */
            plain[length++] = kept ? *c : '_';
    }
    plain[length] = '\0';
    percent_encode(name, encoded);
    snprintf(disposition, sizeof disposition, "attachment; filename=\"%s\"; filename*=UTF-8''%s",
             plain, encoded);
    add_header(headed, "Content-Disposition", disposition);
}

int headers_add(const struct heading *heading, struct MHD_Response *response) {
    struct headed headed = {.response = response};
    const struct reply *reply = heading->reply;
    add_header(&headed, "Content-Type", reply->content_type);
    if (reply->retry_after_s > 0) {
        char seconds[16];
        snprintf(seconds, sizeof seconds, "%u", reply->retry_after_s);
        add_header(&headed, "Retry-After", seconds);
    }
    /* Replies that depend on a key, and files of clients, are private: no cache may keep them.
     * Caches keep replies to GET only. */
    bool asks = strcmp(heading->method, "GET") == 0 || strcmp(heading->method, "HEAD") == 0;
    bool needs_key = heading->route &&
                     heading->route->access >= (heading->service->keys ? ACCESS_LIST : ACCESS_USER);
    bool own = *reply->file_name || needs_key;
    add_header(&headed, "Cache-Control",
               asks && own                      ? "no-store"
               : reply->streamed || reply->etag ? "no-cache"
                                                : NULL);
    add_header(&headed, "X-Accel-Buffering",
               reply->streamed ? "no" : NULL); /* nginx then does not buffer */
    if (*reply->file_name)
        add_file_name(&headed, reply->file_name);
    if (reply->warnings) {
        char warnings[WARNINGS_LIST_BYTES];
        warnings_list(reply, warnings);
        add_header(&headed, "X-Alignd-Warnings", warnings);
    }
    add_header(&headed, "Location", reply->location);
    if (reply->etag) { /* the compressed body is equivalent but not identical, so both can share
                          only a weak tag */
        char tag[TAG_BYTES];
        snprintf(tag, sizeof tag, "%s%s", reply->compressed ? "W/" : "", reply->etag);
        add_header(&headed, "ETag", tag);
    }
    add_header(&headed, "Content-Encoding", reply->compressed ? "gzip" : NULL);
    if (reply->compressed || compress_is_worthwhile(reply))
        add_header(
            &headed, "Vary",
            "Accept-Encoding"); /* caches must not send it to clients that accept the other form */
    add_header(&headed, "Content-Security-Policy", reply->policy);
    add_header(&headed, "X-Content-Type-Options", "nosniff");
    if (reply->status == STATUS_METHOD || reply->status == STATUS_NO_CONTENT)
        add_methods(&headed, "Allow", heading->route);
    add_header(&headed, "WWW-Authenticate",
               reply->status == STATUS_UNAUTHORIZED ? "Bearer realm=\"alignd\"" : NULL);
    if (reply->close || service_state(heading->service) == SERVICE_DRAINING)
        add_header(&headed, "Connection", "close");
    add_header(&headed, "X-Request-Id", heading->id);
    add_header(&headed, "traceparent", *heading->trace ? heading->trace : NULL);
    add_cors(heading, &headed);
    return headed.failed ? -1 : 0;
}

static enum MHD_Result put_line(void *closure, enum MHD_ValueKind kind, const char *name,
                                const char *value) {
    (void)kind;
    fprintf(closure, "%s: %s\r\n", name, value);
    return MHD_YES;
}

char *reply_text(const struct heading *heading, size_t *length) {
    const struct reply *reply = heading->reply;
    char *text = NULL;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    FILE *out =
        response && headers_add(heading, response) == 0 ? open_memstream(&text, length) : NULL;
    if (out) {
        fprintf(out, "HTTP/1.1 %u %s\r\nContent-Length: %zu\r\n", reply->status,
                MHD_get_reason_phrase_for(reply->status), reply->length);
        MHD_get_response_headers(response, put_line, out);
        fputs("\r\n", out);
        fwrite(reply->body, 1, reply->length, out);
        bool failed = ferror(out);
        if (fclose(out) != 0 || failed) {
            free(text);
            text = NULL;
        }
    }
    if (response)
        MHD_destroy_response(response);
    return text;
}

/* ---- a reply's body as gzip ---- */

/* Returns true for "q=0" or "q=0.000": the client does not accept the encoding. */
static bool is_refused(const char *parameters, size_t length) {
    const char *end = parameters + length;
    for (const char *at = parameters; at < end; at++) {
        if (tolower((unsigned char)*at) == 'q' && at + 1 < end && at[1] == '=') {
            at += 2;
            while (at < end && strchr("0.", *at))
                at++;
            return at == end || !isdigit((unsigned char)*at);
        }
    }
    return false;
}

/* Elements are separated by ',', and parameters follow a ';'. An element that names gzip takes
 * precedence over "*". */
bool compress_is_accepted(const char *accept) {
    bool any = false;
    for (const char *at = accept; at && *at;) {
        size_t length = strcspn(at, ","), blank = strspn(at, " \t");
        const char *end = at + length, *name = at + (blank < length ? blank : length);
        size_t bytes = strcspn(name, " \t;,");
        bool refused = is_refused(name + bytes, (size_t)(end - name) - bytes);
        if (bytes == 4 && strncasecmp(name, "gzip", bytes) == 0)
            return !refused;
        any |= bytes == 1 && *name == '*' && !refused;
        at = end + (*end == ',');
    }
    return any;
}

bool compress_is_worthwhile(const struct reply *reply) {
    return !reply->streamed && reply->length >= COMPRESS_LEAST_BYTES && reply->length <= UINT_MAX;
}

/* Uses the fastest level, which shrinks JSON to a fifth. */
void compress_reply(struct reply *reply) {
    char *out = malloc(reply->length);
    z_stream stream = {.next_in = (const Bytef *)reply->body,
                       .avail_in = (uInt)reply->length,
                       .next_out = (Bytef *)out,
                       .avail_out = (uInt)(reply->length - 1)};
    size_t length = 0;
    if (out && deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
                            Z_DEFAULT_STRATEGY) == Z_OK) {
        length = deflate(&stream, Z_FINISH) == Z_STREAM_END ? stream.total_out : 0;
        deflateEnd(&stream);
    }
    char *fitted = length > 0 ? realloc(out, length) : NULL;
    if (!fitted) {
        free(out);
        return;
    }
    free(reply->body);
    reply->body = fitted;
    reply->length = length;
    reply->compressed = true;
}

/* ---- a reply as a stream of events ----
 *
 * One thread at a time writes events: the connection's, a chore that writes one large event, or
 * from stream_take on the thread that ends the request. */

/* The state of an event that a chore writes: no event, written, or the chore must be started. */
enum fetched { NOT_FETCHED, FETCHED, TO_FETCH };

struct stream {
    struct MHD_Connection *connection;
    struct timed *timed; /* of the connection; NULL: its time is not limited */
    struct request
        *request; /* memory of the exchange, so that it can be cancelled after it was freed */
    struct stream_options options;
    bool large; /* chores write the events */
    struct chore chore;

    /* only the thread that writes uses these */
    struct event_stream events;
    size_t sent; /* bytes of the current event */
    enum fetched fetched;
    int result; /* of event_stream_next, for the event that the chore wrote */

    /* written by the thread that took the stream; constant after the end */
    char *rest; /* [rest_length] events that are not sent yet */
    size_t rest_length, rest_capacity,
        begun;   /* begun: bytes of the rest that belong to the event that was being sent */
    bool broken; /* memory ran out */

    pthread_mutex_t lock; /* protects everything below */
    pthread_cond_t idle;  /* writing became false */
    bool writing;         /* a thread writes */
    bool taken;           /* by the thread that ends the request */
    bool parked;          /* the connection is suspended until the end */
    bool ended, closed;
};

static void suspend_stream(void *owner) {
    struct stream *stream = owner;
    MHD_suspend_connection(stream->connection);
}

static void resume_stream(void *owner) {
    struct stream *stream = owner;
    MHD_resume_connection(stream->connection);
}

struct stream *stream_open(struct MHD_Connection *connection, struct request *request,
                           struct reply *reply, const struct stream_options *options) {
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    stream->connection = connection;
    stream->timed = connection_timed(connection);
    stream->request = request;
    stream->options = *options;
    stream->large = answer_is_large(request);
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->idle, NULL);
    if (events_follow(request, &(struct events_reader){suspend_stream, resume_stream, stream}) ==
            0 &&
        event_stream_init(&stream->events, request, reply, options->most) == 0)
        return stream;
    stream_free(stream);
    return NULL;
}

void stream_free(struct stream *stream) {
    if (!stream)
        return;
    event_stream_done(&stream->events);
    pthread_cond_destroy(&stream->idle);
    pthread_mutex_destroy(&stream->lock);
    free(stream->rest);
    free(stream);
}

/* Returns false if the stream is taken. Otherwise the caller writes until end_writing. */
static bool begin_writing(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    while (stream->writing && !stream->taken)
        pthread_cond_wait(&stream->idle, &stream->lock);
    bool begun = !stream->taken;
    stream->writing |= begun;
    pthread_mutex_unlock(&stream->lock);
    return begun;
}

/* Limits the time for the client to read what it has been sent. waits: it has read everything, and
 * there is nothing else until the request is decoded further. Called before the end. */
static void limit_reader(struct stream *stream, bool waits) {
    const struct stream_options *options = &stream->options;
    int64_t left_us = stream->request->deadline_us - clock_us();
    if (stream->timed)
        cutoff_set(options->cutoff, stream->timed, SLOW_READER,
                   options->send_us + (waits && left_us > 0 ? left_us : 0));
}

static void end_writing(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    stream->writing = false;
    pthread_cond_broadcast(&stream->idle);
    pthread_mutex_unlock(&stream->lock);
}

/* ---- while the request is decoded ---- */

/* Writes the next event, as a chore. The previous event has been sent completely; the new one
 * becomes current in stream_fill. */
static void run_fetch(void *owner) {
    struct stream *stream = owner;
    if (begin_writing(stream)) {
        stream->result = event_stream_next(&stream->events);
        stream->sent = stream->events.length;
        stream->fetched = FETCHED;
        end_writing(stream);
    }
    MHD_resume_connection(stream->connection);
}

/* Makes the event that a chore has written the current one. Returns the result of
 * event_stream_next.
 */
static int take_fetched(struct stream *stream) {
    stream->sent = 0;
    stream->fetched = NOT_FETCHED;
    return stream->result;
}

/* Fills the buffer with as many available events as fit; returns the number of bytes, or -1 if
 * memory runs out. */
static ssize_t stream_fill(struct stream *stream, char *buffer, size_t room) {
    for (size_t filled = 0;;) {
        size_t left = stream->events.length - stream->sent,
               count = left < room - filled ? left : room - filled;
        if (count > 0)
            memcpy(buffer + filled, stream->events.text + stream->sent, count);
        stream->sent += count;
        filled += count;
        bool fetched = stream->fetched == FETCHED;
        if (filled == room || (stream->events.over && !fetched))
            return (ssize_t)filled;

        int next = 0;
        if (!stream->large) {
            stream->sent = 0;
            next = event_stream_next(&stream->events);
        } else if (fetched) {
            next = take_fetched(stream);
        } else {
            stream->fetched = TO_FETCH;
        }
        if (next <= 0)
            return next < 0 ? -1 : (ssize_t)filled;
    }
}

/* Sends events; called while the caller writes. Returns as read_stream does. */
static ssize_t send_events(struct stream *stream, char *buffer, size_t room) {
    for (;;) {
        ssize_t filled = stream_fill(stream, buffer, room);
        if (filled > 0)
            return filled;
        if (filled < 0)
            return MHD_CONTENT_READER_END_WITH_ERROR;
        if (stream->events.over)
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (stream->fetched == TO_FETCH) {
            stream->chore = (struct chore){.request = stream->request,
                                           .kind = CHORE_RENDERING,
                                           .large = true,
                                           .run = run_fetch,
                                           .owner = stream};
            stream->fetched = NOT_FETCHED;
            MHD_suspend_connection(stream->connection);
            chores_submit(stream->options.chores, &stream->chore);
        } else if (!events_park(stream->request->events)) {
            continue;
        }
        return 0; /* libmicrohttpd calls read_stream again once the connection is resumed */
    }
}

/* ---- from the end of the decoding on ---- */

/* Appends the bytes of the current event that are not sent yet. */
static void keep_event(struct stream *stream) {
    size_t count = stream->events.length - stream->sent, needed = stream->rest_length + count;
    if (needed > stream->rest_capacity) {
        size_t capacity = needed + stream->rest_capacity; /* at least twice as much */
        char *rest = realloc(stream->rest, capacity);
        stream->broken |= !rest;
        if (!rest)
            return;
        stream->rest = rest;
        stream->rest_capacity = capacity;
    }
    if (count > 0)
        memcpy(stream->rest + stream->rest_length, stream->events.text + stream->sent, count);
    stream->rest_length = needed;
    stream->sent = stream->events.length;
}

void stream_take(struct stream *stream) {
    events_end(stream->request->events);
    pthread_mutex_lock(&stream->lock);
    stream->taken = true;
    while (stream->writing) /* for one event at most */
        pthread_cond_wait(&stream->idle, &stream->lock);
    pthread_mutex_unlock(&stream->lock);
    if (stream->fetched == FETCHED)
        stream->broken |= take_fetched(stream) < 0;
    bool whole = stream->sent == 0;
    keep_event(stream);
    stream->begun = whole ? 0 : stream->rest_length;
}

size_t stream_write(struct stream *stream) {
    size_t before = stream->rest_length;
    if (stream->events.over || stream->broken)
        return 0;
    int next;
    while ((next = event_stream_next(&stream->events)) ==
           0) { /* an event that would have been too long */
    }
    stream->sent = 0;
    stream->broken |= next < 0;
    if (next > 0)
        keep_event(stream);
    return stream->rest_length - before;
}

bool stream_is_whole(const struct stream *stream) {
    return stream->events.over;
}

void stream_cut(struct stream *stream) {
    stream->rest_length = stream->begun;
    stream->broken |= event_stream_last(&stream->events) < 0;
    stream->sent = 0;
    keep_event(stream);
}

void stream_release(struct stream *stream) {
    event_stream_done(&stream->events);
    stream->sent = 0;
}

bool stream_end(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    stream->ended = true;
    bool closed = stream->closed;
    if (!closed)
        limit_reader(stream, false);
    if (stream->parked)
        MHD_resume_connection(stream->connection);
    pthread_mutex_unlock(&stream->lock);
    return closed;
}

bool stream_close(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    stream->closed = true;
    bool ended = stream->ended;
    if (!ended) /* after the lock is released, the exchange may have been freed */
        request_cancel(stream->request, CANCEL_CLIENT);
    pthread_mutex_unlock(&stream->lock);
    return ended;
}

static ssize_t send_rest(struct stream *stream, char *buffer, size_t room) {
    size_t left = stream->rest_length - stream->sent, count = left < room ? left : room;
    if (count == 0)
        return stream->broken ? MHD_CONTENT_READER_END_WITH_ERROR
                              : MHD_CONTENT_READER_END_OF_STREAM;
    memcpy(buffer, stream->rest + stream->sent, count);
    stream->sent += count;
    return (ssize_t)count;
}

/* ---- the connection's side ---- */

/* Returns the number of bytes, 0 if the connection was suspended, or one of libmicrohttpd's codes
 * for the end. */
static ssize_t read_stream(void *closure, uint64_t position, char *buffer, size_t room) {
    (void)position;
    struct stream *stream = closure;
    if (begin_writing(stream)) {
        ssize_t sent = send_events(stream, buffer, room);
        limit_reader(stream, sent == 0);
        end_writing(stream);
        return sent;
    }
    pthread_mutex_lock(&stream->lock);
    bool ended = stream->ended;
    stream->parked = !ended;
    if (!ended)
        MHD_suspend_connection(stream->connection);
    pthread_mutex_unlock(&stream->lock);
    return ended ? send_rest(stream, buffer, room) : 0;
}

struct MHD_Response *stream_response(struct stream *stream) {
    if (begin_writing(stream)) {
        limit_reader(stream, true);
        end_writing(stream);
    }
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_stream, stream,
                                             NULL);
}
