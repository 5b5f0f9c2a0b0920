#include "server/http/http_queue.h"
#include "server/api/api.h"
#include <dlfcn.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { STATUS_URI_TOO_LONG = 414, STATUS_HEAD_TOO_LARGE = 431, STATUS_VERSION = 505, REPLY_BYTES = 1024 };

typedef enum MHD_Result queue_function(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response);

/* The library's, which the one below hides. */
static queue_function *find_queue(void) {
    queue_function *function;
    void *symbol = dlsym(RTLD_NEXT, "MHD_queue_response");
    memcpy(&function, &symbol, sizeof function); /* ISO C converts no pointer to data into one to a function */
    return function;
}

bool http_queue(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response) {
    return find_queue()(connection, status, response) == MHD_YES;
}

/* What libmicrohttpd refuses, as we say it. A reply without body: memory is out. */
static void fill_reply(unsigned status, struct reply *reply) {
    if (status == STATUS_INTERNAL) /* its handler takes all that it is given: no other way leads there */
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

/* libmicrohttpd 0.9.75 goes on after it has refused a Content-Length, and begins the same reply once more. */
static bool begins_twice(struct MHD_Connection *connection) {
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length") &&
           !MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding");
}

/* So it is sent past the library, which then closes the connection. HTTPS is closed without a word. */
static void send_past(struct MHD_Connection *connection, const struct reply *reply) {
    char text[REPLY_BYTES];
    if (MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION))
        return;
    int length =
        snprintf(text, sizeof text, "HTTP/1.1 %u %s\r\nConnection: close\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s",
                 reply->status, MHD_get_reason_phrase_for(reply->status), reply->content_type, reply->length, reply->body);
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info && length > 0 && (size_t)length < sizeof text)
        send(info->connect_fd, text, (size_t)length,
             MSG_NOSIGNAL | MSG_DONTWAIT); /* what does not fit is lost with the connection */
}

/* In the place of libmicrohttpd's function of this name, which it calls through the linker as everybody does. */
enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response) {
    struct reply reply = {0};
    if (status >= STATUS_INVALID)
        fill_reply(status, &reply);
    if (reply.body && begins_twice(connection)) {
        send_past(connection, &reply);
        free(reply.body);
        return MHD_NO;
    }
    struct MHD_Response *own = reply.body ? make_response(&reply) : NULL;
    bool queued = http_queue(connection, own ? reply.status : status, own ? own : response);
    if (own)
        MHD_destroy_response(own);
    return queued ? MHD_YES : MHD_NO;
}
