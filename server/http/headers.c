/* This module hides which headers count, which values they may have, and how those of a reply are
 * written. */
#include "server/http/headers.h"
#include "server/api/access.h"
#include "server/api/dialect.h"
#include "server/api/reply.h"
#include "server/api/warnings.h"
#include "server/base/strings.h"
#include "server/endpoints/routes.h"
#include "server/http/compress.h"
#include <ctype.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum { TAG_BYTES = 64 };

#define refuse(reply, status, field, ...) (reply_fail(reply, status, field, __VA_ARGS__), -1)

/* ---- headers of a request ---- */

const char *headers_find(struct MHD_Connection *connection, const char *name) {
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

bool headers_id(struct MHD_Connection *connection, char id[HEADERS_ID_BYTES]) {
    const char *sent = headers_find(connection, "X-Request-Id");
    size_t length = sent ? strlen(sent) : 0;
    if (length == 0 || length >= HEADERS_ID_BYTES)
        return false;
    for (size_t i = 0; i < length; i++)
        if (sent[i] < '!' || sent[i] > '~')
            return false;
    strcpy(id, sent);
    return true;
}

/* The header is VERSION-TRACE-PARENT-FLAGS; ids that are all zeros are invalid. */
void headers_trace(struct MHD_Connection *connection, char trace[HEADERS_TRACE_BYTES]) {
    static const char pattern[] = "00-hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh-hhhhhhhhhhhhhhhh-hh";
    _Static_assert(sizeof pattern == HEADERS_TRACE_BYTES, "the header has a fixed length");
    const char *sent = headers_find(connection, "traceparent");
    bool valid = sent && strlen(sent) == sizeof pattern - 1;
    for (size_t i = 0; valid && pattern[i]; i++)
        valid =
            pattern[i] == 'h' ? strchr("0123456789abcdef", sent[i]) != NULL : sent[i] == pattern[i];
    valid = valid && strspn(sent + HEADERS_TRACE_ID, "0") < HEADERS_TRACE_ID_LENGTH &&
            strspn(sent + HEADERS_TRACE_ID + HEADERS_TRACE_ID_LENGTH + 1, "0") < 16;
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

const char *headers_find_last(struct MHD_Connection *connection, const char *name) {
    return look_up(connection, name).value;
}

int headers_length(struct MHD_Connection *connection, size_t *bytes, struct reply *reply) {
    struct header_search length = look_up(connection, "Content-Length"),
                         encoding = look_up(connection, "Transfer-Encoding");
    const char *wrong = NULL;
    if (length.count + encoding.count > 1)
        wrong = encoding.count > 0 ? "Transfer-Encoding" : "Content-Length";
    else if (encoding.count > 0 && (!encoding.value || strcasecmp(encoding.value, "chunked") != 0))
        wrong = "Transfer-Encoding";
    if (!wrong) {
        size_t stated = length.count > 0 && length.value ? strtoull(length.value, NULL, 10) : 0;
        *bytes = encoding.count > 0                 ? HEADERS_LENGTH_UNKNOWN
                 : stated == HEADERS_LENGTH_UNKNOWN ? stated - 1 /* as much too long */
                                                    : stated;
        return 0;
    }
    reply_fail(reply, STATUS_INVALID, wrong,
               "the body must have either one Content-Length or Transfer-Encoding: chunked");
    reply->close = true;
    return -1;
}

int headers_check_encoding(struct MHD_Connection *connection, struct reply *reply) {
    static const char name[] = "Content-Encoding";
    struct header_search encoding = look_up(connection, name);
    if (encoding.count == 0 ||
        (encoding.count == 1 && encoding.value && strcasecmp(encoding.value, "identity") == 0))
        return 0;
    return refuse(reply, STATUS_MEDIA_TYPE, name, "the body must be sent without %s, got \"%.60s\"",
                  name, encoding.value ? encoding.value : "");
}

int headers_priority(struct MHD_Connection *connection, enum priority *priority,
                     struct reply *reply) {
    static const char name[] = "X-Priority";
    const char *sent = headers_find(connection, name);
    *priority = PRIORITY_INTERACTIVE;
    if (!sent || metrics_find_priority(sent, priority) == 0)
        return 0;
    return refuse(reply, STATUS_INVALID, name, "%s must be interactive or batch, got \"%.60s\"",
                  name, sent);
}

int headers_deadline(struct MHD_Connection *connection, size_t most_ms, size_t *deadline_ms,
                     struct reply *reply) {
    static const char name[] = "X-Deadline-Ms";
    const char *sent = headers_find(connection, name);
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

struct visit headers_visit(struct MHD_Connection *connection, const char *method) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    struct visit visit = {
        .method = method,
        .host = headers_find(connection, "Host"),
        .origin = headers_find(connection, "Origin"),
        .content_type = headers_find(connection, "Content-Type"),
        .site = headers_find(connection, "Sec-Fetch-Site"),
        .mode = headers_find(connection, "Sec-Fetch-Mode"),
        .dest = headers_find(connection, "Sec-Fetch-Dest"),
        .loopback = info && is_loopback(info->client_addr),
        .secure = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION) != NULL,
        .keyed = headers_find(connection, "Authorization") != NULL};
    for (size_t i = 0; i < ACCESS_KEY_HEADERS; i++)
        visit.keyed |= headers_find(connection, access_key_headers[i]) != NULL;
    return visit;
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
    const struct name_list *origins = &heading->service->options->cors;
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
    add_header(
        headed, "Access-Control-Expose-Headers",
        "X-Request-Id, Retry-After, Content-Disposition, X-Alignd-Warnings, X-Alignd-Ignored");
    if (heading->route && strcmp(heading->method, "OPTIONS") == 0) {
        add_methods(headed, "Access-Control-Allow-Methods", heading->route);
        add_header(headed, "Access-Control-Allow-Headers",
                   "Authorization, Content-Type, X-Api-Key, Ocp-Apim-Subscription-Key, "
                   "X-Goog-Api-Key, X-Deadline-Ms, X-Priority, "
                   "X-Request-Id, MCP-Protocol-Version");
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
    bool ignored = reply->ignored && reply->status < STATUS_INVALID;
    if (reply->warnings || ignored) {
        char warnings[WARNINGS_LIST_BYTES];
        warnings_list(reply, warnings);
        add_header(&headed, "X-Alignd-Warnings", warnings);
    }
    if (ignored) {
        char fields[DIALECT_IGNORED_BYTES];
        dialect_list_ignored(reply, fields);
        add_header(&headed, "X-Alignd-Ignored", fields);
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

char *headers_write_reply(const struct heading *heading, size_t *length) {
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
