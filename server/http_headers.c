#include "server/http_headers.h"
#include "server/log.h"
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

const char *headers_allowed(const struct route *route) {
    return strcmp(route->method, "GET") == 0 ? "GET, HEAD, OPTIONS" : "POST, OPTIONS";
}

static void add_header(struct MHD_Response *response, const char *name, const char *value) {
    if (MHD_add_response_header(response, name, value) != MHD_YES)
        log_event(LOG_ERROR, "header_lost", "name=%s", name);
}

/* What Access-Control-Allow-Origin shall be. NULL: nothing. */
static const char *allowed_origin(const struct name_list *origins, const char *origin) {
    if (name_list_has(origins, "*"))
        return "*";
    return origin && name_list_has(origins, origin) ? origin : NULL;
}

static void add_cors(const struct heading *heading, struct MHD_Response *response) {
    const struct name_list *origins = &heading->service->options->cors;
    const char *allowed = allowed_origin(origins, heading->origin);
    if (origins->count > 0 && !name_list_has(origins, "*"))
        add_header(response, "Vary", "Origin"); /* caches must not give one origin's reply to another */
    if (!allowed)
        return;
    add_header(response, "Access-Control-Allow-Origin", allowed);
    add_header(response, "Access-Control-Expose-Headers", "X-Request-Id, Retry-After");
    if (heading->route && strcmp(heading->method, "OPTIONS") == 0) {
        add_header(response, "Access-Control-Allow-Methods", headers_allowed(heading->route));
        add_header(response, "Access-Control-Allow-Headers", "Authorization, Content-Type, X-Api-Key, X-Deadline-Ms, X-Request-Id");
        add_header(response, "Access-Control-Max-Age", "86400");
    }
}

void headers_add(const struct heading *heading, struct MHD_Response *response) {
    const struct reply *reply = heading->reply;
    if (reply->content_type)
        add_header(response, "Content-Type", reply->content_type);
    if (reply->retry_after_s > 0) {
        char seconds[16];
        snprintf(seconds, sizeof seconds, "%u", reply->retry_after_s);
        add_header(response, "Retry-After", seconds);
    }
    if (reply->streamed) {
        add_header(response, "Cache-Control", "no-cache");
        add_header(response, "X-Accel-Buffering", "no"); /* nginx */
    }
    if (reply->location)
        add_header(response, "Location", reply->location);
    if (reply->etag) {
        add_header(response, "ETag", reply->etag);
        add_header(response, "Cache-Control", "no-cache");
    }
    if (reply->policy)
        add_header(response, "Content-Security-Policy", reply->policy);
    add_header(response, "X-Content-Type-Options", "nosniff");
    if (reply->status == STATUS_METHOD || reply->status == STATUS_NO_CONTENT)
        add_header(response, "Allow", headers_allowed(heading->route));
    if (reply->status == STATUS_UNAUTHORIZED)
        add_header(response, "WWW-Authenticate", "Bearer realm=\"alignd\"");
    if (reply->close || service_state(heading->service) == SERVICE_DRAINING)
        add_header(response, "Connection", "close");
    add_header(response, "X-Request-Id", heading->id);
    add_cors(heading, response);
}
