#include "server/http/headers.h"
#include "server/base/strings.h"
#include "server/http/body.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { TAG_BYTES = 64, ADDRESS_BYTES = INET6_ADDRSTRLEN + 8 /* with brackets and a port */ };

/* ---- of requests ---- */

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

/* VERSION-TRACE-PARENT-FLAGS; ids that are all zeros are invalid. */
void sent_trace(struct MHD_Connection *connection, char trace[SENT_TRACE_BYTES]) {
    static const char pattern[] = "00-hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh-hhhhhhhhhhhhhhhh-hh";
    _Static_assert(sizeof pattern == SENT_TRACE_BYTES, "the header has a fixed length");
    const char *sent = sent_header(connection, "traceparent");
    bool valid = sent && strlen(sent) == sizeof pattern - 1;
    for (size_t i = 0; valid && pattern[i]; i++)
        valid = pattern[i] == 'h' ? strchr("0123456789abcdef", sent[i]) != NULL : sent[i] == pattern[i];
    valid = valid && strspn(sent + SENT_TRACE_ID, "0") < SENT_TRACE_ID_LENGTH &&
            strspn(sent + SENT_TRACE_ID + SENT_TRACE_ID_LENGTH + 1, "0") < 16;
    strcpy(trace, valid ? sent : "");
}

struct lookup {
    const char *name, *value; /* value: the value of the last header of this name */
    size_t count;
};

static enum MHD_Result note_header(void *closure, enum MHD_ValueKind kind, const char *name, const char *value) {
    (void)kind;
    struct lookup *lookup = closure;
    if (strcasecmp(name, lookup->name) == 0) {
        lookup->value = value;
        lookup->count++;
    }
    return MHD_YES;
}

static struct lookup look_up(struct MHD_Connection *connection, const char *name) {
    struct lookup lookup = {.name = name};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, note_header, &lookup);
    return lookup;
}

int sent_length(struct MHD_Connection *connection, struct reply *reply) {
    struct lookup length = look_up(connection, "Content-Length"), encoding = look_up(connection, "Transfer-Encoding");
    const char *wrong = NULL;
    if (length.count + encoding.count > 1)
        wrong = encoding.count > 0 ? "Transfer-Encoding" : "Content-Length";
    else if (encoding.count > 0 && (!encoding.value || strcasecmp(encoding.value, "chunked") != 0))
        wrong = "Transfer-Encoding";
    if (!wrong)
        return 0;
    api_fail(reply, STATUS_INVALID, wrong, "the body must have either one Content-Length or Transfer-Encoding: chunked");
    reply->close = true;
    return -1;
}

int sent_as_it_is(struct MHD_Connection *connection, struct reply *reply) {
    static const char name[] = "Content-Encoding";
    struct lookup encoding = look_up(connection, name);
    if (encoding.count == 0 || (encoding.count == 1 && encoding.value && strcasecmp(encoding.value, "identity") == 0))
        return 0;
    api_fail(reply, STATUS_MEDIA_TYPE, name, "the body must be sent without %s, got \"%.60s\"", name,
             encoding.value ? encoding.value : "");
    return -1;
}

int sent_priority(struct MHD_Connection *connection, enum priority *priority, struct reply *reply) {
    static const char name[] = "X-Priority";
    const char *sent = sent_header(connection, name);
    *priority = PRIORITY_INTERACTIVE;
    if (!sent || priority_find(sent, priority) == 0)
        return 0;
    api_fail(reply, STATUS_INVALID, name, "%s must be interactive or batch, got \"%.60s\"", name, sent);
    return -1;
}

int sent_deadline(struct MHD_Connection *connection, size_t most_ms, size_t *deadline_ms, struct reply *reply) {
    static const char name[] = "X-Deadline-Ms";
    const char *sent = sent_header(connection, name);
    *deadline_ms = most_ms;
    if (!sent)
        return 0;
    char *end;
    unsigned long long number = strtoull(sent, &end, 10); /* ULLONG_MAX if it is too large; most_ms bounds it */
    if (isdigit((unsigned char)sent[0]) && *end == '\0' && number >= 1) {
        *deadline_ms = number < most_ms ? (size_t)number : most_ms;
        return 0;
    }
    api_fail(reply, STATUS_INVALID, name, "%s must be a whole number of milliseconds, at least 1, got \"%.60s\"", name, sent);
    return -1;
}

/* ---- the client of a request ---- */

enum kind { KIND_NOWHERE, KIND_IPV4, KIND_IPV6, KIND_NAME };

/* The finalizer of splitmix64 (Steele et al. 2014): a bijection in which every bit affects all others. */
static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t identify(enum kind kind, uint64_t value) {
    return mix(value + mix((uint64_t)kind + 0x9e3779b97f4a7c15u));
}

static uint64_t client_of_ipv4(struct in_addr address) {
    return identify(KIND_IPV4, ntohl(address.s_addr));
}

static uint64_t client_of_ipv6(const struct in6_addr *address) {
    struct in_addr inner;
    uint64_t network = 0;
    if (IN6_IS_ADDR_V4MAPPED(address)) {
        memcpy(&inner, address->s6_addr + 12, sizeof inner);
        return client_of_ipv4(inner);
    }
    for (size_t i = 0; i < 8; i++)
        network = network << 8 | address->s6_addr[i];
    return identify(KIND_IPV6, network);
}

uint64_t client_of_peer(const struct sockaddr *address) {
    if (address && address->sa_family == AF_INET)
        return client_of_ipv4(((const struct sockaddr_in *)(const void *)address)->sin_addr);
    if (address && address->sa_family == AF_INET6)
        return client_of_ipv6(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
    return identify(KIND_NOWHERE, 0);
}

uint64_t client_of_name(const char *name, size_t length) {
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3u;
    return identify(KIND_NAME, hash);
}

uint64_t client_of_forwarded(const char *header) {
    const char *comma = strrchr(header, ','), *name = comma ? comma + 1 : header;
    name += strspn(name, " \t");
    size_t length = strlen(name);
    while (length > 0 && strchr(" \t", name[length - 1]))
        length--;

    char text[ADDRESS_BYTES], *address = text;
    struct in_addr ipv4;
    struct in6_addr ipv6;
    if (length >= sizeof text)
        return client_of_name(name, length);
    memcpy(text, name, length);
    text[length] = '\0';
    char *colon = strchr(text, ':');
    if (text[0] == '[') { /* [2001:db8::1]:80 */
        address++;
        text[strcspn(text, "]")] = '\0';
    } else if (colon && !strchr(colon + 1, ':')) { /* 192.0.2.1:80 */
        *colon = '\0';
    }
    if (inet_pton(AF_INET, address, &ipv4) == 1)
        return client_of_ipv4(ipv4);
    return inet_pton(AF_INET6, address, &ipv6) == 1 ? client_of_ipv6(&ipv6) : client_of_name(name, length);
}

/* A client may send the header, too; the proxy's value follows it, in the same line or in another header. */
uint64_t sent_client(struct MHD_Connection *connection, const char *header) {
    struct lookup sent = {0};
    if (header)
        sent = look_up(connection, header);
    if (sent.value && *sent.value != '\0')
        return client_of_forwarded(sent.value);
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return client_of_peer(info ? info->client_addr : NULL);
}

/* ---- of replies ---- */

struct headed {
    struct MHD_Response *response;
    bool failed;
};

static void add_header(struct headed *headed, const char *name, const char *value) {
    if (MHD_add_response_header(headed->response, name, value) != MHD_YES)
        headed->failed = true;
}

static void add_methods(struct headed *headed, const char *name, const struct route *route) {
    char methods[API_METHODS_BYTES];
    api_allowed(route, methods);
    add_header(headed, name, methods);
}

static void add_cors(const struct heading *heading, struct headed *headed) {
    const struct name_list *origins = heading->service->options.cors;
    bool any = name_list_has(origins, "*");
    const char *origin = heading->origin && name_list_has(origins, heading->origin) ? heading->origin : NULL;
    const char *allowed = any ? "*" : origin;
    if (origins->count > 0 && !any)
        add_header(headed, "Vary", "Origin"); /* caches must not give one origin's reply to another */
    if (!allowed)
        return;
    add_header(headed, "Access-Control-Allow-Origin", allowed);
    add_header(headed, "Access-Control-Expose-Headers", "X-Request-Id, Retry-After, Content-Disposition, X-Alignd-Warnings");
    if (heading->route && strcmp(heading->method, "OPTIONS") == 0) {
        add_methods(headed, "Access-Control-Allow-Methods", heading->route);
        add_header(headed, "Access-Control-Allow-Headers",
                   "Authorization, Content-Type, X-Api-Key, Ocp-Apim-Subscription-Key, X-Goog-Api-Key, X-Deadline-Ms, X-Priority, "
                   "X-Request-Id");
        add_header(headed, "Access-Control-Max-Age", "86400");
    }
}

/* RFC 6266: the name in ASCII for old clients, and in UTF-8. */
static void add_file_name(struct headed *headed, const char *name) {
    char plain[API_FILE_NAME_BYTES], encoded[3 * API_FILE_NAME_BYTES], disposition[4 * API_FILE_NAME_BYTES + 64];
    size_t length = 0;
    for (const char *c = name; *c; c++) {
        bool kept = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || strchr("._-", *c);
        if (((unsigned char)*c & 0xc0) != 0x80) /* one for each character of any number of bytes */
            plain[length++] = kept ? *c : '_';
    }
    plain[length] = '\0';
    percent_encode(name, encoded);
    snprintf(disposition, sizeof disposition, "attachment; filename=\"%s\"; filename*=UTF-8\'\'%s", plain, encoded);
    add_header(headed, "Content-Disposition", disposition);
}

/* Replies that may need a key, and files of clients, are private: no cache may keep them. Caches keep replies to GET only. NULL: no
 * header. */
static const char *cache_control(const struct heading *heading) {
    bool asks = strcmp(heading->method, "GET") == 0 || strcmp(heading->method, "HEAD") == 0;
    bool own = *heading->reply->file_name || (heading->route && heading->route->access != ACCESS_OPEN);
    if (asks && own)
        return "no-store";
    return heading->reply->streamed || heading->reply->etag ? "no-cache" : NULL;
}

int headers_add(const struct heading *heading, struct MHD_Response *response) {
    struct headed headed = {.response = response};
    const struct reply *reply = heading->reply;
    if (reply->content_type)
        add_header(&headed, "Content-Type", reply->content_type);
    if (reply->retry_after_s > 0) {
        char seconds[16];
        snprintf(seconds, sizeof seconds, "%u", reply->retry_after_s);
        add_header(&headed, "Retry-After", seconds);
    }
    const char *caching = cache_control(heading);
    if (caching)
        add_header(&headed, "Cache-Control", caching);
    if (reply->streamed)
        add_header(&headed, "X-Accel-Buffering", "no"); /* tells nginx not to buffer */
    if (*reply->file_name)
        add_file_name(&headed, reply->file_name);
    if (reply->warnings) {
        char warnings[API_WARNINGS_BYTES];
        api_name_warnings(reply, warnings);
        add_header(&headed, "X-Alignd-Warnings", warnings);
    }
    if (reply->location)
        add_header(&headed, "Location", reply->location);
    if (reply->etag) { /* the compressed body is equivalent but not identical, so both can share only a weak tag */
        char tag[TAG_BYTES];
        snprintf(tag, sizeof tag, "%s%s", reply->compressed ? "W/" : "", reply->etag);
        add_header(&headed, "ETag", tag);
    }
    if (reply->compressed)
        add_header(&headed, "Content-Encoding", "gzip");
    if (reply->compressed || compress_is_worthwhile(reply))
        add_header(&headed, "Vary", "Accept-Encoding"); /* caches must not send it to clients that accept the other form */
    if (reply->policy)
        add_header(&headed, "Content-Security-Policy", reply->policy);
    add_header(&headed, "X-Content-Type-Options", "nosniff");
    if (reply->status == STATUS_METHOD || reply->status == STATUS_NO_CONTENT)
        add_methods(&headed, "Allow", heading->route);
    if (reply->status == STATUS_UNAUTHORIZED)
        add_header(&headed, "WWW-Authenticate", "Bearer realm=\"alignd\"");
    if (reply->close || service_state(heading->service) == SERVICE_DRAINING)
        add_header(&headed, "Connection", "close");
    add_header(&headed, "X-Request-Id", heading->id);
    if (*heading->trace)
        add_header(&headed, "traceparent", heading->trace);
    add_cors(heading, &headed);
    return headed.failed ? -1 : 0;
}
