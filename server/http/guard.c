#include "server/http/guard.h"
#include <ctype.h>
#include <dlfcn.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Versions that refuse malformed heads themselves. The library may be newer at run time than at compile time. */
#define TRUSTS_LIBRARY (MHD_VERSION >= 0x01000000)

/* libmicrohttpd has 32 KiB for a connection: an argument takes 64 bytes, and the rest of the head needs at least 4096. */
enum { CONNECTION_BYTES = 32 * 1024, ARGUMENT_BYTES = 64, OTHER_BYTES = 4096 };

#define refuse(reply, field, ...) (api_fail(reply, STATUS_INVALID, field, __VA_ARGS__), -1)

/* ---- the first line ---- */

void guard_begin(struct guard_line *line, const char *uri) {
    *line = (struct guard_line){0};
    if (!uri)
        return;
    char *query = strchr(uri, '?');
    size_t length = strlen(uri);
    line->version = uri + length + 1;
    for (const char *c = uri; *c; c++)
        line->odd |= (unsigned char)*c <= ' ' || *c == 0x7f;
    for (const char *at = query ? query + 1 : NULL; at && *at; at += *at == '&') {
        at += strcspn(at, "&");
        line->arguments++;
    }
    line->crowded = length + ARGUMENT_BYTES * line->arguments > CONNECTION_BYTES - OTHER_BYTES;
    if (query && (line->arguments > GUARD_ARGUMENTS || line->crowded))
        query[1] = '\0';
}

static int check_line(const struct guard_line *line, const char *version, struct reply *reply) {
    bool apart = !TRUSTS_LIBRARY && line->version != version; /* 0.9.75 skips additional spaces */
    if (line->odd || apart)
        return refuse(reply, NULL, "the request line must be METHOD URI HTTP/1.1, with no spaces or control characters in the URI");
    if (line->arguments > GUARD_ARGUMENTS)
        return refuse(reply, NULL, "the query string must have at most %d fields, got %zu", GUARD_ARGUMENTS, line->arguments);
    if (line->crowded)
        return refuse(reply, NULL, "the query string is too long");
    return 0;
}

/* libmicrohttpd would end a path at %00, in every version. Two bytes that are never part of UTF-8 replace it: no path contains
 * them, and a field with them is refused. */
size_t guard_unescape(void *closure, struct MHD_Connection *connection, char *text) {
    (void)closure;
    (void)connection;
    for (char *at = text; (at = strstr(at, "%00")) != NULL;) {
        memcpy(at, "\xC0\x80", 2);
        memmove(at + 2, at + 3, strlen(at + 3) + 1);
    }
    return MHD_http_unescape(text);
}

/* ---- the other lines ---- */

struct walk {
    const char *at, *end; /* the expected beginning of the next line, and the end of the head; NULL: lines are not compared */
    bool clean;
    size_t hosts, encodings;
};

#if !TRUSTS_LIBRARY
/* 0.9.75 ends fields at zero bytes and bare line feeds, joins folded lines to the name before them, and takes a blank before a
 * colon for a part of the name. It splits the head in place and replaces colons and both bytes of line ends by zero bytes, so the
 * fields can be compared with the bytes that were sent. From 0.9.76 on, in strict mode, it refuses all this. */
static bool splits_in_place(void) {
    return strverscmp(MHD_get_version(), "0.9.76") < 0;
}

static bool is_token(const char *name, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && !(name[i] && strchr("!#$%&'*+-.^_`|~", name[i])))
            return false;
    return length > 0;
}

static bool is_value(const char *value, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (((unsigned char)value[i] < ' ' && value[i] != '\t') || value[i] == 0x7f)
            return false;
    return true;
}

/* Checks that the field's line begins where the last one ended and contains nothing else. */
static void compare_field(struct walk *walk, const char *name, size_t name_length, const char *value, size_t length) {
    bool here = true;
    if (walk->at) {
        const char *after = name + name_length + 1;
        here = name == walk->at && (after += strspn(after, " \t"), value == after) && walk->end - value >= (ptrdiff_t)length + 4 &&
               value[length] == '\0' && value[length + 1] == '\0';
    }
    walk->clean = walk->clean && here && is_token(name, name_length) && is_value(value, length);
    if (walk->at && walk->clean)
        walk->at = value + length + 2;
}
#endif

static enum MHD_Result guard_note(void *closure, enum MHD_ValueKind kind, const char *name, size_t name_length, const char *value,
                                  size_t length) {
    (void)kind;
    struct walk *walk = closure;
#if !TRUSTS_LIBRARY
    compare_field(walk, name, name_length, value, length);
#else
    (void)name_length;
    (void)value;
    (void)length;
#endif
    walk->hosts += strcasecmp(name, "Host") == 0;
    walk->encodings += strcasecmp(name, "Transfer-Encoding") == 0;
    return MHD_YES;
}

static struct walk walk_fields(struct MHD_Connection *connection, const char *method, const char *version) {
    struct walk walk = {.clean = true};
#if !TRUSTS_LIBRARY
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    if (info && splits_in_place()) {
        walk.at = version + strlen(version) + 2;
        walk.end = method + info->header_size;
    }
#else
    (void)method;
    (void)version;
#endif
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, guard_note, &walk);
    walk.clean = walk.clean && (!walk.end || walk.end - walk.at == 2);
    return walk;
}

int guard_strictness(void) {
#if !TRUSTS_LIBRARY
    return splits_in_place() ? 0 : 1; /* 0.9.75 ignores it */
#else
    return 1;
#endif
}

int guard_check(const struct guard_line *line, struct MHD_Connection *connection, const char *method, const char *version,
                struct reply *reply) {
    struct walk walk = walk_fields(connection, method, version);
    bool old = strcmp(version, MHD_HTTP_VERSION_1_0) == 0;
    int result = line ? check_line(line, version, reply) : 0;
    if (result == 0 && !walk.clean)
        result = refuse(reply, NULL, "each header must be a single line NAME: VALUE without control characters");
    if (result == 0 && (walk.hosts > 1 || (walk.hosts == 0 && !old)))
        result = refuse(reply, "Host", "there must be exactly one Host header, got %zu", walk.hosts);
    if (result == 0 && old && walk.encodings > 0)
        result = refuse(reply, "Transfer-Encoding", "HTTP/1.0 does not support Transfer-Encoding");
    reply->close |= result != 0;
    return result;
}

/* ---- replies that the library makes ---- */

enum { STATUS_URI_TOO_LONG = 414, STATUS_HEAD_TOO_LARGE = 431, STATUS_VERSION = 505, REPLY_BYTES = 1024 };

typedef enum MHD_Result queue_function(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response);

/* Calls the library's function, which the function below overrides. */
bool guard_queue(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response) {
    queue_function *function;
    void *symbol = dlsym(RTLD_NEXT, "MHD_queue_response");
    memcpy(&function, &symbol, sizeof function); /* ISO C has no conversion from a data pointer to a function pointer */
    return function(connection, status, response) == MHD_YES;
}

/* Explains why libmicrohttpd refused a request. If memory is out, the reply has no body. */
static void fill_reply(unsigned status, struct reply *reply) {
    if (status == STATUS_INTERNAL) /* our handler accepts everything: only a chunk extension longer than the buffer leads here */
        api_fail(reply, STATUS_INVALID, NULL, "a chunk extension is too long");
    else if (status == STATUS_URI_TOO_LONG)
        api_fail_coded(reply, status, "too_large", NULL, "the request line is too long");
    else if (status == STATUS_HEAD_TOO_LARGE)
        api_fail_coded(reply, status, "too_large", NULL, "the request headers are too long");
    else if (status == STATUS_TOO_LARGE)
        api_fail(reply, status, NULL, "the body is too long");
    else if (status == STATUS_VERSION)
        api_fail_coded(reply, status, "invalid_request", NULL, "the version must be HTTP/1.0 or HTTP/1.1");
    else
        api_fail_coded(reply, status, "invalid_request", NULL, "the request is not HTTP");
}

static struct MHD_Response *make_response(struct reply *reply) {
    struct MHD_Response *response = MHD_create_response_from_buffer(reply->length, reply->body, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(reply->body);
        return NULL;
    }
    if (MHD_add_response_header(response, "Content-Type", reply->content_type) == MHD_YES &&
        MHD_add_response_header(response, "X-Content-Type-Options", "nosniff") == MHD_YES)
        return response;
    MHD_destroy_response(response);
    return NULL;
}

#if !TRUSTS_LIBRARY
/* 0.9.75 continues after it has refused a Content-Length and begins the same reply again. So the reply is written directly to the
 * socket, and the library then closes the connection. An HTTPS connection is closed without a reply. This can be removed with
 * 0.9.76. */
static bool send_past(struct MHD_Connection *connection, const struct reply *reply) {
    char text[REPLY_BYTES];
    if (!MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length") ||
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding"))
        return false;
    if (MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION))
        return true;
    int length =
        snprintf(text, sizeof text, "HTTP/1.1 %u %s\r\nConnection: close\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s",
                 reply->status, MHD_get_reason_phrase_for(reply->status), reply->content_type, reply->length, reply->body);
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info && length > 0 && (size_t)length < sizeof text)
        send(info->connect_fd, text, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT); /* the connection closes, so the rest is lost */
    return true;
}
#endif

/* Replaces libmicrohttpd's function of this name, which the library itself calls through the linker: its own replies are HTML, with
 * status 500 if a chunk extension is too long, and clients expect JSON. No version of the library has an interface for this. */
enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response) {
    struct reply reply = {0};
    if (status >= STATUS_INVALID)
        fill_reply(status, &reply);
#if !TRUSTS_LIBRARY
    if (reply.body && send_past(connection, &reply)) {
        free(reply.body);
        return MHD_NO;
    }
#endif
    struct MHD_Response *own = reply.body ? make_response(&reply) : NULL;
    bool queued = guard_queue(connection, own ? reply.status : status, own ? own : response);
    if (own)
        MHD_destroy_response(own);
    return queued ? MHD_YES : MHD_NO;
}
