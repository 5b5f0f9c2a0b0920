#include "server/http/http_headers.h"
#include "server/base/hex.h"
#include "server/http/http_compress.h"
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

enum { TAG_BYTES = 64 };

/* A reply under way to its headers. */
struct headed {
    struct MHD_Response *response;
    bool failed;
};

static void add_header(struct headed *headed, const char *name, const char *value) {
    if (MHD_add_response_header(headed->response, name, value) != MHD_YES)
        headed->failed = true;
}

static void add_allowed(struct headed *headed, const char *name, const struct route *route) {
    char methods[API_METHODS_BYTES];
    api_allowed(route, methods);
    add_header(headed, name, methods);
}

/* What Access-Control-Allow-Origin shall be. NULL: nothing. */
static const char *allowed_origin(const struct name_list *origins, const char *origin) {
    if (name_list_has(origins, "*"))
        return "*";
    return origin && name_list_has(origins, origin) ? origin : NULL;
}

static void add_cors(const struct heading *heading, struct headed *headed) {
    const struct name_list *origins = heading->service->options.cors;
    const char *allowed = allowed_origin(origins, heading->origin);
    if (origins->count > 0 && !name_list_has(origins, "*"))
        add_header(headed, "Vary", "Origin"); /* caches must not give one origin's reply to another */
    if (!allowed)
        return;
    add_header(headed, "Access-Control-Allow-Origin", allowed);
    add_header(headed, "Access-Control-Expose-Headers", "X-Request-Id, Retry-After, Content-Disposition, X-Alignd-Warnings");
    if (heading->route && strcmp(heading->method, "OPTIONS") == 0) {
        add_allowed(headed, "Access-Control-Allow-Methods", heading->route);
        add_header(headed, "Access-Control-Allow-Headers",
                   "Authorization, Content-Type, X-Api-Key, Ocp-Apim-Subscription-Key, X-Goog-Api-Key, X-Deadline-Ms, X-Priority, "
                   "X-Request-Id");
        add_header(headed, "Access-Control-Max-Age", "86400");
    }
}

/* Two bodies that say the same, one of them compressed, share a weak tag only. */
static void add_tag(struct headed *headed, const struct reply *reply) {
    char tag[TAG_BYTES];
    snprintf(tag, sizeof tag, "%s%s", reply->compressed ? "W/" : "", reply->etag);
    add_header(headed, "ETag", tag);
}

/* RFC 6266: in ASCII for clients that know no better, and in UTF-8. */
static void add_file_name(struct headed *headed, const char *name) {
    char plain[API_FILE_NAME_BYTES], encoded[3 * API_FILE_NAME_BYTES], disposition[4 * API_FILE_NAME_BYTES + 64];
    size_t length = 0;
    for (const char *c = name; *c; c++) {
        bool kept = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || strchr("._-", *c);
        if (((unsigned char)*c & 0xc0) != 0x80) /* a character is one, however many bytes it has */
            plain[length++] = kept ? *c : '_';
    }
    plain[length] = '\0';
    percent_encode(name, encoded);
    snprintf(disposition, sizeof disposition, "attachment; filename=\"%s\"; filename*=UTF-8\'\'%s", plain, encoded);
    add_header(headed, "Content-Disposition", disposition);
}

/* What a key may be needed for, and a client's own file, is between the client and the server, and no cache keeps it; only of GET
 * would one. NULL: nothing is said. */
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
        add_header(&headed, "X-Accel-Buffering", "no"); /* nginx */
    if (*reply->file_name)
        add_file_name(&headed, reply->file_name);
    if (reply->warnings) {
        char warnings[API_WARNINGS_BYTES];
        api_name_warnings(reply, warnings);
        add_header(&headed, "X-Alignd-Warnings", warnings);
    }
    if (reply->location)
        add_header(&headed, "Location", reply->location);
    if (reply->etag)
        add_tag(&headed, reply);
    if (reply->compressed)
        add_header(&headed, "Content-Encoding", "gzip");
    if (reply->compressed || compress_is_worthwhile(reply))
        add_header(&headed, "Vary", "Accept-Encoding"); /* caches must not give it to who takes the other one */
    if (reply->policy)
        add_header(&headed, "Content-Security-Policy", reply->policy);
    add_header(&headed, "X-Content-Type-Options", "nosniff");
    if (reply->status == STATUS_METHOD || reply->status == STATUS_NO_CONTENT)
        add_allowed(&headed, "Allow", heading->route);
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
